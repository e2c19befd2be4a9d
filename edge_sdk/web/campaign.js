/** The campaign: one signed question, its views, and its promise, which is audited here (SPEC 7). */

import { requireAddress } from "./address.js";
import { Reader, array, decode, hex, integer, same, text } from "./codec.js";
import { Form } from "./domain/form.js";
import { domainFrom, renamed } from "./domain/index.js";
import { CAMPAIGN, MAX_PAYLOAD, decodeKind, openEnvelope } from "./envelope.js";
import { CampaignError, CodecError, DomainError, NotOpen, OutsideSchedule } from "./errors.js";
import { largest } from "./exact.js";
import { keyId, sha256 } from "./keys.js";
import { Classes } from "./notions/classes.js";
import { notionFrom } from "./notions/index.js";
import { DeclaredPrior, TranscriptPrior } from "./notions/information.js";
import { TEXTS, checked, classNamesFrom, requireText, textsFor, translationsFrom } from "./texts.js";
import { certificatesOf, viewIndex, requireFit, viewsFrom } from "./views.js";

/** @typedef {import("./notions/notion.js").Certificate} Certificate */
/** @typedef {import("./texts.js").Texts} Texts */

/**
 * The view of one device.
 * @typedef {object} DeviceView
 * @property {number} index among the campaign's views
 * @property {import("./channels/channel.js").Channel} channel
 * @property {number[]} questions for a form, the indices of the questions that it is asked; else empty
 * @property {number} inputCount number of inputs of the view
 * @property {bigint} cost nanonats of one fresh output, in the most expensive class
 * @property {number} randomBytes number of random bytes drawn for an answer; it does not depend on role or answer
 * @property {(facts?: ChannelFacts) => PricedChannel} priced the channel and the cost of an answer
 * @property {(answer: any, dither: Uint8Array, classIndex?: number) => Promise<number>} toInput the channel's input for
 *   an answer, given the 8 bytes of the consent's dither and, in a campaign with classes, the index of the person's
 *   class
 * @property {(z: number) => string} label the name of an input of the view
 */

/**
 * The facts that determine a person's channel, in addition to their view.
 * @typedef {object} ChannelFacts
 * @property {number} [classIndex] index of their class, in a campaign with classes
 * @property {import("./notions/information.js").Declared} [declared] in a campaign for declared priors
 * @property {[number, number][]} [earlier] period and output of the earlier reports, in a campaign with transcripts
 * @property {number} [period] of the report, in a campaign with transcripts
 */

/**
 * The channel of a person's answers, and its cost.
 * @typedef {object} PricedChannel
 * @property {import("./channels/channel.js").Channel} channel
 * @property {bigint} cost nanonats of one fresh output
 * @property {(x: number, rand: Uint8Array) => number | bigint} draw draws an output with the view's `randomBytes` bytes
 */

/** The names of a campaign's fields in SPEC 7, in their order on the wire. */
const NAMES =
  "title question purpose organisation domain notion mechanism channel opens closes period_seconds answers_per_period minimum_reports enrolment classes addresses contact retention notice language translations goal".split(" ");

/** Require text. @param {any} value @param {string} what the name of the field */
const textFrom = (value, what) => text(value, `the ${what}`, CampaignError);

/** A time as text. @param {number} time UTC seconds */
export const utcText = (time) => `${new Date(time * 1000).toISOString().slice(0, 19).replace("T", " ")} UTC`;

