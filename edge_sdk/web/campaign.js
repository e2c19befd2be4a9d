/** The campaign: one signed question, its views, and the promise it makes, audited here (SPEC 7). */

import { requireAddress } from "./address.js";
import { Reader, array, decode, integer, same, text } from "./codec.js";
import { Form } from "./domain/form.js";
import { domainFrom, renamed } from "./domain/index.js";
import { CAMPAIGN, MAX_PAYLOAD, decodeKind, openEnvelope } from "./envelope.js";
import { CampaignError, CodecError, DomainError, NotOpen, OutsideSchedule } from "./errors.js";
import { larger } from "./exact.js";
import { keyId, sha256 } from "./keys.js";
import { Classes } from "./notions/classes.js";
import { notionFrom } from "./notions/index.js";
import { OwnPrior, Transcript } from "./notions/information.js";
import { TEXTS, checked, classesFrom, requireText, textsFor, translationsFrom } from "./texts.js";
import { certificatesOf, placeOf, requireFit, viewsFrom } from "./views.js";

/** @typedef {import("./notions/notion.js").Certificate} Certificate */
/** @typedef {import("./texts.js").Texts} Texts */

/**
 * What one device is asked for.
 * @typedef {object} DeviceView
 * @property {number} index its place among the campaign's views
 * @property {import("./channels/channel.js").Channel} channel
 * @property {Certificate} certificate
 * @property {number[]} questions of a form, the places of those that it is asked; else empty
 * @property {number} inputs how many answers it tells apart
 * @property {bigint} draws the most fresh outputs that it can ever draw
 * @property {bigint} charge what one costs, nanonats, in the costliest class
 * @property {number} randomBytes that are drawn for an answer, whatever it is
 * @property {(role?: Role) => Law} lawFor what one answer is drawn from
 * @property {(answer: any, dither: Uint8Array, memberOf?: number) => Promise<number>} toInput the channel's input for
 *   an answer, given the 8 bytes of the consent's dither and, where there are classes, the place of the person's class
 * @property {(z: number) => string} label the name of an input of the view
 */

/**
 * What decides a person's law, beside their view.
 * @typedef {object} Role
 * @property {number} [memberOf] the place of their class, where the campaign has classes
 * @property {import("./notions/information.js").Declared} [declared] by them, where it is for people's own priors
 * @property {[number, number][]} [earlier] where it has transcripts, period and output of the device's earlier reports
 * @property {number} [period] of the report, where it has transcripts
 */

/**
 * @typedef {object} Law
 * @property {import("./channels/channel.js").Channel} channel
 * @property {bigint} charge what a fresh output costs, nanonats
 * @property {bigint} worstCharge what all that the device can ever draw cost
 * @property {(x: number, rand: Uint8Array) => number | bigint} draw an output, from the view's `randomBytes` bytes
 */

/** The fields of a campaign, by their names in SPEC 7. */
const NAMES = [
  "title",
  "question",
  "purpose",
  "organisation",
  "domain",
  "notion",
  "mechanism",
  "channel",
  "opens",
  "closes",
  "period_seconds",
  "answers_per_period",
  "minimum_reports",
  "enrolment",
  "classes",
  "addresses",
  "contact",
  "retention",
  "notice",
  "language",
  "translations",
  "goal",
];

/** @param {any} value @param {string} what */
const textFrom = (value, what) => text(value, `the ${what}`, CampaignError);

/** @param {bigint[]} levels @returns {bigint} the largest */
const largest = (levels) => levels.reduce((one, other) => (one > other ? one : other));

