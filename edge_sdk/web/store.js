/**
 * What a browser keeps of a device, in IndexedDB, and one writer at a time.
 *
 * A transaction of IndexedDB ends as soon as something else is awaited, and keys and signatures are promises. So a change
 * is made up first, under a Web Lock that all tabs of this origin share, on a copy of what is kept; then the whole record
 * is written in one transaction that is on the disk before any result is returned. A tab that dies before that changed nothing,
 * and nothing had left. Should a browser break its own lock, the revision differs and nothing is written either.
 */

import { hex } from "./codec.js";
import { StoreError, Unsupported } from "./errors.js";
import { importDeviceSecret } from "./keys.js";

/**
 * What is kept of one campaign. Memo, readings and dither are the person's secrets.
 * @typedef {object} Kept
 * @property {Uint8Array} id
 * @property {Membership | null} joined null before, and once it was forgotten
 * @property {Consent | null} consent
 * @property {import("./notions/information.js").Declared | null} declared the prior, and the level, that hold for good
 * @property {number | null} closes of the earliest closing notice
 * @property {Entry[]} ledger
 * @property {Map<number, number>} used by period, how many slots are filled or were passed over
 * @property {{period: number, slot: number, x: number}[]} readings of the latest period, what fills each slot
 * @property {Map<number, Drawn>} memo by input
 * @property {[number, number][]} transcript period and output of each report, where each builds on the earlier ones
 * @property {Uint8Array[]} outbox sealed envelopes in order
 * @property {string} code by which the study is to let the device in; "" where none waits
 * @property {boolean} admitted whether the study let the device in by a code
 * @property {Upload} upload
 *
 * @typedef {{author: Uint8Array, address: string | null}} Membership
 * @typedef {object} Consent
 * @property {number} time UTC seconds
 * @property {Uint8Array} dither
 * @property {number} [memberOf]
 * @property {import("./caps.js").Commitment} commitment what it can cost
 * @property {bigint} choice nanonats that the choice of their class or prior was charged
 * @property {number} latest time of the latest answer
 * @property {number} floor a time that is known to be past, unless the clock ran ahead: that of the consent, or the beginning
 *   of the period of the latest answer
 * @typedef {{number: number, time: number, kind: "reserve" | "charge" | "release" | "carry", nanonats: bigint}} Entry
 * @typedef {{output: number | bigint, period: number, slot: number, times: number}} Drawn
 * @typedef {object} Upload
 * @property {number} envelopes of the upload in flight; 0 before the first attempt
 * @property {number} failures attempts that were not acknowledged
 * @property {number} notBefore of the next one, UTC seconds
 * @property {"" | "hopeless" | "foreign"} trouble
 *
 * @typedef {{kind: "campaign" | "lifetime" | "window", seconds: number, nanonats: bigint}} Cap seconds of a window; else 0
 * @typedef {{secret: CryptoKey, caps: Cap[], revision: number, campaigns: Map<string, Kept>}} State
 */

const DEVICE = "device";
const CAMPAIGNS = "campaigns";
/** The signed bytes, which never change and are long. */
const SIGNED = "signed";

/** @template T @param {IDBRequest<T>} request @returns {Promise<T>} */
const done = (request) =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

/** Why the browser refused, in words. @param {any} error */
function storeError(error) {
  if (error instanceof StoreError) return error;
  const full = error?.name === "QuotaExceededError";
  const gone = error?.name === "InvalidStateError";
  return new StoreError(
    full
      ? "there is no room left in this browser: nothing was charged and nothing left"
      : gone
        ? "the browser closed what this page keeps, perhaps because site data were cleared: open the page again"
        : `this browser does not let the page keep anything (${error?.name ?? error}): nothing was charged and nothing left`,
  );
}

/** @template T @param {() => Promise<T>} work @returns {Promise<T>} */
async function stored(work) {
  try {
    return await work();
  } catch (error) {
    throw storeError(error);
  }
}

/** @returns {Kept} nothing about a campaign yet */
const nothing = (/** @type {Uint8Array} */ id) => ({
  id,
  joined: null,
  consent: null,
  declared: null,
  closes: null,
  ledger: [],
  used: new Map(),
  readings: [],
  memo: new Map(),
  transcript: [],
  outbox: [],
  code: "",
  admitted: false,
  upload: { envelopes: 0, failures: 0, notBefore: 0, trouble: "" },
});