/** A campaign with a verified author and a valid certificate. */
export class Campaign {
  /** @param {Uint8Array} payload @param {Uint8Array} id @param {Uint8Array} author */
  constructor(payload, id, author) {
    const wire = array(decode(payload), "a campaign", CampaignError, NAMES.length);
    /** @type {Record<string, any>} */
    const fields = Object.fromEntries(NAMES.map((name, place) => [name, wire[place]]));
    const number = (/** @type {string} */ name, /** @type {number} */ low, /** @type {number} */ high) =>
      integer(fields[name], `the field ${name}`, CampaignError, low, high);
    this.id = id;
    this.author = author;
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
    if (this.periods > 2 ** 20) throw new CampaignError(`a campaign must have at most 2^20 periods, not ${this.periods}`);
    if (this.transcript && (this.answersPerPeriod !== 1 || this.periods > 64))
      throw new CampaignError(`a campaign with transcripts must have one answer per period, in at most 64 periods, not ${this.answersPerPeriod} per period in ${this.periods}`);
    this.addresses = array(fields.addresses, "the addresses", CampaignError).map((one) => textFrom(one, "address"));
    this.addresses.forEach(requireAddress);
    if (this.addresses.length > 4) throw new CampaignError(`a campaign must have at most 4 addresses, not ${this.addresses.length}`);
    if (new Set(this.addresses).size < this.addresses.length) throw new CampaignError("an address is listed twice: leave one out");
    this.classes = classNamesFrom(fields.classes);
    const claimed = this.notion instanceof Classes ? this.notion.notions.length : 0;
    if (this.classes.length !== claimed)
      throw new CampaignError(`the campaign must name as many classes as its notion has: ${claimed}, not ${this.classes.length}`);
    requireText(textFrom(fields.mechanism, "mechanism"), "mechanism", 200);
    if (!["distribution", "mean", "ranges", "top", ""].includes(textFrom(fields.goal, "goal")))
      throw new CampaignError("a goal must be one of distribution, mean, ranges, top, or empty");
    /** The texts in the campaign's original language. @type {Texts} */
    this.ownTexts = checked({
      .../** @type {any} */ (Object.fromEntries(TEXTS.map((name) => [name, textFrom(fields[name], name)]))),
      labels: [...this.domain.named, ...this.views.flatMap(({ map }) => map.named ?? [])],
      classes: this.classes,
    });
    if (!this.ownTexts.organisation) throw new CampaignError("the campaign names no organisation, which the person must see before consent: name it");
    this.translations = translationsFrom(fields.translations, this.ownTexts);
    // Skip a translation without labels: its names are those of the original, which are checked already, and checking a
    // long list for up to 32 languages would take long. A form is checked, because its translation has other questions.
    this.translations
      .filter(({ labels }) => labels.length || this.domain instanceof Form)
      .forEach(({ language }) => this.requireNames(language));
    requireFit(this.views, this.domain, this.classes.length);
    /** The certificate of each view. */
    this.viewCertificates = certificatesOf(this.views, this.notion, this.domain);
    /**
     * For each class, the cost of one fresh output and the worst case, each in the most expensive view. Without classes
     * the list has one element.
     */
    this.costs = (this.classes.length ? this.classes : [""]).map((_, classIndex) => ({
      cost: largest(this.views.map((_, view) => this.certificateOf(view, classIndex).cost)),
      worstCase: largest(this.views.map((_, view) => this.certificateOf(view, classIndex).cost * this.drawsOf(view))),
    }));
    /** The cost of one fresh output and the worst case in the most expensive class. */
    this.cost = largest(this.costs.map(({ cost }) => cost));
    this.worstCase = largest(this.costs.map(({ worstCase }) => worstCase));
    /** Bits of one output on the wire, the same in every view. */
    this.outputBits = Math.max(...this.views.map(({ channel }) => channel.outputBits));
  }

  /** The title in the campaign's original language. */
  get title() {
    return this.ownTexts.title;
  }

  /** The notion, if the channel of a report depends on the device's earlier reports; else null. */
  get transcript() {
    return this.notion instanceof TranscriptPrior ? this.notion : null;
  }

  /** The notion, if each person declares a prior; else null. */
  get declaredPrior() {
    return this.notion instanceof DeclaredPrior ? this.notion : null;
  }

  /** The texts for a reader of a language, such as navigator.language. @param {string} language @returns {Texts} */
  texts(language) {
    return textsFor(this.ownTexts, this.translations, language);
  }

  /**
   * The domain for a reader of a language: its labels and units, and the texts of a form's questions. Answers use the
   * labels of the campaign's original language.
   * @param {string} language @returns {import("./domain/domain.js").Domain}
   */
  domainIn(language) {
    const { language: tag, question, labels } = this.texts(language);
    const form = this.domain instanceof Form ? this.domain : null;
    if (tag === this.ownTexts.language || (!form && !this.domain.named.length)) return this.domain;
    const lines = question.split("\n");
    if (form && lines.length !== form.questions.length)
      throw new CampaignError(`the translation "${tag}" must have a line for each of the form's ${form.questions.length} questions, in order, not ${lines.length}`);
    try {
      return domainFrom(renamed(this.fields.domain, [...labels], lines));
    } catch (error) {
      throw error instanceof DomainError ? new CampaignError(`the translation "${tag}": ${error.message}`) : error;
    }
  }

  /** Refuse a translation with names that the domain or a view does not allow. @param {string} language */
  requireNames(language) {
    let at = this.domainIn(language).named.length;
    const { labels } = this.texts(language);
    for (const { map } of this.views) {
      const names = labels.slice(at, (at += map.named?.length ?? 0));
      if (new Set(names).size < names.length)
        throw new CampaignError(`the translation "${language}": two districts have the same name: rename one`);
    }
  }

  /** Maximum number of fresh outputs of a device with a view. @param {number} view its index @returns {bigint} */
  drawsOf(view) {
    if (this.transcript) return BigInt(this.periods);
    return BigInt(Math.min(this.views[view].map.inputCount(this.domain), this.periods * this.answersPerPeriod));
  }

