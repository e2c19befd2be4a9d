/** Noise: a random step on a lattice of points, stopped at its border (SPEC 5.8). */

import { array, big, integer, toBig } from "../codec.js";
import { ChannelError } from "../errors.js";
import { Channel, Worst, cumulative, firstAbove } from "./channel.js";

/** The kind of a point on an axis: 1 for the first, 2 for the last, and 0 for any other, or for a single point. */
const kindOf = (/** @type {number} */ point, /** @type {number} */ size) =>
  size === 1 ? 0 : Number(point === 0) + 2 * Number(point === size - 1);

/** Noise: y is x plus a random step, clamped to the border in each coordinate; x and y are row * columns + column. */
export class Noise extends Channel {
  /** @param {any[]} wire */
  constructor(wire) {
    const parts = array(wire, "a noise channel", ChannelError, 4);
    const rows = integer(parts[1], "a lattice's rows", ChannelError, 1, 2 ** 12);
    const columns = integer(parts[2], "a lattice's columns", ChannelError, 2, 2 ** 12);
    const points = rows * columns;
    if (points > 2 ** 12) throw new ChannelError(`noise must have at most 4096 points, not ${points}`);
    super(wire, points, points, 62, 8);
    this.rows = rows;
    this.columns = columns;
    this.high = 2 * rows - 1;
    this.wide = 2 * columns - 1;
    const weights = array(parts[3], "a distribution of steps", ChannelError).map((weight) =>
      big(weight, "the weight of a step", ChannelError, 0, 2n ** 62n),
    );
    this.mirrored = weights.length === points;
    const all = this.high * this.wide;
    if (!this.mirrored && weights.length !== all) throw new ChannelError(`a distribution of steps must have ${points} weights if it is symmetric, otherwise ${all}, not ${weights.length}`);
    const folded = (/** @type {number} */ step) => {
      const [r, c] = [Math.floor(step / this.wide), step % this.wide];
      return Math.abs(r - rows + 1) * columns + Math.abs(c - columns + 1);
    };
    /** The weights of the steps: that of (r, c) is at the index (r + rows - 1) * wide + c + columns - 1. */
    const steps = this.mirrored ? Array.from({ length: all }, (_, step) => weights[folded(step)]) : weights;
    this.steps = steps;
    this.ends = cumulative(steps);
    if (this.ends[all - 1] !== 2n ** 62n) throw new ChannelError(`the weights of all steps must sum to 2^62, not to ${this.ends[all - 1]}`);
    const alike = (/** @type {bigint} */ weight, /** @type {number} */ step) => {
      const [r, c] = [Math.floor(step / this.wide), step % this.wide];
      return weight === steps[step + this.wide - 1 - 2 * c] && weight === steps[(this.high - 1 - r) * this.wide + c];
    };
    if (!this.mirrored && steps.every(alike)) throw new ChannelError(`the distribution of steps is symmetric: give only ${points} weights`);
    /** The sums of `steps` over the steps that end at the same point, by the kinds of row and column. */
    this.tables = [0, 1, 2].map((row) => [0, 1, 2].map((column) => this.foldedAt(row, column)));
    /** @type {ReturnType<Noise["ranks"]> | undefined} */
    this.known = undefined;
    this.priorSteps = points ** 2;
    this.shiftSteps = (this.mirrored ? points : all) * (3 * points + 96 * rows);
  }

  /**
   * Compute the element of `tables` for a kind of row and of column.
   * @param {number} row @param {number} column @returns {bigint[]}
   */
  foldedAt(row, column) {
    const found = this.steps.slice();
    const add = (
      /** @type {number} */ kind,
      /** @type {number} */ by,
      /** @type {(at: number) => boolean} */ starts,
    ) => {
      for (let i = 0; kind && i < found.length; i++) {
        const at = kind === 1 ? i : found.length - 1 - i;
        if (!starts(at)) found[at] += found[kind === 1 ? at - by : at + by];
      }
    };
    add(row, this.wide, (at) => (row === 1 ? at < this.wide : at >= found.length - this.wide));
    add(column, 1, (at) => at % this.wide === (column === 1 ? 0 : this.wide - 1));
    return found;
  }

  /** The row and the column of a point. @param {number} x @returns {[number, number]} */
  point(x) {
    return [Math.floor(x / this.columns), x % this.columns];
  }

  /** The table with the weights of an output, and the index of input 0 in it. @param {number} y */
  ending(y) {
    const [row, column] = this.point(y);
    const table = this.tables[kindOf(row, this.rows)][kindOf(column, this.columns)];
    return { table, at: (row + this.rows - 1) * this.wide + column + this.columns - 1 };
  }

