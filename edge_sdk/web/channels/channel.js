/**
 * The base class of channels (SPEC 5): weights, sampling, worst ratios.
 *
 * Inputs are numbers. An output is a number, or in a unary channel a bit vector: a bigint with one bit for each input.
 * Weights are bigints over 2^scale. A prior's weights sum to at most 2^53, so their sums are exact as numbers.
 */

import { octets, toBig } from "../codec.js";
import { ChannelError } from "../errors.js";
import { largest, smallest } from "../exact.js";

/** The worst ratio so far; with a denominator of 0 it is infinite. */
export class Worst {
  n = 1n;
  d = 1n;

  /** Replace the ratio if n / d is larger. @param {bigint} n @param {bigint} d @returns {this} */
  look(n, d) {
    if (n * this.d > this.n * d) [this.n, this.d] = [n, d];
    return this;
  }
}

/**
 * A conditional distribution Q(y|x); the constructors of the families check that every row sums to 2^scale. A family
 * must define `sample`, `weight` and `loss`: those of this class throw the family's name.
 */
export class Channel {
  /** True if an output is a bit vector (unary encoding, subset selection). */
  unary = false;
  /** Number of set bits in an output of a unary channel; null if it may be any number. @type {number | null} */
  ones = null;
  /** Number of integers that an audit holds in memory at once (SPEC 6.11). */
  numbersHeld = 0;
  /** Number of audit steps of `lossAgainstPrior` (SPEC 6.11). */
  priorSteps = 0;

  /**
   * @param {any[]} wire the wire form @param {number} inputCount @param {number} outputCount @param {number} scale
   * @param {number} randomBytes
   */
  constructor(wire, inputCount, outputCount, scale, randomBytes) {
    this.wire = wire;
    this.inputCount = inputCount;
    this.outputCount = outputCount;
    this.scale = scale;
    this.randomBytes = randomBytes;
  }

  /** The name of the family on the wire. @returns {string} */
  get family() {
    return this.wire[0];
  }

  /** Bits of one output on the wire. @returns {number} */
  get outputBits() {
    return this.unary ? this.inputCount : 32 - Math.clz32(this.outputCount - 1);
  }

  /** True if the channel has this output. @param {number | bigint} y @returns {boolean} */
  emits(y) {
    if (y < 0) return false;
    if (!this.unary) return y < this.outputCount;
    const bits = BigInt(y).toString(2);
    return bits.length <= this.inputCount && (this.ones === null || bits.replaceAll("0", "").length === this.ones);
  }

  /**
   * Draw an output for an input, as a function of exactly `randomBytes` random bytes.
   * @param {number} x @param {Uint8Array} rand
   * @returns {number | bigint}
   */
  draw(x, rand) {
    if (!(x >= 0 && x < this.inputCount && Number.isInteger(x)))
      throw new RangeError(`the input is not in 0 .. ${this.inputCount - 1}`);
    if (rand.length !== this.randomBytes) throw new RangeError(`a draw must get ${this.randomBytes} random bytes, not ${rand.length}`);
    return this.sample(x, rand);
  }

  /** The output for checked arguments. @param {number} _x @param {Uint8Array} _rand @returns {number | bigint} */
  sample(_x, _rand) {
    throw new TypeError(this.family);
  }

  /** The weight of an output, 2^scale * Q(y|x). @param {number} _x @param {any} _y @returns {bigint} */
  weight(_x, _y) {
    throw new TypeError(this.family);
  }

  /**
   * The probabilities that an output fits input x, as [truth, wrong, whole]: truth / whole if x is the answer, and at
   * least wrong / whole if another input is the answer. Except for unary channels, this reads every cell.
   * @param {number} x @returns {[bigint, bigint, bigint]}
   */
  fits(x) {
    const row = Array.from({ length: this.outputCount }, (_, y) => this.weight(x, y));
    const most = largest(row);
    const often = Array.from({ length: this.inputCount }, (_, input) =>
      row.reduce((one, weight, y) => (weight < most ? one : one + this.weight(input, y)), 0n),
    );
    const [truth] = often.splice(x, 1);
    return [truth, smallest(often), 1n << BigInt(this.scale)];
  }

