/** Arcs on a circle of cells, in public orders, and their coverage by windows of cells (SPEC 5.9). */

import { bigEndian, concat } from "../codec.js";
import { ceilDiv } from "../exact.js";
import { shake128 } from "./shake.js";

/** The number of equal parts into which every arc is divided, whatever its length. */
export const POINTS = 2n ** 64n;

/**
 * The arcs in one order.
 * @typedef {object} Layout
 * @property {number[]} sequence the inputs with an arc, in this order
 * @property {number[]} ends the ends of their arcs
 * @property {Float64Array} starts the start of the arc of each input
 */

/**
 * The cuts of a layout's arcs by the borders between cells.
 * @typedef {object} Cuts
 * @property {Int32Array} cut for border j, the position in the sequence of the arc that contains it
 * @property {bigint[]} before 2^64 times the part of that arc before the border, rounded up
 */

/** Arcs of integer lengths around a circle of cells, in one sequence for each public order. */
export class Circle {
  /**
   * @param {number[]} arcs the length of the arc of each input; 0 for an input without one
   * @param {number} cells number of cells @param {number} length the sum of the arcs
   */
  constructor(arcs, cells, length) {
    this.arcs = arcs;
    this.cells = cells;
    this.length = length;
    this.rare = [...arcs.keys()].filter((x) => arcs[x]);
    /** @type {number[] | undefined} */
    this.known = undefined;
    /** @type {Map<number, Layout>} */
    this.layouts = new Map();
    /** @type {Map<number, Cuts>} */
    this.cuts = new Map();
  }

  /** The arcs in an order: sorted by 64-bit keys from SHAKE-128. @param {number} order @returns {Layout} */
  layout(order) {
    let found = this.layouts.get(order);
    if (!found) {
      const { rare, arcs } = this;
      const keys = new DataView(
        shake128(concat("halftruth windows order", bigEndian(order, 4)), 8 * rare.length).slice().buffer,
      );
      // Numbers sort faster than bigints: sort by the upper half of each key, combined with its index into one number;
      // then repair the order of equal upper halves.
      const places = Float64Array.from(rare, (_, i) => keys.getUint32(8 * i) * 2 ** 20 + i)
        .sort()
        .map((one) => one % 2 ** 20);
      const key = (/** @type {number} */ i) => keys.getBigUint64(8 * i);
      for (let at = 1; at < places.length; at++)
        for (let i = at; i > 0 && key(places[i]) < key(places[i - 1]); i--)
          [places[i - 1], places[i]] = [places[i], places[i - 1]];
      const sequence = Array.from(places, (i) => rare[i]);
      const starts = new Float64Array(arcs.length);
      let end = 0;
      const ends = sequence.map((x) => (end = (starts[x] = end) + arcs[x]));
      this.layouts.set(order, (found = { sequence, ends, starts }));
    }
    return found;
  }

  /** The positions of the borders, rounded down. @returns {number[]} */
  get borders() {
    const [length, cells] = [BigInt(this.length), BigInt(this.cells)];
    return (this.known ??= Array.from({ length: this.cells }, (_, j) => Number((BigInt(j) * length) / cells)));
  }

  /** The cuts of the arcs in an order. @param {number} order @returns {Cuts} */
  cutsOf(order) {
    let found = this.cuts.get(order);
    if (!found) {
      const { sequence, ends, starts } = this.layout(order);
      const { borders } = this;
      const [length, cells] = [BigInt(this.length), BigInt(this.cells)];
      const cut = new Int32Array(this.cells);
      let place = 0;
      const before = borders.map((border, j) => {
        while (ends[place] <= border) place++;
        cut[j] = place;
        const x = sequence[place];
        return ceilDiv((BigInt(j) * length - cells * BigInt(starts[x])) << 64n, cells * BigInt(this.arcs[x]));
      });
      this.cuts.set(order, (found = { cut, before }));
    }
    return found;
  }

  /**
   * The cell of a point of the arc of x; 0 for an input without an arc.
   * @param {number} order @param {number} x @param {bigint} point
   */
  cell(order, x, point) {
    if (!this.arcs[x]) return 0;
    const place = BigInt(this.cells) * ((BigInt(this.layout(order).starts[x]) << 64n) + point * BigInt(this.arcs[x]));
    return Number(place / (BigInt(this.length) << 64n));
  }

