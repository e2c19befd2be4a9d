/** Hadamard response: an output reveals one bit about the input (SPEC 5.3). */

import { array, big, integer, toBig } from "../codec.js";
import { ChannelError } from "../errors.js";
import { MAX_VALUES } from "../runs.js";
import { Channel, Worst, differ, extremes, sum } from "./channel.js";

const WHOLE = 2n ** 64n;

/** True if the entry of the Hadamard matrix is 1. @param {number} row @param {number} y @returns {boolean} */
function agree(row, y) {
  let bits = row & y;
  for (const shift of [16, 8, 4, 2, 1]) bits ^= bits >> shift;
  return (bits & 1) === 0;
}

/** Apply the Walsh-Hadamard transform, in place. @param {number[]} values 2^n numbers @returns {number[]} */
function walsh(values) {
  for (let step = 1; step < values.length; step *= 2)
    for (let start = 0; start < values.length; start += 2 * step)
      for (let y = start; y < start + step; y++) {
        const [low, high] = [values[y], values[y + step]];
        values[y] = low + high;
        values[y + step] = low - high;
      }
  return values;
}

/** Hadamard response: inputs are rows of a Hadamard matrix, outputs are columns; a row prefers the columns of its 1s. */
export class Hadamard extends Channel {
  /** @param {any[]} wire */
  constructor(wire) {
    const parts = array(wire, "a Hadamard channel", ChannelError, 3);
    const k = integer(parts[1], "a channel's number of inputs", ChannelError, 2, MAX_VALUES);
    const log = 32 - Math.clz32(k);
    super(wire, k, 2 ** log, 63 + log, 8 + Math.ceil(log / 8));
    this.truth = big(parts[2], "the truth weight", ChannelError, 2n ** 63n + 1n, WHOLE - 1n);
    this.priorSteps = k * this.outputCount;
  }

  /** @param {number} x @param {number} y */
  weight(x, y) {
    return agree(x + 1, y) ? this.truth : WHOLE - this.truth;
  }

  /** @param {number} x @param {Uint8Array} rand */
  sample(x, rand) {
    const row = x + 1;
    const y = Number(toBig(rand.subarray(8)) & BigInt(this.outputCount - 1));
    return agree(row, y) === toBig(rand.subarray(0, 8)) < this.truth ? y : y ^ (row & -row);
  }

  /** @param {number[]} inputs */
  selected(inputs) {
    return inputs.slice(0, 2);
  }

  /** @param {number[]} first @param {number[]} second */
  loss(first, second) {
    return differ(first, second) ? new Worst().look(this.truth, WHOLE - this.truth) : new Worst();
  }

  /** The mass of the inputs whose row agrees with each output. @param {number[]} prior @returns {number[]} */
  masses(prior) {
    const total = sum(prior);
    const rows = [0, ...prior, ...Array(this.outputCount - prior.length - 1).fill(0)];
    // Halves of numbers up to 2^53 are exact.
    return walsh(rows).map((signed) => total / 2 + signed / 2);
  }

  /** @param {number[]} prior */
  outputsUnder(prior) {
    return extremes(this.truth, WHOLE - this.truth, sum(prior), this.masses(prior));
  }

  get ballSteps() {
    return 32 * this.outputCount;
  }
}
