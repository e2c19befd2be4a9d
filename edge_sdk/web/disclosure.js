/**
 * What one report could reveal of an answer, for the person alone: nothing is drawn, charged or kept.
 *
 * All is in integers, and never too low: without an exact number, a bound from the channel's level is returned.
 */

import { Channel } from "./channels/channel.js";
import { expAbove } from "./promise.js";

/** @typedef {import("./exact.js").Fraction} Fraction */

/** Cells of a channel that are looked at one by one. */
const MOST_CELLS = 2 ** 16;

/**
 * @typedef {object} Revealed
 * @property {Fraction} before the most that somebody who knew this person's earlier answers believes of the answer
 * @property {Fraction} after the most that they can believe after one report
 * @property {Fraction | null} truth how often a report fits the answer where it is true: is one that it makes likeliest
 * @property {Fraction | null} wrong how often at least where another is; both null where the channel is too large
 */

/** @param {Fraction} one @param {Fraction} other */
export const less = (one, other) => one.n * other.d < other.n * one.d;

/** @param {bigint[]} numbers */
const total = (numbers) => numbers.reduce((one, other) => one + other, 0n);

/**
 * What could be believed at most after one output of any channel of a level.
 * @param {Fraction} before @param {bigint | null} level LDP, nanonats; null where it is infinite
 * @returns {Fraction}
 */
function bounded({ n, d }, level) {
  if (level === null) return { n: 1n, d: 1n };
  const [up, unit] = expAbove(level);
  return { n: n * up, d: n * up + (d - n) * unit };
}

/**
 * @param {Channel} channel @param {bigint | null} level its LDP level
 * @param {Map<number, number>} counts how many reports of each input there were
 * @param {number | null} x the input of the answer; null for the one that a report reveals most about
 * @returns {Revealed}
 */
export function revealed(channel, level, counts, x) {
  const weights = Array.from({ length: channel.inputs }, (_, input) => 1n + BigInt(counts.get(input) ?? 0));
  const whole = total(weights);
  const asked = x === null ? [...weights.keys()] : [x];
  /** @type {Fraction} */
  const before = { n: weights[asked.reduce((one, other) => (weights[other] > weights[one] ? other : one))], d: whole };
  let after = bounded(before, level);
  const look = (/** @type {Fraction} */ found) => (after = less(found, after) ? found : after);
  const small = !channel.unary && channel.inputs * channel.outputs <= MOST_CELLS;
  if (small) {
    let most = before;
    for (let y = 0; y < channel.outputs; y++) {
      const column = weights.map((weight, input) => weight * channel.weight(input, y));
      const d = total(column);
      for (const input of asked) if (less(most, { n: column[input], d })) most = { n: column[input], d };
    }
    look(most);
  } else if (channel.outputsUnder !== Channel.prototype.outputsUnder && channel.priorSteps <= 2 ** 20) {
    // The most that an output lifts any input over what was believed of it.
    let lift = { n: 0n, d: 1n };
    for (const column of channel.outputsUnder(weights.map(Number))) {
      const n = column.reduce((one, [weight]) => (weight > one ? weight : one), 0n);
      const d = total(column.map(([weight, mass]) => weight * BigInt(mass)));
      if (less(lift, { n, d })) lift = { n, d };
    }
    look({ n: before.n * lift.n, d: lift.d });
  }
  return { before, after, ...(small ? fits(channel, x ?? 0) : { truth: null, wrong: null }) };
}

/** How often a report fits an input. @param {Channel} channel @param {number} x */
function fits(channel, x) {
  const outputs = [...Array(channel.outputs).keys()];
  const likeliest = outputs.reduce((most, y) => (channel.weight(x, y) > most ? channel.weight(x, y) : most), 0n);
  const fitting = outputs.filter((y) => channel.weight(x, y) === likeliest);
  const d = 1n << BigInt(channel.scale);
  const often = Array.from({ length: channel.inputs }, (_, input) => total(fitting.map((y) => channel.weight(input, y))));
  const wrong = often.filter((_, input) => input !== x).reduce((one, other) => (one < other ? one : other));
  return { truth: { n: often[x], d }, wrong: { n: wrong, d } };
}
