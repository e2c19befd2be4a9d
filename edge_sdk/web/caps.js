/**
 * The caps of the device's owner, and the check that a campaign fits under them.
 *
 * The caps are compared with a campaign's worst case, never with its actual cost. So whether a device answers cannot
 * depend on its earlier answers. Levels are nanonats. ledger.js records the spending, and lowering.js sets caps.
 */

import { BudgetRefused } from "./errors.js";
import { inNats, total } from "./exact.js";
import { carriedAfter, committed, overall, spent } from "./ledger.js";

/** @typedef {import("./store.js").State} State */
/** @typedef {import("./store.js").Kept} Kept */
/** @typedef {import("./store.js").Cap} Cap */
/** @typedef {{seconds: number, nanonats: bigint}} WindowCap a cap for any interval of this length */

/**
 * The cost of a campaign, computed from its terms.
 * @typedef {object} Commitment
 * @property {bigint} cost nanonats of one fresh output
 * @property {bigint} draws maximum number of fresh outputs
 * @property {number} answersPerPeriod
 * @property {number} periodSeconds
 * @property {number} periods
 */

/** The lifetime cap of a device until its owner sets another: 8 nats. */
const DEFAULT_LIFETIME = 8n * 10n ** 9n;

/** The remedy if unused slots hold too much. */
const FORGET = "forget a campaign to release its reserve for unused slots";

/** The commitment of a single draw. @param {bigint} cost @returns {Commitment} */
const once = (cost) => ({ cost, draws: 1n, answersPerPeriod: 1, periodSeconds: 1, periods: 1 });

/**
 * The maximum cost of a number of answers: each is charged, up to the maximum number of fresh outputs.
 * @param {Commitment} commitment @param {number} answers
 * @returns {bigint}
 */
export const costOf = ({ cost, draws }, answers) => cost * (BigInt(answers) < draws ? BigInt(answers) : draws);

/**
 * The worst case: the maximum cost of all answers of a campaign.
 * @param {Commitment} commitment
 * @returns {bigint}
 */
export const worstCase = (commitment) => costOf(commitment, commitment.periods * commitment.answersPerPeriod);

/**
 * The worst case within any interval of this length, which touches at most floor((seconds - 2) / period) + 2 periods.
 * @param {Commitment} commitment @param {number} seconds @returns {bigint}
 */
function worstWithin(commitment, seconds) {
  const touched = Math.min(Math.floor((seconds - 2) / commitment.periodSeconds) + 2, commitment.periods);
  return costOf(commitment, touched * commitment.answersPerPeriod);
}

/** The name of a cap in error messages. @param {Cap} cap */
const nameOf = ({ kind, seconds }) => `the ${kind} cap${seconds ? ` of ${seconds} s` : ""}`;

/** The caps; the default lifetime cap is added if none is set. @param {Cap[]} caps @returns {Cap[]} */
const inForce = (caps) =>
  caps.some(({ kind }) => kind === "lifetime") ? caps : [{ kind: "lifetime", seconds: 0, nanonats: DEFAULT_LIFETIME }, ...caps];

/**
 * The commitment of each consent; the choice of a class or prior counts as one draw.
 * @param {State} state
 * @returns {Commitment[]}
 */
const consented = ({ campaigns }) =>
  [...campaigns.values()].flatMap(({ consent }) =>
    consent ? [consent.commitment, ...(consent.choice ? [once(consent.choice)] : [])] : [],
  );

/** All commitments' worst case within any interval of a length. @param {Commitment[]} agreed @param {number} seconds */
const within = (agreed, seconds) => total(agreed.map((one) => worstWithin(one, seconds)));

/**
 * The amount that counts against a cap; for a window, the worst case of all commitments within it.
 * @param {State} state @param {Kept} kept @param {Cap} cap @param {Commitment[]} agreed
 */
const heldAgainst = (state, kept, { kind, seconds }, agreed) =>
  kind === "window" ? within(agreed, seconds) : kind === "campaign" ? committed(kept) : overall(state, committed);