/** A campaign whose author was verified and whose certificate holds. */
export class Campaign {
  /**
   * @param {Uint8Array} payload @param {Uint8Array} id @param {Uint8Array} author @param {Uint8Array} data the envelope
   */
  constructor(payload, id, author, data) {
    const wire = array(decode(payload), "a campaign", CampaignError, NAMES.length);
    /** @type {Record<string, any>} */
    const fields = Object.fromEntries(NAMES.map((name, place) => [name, wire[place]]));
    const number = (/** @type {string} */ name, /** @type {number} */ low, /** @type {number} */ high) =>
      integer(fields[name], `the field ${name}`, CampaignError, low, high);
    this.id = id;
    this.author = author;
    this.data = data;
    this.fields = fields;
    this.domain = domainFrom(fields.domain);
    this.notion = notionFrom(fields.notion);
    this.views = viewsFrom(fields.channel);
    this.opens = number("opens", 0, 2 ** 40);
    this.closes = number("closes", this.opens + 1, 2 ** 40);
    this.periodSeconds = number("period_seconds", 1, 2 ** 40);
    this.answersPerPeriod = number("answers_per_period", 1, 4096);
    number("minimum_reports", 1, 2 ** 40);
    this.enrolled = number("enrolment", 0, 1) === 1;
    this.periods = Math.ceil((this.closes - this.opens) / this.periodSeconds);
    if (this.periods > 2 ** 20) throw new CampaignError(`a campaign has at most 2^20 periods, not ${this.periods}`);
    if (this.transcript && (this.answersPerPeriod !== 1 || this.periods > 64))
      throw new CampaignError("a campaign with transcripts has one answer a period, in at most 64 periods");
    this.addresses = array(fields.addresses, "the addresses", CampaignError).map((one) => textFrom(one, "address"));
    this.addresses.forEach(requireAddress);
    if (this.addresses.length > 4 || new Set(this.addresses).size < this.addresses.length)
      throw new CampaignError("a campaign has at most 4 addresses, none twice");
    this.classes = classesFrom(fields.classes);
    const claimed = this.notion instanceof Classes ? this.notion.notions.length : 0;
    if (this.classes.length !== claimed)
      throw new CampaignError(`the campaign names ${this.classes.length} classes, its notion has ${claimed}`);
    requireText(textFrom(fields.mechanism, "mechanism"), "mechanism", 200);
    if (!["distribution", "mean", "ranges", "top", ""].includes(textFrom(fields.goal, "goal")))
      throw new CampaignError("a goal is distribution, mean, ranges, top, or empty");
    /** The texts that the campaign was written in. @type {Texts} */
    this.ownTexts = checked({
      .../** @type {any} */ (Object.fromEntries(TEXTS.map((name) => [name, textFrom(fields[name], name)]))),
      labels: [...this.domain.named, ...this.views.flatMap(({ map }) => map.named ?? [])],
      classes: this.classes,
    });
    if (!this.ownTexts.organisation) throw new CampaignError("a campaign has an organisation");
    this.translations = translationsFrom(fields.translations, this.ownTexts);
    this.translations.forEach(({ language }) => this.requireNames(language));
    requireFit(this.views, this.domain, this.classes.length);
    const certificates = certificatesOf(this.views, this.notion, this.domain);
    /** What each view proves, in their order. */
    this.viewCertificates = certificates;
    const most = (/** @type {"audited" | "ldp"} */ name) => certificates.map((one) => one[name]).reduce(larger);
    /** The largest levels of any view. */
    this.audited = most("audited") ?? 0n;
    this.ldp = most("ldp");
    /** Of each class, or of everybody, what one fresh answer and all together cost at most, in the view where it is most. */
    this.costs = (this.classes.length ? this.classes : [""]).map((_, memberOf) => ({
      charge: largest(this.views.map((_, view) => this.certificateOf(view, memberOf).cost)),
      worstCharge: largest(this.views.map((_, view) => this.certificateOf(view, memberOf).cost * this.drawsOf(view))),
    }));
    /** The same in the class where they are most. */
    this.charge = largest(this.costs.map(({ charge }) => charge));
    this.worstCharge = largest(this.costs.map(({ worstCharge }) => worstCharge));
    /** Bits of one output on the wire, the same whatever the view. */
    this.outputBits = this.views.reduce((bits, { channel }) => Math.max(bits, channel.outputBits), 0);
  }

