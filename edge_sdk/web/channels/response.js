/** Randomised response: report the true input, or draw from one fixed cover distribution (SPEC 5.2). */

import { array, big, integer, toBig } from "../codec.js";
import { ChannelError } from "../errors.js";
import { total } from "../exact.js";
import { MAX_VALUES } from "../runs.js";
import { Channel, Worst, bestTwo, cumulative, firstAbove, worstLift } from "./channel.js";

/** Randomised response with Q(y|x) = cover[y] + truth [y = x], in integers over 2^64. */
export class RandomizedResponse extends Channel {
  /** @param {any[]} wire */
  constructor(wire) {
    const parts = array(wire, "a response channel", ChannelError, 3);
    const k = integer(parts[1], "a channel's number of inputs", ChannelError, 2, MAX_VALUES);
    super(wire, k, k, 64, 8);
    const cover = array(parts[2], "the cover", ChannelError).map((c) => big(c, "a cover weight", ChannelError));
    if (cover.length !== 1 && cover.length !== k) throw new ChannelError(`a cover must have 1 or ${k} weights, not ${cover.length}`);
    if (cover.length > 1 && cover.every((c) => c === cover[0]))
      throw new ChannelError("the weights of this cover are equal: write them as one weight");
    this.even = cover.length === 1;
    this.cover = cover;
    this.ends = cumulative(cover);
    this.covered = this.even ? cover[0] * BigInt(k) : this.ends[k - 1];
    this.truth = 2n ** 64n - this.covered;
    if (this.truth < 0n) throw new ChannelError(`the cover weights must sum to at most 2^64, not to ${this.covered}`);
    this.priorSteps = 16 * k;
  }

  /** The cover weight of an output. @param {number} y @returns {bigint} */
  coverOf(y) {
    return this.cover[this.even ? 0 : y];
  }

  /** @param {number} x @param {number} y */
  weight(x, y) {
    return this.coverOf(y) + (x === y ? this.truth : 0n);
  }

  /** @param {number} x @param {Uint8Array} rand */
  sample(x, rand) {
    const u = toBig(rand);
    if (u >= this.covered) return x;
    return this.even ? Number(u / this.cover[0]) : firstAbove(this.ends, u);
  }

  /** @param {number[]} inputs */
  selected(inputs) {
    if (this.even) return inputs.slice(0, 2);
    return bestTwo(inputs, (x) => this.cover[x]).sort((one, other) => one - other);
  }

  /** @param {number[]} first @param {number[]} second */
  loss(first, second) {
    // For input x, only output x has a ratio above 1. This ratio is largest for the smallest cover weight.
    const worst = new Worst();
    const lone = second.every((x) => x === second[0]) ? second[0] : -1;
    for (const x of first) if (x !== lone) worst.look(this.coverOf(x) + this.truth, this.coverOf(x));
    return worst;
  }

  get ballSteps() {
    return 2 * this.priorSteps;
  }

  /** @param {number[]} prior */
  lossAgainstPrior(prior) {
    return this.lossUnder(prior.map(BigInt));
  }

  /** `lossAgainstPrior` for a prior with weights of any size. @param {bigint[]} prior */
  lossUnder(prior) {
    return worstLift(this.partsUnder(prior), total(prior));
  }

  /** @param {number[]} prior */
  outputsUnder(prior) {
    return this.partsUnder(prior.map(BigInt));
  }

  /**
   * The columns of all outputs under a prior.
   * @param {bigint[]} prior
   * @returns {Generator<import("./channel.js").Column>}
   */
  *partsUnder(prior) {
    const whole = total(prior);
    for (let y = 0; y < prior.length; y++)
      yield [
        [this.coverOf(y) + this.truth, prior[y]],
        [this.coverOf(y), whole - prior[y]],
      ];
  }
}
