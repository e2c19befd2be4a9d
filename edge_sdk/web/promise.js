/** The promise of a notion to a person: the keys of its sentences, and their numbers, rounded up (SPEC 6.1). */

import { decimal } from "./domain/domain.js";
import { MAX_LEVEL, ceilDiv, expLower, smallest } from "./exact.js";

/** The natural logarithm of 10 in nanonats, rounded down. */
const LN_10 = 2_302_585_092n;
const LARGEST_POWER = 15n;

/**
 * e^(level / 10^9) for display, rounded up to two significant digits. A factor below 2 gets two significant digits
 * after subtracting 1; a factor above 10^15 is rounded up to a power of ten.
 * @param {bigint} level nanonats, not negative; of any size
 * @returns {string} digits with a point, or "10^" and digits
 */
export function factorAbove(level) {
  const power = ceilDiv(level, LN_10);
  if (!level) return "1";
  if (power > LARGEST_POWER) return `10^${power}`;
  const [n, d] = expAbove(level);
  const excess = n < 2n * d;
  const [scaled, places] = twoDigits(excess ? n - d : n, d);
  return decimal(excess ? scaled + 10n ** BigInt(places) : scaled, places);
}

/**
 * An upper bound of e^(level / 10^9), as numerator and denominator.
 * @param {bigint} level nanonats, not negative, at most some hundred nats
 * @returns {[bigint, bigint]}
 */
export function expAbove(level) {
  if (!level) return [1n, 1n];
  // A unit of 2^-96 above the lower bound is above e^level, up to the largest level of one report.
  const upper = (/** @type {bigint} */ one) => expLower(one) + 1n;
  const times = level / MAX_LEVEL;
  return [upper(MAX_LEVEL) ** times * upper(level % MAX_LEVEL), 1n << (96n * (times + 1n))];
}

/**
 * n / d, rounded up to two significant digits.
 * @param {bigint} n @param {bigint} d
 * @returns {[bigint, number]} scaled by 10^places
 */
function twoDigits(n, d) {
  let [unit, places] = [1n, 0];
  while (n >= 100n * unit * d) unit *= 10n;
  while (n * 10n ** BigInt(places) < 10n * d) places++;
  return [ceilDiv(n * 10n ** BigInt(places), d * unit) * unit, places];
}

/**
 * The sentences of a promise and their numbers.
 * @typedef {object} Promised
 * @property {string[]} keys of the sentences, in order
 * @property {number} sensitive number of sensitive answers; 0 if the notion is not high-low
 * @property {{[name: string]: string}} numbers decimals, as digits with a point
 */

/**
 * The promise of a certified notion.
 * @param {any} notion @param {import("./notions/notion.js").Certificate} certificate
 * @param {number} [place] index of the person's class, if the campaign has classes and they chose one
 * @returns {Promised}
 */
export function promiseOf(notion, certificate, place) {
  const classes = notion.name === "classes";
  if (classes && place === undefined) return { keys: ["classes"], sensitive: 0, numbers: {} };
  const own = classes ? notion.notions[place ?? 0] : notion;
  const { name } = own;
  const geo = name === "geo";
  const [level, near] = geo ? [2n, 1n].map((times) => (own.level * times * own.smallestGap) / own.unit) : [own.level, 0n];
  // Both notions bound the lift of each answer under a prior, so the ratio of two answers is within twice the level.
  const built = name === "own-lip" || name === "transcript-lip";
  const everybody = built ? 2n * level : certificate.ldp;
  const graded = name === "minid" || name === "avgid";
  const beside = graded ? "pairwise" : name;
  const covered = everybody !== null && (own.bounds || geo) && everybody <= level;
  const keys = [...(classes ? ["class"] : []), name, ...(certificate.ball ? ["ball"] : [])];
  if (everybody === null) keys.push(`${beside}.none`);
  else if (!covered) keys.push(LESS.includes(beside) ? `${beside}.less` : "everybody");
  /** @type {{[name: string]: string}} */
  const numbers = { factor: factorAbove(level) };
  if (geo) numbers.least = factorAbove(near);
  if (graded || name === "pairwise")
    numbers.least = factorAbove(smallest([level, ...own.bounds.map((/** @type {any} */ bound) => bound[2])]));
  if (certificate.ball) Object.assign(numbers, { people: decimal(BigInt(own.radius), 7), ball: factorAbove(certificate.ball) });
  if (everybody !== null) numbers.overall = factorAbove(everybody);
  return { keys, sensitive: name === "high-low" ? own.classes[0].length : 0, numbers };
}

/** Notions with their own sentence on any two answers. */
const LESS = ["high-low", "block", "pairwise", "geo"];
