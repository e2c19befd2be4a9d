/**
 * The ledger: what was reserved, spent, released and carried, and the caps that it is held against.
 *
 *     committed = sum of reserve - sum of release
 *     spent     = sum of charge + sum of carry
 *
 * Entries are only ever added. Forgetting is the one exception: the charges of a forgotten campaign, whose times would
 * tell when an answer changed, become one `carry`, of what they would have been had every answer been another one.
 *
 * The caps are compared with what a campaign could cost at worst, never with what it did cost, so whether a device answers
 * cannot depend on what it answered before. Levels are nanonats.
 */

import { BudgetRefused } from "./errors.js";

/** @typedef {import("./store.js").State} State */
/** @typedef {import("./store.js").Kept} Kept */
/** @typedef {import("./store.js").Entry} Entry */

const NANONATS = 10n ** 9n;

/** The lifetime cap where nobody named one, as of every device: 8 nats. */
export const DEFAULT_LIFETIME = 8n * NANONATS;

/** @param {Entry[]} entries @param {Entry["kind"]} kind */
const total = (entries, kind) => entries.reduce((sum, one) => (one.kind === kind ? sum + one.nanonats : sum), 0n);

/** What was spent or is reserved. @param {Kept} kept @returns {bigint} */
export const committed = ({ ledger }) => total(ledger, "reserve") - total(ledger, "release");

/** What was spent. @param {Kept} kept @returns {bigint} */
export const spent = ({ ledger }) => total(ledger, "charge") + total(ledger, "carry");

/** @param {State} state @param {(kept: Kept) => bigint} of */
const overall = (state, of) => [...state.campaigns.values()].reduce((sum, kept) => sum + of(kept), 0n);

/** @param {bigint} nanonats */
function written(nanonats) {
  const digits = String(nanonats % NANONATS).padStart(9, "0").replace(/0+$/, "");
  return `${nanonats / NANONATS}${digits && "."}${digits}`;
}

/** The caps in force, with what is held against each. @param {State} state @param {Kept} kept */
const inForce = (state, kept) => [
  { name: "the lifetime cap", cap: state.caps.lifetime ?? DEFAULT_LIFETIME, already: () => overall(state, committed) },
  ...(state.caps.campaign === undefined
    ? []
    : [{ name: "the campaign cap", cap: state.caps.campaign, already: () => committed(kept) }]),
];

/**
 * Add an entry.
 * @param {State} state @param {Kept} kept @param {Entry["kind"]} kind @param {number} time @param {bigint} nanonats
 */
export function enter(state, kept, kind, time, nanonats) {
  if (nanonats) kept.ledger.push({ number: state.revision, time, kind, nanonats });
}

/**
 * Refuse what does not fit under every cap, beside all that is committed.
 * @param {State} state @param {Kept} kept the campaign @param {bigint} worst what it can cost
 * @throws {BudgetRefused}
 */
export function requireRoom(state, kept, worst) {
  for (const { name, cap, already } of inForce(state, kept)) {
    const left = cap - already();
    if (worst > left)
      throw new BudgetRefused(
        `the campaign may cost ${written(worst)} nats at worst, and ${name} leaves ${written(left > 0n ? left : 0n)} of ` +
          `${written(cap)}: forget a campaign, or refuse this one`,
      );
  }
}

/**
 * Refuse where a cap was lowered below what is committed. Looks at consents and never at answers.
 * @param {State} state @param {Kept} kept
 * @throws {BudgetRefused}
 */
export function requireKept(state, kept) {
  for (const { name, cap, already } of inForce(state, kept))
    if (already() > cap)
      throw new BudgetRefused(
        `${name} was lowered to ${written(cap)} nats, and ${written(already())} are spent or reserved: forget a campaign`,
      );
}

/**
 * Release what a campaign cannot have spent, and carry what it may have.
 * @param {State} state @param {Kept} kept @param {number} time of the latest answer, or later
 * @param {bigint} told what its answers would have cost, had each been another one
 */
export function fold(state, kept, time, told) {
  const charged = total(kept.ledger, "charge");
  const carried = told > charged ? told : charged;
  const unspent = committed(kept) - total(kept.ledger, "carry") - carried;
  kept.ledger = kept.ledger.filter(({ kind }) => kind !== "charge");
  enter(state, kept, "carry", time, carried);
  enter(state, kept, "release", time, unspent);
}

/**
 * Tighten the caps: of two, the lower one holds.
 * @param {import("./store.js").Caps} caps @param {import("./store.js").Caps} asked
 */
export function tighten(caps, asked) {
  for (const name of /** @type {const} */ (["lifetime", "campaign"])) {
    const cap = asked[name];
    if (cap === undefined) continue;
    if (typeof cap !== "bigint" || cap < 0n) throw new RangeError("a cap is a bigint of nanonats, not negative");
    const known = caps[name] ?? cap;
    caps[name] = known < cap ? known : cap;
  }
}

/**
 * The caps, what was spent, and what is reserved for answers that were agreed to.
 * @param {State} state
 * @returns {{lifetime: bigint, campaign: bigint | null, spent: bigint, reserved: bigint, remaining: bigint}} nanonats
 */
export function budget(state) {
  const lifetime = state.caps.lifetime ?? DEFAULT_LIFETIME;
  const [used, all] = [overall(state, spent), overall(state, committed)];
  const remaining = lifetime > all ? lifetime - all : 0n;
  return { lifetime, campaign: state.caps.campaign ?? null, spent: used, reserved: all - used, remaining };
}
