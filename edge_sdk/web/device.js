/**
 * The device: all that a page does with what this browser keeps, from opening it to forgetting (SPEC 9).
 *
 * One browser and one origin are one device, in however many tabs. An answer is one transaction: charge, draw, memo,
 * signature and queued envelope are on the disk together before anything is handed out, so a tab that dies may cost one
 * report and never hides one. The random bytes are drawn before the answer is looked at and are always as many.
 */

import { encode, hex } from "./codec.js";
import { openClosing, requireOpen } from "./closing.js";
import { AddressRefused, BadData, CampaignError, ConsentMissing, OutsideSchedule, QuotaReached, UnknownCampaign } from "./errors.js";
import { requireAddress } from "./address.js";
import { Joined } from "./joined.js";
import { requirePublic, sha256 } from "./keys.js";
import { budget, enter, fold, requireKept, requireRoom, tighten } from "./ledger.js";
import { fill, filledWith, following, forgetAnswers, remember, usedSlots } from "./memo.js";
import { beginAnew, requireSpace } from "./outbox.js";
import { Store } from "./store.js";
import { addressesOf, revealsOf, termsOf } from "./terms.js";
import { send } from "./upload.js";

/** @typedef {import("./notions/information.js").Declared} Declared */
/** @typedef {import("./store.js").Kept} Kept */
/** @typedef {import("./store.js").State} State */
/** @typedef {import("./domain/domain.js").Answer} Answer */

/**
 * What became of an answer.
 * @typedef {object} Receipt
 * @property {number} period
 * @property {number} slot
 * @property {Uint8Array} envelope the signed report that carries it, as it was queued
 * @property {bigint} charged now, nanonats
 * @property {boolean} repeated whether this very report was queued before, and nothing was now
 */

const NOT_JOINED = "this browser has not joined the campaign, or forgot it";

