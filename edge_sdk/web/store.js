/**
 * The store of a device in a browser: IndexedDB, with one writer at a time.
 *
 * A transaction of IndexedDB ends as soon as something else is awaited, and keys and signatures are promises. So a
 * change is first computed on a copy of the record, under a Web Lock that all tabs of this origin share. Then the whole
 * record is written in one transaction, which is on the disk before any result is returned. If the tab dies before
 * that, nothing has changed and nothing has left. If a browser breaks its own lock, the revision differs and nothing is
 * written.
 */

import { hex } from "./codec.js";
import { StoreError, Unsupported } from "./errors.js";
import { importDeviceSecret } from "./keys.js";

/**
 * The record of one campaign. Memo, readings and dither are the person's secrets.
 * @typedef {object} Kept
 * @property {Uint8Array} id
 * @property {Membership | null} joined null before the campaign is joined and after it is forgotten
 * @property {Consent | null} consent
 * @property {import("./notions/information.js").Declared | null} declared the declared prior and level, which are
 *   permanent
 * @property {number | null} closes the time in the earliest closing notice
 * @property {Entry[]} ledger
 * @property {Map<number, number>} used by period, the number of used slots: filled or skipped
 * @property {{period: number, slot: number, x: number}[]} readings the input in each slot of the latest period
 * @property {Map<number, MemoRow>} memo by input
 * @property {[number, number][]} transcript period and output of each report, in a campaign with transcripts
 * @property {Uint8Array[]} outbox waiting envelopes, in order
 * @property {string} code the code that admits the device; "" before one is entered, and after the study admitted it
 * @property {boolean} admitted true if the study has admitted the device by a code
 * @property {Upload} upload
 *
 * @typedef {{author: Uint8Array, address: string | null}} Membership `author`: the public key of the campaign's author;
 *   `address`: the study's address, if the signed campaign names none and one is known
 * @typedef {object} Consent
 * @property {number} time UTC seconds
 * @property {Uint8Array} dither
 * @property {number} [classIndex]
 * @property {import("./caps.js").Commitment} commitment the maximum cost
 * @property {bigint} choice nanonats charged for the random choice of the class or prior
 * @property {number} latest time of the latest answer; before the first answer, of the consent
 * @property {number} floor the time of the consent or, if later, the start of the period of the latest answer; if the
 *   clock is earlier now, it ran ahead before
 * @typedef {{number: number, time: number, kind: "reserve" | "charge" | "release" | "carry", nanonats: bigint}} Entry
 *   a row of the ledger; `number`: the revision of the store before the row was added
 * @typedef {{output: number | bigint, period: number, slot: number, times: number}} MemoRow the output
 *   drawn for one input, the period and the slot of its latest report, and the number of answers with this input
 * @typedef {object} Upload
 * @property {number} envelopes number of envelopes in the upload in flight; 0 before its first attempt
 * @property {number} failures attempts in a row after which an envelope was not accepted
 * @property {number} nextAttempt the earliest time of the next attempt, UTC seconds
 * @property {"" | "refused" | "unknown_campaign"} trouble
 *
 * @typedef {{kind: "campaign" | "lifetime" | "window", seconds: number, nanonats: bigint}} Cap `seconds`: the length
 *   of a window; 0 for the other kinds
 * @typedef {{secret: CryptoKey, caps: Cap[], revision: number, campaigns: Map<string, Kept>}} State
 */

const DEVICE = "device";
const CAMPAIGNS = "campaigns";
/** The signed bytes are in a separate table, because they are long and never change. */
const SIGNED = "signed";

/** The result of a request. @template T @param {IDBRequest<T>} request @returns {Promise<T>} */
const done = (request) =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

/** The StoreError for an error of the browser. @param {any} error */
function storeError(error) {
  if (error instanceof StoreError) return error;
  const full = error?.name === "QuotaExceededError";
  const gone = error?.name === "InvalidStateError";
  return new StoreError(
    full
      ? "this browser has no room left, so nothing was stored: delete other sites' data, and try again"
      : gone
        ? "the browser closed this page's store, perhaps because site data were deleted: open the page again"
        : `this browser does not let the page store anything (${error?.name ?? error}): allow site data for this page`,
  );
}

/**
 * Run work on the browser's database.
 * @template T @param {() => Promise<T>} work @returns {Promise<T>} @throws {StoreError} the browser refuses it
 */
async function translated(work) {
  try {
    return await work();
  } catch (error) {
    throw storeError(error);
  }
}

/** The record of a campaign before it is joined. @returns {Kept} */
const newRecord = (/** @type {Uint8Array} */ id) => ({
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
  upload: { envelopes: 0, failures: 0, nextAttempt: 0, trouble: "" },
});

/** The database and the lock of one device. */
export class Store {
  /** @param {IDBDatabase} db */
  constructor(db) {
    this.db = db;
    db.onversionchange = () => db.close();
  }

  /**
   * Open the store of this name; create it with a new secret if it is missing.
   * @param {string} name
   * @param {(bytes: number) => Uint8Array} random
   * @returns {Promise<Store>}
   * @throws {Unsupported | StoreError} as for `Device.open`
   */
  static async open(name, random) {
    if (!globalThis.indexedDB || !globalThis.navigator?.locks)
      throw new Unsupported(`this page has no ${globalThis.indexedDB ? "Web Locks" : "IndexedDB"}: open it by https, in a current browser`);
    const store = await translated(async () => {
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

  /** Close the database. */
  close() {
    this.db.close();
  }

  /**
   * Run work while no other tab of this origin holds the lock.
   * @template T @param {() => Promise<T>} work @returns {Promise<T>}
   */
  locked(work) {
    return /** @type {any} */ (navigator.locks.request(`halftruth ${this.db.name}`, work));
  }

  /** Read a consistent copy of the store. @returns {Promise<State>} */
  read() {
    return translated(async () => {
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

  /** The signed bytes of a campaign. @param {string} id in hexadecimal @returns {Promise<Uint8Array | undefined>} */
  signed(id) {
    return translated(() => done(this.db.transaction(SIGNED).objectStore(SIGNED).get(id)));
  }

  /**
   * Change the record of one campaign in one transaction; if the work throws, nothing is changed.
   * @template T
   * @param {Uint8Array} id
   * @param {(kept: Kept, state: State) => Promise<T>} work changes `kept`, and nothing else
   * @param {Uint8Array} [data] the campaign's signed bytes, to be stored as well
   * @returns {Promise<T>} once it is on the disk
   * @throws {StoreError} nothing was changed
   */
  change(id, work, data) {
    return this.locked(async () => {
      const state = await this.read();
      const key = hex(id);
      const kept = state.campaigns.get(key) ?? newRecord(id);
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
   * Write in one transaction, which is on the disk when the promise resolves. The caller holds the lock.
   * @param {number} revision the revision that the caller read
   * @param {(device: IDBObjectStore, campaigns: IDBObjectStore, signed: IDBObjectStore) => void} write
   * @returns {Promise<void>}
   */
  commit(revision, write) {
    return translated(
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
                throw new StoreError("another tab changed the store at the same moment: try again");
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