  /** @param {number} x @param {number} y */
  weight(x, y) {
    const { table, at } = this.ending(y);
    return table[at - this.back(x)];
  }

  /** The number of table entries by which the weight of input x precedes that of input 0. @param {number} x */
  back(x) {
    const [row, column] = this.point(x);
    return row * this.wide + column;
  }

  /** @param {number} x @param {Uint8Array} rand */
  sample(x, rand) {
    const step = firstAbove(this.ends, toBig(rand) >> 2n);
    const [row, column] = this.point(x);
    const stopped = (/** @type {number} */ point, /** @type {number} */ size) => Math.min(Math.max(point, 0), size - 1);
    const i = stopped(row + Math.floor(step / this.wide) - this.rows + 1, this.rows);
    return i * this.columns + stopped(column + (step % this.wide) - this.columns + 1, this.columns);
  }

  /** @param {number[]} first @param {number[]} second */
  pairSteps(first, second) {
    return 64 + Math.floor((this.outputCount * (64 + this.inputCount + first.length + second.length)) / 8);
  }

  /** The tables with ranks in place of weights, because numbers are compared many times faster than bigints. */
  ranks() {
    const weights = [...new Set(this.tables.flat(2))].sort((one, other) => (one < other ? -1 : Number(one > other)));
    const places = new Map(weights.map((weight, rank) => [weight, rank]));
    const of = new Map(this.tables.flat().map((table) => [table, Int32Array.from(table, (w) => places.get(w) ?? 0)]));
    return { weights, of };
  }

  /** @param {number[]} first @param {number[]} second */
  loss(first, second) {
    const { weights, of } = (this.known ??= this.ranks());
    const [some, others] = [first, second].map((inputs) => Int32Array.from(inputs, (x) => this.back(x)));
    const worst = new Worst();
    for (let y = 0; y < this.outputCount; y++) {
      const { table, at } = this.ending(y);
      const ranks = /** @type {Int32Array} */ (of.get(table));
      let [most, least] = [0, weights.length - 1];
      for (let i = 0; i < some.length; i++) if (ranks[at - some[i]] > most) most = ranks[at - some[i]];
      for (let i = 0; i < others.length; i++) if (ranks[at - others[i]] < least) least = ranks[at - others[i]];
      worst.look(weights[most], weights[least]);
    }
    return worst;
  }

  /**
   * The worst ratio of each shift (r, c), over y and all pairs with x' = x + (r, c). For a symmetric distribution only
   * shifts with r, c >= 0 are given, because the others have the same ratios.
   * @returns {Generator<[number, number, Worst]>}
   */
  *shiftLosses() {
    const known = this.tables.map((row) => row.map((table) => Float64Array.from(table, Number)));
    for (let down = this.mirrored ? 0 : 1 - this.rows; down < this.rows; down++)
      for (let across = this.mirrored ? 0 : 1 - this.columns; across < this.columns; across++)
        if (down || across) yield [down, across, this.shiftLoss(down, across, known)];
  }

  /**
   * The worst ratio of a shift.
   * @param {number} down @param {number} across @param {Float64Array[][]} near the tables as floats
   */
  shiftLoss(down, across, near) {
    const worst = new Worst();
    // Compare as floats first, and skip ratios that cannot be the worst; compare the others exactly, as bigints.
    let best = 0;
    const back = down * this.wide + across;
    // The first and the last step to a point of the given kind, from an x for which x + shift is also on the axis.
    const range = (/** @type {number} */ kind, /** @type {number} */ size, /** @type {number} */ shift) => {
      const [first, last] =
        size === 1
          ? [0, 0]
          : [
              [1, size - 2],
              [0, 0],
              [size - 1, size - 1],
            ][kind];
      return first > last ? [0, -1] : [first + Math.max(shift, 0), last + size - 1 + Math.min(shift, 0)];
    };
    const kinds = (/** @type {number} */ size) => (size === 1 ? [0] : [0, 1, 2]);
    for (const row of kinds(this.rows))
      for (const column of kinds(this.columns)) {
        const [table, rough] = [this.tables[row][column], near[row][column]];
        const [top, bottom] = range(row, this.rows, down);
        const [left, right] = range(column, this.columns, across);
        for (let r = top; r <= bottom; r++)
          for (let at = r * this.wide + left; at <= r * this.wide + right; at++) {
            const ratio = rough[at] / rough[at - back];
            if (!(ratio >= best)) continue;
            worst.look(table[at], table[at - back]);
            best = (Number(worst.n) / Number(worst.d)) * (1 - 1e-14);
          }
      }
    return worst;
  }
}
