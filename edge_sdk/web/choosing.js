/**
 * The choice of a class or a declared prior from the person's history: once, at random, and charged.
 *
 * Answers do not decide whether the choice is granted: nothing is drawn unless the caps leave room for the choice and
 * for its most expensive outcome.
 */

import { requireRoom } from "./caps.js";
import { keyOf } from "./channels/key.js";
import { introduces, record } from "./consent.js";
import { ENROLMENT, sealedLength } from "./envelope.js";
import { maxCost } from "./notions/information.js";
import { levelFrom } from "./notions/notion.js";
import { requireSpace } from "./outbox.js";
import { candidatePriors, choiceChannel, nearestPrior } from "./personal.js";
import { enrolmentPayload } from "./report.js";
import { countsOf, ownOf, priorsOf } from "./role.js";

/** @typedef {import("./consent.js").Decision} Decision */
/** @typedef {import("./device.js").Device} Device */
/** @typedef {import("./joined.js").Joined} Joined */
/** @typedef {import("./role.js").Counts} Counts */

/** Random bytes of a choice. */
const CHOICE_BYTES = 8;

/**
 * Record the consent under a class chosen at random; the class whose prior is nearest to the person's history is the
 * most likely. With C classes:
 *
 *     P(nearest class) = e^level / (e^level + C - 1),   P(each other class) = 1 / (e^level + C - 1)
 *
 * The class is drawn once, and `level` is charged at once, in addition to the worst case of the class. A person who
 * agreed before keeps their class. After forgetting, the class is drawn and charged again.
 * @param {Device} device @param {Uint8Array} id @param {number | bigint} level nanonats that the choice may reveal
 * @param {Counts} [history] counts of the person's values, which never leave the device; by default this device's
 *   answers to all campaigns with the same domain, except those that ask it for a coarser answer
 * @returns {Promise<string>} the class
 * @throws {import("./errors.js").HalftruthError} CampaignError if there are no classes, or a class has no prior;
 *   NotionError if the level is not allowed; ReportError or NotInDomain for an invalid count or label of the history;
 *   NotJoined, BudgetRefused, OutboxFull, OutsideSchedule or StoreError
 */
export function chooseClass(device, id, level, history) {
  // The bytes are drawn before the history is read, so that the draw cannot depend on it.
  const rand = device.random(CHOICE_BYTES);
  return device.decide(id, async (decision) => {
    const { joined, kept, state, now } = decision;
    const { classes } = joined.campaign;
    const [priors, nanonats] = [priorsOf(joined.campaign), levelFrom(level)];
    if (kept.consent) return classes[kept.consent.classIndex ?? 0];
    requireRoom(state, kept, joined.commitments({}), now, nanonats);
    requireIntroduction(decision);
    const counts = await countsFor(device, decision, history);
    const classIndex = choiceChannel(priors.length, nanonats).sample(nearestPrior(counts, priors), rand);
    await record(decision, { classIndex }, nanonats);
    return classes[classIndex];
  });
}

/**
 * Record the consent under a declared prior that is drawn as in `chooseClass`, from a public list of k + 1 priors: the
 * uniform prior and, for each value, the prior that gives it three quarters. A prior is public and permanent: for a
 * person who declared one before, nothing is drawn or charged.
 * @param {Device} device @param {Uint8Array} id @param {number | bigint} level nanonats that the choice may reveal
 * @param {Counts} [history] as in `chooseClass`
 * @returns {Promise<Counts>} the declared weights by label
 * @throws {import("./errors.js").HalftruthError} CampaignError if the campaign asks for no prior; else as `chooseClass`
 */
export function choosePrior(device, id, level, history) {
  const rand = device.random(CHOICE_BYTES);
  return device.decide(id, async (decision) => {
    const { joined, kept, state, now } = decision;
    const { campaign, view } = joined;
    const own = ownOf(campaign);
    const [listed, nanonats] = [candidatePriors(own.size), levelFrom(level)];
    let [declared, charged] = [kept.declared, 0n];
    if (!declared) {
      const most = joined.committing(maxCost(own, listed, view.channel), view.index);
      requireRoom(state, kept, [most], now, nanonats);
      requireIntroduction(decision);
      const counts = await countsFor(device, decision, history);
      const place = choiceChannel(listed.length, nanonats).sample(nearestPrior(counts, listed), rand);
      [declared, charged] = [{ prior: listed[place], level: 0n }, nanonats];
    }
    if (!kept.consent) await record(decision, { declared }, charged);
    return Object.fromEntries(declared.prior.map((weight, x) => [campaign.domain.label(x), weight]));
  });
}

/**
 * The person's history by input: as given, or the number of answers with each value over all campaigns of the device
 * with the same domain, except those that ask it for a coarser answer.
 * @param {Device} device @param {Decision} decision @param {Counts} [history] @returns {Promise<bigint[]>}
 */
async function countsFor(device, { joined: { campaign }, state }, history) {
  if (history) return countsOf(campaign, history);
  const counts = Array(campaign.domain.size).fill(0n);
  for (const { id, joined, memo } of state.campaigns.values())
    if (joined && isComparable(await device.member(id), campaign))
      for (const [x, { times }] of memo) counts[x % campaign.domain.size] += BigInt(times);
  return counts;
}

/**
 * True if a campaign has the same domain as another, and does not ask this device for a coarser answer.
 * @param {Joined} joined @param {import("./campaign.js").Campaign} other
 */
const isComparable = ({ campaign, view }, other) =>
  campaign.views[view.index].map.name === "identity" && keyOf(campaign.fields.domain) === keyOf(other.fields.domain);

/**
 * Refuse if the outbox has no room for the enrolment. It has the same length in every class; for a prior the maximum
 * length is required, so that the refusal does not depend on the prior drawn.
 * @param {Decision} decision
 */
function requireIntroduction(decision) {
  const { campaign, key } = decision.joined;
  const size = campaign.declaredPrior?.size ?? 0;
  // The head of the array of weights takes at most three bytes. A weight of 2^16 or more takes five bytes, and weights
  // whose sum is 2^20 include at most 16 of these; others take at most three. A declared level adds the head of an
  // array (one byte) and a number (at most nine bytes).
  const prior = size && 10 + 3 + 3 * size + 2 * Math.min(size, 16);
  if (introduces(decision))
    requireSpace(decision.state, sealedLength(ENROLMENT, enrolmentPayload(campaign, key, null)) + prior);
}
