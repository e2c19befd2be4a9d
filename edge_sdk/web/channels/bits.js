/** A bit vector: one bit for each input, each flipped independently (SPEC 5.6). */

import { array, integers } from "../codec.js";
import { ChannelError, Uncertified } from "../errors.js";
import { blocksOf, runsFrom } from "../runs.js";
import { Channel, Worst, bestTwo, sum } from "./channel.js";

const S = 2n ** 32n;

/** The weights of the bits that are not set. @param {bigint[]} weights those of the bits that are set */
const unset = (weights) => weights.map((weight) => S - weight);

/** Independent bits; each is 1 more often if its input is the true one. */
export class Bits extends Channel {
  unary = true;

  /** @param {any[]} wire */
  constructor(wire) {
    const parts = array(wire, "a bits channel", ChannelError, 4);
    const [own, other] = [parts[1], parts[2]].map((part) => integers(part, "the weight of a bit", ChannelError, 0, 2 ** 32));
    const classOf = blocksOf(runsFrom(parts[3], 0, ChannelError));
    const k = classOf.length;
    if (k < 2 || k > 2 ** 16) throw new ChannelError(`a bits channel must have 2 to 65536 inputs, not ${k}`);
    super(wire, k, 2 ** k, 32 * k, 4 * k);
    const classes = new Set(classOf).size;
    if (own.length !== classes || other.length !== classes)
      throw new ChannelError(`each input class of a bits channel must have one probability a and one b: ${classes} of each, not ${own.length} and ${other.length}`);
    own.forEach((a, c) => {
      if (a <= other[c]) throw new ChannelError(`the probabilities of an input class must satisfy 0 <= b < a <= 2^32, not b = ${other[c]} and a = ${a}`);
    });
    if (new Set(own.map((a, c) => `${a} ${other[c]}`)).size < classes)
      throw new ChannelError("two input classes have equal probabilities: write them as one");
    this.own = own.map(BigInt);
    this.other = other.map(BigInt);
    this.classOf = classOf;
    this.priorSteps = 4 * k + 6 * classes ** 2;
    /** The rank of each class by a / b, and by (1 - b) / (1 - a); the largest ratio has rank 0. */
    this.byOne = this.ranked(this.other, this.own);
    this.byZero = this.ranked(unset(this.own), unset(this.other));
  }

  /**
   * The rank of each class by its ratio top / bottom; the smallest has rank 0.
   * @param {bigint[]} tops @param {bigint[]} bottoms
   */
  ranked(tops, bottoms) {
    const classes = [...tops.keys()];
    const cross = (/** @type {number} */ c, /** @type {number} */ d) => tops[c] * bottoms[d];
    classes.sort((c, d) => Number(cross(c, d) > cross(d, c)) - Number(cross(c, d) < cross(d, c)));
    const places = Array(classes.length);
    classes.forEach((c, place) => (places[c] = place));
    return places;
  }

  /** @param {number} x @param {bigint} y */
  weight(x, y) {
    let total = 1n;
    for (let z = 0; z < this.inputCount; z++) {
      const f = (z === x ? this.own : this.other)[this.classOf[z]];
      total *= (BigInt(y) >> BigInt(this.inputCount - 1 - z)) & 1n ? f : S - f;
    }
    return total;
  }

  /** @param {number} x @param {Uint8Array} rand */
  sample(x, rand) {
    const view = new DataView(rand.buffer, rand.byteOffset);
    let word = "0b";
    for (let z = 0; z < this.inputCount; z++)
      word += Number(BigInt(view.getUint32(4 * z)) < (z === x ? this.own : this.other)[this.classOf[z]]);
    return BigInt(word);
  }

  /** @param {number} x @returns {[bigint, bigint, bigint]} */
  fits(x) {
    return [this.own[this.classOf[x]], this.other[this.classOf[x]], S];
  }

  /**
   * The two inputs whose classes have the lowest ranks.
   * @param {number[]} inputs @param {number[]} places ranks by class
   */
  firstTwo(inputs, places) {
    return bestTwo(inputs, (x) => places[this.classOf[x]]);
  }

