/**
 * The possible disclosure of an answer by one report, for the person alone; nothing is drawn, charged or stored.
 *
 * All numbers are computed in integers, and never understate the disclosure. A channel too large for the exact number
 * gets an upper bound.
 */

import { Channel } from "./channels/channel.js";
import { less, total } from "./exact.js";
import { expAbove } from "./promise.js";

/** @typedef {import("./exact.js").Fraction} Fraction */

/** Maximum number of cells of a channel whose disclosure is computed cell by cell. */
const MAX_CELLS = 2 ** 16;

/**
 * The probabilities that show the possible disclosure of an answer. A report fits an answer if no other report is more
 * likely under this answer; a bit vector fits the answers whose bit is set.
 * @typedef {object} Revealed
 * @property {Fraction} before the probability of the answer for an observer who knows this person's earlier answers
 * @property {Fraction} after an upper bound of the probability for this observer after one report
 * @property {Fraction | null} fitsTrue the probability that a report fits the answer, if the answer is true; null if the
 *   channel is too large
 * @property {Fraction | null} fitsOther a lower bound of the probability that a report fits the answer, if another
 *   answer is true; null if the channel is too large
 */

/**
 * An upper bound of the probability after one output of any channel with this LDP level.
 * @param {Fraction} before @param {bigint | null} level nanonats; null if it is infinite
 * @returns {Fraction}
 */
function bounded({ n, d }, level) {
  if (level === null) return { n: 1n, d: 1n };
  const [up, unit] = expAbove(level);
  return { n: n * up, d: n * up + (d - n) * unit };
}

/**
 * The possible disclosure by one report of a channel.
 * @param {Channel} channel @param {bigint | null} level its LDP level
 * @param {Map<number, number>} counts number of earlier answers with each input
 * @param {number | null} x the input of the answer; null for the answer that a report can make most probable or, if the
 *   channel is too large, for the answer that is most probable before the report
 * @returns {Revealed}
 */
export function revealed(channel, level, counts, x) {
  const weights = Array.from({ length: channel.inputCount }, (_, input) => 1n + BigInt(counts.get(input) ?? 0));
  const whole = total(weights);
  const inputs = x === null ? [...weights.keys()] : [x];
  const bits = channel.unary && channel.ones === null;
  const exact = bits || (!channel.unary && channel.inputCount * channel.outputCount <= MAX_CELLS);
  let most = inputs.reduce((one, other) => (weights[one] < weights[other] ? other : one));
  /** @type {Fraction} */
  let after = { n: 0n, d: 1n };
  const look = (/** @type {number} */ input, /** @type {bigint} */ n, /** @type {bigint} */ d) => {
    if (less(after, { n, d })) [most, after] = [input, { n, d }];
  };
  if (bits) {
    // The posterior of an input is largest if only its bit is set. This output multiplies its weight by a / b, and every
    // other weight by (1 - a) / (1 - b), which is rounded down here.
    const others = weights.map((weight, input) => {
      const [a, b, one] = channel.fits(input);
      return weight * (((one - a) << 64n) / (one - b));
    });
    const left = total(others);
    for (const input of inputs) {
      const [a, b] = channel.fits(input);
      const n = (weights[input] * a) << 64n;
      look(input, n, n + b * (left - others[input]));
    }
  } else if (exact)
    for (let y = 0; y < channel.outputCount; y++) {
      const column = weights.map((weight, input) => weight * channel.weight(input, y));
      const d = total(column);
      for (const input of inputs) look(input, column[input], d);
    }
  const before = { n: weights[most], d: whole };
  if (!exact) after = bounded(before, level);
  if (!exact && channel.outputsUnder !== Channel.prototype.outputsUnder && channel.priorSteps <= 2 ** 20) {
    // The largest ratio of an input's probability after an output to its probability before.
    let lift = { n: 0n, d: 1n };
    for (const column of channel.outputsUnder(weights.map(Number))) {
      const n = column.reduce((one, [weight]) => (weight > one ? weight : one), 0n);
      const d = total(column.map(([weight, mass]) => weight * BigInt(mass)));
      if (less(lift, { n, d })) lift = { n, d };
    }
    const lifted = { n: before.n * lift.n, d: lift.d };
    if (less(lifted, after)) after = lifted;
  }
  if (!exact && !channel.unary) return { before, after, fitsTrue: null, fitsOther: null };
  const [truth, wrong, d] = channel.fits(most);
  return { before, after, fitsTrue: { n: truth, d }, fitsOther: { n: wrong, d } };
}