  /**
   * The worst Q(y|x) / Q(y|x') over all outputs y, all x in `_first` and all x' in `_second`.
   * @param {number[]} _first @param {number[]} _second
   * @returns {Worst}
   */
  loss(_first, _second) {
    throw new TypeError(this.family);
  }

  /** The inputs that an audit selects: their worst ratios are those of all given inputs (SPEC 6.11). @param {number[]} inputs @returns {number[]} */
  selected(inputs) {
    return inputs;
  }

  /**
   * Number of audit steps of `loss` (SPEC 6.11).
   * @param {number[]} _first @param {number[]} _second
   * @returns {number}
   */
  pairSteps(_first, _second) {
    return 64;
  }

  /**
   * The worst of Q(y|x) / P(y) and P(y) / Q(y|x).
   * @param {number[]} prior positive weights
   * @returns {Worst}
   */
  lossAgainstPrior(prior) {
    return worstLift(this.outputsUnder(prior), BigInt(sum(prior)));
  }

  /**
   * The columns of outputs that include the worst ones under a prior and under every prior near it.
   * @param {number[]} prior
   * @returns {Iterable<Column>}
   */
  outputsUnder(prior) {
    return cells(this, prior, Array(this.outputCount).keys());
  }

  /** Number of audit steps of `worstLift` with a radius (SPEC 6.11). @returns {number} */
  get ballSteps() {
    return 2 * this.outputCount * (this.inputCount + 8);
  }
}

/**
 * An output under a prior: its weights, each with the mass of the inputs that have it.
 * @typedef {[bigint, number | bigint][]} Column
 */

/**
 * The worst lift over all priors within a total-variation distance of a given one (SPEC 6.3). The worst of these
 * priors for a column moves mass from one end of its weights to the other.
 * @param {Iterable<Column>} columns @param {bigint} total of the prior @param {number} [radius] over 10^9
 * @returns {Worst}
 */
export function worstLift(columns, total, radius = 0) {
  const worst = new Worst();
  const share = 10n ** 9n;
  const whole = total * share;
  for (const column of columns) {
    const parts = column.map(([weight, mass]) => /** @type {[bigint, bigint]} */ ([weight, BigInt(mass) * share]));
    let [mean, low, high] = [0n, parts[0][0], parts[0][0]];
    for (const [weight, mass] of parts) {
      mean += weight * mass;
      if (weight < low) low = weight;
      if (weight > high) high = weight;
    }
    const moved = (/** @type {1 | -1} */ sign, /** @type {bigint} */ to) => {
      if (!radius) return mean;
      let [left, found] = [BigInt(radius) * total, mean];
      for (const [weight, mass] of parts.sort(([one], [other]) => (one < other ? -sign : one > other ? sign : 0))) {
        found += (to - weight) * (mass < left ? mass : left);
        left -= mass < left ? mass : left;
      }
      return found;
    };
    // A ratio of 0 / 0 leaves the worst ratio as it is.
    worst.look(whole * high, moved(-1, low)).look(moved(1, high), whole * low);
  }
  return worst;
}

/**
 * The columns of the given outputs, read cell by cell.
 * @param {Channel} channel @param {number[]} prior @param {Iterable<number | bigint>} outputs
 * @returns {Generator<Column>}
 */
export function* cells(channel, prior, outputs) {
  for (const y of outputs) yield prior.map((mass, x) => [channel.weight(x, y), mass]);
}

/**
 * The columns with the least and the most mass of inputs that prefer the output. They are the worst ones under every
 * near prior, if each output has one weight for these inputs and a smaller one for all others.
 * @param {bigint} inside @param {bigint} outside
 * @param {number} total of the prior
 * @param {Iterable<number>} masses for each output, the mass of the inputs with the larger weight
 * @returns {Column[]}
 */
export function extremes(inside, outside, total, masses) {
  let [least, most] = [total, 0];
  for (const mass of masses) {
    if (mass > 0 && mass < least) least = mass;
    if (mass < total && mass > most) most = mass;
  }
  return [least, most].map((mass) => {
    /** @type {Column} */
    const parts = [
      [inside, mass],
      [outside, total - mass],
    ];
    return parts.filter((part) => part[1]);
  });
}

