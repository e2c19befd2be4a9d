/**
 * The device: the entry point of a page, from opening this browser's store to forgetting a campaign (SPEC 9).
 *
 * One browser and one origin are one device, in any number of tabs. An answer is one transaction: charge, draw, memo,
 * signature and queued envelope are on the disk together before the report is returned. So no report leaves the device
 * before it is charged, even if the tab dies. The random bytes are drawn before the answer is read, and their number does
 * not depend on it.
 */

import { consentOf, considered, give } from "./answering.js";
import { budget, costOf, requireRoom } from "./caps.js";
import { hex } from "./codec.js";
import { openClosing, requireOpen } from "./closing.js";
import { agree, introduces } from "./consent.js";
import { AddressRefused, BadData, CampaignError, NotJoined } from "./errors.js";
import { requireAddress } from "./address.js";
import { Joined } from "./joined.js";
import { requirePublic, sha256 } from "./keys.js";
import { fold } from "./ledger.js";
import { forgetAnswers, usedSlots } from "./memo.js";
import { restartUpload, requireSpace, sizeOf } from "./outbox.js";
import { Store } from "./store.js";
import { addressesOf, revealsOf, termsOf } from "./terms.js";
import { send } from "./upload.js";

/** @typedef {import("./store.js").Kept} Kept */
/** @typedef {import("./domain/domain.js").Answer} Answer */

/** @typedef {import("./answering.js").Receipt} Receipt */

const NOT_JOINED = "this browser has not joined the campaign: join it first";

/** Random bytes of the browser. @param {number} bytes */
const fromCrypto = (bytes) => crypto.getRandomValues(new Uint8Array(bytes));

/**
 * A device with an open store. A method about one campaign throws `NotJoined` if it is not joined (`send` then sends
 * nothing), and a method that uses the store throws `StoreError` if that is not possible.
 */
export class Device {
  /**
   * @param {Store} store @param {Uint8Array[]} trust
   * @param {() => number} clock @param {(bytes: number) => Uint8Array} random
   */
  constructor(store, trust, clock, random) {
    this.store = store;
    this.trust = trust;
    this.clock = clock;
    this.random = random;
    /** The campaigns that this page has verified and audited, by id. @type {Map<string, Promise<Joined>>} */
    this.opened = new Map();
  }

  /**
   * Open the device of this browser and origin; create it if it is missing.
   * @param {object} [options]
   * @param {Uint8Array[]} [options.trust] public keys of the authors whose campaigns may be joined
   * @param {string} [options.name] of the database
   * @param {() => number} [options.clock] seconds since 1970
   * @param {(bytes: number) => Uint8Array} [options.random]
   * @returns {Promise<Device>}
   * @throws {import("./errors.js").HalftruthError} KeyRefused if a key of `trust` must not be used; Unsupported if the
   *   browser lacks a function; StoreError if nothing can be stored
   */
  static async open({ trust = [], name = "halftruth", clock = () => Date.now() / 1000, random = fromCrypto } = {}) {
    trust.forEach(requirePublic);
    return new Device(await Store.open(name, random), trust, clock, random);
  }

  /** Close the store. */
  close() {
    this.store.close();
  }

  /** The clock in whole seconds since 1970. */
  get now() {
    return Math.floor(this.clock());
  }

  /**
   * True if the browser promised not to delete the store by itself. A private window still deletes the store when the
   * window is closed.
   */
  async kept() {
    return (await navigator.storage?.persisted?.()) ?? false;
  }

  // Caps and spending

  /** The caps in force, and the amounts spent, reserved and remaining. */
  async budget() {
    return budget(await this.store.read());
  }

  /** All ledger entries (reserved, charged, released or carried), oldest first. */
  async ledger() {
    const { campaigns } = await this.store.read();
    return [...campaigns.values()]
      .flatMap(({ id, ledger }) => ledger.map((entry) => ({ campaignId: id, ...entry })))
      .sort((one, other) => one.number - other.number);
  }

  // Campaigns

