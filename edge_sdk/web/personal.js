/** The random choice of a person's class or prior from their history, at a level of its own (SPEC 9). */

import { Response } from "./channels/response.js";
import { ceilDiv, expLower } from "./exact.js";

const ONE = 1n << 96n;

/**
 * The channel of a choice among `count` classes or priors: randomised response, with the cover rounded up.
 * @param {number} count @param {bigint} level nanonats
 * @returns {Response}
 */
export const choice = (count, level) =>
  new Response(["response", count, [ceilDiv(ONE << 64n, expLower(level) + BigInt(count - 1) * ONE)]]);

/**
 * The public list from which a prior may be chosen: the uniform prior and, for each value, the prior that gives it
 * three quarters and every other value the same weight.
 * @param {number} size @returns {number[][]}
 */
export const candidates = (size) =>
  Array.from({ length: size + 1 }, (_, place) =>
    Array.from({ length: size }, (_, x) => (x === place - 1 ? 3 * (size - 1) : 1)),
  );

/**
 * The index of the prior nearest to the counts in total variation; the first one of several.
 * @param {bigint[]} counts all zero are equally near to every prior @param {number[][]} priors
 * @returns {number}
 */
export function nearest(counts, priors) {
  const whole = counts.reduce((one, other) => one + other);
  const distances = priors.map((prior) => {
    const weights = prior.map(BigInt);
    const total = weights.reduce((one, other) => one + other);
    const numerator = counts.reduce((sum, count, x) => {
      const difference = count * total - weights[x] * whole;
      return sum + (difference < 0n ? -difference : difference);
    }, 0n);
    return { numerator, total };
  });
  return distances.reduce(
    (best, { numerator, total }, place) => (numerator * distances[best].total < distances[best].numerator * total ? place : best),
    0,
  );
}
