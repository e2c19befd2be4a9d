/** The codec: a canonical subset of msgpack (SPEC 1). Encoding a decoded value gives the same bytes again. */

import { CodecError } from "./errors.js";

/** @typedef {import("./errors.js").Refusal} Refusal */
/** @typedef {number | bigint | string | Uint8Array | Array<any>} Value
 *   integers up to 2^53 - 1 in size are numbers, larger ones are bigints */

const MAX_DEPTH = 8;

// Each marker maps to the width in bytes of the number after it, and to the smallest number that needs this form; for
// negative numbers, to the smallest absolute value.
/** @typedef {Record<number, [number, number]>} Forms */
/** @type {Forms} */
const UNSIGNED = { 0xcc: [1, 2 ** 7], 0xcd: [2, 2 ** 8], 0xce: [4, 2 ** 16], 0xcf: [8, 2 ** 32] };
/** @type {Forms} */
const NEGATIVE = { 0xd0: [1, 33], 0xd1: [2, 2 ** 7 + 1], 0xd2: [4, 2 ** 15 + 1], 0xd3: [8, 2 ** 31 + 1] };
/** @type {Forms} */
const TEXT = { 0xd9: [1, 2 ** 5], 0xda: [2, 2 ** 8], 0xdb: [4, 2 ** 16] };
/** @type {Forms} */
const BYTES = { 0xc4: [1, 0], 0xc5: [2, 2 ** 8], 0xc6: [4, 2 ** 16] };
/** @type {Forms} */
const ARRAY = { 0xdc: [2, 2 ** 4], 0xdd: [4, 2 ** 16] };

const utf8 = new TextEncoder();
const strictUtf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * The concatenation of byte strings.
 * @param {...(ArrayLike<number> & Iterable<number> | string)} parts text as UTF-8
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function concat(...parts) {
  const pieces = parts.map((part) => (typeof part === "string" ? utf8.encode(part) : part));
  const whole = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

/**
 * be(number, width) of SPEC 0; a negative number in two's complement.
 * @param {number | bigint} number below 2^(8 width), at least -2^(8 width - 1)
 * @param {number} width bytes
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function bigEndian(number, width) {
  const out = new Uint8Array(width);
  let rest = BigInt(number);
  for (let at = width - 1; at >= 0; at--, rest >>= 8n) out[at] = Number(rest & 255n);
  return out;
}

/**
 * Lower-case hexadecimal.
 * @param {Uint8Array} bytes
 * @returns {string}
 */
export const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/**
 * The number that the bytes encode, big-endian.
 * @param {Uint8Array} bytes
 * @returns {bigint}
 */
export function toBig(bytes) {
  if (bytes.length === 8) return new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0);
  return bytes.length ? BigInt("0x" + hex(bytes)) : 0n;
}

/**
 * True if two byte strings are equal; not in constant time.
 * @param {Uint8Array} one
 * @param {Uint8Array} other
 * @returns {boolean}
 */
export const same = (one, other) => one.length === other.length && one.every((byte, at) => byte === other[at]);

/**
 * Encode a value in its canonical form.
 * @param {Value} value
 * @returns {Uint8Array<ArrayBuffer>}
 * @throws {TypeError} a type outside the subset, a number that is not an integer, text with lone surrogates
 * @throws {RangeError} an integer outside -2^63 .. 2^64 - 1, or nesting deeper than MAX_DEPTH
 */
export function encode(value) {
  /** @type {Uint8Array[]} */
  const parts = [];
  write(value, MAX_DEPTH, parts);
  return concat(...parts);
}

/**
 * Append the marker and the number in its shortest form.
 * @param {Forms} forms @param {number | bigint} size the number's absolute value @param {Uint8Array[]} parts
 * @param {number | bigint} [number]
 */
function head(forms, size, parts, number = size) {
  // Every number in range has a form, but the types do not show it.
  const [marker, [width]] = /** @type {any} */ (Object.entries(forms).findLast(([, [, least]]) => size >= least));
  parts.push(concat([Number(marker)], bigEndian(number, width)));
}