/** The database and the lock of one device. */
export class Store {
  /** @param {IDBDatabase} db */
  constructor(db) {
    this.db = db;
    db.onversionchange = () => db.close();
  }

  /**
   * Open what is kept under a name, made with a new secret where there is nothing.
   * @param {string} name
   * @param {(bytes: number) => Uint8Array} random
   * @returns {Promise<Store>}
   * @throws {Unsupported | StoreError}
   */
  static async open(name, random) {
    if (!globalThis.indexedDB || !globalThis.navigator?.locks)
      throw new Unsupported("this page can keep nothing here: open it by https, in a browser of today");
    const store = await stored(async () => {
      const opening = indexedDB.open(name, 1);
      opening.onupgradeneeded = () => {
        opening.result.createObjectStore(DEVICE);
        opening.result.createObjectStore(CAMPAIGNS);
        opening.result.createObjectStore(SIGNED);
      };
      return new Store(await done(opening));
    });
    await store.locked(async () => {
      if ((await store.read()).secret) return;
      const bytes = random(32);
      const secret = await importDeviceSecret(bytes);
      bytes.fill(0);
      await store.commit(0, (device) => device.put(secret, "secret"));
    });
    return store;
  }

  close() {
    this.db.close();
  }

  /** Run work while no other tab of this origin does. @template T @param {() => Promise<T>} work @returns {Promise<T>} */
  async locked(work) {
    return await navigator.locks.request(`halftruth ${this.db.name}`, work);
  }

  /** A copy of all that is kept, at one moment. @returns {Promise<State>} */
  read() {
    return stored(async () => {
      const reading = this.db.transaction([DEVICE, CAMPAIGNS]);
      const device = reading.objectStore(DEVICE);
      const found = await Promise.all([
        done(device.get("secret")),
        done(device.get("caps")),
        done(device.get("revision")),
        done(reading.objectStore(CAMPAIGNS).getAll()),
      ]);
      const [secret, caps = [], revision = 0, records] = found;
      const campaigns = new Map(records.map((/** @type {Kept} */ kept) => [hex(kept.id), kept]));
      return { secret, caps, revision, campaigns };
    });
  }

  /** The signed bytes of a campaign. @param {string} id @returns {Promise<Uint8Array | undefined>} */
  signed(id) {
    return stored(() => done(this.db.transaction(SIGNED).objectStore(SIGNED).get(id)));
  }

  /**
   * Change what is kept of one campaign: all of it or, where the work throws, nothing.
   * @template T
   * @param {Uint8Array} id
   * @param {(kept: Kept, state: State) => Promise<T>} work changes `kept`, and nothing else
   * @param {Uint8Array} [data] the signed bytes, to be kept beside it
   * @returns {Promise<T>} once it is on the disk
   * @throws {StoreError} nothing was changed
   */
  change(id, work, data) {
    return this.locked(async () => {
      const state = await this.read();
      const key = hex(id);
      const kept = state.campaigns.get(key) ?? nothing(id);
      state.campaigns.set(key, kept);
      const result = await work(kept, state);
      await this.commit(state.revision, (_, campaigns, signed) => {
        campaigns.put(kept, key);
        if (data) signed.put(data, key);
        else if (!kept.joined) signed.delete(key);
      });
      return result;
    });
  }

  /**
   * One transaction, on the disk when this returns; part of the lock's holder.
   * @param {number} revision that was read
   * @param {(device: IDBObjectStore, campaigns: IDBObjectStore, signed: IDBObjectStore) => void} write
   * @returns {Promise<void>}
   */
  commit(revision, write) {
    return stored(
      () =>
        new Promise((resolve, reject) => {
          const writing = this.db.transaction([DEVICE, CAMPAIGNS, SIGNED], "readwrite", { durability: "strict" });
          /** @type {any} */
          let fault = null;
          writing.oncomplete = () => resolve();
          writing.onabort = () => reject(fault ?? writing.error);
          const [device, campaigns, signed] = [DEVICE, CAMPAIGNS, SIGNED].map((name) => writing.objectStore(name));
          const known = device.get("revision");
          known.onsuccess = () => {
            try {
              if ((known.result ?? 0) !== revision)
                throw new StoreError("another tab changed what is kept at the same moment: try again");
              device.put(revision + 1, "revision");
              write(device, campaigns, signed);
            } catch (error) {
              fault = error;
              writing.abort();
            }
          };
        }),
    );
  }
}
