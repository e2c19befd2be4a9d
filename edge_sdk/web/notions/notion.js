/** What a privacy notion is, and the certificate that a channel keeps one (SPEC 6.2, 6.3). */

import { requireAffordable } from "../effort.js";
import { NotionError, Uncertified } from "../errors.js";
import { MAX_LEVEL, MIN_LEVEL, keeps, levelOf } from "../exact.js";
import { big } from "../codec.js";

/** @typedef {import("../channels/channel.js").Channel} Channel */
/** @typedef {import("../channels/channel.js").Worst} Worst */

/**
 * What a channel's integers prove; levels in nanonats, rounded up.
 * @typedef {object} Certificate
 * @property {bigint} declared the level that the notion claims
 * @property {bigint} audited the smallest level that the channel keeps under its notion
 * @property {bigint | null} ldp its LDP level; null where it is infinite
 * @property {bigint} cost what one fresh answer is charged
 * @property {bigint | null} ball the level for any prior within a declared radius; null where none is declared
 * @property {Certificate[]} classes of each class, where the notion is one of classes
 */

/** @param {number} length @returns {number[]} 0 .. length - 1 */
export const upTo = (length) => Array.from({ length }, (_, x) => x);

/** A declared level. @param {any} value @returns {bigint} */
export const levelFrom = (value) => big(value, "a level, in nanonats,", NotionError, MIN_LEVEL, MAX_LEVEL);

/** A predicate on a channel's integers, at a declared level. */
export class Notion {
  /** Whether it can be said of the inputs of a view (SPEC 6.12). */
  carriesViews = false;
  /** Steps of saying it so. */
  coarseningSteps = 0;

  /** @param {any[]} wire @param {bigint} level @param {number | null} inputs how many it speaks of; null for any */
  constructor(wire, level, inputs) {
    this.wire = wire;
    this.level = level;
    this.inputs = inputs;
  }

  /** @returns {string} */
  get name() {
    return this.wire[0];
  }

  /**
   * The worst ratio, refused where it is above the level; and the audited level.
   * @param {Channel} _channel @returns {bigint}
   */
  audit(_channel) {
    throw new TypeError(this.name);
  }

  /** @param {Channel} _channel @returns {number} */
  auditSteps(_channel) {
    throw new TypeError(this.name);
  }

  /** @param {Channel} _channel @returns {number} */
  ballSteps(_channel) {
    return 0;
  }

  /** @param {Channel} _channel @returns {bigint | null} */
  ball(_channel) {
    return null;
  }

  /** What a fresh answer costs. @param {bigint} audited @param {bigint | null} ldp @returns {bigint} */
  cost(audited, ldp) {
    return ldp ?? audited;
  }

  /** Steps of everything that its certificate states. @param {Channel} channel @returns {number} */
  steps(channel) {
    const ldp = this.name === "ldp" ? 0 : ldpSteps(channel);
    return this.auditSteps(channel) + ldp + this.ballSteps(channel);
  }

  /**
   * The same notion of the inputs of a view.
   * @param {(x: number) => number} _inputOf @param {number} _size
   * @returns {Notion}
   */
  coarsened(_inputOf, _size) {
    throw new TypeError(this.name);
  }

  /** What the channel proves, once that is known to be affordable. @param {Channel} channel @returns {Certificate} */
  certificate(channel) {
    const audited = this.audit(channel);
    const ldp = this.name === "ldp" ? audited : ldpOf(channel);
    const cost = this.cost(audited, ldp);
    return { declared: this.level, audited, ldp, cost, ball: this.ball(channel), classes: [] };
  }
}

/** The largest ratio of two inputs. @param {Channel} channel @returns {Worst} */
export function worstPair(channel) {
  const all = channel.apart(upTo(channel.inputs));
  return channel.loss(all, all);
}

/** Steps of `worstPair`. @param {Channel} channel @returns {number} */
export function ldpSteps(channel) {
  const all = channel.apart(upTo(channel.inputs));
  return 2 * channel.inputs + channel.pairSteps(all, all);
}

/** The LDP level of a channel. @param {Channel} channel @returns {bigint | null} */
function ldpOf(channel) {
  const { n, d } = worstPair(channel);
  return levelOf(n, d);
}

/** The level of a ratio that must keep a bound. @param {Worst} worst @param {bigint} bound @returns {bigint} */
export function requireKept({ n, d }, bound) {
  const level = levelOf(n, d);
  if (level === null) throw new Uncertified("an output rules an input out, which no level allows");
  if (!keeps(n, d, bound))
    throw new Uncertified(`the channel's level is ${level} nanonats where ${bound} are declared`);
  return level;
}

/**
 * The certificate of a channel under a notion.
 * @param {Channel} channel @param {Notion} notion
 * @returns {Certificate}
 * @throws {Uncertified} it does not keep the declared level, or to find out would take too much
 */
export function certify(channel, notion) {
  requireInputs(notion, channel);
  requireAffordable(notion.steps(channel), channel.held);
  return notion.certificate(channel);
}

/** Refuse a notion that speaks of other inputs than the channel's. @param {Notion} notion @param {Channel} channel */
export function requireInputs(notion, channel) {
  if (notion.inputs !== null && notion.inputs !== channel.inputs)
    throw new NotionError(`the notion speaks of ${notion.inputs} values, the channel of ${channel.inputs}`);
}
