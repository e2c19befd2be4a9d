/**
 * Consent to a campaign: reserve its worst case, fix the role, queue the enrolment.
 *
 * All costs are fixed at consent, and so is the role. Answers, earlier values and draws never decide whether consent is
 * granted. choosing.js makes the random choice of a class or prior from the person's history.
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
 * One decision of a person about a campaign that is not over. The caller stores all its changes, or none.
 * @typedef {object} Decision
 * @property {Joined} joined
 * @property {Kept} kept
 * @property {State} state
 * @property {number} now
 * @property {Uint8Array} dither 8 random bytes
 */

/**
 * Record the person's consent in the role that they name. Agreeing again changes nothing.
 * @param {Decision} decision @param {Parameters<typeof roleOf>[2]} named
 */
export async function agree(decision, named) {
  const { joined, kept } = decision;
  const role = await roleOf(joined.campaign, kept.declared, named);
  if (kept.consent) {
    if (role.classIndex !== undefined && role.classIndex !== kept.consent.classIndex)
      throw new CampaignError(
        `the person agreed as "${joined.campaign.classes[kept.consent.classIndex ?? 0]}": forget the campaign first to agree as another class`,
      );
    return;
  }
  requireComplete(joined.campaign, role);
  await record(decision, role);
}

/**
 * Reserve the worst case, charge the choice of a class or prior, and store the consent.
 * @param {Decision} decision @param {Role} role @param {bigint} [chosen] nanonats charged for the choice
 */
export async function record(decision, role, chosen = 0n) {
  const { joined, kept, state, now, dither } = decision;
  if (joined.campaign.transcript && usedSlots(kept))
    throw new CampaignError(
      `"${joined.campaign.title}" was forgotten after an answer, which deleted its transcript: every later answer needs the transcript, ` +
        "so the campaign cannot be answered again",
    );
  requireRoom(state, kept, joined.commitments(role), now, chosen);
  kept.declared = role.declared ?? null;
  const enrolment = introduces(decision) ? await joined.enrolment(kept) : null;
  if (enrolment) requireSpace(state, enrolment.length);
  const commitment = joined.commitment(role);
  enter(state, kept, "reserve", now, worstCase(commitment) + chosen);
  enter(state, kept, "charge", now, chosen);
  kept.consent = { time: now, dither, commitment, classIndex: role.classIndex, choice: chosen, latest: now, floor: now };
  if (enrolment) kept.outbox.push(enrolment);
}

/**
 * True if the device sends its enrolment itself: the campaign accepts every device, or the person has a code.
 * @param {{joined: Joined, kept: Kept}} decision
 */
export const introduces = ({ joined, kept }) => !joined.campaign.enrolled || kept.code !== "";
