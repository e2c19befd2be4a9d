/** How much work an audit may be, counted before it is done (SPEC 6.11). */

import { Uncertified } from "./errors.js";

/**
 * Refuse an audit that would take too long, or too much memory.
 * @param {number} steps @param {number} held
 * @throws {Uncertified}
 */
export function requireAffordable(steps, held) {
  if (steps > 2 ** 22) throw new Uncertified(`the audit would take ${steps} steps, and at most ${2 ** 22} are allowed`);
  if (held > 2 ** 19) throw new Uncertified(`the audit would hold ${held} numbers, and at most ${2 ** 19} are allowed`);
}
