/**
 * The caps of the device's owner, and the check that a campaign fits under them.
 *
 * The caps are compared with what a campaign could cost at worst, never with what it did cost, so whether a device answers
 * cannot depend on what it answered before. Levels are nanonats. What was spent: ledger.js. How a cap comes: tighten.js.
 */

import { BudgetRefused } from "./errors.js";
import { carriedAfter, committed, overall, spent } from "./ledger.js";

/** @typedef {import("./store.js").State} State */
/** @typedef {import("./store.js").Kept} Kept */
/** @typedef {import("./store.js").Cap} Cap */
/** @typedef {{seconds: number, nanonats: bigint}} Span any stretch of so many seconds */

/**
 * What a campaign can cost, from its terms.
 * @typedef {object} Commitment
 * @property {bigint} charge of one fresh draw, nanonats
 * @property {bigint} draws the most fresh draws
 * @property {number} answersPerPeriod
 * @property {number} periodSeconds
 * @property {number} periods
 */

const NANONATS = 10n ** 9n;

/** The lifetime cap where nobody named one, as of every device: 8 nats. */
export const DEFAULT_LIFETIME = 8n * NANONATS;

/** A single draw. @param {bigint} charge @returns {Commitment} */
const once = (charge) => ({ charge, draws: 1n, answersPerPeriod: 1, periodSeconds: 1, periods: 1 });

/** What so many answers cost if all differ. @param {Commitment} commitment @param {number} answers @returns {bigint} */
export const costOf = ({ charge, draws }, answers) => charge * (BigInt(answers) < draws ? BigInt(answers) : draws);

/** What all draws cost that a campaign can ask for. @param {Commitment} commitment @returns {bigint} */
export const worstCase = (commitment) => costOf(commitment, commitment.periods * commitment.answersPerPeriod);

/**
 * The most that is spent within any stretch of so many seconds: it touches at most (seconds - 2) / period + 2 periods.
 * @param {Commitment} commitment @param {number} seconds @returns {bigint}
 */
export function worstWithin(commitment, seconds) {
  const touched = Math.min(Math.floor((seconds - 2) / commitment.periodSeconds) + 2, commitment.periods);
  return costOf(commitment, touched * commitment.answersPerPeriod);
}

/** @param {bigint} nanonats */
function written(nanonats) {
  const digits = String(nanonats % NANONATS).padStart(9, "0").replace(/0+$/, "");
  return `${nanonats / NANONATS}${digits && "."}${digits}`;
}

/** @param {Cap} cap */
const named = ({ kind, seconds }) => `the ${kind} cap${seconds ? ` of ${seconds} seconds` : ""}`;

/** @param {Cap[]} caps with the lifetime cap @returns {Cap[]} */
const inForce = (caps) =>
  caps.some(({ kind }) => kind === "lifetime") ? caps : [{ kind: "lifetime", seconds: 0, nanonats: DEFAULT_LIFETIME }, ...caps];

/** What was agreed to; the choice of a class or prior is one draw. @param {State} state @returns {Commitment[]} */
const consented = ({ campaigns }) =>
  [...campaigns.values()].flatMap(({ consent }) =>
    consent ? [consent.commitment, ...(consent.choice ? [once(consent.choice)] : [])] : [],
  );

/** @param {Commitment[]} agreed @param {number} seconds */
const within = (agreed, seconds) => agreed.reduce((sum, one) => sum + worstWithin(one, seconds), 0n);

/**
 * What counts against a cap; of a window, what was agreed to can cost within it.
 * @param {State} state @param {Kept} kept @param {Cap} cap @param {Commitment[]} agreed
 */
const heldAgainst = (state, kept, { kind, seconds }, agreed) =>
  kind === "window" ? within(agreed, seconds) : kind === "campaign" ? committed(kept) : overall(state, committed);

/** @param {Cap} cap @param {bigint} already @param {bigint} wanted @throws {BudgetRefused} */
function requireUnder(cap, already, wanted) {
  const left = cap.nanonats - already;
  if (wanted > left)
    throw new BudgetRefused(
      `the campaign may cost ${written(wanted)} nats at worst, and ${named(cap)} leaves ` +
        `${written(left > 0n ? left : 0n)} of ${written(cap.nanonats)}: forget a campaign, or refuse this one`,
    );
}

/**
 * Refuse what does not fit under every cap, beside all that is committed.
 *
 * What forgotten campaigns spent counts in a window as if it had been spent when they were forgotten, which errs towards
 * privacy. A draw is never made before its consent, so what was spent a whole window before it shares no window with it.
 * @param {State} state @param {Kept} kept the campaign @param {Commitment[]} asked what it can cost, in each of its views
 * @param {number} now @param {bigint} [choice] what the choice of a class or prior costs beside it
 * @throws {BudgetRefused}
 */
export function requireRoom(state, kept, asked, now, choice = 0n) {
  const agreed = [...consented(state), once(choice)];
  const held = inForce(state.caps).map(
    (cap) => heldAgainst(state, kept, cap, agreed) + (cap.kind === "window" ? carriedAfter(state, now - cap.seconds) : choice),
  );
  for (const one of asked)
    for (const [i, cap] of inForce(state.caps).entries())
      requireUnder(cap, held[i], cap.kind === "window" ? worstWithin(one, cap.seconds) : worstCase(one));
}

/**
 * Refuse where the worst case of all that was agreed to breaks a window's cap from now on, beside what forgotten campaigns
 * spent and what answers of later dates may have cost.
 * @param {State} state @param {number} now @param {bigint} ahead
 * @throws {BudgetRefused}
 */
export function requireWindows(state, now, ahead) {
  for (const cap of state.caps)
    if (cap.kind === "window")
      requireUnder(cap, carriedAfter(state, now - cap.seconds) + within(consented(state), cap.seconds), ahead);
}

/**
 * Refuse where a cap was lowered below what is committed. Looks at consents and never at answers.
 * @param {State} state @param {Kept} kept
 * @throws {BudgetRefused}
 */
export function requireKept(state, kept) {
  for (const cap of inForce(state.caps)) {
    const { nanonats } = cap;
    const held = heldAgainst(state, kept, cap, consented(state));
    if (held > nanonats)
      throw new BudgetRefused(
        `${named(cap)} was lowered to ${written(nanonats)} nats, and ${written(held)} are spent or reserved: forget a campaign`,
      );
  }
}

/**
 * The caps in force, what was spent, and what is reserved for answers that were agreed to.
 * @param {State} state
 * @returns {{caps: Cap[], lifetime: bigint, spent: bigint, reserved: bigint, remaining: bigint}} nanonats
 */
export function budget(state) {
  const caps = inForce(state.caps);
  const lifetime = caps.find(({ kind }) => kind === "lifetime")?.nanonats ?? 0n;
  const [used, all] = [overall(state, spent), overall(state, committed)];
  return { caps, lifetime, spent: used, reserved: all - used, remaining: lifetime > all ? lifetime - all : 0n };
}
