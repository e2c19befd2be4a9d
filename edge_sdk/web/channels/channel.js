/**
 * What every channel can do (SPEC 5): be weighed, be sampled, be audited.
 *
 * Inputs are numbers. An output is a number, or of a unary channel a bigint, whose bits are the word. Weights are
 * bigints over 2^scale. A prior's weights sum to at most 2^53, so sums of them are exact as numbers.
 */

import { octets, toBig } from "../codec.js";
import { ChannelError } from "../errors.js";

/** A worst ratio of weights; a denominator of 0 is infinite. */
export class Worst {
  n = 1n;
  d = 1n;

  /** @param {bigint} n @param {bigint} d @returns {this} */
  look(n, d) {
    if (n * this.d > this.n * d) [this.n, this.d] = [n, d];
    return this;
  }
}

/** A conditional law, valid at birth. */
export class Channel {
  unary = false;
  /** How many bits of an output of a unary channel are set; null where it may be any number. @type {number | null} */
  ones = null;
  /** Numbers that an audit holds at once (SPEC 6.11). */
  held = 0;
  /** How many steps the worst ratio to a prior takes (SPEC 6.11). */
  priorSteps = 0;

  /**
   * @param {any[]} wire the wire form @param {number} inputs @param {number} outputs @param {number} scale
   * @param {number} randomBytes
   */
  constructor(wire, inputs, outputs, scale, randomBytes) {
    this.wire = wire;
    this.inputs = inputs;
    this.outputs = outputs;
    this.scale = scale;
    this.randomBytes = randomBytes;
  }

  /** The name of the family on the wire. @returns {string} */
  get family() {
    return this.wire[0];
  }

  /** Bits of one output on the wire. @returns {number} */
  get outputBits() {
    return this.unary ? this.inputs : 32 - Math.clz32(this.outputs - 1);
  }

  /** Whether it has this output. @param {number | bigint} y @returns {boolean} */
  emits(y) {
    if (y < 0) return false;
    if (!this.unary) return y < this.outputs;
    const bits = BigInt(y).toString(2);
    return bits.length <= this.inputs && (this.ones === null || bits.replaceAll("0", "").length === this.ones);
  }

  /**
   * An output for an input, a function of exactly `randomBytes` random bytes.
   * @param {number} x @param {Uint8Array} rand
   * @returns {number | bigint}
   */
  draw(x, rand) {
    if (!(x >= 0 && x < this.inputs && Number.isInteger(x)))
      throw new RangeError(`an input lies in 0 .. ${this.inputs - 1}`);
    if (rand.length !== this.randomBytes) throw new RangeError(`one draw takes ${this.randomBytes} random bytes`);
    return this.sample(x, rand);
  }

  /** @param {number} _x @param {Uint8Array} _rand @returns {number | bigint} */
  sample(_x, _rand) {
    throw new TypeError(this.family);
  }

  /** 2^scale * Q(y|x). @param {number} _x @param {any} _y @returns {bigint} */
  weight(_x, _y) {
    throw new TypeError(this.family);
  }

  /**
   * The worst Q(y|x) / Q(y|x') over all y, x of one list, x' of another.
   * @param {number[]} _first @param {number[]} _second
   * @returns {Worst}
   */
  loss(_first, _second) {
    throw new TypeError(this.family);
  }

  /** A few inputs whose worst ratios are those of all of these. @param {number[]} inputs @returns {number[]} */
  apart(inputs) {
    return inputs;
  }

  /** Steps of `loss` (SPEC 6.11). @param {number[]} _first @param {number[]} _second @returns {number} */
  pairSteps(_first, _second) {
    return 64;
  }

  /**
   * The worst of Q(y|x) / P(y) and P(y) / Q(y|x).
   * @param {number[]} prior positive weights
   * @returns {Worst}
   */
  priorLoss(prior) {
    return worstLift(this.outputsUnder(prior), BigInt(sum(prior)));
  }

  /**
   * Outputs, among them those that are worst under a prior, and under any near it.
   * @param {number[]} prior
   * @returns {Iterable<Column>}
   */
  outputsUnder(prior) {
    return cells(this, prior, Array(this.outputs).keys());
  }

  /** How many steps the worst ratio to the priors near one takes (SPEC 6.11). @returns {number} */
  get ballSteps() {
    return 2 * this.inputs * this.outputs;
  }
}