/**
 * The exact sum of numbers; Infinity if it is above 2^53.
 * @param {number[]} numbers not negative @returns {number}
 */
export const sum = (numbers) =>
  numbers.reduce((total, number) => (number > 2 ** 53 - total ? Infinity : total + number), 0);

/** The cumulative sums. @param {bigint[]} numbers @returns {bigint[]} */
export function cumulative(numbers) {
  let total = 0n;
  return numbers.map((number) => (total += number));
}

/**
 * The index of the first end above a number; the number of ends if none is.
 * @template {number | bigint} T
 * @param {T[]} ends in increasing order @param {T} number
 */
export function firstAbove(ends, number) {
  let [low, high] = [0, ends.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ends[middle] > number) high = middle;
    else low = middle + 1;
  }
  return low;
}

/**
 * The two inputs with the least keys, the earlier ones of equal keys; one input if there is only one.
 * @param {number[]} inputs @param {(x: number) => number | bigint} key
 * @returns {number[]}
 */
export function bestTwo(inputs, key) {
  /** @type {number[]} */
  const best = [];
  for (const x of inputs) {
    const place = best.findIndex((other) => key(x) < key(other));
    best.splice(place < 0 ? best.length : place, 0, x);
    best.length = Math.min(best.length, 2);
  }
  return best;
}

/**
 * True if the two lists have a pair of different inputs.
 * @param {number[]} one @param {number[]} other
 */
export const differ = (one, other) => one.some((x) => other.some((y) => x !== y));

export const ONE = 1n << 128n;

/** Require a weight of 16 bytes. @param {any} value @param {string} what @returns {bigint} */
export const weightFrom = (value, what) => toBig(octets(value, what, ChannelError, 16));

/**
 * The largest inside weight that the outside weight allows, and the remainder of the row.
 * @param {bigint} outside @param {bigint} support number of outputs that an input prefers
 * @param {bigint} complement number of outputs that it does not prefer
 * @param {boolean} even true if the remainder must be 0
 */
export function insideOf(outside, support, complement, even) {
  const rest = ONE - complement * outside;
  const inside = rest / support;
  const remainder = rest - support * inside;
  if (!(outside > 0n && outside < inside))
    throw new ChannelError(`the outside weight must be above 0 and below the inside weight ${inside}, not ${outside}`);
  if (even && remainder)
    throw new ChannelError(`the outside weight must leave a multiple of ${support} for the inside weights: choose another outside weight`);
  if (remainder > inside - outside)
    throw new ChannelError("the remainder would make an output without the true input more likely than one with it: choose another outside weight");
  return { inside, remainder };
}

/** A channel whose inputs each prefer a set of outputs; two weights over 2^128. */
export class SupportChannel extends Channel {
  /**
   * @param {any[]} wire @param {number} inputCount @param {number} outputCount
   * @param {bigint} support number of outputs that an input prefers
   * @param {bigint} complement number of outputs that it does not prefer @param {boolean} even whether the remainder is 0
   */
  constructor(wire, inputCount, outputCount, support, complement, even) {
    super(wire, inputCount, outputCount, 128, 16);
    this.outside = weightFrom(wire.at(-1), "the outside weight");
    this.support = support;
    const { inside, remainder } = insideOf(this.outside, support, complement, even);
    this.inside = inside;
    this.remainder = remainder;
  }

  /**
   * The position of a draw in a row: [index, true] among the preferred outputs, or [weight beyond them, false].
   * @param {Uint8Array} rand
   */
  placed(rand) {
    const u = toBig(rand);
    const beyond = u - this.support * this.inside;
    return /** @type {[bigint, boolean]} */ (beyond < 0n ? [u / this.inside, true] : [beyond, false]);
  }

  /** @param {number[]} inputs */
  selected(inputs) {
    return inputs.slice(0, 2);
  }

  /** @param {number[]} first @param {number[]} second */
  loss(first, second) {
    return differ(first, second) ? new Worst().look(this.inside, this.outside) : new Worst();
  }
}
