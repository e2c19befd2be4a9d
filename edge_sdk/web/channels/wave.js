/** Waves: an output near the true number is more likely than any other (SPEC 5.11). */

import { array, integer } from "../codec.js";
import { ChannelError } from "../errors.js";
import { MAX_VALUES } from "../runs.js";
import { SupportChannel, extremes, sum } from "./channel.js";

/** A wave: inputs are ordered numbers; each has a window of 2 b + 1 preferred outputs around it. */
export class Wave extends SupportChannel {
  /** @param {any[]} wire */
  constructor(wire) {
    const parts = array(wire, "a wave channel", ChannelError, 4);
    const k = integer(parts[1], "a channel's number of inputs", ChannelError, 2, MAX_VALUES);
    const b = integer(parts[2], "the half width of a window", ChannelError, 1, k - 1);
    super(wire, k, k + 2 * b, BigInt(2 * b + 1), BigInt(k - 1), true);
    this.span = 2 * b + 1;
    this.priorSteps = 4 * this.outputCount;
  }

  /** @param {number} x @param {number} y */
  weight(x, y) {
    return x <= y && y < x + this.span ? this.inside : this.outside;
  }

  /** @param {number} x @param {Uint8Array} rand */
  sample(x, rand) {
    const [place, near] = this.placed(rand);
    if (near) return x + Number(place);
    const j = Number(place / this.outside);
    return j < x ? j : j + this.span;
  }

  /** The mass of the inputs whose window contains each output. @param {number[]} prior @returns {number[]} */
  masses(prior) {
    let mass = 0;
    return Array.from({ length: this.outputCount }, (_, y) => (mass += (prior[y] ?? 0) - (prior[y - this.span] ?? 0)));
  }

  /** @param {number[]} prior */
  outputsUnder(prior) {
    return extremes(this.inside, this.outside, sum(prior), this.masses(prior));
  }

  get ballSteps() {
    return 16 * this.outputCount;
  }
}
