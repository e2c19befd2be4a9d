/** Classes of people: a notion and a channel for each class, over the same values (SPEC 6.8). */

import { Blocks } from "../channels/blocks.js";
import { keyOf } from "../channels/key.js";
import { array } from "../codec.js";
import { NotionError, Uncertified } from "../errors.js";
import { inNats, larger, largest } from "../exact.js";
import { Notion, certify, levelFrom } from "./notion.js";

/** @typedef {import("../channels/channel.js").Channel} Channel */

/** The notion of a wire form. @param {any} wire @param {(wire: any) => Notion} notionFrom @returns {Classes} */
export function classesFrom(wire, notionFrom) {
  const parts = array(wire, "classes", NotionError, 3);
  const level = levelFrom(parts[1]);
  const notions = array(parts[2], "the notions of classes", NotionError).map(notionFrom);
  if (notions.length < 2 || notions.length > 64)
    throw new NotionError(`there must be 2 to 64 classes, not ${notions.length}`);
  const refused = notions.find(({ name }) => ["classes", "own-lip", "transcript-lip"].includes(name));
  if (refused) throw new NotionError(`a class cannot have the notion ${refused.name}: choose one without classes, declared priors and transcripts`);
  if (largestLevel(notions) !== level) throw new NotionError(`the level must be the largest of the classes' levels, ${inNats(largestLevel(notions))}, not ${inNats(level)}`);
  return new Classes(wire, notions);
}

/** The largest declared level. @param {Notion[]} notions @returns {bigint} */
const largestLevel = (notions) => largest(notions.map(({ level }) => level));

/** A notion for each class of people. */
export class Classes extends Notion {
  /** @param {any[]} wire @param {Notion[]} notions of the classes, in their order */
  constructor(wire, notions) {
    const sizes = new Set(notions.map(({ inputCount }) => inputCount).filter((count) => count !== null));
    if (sizes.size > 1) throw new NotionError("the notions of the classes have different numbers of values: give them equal numbers");
    const [size] = sizes;
    super(wire, largestLevel(notions), size === undefined ? null : size * notions.length);
    this.notions = notions;
    this.coarseningSteps = notions.reduce((steps, notion) => steps + notion.coarseningSteps, 0);
  }

  /** The channel and the notion of each class. @param {Channel} channel @returns {[Channel, Notion][]} */
  pairs(channel) {
    const count = this.notions.length;
    const size = Math.floor(channel.inputCount / count);
    if (
      !(channel instanceof Blocks) ||
      channel.runs.length !== count ||
      channel.runs.some(([block, length], i) => block !== i + 1 || length !== size)
    )
      throw new Uncertified(`the channel must be ${count} blocks of equal size, in the order of the classes`);
    return channel.inner.map((inner, c) => [inner, this.notions[c]]);
  }

  /** @param {(x: number) => number} inputOf @param {number} size @returns {Notion} */
  coarsened(inputOf, size) {
    const notions = this.notions.map((notion) => notion.coarsened(inputOf, size));
    return new Classes(["classes", largestLevel(notions), notions.map(({ wire }) => wire)], notions);
  }

  /** @param {Channel} channel */
  steps(channel) {
    const different = new Map(
      this.pairs(channel).map(([inner, notion]) => [keyOf([inner.wire, notion.wire]), notion.steps(inner)]),
    );
    return [...different.values()].reduce((one, other) => one + other);
  }

  /** @param {Channel} channel @returns {import("./notion.js").Certificate} */
  certificate(channel) {
    const known = new Map();
    const classes = this.pairs(channel).map(([inner, notion]) => {
      const key = keyOf([inner.wire, notion.wire]);
      if (!known.has(key)) known.set(key, certify(inner, notion));
      return known.get(key);
    });
    const most = (/** @type {"audited" | "ldp"} */ name) => classes.map((one) => one[name]).reduce(larger);
    const [audited, ldp] = [most("audited") ?? 0n, most("ldp")];
    return { declared: this.level, audited, ldp, cost: ldp ?? audited, ball: null, classes };
  }
}