  /**
   * Verify and audit a signed campaign, check it against the caps, and keep it. Joining again changes nothing, but an
   * address may be added if none is known.
   * @param {Uint8Array} data
   * @param {string} [address] the study's address for reports; used only if the signed campaign names no address
   * @returns {Promise<ReturnType<Device["terms"]>>} the terms that the person is shown before consent
   * @throws {import("./errors.js").HalftruthError} BadData if a check failed (the class names the check's stage, SPEC
   *   0); AddressRefused, OutsideSchedule, BudgetRefused or StoreError
   */
  async join(data, address) {
    const id = (await sha256(data)).slice(0, 16);
    const { secret, campaigns } = await this.store.read();
    const known = campaigns.get(hex(id))?.joined;
    const joined = known ? await this.member(id) : await Joined.open(data, this.trust, secret);
    const { campaign } = joined;
    if (address !== undefined) requireUsable(address);
    await this.store.change(
      id,
      async (kept, state) => {
        this.requireNotOver(joined, kept);
        if (!kept.joined) {
          requireRoom(state, kept, joined.commitments({}), this.now);
          kept.joined = { author: campaign.author, address: null };
        }
        if (address === undefined || campaign.addresses.length || address === kept.joined.address) return;
        if (kept.joined.address) throw new AddressRefused(`reports in this campaign go to ${kept.joined.address}: leave the other address out`);
        kept.joined.address = address;
      },
      data,
    );
    this.opened.set(hex(id), Promise.resolve(joined));
    return this.terms(id);
  }

  /** Ids of the joined campaigns. @returns {Promise<Uint8Array[]>} */
  async campaigns() {
    const { campaigns } = await this.store.read();
    return [...campaigns.values()].filter(({ joined }) => joined).map(({ id }) => id);
  }

  /**
   * A joined campaign, verified and audited in this page.
   * @param {Uint8Array} id
   * @returns {Promise<Joined>}
   */
  async member(id) {
    const key = hex(id);
    const { secret, campaigns } = await this.store.read();
    const author = campaigns.get(key)?.joined?.author;
    const data = author && (await this.store.signed(key));
    if (!data) throw new NotJoined(NOT_JOINED);
    const opening = this.opened.get(key) ?? Joined.open(data, [author], secret);
    this.opened.set(key, opening);
    return opening;
  }

  /** A joined campaign and its record. @param {Uint8Array} id @returns {Promise<[Joined, Kept]>} */
  async found(id) {
    const joined = await this.member(id);
    return [joined, /** @type {Kept} */ ((await this.store.read()).campaigns.get(hex(id)))];
  }

  /**
   * The terms of a joined campaign. Before consent, costs are those of the most expensive view; in a campaign for
   * declared priors, those of the declared prior, or of the uniform prior if none is declared. `asked` is null before
   * consent, because a refusal that depends on the assigned questions would reveal them.
   * @param {Uint8Array} id @param {string} [language] as navigator.language names it
   */
  async terms(id, language = "") {
    return termsOf(...(await this.found(id)), this.now, language);
  }

  /**
   * Close a joined campaign early, by its author's signed closing notice, which stays valid even after forgetting.
   * @param {Uint8Array} id @param {Uint8Array} data
   * @throws {BadData} the campaign's author did not sign it, or its time is not before the campaign's end, or is after
   *   that of an earlier closing notice
   */
  async closeEarly(id, data) {
    const { campaign } = await this.member(id);
    const closes = await openClosing(data, campaign);
    await this.store.change(id, async (kept) => {
      if (kept.closes !== null && kept.closes < closes)
        throw new CampaignError(
          `"${campaign.title}" was already closed at an earlier time: a later closing notice cannot open it again`,
        );
      kept.closes = closes;
    });
  }

  /**
   * Record the person's consent: reserve the worst case of the device's view and class, and queue the enrolment, if
   * the campaign accepts every device or the person has a code. Agreeing again changes nothing.
   * @param {Uint8Array} id
   * @param {object} [as]
   * @param {string} [as.asClass] the person's class, in a campaign with classes; public
   * @param {{[label: string]: number}} [as.prior] the weight of each value, in a campaign for declared priors;
   *   public and permanent
   * @param {number | bigint} [as.level] with a prior, the person's own level, at most the campaign's, nanonats; public
   * @throws {import("./errors.js").HalftruthError} ConsentMissing if a class or prior is missing; CampaignError if it
   *   does not fit the campaign or the person's earlier one; ReportError, NotInDomain or NotionError if the prior or
   *   the level is not allowed; OutsideSchedule, BudgetRefused or OutboxFull
   */
  async consent(id, as = {}) {
    await this.decide(id, (decision) => agree(decision, as));
  }

