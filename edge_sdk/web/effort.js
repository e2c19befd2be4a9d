/** The limits of an audit's work, which is counted before it is done (SPEC 6.11). */

import { Uncertified } from "./errors.js";

/** The limits of one audit: steps, and numbers held in memory at once. */
const [MAX_STEPS, MAX_HELD] = [2 ** 22, 2 ** 19];

/** The largest amount that the text of a refusal states. */
const MAX_SHOWN = 1e15;

/** True if an audit is within the limits. @param {number} steps @param {number} numbersHeld @returns {boolean} */
export const affordable = (steps, numbersHeld) => steps <= MAX_STEPS && numbersHeld <= MAX_HELD;

/**
 * Refuse an audit that is too large.
 * @param {number} steps @param {number} numbersHeld
 * @throws {Uncertified} too many steps, or too much memory
 */
export function requireAffordable(steps, numbersHeld) {
  if (affordable(steps, numbersHeld)) return;
  const amount = (/** @type {number} */ number) => (number > MAX_SHOWN ? `more than ${MAX_SHOWN}` : number);
  const [what, most] =
    steps > MAX_STEPS ? [`take ${amount(steps)} steps`, MAX_STEPS] : [`hold ${amount(numbersHeld)} numbers in memory`, MAX_HELD];
  throw new Uncertified(`the audit of this campaign would ${what}, and at most ${most} are allowed: choose a mechanism with fewer outputs, or ask about fewer values`);
}
