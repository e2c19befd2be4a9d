/** Why nothing can be answered here, each reason in its own words, and what to do. */

import { BudgetRefused, ClosedEarly, OutboxFull, OutsideSchedule, SignatureRefused, StoreError, Uncertified, Unsupported, BadData } from "../errors.js";
import { button, el, p } from "./dom.js";
import { say } from "./say.js";

/** The link names another key than the author's. */
export class WrongLink extends BadData {}

const UNSPENT = "fault.same";

/** The most special first: class, title, what to do, and whether trying again may help. @type {[Function, string, string, boolean][]} */
const KNOWN = [
  [WrongLink, "fault.fingerprint", "fault.fingerprint_how", false],
  [SignatureRefused, "notice.signature.title", "fault.data", false],
  [Uncertified, "notice.certificate.title", "fault.data", false],
  [BadData, "notice.data.title", "fault.data", false],
  [ClosedEarly, "fault.early", UNSPENT, false],
  [OutsideSchedule, "fault.closed", UNSPENT, false],
  [BudgetRefused, "notice.budget.title", "notice.budget.body", false],
  [OutboxFull, "notice.full.title", "notice.full.body", true],
  [StoreError, "notice.store.title", "fault.store_how", true],
  [Unsupported, "fault.unsupported", "fault.unsupported_how", false],
];

/** @param {import("./main.js").Visit} visit @param {any} error */
export function trouble(visit, error) {
  const [, title, how, again] = KNOWN.find(([kind]) => error instanceof kind) ?? [null, "fault.unexpected", UNSPENT, true];
  const unspent = !visit.made; // a report that was made is charged and waits, whatever fails after it
  visit.show(say(title), [
    el(
      "div.card.alert",
      {},
      (how !== UNSPENT || unspent) && p(say(how)),
      unspent && how !== UNSPENT && how.startsWith("fault.") && p(say(UNSPENT)),
      el("p.small", { lang: "en" }, error.message),
    ),
    again && el("div.actions", {}, button(say("page.retry"), () => visit.start())),
  ]);
}
