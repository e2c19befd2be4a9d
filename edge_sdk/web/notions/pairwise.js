/**
 * Notions that bound the ratio of two inputs' probabilities (SPEC 6.2, 6.6): classes of inputs, and bounds of pairs.
 */

import { array, big, integer, integers, requireIncreasing } from "../codec.js";
import { NotionError } from "../errors.js";
import { MAX_LEVEL, inNats, largest } from "../exact.js";
import { MAX_VALUES, blocksOf, membersOf, runsFrom } from "../runs.js";
import { Notion, levelFrom, provedLevel, upTo } from "./notion.js";

/** @typedef {import("../channels/channel.js").Channel} Channel */
/** @typedef {[number, number, bigint]} Bound class of x, class of x', level */

/** The base class of notions that bound some ordered pairs of classes. */
class Pairwise extends Notion {
  /**
   * @param {any[]} wire @param {bigint} level @param {number[][] | null} classes null if all inputs are in one class
   * @param {Bound[]} bounds
   */
  constructor(wire, level, classes, bounds) {
    super(wire, level, classes && classes.reduce((total, { length }) => total + length, 0));
    this.classes = classes;
    this.bounds = bounds;
  }

  /** The inputs of each class that decide its worst ratios. @param {Channel} channel */
  selected(channel) {
    return (this.classes ?? [upTo(channel.inputCount)]).map((members) => channel.selected(members));
  }

  /** @param {Channel} channel */
  auditSteps(channel) {
    const selected = this.selected(channel);
    return this.bounds.reduce((steps, [c, d]) => steps + channel.pairSteps(selected[c], selected[d]), 2 * channel.inputCount);
  }

  /** @param {Channel} channel */
  audit(channel) {
    const selected = this.selected(channel);
    let audited = 0n;
    for (const [c, d, bound] of this.bounds) {
      const level = provedLevel(channel.loss(selected[c], selected[d]), bound);
      if (level > audited) audited = level;
    }
    return audited;
  }
}

/** Local differential privacy: one bound for all pairs. @param {any[]} wire @returns {Notion} */
export function ldp(wire) {
  const level = levelFrom(array(wire, "ldp", NotionError, 2)[1]);
  const notion = new Pairwise(wire, level, null, [[0, 0, level]]);
  notion.carriesViews = true;
  notion.coarsened = () => notion;
  return notion;
}

/** High-low LDP: outputs of a sensitive value are bounded against every value. @param {any[]} wire @returns {Notion} */
export function highLow(wire) {
  const parts = array(wire, "high-low", NotionError, 4);
  const [level, size] = [levelFrom(parts[1]), integer(parts[2], "the number of values", NotionError, 2, MAX_VALUES)];
  const sensitive = integers(parts[3], "a sensitive value", NotionError, 0, size - 1);
  if (!sensitive.length || sensitive.length >= size)
    throw new NotionError(`high-low LDP needs 1 to ${size - 1} sensitive values of ${size}, not ${sensitive.length}`);
  requireIncreasing(sensitive, "sensitive values", NotionError);
  const marked = new Set(sensitive);
  const others = upTo(size).filter((x) => !marked.has(x));
  return new Pairwise(
    wire,
    level,
    [sensitive, others],
    [
      [0, 0, level],
      [0, 1, level],
    ],
  );
}

/** Block-structured LDP: pairs within a block are bounded. @param {any[]} wire @returns {Notion} */
export function block(wire) {
  const parts = array(wire, "block", NotionError, 3);
  const level = levelFrom(parts[1]);
  const classes = membersOf(blocksOf(runsFrom(parts[2], 0, NotionError)));
  if (classes.every(({ length }) => length < 2)) throw new NotionError("each block has one value only, so nothing would be protected: make a block of at least two values");
  return new Pairwise(
    wire,
    level,
    classes,
    classes.map((_, c) => [c, c, level]),
  );
}

/** A matrix of levels: a bound for each ordered pair of values. @param {any[]} wire @returns {Notion} */
export function pairwise(wire) {
  const parts = array(wire, "pairwise", NotionError, 3);
  const level = levelFrom(parts[1]);
  const rows = array(parts[2], "the levels", NotionError).map((row) =>
    array(row, "a row of levels", NotionError).map((one) => big(one, "a level", NotionError, -1, MAX_LEVEL)),
  );
  const size = rows.length;
  if (size < 2 || size > 256) throw new NotionError(`a matrix of levels must have 2 to 256 rows, not ${size}`);
  rows.forEach((row, x) => {
    if (row.length !== size) throw new NotionError(`row ${x} of the levels must have ${size} entries, not ${row.length}`);
    if (row[x]) throw new NotionError(`the diagonal of a matrix of levels must be 0, and row ${x} has ${row[x]} there`);
  });
  const most = largest(rows.flat());
  if (most !== level) throw new NotionError(`the declared level must be the largest finite entry of the matrix, ${inNats(most)}, not ${inNats(level)}`);
  return matrix(wire, level, rows);
}