/** @param {number} bytes */
const fromCrypto = (bytes) => crypto.getRandomValues(new Uint8Array(bytes));

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
    /** Audited once a page. @type {Map<string, Promise<Joined>>} */
    this.opened = new Map();
  }

  /**
   * The device of this browser and origin, made if there is none.
   * @param {object} [options]
   * @param {Uint8Array[]} [options.trust] public keys of the authors whose campaigns may be joined
   * @param {string} [options.name] of the database
   * @param {() => number} [options.clock] seconds since 1970
   * @param {(bytes: number) => Uint8Array} [options.random]
   * @returns {Promise<Device>}
   * @throws {import("./errors.js").Unsupported | import("./errors.js").StoreError}
   */
  static async open({ trust = [], name = "halftruth", clock = () => Date.now() / 1000, random = fromCrypto } = {}) {
    trust.forEach(requirePublic);
    return new Device(await Store.open(name, random), trust, clock, random);
  }

  close() {
    this.store.close();
  }

  get now() {
    return Math.floor(this.clock());
  }

  /** Whether the browser promised not to clear this by itself. A private window ends with all that it kept all the same. */
  async kept() {
    return (await navigator.storage?.persisted?.()) ?? false;
  }

  // The caps, and what became of them

  /** Tighten the caps; of two, the lower one holds. @param {import("./store.js").Caps} caps nanonats */
  tighten(caps) {
    return this.store.changeCaps((known) => tighten(known, caps));
  }

  /** The caps in force, what was spent, and what remains. */
  async budget() {
    return budget(await this.store.read());
  }

  /** Everything that was reserved, spent, released or carried, oldest first. */
  async history() {
    const { campaigns } = await this.store.read();
    return [...campaigns.values()]
      .flatMap(({ id, ledger }) => ledger.map((entry) => ({ campaignId: id, ...entry })))
      .sort((one, other) => one.number - other.number);
  }

  // Campaigns

  /**
   * Verify and audit a signed campaign, check it against the caps, and keep it. Joining again changes nothing.
   * @param {Uint8Array} data
   * @param {string} [address] where its study takes reports; used only where the signed campaign names none
   * @returns {Promise<ReturnType<Device["terms"]>>} what the person is told before they agree
   * @throws {import("./errors.js").BadData | OutsideSchedule | import("./errors.js").BudgetRefused}
   */
  async join(data, address) {
    const id = (await sha256(data)).slice(0, 16);
    const { secret, campaigns } = await this.store.read();
    const known = campaigns.get(hex(id))?.joined;
    const joined = known ? await this.member(id) : await Joined.open(data, this.trust, secret);
    const { campaign } = joined;
    if (address !== undefined) required(address);
    await this.store.change(
      id,
      async (kept, state) => {
        this.requireNotOver(joined, kept);
        if (!kept.joined) {
          requireRoom(state, kept, joined.worst({}));
          kept.joined = { author: campaign.author, address: null };
        }
        if (address === undefined || campaign.addresses.length || address === kept.joined.address) return;
        if (kept.joined.address) throw new AddressRefused(`its reports go to ${kept.joined.address}, as was said before`);
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
   * @throws {UnknownCampaign}
   */
  async member(id) {
    const key = hex(id);
    const { secret, campaigns } = await this.store.read();
    const author = campaigns.get(key)?.joined?.author;
    const data = author && (await this.store.signed(key));
    if (!data) throw new UnknownCampaign(NOT_JOINED);
    const opening = this.opened.get(key) ?? Joined.open(data, [author], secret);
    this.opened.set(key, opening);
    return opening;
  }

  /** @param {Uint8Array} id @returns {Promise<[Joined, Kept]>} */
  async found(id) {
    const joined = await this.member(id);
    return [joined, /** @type {Kept} */ ((await this.store.read()).campaigns.get(hex(id)))];
  }

  /**
   * What the person is told about a joined campaign. Until they agreed, costs are those of the costliest view, and which
   * questions of a form this device is asked is not told: who refused because of them would tell something.
   * @param {Uint8Array} id @param {string} [language] as navigator.language names it
   */
  async terms(id, language = "") {
    return termsOf(...(await this.found(id)), this.now, language);
  }

  /**
   * Obey the notice by which its author closes a joined campaign early. It holds for good, also after forgetting.
   * @param {Uint8Array} id @param {Uint8Array} data
   * @throws {import("./errors.js").BadData}
   */
  async closeEarly(id, data) {
    const { campaign } = await this.member(id);
    const closes = await openClosing(data, campaign);
    await this.store.change(id, async (kept) => {
      if (kept.closes !== null && kept.closes < closes)
        throw new CampaignError("the campaign was closed from an earlier time on: a later notice opens nothing again");
      kept.closes = closes;
    });
  }

  /**
   * The person agrees: reserve the worst case, and introduce the device where anyone may answer. Agreeing again changes
   * nothing.
   * @param {Uint8Array} id
   * @param {object} [as]
   * @param {string} [as.asClass] the person's class, where there are classes; public
   * @param {{[label: string]: number}} [as.prior] weights of the values, where people declare their priors; public, for good
   * @param {number | bigint} [as.level] nanonats, with a prior: of their own, at most the campaign's; public with it
   * @throws {ConsentMissing | CampaignError | import("./errors.js").BudgetRefused | import("./errors.js").OutboxFull}
   */
  async consent(id, { asClass, prior, level } = {}) {
    const joined = await this.member(id);
    const { campaign, view } = joined;
    const asked = await joined.roleOf(asClass ?? null, prior ?? null, level ?? null);
    const [now, dither] = [this.now, this.random(8)];
    await this.store.change(id, async (kept, state) => {
      requireJoined(kept);
      this.requireNotOver(joined, kept, now);
      const { declared } = kept;
      const written = (/** @type {Declared} */ { prior, level }) => hex(encode([prior, level || declared?.level || 0n]));
      if (asked.declared && declared && written(asked.declared) !== written(declared))
        throw new CampaignError("another prior was declared in this campaign before, and it holds: leave it out now");
      const role = { memberOf: asked.memberOf, declared: declared ?? asked.declared };
      if (kept.consent) {
        if (asked.memberOf !== undefined && asked.memberOf !== kept.consent.memberOf)
          throw new CampaignError("the person agreed as another class: forget the campaign first");
        return;
      }
      joined.requireComplete(role);
      if (campaign.transcript && usedSlots(kept))
        throw new CampaignError(`"${joined.title}" was forgotten after an answer, which later ones build on: it cannot be answered again`);
      const charge = joined.charge(role);
      requireRoom(state, kept, joined.worst(role));
      kept.declared = role.declared ?? null;
      if (!campaign.enrolled || kept.code) {
        const enrolment = await joined.enrolment(kept);
        requireSpace(state, enrolment.length);
        kept.outbox.push(enrolment);
      }
      enter(state, kept, "reserve", now, charge * view.draws);
      kept.consent = { time: now, dither, charge, draws: view.draws, latest: now, memberOf: role.memberOf };
    });
    await navigator.storage?.persist?.();
  }

  /** The sealed enrolment of a campaign agreed to, to be handed to the organisation. @param {Uint8Array} id */
  async enrolment(id) {
    const [joined, kept] = await this.found(id);
    consentOf(joined, kept);
    return joined.enrolment(kept);
  }

  /**
   * Keep the code by which the study of an enrolled campaign lets this device in; `send` redeems it. Another code replaces
   * one that the study refused.
   * @param {Uint8Array} id @param {string} code
   */
  async presentCode(id, code) {
    const joined = await this.member(id);
    if (!joined.campaign.enrolled) throw new CampaignError(`"${joined.title}" takes reports of anybody, without a code`);
    if (!/^[A-Za-z0-9_-]{1,64}$/.test(code)) throw new CampaignError("a code is 1 to 64 letters, digits, - and _: copy it whole");
    await this.store.change(id, async (kept, state) => {
      requireJoined(kept);
      if (kept.code === code || kept.admitted) return;
      if (kept.consent && !kept.code) {
        const enrolment = await joined.enrolment(kept);
        requireSpace(state, enrolment.length);
        kept.outbox.push(enrolment);
      }
      kept.code = code;
      beginAnew(kept);
    });
  }

  // Answers

  /**
   * Draw, charge, sign and queue one answer. The same reading again with the same value is the same report again: the same
   * bytes, no cost, nothing queued.
   * @param {Uint8Array} id @param {Answer} value
   * @param {number} [reading] which of the period's answers this is, from 0; the next one where not given
   * @returns {Promise<Receipt>} once it is on the disk
   * @throws {import("./errors.js").HalftruthError} NotInDomain, OutsideSchedule, ConsentMissing, QuotaReached,
   *   BudgetRefused, OutboxFull or StoreError: nothing was charged and nothing left
   */
  async answer(id, value, reading) {
    const joined = await this.member(id);
    const { campaign, view } = joined;
    const most = campaign.answersPerPeriod;
    if (reading !== undefined && !(Number.isInteger(reading) && reading >= 0 && reading < most))
      throw new RangeError(`a reading is a whole number from 0 to ${most - 1}: which of the period's answers it is`);
    const now = this.now;
    const period = campaign.periodAt(now);
    const rand = this.random(view.randomBytes); // before the value is looked at, needed or not
    return this.store.change(id, async (kept, state) => {
      requireJoined(kept);
      if (kept.closes !== null) requireOpen(campaign, kept.closes, now);
      const consent = consentOf(joined, kept);
      if (now < consent.time) throw new OutsideSchedule("the clock shows a time before the consent: set it right, and answer again");
      requireKept(state, kept);
      requireSpace(state, joined.longestReport);
      const x = await view.toInput(value, consent.dither, consent.memberOf);
      const known = kept.memo.get(x);
      const free = following(kept, period);
      const place = reading ?? (most === 1 ? 0 : free);
      if (place < free) {
        const slot = again(campaign.transcript !== null, kept, period, place, x, most);
        if (slot === null || !known) throw quotaReached(joined, period, place, free, now);
        const envelope = await joined.report(period, slot, known.output);
        return { period, slot, envelope, charged: 0n, repeated: true };
      }
      if (place >= most) throw quotaReached(joined, period, place, free, now);
      let [slot, fresh] = [place, !known];
      if (campaign.transcript) {
        if (kept.transcript.some(([then]) => then >= period))
          throw new OutsideSchedule("the clock shows a time before the latest report: set it right, and answer again");
        [slot, fresh] = [kept.transcript.length, true];
      }
      const { memberOf } = consent;
      const law = view.lawFor({ memberOf, declared: kept.declared ?? undefined, earlier: kept.transcript, period });
      const drawn = law.draw(x, rand);
      const output = fresh || !known ? drawn : known.output;
      const charged = fresh ? law.charge : 0n;
      enter(state, kept, "charge", now, charged);
      consent.latest = Math.max(consent.latest, now);
      remember(kept, x, output, period, slot);
      fill(kept, period, place, x);
      if (campaign.transcript) kept.transcript.push([period, Number(output)]);
      const envelope = await joined.report(period, slot, output);
      kept.outbox.push(envelope);
      return { period, slot, envelope, charged, repeated: false };
    });
  }

  /**
   * What would leave and cost; nothing is drawn, charged or kept.
   * @param {Uint8Array} id @param {Answer} [value] that the person considers
   * @returns {Promise<{reportBytes: number, waitingBytes: number, charge: bigint}>} bytes of the longest report, of what
   *   leaves beside it, and nanonats
   */
  async preview(id, value) {
    const [joined, kept] = await this.found(id);
    const { consent } = kept;
    if (joined.view.questions.length) consentOf(joined, kept); // what fits would tell which questions this device is asked
    const x = value === undefined ? null : await joined.view.toInput(value, consent?.dither ?? new Uint8Array(8), consent?.memberOf);
    const paid = x !== null && !joined.campaign.transcript && kept.memo.has(x);
    const introduces = !consent && (!joined.campaign.enrolled || kept.code) && !joined.campaign.ownPrior;
    const waiting = [...kept.outbox, ...(introduces ? [await joined.enrolment(kept)] : [])];
    const waitingBytes = waiting.reduce((sum, { length }) => sum + length, 0);
    const charge = consent?.charge ?? joined.campaign.charge;
    return { reportBytes: joined.longestReport, waitingBytes, charge: paid ? 0n : charge };
  }

  /**
   * What one report could reveal of an answer; nothing is drawn, charged or kept.
   * @param {Uint8Array} id @param {Answer} [value] that the person considers; else the one that a report reveals most about
   */
  async reveals(id, value) {
    return revealsOf(...(await this.found(id)), this.now, value);
  }

  /** Equal weights for all values: a prior that tells nothing about the person. @param {Uint8Array} id */
  async evenPrior(id) {
    const { domain } = (await this.member(id)).campaign;
    return Object.fromEntries(Array.from({ length: domain.size }, (_, x) => [domain.label(x), 1]));
  }

  /** How many reports were of each value, by label: for the person alone. @param {Uint8Array} id */
  async answers(id) {
    const [joined, { memo }] = await this.found(id);
    const size = joined.view.inputs; // of one class
    return Object.fromEntries([...memo].map(([x, { times }]) => [joined.view.label(x % size), times]));
  }

  // Sending

  /** What waits to leave of a campaign: the very bytes, in order. @param {Uint8Array} id @returns {Promise<Uint8Array[]>} */
  async waiting(id) {
    return (await this.found(id))[1].outbox;
  }

  /**
   * Upload what waits and is due, each campaign to its own study. May be called as often as wanted.
   * @param {Uint8Array} [id] send only what waits of this campaign
   * @returns {Promise<import("./upload.js").Attempt[]>}
   */
  async send(id) {
    const attempts = [];
    for (const [key, kept] of (await this.store.read()).campaigns) {
      if (!kept.joined || !kept.outbox.length || (id && key !== hex(id))) continue;
      const addresses = addressesOf(await this.member(kept.id), kept);
      let attempt;
      do {
        attempt = await send(this.store, kept, addresses, this.now, this.random(8));
        if (attempt) attempts.push(attempt);
      } while (attempt?.outcome === "sent"); // what was queued while an upload was under way is the next one
    }
    return attempts;
  }

  // Opting out

  /**
   * Delete a campaign, or all: answers, memo, queue and consent. What was spent stays counted, as if every answer had been
   * another one, and the slots already used stay used.
   * @param {Uint8Array} [id]
   * @throws {UnknownCampaign}
   */
  async forget(id) {
    const { campaigns } = await this.store.read();
    if (id && !campaigns.has(hex(id))) throw new UnknownCampaign(NOT_JOINED);
    for (const one of id ? [id] : await this.campaigns()) {
      const now = this.now;
      await this.store.change(one, async (kept, state) => {
        if (kept.consent) {
          const { charge, draws, latest } = kept.consent;
          const used = BigInt(usedSlots(kept));
          fold(state, kept, Math.max(now, latest), charge * (used < draws ? used : draws));
        }
        forgetAnswers(kept);
        beginAnew(kept);
        Object.assign(kept, { joined: null, consent: null, outbox: [], code: "" });
      });
      this.opened.delete(hex(one));
    }
  }

  /** @param {Joined} joined @param {Kept} kept */
  requireNotOver({ campaign }, kept, now = this.now) {
    if (now >= campaign.closes) campaign.periodAt(now);
    if (kept.closes !== null) requireOpen(campaign, kept.closes, now);
  }
}

/** @param {string} address */
function required(address) {
  try {
    requireAddress(address);
  } catch (error) {
    throw error instanceof BadData ? new AddressRefused(error.message) : error;
  }
}

/** Another tab may have forgotten it meanwhile. @param {Kept} kept */
function requireJoined(kept) {
  if (!kept.joined) throw new UnknownCampaign(NOT_JOINED);
}

/** @param {Joined} joined @param {Kept} kept */
function consentOf(joined, { consent }) {
  if (!consent) throw new ConsentMissing(`nobody agreed to "${joined.title}" yet: consent first`);
  return consent;
}

/**
 * The slot of a reading that was given with this very input before; null where it was not, or is not remembered.
 * @param {boolean} transcript @param {Kept} kept @param {number} period @param {number} place @param {number} x @param {number} most
 */
function again(transcript, kept, period, place, x, most) {
  const filled = filledWith(kept, period, place);
  const known = kept.memo.get(x);
  if (filled === null || transcript) return most === 1 && known?.period === period ? known.slot : null;
  return filled === x ? place : null;
}

/** Why a reading is not taken, for every value in the same words. @param {Joined} joined @param {number} period @param {number} place @param {number} free @param {number} now */
function quotaReached({ campaign, title }, period, place, free, now) {
  const most = campaign.answersPerPeriod;
  if (free < most)
    return new QuotaReached(`reading ${place} of this period is given already or was passed over: the next one is ${free}`);
  const next = campaign.opens + (period + 1) * campaign.periodSeconds;
  const when = next < campaign.closes ? `the next begins in ${next - now} seconds` : "it was the last";
  return new QuotaReached(`"${title}" takes ${most === 1 ? "1 answer" : `${most} answers`} a period; ${when}`);
}