  /**
   * Record a person's decision about a campaign that is not over, in one transaction.
   * @template T @param {Uint8Array} id @param {(decision: import("./consent.js").Decision) => Promise<T>} work
   * @returns {Promise<T>} once it is on the disk
   */
  async decide(id, work) {
    const joined = await this.member(id);
    const [now, dither] = [this.now, this.random(8)];
    const decided = await this.store.change(id, async (kept, state) => {
      requireJoined(kept);
      this.requireNotOver(joined, kept, now);
      return work({ joined, kept, state, now, dither });
    });
    await navigator.storage?.persist?.();
    return decided;
  }

  /**
   * The sealed enrolment for a campaign with consent, to be handed to the organisation.
   * @param {Uint8Array} id
   * @throws {import("./errors.js").ConsentMissing} the person has not agreed
   */
  async enrolment(id) {
    const [joined, kept] = await this.found(id);
    consentOf(joined, kept);
    return joined.enrolment(kept);
  }

  /**
   * Store the code that admits this device to a campaign for enrolled devices; `send` redeems it. Another code replaces
   * it until the study admits the device.
   * @param {Uint8Array} id @param {string} code
   * @throws {import("./errors.js").HalftruthError} CampaignError if the text is not a code, or the campaign takes
   *   reports from every device; OutboxFull if the enrolment does not fit
   */
  async presentCode(id, code) {
    const joined = await this.member(id);
    if (!joined.campaign.enrolled) throw new CampaignError(`"${joined.campaign.title}" takes reports from every device and needs no code: leave it out`);
    if (!/^[A-Za-z0-9_-]{1,64}$/.test(code)) throw new CampaignError("a code must have 1 to 64 letters, digits, - and _: copy the whole code");
    await this.store.change(id, async (kept, state) => {
      requireJoined(kept);
      if (kept.code === code || kept.admitted) return;
      if (kept.consent && !kept.code) {
        const enrolment = await joined.enrolment(kept);
        requireSpace(state, enrolment.length);
        kept.outbox.push(enrolment);
      }
      kept.code = code;
      restartUpload(kept);
    });
  }

  // Answers

  /**
   * Draw, charge, sign and queue one answer, in one transaction. The same value in the same slot returns the same
   * report: the same bytes, no cost, nothing queued.
   * @param {Uint8Array} id @param {Answer} value
   * @param {number} [slot] of the answer in its period, from 0; by default the next one
   * @returns {Promise<Receipt>} once it is on the disk
   * @throws {import("./errors.js").HalftruthError} NotInDomain, OutsideSchedule, ConsentMissing, QuotaReached,
   *   BudgetRefused, OutboxFull or StoreError: nothing was charged or queued
   * @throws {RangeError} no period has this slot
   */
  async answer(id, value, slot) {
    const joined = await this.member(id);
    const { campaign, view } = joined;
    const most = campaign.answersPerPeriod;
    if (slot !== undefined && !(Number.isInteger(slot) && slot >= 0 && slot < most))
      throw new RangeError(`the slot of an answer must be a whole number from 0 to ${most - 1}`);
    const now = this.now;
    const period = campaign.periodAt(now);
    // The bytes are drawn before the value is read, and even if they are not needed.
    const rand = this.random(view.randomBytes);
    return this.store.change(id, async (kept, state) => {
      requireJoined(kept);
      if (kept.closes !== null) requireOpen(campaign, kept.closes, now);
      return give({ joined, kept, state, now, period, rand }, value, slot);
    });
  }

  /**
   * The size and the cost of an answer; nothing is drawn, charged or stored.
   * @param {Uint8Array} id @param {Answer} [value] the answer that the person considers
   * @returns {Promise<{reportBytes: number, waitingBytes: number, cost: bigint}>} the maximum length of the report in
   *   bytes, the total length of the envelopes that are sent before the report (before consent, this includes the
   *   enrolment, unless the enrolment declares a prior), and the cost in nanonats
   * @throws {import("./errors.js").HalftruthError} NotInDomain if the question does not allow the value; ConsentMissing
   *   for an answer to a form before consent
   */
  async preview(id, value) {
    const [joined, kept] = await this.found(id);
    const x = await considered(joined, kept, value);
    const paid = x !== null && !joined.campaign.transcript && kept.memo.has(x);
    const enrols = !kept.consent && introduces({ joined, kept }) && !joined.campaign.declaredPrior;
    const waiting = [...kept.outbox, ...(enrols ? [await joined.enrolment(kept)] : [])];
    return { reportBytes: joined.longestReport, waitingBytes: sizeOf(waiting), cost: paid ? 0n : joined.stated(kept).cost };
  }

