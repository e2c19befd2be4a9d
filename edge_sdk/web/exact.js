/** Comparison of ratios of integers with e^level, in integers only (SPEC 6.1). A level is a bigint of nanonats. */

export const MIN_LEVEL = 10n ** 6n;
export const MAX_LEVEL = 2n * 10n ** 10n;
const NANONATS = 10n ** 9n;

/** A level with its unit, exactly. @param {bigint} nanonats */
export function inNats(nanonats) {
  const digits = String(nanonats % NANONATS).padStart(9, "0").replace(/0+$/, "");
  return `${nanonats / NANONATS}${digits && "."}${digits} nat${nanonats === NANONATS ? "" : "s"}`;
}

/** @type {Map<bigint, bigint>} */
const known = new Map();

/**
 * N with N / 2^96 <= e^(level / 10^9), by Taylor's series with every term rounded down (SPEC 6.1).
 * @param {bigint} level not negative
 * @returns {bigint}
 */
export function expLower(level) {
  let found = known.get(level);
  if (found === undefined) {
    let term = 1n << 160n;
    let total = term;
    for (let i = 1n; term; i++) {
      term = (term * level) / (NANONATS * i);
      total += term;
    }
    found = total >> 64n;
    if (known.size > 1023) known.clear();
    known.set(level, found);
  }
  return found;
}

/**
 * A number of at most expLower(level), from a few known powers: e^(a + b + c) >= e^a e^b (1 + c + c^2 / 2 + c^3 / 6).
 * A share of 2^-64 is subtracted, which is more than expLower loses by rounding.
 * @param {bigint} level
 */
function expBelow(level) {
  const rest = level & 0x1fffffn;
  const middle = (level & 0x1fffffffn) - rest;
  const series = 6n * NANONATS ** 3n + rest * (6n * NANONATS ** 2n + rest * (3n * NANONATS + rest));
  const below = (expLower(level - middle - rest) * expLower(middle) * series) / ((6n * NANONATS ** 3n) << 96n);
  return below - (below >> 64n) - 1n;
}

/**
 * True if numerator / denominator <= e^level is proved; a positive numerator over 0 satisfies no level.
 * @param {bigint} numerator @param {bigint} denominator @param {bigint} level
 * @returns {boolean}
 */
export function satisfies(numerator, denominator, level) {
  const shifted = numerator << 96n;
  // Geo compares up to 230,000 pairs at different levels, and the series of one level takes about 0.1 ms, more above
  // 20 nats. So the fast lower bound is tried first.
  return shifted <= expBelow(level) * denominator || shifted <= expLower(level) * denominator;
}

/**
 * The smallest level that a ratio provably satisfies.
 * @param {bigint} numerator @param {bigint} denominator
 * @returns {bigint | null} null if it is infinite
 */
export function levelOf(numerator, denominator) {
  if (denominator === 0n) return null;
  if (numerator <= denominator) return 0n;
  let level = BigInt(Math.max(0, Math.floor((roughLog(numerator) - roughLog(denominator)) * 1e9)));
  while (!satisfies(numerator, denominator, level)) level++;
  while (level && satisfies(numerator, denominator, level - 1n)) level--;
  return level;
}

/**
 * The number of bits of an integer.
 * @param {bigint} number not negative
 * @returns {number}
 */
function bitLength(number) {
  const digits = number.toString(16);
  return number ? 4 * digits.length - Math.clz32(parseInt(digits[0], 16)) + 28 : 0;
}

/**
 * The natural logarithm of a positive integer in floating point: a first guess, which proves nothing.
 * @param {bigint} number
 * @returns {number}
 */
function roughLog(number) {
  const shift = Math.max(0, bitLength(number) - 53);
  return Math.log(Number(number >> BigInt(shift))) + shift * Math.LN2;
}

/**
 * The quotient of two integers, rounded up.
 * @param {bigint} numerator not negative @param {bigint} denominator positive
 * @returns {bigint}
 */
export const ceilDiv = (numerator, denominator) => (numerator + denominator - 1n) / denominator;

/**
 * The largest integer whose square is at most `number`.
 * @param {bigint} number not negative
 * @returns {bigint}
 */
export function root(number) {
  if (number < 2n) return number;
  let guess = 1n << BigInt((bitLength(number) + 1) >> 1);
  for (;;) {
    const next = (guess + number / guess) >> 1n;
    if (next >= guess) return guess;
    guess = next;
  }
}

/**
 * The greatest common divisor.
 * @param {bigint} one @param {bigint} other not negative, as `one`
 * @returns {bigint}
 */
export function gcd(one, other) {
  while (other) [one, other] = [other, one % other];
  return one;
}

/**
 * The larger of two levels; null is infinite.
 * @param {bigint | null} one @param {bigint | null} other
 * @returns {bigint | null}
 */
export const larger = (one, other) => (one === null || other === null ? null : one > other ? one : other);

/** A rational number n / d; the denominator is positive, and common factors are not divided out. */
/** @typedef {{n: bigint, d: bigint}} Fraction */

const DECIMAL = /^([+-]?)(\d*)\.?(\d*)(?:[eE]([+-]?\d{1,3}))?$/;

/**
 * The number that a person wrote, exactly (SPEC 4). A float is taken as the shortest decimal that parses to it.
 * @param {number | bigint | string} value text without blanks around it
 * @returns {Fraction | null} null if it is not a finite decimal
 */
export function rational(value) {
  const written = String(value);
  const match = written.length <= 400 && DECIMAL.exec(written);
  if (!match || !(match[2] || match[3])) return null;
  const exponent = Number(match[4] ?? 0) - match[3].length;
  const digits = BigInt(match[2] + match[3]) * (match[1] === "-" ? -1n : 1n);
  const power = 10n ** BigInt(Math.abs(exponent));
  return exponent < 0 ? { n: digits, d: power } : { n: digits * power, d: 1n };
}

/**
 * The quotient of two integers, rounded down.
 * @param {bigint} numerator @param {bigint} denominator positive
 * @returns {bigint}
 */
export function floorDiv(numerator, denominator) {
  const quotient = numerator / denominator;
  return quotient * denominator > numerator ? quotient - 1n : quotient;
}

/** The largest number. @template {number | bigint} N @param {N[]} numbers @returns {N} */
export const largest = (numbers) => numbers.reduce((one, other) => (one > other ? one : other));

/** The smallest number. @template {number | bigint} N @param {N[]} numbers @returns {N} */
export const smallest = (numbers) => numbers.reduce((one, other) => (one < other ? one : other));

/** The sum. @param {bigint[]} numbers @returns {bigint} */
export const total = (numbers) => numbers.reduce((one, other) => one + other, 0n);

/** True if one fraction is below another. @param {Fraction} one @param {Fraction} other */
export const less = (one, other) => one.n * other.d < other.n * one.d;
