/** Notions under a prior (SPEC 6.2, 6.3, 6.7, 6.9, 6.10), and the rule that derives a channel from a prior. */

import { RandomizedResponse } from "../channels/response.js";
import { sum, worstLift } from "../channels/channel.js";
import { keyOf } from "../channels/key.js";
import { array, integer, integers } from "../codec.js";
import { affordable } from "../effort.js";
import { NotionError, ReportError, Uncertified } from "../errors.js";
import { ceilDiv, expLower, gcd, inNats, largest, levelOf, satisfies, total } from "../exact.js";
import { Notion, certify, ldpSteps, levelFrom, provedLevel, upTo, withinLevel, worstPair } from "./notion.js";
import { ldp } from "./pairwise.js";

/** @typedef {import("../channels/channel.js").Channel} Channel */
/** @typedef {import("./notion.js").Certificate} Certificate */
/** @typedef {{prior: number[], level: bigint}} Declared a prior, and a personal level or 0n for the campaign's */

const ONE = 1n << 96n;
const MAX_OWN = 256;

/** Require the weights of a prior. @param {any} value @returns {number[]} */
function priorFrom(value) {
  const prior = integers(value, "a prior weight", NotionError, 1, 2 ** 53);
  if (prior.length < 2) throw new NotionError(`a prior must have at least two values, not ${prior.length}`);
  if (sum(prior) === Infinity) throw new NotionError("the prior weights must sum to at most 2^53");
  return prior;
}

/**
 * The response channel that the rule of SPEC 6.7 gives a prior.
 * @param {bigint[]} prior weights of any size @param {bigint} level
 * @returns {RandomizedResponse}
 */
function ruleFor(prior, level) {
  const bound = expLower(level);
  const whole = total(prior);
  const least = prior.map((weight) => largest([weight * ONE, whole * ONE - bound * weight]));
  const all = total(least) + (bound - ONE) * whole;
  const cover = least.map((part) => ceilDiv(part << 64n, all));
  return new RandomizedResponse(["response", cover.length, cover.every((c) => c === cover[0]) ? [cover[0]] : cover]);
}

/** Local information privacy under a prior, or under every prior within a radius of it. */
export class Lip extends Notion {
  /** @param {any[]} wire */
  constructor(wire) {
    const parts = array(wire, "lip", NotionError, 4);
    const prior = priorFrom(parts[2]);
    super(wire, levelFrom(parts[1]), prior.length);
    this.prior = prior;
    this.radius = integer(parts[3], "a radius", NotionError, 0, 10 ** 9);
  }

  /** @param {Channel} channel */
  audit(channel) {
    return provedLevel(channel.lossAgainstPrior(this.prior), this.level);
  }

  /** @param {Channel} channel */
  auditSteps(channel) {
    return channel.priorSteps;
  }

  /** @param {Channel} channel */
  ballSteps(channel) {
    return this.radius && channel.ballSteps;
  }

  /** @param {Channel} channel */
  steps(channel) {
    const whole = super.steps(channel);
    return !affordable(whole, 0) && this.followsFromLdp(channel) ? ldpSteps(channel) : whole;
  }

  /**
   * True if an affordable audit shows LDP at the level, which bounds a lift under every prior.
   * @param {Channel} channel
   */
  followsFromLdp(channel) {
    if (!affordable(ldpSteps(channel), channel.numbersHeld)) return false;
    const { n, d } = worstPair(channel);
    return satisfies(n, d, this.level);
  }

  /** @param {Channel} channel */
  certificate(channel) {
    if (affordable(super.steps(channel), 0)) return super.certificate(channel);
    // The lifts are too many to audit, but LDP at the level bounds all of them (SPEC 6.3).
    const level = provedLevel(worstPair(channel), this.level);
    return { declared: this.level, audited: level, ldp: level, cost: level, ball: this.radius ? level : null, classes: [] };
  }

  /** @param {Channel} channel */
  ball(channel) {
    if (!this.radius) return null;
    const worst = worstLift(channel.outputsUnder(this.prior), BigInt(sum(this.prior)), this.radius);
    return provedLevel(worst, this.level, " for a prior within the radius");
  }
}

/**
 * Refuse weights that are not a declared prior (SPEC 6.7); the text does not repeat them.
 * @param {number[]} prior
 * @throws {ReportError} their number, one of them or their sum is out of range, or they have a common factor
 */
export function requireDeclared(prior) {
  if (prior.length < 2 || prior.length > MAX_OWN)
    throw new ReportError(`a declared prior must have 2 to ${MAX_OWN} weights, not ${prior.length}`);
  if (prior.some((weight) => !(weight >= 1)))
    throw new ReportError("each weight of a declared prior must be above zero");
  if (!(sum(prior) <= 2 ** 20)) throw new ReportError("the weights of a declared prior must sum to at most 1048576");
  if (prior.map(BigInt).reduce(gcd) !== 1n)
    throw new ReportError("the weights of a declared prior have a common factor: divide them by it");
}

