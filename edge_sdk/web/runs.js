/** Runs: the block of each input, as [block, length] pairs in input order (SPEC 5.7). */

import { integers } from "./codec.js";

export const MAX_VALUES = 2 ** 20;

/** @typedef {[number, number][]} Runs */

/**
 * The runs of a wire form; refuses all but the canonical form.
 * @param {any} value @param {number} known number of blocks, from 0, that may appear out of order
 * @param {import("./errors.js").Refusal} error
 * @returns {Runs}
 */
export function runsFrom(value, known, error) {
  const flat = integers(value, "the block or length of a run", error, 0, MAX_VALUES);
  if (flat.length % 2) throw new error("runs must be pairs of a block and a length");
  /** @type {Runs} */
  const runs = [];
  let [seen, total] = [known - 1, 0];
  for (let i = 0; i < flat.length; i += 2) {
    const [block, length] = [flat[i], flat[i + 1]];
    if (block > seen + 1) throw new error(`block ${block} is out of order: blocks must be numbered from ${known} in order of first appearance`);
    if (block === runs.at(-1)?.[0]) throw new error(`two neighbouring runs belong to block ${block}: write them as one run`);
    if (length < 1) throw new error(`a run of block ${block} has no inputs: leave it out`);
    seen = Math.max(seen, block);
    total += length;
    runs.push([block, length]);
  }
  if (total > MAX_VALUES) throw new error(`runs must have at most ${MAX_VALUES} inputs, not ${total}`);
  return runs;
}

/**
 * The block of each input.
 * @param {Runs} runs
 * @returns {number[]}
 */
export const blocksOf = (runs) => runs.flatMap(([block, length]) => Array(length).fill(block));

/**
 * The inputs of each block, block 0 first.
 * @param {ArrayLike<number>} blocks the block of each input
 * @returns {number[][]}
 */
export function membersOf(blocks) {
  /** @type {number[][]} */
  const members = [];
  for (let x = 0; x < blocks.length; x++) {
    while (members.length <= blocks[x]) members.push([]);
    members[blocks[x]].push(x);
  }
  return members;
}
