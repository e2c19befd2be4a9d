/**
 * Consent to a campaign: reserve its worst case, fix the role, queue the enrolment.
 *
 * All costs are fixed at consent, and so is the role. Answers, earlier values and draws never decide whether consent is
 * granted. A class or a declared prior may be chosen from the person's history, once, at random, and that is charged.
 */

import { requireRoom, worstCase } from "./caps.js";
import { CampaignError } from "./errors.js";
import { enter } from "./ledger.js";
import { usedSlots } from "./memo.js";
import { levelFrom } from "./notions/notion.js";
import { requireSpace } from "./outbox.js";
import { candidates, choice, nearest } from "./personal.js";
import { ownOf, priorsOf, requireComplete, roleOf } from "./role.js";

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

/** How often each value was the person's, by input, looked at only when it is asked for. @typedef {() => Promise<bigint[]>} History */

/** Random bytes of a choice, drawn before the history is looked at. */
export const CHOICE_BYTES = 8;

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
 * The person agrees as a class drawn at random, most likely the one whose prior is nearest to their history.
 * @param {Decision} decision @param {number | bigint} level nanonats @param {Uint8Array} rand @param {History} history
 * @returns {Promise<string>} the class; of who agreed before, the one that holds
 */
export async function chooseClass(decision, level, rand, history) {
  const { joined, kept, state, now } = decision;
  const { classes } = joined.campaign;
  const [priors, asked] = [priorsOf(joined.campaign), levelFrom(level)];
  if (kept.consent) return classes[kept.consent.memberOf ?? 0];
  // What is refused may not depend on the draw: room for the choice and for the costliest class.
  requireRoom(state, kept, joined.commitments({}), now, asked);
  requireIntroduction(decision);
  const memberOf = choice(priors.length, asked).sample(nearest(await history(), priors), rand);
  await take(decision, { memberOf }, asked);
  return classes[memberOf];
}

/**
 * The person agrees under a prior drawn at random from a public list, most likely the one nearest to their history.
 * @param {Decision} decision @param {number | bigint} level nanonats @param {Uint8Array} rand @param {History} history
 * @returns {Promise<number[]>} the declared weights; those that were declared before, if any were
 */
export async function choosePrior(decision, level, rand, history) {
  const { joined, kept, state, now } = decision;
  const listed = candidates(ownOf(joined.campaign).size);
  const asked = levelFrom(level);
  let [declared, charged] = [kept.declared, 0n];
  if (!declared) {
    // What is refused may not depend on the draw: room for the choice and for the costliest prior.
    requireRoom(state, kept, [joined.mostCommitment(listed)], now, asked);
    requireIntroduction(decision);
    const place = choice(listed.length, asked).sample(nearest(await history(), listed), rand);
    [declared, charged] = [{ prior: listed[place], level: 0n }, asked];
  }
  if (!kept.consent) await take(decision, { declared }, charged);
  return declared.prior;
}

/**
 * Reserve, charge the choice of a class or prior, and keep the consent.
 * @param {Decision} decision @param {Role} role @param {bigint} [chosen] what the choice costs
 */
async function take(decision, role, chosen = 0n) {
  const { joined, kept, state, now, dither } = decision;
  if (joined.campaign.transcript && usedSlots(kept))
    throw new CampaignError(`"${joined.title}" was forgotten after an answer, which later ones build on: it cannot be answered again`);
  requireRoom(state, kept, joined.commitments(role), now, chosen);
  kept.declared = role.declared ?? null;
  requireIntroduction(decision);
  const commitment = joined.commitment(role);
  enter(state, kept, "reserve", now, worstCase(commitment) + chosen);
  enter(state, kept, "charge", now, chosen);
  kept.consent = { time: now, dither, commitment, memberOf: role.memberOf, choice: chosen, latest: now, floor: now };
  if (introduces(decision)) kept.outbox.push(await joined.enrolment(kept));
}

/** Whether the device sends its own enrolment. @param {Decision} decision */
const introduces = ({ joined, kept }) => !joined.campaign.enrolled || kept.code !== "";

/** Refuse where the queue has no room for the enrolment, which is equally long in every class. @param {Decision} decision */
function requireIntroduction(decision) {
  if (introduces(decision)) requireSpace(decision.state, decision.joined.longestEnrolment(decision.kept));
}
