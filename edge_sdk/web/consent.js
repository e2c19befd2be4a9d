/**
 * Consent to a campaign: reserve its worst case, fix the role, queue the enrolment.
 *
 * All costs are fixed at consent, and so is the role. Answers, earlier values and draws never decide whether consent is
 * granted. How a class or a prior is chosen by what only the device knows: choosing.js.
 */

import { requireRoom, worstCase } from "./caps.js";
import { CampaignError } from "./errors.js";
import { enter } from "./ledger.js";
import { usedSlots } from "./memo.js";
import { requireSpace } from "./outbox.js";
import { requireComplete, roleOf } from "./role.js";

/** @typedef {import("./joined.js").Joined} Joined */
/** @typedef {import("./store.js").Kept} Kept */
/** @typedef {import("./store.js").State} State */
/** @typedef {import("./role.js").Role} Role */

/**
 * One decision of a person about a campaign that is not over; what it changes is stored by the caller, or nothing is.
 * @typedef {object} Decision
 * @property {Joined} joined
 * @property {Kept} kept
 * @property {State} state
 * @property {number} now
 * @property {Uint8Array} dither 8 random bytes
 */

/**
 * The person agrees, as what they say. Agreeing again changes nothing.
 * @param {Decision} decision @param {Parameters<typeof roleOf>[2]} said
 */
export async function agree(decision, said) {
  const { joined, kept } = decision;
  const role = await roleOf(joined.campaign, kept.declared, said);
  if (kept.consent) {
    if (role.memberOf !== undefined && role.memberOf !== kept.consent.memberOf)
      throw new CampaignError("the person agreed as another class: forget the campaign first");
    return;
  }
  requireComplete(joined.campaign, role);
  await take(decision, role);
}

/**
 * Reserve, charge the choice of a class or prior, and keep the consent.
 * @param {Decision} decision @param {Role} role @param {bigint} [chosen] what the choice costs
 */
export async function take(decision, role, chosen = 0n) {
  const { joined, kept, state, now, dither } = decision;
  if (joined.campaign.transcript && usedSlots(kept))
    throw new CampaignError(`"${joined.title}" was forgotten after an answer, which later ones build on: it cannot be answered again`);
  requireRoom(state, kept, joined.commitments(role), now, chosen);
  kept.declared = role.declared ?? null;
  const enrolment = introduces(decision) ? await joined.enrolment(kept) : null;
  if (enrolment) requireSpace(state, enrolment.length);
  const commitment = joined.commitment(role);
  enter(state, kept, "reserve", now, worstCase(commitment) + chosen);
  enter(state, kept, "charge", now, chosen);
  kept.consent = { time: now, dither, commitment, memberOf: role.memberOf, choice: chosen, latest: now, floor: now };
  if (enrolment) kept.outbox.push(enrolment);
}

/** Whether the device sends its own enrolment. @param {Decision} decision */
export const introduces = ({ joined, kept }) => !joined.campaign.enrolled || kept.code !== "";
