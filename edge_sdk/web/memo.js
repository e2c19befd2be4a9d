/**
 * The memo: the output drawn for each value of a person, and the filled slots of each period.
 *
 * Without transcripts, each value's output is drawn once per campaign and kept, so averaging repeated reports reveals
 * nothing more. With transcripts, each report is a fresh output, and the memo keeps a value's latest output. A slot is
 * filled once and never released, so the number of a device's reports reveals the number of answers, and nothing about
 * the values. The contents of memo and slots are the person's secrets.
 */

/** @typedef {import("./store.js").Kept} Kept */

/** The next free slot of a period; all lower slots are used. @param {Kept} kept @param {number} period */
export const nextSlot = (kept, period) => kept.used.get(period) ?? 0;

/**
 * The number of used slots in the periods after period `after`; by default in all periods.
 * @param {Kept} kept @param {number} [after]
 */
export const usedSlots = (kept, after = -1) =>
  [...kept.used].reduce((sum, [period, slots]) => (period > after ? sum + slots : sum), 0);

/**
 * The input in a slot; null if it was never stored, or was deleted.
 * @param {Kept} kept @param {number} period @param {number} slot
 */
export const filledWith = (kept, period, slot) =>
  kept.readings.find((one) => one.period === period && one.slot === slot)?.x ?? null;

/**
 * Fill a slot with an input, and delete the inputs in the slots of earlier periods.
 * @param {Kept} kept @param {number} period @param {number} slot @param {number} x
 */
export function fill(kept, period, slot, x) {
  kept.used.set(period, slot + 1);
  kept.readings = [...kept.readings.filter((one) => one.period >= period), { period, slot, x }];
}

/**
 * Store the output of an input and the slot of its report; add one to the number of answers with the input.
 * @param {Kept} kept @param {number} x @param {number | bigint} output @param {number} period @param {number} slot
 */
export function remember(kept, x, output, period, slot) {
  kept.memo.set(x, { output, period, slot, times: (kept.memo.get(x)?.times ?? 0) + 1 });
}

/** Delete all answers of a campaign; the slots stay used. @param {Kept} kept */
export function forgetAnswers(kept) {
  kept.memo = new Map();
  kept.readings = [];
  kept.transcript = [];
}
