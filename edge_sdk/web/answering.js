/**
 * Turn a value into a charge, an output and a report.
 *
 * A device's traffic does not depend on the answers: the worst case is reserved at consent, the random bytes are drawn
 * before the value is read, and the length of a report depends on its period and slot only. Every answer except a retry
 * is one more report, even if the value is the same.
 */

import { requireKept } from "./caps.js";
import { utcText } from "./campaign.js";
import { ConsentMissing, OutsideSchedule, QuotaReached } from "./errors.js";
import { enter } from "./ledger.js";
import { fill, filledWith, nextSlot, remember } from "./memo.js";
import { requireSpace } from "./outbox.js";

/** @typedef {import("./joined.js").Joined} Joined */
/** @typedef {import("./store.js").Kept} Kept */
/** @typedef {import("./store.js").State} State */

/**
 * The result of an answer.
 * @typedef {object} Receipt
 * @property {number} period
 * @property {number} slot
 * @property {Uint8Array} envelope the signed report, as queued
 * @property {bigint} cost nanonats charged now
 * @property {boolean} repeated true if the same report was queued before, and nothing was queued now
 */

/**
 * Draw, charge, sign and queue one answer. The caller stores all changes, or none.
 * @param {{joined: Joined, kept: Kept, state: State, now: number, period: number, rand: Uint8Array}} given `rand` was
 *   drawn before the value was read
 * @param {import("./domain/domain.js").Answer} value @param {number} [wanted] its slot in the period
 * @returns {Promise<Receipt>}
 */
export async function give({ joined, kept, state, now, period, rand }, value, wanted) {
  const { campaign, view } = joined;
  const most = campaign.answersPerPeriod;
  const consent = consentOf(joined, kept);
  if (now < consent.time) throw new OutsideSchedule("the clock shows a time before the consent: correct the clock, and answer again");
  requireKept(state, kept);
  requireSpace(state, joined.longestReport);
  const x = await view.toInput(value, consent.dither, consent.classIndex);
  const known = kept.memo.get(x);
  const free = nextSlot(kept, period);
  const place = wanted ?? (most === 1 ? 0 : free);
  if (place < free) {
    const slot = repeatedSlot(campaign.transcript !== null, kept, period, place, x, most);
    if (slot === null || !known) throw quotaReached(joined, period, place, free);
    const envelope = await joined.report(period, slot, known.output);
    return { period, slot, envelope, cost: 0n, repeated: true };
  }
  if (place >= most) throw quotaReached(joined, period, place, free);
  let [slot, fresh] = [place, !known];
  if (campaign.transcript) {
    if (kept.transcript.some(([then]) => then >= period))
      throw new OutsideSchedule("the clock shows a time before the latest report: correct the clock, and answer again");
    [slot, fresh] = [kept.transcript.length, true];
  }
  const { classIndex } = consent;
  const priced = view.priced({ classIndex, declared: kept.declared ?? undefined, earlier: kept.transcript, period });
  const drawn = priced.draw(x, rand);
  const output = fresh || !known ? drawn : known.output;
  const cost = fresh ? priced.cost : 0n;
  enter(state, kept, "charge", now, cost);
  consent.latest = Math.max(consent.latest, now);
  consent.floor = Math.max(consent.floor, campaign.opens + period * campaign.periodSeconds);
  remember(kept, x, output, period, slot);
  fill(kept, period, place, x);
  if (campaign.transcript) kept.transcript.push([period, Number(output)]);
  const envelope = await joined.report(period, slot, output);
  kept.outbox.push(envelope);
  return { period, slot, envelope, cost, repeated: false };
}

/** The consent to a campaign. @param {Joined} joined @param {Kept} kept @throws {ConsentMissing} there is none */
export function consentOf(joined, { consent }) {
  if (!consent) throw new ConsentMissing(`the person has not agreed to "${joined.campaign.title}" yet: consent first`);
  return consent;
}

/**
 * The input of an answer that the person considers; null for none.
 * @param {Joined} joined @param {Kept} kept @param {import("./domain/domain.js").Answer} [value]
 * @throws {import("./errors.js").HalftruthError} NotInDomain if the question does not allow the value; ConsentMissing
 *   for an answer to a form before consent
 */
export async function considered(joined, kept, value) {
  if (value === undefined) return null;
  const { consent } = kept;
  // Before consent, an accepted answer would reveal the questions that this device is asked.
  if (joined.view.questions.length) consentOf(joined, kept);
  return joined.view.toInput(value, consent?.dither ?? new Uint8Array(8), consent?.classIndex);
}

/**
 * The slot of the report with input `x` at `place`; null if `place` was skipped or had another input, or if its input is
 * not known any more.
 * @param {boolean} transcript @param {Kept} kept @param {number} period @param {number} place @param {number} x
 * @param {number} most
 */
function repeatedSlot(transcript, kept, period, place, x, most) {
  const filled = filledWith(kept, period, place);
  const known = kept.memo.get(x);
  if (filled === null || transcript) return most === 1 && known?.period === period ? known.slot : null;
  return filled === x ? place : null;
}

/**
 * The error for a slot that is used or beyond the quota; the message does not depend on the value.
 * @param {Joined} joined @param {number} period @param {number} place @param {number} free
 */
function quotaReached({ campaign }, period, place, free) {
  const most = campaign.answersPerPeriod;
  if (free < most)
    return new QuotaReached(`slot ${place} of this period was already filled or skipped: use slot ${free} or a later one, or name no slot`);
  const next = campaign.opens + (period + 1) * campaign.periodSeconds;
  const when = next < campaign.closes ? `the next period begins at ${utcText(next)}` : "it is the last period";
  return new QuotaReached(`"${campaign.title}" takes ${most === 1 ? "1 answer" : `${most} answers`} a period, and this period is full: ${when}`);
}