  /** @param {number[]} inputs */
  selected(inputs) {
    const found = [...this.firstTwo(inputs, this.byOne), ...this.firstTwo(inputs, this.byZero)];
    return [...new Set(found)].sort((x, other) => x - other);
  }

  /** @param {number[]} first @param {number[]} second */
  loss(first, second) {
    const worst = new Worst();
    for (const x of this.firstTwo(first, this.byOne))
      for (const other of this.firstTwo(second, this.byZero)) {
        const [mine, theirs] = [this.classOf[x], this.classOf[other]];
        if (x !== other)
          worst.look(this.own[mine] * (S - this.other[theirs]), this.other[mine] * (S - this.own[theirs]));
      }
    return worst;
  }

  /**
   * The mass of the inputs of each class, and the least mass of one of them.
   * @param {number[]} prior @returns {[number, number][]}
   */
  masses(prior) {
    /** @type {[number, number][]} */
    const found = this.own.map(() => [0, Infinity]);
    prior.forEach((mass, x) => {
      const one = found[this.classOf[x]];
      one[0] += mass;
      one[1] = Math.min(one[1], mass);
    });
    return found;
  }

  /** @param {number[]} prior */
  lossAgainstPrior(prior) {
    // Q(y|x) / P(y) is largest if only the bit of x is set, and smallest if only that bit is not set. Within a class,
    // both are worst for the smallest prior. Up to a common factor, P(y) is the sum of P r, with r = a / b for a set
    // bit and r' = (S - a) / (S - b) for any other.
    const worst = new Worst();
    if (this.other.includes(0n) || this.own.includes(S)) return worst.look(1n, 0n);
    const total = BigInt(sum(prior));
    const masses = this.masses(prior);
    const over = (/** @type {bigint[]} */ tops, /** @type {bigint[]} */ bottoms) => {
      let [n, d] = [0n, 1n];
      tops.forEach((top, c) => {
        n = n * bottoms[c] + BigInt(masses[c][0]) * top * d;
        d *= bottoms[c];
      });
      return [n, d];
    };
    const [allSet, setOver] = over(this.own, this.other);
    const [noneSet, unsetOver] = over(unset(this.own), unset(this.other));
    this.own.forEach((a, c) => {
      const b = this.other[c];
      // The numerator of P (r - r'), whose denominator is b (S - b).
      const gap = BigInt(masses[c][1]) * S * (a - b);
      worst.look(a * total * unsetOver * (S - b), noneSet * b * (S - b) + gap * unsetOver);
      worst.look(allSet * b * (S - b) - gap * setOver, setOver * b * (S - a) * total);
    });
    return worst;
  }

  get ballSteps() {
    return 4 * this.inputCount + 24 * this.own.length ** 2;
  }

  /** @param {number[]} prior @returns {Iterable<import("./channel.js").Column>} */
  *outputsUnder(prior) {
    // Only these outputs can be the worst, as in lossAgainstPrior: a single bit is set, or a single bit is not set, and it is
    // the bit of the rarest input of a class. The columns have different scales.
    if (this.own.length > 64) throw new Uncertified(`a ball of priors allows a bits channel at most 64 input classes, not ${this.own.length}`);
    const masses = this.masses(prior);
    for (const [c, [all, least]] of masses.entries())
      for (const set of [true, false]) {
        const ratio = (/** @type {number} */ d, /** @type {boolean} */ one) =>
          one ? [this.own[d], this.other[d]] : [S - this.own[d], S - this.other[d]];
        const bottoms = masses.map((_, d) => ratio(d, !set)[1]);
        const [top, bottom] = ratio(c, set);
        const scale = bottoms.reduce((one, other) => one * other);
        /** @type {import("./channel.js").Column} */
        const parts = [[top * scale, least]];
        masses.forEach(([mass], d) =>
          parts.push([(ratio(d, !set)[0] * bottom * scale) / bottoms[d], d === c ? all - least : mass]),
        );
        yield parts.filter((part) => part[1]);
      }
  }
}