/**
 * The wire form of a declared prior and its level in an enrolment (SPEC 8.3).
 * @param {Declared} declared
 */
export const declaredWire = ({ prior, level }) => (level ? [prior, level] : prior);

/**
 * The prior and the level that a wire form declares; the inverse of `declaredWire`.
 * @param {any} wire @returns {Declared}
 * @throws {ReportError} not a declared prior, or not a level
 */
export function declaredFrom(wire) {
  let [weights, level] = [wire, 0n];
  if (Array.isArray(wire) && Array.isArray(wire[0])) {
    const parts = array(wire, "a declared prior with a level", ReportError, 2);
    weights = parts[0];
    level = BigInt(integer(parts[1], "a personal level", ReportError, 10 ** 6, 2 * 10 ** 10));
  }
  const prior = integers(weights, "a weight of a declared prior", ReportError, 1, 2 ** 20);
  requireDeclared(prior);
  return { prior, level };
}

/**
 * The mean squared length of the posterior over all outputs, times 2^64: the sum of P(x, y)^2 / P(y) over all x and y.
 * @param {number[]} prior @param {Channel} channel @returns {bigint}
 */
function squaredPosterior(prior, channel) {
  const unit = BigInt(sum(prior)) << BigInt(channel.scale);
  let found = 0n;
  for (let y = 0; y < channel.outputCount; y++) {
    const joint = prior.map((weight, x) => BigInt(weight) * channel.weight(x, y));
    const marginal = total(joint);
    const squares = total(joint.map((cell) => cell * cell));
    if (marginal) found += (squares << 64n) / (marginal * unit);
  }
  return found;
}

/** Local information privacy for each person, under the prior that their device declares. */
export class DeclaredPrior extends Notion {
  /** @param {any[]} wire */
  constructor(wire) {
    const parts = array(wire, "own-lip", NotionError, 3);
    super(wire, levelFrom(parts[1]), integer(parts[2], "the number of values", NotionError, 2, MAX_OWN));
    this.size = Number(parts[2]);
    /** The uniform prior, at the campaign's level. @type {Declared} */
    this.uniform = { prior: Array(this.size).fill(1), level: 0n };
  }

  /** True if the campaign's channel is the one that the rule gives the uniform prior. @param {Channel} channel */
  isRule(channel) {
    return keyOf(channel.wire) === keyOf(ruleFor(this.uniform.prior.map(BigInt), this.level).wire);
  }

  /**
   * Refuse a declared prior that does not fit this campaign.
   * @param {Declared} declared
   * @throws {ReportError} not a declared prior, of another size, or with a level that is not below the campaign's
   */
  requireFit({ prior, level }) {
    requireDeclared(prior);
    if (prior.length !== this.size) throw new ReportError(`a declared prior in this campaign must have ${this.size} weights, not ${prior.length}`);
    if (level >= this.level) throw new ReportError(`a personal level must be below the campaign's, ${inNats(this.level)}`);
  }

  /**
   * The channel of a person who declares this prior.
   * @param {Declared} declared @param {Channel} campaigns
   * @returns {Channel}
   */
  channelOf(declared, campaigns) {
    this.requireFit(declared);
    const { prior, level } = declared;
    const rule = ruleFor(prior.map(BigInt), level || this.level);
    if (level || this.isRule(campaigns)) return rule;
    return squaredPosterior(prior, campaigns) > squaredPosterior(prior, rule) ? campaigns : rule;
  }

  /**
   * The certificate of the channel of a person who declares this prior.
   * @param {Declared} declared @param {Channel} campaigns
   * @returns {Certificate}
   */
  certificateOf(declared, campaigns) {
    const { prior, level } = declared;
    return certify(this.channelOf(declared, campaigns), new Lip(["lip", level || this.level, prior, 0]));
  }

  /** @param {Channel} channel */
  auditSteps(channel) {
    return 32 * channel.inputCount;
  }

  /** @param {Channel} channel */
  audit(channel) {
    if (this.isRule(channel)) return provedLevel(channel.lossAgainstPrior(this.uniform.prior), this.level);
    if (channel.unary || channel.outputCount < this.size || channel.outputCount > 4 * this.size)
      throw new Uncertified("the channel for declared priors must be the rule's channel for the uniform prior, or an LDP channel of k to 4k outputs that are not bit vectors");
    return ldp(["ldp", this.level]).audit(channel);
  }
}

/**
 * An upper bound of the cost of one fresh output under any of these declared priors: the largest cost of the rule's
 * channel for each of them and of the campaign's channel. The rule treats all values alike, so priors that differ only
 * in the order of their weights cost the same.
 * @param {DeclaredPrior} notion @param {number[][]} priors @param {Channel} campaigns @returns {bigint} nanonats
 */