/**
 * Append the encoding of a value.
 * @param {Value} value @param {number} depth arrays that may still nest @param {Uint8Array[]} parts
 */
function write(value, depth, parts) {
  if (typeof value === "string") {
    const bytes = utf8.encode(value);
    if (strictUtf8.decode(bytes) !== value) throw new TypeError("the text has a lone surrogate, which UTF-8 cannot encode");
    if (bytes.length < 32) parts.push(Uint8Array.of(0xa0 + bytes.length));
    else head(TEXT, bytes.length, parts);
    parts.push(bytes);
  } else if (value instanceof Uint8Array) {
    head(BYTES, value.length, parts);
    parts.push(value);
  } else if (Array.isArray(value)) {
    if (depth === 0) throw new RangeError(`an array is nested more than ${MAX_DEPTH} deep`);
    if (value.length < 16) parts.push(Uint8Array.of(0x90 + value.length));
    else head(ARRAY, value.length, parts);
    for (const item of value) write(item, depth - 1, parts);
  } else if (typeof value === "bigint" || Number.isSafeInteger(value)) {
    if (value < -(2n ** 63n) || value >= 2n ** 64n) throw new RangeError("an integer on the wire must lie in -2^63 .. 2^64 - 1");
    if (value >= -32 && value < 128) parts.push(Uint8Array.of(Number(value) & 255));
    else if (value > 0) head(UNSIGNED, value, parts);
    else head(NEGATIVE, -value, parts, value);
  } else throw new TypeError(`the wire carries integers, text, bytes and arrays, not ${typeof value}`);
}

/**
 * Decode the one value that fills the bytes.
 * @param {Uint8Array} data
 * @param {number} [limit] maximum length of `data`, checked first
 * @returns {any} a Value; integers up to 2^53 - 1 in size are numbers, larger ones are bigints
 * @throws {CodecError} the bytes are not exactly one canonical value
 */
export function decode(data, limit = 2 ** 20) {
  if (data.length > limit) throw new CodecError(`the value has ${data.length} bytes, and at most ${limit} are allowed`);
  const reader = new Reader(data);
  const value = reader.value(MAX_DEPTH);
  if (reader.at !== data.length) throw new CodecError(`there are bytes after the value, which ends at byte ${reader.at}`);
  return value;
}

/** A reader of canonical values in bytes, one after another; it compares every claimed length with the remaining bytes. */
export class Reader {
  /** @param {Uint8Array} data */
  constructor(data) {
    this.data = data;
    this.at = 0;
  }

  /** Read the next `length` bytes. @param {number} length @returns {Uint8Array} a copy */
  take(length) {
    this.require(length);
    return this.data.slice(this.at, (this.at += length));
  }

  /** Refuse a length beyond the remaining bytes. @param {number} length */
  require(length) {
    if (length > this.data.length - this.at) throw new CodecError("the bytes end inside a value");
  }

  /** Read a big-endian number; refuse one that has a shorter form. @param {[number, number]} form @returns {number} */
  number([width, least]) {
    this.require(width);
    let number = 0;
    for (const end = this.at + width; this.at < end; this.at++) number = number * 256 + this.data[this.at];
    if (number < least) throw new CodecError("a number must be in its shortest form");
    return number;
  }

  /** Read the head of an array. @returns {number} its length; -1 if the next value is not an array */
  array() {
    this.require(1);
    const marker = this.data[this.at];
    const short = (marker & 0xf0) === 0x90;
    if (!short && !ARRAY[marker]) return -1;
    this.at++;
    const length = short ? marker - 0x90 : this.number(ARRAY[marker]);
    // Every element takes at least one byte.
    this.require(length);
    return length;
  }

