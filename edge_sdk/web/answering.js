/**
 * Turns a value into a charge, an output and a report.
 *
 * Whether, when and how much a device sends does not depend on the answer: the worst case was reserved at consent, the
 * random bytes were drawn before the value is looked at, and all reports of a campaign are equally long. Every answer but a
 * retry is one more output, also where the value is the same again.
 */

import { requireKept } from "./caps.js";
import { ConsentMissing, OutsideSchedule, QuotaReached } from "./errors.js";
import { enter } from "./ledger.js";
import { fill, filledWith, following, remember } from "./memo.js";
import { requireSpace } from "./outbox.js";

/** @typedef {import("./joined.js").Joined} Joined */
/** @typedef {import("./store.js").Kept} Kept */
/** @typedef {import("./store.js").State} State */

/**
 * What became of an answer.
 * @typedef {object} Receipt
 * @property {number} period
 * @property {number} slot
 * @property {Uint8Array} envelope the signed report that carries it, as it was queued
 * @property {bigint} charged now, nanonats
 * @property {boolean} repeated whether this very report was queued before, and nothing was now
 */

/**
 * One answer; what it changes is stored by the caller, or nothing is.
 * @param {{joined: Joined, kept: Kept, state: State, now: number, period: number, rand: Uint8Array}} asked `rand` was drawn
 *   before the value is looked at
 * @param {import("./domain/domain.js").Answer} value @param {number} [reading]
 * @returns {Promise<Receipt>}
 */
export async function give({ joined, kept, state, now, period, rand }, value, reading) {
  const { campaign, view } = joined;
  const most = campaign.answersPerPeriod;
  const consent = consentOf(joined, kept);
  if (now < consent.time) throw new OutsideSchedule("the clock shows a time before the consent: set it right, and answer again");
  requireKept(state, kept);
  requireSpace(state, joined.longestReport);
  const x = await view.toInput(value, consent.dither, consent.memberOf);
  const known = kept.memo.get(x);
  const free = following(kept, period);
  const place = reading ?? (most === 1 ? 0 : free);
  if (place < free) {
    const slot = again(campaign.transcript !== null, kept, period, place, x, most);
    if (slot === null || !known) throw quotaReached(joined, period, place, free, now);
    const envelope = await joined.report(period, slot, known.output);
    return { period, slot, envelope, charged: 0n, repeated: true };
  }
  if (place >= most) throw quotaReached(joined, period, place, free, now);
  let [slot, fresh] = [place, !known];
  if (campaign.transcript) {
    if (kept.transcript.some(([then]) => then >= period))
      throw new OutsideSchedule("the clock shows a time before the latest report: set it right, and answer again");
    [slot, fresh] = [kept.transcript.length, true];
  }
  const { memberOf } = consent;
  const law = view.lawFor({ memberOf, declared: kept.declared ?? undefined, earlier: kept.transcript, period });
  const drawn = law.draw(x, rand);
  const output = fresh || !known ? drawn : known.output;
  const charged = fresh ? law.charge : 0n;
  enter(state, kept, "charge", now, charged);
  consent.latest = Math.max(consent.latest, now);
  consent.floor = Math.max(consent.floor, campaign.opens + period * campaign.periodSeconds);
  remember(kept, x, output, period, slot);
  fill(kept, period, place, x);
  if (campaign.transcript) kept.transcript.push([period, Number(output)]);
  const envelope = await joined.report(period, slot, output);
  kept.outbox.push(envelope);
  return { period, slot, envelope, charged, repeated: false };
}

/** @param {Joined} joined @param {Kept} kept */
export function consentOf(joined, { consent }) {
  if (!consent) throw new ConsentMissing(`nobody agreed to "${joined.title}" yet: consent first`);
  return consent;
}

/**
 * The slot of a reading that was given with this very input before; null where it was not, or is not remembered.
 * @param {boolean} transcript @param {Kept} kept @param {number} period @param {number} place @param {number} x @param {number} most
 */
function again(transcript, kept, period, place, x, most) {
  const filled = filledWith(kept, period, place);
  const known = kept.memo.get(x);
  if (filled === null || transcript) return most === 1 && known?.period === period ? known.slot : null;
  return filled === x ? place : null;
}

/** Why a reading is not taken, for every value in the same words. @param {Joined} joined @param {number} period @param {number} place @param {number} free @param {number} now */
function quotaReached({ campaign, title }, period, place, free, now) {
  const most = campaign.answersPerPeriod;
  if (free < most)
    return new QuotaReached(`reading ${place} of this period is given already or was passed over: the next one is ${free}`);
  const next = campaign.opens + (period + 1) * campaign.periodSeconds;
  const when = next < campaign.closes ? `the next begins in ${next - now} seconds` : "it was the last";
  return new QuotaReached(`"${title}" takes ${most === 1 ? "1 answer" : `${most} answers`} a period; ${when}`);
}