/**
 * Refuse an amount that the cap leaves no room for.
 * @param {Cap} cap @param {bigint} held @param {bigint} wanted @param {string} may begins the message
 * @param {string} remedy ends it
 * @throws {BudgetRefused} their sum is above the cap
 */
function requireUnder(cap, held, wanted, may, remedy) {
  const left = cap.nanonats - held;
  if (left < wanted)
    throw new BudgetRefused(
      `${may} ${inNats(wanted)}, but ${nameOf(cap)} leaves ` +
        `${inNats(left > 0n ? left : 0n)} of ${inNats(cap.nanonats)} (nats: see docs/GLOSSARY.md): ${remedy}`,
    );
}

/**
 * Refuse a campaign that does not fit under every cap, in addition to all commitments.
 *
 * In a window, the spending of forgotten campaigns counts as if all of it had happened when they were forgotten, so a
 * window never counts too little. A draw is never made before its consent. So a window that contains
 * a draw of this campaign contains no spending from before (consent - length of the window).
 * @param {State} state @param {Kept} kept the campaign @param {Commitment[]} asked its commitment in each of its views
 * @param {number} now @param {bigint} [choice] additional cost of the choice of a class or prior
 * @throws {BudgetRefused} a cap would be exceeded
 */
export function requireRoom(state, kept, asked, now, choice = 0n) {
  const agreed = consented(state);
  const caps = inForce(state.caps).map((cap) => ({
    cap,
    held: heldAgainst(state, kept, cap, agreed) + choice + (cap.kind === "window" ? carriedAfter(state, now - cap.seconds) : 0n),
  }));
  for (const one of asked)
    for (const { cap, held } of caps) {
      const window = cap.kind === "window";
      const most = window ? worstWithin(one, cap.seconds) : worstCase(one);
      // A campaign that may cost more than the whole cap never fits. Under a campaign's own cap, forgetting releases
      // nothing: the campaign has no reserve before its consent. Without consents, nothing is reserved.
      const never = cap.kind === "campaign" || most > cap.nanonats || !(agreed.length || window);
      const remedy = never ? "do not take part" : agreed.length ? FORGET : "wait until earlier spending no longer counts in the window";
      requireUnder(cap, held, most, "the campaign may cost up to", remedy);
    }
}

/**
 * Refuse if a window's cap could be broken from `now` on by the worst case of all consents, the spending of forgotten
 * campaigns, and `later`.
 * @param {State} state @param {number} now @param {bigint} later nanonats that answers with later dates may have cost
 * @throws {BudgetRefused} a window's cap could be broken
 */
export function requireWindows(state, now, later) {
  for (const cap of state.caps)
    if (cap.kind === "window")
      requireUnder(cap, carriedAfter(state, now - cap.seconds) + within(consented(state), cap.seconds), later, "answers with later dates may have cost", "wait, or forget a campaign");
}

/**
 * Refuse an answer if a cap was lowered below the amount that counts against it (see `heldAgainst`). The check uses
 * consents and never answers.
 * @param {State} state @param {Kept} kept
 * @throws {BudgetRefused} a cap is below this amount
 */
export function requireKept(state, kept) {
  for (const cap of inForce(state.caps)) {
    const held = heldAgainst(state, kept, cap, consented(state));
    if (held > cap.nanonats)
      throw new BudgetRefused(
        `${nameOf(cap)} was lowered to ${inNats(cap.nanonats)}, below the ${inNats(held)} counted against it (nats: see docs/GLOSSARY.md): ${FORGET}`,
      );
  }
}

/**
 * The caps in force, and the amounts spent, reserved and remaining.
 * @param {State} state
 * @returns {{caps: Cap[], lifetime: bigint, spent: bigint, reserved: bigint, remaining: bigint}} nanonats
 */
export function budget(state) {
  const caps = inForce(state.caps);
  const lifetime = caps.find(({ kind }) => kind === "lifetime")?.nanonats ?? 0n;
  const used = overall(state, spent);
  const held = overall(state, committed);
  return { caps, lifetime, spent: used, reserved: held - used, remaining: lifetime > held ? lifetime - held : 0n };
}
