/**
 * A class or a declared prior that is chosen from the person's history: once, at random, and charged.
 *
 * No answer decides whether it is granted: there is room for the choice and for the costliest outcome, or nothing is drawn.
 */

import { requireRoom } from "./caps.js";
import { keyOf } from "./channels/key.js";
import { introduces, take } from "./consent.js";
import { ENROLMENT, sealedLength } from "./envelope.js";
import { mostCost } from "./notions/information.js";
import { levelFrom } from "./notions/notion.js";
import { requireSpace } from "./outbox.js";
import { candidates, choice, nearest } from "./personal.js";
import { enrolmentPayload } from "./report.js";
import { countsOf, ownOf, priorsOf } from "./role.js";

/** @typedef {import("./consent.js").Decision} Decision */
/** @typedef {import("./device.js").Device} Device */
/** @typedef {import("./joined.js").Joined} Joined */
/** @typedef {import("./role.js").Counts} Counts */

/** Random bytes of a choice. */
const CHOICE_BYTES = 8;

/**
 * The person agrees as a class drawn at random: the one whose prior is nearest to their history with probability
 * e^level / (e^level + C - 1), each other with 1 / (e^level + C - 1). It is drawn once and charged `level` at once, beside the
 * worst case of any class; who agreed already keeps their class. After forgetting it is drawn and charged anew.
 * @param {Device} device @param {Uint8Array} id @param {number | bigint} level nanonats that the choice may tell
 * @param {Counts} [history] how often each value was the person's; else this device's own answers to campaigns that ask for
 *   the same. It never leaves.
 * @returns {Promise<string>} the class
 * @throws {import("./errors.js").HalftruthError} CampaignError where no class has a prior; NotionError, NotInDomain,
 *   BudgetRefused, OutboxFull, OutsideSchedule
 */
export function chooseClass(device, id, level, history) {
  const rand = device.random(CHOICE_BYTES); // before the history is looked at
  return device.decide(id, async (decision) => {
    const { joined, kept, state, now } = decision;
    const { classes } = joined.campaign;
    const [priors, asked] = [priorsOf(joined.campaign), levelFrom(level)];
    if (kept.consent) return classes[kept.consent.memberOf ?? 0];
    requireRoom(state, kept, joined.commitments({}), now, asked);
    requireIntroduction(decision);
    const counts = await countsFor(device, decision, history);
    const memberOf = choice(priors.length, asked).sample(nearest(counts, priors), rand);
    await take(decision, { memberOf }, asked);
    return classes[memberOf];
  });
}

/**
 * The person agrees under a declared prior drawn in the same way among k + 1: the even one and, for each value, the one that
 * gives it three quarters. It is public for good: who declared one keeps it, and nothing is drawn or charged.
 * @param {Device} device @param {Uint8Array} id @param {number | bigint} level nanonats that the choice may tell
 * @param {Counts} [history] as in `chooseClass`
 * @returns {Promise<Counts>} the declared weights by label
 * @throws {import("./errors.js").HalftruthError} CampaignError where no prior is asked for; else as `chooseClass`
 */
export function choosePrior(device, id, level, history) {
  const rand = device.random(CHOICE_BYTES);
  return device.decide(id, async (decision) => {
    const { joined, kept, state, now } = decision;
    const { campaign, view } = joined;
    const own = ownOf(campaign);
    const [listed, asked] = [candidates(own.size), levelFrom(level)];
    let [declared, charged] = [kept.declared, 0n];
    if (!declared) {
      const most = joined.committing(mostCost(own, listed, view.channel), view.index);
      requireRoom(state, kept, [most], now, asked);
      requireIntroduction(decision);
      const counts = await countsFor(device, decision, history);
      const place = choice(listed.length, asked).sample(nearest(counts, listed), rand);
      [declared, charged] = [{ prior: listed[place], level: 0n }, asked];
    }
    if (!kept.consent) await take(decision, { declared }, charged);
    return Object.fromEntries(declared.prior.map((weight, x) => [campaign.domain.label(x), weight]));
  });
}

/**
 * How often each value was the person's, by input: as they say, or as all their campaigns that ask for it as it is know.
 * @param {Device} device @param {Decision} decision @param {Counts} [history] @returns {Promise<bigint[]>}
 */
async function countsFor(device, { joined: { campaign }, state }, history) {
  if (history) return countsOf(campaign, history);
  const counts = Array(campaign.domain.size).fill(0n);
  for (const { id, joined, memo } of state.campaigns.values())
    if (joined && asksAsItIs(await device.member(id), campaign))
      for (const [x, { times }] of memo) counts[x % campaign.domain.size] += BigInt(times);
  return counts;
}

/** Whether a device answers a campaign's question in another one, as it is. @param {Joined} joined @param {import("./campaign.js").Campaign} other */
const asksAsItIs = ({ campaign, view }, other) =>
  campaign.views[view.index].map.name === "identity" && keyOf(campaign.fields.domain) === keyOf(other.fields.domain);

/**
 * Refuse where the queue has no room for the enrolment: equally long in every class, and for every prior as the longest.
 * @param {Decision} decision
 */
function requireIntroduction(decision) {
  const { campaign, key } = decision.joined;
  const size = campaign.ownPrior?.size ?? 0;
  // A weight of 2^16 or more takes five bytes, and 2^20 in all has room for 16 of these; others take three. A level stands
  // with it in an array of its own: one byte and up to nine.
  const prior = size && 10 + 3 + 3 * size + 2 * Math.min(size, 16);
  if (introduces(decision))
    requireSpace(decision.state, sealedLength(ENROLMENT, enrolmentPayload(campaign, key, null)) + prior);
}