  /**
   * Read a byte string; one that claims more than `most` bytes is refused even if the bytes end earlier.
   * @param {number} most @param {string} what @param {Refusal} error
   * @returns {Uint8Array}
   */
  bytes(most, what, error) {
    this.require(1);
    const form = BYTES[this.data[this.at]];
    if (!form) throw new error(`${what} must be a byte string`);
    this.at++;
    const length = this.number(form);
    if (length > most) throw new error(`${what} must have at most ${most} bytes, not ${length}`);
    return this.take(length);
  }

  /** Read the next value without keeping it. */
  skip() {
    for (let left = 1; left; left--) {
      const length = this.array();
      if (length < 0) this.value(0);
      else left += length;
    }
  }

  /** Read the next value. @param {number} depth arrays that may still nest @returns {any} */
  value(depth) {
    const length = this.array();
    if (length >= 0) {
      if (depth === 0) throw new CodecError(`arrays nest deeper than ${MAX_DEPTH}`);
      return Array.from({ length }, () => this.value(depth - 1));
    }
    const marker = this.data[this.at++];
    if (marker < 0x80) return marker;
    if (marker >= 0xe0) return marker - 0x100;
    if (BYTES[marker]) return this.take(this.number(BYTES[marker]));
    if (marker >= 0xa0 && marker < 0xc0) return this.text(marker - 0xa0);
    if (TEXT[marker]) return this.text(this.number(TEXT[marker]));
    const form = UNSIGNED[marker] ?? NEGATIVE[marker];
    if (!form) throw new CodecError(`type byte 0x${marker.toString(16)} is not allowed: only integers, text, bytes and arrays are`);
    const [width, least] = form;
    const raw = width < 8 ? this.number([width, 0]) : toBig(this.take(width));
    const number = NEGATIVE[marker] ? BigInt.asIntN(8 * width, BigInt(raw)) : raw;
    if ((NEGATIVE[marker] ? -number : number) < least) throw new CodecError("a number must be in its shortest form");
    return Number.isSafeInteger(Number(number)) ? Number(number) : number;
  }

  /** Read text. @param {number} length in bytes @returns {string} */
  text(length) {
    try {
      return strictUtf8.decode(this.take(length));
    } catch (error) {
      throw error instanceof CodecError ? error : new CodecError("a text must be UTF-8");
    }
  }
}

const NEVER =
  "\\x00-\\x1f\\x7f-\\x9f\\xad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180e\\u200b\\u200e\\u200f\\u2028-\\u202e" +
  "\\u2060-\\u206f\\u2800\\u3164\\ud800-\\udfff\\ufe00-\\ufe0d\\ufeff\\uffa0\\ufff0-\\ufffc\\ufffe\\uffff" +
  "\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e0fff}";
const JOINING =
  "\\u0620-\\u0dff\\u1000-\\u109f\\u1780-\\u17ff\\u1820-\\u18aa\\ufb50-\\ufdff\\ufe70-\\ufefc\\u{1e900}-\\u{1e943}";
const EMOJI = "\\u2190-\\u2bff\\u{1f000}-\\u{1faff}";
const UNREADABLE = new RegExp(
  `[${NEVER}]|(?<![${JOINING}])\\u200c|\\u200c(?![${JOINING}])|(?<![${JOINING}${EMOJI}\\ufe0f])\\u200d` +
    `|\\u200d(?![${JOINING}${EMOJI}])|(?<![${EMOJI}])[\\ufe0e\\ufe0f]|(?<![\\u1820-\\u18aa])[\\u180b-\\u180d\\u180f]`,
  "u",
);
// The blanks, tabs and line ends of SPEC 1.3.
const AROUND = "[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]+";
const BLANKS = new RegExp(`^${AROUND}|${AROUND}$`, "g");

/**
 * True if a person sees every character of the text on one line (SPEC 1.3).
 * @param {string} text
 * @returns {boolean}
 */
export const readable = (text) => !UNREADABLE.test(text);

/**
 * The text without blanks, tabs and line ends at either end.
 * @param {string} text
 * @returns {string}
 */