  /** The notion, if each report is designed for what the device's earlier reports revealed; else null. */
  get transcript() {
    return this.notion instanceof Transcript ? this.notion : null;
  }

  /** The notion, where each person declares a prior; else null. */
  get ownPrior() {
    return this.notion instanceof OwnPrior ? this.notion : null;
  }

  /** The texts for a reader of a language, such as navigator.language. @param {string} language @returns {Texts} */
  texts(language) {
    return textsFor(this.ownTexts, this.translations, language);
  }

  /**
   * The domain for a reader of a language: its labels and units, and the texts of a form's questions. Answers are in
   * the campaign's own.
   * @param {string} language @returns {import("./domain/domain.js").Domain}
   */
  domainIn(language) {
    const { language: tag, question, labels } = this.texts(language);
    const form = this.domain instanceof Form ? this.domain : null;
    if (tag === this.ownTexts.language || (!form && !this.domain.named.length)) return this.domain;
    const lines = question.split("\n");
    if (form && lines.length !== form.questions.length)
      throw new CampaignError(`the translation "${tag}" has a line for each question of the form`);
    try {
      return domainFrom(renamed(this.fields.domain, [...labels], lines));
    } catch (error) {
      throw error instanceof DomainError ? new CampaignError(`the translation "${tag}": ${error.message}`) : error;
    }
  }

  /** Refuse a translation whose names the domain or a view does not allow. @param {string} language */
  requireNames(language) {
    let at = this.domainIn(language).named.length;
    const { labels } = this.texts(language);
    for (const { map } of this.views) {
      const names = labels.slice(at, (at += map.named?.length ?? 0));
      if (new Set(names).size < names.length)
        throw new CampaignError(`the translation "${language}" has one name for two districts`);
    }
  }

  /** The most fresh draws that a device with a view can ever make. @param {number} view its place @returns {bigint} */
  drawsOf(view) {
    if (this.transcript) return BigInt(this.periods);
    return BigInt(Math.min(this.views[view].map.inputs(this.domain), this.periods * this.answersPerPeriod));
  }

  /** Number of periods that have begun before a time. @param {number} closes UTC seconds @returns {number} */
  periodsUntil(closes) {
    return Math.min(this.periods, Math.max(0, Math.ceil((closes - this.opens) / this.periodSeconds)));
  }

  /**
   * The period that a time lies in.
   * @param {number} now UTC seconds
   * @returns {number}
   * @throws {NotOpen | OutsideSchedule}
   */
  periodAt(now) {
    if (now < this.opens) throw new NotOpen(`"${this.ownTexts.title}" has not opened yet`);
    if (now >= this.closes) throw new OutsideSchedule(`"${this.ownTexts.title}" has closed`);
    return Math.floor((now - this.opens) / this.periodSeconds);
  }

  /**
   * Whether a report lies within the campaign's periods and quota (SPEC 8.1).
   * @param {number} period @param {number} slot @param {number} count
   * @returns {boolean}
   */
  takes(period, slot, count) {
    const slots = this.transcript ? period + 1 : this.answersPerPeriod;
    return period < this.periods && count <= this.answersPerPeriod && slot + count <= slots;
  }

  /**
   * What is proved of what the members of a class answer through in a view.
   * @param {number} view its place @param {number} memberOf the place of the class; 0 where there are none
   * @returns {Certificate}
   */
  certificateOf(view, memberOf) {
    const proved = this.viewCertificates[view];
    return proved.classes[memberOf] ?? proved;
  }