/**
 * The notion of a matrix; -1 is no bound.
 * @param {any[]} wire @param {bigint} level @param {bigint[][]} rows
 * @returns {Notion}
 */
function matrix(wire, level, rows) {
  /** @type {Bound[]} */
  const bounds = [];
  rows.forEach((row, x) => row.forEach((one, other) => x !== other && one >= 0n && bounds.push([x, other, one])));
  const notion = new Pairwise(
    wire,
    level,
    rows.map((_, x) => [x]),
    bounds,
  );
  notion.carriesViews = true;
  notion.coarseningSteps = 2 * rows.length ** 2;
  notion.coarsened = (inputOf, size) => {
    const cells = rows.map((_, x) => inputOf(x));
    /** @type {bigint[][]} */
    const coarse = upTo(size).map((z) => upTo(size).map((other) => (z === other ? 0n : -1n)));
    for (const [x, other, one] of bounds) {
      const [z, w] = [cells[x], cells[other]];
      if (z !== w && (coarse[z][w] < 0n || one < coarse[z][w])) coarse[z][w] = one;
    }
    const found = largest(coarse.flat());
    if (found === 0n) throw new NotionError("pairwise bounds no pair of values, so it would protect nothing: bound at least one");
    return matrix([wire[0], found, coarse], levelFrom(found), coarse);
  };
  return notion;
}

/**
 * MinID and AvgID LDP: a budget for each class of values, and pairs of classes without a bound.
 * @param {any[]} wire
 * @returns {Notion}
 */
export function graded(wire) {
  const parts = array(wire, "a graded notion", NotionError, 5);
  const level = levelFrom(parts[1]);
  const budgets = array(parts[2], "the budgets", NotionError).map(levelFrom);
  const classes = membersOf(blocksOf(runsFrom(parts[3], 0, NotionError)));
  const flat = integers(parts[4], "a budget class", NotionError, 0, 63);
  if (!classes.length || classes.length > 64 || budgets.length !== classes.length)
    throw new NotionError(`a graded notion must have 1 to 64 budget classes with one budget each, not ${classes.length} with ${budgets.length}`);
  if (flat.length % 2) throw new NotionError("pairs without a bound must be pairs of budget classes");
  if (!flat.length && new Set(budgets).size < budgets.length)
    throw new NotionError("two budget classes have equal budgets: write them as one");
  const open = new Set();
  /** @type {number[]} */
  const listed = [];
  for (let i = 0; i < flat.length; i += 2) {
    const [c, d] = [flat[i], flat[i + 1]];
    if (c > d || d >= classes.length)
      throw new NotionError(`a pair without a bound must be classes c <= d below ${classes.length}, not ${c} and ${d}`);
    if (c === d && classes[c].length < 2) throw new NotionError(`budget class ${c} has a single input: remove the pair (${c}, ${c})`);
    listed.push(64 * c + d);
    open.add(64 * c + d).add(64 * d + c);
  }
  requireIncreasing(listed, "pairs without a bound", NotionError);
  return gradedOf(wire, level, budgets, classes, open);
}

/**
 * The notion of budgets: the bound of a pair is the smaller budget or, for AvgID, their mean.
 * @param {any[]} wire @param {bigint | null} level the declared one; null for the largest bound
 * @param {bigint[]} budgets
 * @param {number[][]} classes @param {Set<number>} open 64 c + d for each pair (c, d) of classes without a bound
 */
function gradedOf(wire, level, budgets, classes, open) {
  /** @type {Bound[]} */
  const bounds = [];
  budgets.forEach((one, c) =>
    budgets.forEach((other, d) => {
      const bound = wire[0] === "avgid" ? (one + other) / 2n : one < other ? one : other;
      if (!open.has(64 * c + d) && (c !== d || classes[c].length > 1)) bounds.push([c, d, bound]);
    }),
  );
  if (!bounds.length) throw new NotionError(`${wire[0]} bounds no pair of values, so it would protect nothing: bound at least one`);
  const found = largest(bounds.map(([, , bound]) => bound));
  if (level !== null && level !== found) throw new NotionError(`the declared level must be the largest bound of a pair, ${inNats(found)}, not ${inNats(level)}`);
  const notion = new Pairwise(wire, found, classes, bounds);
  notion.carriesViews = !open.size;
  notion.coarseningSteps = 4 * (notion.inputCount ?? 0);
  notion.coarsened = (inputOf, size) => {
    const least = Array(size).fill(MAX_LEVEL);
    classes.forEach((members, c) => {
      for (const x of members) if (budgets[c] < least[inputOf(x)]) least[inputOf(x)] = budgets[c];
    });
    const levels = [...new Set(least)];
    const numbers = least.map((budget) => levels.indexOf(budget));
    return gradedOf([wire[0], numbers, levels], null, levels, membersOf(numbers), new Set());
  };
  return notion;
}
