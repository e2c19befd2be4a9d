/** The screen of an error: the reason and the remedy, with a text for each class of errors. */

import {
  AddressRefused,
  BadData,
  BudgetRefused,
  ClosedEarly,
  NotJoined,
  OutboxFull,
  OutsideSchedule,
  QuotaReached,
  SignatureRefused,
  StoreError,
  Uncertified,
  Unsupported,
} from "../errors.js";
import { button, detail, el, p } from "./dom.js";
import { say } from "./say.js";

/** The link names another key than that of the campaign's author. */
export class WrongLink extends BadData {}

/** The code in the link cannot be a code. */
export class WrongCode extends BadData {}

const UNSPENT = "fault.same";

/**
 * Class of the error, keys of the title and of the remedy, and whether a retry may help; subclasses before their bases.
 * Without a key of a remedy, the title says all.
 * @type {[Function, string, string, boolean][]}
 */
const KNOWN = [
  [WrongLink, "fault.fingerprint", "fault.fingerprint_how", false],
  [WrongCode, "fault.code", "fault.code_how", false],
  [SignatureRefused, "notice.signature.title", "fault.data", false],
  [Uncertified, "notice.certificate.title", "fault.data", false],
  [BadData, "notice.data.title", "fault.data", false],
  [AddressRefused, "notice.data.title", "fault.data", false],
  // Another tab has answered, or has forgotten the survey.
  [QuotaReached, "notice.quota.title", "", true],
  [NotJoined, "page.forgotten", "page.forgotten_how", true],
  [ClosedEarly, "fault.early", UNSPENT, false],
  [OutsideSchedule, "notice.schedule.title", "notice.schedule.body", false],
  [BudgetRefused, "notice.budget.title", "notice.budget.body", false],
  [OutboxFull, "notice.full.title", "notice.full.body", true],
  [StoreError, "notice.store.title", "fault.store_how", true],
  [Unsupported, "fault.unsupported", "fault.unsupported_how", false],
];

/**
 * Keys of remedies without the text that nothing was spent: these say so themselves, or another tab may have spent.
 */
const ALONE = ["", UNSPENT, "page.forgotten_how", "notice.budget.body", "notice.full.body"];

/** Show the screen of an error. @param {import("./main.js").Visit} visit @param {any} error */
export function trouble(visit, error) {
  const [, title, how, again] = KNOWN.find(([kind]) => error instanceof kind) ?? [null, "fault.unexpected", UNSPENT, true];
  // Even if a later step fails, a report that was made is charged and queued, and an upload that began may have arrived.
  const unspent = !visit.made;
  visit.show(say(title), [
    el(
      "div.card.alert",
      {},
      how && (how !== UNSPENT || unspent) && p(say(how)),
      unspent && !ALONE.includes(how) && p(say(UNSPENT)),
      error.message && detail(error.message),
    ),
    again && el("div.actions", {}, button(say("page.retry"), () => visit.start())),
  ]);
}