  /**
   * The number of the period that contains a time; the first is 0.
   * @param {number} now UTC seconds
   * @returns {number}
   * @throws {NotOpen | OutsideSchedule} before the opening, or from the closing on
   */
  periodAt(now) {
    if (now < this.opens) throw new NotOpen(`"${this.title}" opens at ${utcText(this.opens)}: wait until then`);
    if (now >= this.closes) throw new OutsideSchedule(`"${this.title}" closed at ${utcText(this.closes)}: it accepts no more answers`);
    return Math.floor((now - this.opens) / this.periodSeconds);
  }

  /**
   * The number of slots that a report of a period may use; with transcripts, counted from the first period on.
   * @param {number} period
   */
  slots(period) {
    return this.transcript ? period + 1 : this.answersPerPeriod;
  }

  /**
   * The certificate of a view, for the members of a class.
   * @param {number} view its index @param {number} classIndex the index of the class; 0 without classes
   * @returns {Certificate}
   */
  certificateOf(view, classIndex) {
    const proved = this.viewCertificates[view];
    return proved.classes[classIndex] ?? proved;
  }

  /**
   * The channel and the cost of an answer in a view.
   * @param {number} view its index @param {ChannelFacts} facts @returns {PricedChannel}
   */
  pricedOf(view, { classIndex = 0, declared = { prior: [], level: 0n }, earlier = [], period = 0 }) {
    const { channel: campaigns } = this.views[view];
    let [channel, cost] = [campaigns, this.certificateOf(view, classIndex).cost];
    if (this.declaredPrior) {
      channel = this.declaredPrior.channelOf(declared, campaigns);
      cost = this.declaredPrior.certificateOf(declared, campaigns).cost;
    }
    if (this.transcript) channel = this.transcript.channelFor(this.transcript.priorAfter(earlier, period));
    return {
      channel,
      cost,
      // A channel for a person's prior may take fewer bytes than the view's.
      draw: (x, rand) => channel.draw(x, rand.subarray(0, channel.randomBytes)),
    };
  }

  /**
   * The view of the device with a key.
   * @param {Uint8Array} publicKey its key in this campaign
   * @returns {Promise<DeviceView>}
   */
  async viewOf(publicKey) {
    const index = await viewIndex(this.views, this.id, publicKey);
    const { map, channel } = this.views[index];
    const { domain } = this;
    const asked = map.questions.length ? map.questions : undefined;
    return {
      index,
      channel,
      questions: map.questions,
      inputCount: map.inputCount(domain),
      cost: this.viewCertificates[index].cost,
      randomBytes: channel.randomBytes,
      priced: (role = {}) => this.pricedOf(index, role),
      label: (z) => map.label(domain, z),
      async toInput(answer, dither, classIndex = 0) {
        // Form.indexOf takes the asked questions as a third argument; other domains ignore it.
        const indexOf = /** @type {(answer: any, dither: Uint8Array, asked?: number[]) => Promise<any>} */ (
          domain.indexOf
        );
        const x = await indexOf.call(domain, answer, dither, asked);
        return classIndex * map.inputCount(domain) + map.input(domain, x);
      },
    };
  }
}

/**
 * The number of prior weights that the notion at the reader's position claims to have.
 * @param {Reader} reader @param {boolean} [inner] whether it is the notion of a class
 * @returns {number}
 */
function claimedWeights(reader, inner) {
  reader.array();
  const name = reader.value(0);
  if (name !== "lip" && (inner || name !== "classes")) return 0;
  reader.skip();
  if (name === "lip") return Math.max(reader.array(), 0);
  let total = 0;
  for (let left = Math.min(reader.array(), 64); left > 0; left--) {
    const { at } = reader;
    total += claimedWeights(reader, true);
    reader.at = at;
    reader.skip();
  }
  return total;
}

/**
 * Refuse a campaign of too many bytes, before its payload is decoded.
 * @param {Uint8Array} payload @param {number} size of the signed envelope
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
  if (size > limit) throw new CampaignError(`this signed campaign must have at most ${limit} bytes, not ${size}`);
}

/**
 * Verify, then parse, then audit a signed campaign.
 * @param {Uint8Array} data
 * @param {{trusted: Uint8Array[]}} options public keys of authors; the campaign must be signed by one of them
 * @returns {Promise<Campaign>}
 * @throws {import("./errors.js").BadData} a check failed; the class names the check's stage (SPEC 0)
 */
export async function openCampaign(data, { trusted }) {
  const sealed = decodeKind(data, CAMPAIGN, CampaignError);
  for (const author of trusted)
    if (same(await keyId(author), sealed.keyId)) {
      const payload = await openEnvelope(sealed, author);
      requireSize(payload, data.length);
      return new Campaign(payload, (await sha256(data)).slice(0, 16), author);
    }
  throw new CampaignError(`no trusted author has key ${hex(sealed.keyId)}: take the link to this campaign from its author`);
}