/**
 * An output as a prior sees it: weights, each with the mass of the inputs that have it.
 * @typedef {[bigint, number | bigint][]} Column
 */

/**
 * The worst lift over the priors that differ from one by at most a radius in total variation (SPEC 6.3): for each
 * column, mass is moved from one end of its weights to the other.
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
    worst.look(whole * high, moved(-1, low)).look(moved(1, high), whole * low); // 0 / 0 is worse than nothing
  }
  return worst;
}

/**
 * Outputs cell by cell.
 * @param {Channel} channel @param {number[]} prior @param {Iterable<number | bigint>} outputs
 * @returns {Generator<Column>}
 */
export function* cells(channel, prior, outputs) {
  for (const y of outputs) yield prior.map((mass, x) => [channel.weight(x, y), mass]);
}

/**
 * Where every output has one weight for some inputs and a smaller one for the others, the two outputs that are worst
 * under any prior near: those of least and of most mass.
 * @param {bigint} inside @param {bigint} outside
 * @param {number} total of the prior
 * @param {Iterable<number>} masses for each output, of the inputs with the larger weight
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
 * The sum of numbers, exactly; Infinity where it is above 2^53.
 * @param {number[]} numbers not negative @returns {number}
 */
export const sum = (numbers) =>
  numbers.reduce((total, number) => (number > 2 ** 53 - total ? Infinity : total + number), 0);

/** The sums of the first 1, 2, ... numbers. @param {bigint[]} numbers @returns {bigint[]} */
export function cumulative(numbers) {
  let total = 0n;
  return numbers.map((number) => (total += number));
}

/** The first place whose end is above a number. @param {bigint[]} ends not falling @param {bigint} number */
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
 * The two inputs of the least keys, the first where they are equal; or the one there is.
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
 * Whether some input of one list is another than some input of the other.
 * @param {number[]} one @param {number[]} other
 */
export const differ = (one, other) => one.some((x) => other.some((y) => x !== y));

export const ONE = 1n << 128n;

/** A weight of 16 bytes. @param {any} value @param {string} what @returns {bigint} */
export const weightFrom = (value, what) => toBig(octets(value, what, ChannelError, 16));

/**
 * What outside weights leave for each output that an input prefers, and over all.
 * @param {bigint} outside @param {bigint} having how many outputs an input prefers @param {bigint} lacking how many not
 * @param {boolean} even whether nothing may be left over
 */
export function insideOf(outside, having, lacking, even) {
  const rest = ONE - lacking * outside;
  const inside = rest / having;
  const remainder = rest - having * inside;
  if (!(outside > 0n && outside < inside))
    throw new ChannelError("the outside weight is positive and below the inside one");
  if (even ? remainder : remainder > inside - outside)
    throw new ChannelError("the outside weights leave a remainder that is too large");
  return { inside, remainder };
}

/** Channels whose inputs each prefer a set of outputs: two weights over 2^128. */
export class Support extends Channel {
  /**
   * @param {any[]} wire @param {number} inputs @param {number} outputs
   * @param {bigint} having how many outputs an input prefers @param {bigint} lacking how many not
   * @param {boolean} even whether nothing may be left over
   */
  constructor(wire, inputs, outputs, having, lacking, even) {
    super(wire, inputs, outputs, 128, 16);
    this.outside = weightFrom(wire.at(-1), "the outside weight");
    this.having = having;
    const { inside, remainder } = insideOf(this.outside, having, lacking, even);
    this.inside = inside;
    this.remainder = remainder;
  }

  /**
   * Where a draw lies: [place, true] among the preferred outputs, or [weight beyond them, false].
   * @param {Uint8Array} rand
   */
  placed(rand) {
    const u = toBig(rand);
    const beyond = u - this.having * this.inside;
    return /** @type {[bigint, boolean]} */ (beyond < 0n ? [u / this.inside, true] : [beyond, false]);
  }

  /** @param {number[]} inputs */
  apart(inputs) {
    return inputs.slice(0, 2);
  }

  /** @param {number[]} first @param {number[]} second */
  loss(first, second) {
    return differ(first, second) ? new Worst().look(this.inside, this.outside) : new Worst();
  }
}
