/**
 * A campaign that a device joined: its verified terms, the device's own key for it, and the view that the key
 * determines.
 *
 * It seals reports and enrolments. It does not use stores, clocks or budgets.
 */

import { openCampaign } from "./campaign.js";
import { worstCase } from "./caps.js";
import { encode } from "./codec.js";
import { REPORT, sealedLength } from "./envelope.js";
import { campaignKey } from "./keys.js";
import { sealEnrolment, sealReport } from "./report.js";

/** @typedef {import("./campaign.js").Campaign} Campaign */
/** @typedef {import("./campaign.js").DeviceView} DeviceView */
/** @typedef {import("./store.js").Kept} Kept */
/** @typedef {import("./role.js").Role} Role */
/** @typedef {import("./caps.js").Commitment} Commitment */

/** One campaign on one device. */
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
   * @throws {import("./errors.js").BadData} a check failed; the class names the check's stage (SPEC 0)
   */
  static async open(data, trusted, secret) {
    const campaign = await openCampaign(data, { trusted });
    const key = await campaignKey(secret, campaign.id);
    return new Joined(campaign, key, await campaign.viewOf(key.publicKey));
  }

  /**
   * The commitment of this device, for its view; before the person chose a class, for the most expensive one.
   * @param {Role} role @returns {Commitment}
   */
  commitment(role) {
    const { campaign, view } = this;
    if (campaign.declaredPrior && !role.declared) return this.committing(view.cost, view.index);
    return this.committing(view.priced({ ...role, classIndex: this.classIndex(role) }).cost, view.index);
  }

  /**
   * The cost and the worst case that terms and previews state. Before consent to a campaign for declared priors, they
   * are those of the prior that was declared before, or of the uniform prior.
   * @param {Kept} kept
   */
  stated({ consent, declared }) {
    const { campaign } = this;
    const { declaredPrior } = campaign;
    const found = consent?.commitment ?? (declaredPrior && this.commitment({ declared: declared ?? declaredPrior.uniform }));
    return found ? { cost: found.cost, worstCase: worstCase(found) } : campaign;
  }

  /**
   * The commitments of all views in the person's class, the most expensive first. All of them must fit under the caps,
   * so that the decision to take part does not reveal the device's view.
   * @param {Role} role @returns {Commitment[]}
   */
  commitments(role) {
    const { campaign } = this;
    if (campaign.views.length === 1) return [this.commitment(role)];
    const place = this.classIndex(role);
    return campaign.views
      .map((_, view) => this.committing(campaign.certificateOf(view, place).cost, view))
      .sort((one, other) => Number(worstCase(other) - worstCase(one)) || Number(other.cost - one.cost));
  }

  /**
   * The index of the person's class, or of the most expensive class before the choice; 0 without classes.
   * @param {Role} role
   */
  classIndex({ classIndex }) {
    const { costs, worstCase } = this.campaign;
    return classIndex ?? costs.findIndex((one) => one.worstCase === worstCase);
  }

  /**
   * The commitment at a cost, in a view.
   * @param {bigint} cost @param {number} view its index
   * @returns {Commitment}
   */
  committing(cost, view) {
    const { answersPerPeriod, periodSeconds, periods } = this.campaign;
    return { cost, draws: this.campaign.drawsOf(view), answersPerPeriod, periodSeconds, periods };
  }

  /** Length in bytes of the longest report of one output; nothing is sealed. @returns {number} */
  get longestReport() {
    const { campaign } = this;
    const last = campaign.periods - 1;
    const slots = campaign.transcript ? last + 1 : campaign.answersPerPeriod;
    const packed = new Uint8Array(Math.ceil(campaign.outputBits / 8));
    const payload = encode([campaign.id, last, slots - 1, 1, packed]);
    return sealedLength(REPORT, payload);
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
