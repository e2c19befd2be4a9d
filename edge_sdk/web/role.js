/**
 * The role: the class or the declared prior under which a person answers.
 *
 * A role is public. It must not depend on the person's answers, except by the random choice of choosing.js, which is
 * charged. The role and the signed campaign determine the person's channel.
 */

import { keyOf } from "./channels/key.js";
import { CampaignError, ConsentMissing, ReportError } from "./errors.js";
import { gcd } from "./exact.js";
import { Classes } from "./notions/classes.js";
import { Lip, requireDeclared } from "./notions/information.js";
import { levelFrom } from "./notions/notion.js";

/** @typedef {import("./campaign.js").Campaign} Campaign */
/** @typedef {import("./notions/information.js").Declared} Declared */
/** @typedef {{classIndex?: number, declared?: Declared}} Role */
/** @typedef {{[label: string]: number}} Counts numbers by label */

/**
 * The counts by input, from counts by label.
 * @param {Campaign} campaign @param {Counts} counts @returns {Promise<bigint[]>}
 * @throws {ReportError | import("./errors.js").NotInDomain} for an invalid count or label; the text does not repeat it
 */
export async function countsOf({ domain }, counts) {
  const found = Array(domain.size).fill(0n);
  for (const [label, count] of Object.entries(counts)) {
    if (!Number.isSafeInteger(count) || count < 0) throw new ReportError("each count must be a whole number of at least 0");
    found[await domain.indexOf(label, new Uint8Array(8))] += BigInt(count);
  }
  return found;
}

/**
 * The notion of declared priors.
 * @param {Campaign} campaign
 * @throws {CampaignError} the campaign asks for no prior
 */
export function ownOf(campaign) {
  if (!campaign.declaredPrior) throw new CampaignError(`"${campaign.title}" asks for no prior: leave out the prior and the level`);
  return campaign.declaredPrior;
}

/**
 * The prior of each class.
 * @param {Campaign} campaign
 * @returns {number[][]} @throws {CampaignError} a class has none, or there are no classes
 */
export function priorsOf(campaign) {
  const { notion } = campaign;
  return (notion instanceof Classes ? notion.notions : [null]).map((inner) => {
    if (inner instanceof Lip) return inner.prior;
    throw new CampaignError(`not every class of "${campaign.title}" has a prior, so the device cannot choose one: name the class`);
  });
}

/** The prior that a person's weights declare. @param {Campaign} campaign @param {Counts} weights */
async function declaredPrior(campaign, weights) {
  ownOf(campaign);
  const counts = await countsOf(campaign, weights);
  const shared = counts.reduce(gcd) || 1n;
  const prior = counts.map((count) => Number(count / shared));
  requireDeclared(prior);
  return prior;
}

/**
 * Check a personal level.
 * @param {Campaign} campaign @param {number | bigint} level nanonats
 * @returns {bigint} the level; 0n if it equals the campaign's
 */
function personalLevel(campaign, level) {
  const [own, nanonats] = [ownOf(campaign), levelFrom(level)];
  if (nanonats > own.level) throw new CampaignError("the personal level is above the campaign's: choose a lower one");
  return nanonats < own.level ? nanonats : 0n;
}

/**
 * The role of a person; a prior that was declared before stays valid.
 * @param {Campaign} campaign @param {Declared | null} known
 * @param {{asClass?: string, prior?: Counts, level?: number | bigint}} named
 * @returns {Promise<Role>}
 * @throws {import("./errors.js").HalftruthError} as for `Device.consent`
 */
export async function roleOf(campaign, known, { asClass, prior, level }) {
  /** @type {Role} */
  const role = {};
  if (asClass !== undefined) {
    role.classIndex = campaign.classes.indexOf(asClass);
    if (role.classIndex < 0)
      throw new CampaignError(`"${campaign.title}" has no such class; its classes are: ${campaign.classes.join(", ") || "none"}`);
  }
  const weights = prior && (await declaredPrior(campaign, prior));
  const own = level === undefined ? 0n : personalLevel(campaign, level);
  role.declared = known ?? (weights && { prior: weights, level: own });
  if (known && keyOf([weights ?? known.prior, own || known.level]) !== keyOf([known.prior, known.level]))
    throw new CampaignError("another prior or level was declared in this campaign before and stays valid: leave out the new one");
  return role;
}

/**
 * Refuse an incomplete role.
 * @param {Campaign} campaign @param {Role} role
 * @throws {ConsentMissing} the campaign asks for a class or a prior, and the role has none
 */
export function requireComplete(campaign, role) {
  if (campaign.classes.length && role.classIndex === undefined)
    throw new ConsentMissing(`"${campaign.title}" needs a class at consent: give asClass, one of ${campaign.classes.join(", ")}`);
  if (campaign.declaredPrior && !role.declared)
    throw new ConsentMissing(`"${campaign.title}" needs a declared prior at consent: give prior, a weight for every value`);
}
