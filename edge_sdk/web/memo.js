/**
 * The memo: what was drawn for each value a person gave, and which of a period's slots are filled.
 *
 * A value is drawn for once in a campaign and its output kept, so asking again yields nothing new to average. A slot is
 * filled once and never given back, so the number of reports tells how often the device was asked, and nothing of the
 * values. Both are the person's secrets.
 */

/** @typedef {import("./store.js").Kept} Kept */

/** The next free slot of a period; those below it are filled or were passed over, even if forgotten since. @param {Kept} kept @param {number} period */
export const following = (kept, period) => kept.used.get(period) ?? 0;

/** How many slots are filled or were passed over, in the periods after one. @param {Kept} kept @param {number} [after] */
export const usedSlots = (kept, after = -1) =>
  [...kept.used].reduce((sum, [period, slots]) => (period > after ? sum + slots : sum), 0);

/** What fills a slot, where that is remembered still. @param {Kept} kept @param {number} period @param {number} slot */
export const filledWith = (kept, period, slot) =>
  kept.readings.find((one) => one.period === period && one.slot === slot)?.x ?? null;

/**
 * Fill a slot with an input, and forget what filled those of earlier periods.
 * @param {Kept} kept @param {number} period @param {number} slot @param {number} x
 */
export function fill(kept, period, slot, x) {
  kept.used.set(period, slot + 1);
  kept.readings = [...kept.readings.filter((one) => one.period >= period), { period, slot, x }];
}

/**
 * Remember what was drawn for an input, and where it is reported; one more report of it.
 * @param {Kept} kept @param {number} x @param {number | bigint} output @param {number} period @param {number} slot
 */
export function remember(kept, x, output, period, slot) {
  kept.memo.set(x, { output, period, slot, times: (kept.memo.get(x)?.times ?? 0) + 1 });
}

/** Delete all answers; the slots stay used. @param {Kept} kept */
export function forgetAnswers(kept) {
  kept.memo = new Map();
  kept.readings = [];
  kept.transcript = [];
}
