/**
 * The ledger: the entries of the amounts that a campaign reserves, charges, releases and carries.
 *
 *     committed = sum of reserve - sum of release
 *     spent     = sum of charge + sum of carry
 *
 * Entries are added and not changed, except that forgetting replaces a campaign's charges by one `carry` entry, because
 * their times show when an answer changed. This entry has the cost that the campaign's answers have if all of them
 * differ.
 *
 * caps.js compares the sums with the caps. Levels are nanonats.
 */

/** @typedef {import("./store.js").State} State */
/** @typedef {import("./store.js").Kept} Kept */
/** @typedef {import("./store.js").Entry} Entry */

/** The sum of the entries of one kind. @param {Entry[]} entries @param {Entry["kind"]} kind */
const total = (entries, kind) => entries.reduce((sum, one) => (one.kind === kind ? sum + one.nanonats : sum), 0n);

/** The nanonats spent or reserved by a campaign. @param {Kept} kept @returns {bigint} */
export const committed = ({ ledger }) => total(ledger, "reserve") - total(ledger, "release");

/** The nanonats charged or carried by a campaign. @param {Kept} kept @returns {bigint} */
export const spent = ({ ledger }) => total(ledger, "charge") + total(ledger, "carry");

/** The sum of an amount over all campaigns. @param {State} state @param {(kept: Kept) => bigint} of */
export const overall = (state, of) => [...state.campaigns.values()].reduce((sum, kept) => sum + of(kept), 0n);

/**
 * The nanonats that forgotten campaigns carried after a time.
 * @param {State} state @param {number} time
 * @returns {bigint}
 */
export const carriedAfter = (state, time) =>
  overall(state, ({ ledger }) => total(ledger.filter((entry) => entry.time > time), "carry"));

/**
 * Add an entry, unless it is of zero nanonats.
 * @param {State} state @param {Kept} kept @param {Entry["kind"]} kind @param {number} time @param {bigint} nanonats
 */
export function enter(state, kept, kind, time, nanonats) {
  if (nanonats) kept.ledger.push({ number: state.revision, time, kind, nanonats });
}

/**
 * Replace a campaign's charges by one carry entry, and release the rest of its reserve.
 * @param {State} state @param {Kept} kept @param {number} time of the latest answer, or later
 * @param {bigint} highest the cost of its answers if all were different; at least this much is carried, so that the
 *   remaining budget does not reveal the number of different values
 */
export function fold(state, kept, time, highest) {
  const charged = total(kept.ledger, "charge");
  const carried = highest > charged ? highest : charged;
  const unspent = committed(kept) - total(kept.ledger, "carry") - carried;
  kept.ledger = kept.ledger.filter(({ kind }) => kind !== "charge");
  enter(state, kept, "carry", time, carried);
  enter(state, kept, "release", time, unspent);
}