  /**
   * What an answer of a person with a view is drawn from.
   * @param {number} view its place @param {Role} role @returns {Law}
   */
  lawOf(view, { memberOf = 0, declared = { prior: [], level: 0n }, earlier = [], period = 0 }) {
    const { channel: campaigns } = this.views[view];
    let [channel, charge] = [campaigns, this.certificateOf(view, memberOf).cost];
    if (this.ownPrior) {
      channel = this.ownPrior.channelOf(declared, campaigns);
      charge = this.ownPrior.certificateOf(declared, campaigns).cost;
    }
    if (this.transcript) channel = this.transcript.channelFor(this.transcript.priorAfter(earlier, period));
    return {
      channel,
      charge,
      worstCharge: charge * this.drawsOf(view),
      draw: (x, rand) => channel.draw(x, rand.subarray(0, channel.randomBytes)), // one's own may take fewer
    };
  }

  /**
   * What the device with a key is asked for.
   * @param {Uint8Array} publicKey its key in this campaign
   * @returns {Promise<DeviceView>}
   */
  async viewOf(publicKey) {
    const index = await placeOf(this.views, this.id, publicKey);
    const { map, channel } = this.views[index];
    const certificate = this.viewCertificates[index];
    const { domain } = this;
    const asked = map.questions.length ? map.questions : undefined;
    return {
      index,
      channel,
      certificate,
      questions: map.questions,
      inputs: map.inputs(domain),
      draws: this.drawsOf(index),
      charge: certificate.cost,
      randomBytes: channel.randomBytes,
      lawFor: (role = {}) => this.lawOf(index, role),
      label: (z) => map.label(domain, z),
      async toInput(answer, dither, memberOf = 0) {
        // Form.indexOf takes the questions that are asked as well; other domains pass over them.
        const indexOf = /** @type {(answer: any, dither: Uint8Array, asked?: number[]) => Promise<any>} */ (
          domain.indexOf
        );
        const x = await indexOf.call(domain, answer, dither, asked);
        return memberOf * map.inputs(domain) + map.input(domain, x);
      },
    };
  }
}

/**
 * How many prior weights the notion written where a reader stands claims to have.
 * @param {Reader} reader @returns {number}
 */
function claimedWeights(reader) {
  reader.array();
  const name = reader.value(0);
  reader.skip();
  if (name === "lip") return Math.max(reader.array(), 0);
  if (name !== "classes") return 0;
  let total = 0;
  for (let left = Math.min(reader.array(), 64); left > 0; left--) {
    const at = reader.at;
    reader.array();
    const isLip = reader.value(0) === "lip";
    reader.at = at;
    if (isLip) total += claimedWeights(reader);
    reader.at = at;
    reader.skip();
  }
  return total;
}

/**
 * Refuse a campaign of more bytes than it may have, before it is decoded.
 * @param {Uint8Array} payload @param {number} size
 */
function requireSize(payload, size) {
  if (size <= 2 ** 16) return;
  let weights = 0;
  try {
    const reader = new Reader(payload);
    const fields = reader.array();
    for (let i = 0; i < Math.min(fields, 5); i++) reader.skip();
    weights = claimedWeights(reader);
  } catch (error) {
    if (!(error instanceof CodecError)) throw error;
  }
  const limit = Math.min(2 ** 16 + 32 * weights, MAX_PAYLOAD[CAMPAIGN]);
  if (size > limit) throw new CampaignError(`a signed campaign like this has at most ${limit} bytes, not ${size}`);
}

/**
 * Verify, then parse, then audit a signed campaign.
 * @param {Uint8Array} data
 * @param {{trusted: Uint8Array[]}} options public keys of authors; the campaign must be signed by one of them
 * @returns {Promise<Campaign>}
 * @throws {import("./errors.js").BadData} at the stage that fails
 */
export async function openCampaign(data, { trusted }) {
  const sealed = decodeKind(data, CAMPAIGN, CampaignError);
  for (const author of trusted)
    if (same(await keyId(author), sealed.keyId)) {
      const payload = await openEnvelope(sealed, author);
      requireSize(payload, data.length);
      return new Campaign(payload, (await sha256(data)).slice(0, 16), author, data);
    }
  throw new CampaignError("no trusted author has the key of this campaign");
}
