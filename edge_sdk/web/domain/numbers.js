/** Domains of numbers: bucket edges, evenly spaced numbers, days (SPEC 4). */

import { array, big, integer, requireIncreasing, requireName, toBig, trimmed } from "../codec.js";
import { DomainError, NotInDomain } from "../errors.js";
import { decimal, numberOf, requireSize } from "./domain.js";

const MOST = 2n ** 62n;
const DAY = 86_400_000;

/** A domain of increasing numbers; `at(x)` is the number of input x times 10^places. */
class Line {
  /**
   * @param {string} kind @param {number} size @param {(x: number) => bigint} at @param {number} places
   * @param {boolean} random whether a number between two inputs is rounded to one of them at random
   * @param {boolean} clamp whether a number outside the range becomes the nearer end
   * @param {string} unit
   */
  constructor(kind, size, at, places, random, clamp, unit) {
    this.kind = kind;
    this.size = requireSize(size);
    this.at = at;
    this.places = places;
    this.random = random;
    this.clamp = clamp;
    this.unit = unit;
    this.named = unit ? [unit] : [];
  }

  /** @param {number} x */
  label(x) {
    return decimal(this.at(x), this.places);
  }

  /** @param {any} answer @param {Uint8Array} dither @returns {Promise<number>} */
  async indexOf(answer, dither) {
    const number = numberOf(answer);
    const d = number.d;
    let n = number.n * 10n ** BigInt(this.places);
    const [first, last] = [this.at(0) * d, this.at(this.size - 1) * d];
    if (n < first || n > last) {
      if (!this.clamp)
        throw new NotInDomain(`the number lies outside the campaign's range, ${this.label(0)} to ${this.label(this.size - 1)}`);
      n = n < first ? first : last;
    }
    // The search ends with `low` as the last input at or below the number, but never as the last input of the domain.
    let [low, high] = [0, this.size - 1];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (this.at(middle) * d <= n) low = middle;
      else high = middle;
    }
    const [above, gap] = [n - this.at(low) * d, (this.at(low + 1) - this.at(low)) * d];
    const up = this.random ? toBig(dither) * gap < above << 64n : 2n * above >= gap;
    return low + Number(up);
  }

  describe() {
    const { kind, size, unit } = this;
    return { kind, size, low: this.label(0), high: this.label(size - 1), step: this.step, unit };
  }

  /** The distance between consecutive numbers as text; "" for bucket edges. @returns {string} */
  get step() {
    return this.kind === "number" ? decimal(this.at(1) - this.at(0), this.places) : "";
  }
}

/**
 * Require the smallest number of decimal places that these numbers need.
 * @param {any} value @param {bigint[]} numbers
 * @returns {number}
 */
function placesFrom(value, numbers) {
  const places = integer(value, "decimal places", DomainError, 0, 18);
  if (places && numbers.every((one) => one % 10n === 0n)) throw new DomainError(`the numbers need fewer than ${places} decimal places: leave the others out`);
  return places;
}

/** Require a scaled number. @param {any} value @returns {bigint} */
const scaled = (value) => big(value, "a number", DomainError, 1n - MOST, MOST - 1n);

/** Require 0 or 1. @param {any} value @param {string} what @returns {boolean} */
const flag = (value, what) => integer(value, what, DomainError, 0, 1) === 1;

/**
 * The number of values from `low` to `high`, both included, that are `step` apart.
 * @param {bigint} low @param {bigint} high @param {bigint} step @param {number} [places] decimal places of the three
 * @returns {number}
 */
function countOf(low, high, step, places = 0) {
  if (low >= high) throw new DomainError(`the lowest number of the range, ${decimal(low, places)}, must be below the highest, ${decimal(high, places)}`);
  if (step <= 0n) throw new DomainError(`the step must be above zero, not ${decimal(step, places)}`);
  if ((high - low) % step) throw new DomainError(`the step must divide the range without remainder, and ${decimal(step, places)} does not`);
  return requireSize((high - low) / step + 1n);
}

/** Numbers, each rounded at random to the listed edge below or above it. @param {any[]} wire @returns {Line} */
export function buckets(wire) {
  const [, places, listed] = array(wire, "a domain of buckets", DomainError, 3);
  const edges = array(listed, "the edges", DomainError).map(scaled);
  requireSize(edges.length);
  requireIncreasing(edges, "bucket edges", DomainError);
  return new Line("buckets", edges.length, (x) => edges[x], placesFrom(places, edges), true, false, "");
}

/** Evenly spaced numbers. @param {any[]} wire @returns {Line} */
export function numberRange(wire) {
  const [, places, first, last, by, random, clamp, named] = array(wire, "a domain of a number", DomainError, 8);
  const [low, high, step] = [first, last, by].map(scaled);
  const few = placesFrom(places, [low, high, step]);
  const size = countOf(low, high, step, few);
  const unit = named === "" ? "" : requireName(named, "a unit", DomainError, 20);
  const at = (/** @type {number} */ x) => low + BigInt(x) * step;
  return new Line("number", size, at, few, flag(random, "rounding"), flag(clamp, "clamp"), unit);
}

/** A day as text. @param {number} day since 1970-01-01 @returns {string} YYYY-MM-DD */
function dayText(day) {
  return new Date(day * DAY).toISOString().slice(0, 10);
}

/**
 * A day from text.
 * @param {string} written
 * @returns {number} days since 1970-01-01; NaN if it is not a day of the calendar
 */
function dayOf(written) {
  const day = /^\d{4}-\d\d-\d\d$/.test(written) ? Date.parse(written + "T00:00:00Z") / DAY : NaN;
  return !Number.isNaN(day) && dayText(day) === written && written >= "0001" ? day : NaN;
}

/** Days from the first to the last, `step` days apart; a day between two of them becomes the earlier one. */
export class Dates {
  kind = "date";
  /** @type {string[]} */
  named = [];

  /** @param {any[]} wire */
  constructor(wire) {
    const parts = array(wire, "a domain of days", DomainError, 5);
    const read = (/** @type {any} */ part) => integer(part, "a day", DomainError, -719_162, 2_932_896);
    this.low = read(parts[1]);
    this.high = read(parts[2]);
    this.step = integer(parts[3], "a step", DomainError, 1, 2 ** 31);
    this.clamp = flag(parts[4], "clamp");
    this.size = countOf(BigInt(this.low), BigInt(this.high), BigInt(this.step));
  }

  /** @param {number} x */
  label(x) {
    return dayText(this.low + x * this.step);
  }

  /** @param {any} answer @returns {Promise<number>} */
  async indexOf(answer) {
    const day = dayOf(typeof answer === "string" ? trimmed(answer) : "");
    if (Number.isNaN(day)) throw new NotInDomain("the answer must be a day of the calendar, written as YYYY-MM-DD");
    const near = Math.min(Math.max(day, this.low), this.high);
    if (near !== day && !this.clamp)
      throw new NotInDomain(`the day lies outside the campaign's range, ${this.label(0)} to ${this.label(this.size - 1)}`);
    return Math.floor((near - this.low) / this.step);
  }

  describe() {
    const { kind, size, step } = this;
    return { kind, size, low: this.label(0), high: this.label(size - 1), step };
  }
}