  /**
   * The number of the 2^64 points of the arc of x before a border.
   * @param {number} order @param {number} x @param {number} border
   */
  pointsBefore(order, x, border) {
    const start = BigInt(this.layout(order).starts[x]);
    const distance = BigInt(border) * BigInt(this.length) - BigInt(this.cells) * start;
    if (distance <= 0n) return 0n;
    const points = ceilDiv(distance << 64n, BigInt(this.cells) * BigInt(this.arcs[x]));
    return points < POINTS ? points : POINTS;
  }

  /**
   * The number of the 2^64 points of the arc of x in the `span` cells from a window.
   * @param {number} order @param {number} x @param {number} window @param {number} span
   */
  covered(order, x, window, span) {
    const end = window + span;
    const until = this.pointsBefore(order, x, Math.min(end, this.cells)) - this.pointsBefore(order, x, window);
    return until + (end > this.cells ? this.pointsBefore(order, x, end - this.cells) : 0n);
  }

  /**
   * The prior's weight before each border, times 2^64, over two rounds of the circle.
   * @param {number} order @param {number[]} prior
   */
  masses(order, prior) {
    const { sequence } = this.layout(order);
    const { cut, before } = this.cutsOf(order);
    let total = 0;
    const sums = sequence.map((x) => (total += prior[x]) - prior[x]);
    const once = before.map((part, j) => (BigInt(sums[cut[j]]) << 64n) + BigInt(prior[sequence[cut[j]]]) * part);
    const whole = BigInt(total) << 64n;
    return [...once, ...once.map((mass) => whole + mass), 2n * whole];
  }
}

/** The coverage of the arcs of a set of inputs by the windows from each border. */
export class Coverage {
  /** @param {Circle} circle @param {number} order @param {Set<number> | null} members null for all */
  constructor(circle, order, members) {
    const { sequence, ends } = circle.layout(order);
    const { cut, before } = circle.cutsOf(order);
    const { borders, cells } = circle;
    this.cells = cells;
    this.cut = cut;
    this.before = before;
    const holds = (/** @type {number} */ place) => members === null || members.has(sequence[place]);
    this.inside = Array.from(cut, holds);
    const chosen = [];
    for (let place = 0; place < ends.length; place++) if (holds(place)) chosen.push(place);
    this.size = chosen.length;
    this.widest = 0;
    // For each arc of the set, find the first border at or after its end; after the last arc, that of the first arc
    // again.
    let border = 0;
    const reached = chosen.map((place) => {
      while (border < cells && borders[border] < ends[place]) border++;
      return border;
    });
    reached.push(reached[0] + cells);
    let at = 0;
    /** The least span of a window from each border that covers a whole arc of the set. */
    this.needs = new Int32Array(cells);
    for (let j = 0; j < cells && this.size; j++) {
      const from = cut[j] + Number(before[j] > 0n);
      while (at < chosen.length && chosen[at] < from) at++;
      this.needs[j] = reached[at] - j;
      if (this.needs[j] > this.widest) this.widest = this.needs[j];
    }
  }

  /**
   * The largest part of an arc that a window covers, over 2^64.
   * @param {number} window @param {number} span @returns {bigint}
   */
  largestPart(window, span) {
    return this.needs[window] <= span ? POINTS : this.partOf(window, window + span);
  }

  /**
   * The largest part of an arc that a window covers, over 2^64, if it covers no whole arc: only arcs at its ends count.
   * @param {number} window @param {number} end
   */
  partOf(window, end) {
    const last = end % this.cells;
    const [here, there] = [this.cut[window], this.cut[last]];
    if (here === there) {
      const part = this.before[last] - this.before[window] + (end >= this.cells ? POINTS : 0n);
      return this.inside[window] ? part : 0n;
    }
    const first = this.inside[window] ? POINTS - this.before[window] : 0n;
    const second = this.inside[last] ? this.before[last] : 0n;
    return first > second ? first : second;
  }
}
