/**
 * The ledger: what was reserved, spent, released and carried.
 *
 *     committed = sum of reserve - sum of release
 *     spent     = sum of charge + sum of carry
 *
 * Entries are only ever added. Forgetting is the one exception: the charges of a forgotten campaign, whose times would
 * tell when an answer changed, become one `carry`, of what they would have been had every answer been another one.
 *
 * Whether something may be spent: caps.js. Levels are nanonats.
 */

/** @typedef {import("./store.js").State} State */
/** @typedef {import("./store.js").Kept} Kept */
/** @typedef {import("./store.js").Entry} Entry */

/** @param {Entry[]} entries @param {Entry["kind"]} kind */
const total = (entries, kind) => entries.reduce((sum, one) => (one.kind === kind ? sum + one.nanonats : sum), 0n);

/** What was spent or is reserved. @param {Kept} kept @returns {bigint} */
export const committed = ({ ledger }) => total(ledger, "reserve") - total(ledger, "release");

/** What was spent. @param {Kept} kept @returns {bigint} */
export const spent = ({ ledger }) => total(ledger, "charge") + total(ledger, "carry");

/** A sum over all campaigns. @param {State} state @param {(kept: Kept) => bigint} of */
export const overall = (state, of) => [...state.campaigns.values()].reduce((sum, kept) => sum + of(kept), 0n);

/** What forgotten campaigns had spent after a time. @param {State} state @param {number} time @returns {bigint} */
export const carriedAfter = (state, time) =>
  overall(state, ({ ledger }) => total(ledger.filter((entry) => entry.time > time), "carry"));

/**
 * Add an entry.
 * @param {State} state @param {Kept} kept @param {Entry["kind"]} kind @param {number} time @param {bigint} nanonats
 */
export function enter(state, kept, kind, time, nanonats) {
  if (nanonats) kept.ledger.push({ number: state.revision, time, kind, nanonats });
}

/**
 * Release what a campaign cannot have spent, and carry what it may have.
 * @param {State} state @param {Kept} kept @param {number} time of the latest answer, or later
 * @param {bigint} highest what its answers would have cost, had each been another one
 */
export function fold(state, kept, time, highest) {
  const charged = total(kept.ledger, "charge");
  const carried = highest > charged ? highest : charged;
  const unspent = committed(kept) - total(kept.ledger, "carry") - carried;
  kept.ledger = kept.ledger.filter(({ kind }) => kind !== "charge");
  enter(state, kept, "carry", time, carried);
  enter(state, kept, "release", time, unspent);
}
