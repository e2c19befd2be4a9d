/** The random choice of a person's class or prior from their history, with its own level (SPEC 9). */

import { RandomizedResponse } from "./channels/response.js";
import { ceilDiv, expLower, less, total } from "./exact.js";

const ONE = 1n << 96n;

/**
 * The channel of a choice among `count` classes or priors: randomised response, with the cover rounded up.
 * @param {number} count @param {bigint} level nanonats
 * @returns {RandomizedResponse}
 */
export const choiceChannel = (count, level) =>
  new RandomizedResponse(["response", count, [ceilDiv(ONE << 64n, expLower(level) + BigInt(count - 1) * ONE)]]);

/**
 * The public list from which a prior may be chosen: the uniform prior and, for each value, the prior that gives it
 * three quarters and every other value the same weight.
 * @param {number} size @returns {number[][]}
 */
export const candidatePriors = (size) =>
  Array.from({ length: size + 1 }, (_, place) =>
    Array.from({ length: size }, (_, x) => (x === place - 1 ? 3 * (size - 1) : 1)),
  );

/**
 * The index of the prior nearest to the counts in total variation; the first one of several.
 * @param {bigint[]} counts numbers of answers by input; if all are zero, every prior is equally near
 * @param {number[][]} priors
 * @returns {number}
 */
export function nearestPrior(counts, priors) {
  const whole = total(counts);
  const distances = priors.map((prior) => {
    const weights = prior.map(BigInt);
    const d = total(weights);
    const n = counts.reduce((sum, count, x) => {
      const difference = count * d - weights[x] * whole;
      return sum + (difference < 0n ? -difference : difference);
    }, 0n);
    return { n, d };
  });
  return distances.reduce((best, one, place) => (less(one, distances[best]) ? place : best), 0);
}