export const trimmed = (text) => text.replace(BLANKS, "");

// The functions below check decoded fields. They throw the error class that they are given; `what` names the field.

/**
 * Require an array, of exactly `count` elements if that is given.
 * @param {any} value @param {string} what @param {Refusal} error @param {number} [count]
 * @returns {any[]}
 */
export function array(value, what, error, count) {
  if (!Array.isArray(value)) throw new error(`${what} must be an array, not ${typeof value}`);
  if (count !== undefined && value.length !== count)
    throw new error(`${what} must be an array of ${count} fields, not of ${value.length}`);
  return value;
}

/**
 * Require an integer in `low .. high`, and return it as a number.
 * @param {any} value @param {string} what @param {Refusal} error @param {number} low @param {number} high
 * @returns {number}
 */
export const integer = (value, what, error, low, high) => Number(big(value, what, error, low, high));

/**
 * Require an integer in `low .. high`, and return it as a bigint.
 * @param {any} value @param {string} what @param {Refusal} error @param {number | bigint} [low]
 * @param {number | bigint} [high]
 * @returns {bigint}
 */
export function big(value, what, error, low = 0, high = 2n ** 64n - 1n) {
  if (typeof value !== "number" && typeof value !== "bigint") throw new error(`${what} must be an integer, not ${typeof value}`);
  if (value < low || value > high) throw new error(`${what} must lie in ${low} .. ${high}`);
  return BigInt(value);
}

/**
 * Require an array of integers in `low .. high`, and return them as numbers.
 * @param {any} value @param {string} what @param {Refusal} error @param {number} low @param {number} high
 * @returns {number[]}
 */
export const integers = (value, what, error, low, high) =>
  array(value, what, error).map((item) => integer(item, what, error, low, high));

/**
 * Require text.
 * @param {any} value @param {string} what @param {Refusal} error
 * @returns {string}
 */
export function text(value, what, error) {
  if (typeof value !== "string") throw new error(`${what} must be text, not ${typeof value}`);
  return value;
}

/**
 * Require a readable text that is not empty, not too long and without blanks at its ends.
 * @param {any} value @param {string} what @param {Refusal} error @param {number} [most]
 * @returns {string}
 */
export function requireName(value, what, error, most = 200) {
  const name = text(value, what, error);
  if (!name || [...name].length > most || !readable(name) || name !== trimmed(name))
    throw new error(`${what} must be 1 to ${most} readable characters without blanks at its ends, not ${JSON.stringify(name.slice(0, 40))}`);
  return name;
}

/**
 * Require a byte string, of exactly `length` bytes if that is given.
 * @param {any} value @param {string} what @param {Refusal} error @param {number} [length]
 * @returns {Uint8Array}
 */
export function octets(value, what, error, length) {
  if (!(value instanceof Uint8Array)) throw new error(`${what} must be a byte string`);
  if (length !== undefined && value.length !== length)
    throw new error(`${what} must be ${length} bytes, not ${value.length}`);
  return value;
}

/**
 * Refuse entries that do not increase: each one must be above the one before it.
 * @template {number | bigint | string} T @param {T[]} entries @param {string} what @param {Refusal} error
 */
export function requireIncreasing(entries, what, error) {
  const place = entries.findIndex((one, i) => i > 0 && one <= entries[i - 1]);
  if (place > 0) throw new error(`${what} must be in increasing order, each once; entry ${place + 1} is not above entry ${place}`);
}

/**
 * Refuse a list with an entry that nothing uses, or with entries in another order than that of their first use.
 * @param {number[]} places for each use of an entry, its position in the list @param {number} count of the entries
 * @param {string} what an entry @param {Refusal} error
 */
export function requireFirstUse(places, count, what, error) {
  const first = [...new Set(places)];
  if (first.length < count) throw new error(`a listed ${what} is not used: leave it out`);
  if (first.some((place, i) => place !== i)) throw new error(`the list has a ${what} in the wrong place: list each one in the order of its first use`);
}
