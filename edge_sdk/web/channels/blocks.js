/** Blocks: an inner channel for each block of inputs, and open inputs that may give outputs of block 1 (SPEC 5.7). */

import { array, integers, requireFirstUse, toBig } from "../codec.js";
import { ChannelError } from "../errors.js";
import { largest } from "../exact.js";
import { blocksOf, membersOf, runsFrom } from "../runs.js";
import { Channel, ONE, Worst, differ, sum, weightFrom } from "./channel.js";
import { Hadamard } from "./hadamard.js";
import { keyOf } from "./key.js";
import { GradedProjective, ProjectiveResponse } from "./projective.js";
import { RandomizedResponse } from "./response.js";
import { Table } from "./table.js";
import { Wave } from "./wave.js";

/** The channel of a block with one input: it always gives its one output. */
class Constant extends Channel {
  /** @param {any[]} wire */
  constructor(wire) {
    super(array(wire, "a constant channel", ChannelError, 1), 1, 1, 0, 0);
  }

  weight() {
    return 1n;
  }

  sample() {
    return 0;
  }

  loss() {
    return new Worst();
  }
}

/** @type {Record<string, new (wire: any[]) => Channel>} */
const INNER = {
  constant: Constant,
  table: Table,
  response: RandomizedResponse,
  hadamard: Hadamard,
  projective: ProjectiveResponse,
  wave: Wave,
  graded: GradedProjective,
};

/** The weight Q(y|x) of an inner channel, over 2^128. @param {Channel} inner @param {number} x @param {number} y */
const lifted = (inner, x, y) => inner.weight(x, y) << BigInt(128 - inner.scale);

/** The largest weight of any output under these inputs, over 2^128. @param {Channel} inner @param {number[]} inputs */
function largestWeight(inner, inputs) {
  // Column 0 agrees with every row.
  if (inner instanceof Hadamard) return lifted(inner, inputs[0], 0);
  if (inner instanceof ProjectiveResponse || inner instanceof Wave) return inner.inside;
  if (inner instanceof GradedProjective) return largest(inputs.map((x) => inner.inside[inner.classOf[x]]));
  if (inner instanceof RandomizedResponse) return largest([...inner.cover, ...inputs.map((x) => inner.weight(x, x))]) << 64n;
  return largest(inputs.flatMap((x) => Array.from({ length: inner.outputCount }, (_, y) => lifted(inner, x, y))));
}

/** A channel in blocks: its outputs are those of the blocks, one after another, then one for each open input. */
export class Blocks extends Channel {
  /** @param {any[]} wire */
  constructor(wire) {
    const parts = array(wire, "a channel of blocks", ChannelError, 5);
    const cover = weightFrom(parts[1], "the cover weight");
    const runs = runsFrom(parts[2], 1, ChannelError);
    const made = array(parts[3], "the inner channels", ChannelError).map((inner) => {
      const [family] = array(inner, "an inner channel", ChannelError);
      if (!Object.hasOwn(INNER, String(family)))
        throw new ChannelError(`an inner channel's family must be one of ${Object.keys(INNER).join(", ")}`);
      return new INNER[family](inner);
    });
    const which = integers(parts[4], "the number of an inner channel", ChannelError, 0, made.length - 1);
    requireFirstUse(which, made.length, "inner channel", ChannelError);
    if (new Set(made.map(({ wire: each }) => keyOf(each))).size < made.length)
      throw new ChannelError("an inner channel is listed twice: list it once for all its blocks");
    const blockOf = blocksOf(runs);
    const members = membersOf(blockOf);
    const inner = which.map((place) => made[place]);
    if (members.length < 2) throw new ChannelError("a channel of blocks must have at least one block, but all its inputs are open");
    if (members.length === 2 && !members[0].length)
      throw new ChannelError("the only block has all inputs: write its inner channel alone");
    if (inner.length !== members.length - 1)
      throw new ChannelError(`each block must have one inner channel: ${members.length - 1} in all, not ${inner.length}`);
    const blocks = sum(inner.map(({ outputCount }) => outputCount));
    super(
      wire,
      blockOf.length,
      blocks + members[0].length,
      128,
      16 + inner.reduce((most, one) => Math.max(most, one.randomBytes), 0),
    );
    inner.forEach((one, j) => {
      if (one.inputCount !== members[j + 1].length)
        throw new ChannelError(`block ${j + 1} must have as many inputs as its channel: ${one.inputCount}, not ${members[j + 1].length}`);
      if (one.inputCount === 1 && !cover) throw new ChannelError(`block ${j + 1} has one input, and no other input gives its outputs: leave the input open`);
    });
    if (cover && inner[0] instanceof GradedProjective) throw new ChannelError("open inputs give outputs of block 1, so its channel must not be graded: choose another");
    if (cover && members.length !== 2) throw new ChannelError(`open inputs give outputs of block 1, so the channel must have exactly 1 block, not ${members.length - 1}`);
    this.hidden = cover * BigInt(inner[0].outputCount);
    if (this.hidden >= ONE) throw new ChannelError(`the probability that an open input gives an output of block 1 must be at least 0 and below 1, not ${this.hidden} / 2^128`);
    if (this.outputCount > 2 ** 24) throw new ChannelError(`a channel of blocks must have at most 2^24 outputs, not ${this.outputCount}`);
    this.cover = cover;
    this.runs = runs;
    this.members = members;
    this.blockOf = blockOf;
    this.inner = inner;
    this.placeOf = Array(this.inputCount);
    for (const block of members) block.forEach((x, place) => (this.placeOf[x] = place));
    let at = 0;
    /** The first output of each block, by its number; block 0 has the outputs of the open inputs. */
    this.offsets = [blocks, ...inner.map(({ outputCount }) => (at += outputCount) - outputCount)];
    this.priorSteps = 64;
  }

