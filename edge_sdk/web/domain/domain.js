/** The interface of domains, and the domains of labels and of places (SPEC 4). */

import { array, integers, requireName, trimmed } from "../codec.js";
import { DomainError, NotInDomain } from "../errors.js";
import { floorDiv, rational } from "../exact.js";
import { MAX_VALUES } from "../runs.js";

/**
 * An answer: a label, a number, a position, a set of labels, or the answers to a form's questions by their names, with
 * null for a skipped one; or any of these as text.
 * @typedef {string | number | bigint | (string | number | bigint)[] | {[name: string]: any}} Answer
 */

/**
 * A finite set of inputs 0 .. size - 1 with names.
 * @typedef {object} Domain
 * @property {string} kind
 * @property {number} size Infinity for a form: its inputs are never enumerated
 * @property {string[]} named the names that the author chose, in order: labels, or a unit; only these are translated
 * @property {(x: number) => string} label
 * @property {(answer: any, dither: Uint8Array) => Promise<any>} indexOf the input for an answer, given the 8 bytes of
 *   the consent's dither; for a form, the inputs of its questions
 * @property {() => any} describe the properties that a page needs to ask the question
 */

/**
 * Refuse a number of values that is too small or too large.
 * @param {number | bigint} size
 * @returns {number}
 */
export function requireSize(size) {
  if (size < 2 || size > MAX_VALUES) throw new DomainError(`a domain must have 2 to ${MAX_VALUES} values, not ${size}`);
  return Number(size);
}

/**
 * The labels of a wire form.
 * @param {any} value
 * @returns {string[]}
 */
export function labelsFrom(value) {
  const labels = array(value, "the values", DomainError).map((label) => requireName(label, "a value", DomainError));
  if (new Set(labels).size < labels.length) throw new DomainError("a value is listed more than once: list it once");
  return labels;
}

/**
 * The exact number of an answer.
 * @param {any} answer
 * @returns {import("../exact.js").Fraction}
 */
export function numberOf(answer) {
  const found = ["string", "number", "bigint"].includes(typeof answer) ? rational(trimmed(String(answer))) : null;
  if (!found) throw new NotInDomain("the answer must be a finite decimal number, such as 12.5");
  return found;
}

/**
 * A decimal as text, exactly and without trailing zeros.
 * @param {bigint} scaled the number times 10^places @param {number} places
 * @returns {string}
 */
export function decimal(scaled, places) {
  const digits = String(scaled < 0n ? -scaled : scaled).padStart(places + 1, "0");
  const whole = digits.slice(0, digits.length - places);
  const rest = digits.slice(digits.length - places).replace(/0+$/, "");
  return (scaled < 0n ? "-" : "") + whole + (rest && "." + rest);
}

/** A list of labels; in the kind "ordered", their order has a meaning. */
export class Values {
  /** @param {any[]} wire */
  constructor(wire) {
    const [kind, labels] = array(wire, "a domain of values", DomainError, 2);
    this.kind = kind;
    this.named = labelsFrom(labels);
    this.size = requireSize(this.named.length);
    this.places = new Map(this.named.map((label, x) => [label, x]));
  }

  /** @param {number} x */
  label(x) {
    return this.named[x];
  }

  /** @param {any} answer @returns {Promise<number>} */
  async indexOf(answer) {
    const x = this.places.get(answer);
    if (x === undefined)
      throw new NotInDomain(`the answer is not one of the campaign's ${this.size} values: choose one of them`);
    return x;
  }

  describe() {
    return { kind: this.kind, size: this.size, labels: this.named };
  }
}

/** Square cells of a latitude and longitude box, in integer microdegrees; input = row * columns + column. */
export class Grid {
  kind = "grid";
  /** @type {string[]} */
  named = [];

  /** @param {any[]} wire */
  constructor(wire) {
    const numbers = array(wire, "a grid", DomainError, 6).slice(1);
    const [south, north, west, east, step] = integers(
      numbers,
      "a grid's microdegrees",
      DomainError,
      -(2 ** 31),
      2 ** 31,
    );
    for (const [what, low, high, most] of /** @type {const} */ ([["latitudes", south, north, 9e7], ["longitudes", west, east, 18e7]]))
      if (!(-most <= low && low < high && high <= most))
        throw new DomainError(`the ${what} of a grid must increase within -${most / 1e6} .. ${most / 1e6} degrees, not go from ${low / 1e6} to ${high / 1e6}`);
    if (step <= 0) throw new DomainError(`the step of a grid must be above 0 degrees, not ${step / 1e6}`);
    if ((north - south) % step || (east - west) % step)
      throw new DomainError(`the step of a grid must divide its height and its width without remainder, and ${step / 1e6}° does not`);
    this.box = { south, north, west, east, step };
    this.rows = (north - south) / step;
    this.columns = (east - west) / step;
    this.size = requireSize(this.rows * this.columns);
  }

  /** @param {number} x */
  label(x) {
    const { south, west, step } = this.box;
    const centre = (/** @type {number} */ from, /** @type {number} */ place) =>
      decimal(5n * BigInt(2 * from + (2 * place + 1) * step), 7);
    return `${centre(south, Math.floor(x / this.columns))},${centre(west, x % this.columns)}`;
  }

  /** @param {any} answer [latitude, longitude] in degrees, or both as text @returns {Promise<number>} */
  async indexOf(answer) {
    const parts = typeof answer === "string" ? answer.split(",") : answer;
    if (!Array.isArray(parts) || parts.length !== 2)
      throw new NotInDomain("the answer is not a latitude and a longitude in degrees: give two numbers, or text with a comma");
    const { south, north, west, east } = this.box;
    return this.steps(parts[0], "latitude", south, north) * this.columns + this.steps(parts[1], "longitude", west, east);
  }

  /** The number of whole steps above `low`. @param {any} degrees @param {string} what @param {number} low @param {number} high */
  steps(degrees, what, low, high) {
    const { n, d } = numberOf(degrees);
    const above = n * 1_000_000n - BigInt(low) * d;
    if (above < 0n || above > BigInt(high - low) * d)
      throw new NotInDomain(`the ${what} lies outside the campaign's map, ${low / 1e6} to ${high / 1e6}`);
    return Math.min(Number(floorDiv(above, BigInt(this.box.step) * d)), (high - low) / this.box.step - 1);
  }

  describe() {
    return { kind: this.kind, size: this.size, rows: this.rows, columns: this.columns, ...this.box };
  }
}
