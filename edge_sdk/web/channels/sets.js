/** Sets of inputs as outputs: subset selection (SPEC 5.5) and triples (SPEC 5.10). */

import { array, integer } from "../codec.js";
import { ChannelError } from "../errors.js";
import { SupportChannel, cells, sum } from "./channel.js";

/** The binomial coefficient. @param {number} n @param {number} r @returns {bigint} */
function choose(n, r) {
  let found = r > n ? 0n : 1n;
  for (let i = 0; i < r && found; i++) found = (found * BigInt(n - i)) / BigInt(i + 1);
  return found;
}

/** Subset selection: the output is a set of d inputs, as a word; an input prefers the sets that contain it. */
export class SubsetSelection extends SupportChannel {
  unary = true;

  /** @param {any[]} wire */
  constructor(wire) {
    const parts = array(wire, "a subset channel", ChannelError, 4);
    const k = integer(parts[1], "a channel's number of inputs", ChannelError, 3, 62);
    const d = integer(parts[2], "the size of a set", ChannelError, 2, k - 1);
    const complement = choose(k - 1, d);
    super(wire, k, 2 ** k, choose(k - 1, d - 1), complement, complement === 1n);
    this.ones = d;
    this.complement = complement;
    this.priorSteps = 16 * k ** 2;
  }

  /** The word with the bits of these inputs. @param {number[]} members @returns {bigint} */
  word(members) {
    return members.reduce((word, x) => word | (1n << BigInt(this.inputCount - 1 - x)), 0n);
  }

  /** @param {number} x @param {bigint} y */
  weight(x, y) {
    if (!this.emits(y)) return 0n;
    if (BigInt(y) & this.word([x])) return this.inside;
    const others = [...Array(this.inputCount).keys()].filter((other) => other !== x);
    return this.outside + (BigInt(y) === this.word(others.slice(0, this.ones ?? 0)) ? this.remainder : 0n);
  }

  /** @param {number} x @param {Uint8Array} rand */
  sample(x, rand) {
    let [place, own] = this.placed(rand);
    if (!own) place = place / this.outside < this.complement ? place / this.outside : this.complement - 1n;
    let ones = (this.ones ?? 0) - Number(own);
    let word = 0n;
    for (let e = this.inputCount - 2; e >= 0; e--) {
      const below = choose(e, ones);
      word <<= 1n;
      if (place >= below) {
        place -= below;
        ones--;
        word |= 1n;
      }
    }
    const after = BigInt(this.inputCount - 1 - x);
    return ((((word >> after) << 1n) | BigInt(own)) << after) | (word & ((1n << after) - 1n));
  }

  /** @param {number} x @returns {[bigint, bigint, bigint]} */
  fits(x) {
    const d = this.ones ?? 0;
    const shared = choose(this.inputCount - 2, d - 2);
    // Another input has its remainder at the set of the first d inputs without it. If x is among the first d, this set
    // contains x whatever the other input is. Otherwise some of these sets lacks x, or there is no remainder.
    const wrong = shared * this.inside + (this.support - shared) * this.outside + (x < d ? this.remainder : 0n);
    return [this.support * this.inside, wrong, 1n << BigInt(this.scale)];
  }

  /** @param {number[]} prior */
  outputsUnder(prior) {
    return cells(this, prior, this.extremeOutputs(prior));
  }

  get ballSteps() {
    return 2 * this.priorSteps;
  }

  /**
   * The outputs that can be the worst: those with a remainder, which lie within the first d + 1 inputs, and the sets of
   * least and of most mass among the others.
   * @param {number[]} prior
   */
  extremeOutputs(prior) {
    const d = this.ones ?? 0;
    const first = [...Array(d + 1).keys()];
    const words = first.map((left) => this.word(first.filter((x) => x !== left)));
    for (const sign of [1, -1]) {
      const ranked = [...prior.keys()].sort((x, y) => sign * (prior[x] - prior[y]));
      const beyond = ranked.find((x) => x > d);
      if (beyond !== undefined) words.push(this.word([beyond, ...ranked.filter((x) => x !== beyond).slice(0, d - 1)]));
    }
    return words;
  }
}

/** Triples: the output is a triple of a Steiner triple system; an input prefers the triples that contain it. */
export class Triples extends SupportChannel {
  /** @param {any[]} wire */
  constructor(wire) {
    const parts = array(wire, "a triples channel", ChannelError, 3);
    const k = integer(parts[1], "a channel's number of inputs", ChannelError, 2, 4095);
    const n = Math.max(Math.ceil(k / 3) | 1, 3);
    const t = (n - 1) / 2;
    const cs = 3 * t + 1;
    super(wire, k, n * cs, BigInt(cs), BigInt((n - 1) * cs), false);
    this.ring = n;
    this.largestDistance = t;
    this.priorSteps = this.outputCount + 64 * k;
  }

  /** The points of a triple. @param {number} y @returns {number[]} */
  members(y) {
    const { ring: n, largestDistance: t } = this;
    const [orbit, b] = [Math.floor(y / n), y % n];
    if (!orbit) return [b, n + b, 2 * n + b];
    const [r, d] = [Math.floor((orbit - 1) / t), ((orbit - 1) % t) + 1];
    return [r * n + ((b - d + n) % n), r * n + ((b + d) % n), ((r + 1) % 3) * n + b];
  }

  /** @param {number} x @param {number} y */
  weight(x, y) {
    if (this.members(y).includes(x)) return this.inside;
    return this.outside + (y === Number(x % this.ring === 0) ? this.remainder : 0n);
  }

  /** @param {number} x @param {Uint8Array} rand */
  sample(x, rand) {
    const { ring: n, largestDistance: t } = this;
    const [j, a] = [Math.floor(x / n), x % n];
    const [place, near] = this.placed(rand);
    if (near) {
      const i = Number(place);
      if (i <= t) return i ? (((j + 2) % 3) * t + i) * n + a : a;
      return (j * t + Math.min(i - t, n - (i - t))) * n + ((a + i - t) % n);
    }
    const i = Number((place > this.remainder ? place - this.remainder : 0n) / this.outside);
    const c = Math.floor(i / (n - 1));
    const b = (i % (n - 1)) + Number(i % (n - 1) >= a);
    const d = c - j * t;
    if (d >= 1 && d <= t && b === (a + d) % n) return c * n + a;
    if (d >= 1 && d <= t && b === (a - d + n) % n) return (((j + 1) % 3) * t + d) * n + a;
    return c * n + b;
  }

  /** @param {number[]} prior */
  outputsUnder(prior) {
    return cells(this, prior, this.extremeOutputs(prior));
  }

  get ballSteps() {
    return 2 * this.priorSteps;
  }

  /**
   * The outputs that can be the worst: the first two, which have all remainders, and the triples of least and of most
   * mass among the others. A triple without any input, or with all of them, changes no posterior and is skipped.
   * @param {number[]} prior
   */
  extremeOutputs(prior) {
    const total = sum(prior);
    let [rarest, mostFrequent, least, most] = [0, 0, total, 0];
    for (let y = 2; y < this.outputCount; y++) {
      const mass = this.members(y).reduce((before, x) => before + (prior[x] ?? 0), 0);
      if (mass > 0 && mass < least) [least, rarest] = [mass, y];
      if (mass < total && mass > most) [most, mostFrequent] = [mass, y];
    }
    return [0, 1, rarest, mostFrequent];
  }
}
