/** The base class of privacy notions, and the certificate that a channel satisfies one (SPEC 6.2, 6.3). */

import { requireAffordable } from "../effort.js";
import { NotionError, Uncertified } from "../errors.js";
import { MAX_LEVEL, MIN_LEVEL, inNats, levelOf } from "../exact.js";
import { big } from "../codec.js";

/** @typedef {import("../channels/channel.js").Channel} Channel */
/** @typedef {import("../channels/channel.js").Worst} Worst */

/**
 * The levels that a channel's integers prove, in nanonats, rounded up.
 * @typedef {object} Certificate
 * @property {bigint} declared the declared level of the notion
 * @property {bigint} audited the smallest level that the channel provably satisfies under its notion
 * @property {bigint | null} ldp the LDP level of the channel; null if it is infinite
 * @property {bigint} cost nanonats charged for one fresh output
 * @property {bigint | null} ball the level for any prior within a declared radius; null if none is declared
 * @property {Certificate[]} classes the certificate of each class, if the notion is one of classes
 */

/** The numbers 0 .. length - 1. @param {number} length @returns {number[]} */
export const upTo = (length) => Array.from({ length }, (_, x) => x);

/** Require a level in the allowed range. @param {any} value @returns {bigint} @throws {NotionError} it is not */
export const levelFrom = (value) => big(value, "a level, in nanonats,", NotionError, MIN_LEVEL, MAX_LEVEL);

/** A privacy notion: a predicate on a channel's integers, with a declared level. */
export class Notion {
  /** True if the notion can be applied to the inputs of a view (SPEC 6.12). */
  carriesViews = false;
  /** Number of steps of `coarsened`. */
  coarseningSteps = 0;

  /**
   * @param {any[]} wire @param {bigint} level
   * @param {number | null} inputCount number of inputs; null if the notion fits any number
   */
  constructor(wire, level, inputCount) {
    this.wire = wire;
    this.level = level;
    this.inputCount = inputCount;
  }

  /** @returns {string} */
  get name() {
    return this.wire[0];
  }

  /**
   * The audited level.
   * @param {Channel} _channel @returns {bigint}
   * @throws {Uncertified} it is above the declared level, or the notion does not allow the channel
   */
  audit(_channel) {
    throw new TypeError(this.name);
  }

  /** Number of steps of `audit`. @param {Channel} _channel @returns {number} */
  auditSteps(_channel) {
    throw new TypeError(this.name);
  }

  /** Number of steps of `ball`. @param {Channel} _channel @returns {number} */
  ballSteps(_channel) {
    return 0;
  }

  /**
   * The level for any prior within a declared radius; null if no radius is declared.
   * @param {Channel} _channel
   * @returns {bigint | null}
   */
  ball(_channel) {
    return null;
  }

  /** The cost of one fresh output, nanonats. @param {bigint} audited @param {bigint | null} ldp @returns {bigint} */
  cost(audited, ldp) {
    return ldp ?? audited;
  }

  /** Number of steps of the whole certificate. @param {Channel} channel @returns {number} */
  steps(channel) {
    const ldp = this.name === "ldp" ? 0 : ldpSteps(channel);
    return this.auditSteps(channel) + ldp + this.ballSteps(channel);
  }

  /**
   * The notion for the inputs of a view: the bound of two inputs is the least bound of any two values mapped to them.
   * @param {(x: number) => number} _inputOf the view's input for an input
   * @param {number} _size number of the view's inputs
   * @returns {Notion}
   */
  coarsened(_inputOf, _size) {
    throw new TypeError(this.name);
  }

  /** The certificate of a channel whose audit is affordable. @param {Channel} channel @returns {Certificate} */
  certificate(channel) {
    const audited = this.audit(channel);
    const ldp = this.name === "ldp" ? audited : ldpOf(channel);
    const cost = this.cost(audited, ldp);
    return { declared: this.level, audited, ldp, cost, ball: this.ball(channel), classes: [] };
  }
}

/** The largest ratio of the probabilities of one output under two inputs. @param {Channel} channel @returns {Worst} */
export function worstPair(channel) {
  const all = channel.selected(upTo(channel.inputCount));
  return channel.loss(all, all);
}

/** Steps of `worstPair`. @param {Channel} channel @returns {number} */
export function ldpSteps(channel) {
  const all = channel.selected(upTo(channel.inputCount));
  return 2 * channel.inputCount + channel.pairSteps(all, all);
}

/** The LDP level of a channel. @param {Channel} channel @returns {bigint | null} */
function ldpOf(channel) {
  const { n, d } = worstPair(channel);
  return levelOf(n, d);
}

/**
 * The level of a ratio.
 * @param {Worst} worst @param {bigint} bound @param {string} [where] words for the level in the error
 * @returns {bigint} @throws {Uncertified} it is above the bound
 */
export function provedLevel({ n, d }, bound, where) {
  const level = levelOf(n, d);
  if (level === null) throw new Uncertified("an output rules out an input, which no level allows: choose another mechanism");
  return withinLevel(level, bound, where);
}

/**
 * The level; refuses one above the bound.
 * @param {bigint} level @param {bigint} bound @param {string} [where] words for the level in the error
 */
export function withinLevel(level, bound, where = "") {
  if (level > bound)
    throw new Uncertified(`the channel's level${where} is ${inNats(level)}, above the bound, ${inNats(bound)} (nats: see docs/GLOSSARY.md): declare a higher level, or choose a channel with more noise`);
  return level;
}

/**
 * The certificate of a channel under a notion.
 * @param {Channel} channel @param {Notion} notion
 * @returns {Certificate}
 * @throws {Uncertified} the channel does not satisfy the declared level, or its audit is too large
 */
export function certify(channel, notion) {
  if (notion.inputCount !== null && notion.inputCount !== channel.inputCount)
    throw new NotionError(`the channel must have ${notion.inputCount} inputs, one for each value of the notion, not ${channel.inputCount}`);
  requireAffordable(notion.steps(channel), channel.numbersHeld);
  return notion.certificate(channel);
}