  /** @param {number} x @param {number} y */
  weight(x, y) {
    const [block, place] = [this.blockOf[x], this.placeOf[x]];
    if (!block) {
      if (y === this.offsets[0] + place) return ONE - this.hidden;
      return y < this.offsets[0] ? this.cover : 0n;
    }
    const [inner, output] = [this.inner[block - 1], y - this.offsets[block]];
    return output >= 0 && output < inner.outputCount ? lifted(inner, place, output) : 0n;
  }

  /** @param {number} x @param {Uint8Array} rand */
  sample(x, rand) {
    const [block, place] = [this.blockOf[x], this.placeOf[x]];
    if (block) {
      const inner = this.inner[block - 1];
      return this.offsets[block] + Number(inner.sample(place, rand.subarray(16, 16 + inner.randomBytes)));
    }
    const u = toBig(rand.subarray(0, 16));
    return u < this.hidden ? Number(u / this.cover) : this.offsets[0] + place;
  }

  /** The inputs by block, in order of appearance. @param {number[]} inputs @returns {Map<number, number[]>} */
  byBlock(inputs) {
    /** @type {Map<number, number[]>} */
    const found = new Map();
    for (const x of inputs) {
      const there = found.get(this.blockOf[x]);
      if (there) there.push(x);
      else found.set(this.blockOf[x], [x]);
    }
    return found;
  }

  /** The index of each input in its block. @param {number[]} inputs @returns {number[]} */
  places(inputs) {
    return inputs.map((x) => this.placeOf[x]);
  }

  /** @param {number[]} inputs */
  selected(inputs) {
    const found = [...this.byBlock(inputs)].flatMap(([block, some]) =>
      block
        ? this.inner[block - 1].selected(this.places(some)).map((place) => this.members[block][place])
        : some.slice(0, 2),
    );
    return found.sort((x, other) => x - other);
  }

  /** @param {number[]} first @param {number[]} second */
  pairSteps(first, second) {
    const steps = 64 + 2 * (first.length + second.length);
    const block = this.blockOf[first[0]] || Number(this.cover > 0n);
    if (!block || (!this.cover && this.blockOf[second[0]] !== block)) return steps;
    const [mine, theirs] = [first, second].map((inputs) =>
      this.places(inputs.filter((x) => this.blockOf[x] === block)),
    );
    return steps + 2 * this.inner[block - 1].pairSteps(mine, theirs);
  }

  /** @param {number[]} first @param {number[]} second */
  loss(first, second) {
    const worst = new Worst();
    const others = this.byBlock(second);
    for (const [block, inputs] of this.byBlock(first))
      for (const [otherBlock, otherInputs] of others) {
        const inner = this.inner[block - 1];
        // No other input gives the output of an open input. The outputs of a block are given by the inputs of the block
        // and, if the cover weight is above 0, by the open inputs.
        if (!block) worst.look(BigInt(differ(inputs, otherInputs)), 0n);
        else if (block === otherBlock) {
          const { n, d } = inner.loss(this.places(inputs), this.places(otherInputs));
          worst.look(n, d);
        } else worst.look(largestWeight(inner, this.places(inputs)), this.cover);
        if (!worst.d) return worst;
      }
    return worst;
  }

  /** Infinite: the output of an open input rules out all other inputs, and that of a block all inputs of other blocks. */
  lossAgainstPrior() {
    return new Worst().look(1n, 0n);
  }
}
