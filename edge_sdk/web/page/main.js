/**
 * The page of a campaign: terms, consent, questions, sending, and the screen "History and budget".
 *
 * It reads the campaign's data from the document, opens this browser's device, and shows one screen at a time.
 */

import { hex } from "../codec.js";
import { Device } from "../device.js";
import { REPORT, decodeEnvelope } from "../envelope.js";
import { CampaignError, OutsideSchedule } from "../errors.js";
import { sha256 } from "../keys.js";
import { busy, button, el, p, show } from "./dom.js";
import { review } from "./review.js";
import { own } from "./own.js";
import { question } from "./question.js";
import { language, say, useLanguage } from "./say.js";
import { sending, stop } from "./sent.js";
import { terms } from "./terms.js";
import { WrongCode, WrongLink, trouble } from "./trouble.js";

/**
 * The campaign's data in the document.
 * @typedef {object} PageData
 * @property {string} campaign base64 of the signed bytes
 * @property {string} author hex of its author's public key
 * @property {string | null} authorName name of the author, for display only
 * @property {string | null} closing base64 of a closing notice
 * @property {boolean} served true if this origin serves the page and accepts its reports
 * @property {{[language: string]: any}} texts
 */

/** The bytes that base64 text encodes. @param {string} base64 */
const fromBase64 = (base64) => Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));

/** One person's visit to the page: the current screen, and the steps from one screen to the next. */
export class Visit {
  /** @param {PageData} data */
  constructor(data) {
    this.data = data;
    this.author = Uint8Array.from(data.author.match(/../g) ?? [], (digits) => parseInt(digits, 16));
    /** @type {Device} */
    this.device = /** @type {any} */ (null);
    this.id = new Uint8Array();
    /** True if the link names the author's key. */
    this.linked = false;
    /** True while a step is under way. */
    this.busy = false;
    /** True once the report of the current answer was made, or an upload began. */
    this.made = false;
    this.consented = false;
    /** The function that shows the current screen; called again after a change of the language. */
    this.screen = () => this.start();
    /** Aborts when another screen is shown. */
    this.leave = new AbortController();
  }

  /** Open the device, verify and audit the campaign, and show the next screen. */
  start() {
    return this.do(() => this.begin());
  }

  /** Open the device, join the campaign, apply the link's code and the closing notice, and show the next screen. */
  async begin() {
    const { served, closing, campaign } = this.data;
    this.screen = () => this.begin();
    await this.requireLink();
    this.device ??= await Device.open({ trust: [this.author] });
    const data = fromBase64(campaign);
    this.id = (await sha256(data)).slice(0, 16);
    try {
      await this.device.join(data, served ? location.href.slice(0, location.href.indexOf("/s/")) : undefined);
      const code = new URLSearchParams(location.hash.slice(1)).get("c");
      if (code && (await this.terms()).enrolled) await this.presentCode(code);
      if (closing) await this.device.closeEarly(this.id, fromBase64(closing));
    } catch (error) {
      const known = (await this.device.campaigns()).some((one) => hex(one) === hex(this.id));
      if (!(error instanceof OutsideSchedule) || !known) throw error;
    }
    await this.next();
  }