export function maxCost(notion, priors, campaigns) {
  const different = new Map(priors.map((prior) => [[...prior].sort((one, other) => one - other).join(), prior]));
  const costs = [...different.values()].map((prior) => {
    const rule = ruleFor(prior.map(BigInt), notion.level);
    return certify(rule, new Lip(["lip", notion.level, prior, 0])).cost;
  });
  return largest([notion.certificate(campaigns).cost, ...costs]);
}

/** Local information privacy for each report, under the posterior of an observer who saw the device's earlier ones. */
export class TranscriptPrior extends Notion {
  /** @param {any[]} wire */
  constructor(wire) {
    const parts = array(wire, "transcript-lip", NotionError, 4);
    const prior = priorFrom(parts[2]);
    if (prior.length > MAX_OWN) throw new NotionError(`a campaign with transcripts must have 2 to ${MAX_OWN} values, not ${prior.length}`);
    super(wire, levelFrom(parts[1]), prior.length);
    this.prior = prior;
    this.drift = BigInt(integer(parts[3], "a drift", NotionError, 0, 2 ** 16 - 1));
  }

  cost() {
    return this.level;
  }

  /**
   * The prior of an observer before a report, given the device's earlier reports.
   * @param {[number, number][]} earlier period and output of the earlier reports, by increasing period
   * @param {number} period
   * @returns {bigint[]} weights, of any size
   */
  priorAfter(earlier, period) {
    const start = this.prior.map(BigInt);
    const whole = BigInt(sum(this.prior));
    let [prior, last] = [start, earlier[0]?.[0] ?? period];
    const age = (/** @type {number} */ until) => {
      for (; this.drift && last < until; last++) {
        const mass = total(prior);
        prior = prior.map((weight, x) => (2n ** 16n - this.drift) * whole * weight + this.drift * mass * start[x]);
      }
      last = until;
    };
    for (const [then, y] of earlier) {
      age(then);
      const channel = ruleFor(prior, this.level);
      prior = prior.map((weight, x) => weight * channel.weight(x, y));
      // The rule depends on the ratios of the weights only, so a common factor is divided out.
      const shared = prior.reduce(gcd);
      prior = prior.map((weight) => weight / shared);
    }
    age(period);
    return prior;
  }

  /**
   * The channel that the rule gives a prior of any weights, audited.
   * @param {bigint[]} prior @returns {RandomizedResponse}
   */
  channelFor(prior) {
    const channel = ruleFor(prior, this.level);
    provedLevel(channel.lossUnder(prior), this.level);
    return channel;
  }

  /** @param {Channel} channel */
  auditSteps(channel) {
    return 32 * channel.inputCount;
  }

  /** @param {Channel} channel */
  audit(channel) {
    if (keyOf(channel.wire) !== keyOf(ruleFor(this.prior.map(BigInt), this.level).wire))
      throw new Uncertified("the channel must be the one that the rule of transcripts gives for the start prior");
    return provedLevel(channel.lossAgainstPrior(this.prior), this.level);
  }
}

/** Mutual information between answer and report: the mean of the logarithms of all lifts. */
export class MutualInformation extends Notion {
  /** @param {any[]} wire */
  constructor(wire) {
    const parts = array(wire, "mutual-information", NotionError, 3);
    const prior = priorFrom(parts[2]);
    super(wire, levelFrom(parts[1]), prior.length);
    this.prior = prior;
  }

  /** @param {Channel} channel */
  auditSteps(channel) {
    return 128 * channel.inputCount * channel.outputCount;
  }

  /** @param {Channel} channel */
  audit(channel) {
    const whole = BigInt(sum(this.prior));
    let found = 0n;
    for (const y of upTo(channel.outputCount)) {
      /** The mass of the inputs of each weight, which have the same logarithm. @type {Map<bigint, bigint>} */
      const alike = new Map();
      this.prior.forEach((p, x) => {
        const weight = channel.weight(x, y);
        if (weight) alike.set(weight, (alike.get(weight) ?? 0n) + BigInt(p));
      });
      let marginal = 0n;
      for (const [weight, mass] of alike) marginal += weight * mass;
      for (const [weight, mass] of alike) found += mass * weight * logAbove(weight * whole, marginal);
    }
    const audited = found > 0n ? ceilDiv(found, whole << BigInt(channel.scale)) : 0n;
    return withinLevel(audited, this.level);
  }
}

/** An upper bound of ln(n / d) in nanonats, at most two too high. @param {bigint} n @param {bigint} d */
const logAbove = (n, d) => (n >= d ? (levelOf(n, d) ?? 0n) : 2n - (levelOf(d, n) ?? 0n));
