/** Geo-indistinguishability: the bound of two inputs is proportional to their distance (SPEC 6.4). */

import { Noise } from "../channels/noise.js";
import { array, big } from "../codec.js";
import { NotionError, Uncertified } from "../errors.js";
import { ceilDiv, gcd, levelOf, root, satisfies, smallest } from "../exact.js";
import { Notion, ldpSteps, levelFrom, upTo, withinLevel, worstPair } from "./notion.js";

/** @typedef {import("../channels/channel.js").Channel} Channel */
/** @typedef {import("../channels/channel.js").Worst} Worst */

const MAX_POINTS = 2 ** 12;
const FARTHEST = 2n ** 62n;
const CERTAIN = 128n * 10n ** 9n;

/** The coordinates of an axis. @param {any} value pairs of a gap and its number of repetitions @returns {bigint[]} */
function axisFrom(value) {
  const flat = array(value, "an axis", NotionError).map((one) =>
    big(one, "a gap or its count", NotionError, 1, FARTHEST),
  );
  /** @type {bigint[]} */
  const found = [0n];
  for (let i = 0; i < flat.length; i += 2) {
    const count = Number(flat[i + 1] ?? MAX_POINTS);
    if (flat[i] === flat[i - 2]) throw new NotionError("neighbouring entries have the same gap: write them as one");
    if (found.length + count > MAX_POINTS + 1) throw new NotionError(`an axis must have at most ${MAX_POINTS} gaps`);
    for (let j = 0; j < count; j++) found.push(found[found.length - 1] + flat[i]);
  }
  const extent = found[found.length - 1];
  if (extent > FARTHEST) throw new NotionError(`the gaps of an axis must sum to at most 2^62, not to ${extent}`);
  return found;
}

/** The least distance of two coordinates that are s places apart, by s. @param {bigint[]} axis @returns {bigint[]} */
const nearestOf = (axis) =>
  axis.map((_, shift) => {
    let least = FARTHEST;
    for (let i = shift; i < axis.length; i++) if (axis[i] - axis[i - shift] < least) least = axis[i] - axis[i - shift];
    return least;
  });

/** Geo-indistinguishability over the points of two axes. */
export class Geo extends Notion {
  /** @param {any[]} wire */
  constructor(wire) {
    const parts = array(wire, "geo", NotionError, 5);
    const level = levelFrom(parts[1]);
    const unit = big(parts[2], "the unit of distance", NotionError, 1, FARTHEST);
    const [down, across] = [axisFrom(parts[3]), axisFrom(parts[4])];
    const points = down.length * across.length;
    if (points < 2 || points > MAX_POINTS)
      throw new NotionError(`geo must have 2 to ${MAX_POINTS} points, not ${points}`);
    const shared = [down, across].reduce(
      (found, axis) => axis.reduce((one, at, i) => (i ? gcd(one, at - axis[i - 1]) : one), found),
      unit,
    );
    if (shared !== 1n) throw new NotionError("the unit of distance and the gaps have a common factor: divide them by it");
    super(wire, level, points);
    this.unit = unit;
    this.down = down;
    this.across = across;
  }

  /** The smallest distance of two points, in units of the coordinates. */
  get smallestGap() {
    const gaps = [this.down, this.across].flatMap((axis) => axis.slice(1).map((at, i) => at - axis[i]));
    return smallest(gaps);
  }

  /** True for noise on a lattice of the same size. @param {Channel} channel @returns {channel is Noise} */
  onLattice(channel) {
    return channel instanceof Noise && channel.rows === this.down.length && channel.columns === this.across.length;
  }

  /** @param {Channel} channel */
  auditSteps(channel) {
    const steps = ldpSteps(channel);
    if (this.onLattice(channel)) return steps + channel.shiftSteps;
    const [pairs, weights] = [channel.inputCount ** 2, channel.inputCount * channel.outputCount];
    return steps + (pairs * channel.outputCount <= 2 ** 21 ? pairs * (channel.outputCount + 16) + 32 * weights : 0);
  }

  /** @param {Channel} channel */
  audit(channel) {
    const worst = worstPair(channel);
    if (!worst.d) throw new Uncertified("an output rules out an input, which no level allows: choose another mechanism");
    let audited = 0n;
    for (const [{ n, d }, square] of this.losses(channel, worst)) {
      const bound = root((audited ** 2n * square) / this.unit ** 2n);
      if (satisfies(n, d, bound < CERTAIN ? bound : CERTAIN)) continue;
      // This is the smallest L with floor(root(L^2 square / unit^2)) >= level.
      const level = levelOf(n, d) ?? CERTAIN;
      audited = root(ceilDiv(level ** 2n * this.unit ** 2n, square) - 1n) + 1n;
    }
    return withinLevel(audited, this.level);
  }

  /**
   * The worst ratios of groups of pairs, each with the least squared distance in its group.
   * @param {Channel} channel @param {Worst} worst
   * @returns {Generator<[{n: bigint, d: bigint}, bigint]>}
   */
  *losses(channel, worst) {
    if (this.onLattice(channel)) {
      const [down, across] = [nearestOf(this.down), nearestOf(this.across)];
      for (const [rows, columns, loss] of channel.shiftLosses())
        yield [loss, down[Math.abs(rows)] ** 2n + across[Math.abs(columns)] ** 2n];
      return;
    }
    if (channel.inputCount ** 2 * channel.outputCount > 2 ** 21) {
      yield [worst, this.smallestGap ** 2n];
      return;
    }
    const rows = upTo(channel.inputCount).map((x) => upTo(channel.outputCount).map((y) => channel.weight(x, y)));
    const rough = rows.map((row) => Float64Array.from(row, Number));
    for (let x = 0; x < rows.length; x++)
      for (let other = 0; other < rows.length; other++) {
        if (x === other) continue;
        // Compare as floats first, and skip ratios that cannot be the worst; compare the others exactly, as bigints.
        let [n, d, best] = [0n, 1n, 0];
        for (let y = 0; y < channel.outputCount; y++) {
          const ratio = rough[x][y] / rough[other][y];
          if (!(ratio >= best) || rows[x][y] * d <= n * rows[other][y]) continue;
          [n, d] = [rows[x][y], rows[other][y]];
          best = ratio * (1 - 1e-14);
        }
        const width = this.across.length;
        const [r, s] = [Math.floor(x / width), Math.floor(other / width)];
        const [up, aside] = [this.down[r] - this.down[s], this.across[x % width] - this.across[other % width]];
        yield [{ n, d }, up * up + aside * aside];
      }
  }
}