  /** Refuse a campaign of another author than the link names; the link has 128 bits of the hash of the author's key. */
  async requireLink() {
    const named = new URLSearchParams(location.hash.slice(1)).get("k");
    if (named === null) return;
    const found = btoa(String.fromCharCode(...(await sha256(this.author)).slice(0, 16)));
    if (named !== found.replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "")) throw new WrongLink();
    this.linked = true;
  }

  /** Store the code in the link; `send` redeems it. @param {string} code */
  async presentCode(code) {
    try {
      await this.device.presentCode(this.id, code);
    } catch (error) {
      throw error instanceof CampaignError ? new WrongCode(error.message) : error;
    }
  }

  /** Show the next screen: the terms, a question, or "History and budget". */
  async next() {
    const campaign = await this.terms();
    const ended = Math.max(Date.now() / 1000, campaign.opens) >= campaign.ends;
    if (!campaign.consented && !ended) return this.open(() => terms(this));
    return (await this.waits()).length || !campaign.left ? this.own() : this.question();
  }

  /** The terms in the language of the page. @returns {Promise<any>} */
  async terms() {
    const campaign = await this.device.terms(this.id, language());
    this.consented = campaign.consented;
    return campaign;
  }

  /** Make a screen the current one, and show it. @param {() => Promise<any>} screen */
  open(screen) {
    this.screen = screen;
    return screen();
  }

  /** The waiting envelopes; none if no report is among them, because an enrolment is sent together with the first report. */
  async waits() {
    const waiting = await this.device.waiting(this.id);
    return waiting.some((one) => decodeEnvelope(one).kind === REPORT) ? waiting : [];
  }

  /** Show the screen "History and budget". */
  own() {
    return this.open(() => own(this));
  }

  /** Show a question. @param {number} [place] @param {{[name: string]: any}} [answers] */
  question(place, answers) {
    this.made = false;
    return this.open(() => question(this, place, answers));
  }

  /** Show the screen before an answer is sent. @param {any} value @param {{[name: string]: any}} answers */
  review(value, answers) {
    return this.open(() => review(this, value, answers));
  }

  /** Send the waiting envelopes, and show the result. */
  sending() {
    this.made = true;
    return this.open(() => sending(this));
  }

  /**
   * Record the consent, with the uniform prior if one must be declared, and show the next screen.
   * @param {string} [asClass]
   */
  async agree(asClass) {
    const { needsPrior } = await this.terms();
    await this.device.consent(this.id, { asClass, prior: needsPrior ? await this.device.uniformPrior(this.id) : undefined });
    await this.next();
  }

  /** Forget the campaign; its spending stays counted. */
  async forget() {
    await this.device.forget(this.id);
    this.consented = false;
    const again = () => this.do(() => this.begin());
    await this.open(async () => this.show(say("page.forgotten"), [p(say("page.forgotten_how")), button(say("terms.title"), again, "plain")]));
  }

  /** Draw, charge and queue the report. @param {any} value */
  async make(value) {
    const receipt = await this.device.answer(this.id, value);
    this.made = true;
    return receipt;
  }

  /** Send the report, and make it first if needed. @param {any} value */
  async send(value) {
    if (!this.made) await this.make(value);
    await this.sending();
  }

  /** Run a step unless another is under way; if it fails, show its error. @param {() => Promise<any>} work */
  async do(work) {
    if (this.busy) return;
    this.busy = true;
    busy(true);
    try {
      await work();
    } catch (error) {
      trouble(this, error);
    } finally {
      this.busy = false;
      busy(false);
    }
  }

  /**
   * Show a screen in place of the previous one.
   * @param {string} title @param {any[]} parts @param {string} [lang] of the title, if the title is the campaign's
   */
  show(title, parts, lang) {
    stop();
    this.leave.abort();
    this.leave = new AbortController();
    show(title, parts, this.foot(), lang);
  }

  /** The navigation below every screen. */
  foot() {
    const other = language() === "de" ? "en" : "de";
    const turn = () => {
      useLanguage(this.data.texts, other);
      return this.screen();
    };
    const link = button(say("page.switch"), () => this.do(turn), "plain");
    link.lang = other;
    const place = (/** @type {string} */ words, /** @type {() => Promise<any>} */ go) => button(say(words), () => this.do(() => this.open(go)), "plain");
    return el("nav.foot", { "aria-label": say("page.places") }, this.consented && [place("terms.title", () => terms(this)), place("page.own", () => own(this))], link);
  }
}

const found = document.getElementById("data");
if (found) {
  const data = JSON.parse(found.textContent ?? "");
  useLanguage(data.texts, navigator.language);
  new Visit(data).start();
}
