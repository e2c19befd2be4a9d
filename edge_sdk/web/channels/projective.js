/** Projective response (SPEC 5.4), and graded projective response, with weights by class of input (SPEC 5.12). */

import { array, integer, toBig } from "../codec.js";
import { ChannelError } from "../errors.js";
import { MAX_VALUES, blocksOf, runsFrom } from "../runs.js";
import { Channel, SupportChannel, Worst, bestTwo, extremes, insideOf, sum, weightFrom } from "./channel.js";
import { ProjectiveGeometry } from "./geometry.js";

/** Projective response: inputs and outputs are points of a geometry; an input prefers the points orthogonal to it. */
export class ProjectiveResponse extends SupportChannel {
  /** @param {any[]} wire */
  constructor(wire) {
    const parts = array(wire, "a projective channel", ChannelError, 5);
    const k = integer(parts[1], "a channel's number of inputs", ChannelError, 2, MAX_VALUES);
    const geometry = new ProjectiveGeometry(k, parts[2], parts[3]);
    const { points, support } = geometry;
    super(wire, k, points, BigInt(support), BigInt(points - support), true);
    this.geometry = geometry;
    this.priorSteps = geometry.massSteps;
  }

  /** @param {number} x @param {number} y */
  weight(x, y) {
    return this.geometry.orthogonal(x, y) ? this.inside : this.outside;
  }

  /** @param {number} x @param {Uint8Array} rand */
  sample(x, rand) {
    const [place, near] = this.placed(rand);
    return this.geometry.output(x, Number(near ? place : place / this.outside), near);
  }

  pairSteps() {
    return 128;
  }

  /** @param {number[]} prior */
  outputsUnder(prior) {
    return extremes(this.inside, this.outside, sum(prior), this.geometry.masses(prior));
  }

  get ballSteps() {
    return this.priorSteps + 24 * this.outputCount;
  }
}

/** Projective response with an inside and an outside weight for each class of inputs. */
export class GradedProjective extends Channel {
  /** @param {any[]} wire */
  constructor(wire) {
    const parts = array(wire, "a graded channel", ChannelError, 5);
    const outside = array(parts[3], "the outside weights", ChannelError).map((one) =>
      weightFrom(one, "an outside weight"),
    );
    const classOf = blocksOf(runsFrom(parts[4], 0, ChannelError));
    const classes = new Set(classOf).size;
    const geometry = new ProjectiveGeometry(classOf.length, parts[1], parts[2]);
    const { points, support } = geometry;
    super(wire, classOf.length, points, 128, 16);
    if (classes < 2 || classes > 64 || outside.length !== classes)
      throw new ChannelError(`a graded channel must have 2 to 64 input classes with one outside weight each, not ${classes} with ${outside.length}`);
    if (new Set(outside).size < classes) throw new ChannelError("two input classes have equal outside weights: write them as one");
    this.geometry = geometry;
    this.classOf = classOf;
    this.outside = outside;
    this.inside = outside.map((one) => insideOf(one, BigInt(support), BigInt(points - support), true).inside);
    this.priorSteps = (classes + 1) * (this.inputCount + geometry.massSteps) + 2 * classes * points;
  }

  /** @param {number} x @param {number} y */
  weight(x, y) {
    return (this.geometry.orthogonal(x, y) ? this.inside : this.outside)[this.classOf[x]];
  }

  /** @param {number} x @param {Uint8Array} rand */
  sample(x, rand) {
    const [inside, outside] = [this.inside[this.classOf[x]], this.outside[this.classOf[x]]];
    const u = toBig(rand);
    const beyond = u - BigInt(this.geometry.support) * inside;
    return this.geometry.output(x, Number(beyond < 0n ? u / inside : beyond / outside), beyond < 0n);
  }

  /** The two inputs with the least outside weight and so the largest inside weight. @param {number[]} inputs */
  firstTwo(inputs) {
    return bestTwo(inputs, (x) => this.outside[this.classOf[x]]);
  }

  /** @param {number[]} inputs */
  selected(inputs) {
    return this.firstTwo(inputs).sort((x, other) => x - other);
  }

  pairSteps() {
    return 128;
  }

  /** @param {number[]} first @param {number[]} second */
  loss(first, second) {
    const worst = new Worst();
    for (const x of this.firstTwo(first))
      for (const other of this.firstTwo(second))
        if (x !== other) worst.look(this.inside[this.classOf[x]], this.outside[this.classOf[other]]);
    return worst;
  }

  get ballSteps() {
    return this.priorSteps + 24 * this.outside.length * this.outputCount;
  }

  /** @param {number[]} prior @returns {Generator<import("./channel.js").Column>} */
  *outputsUnder(prior) {
    const priors = this.outside.map((_, c) => prior.map((mass, x) => (this.classOf[x] === c ? mass : 0)));
    const wholes = priors.map(sum);
    const masses = priors.map((prior) => this.geometry.masses(prior));
    for (let y = 0; y < this.outputCount; y++) {
      /** @type {import("./channel.js").Column} */
      const parts = [];
      masses.forEach((of, c) => {
        if (of[y]) parts.push([this.inside[c], of[y]]);
        if (of[y] < wholes[c]) parts.push([this.outside[c], wholes[c] - of[y]]);
      });
      yield parts;
    }
  }
}