  /**
   * The possible disclosure of an answer by one report; nothing is drawn, charged or stored. In Python it is a
   * part of `preview`.
   * @param {Uint8Array} id
   * @param {Answer} [value] the answer that the person considers; by default the answer that a report can
   * make most probable
   * @throws {import("./errors.js").HalftruthError} NotInDomain if the question does not allow the value; ConsentMissing
   *   for an answer to a form before consent
   */
  async reveals(id, value) {
    return revealsOf(...(await this.found(id)), this.now, value);
  }

  /** The uniform prior, a weight for each label; it reveals nothing about the person. @param {Uint8Array} id */
  async uniformPrior(id) {
    const { domain } = (await this.member(id)).campaign;
    return Object.fromEntries(Array.from({ length: domain.size }, (_, x) => [domain.label(x), 1]));
  }

  /**
   * The number of answers with each value, by label: the person's history, which never leaves the device.
   * @param {Uint8Array} id
   */
  async history(id) {
    const [joined, { memo }] = await this.found(id);
    // All classes have the same labels.
    const size = joined.view.inputCount;
    return Object.fromEntries([...memo].map(([x, { times }]) => [joined.view.label(x % size), times]));
  }

  // Sending

  /** The waiting envelopes of a campaign, in order. @param {Uint8Array} id @returns {Promise<Uint8Array[]>} */
  async waiting(id) {
    return (await this.found(id))[1].outbox;
  }

  /**
   * Upload the envelopes that are due, each campaign to its own study. A call before the time of the next attempt sends
   * nothing.
   * @param {Uint8Array} [id] send only this campaign's envelopes
   * @returns {Promise<import("./upload.js").Attempt[]>}
   */
  async send(id) {
    const attempts = [];
    for (const [key, kept] of (await this.store.read()).campaigns) {
      if (!kept.joined || !kept.outbox.length || (id && key !== hex(id))) continue;
      const addresses = addressesOf(await this.member(kept.id), kept);
      let attempt;
      // After a success, the next attempt sends the envelopes that were queued meanwhile.
      do {
        attempt = await send(this.store, kept, addresses, this.now, this.random(8));
        if (attempt) attempts.push(attempt);
      } while (attempt?.outcome === "sent");
    }
    return attempts;
  }

  // Opting out

  /**
   * Delete a campaign, or all: answers, memo, outbox and consent. Spending stays counted, as if all answers had been
   * different, and used slots stay used.
   * @param {Uint8Array} [id]
   * @throws {NotJoined} this browser never joined it
   */
  async forget(id) {
    const { campaigns } = await this.store.read();
    if (id && !campaigns.has(hex(id))) throw new NotJoined(NOT_JOINED);
    for (const one of id ? [id] : await this.campaigns()) {
      const now = this.now;
      await this.store.change(one, async (kept, state) => {
        if (kept.consent) {
          const { commitment, choice, latest } = kept.consent;
          fold(state, kept, Math.max(now, latest), choice + costOf(commitment, usedSlots(kept)));
        }
        forgetAnswers(kept);
        restartUpload(kept);
        Object.assign(kept, { joined: null, consent: null, outbox: [], code: "" });
      });
      this.opened.delete(hex(one));
    }
  }

  /**
   * Refuse a campaign that is over, or that its author has closed early.
   * @param {Joined} joined @param {Kept} kept @param {number} [now]
   * @throws {import("./errors.js").OutsideSchedule} `now` is not before its end
   */
  requireNotOver({ campaign }, kept, now = this.now) {
    if (now >= campaign.closes) campaign.periodAt(now);
    if (kept.closes !== null) requireOpen(campaign, kept.closes, now);
  }
}

/** Refuse text that is not an address. @param {string} address @throws {AddressRefused} */
function requireUsable(address) {
  try {
    requireAddress(address);
  } catch (error) {
    throw error instanceof BadData ? new AddressRefused(error.message) : error;
  }
}

/** Refuse a campaign that is not joined: another tab may have forgotten it meanwhile. @param {Kept} kept */
function requireJoined(kept) {
  if (!kept.joined) throw new NotJoined(NOT_JOINED);
}
