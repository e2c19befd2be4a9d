/**
 * A campaign that a device joined: its verified terms, the device's key for it, and what the key fixes.
 *
 * It turns an input and random bytes into a sealed report, and knows nothing of stores, clocks or budgets.
 */

import { encode } from "./codec.js";
import { openCampaign } from "./campaign.js";
import { REPORT } from "./envelope.js";
import { CampaignError, ConsentMissing } from "./errors.js";
import { gcd } from "./exact.js";
import { campaignKey } from "./keys.js";
import { levelFrom } from "./notions/notion.js";
import { sealEnrolment, sealReport } from "./report.js";

/** @typedef {import("./campaign.js").Campaign} Campaign */
/** @typedef {import("./campaign.js").DeviceView} DeviceView */
/** @typedef {import("./store.js").Kept} Kept */
/** @typedef {import("./notions/information.js").Declared} Declared */
/** @typedef {{memberOf?: number, declared?: Declared}} Role what a person answers as; public */

export class Joined {
  /** @param {Campaign} campaign @param {import("./keys.js").Signer} key @param {DeviceView} view */
  constructor(campaign, key, view) {
    this.campaign = campaign;
    this.key = key;
    this.view = view;
  }

  /**
   * Verify and audit a signed campaign, and derive the device's key for it.
   * @param {Uint8Array} data @param {Uint8Array[]} trusted @param {CryptoKey} secret
   * @returns {Promise<Joined>}
   * @throws {import("./errors.js").BadData} at the stage that fails
   */
  static async open(data, trusted, secret) {
    const campaign = await openCampaign(data, { trusted });
    const key = await campaignKey(secret, campaign.id);
    return new Joined(campaign, key, await campaign.viewOf(key.publicKey));
  }

  get id() {
    return this.campaign.id;
  }

  get title() {
    return this.campaign.ownTexts.title;
  }

  /**
   * What one fresh draw costs a person; before they said what they answer as, in the costliest class.
   * @param {Role} role
   * @returns {bigint} nanonats
   */
  charge(role) {
    const { campaign, view } = this;
    if (campaign.classes.length && role.memberOf === undefined) return campaign.charge;
    if (campaign.ownPrior && !role.declared) return view.charge;
    return view.lawFor(role).charge;
  }

  /**
   * What there must be room for before a person takes part: the worst case of the costliest view in their class, whichever
   * view the device has, so that whether it takes part does not tell its view.
   * @param {Role} role
   * @returns {bigint} nanonats
   */
  worst(role) {
    const { campaign, view } = this;
    if (campaign.views.length === 1) return this.charge(role) * view.draws;
    return role.memberOf === undefined ? campaign.worstCharge : campaign.costs[role.memberOf].worstCharge;
  }

  /**
   * What a person answers as, from what they say.
   * @param {string | null} asClass @param {{[label: string]: number} | null} weights
   * @param {number | bigint | null} level of their own, nanonats, with the weights
   * @returns {Promise<Role>}
   */
  async roleOf(asClass, weights, level) {
    const { campaign } = this;
    /** @type {Role} */
    const role = {};
    if (asClass !== null) {
      const place = campaign.classes.indexOf(asClass);
      if (place < 0) throw new CampaignError(`the classes of "${this.title}" are: ${campaign.classes.join(", ") || "none"}`);
      role.memberOf = place;
    }
    if (weights !== null) {
      if (!campaign.ownPrior) throw new CampaignError(`"${this.title}" asks for no prior: leave it out`);
      const counts = Array(campaign.ownPrior.size).fill(0);
      for (const [label, weight] of Object.entries(weights)) {
        if (!Number.isSafeInteger(weight) || weight < 0) throw new CampaignError("a weight is a whole number, not below zero");
        counts[await campaign.domain.indexOf(label, new Uint8Array(8))] += weight;
      }
      const shared = Number(counts.map(BigInt).reduce(gcd)) || 1;
      const own = level === null ? 0n : levelFrom(level);
      role.declared = { prior: counts.map((weight) => weight / shared), level: own === campaign.ownPrior.level ? 0n : own };
      campaign.ownPrior.requireFit(role.declared);
    } else if (level !== null) throw new CampaignError("a level of one's own is declared with a prior");
    return role;
  }

  /** Refuse a role that is not all that the campaign asks for. @param {Role} role @throws {ConsentMissing} */
  requireComplete(role) {
    const { campaign } = this;
    if (campaign.classes.length && role.memberOf === undefined)
      throw new ConsentMissing(`"${this.title}" has classes of people: consent as one of ${campaign.classes.join(", ")}`);
    if (campaign.ownPrior && !role.declared)
      throw new ConsentMissing(`"${this.title}" is for people's own priors: consent with a weight for every value`);
  }

  /** Bytes of the longest report of one output; none is made for it. @returns {number} */
  get longestReport() {
    const { campaign } = this;
    const last = campaign.periods - 1;
    const slots = campaign.transcript ? last + 1 : campaign.answersPerPeriod;
    const packed = new Uint8Array(Math.ceil(campaign.outputBits / 8));
    const payload = encode([this.id, last, slots - 1, 1, packed]);
    return encode([1, REPORT, new Uint8Array(8), payload, new Uint8Array(64)]).length;
  }

  /** The sealed report of one output. @param {number} period @param {number} slot @param {number | bigint} output */
  report(period, slot, output) {
    return sealReport(this.campaign, this.key, { period, slot, outputs: [output] });
  }

  /** The sealed enrolment, which introduces the device's key for this campaign. @param {Kept} kept */
  enrolment(kept) {
    return sealEnrolment(this.campaign, this.key, kept.declared);
  }
}
