/** The screen after an attempt to send. Only accepted envelopes are called sent; the others are sent again, unless the study refused them. */

import { concat } from "../codec.js";
import { above, below, clock, day, say } from "./say.js";
import { button, card, detail, el, more, p } from "./dom.js";
import { envelopeBytes } from "./review.js";

/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;

/** Cancel the waiting work, because another screen is shown. */
export const stop = () => clearTimeout(timer);

/** Schedule work for a time, at most 24 hours ahead; `stop` cancels it. @param {number} time UTC seconds @param {() => any} work */
export function at(time, work) {
  timer = setTimeout(work, Math.min(Math.max(1, time - Date.now() / 1000 + 1), 86_400) * 1000);
}

/** Send the waiting envelopes, and show the result. @param {import("./main.js").Visit} visit */
export async function sending(visit) {
  const { device, id } = visit;
  /** @type {(import("../upload.js").Attempt | undefined)[]} */
  const attempts = navigator.onLine ? await device.send(id) : [];
  const last = attempts.at(-1);
  const campaign = await visit.terms();
  const budget = await device.budget();
  const spent = [
    p(say("gauge.spent", { nats: above(budget.spent) })),
    p(say("gauge.remaining", { nats: below(budget.remaining), cap: below(budget.lifetime) })),
  ];
  const count = (await device.waiting(id)).length;
  if (!count) {
    return visit.show(say("page.done"), [
      el("div.card.good", {}, campaign.nextPeriod !== null && !campaign.left && p(say("page.again", { day: day(campaign.nextPeriod) })), spent),
      campaign.enrolled && !campaign.coded && (await enrolment(visit)),
      campaign.left > 0 && el("div.actions", {}, button(say("terms.answer"), () => visit.do(() => visit.question()))),
    ]);
  }
  const refused = last?.outcome === "refused";
  const again = last?.nextAttempt ?? 0;
  const final = refused || !campaign.addresses.length;
  const retry = () => visit.do(() => sending(visit));
  const [title, ...bytes] = await envelopeBytes(visit);
  visit.show(say("page.waits"), [
    el(
      "div.card.alert",
      {},
      waiting(campaign, refused, again, count),
      !navigator.onLine && !final && p(say("page.offline")),
      !final && p(say("page.stay", { send: say("review.send") })),
      refused && campaign.coded && p(say("outbox.code")),
      last?.reason && detail(last.reason),
    ),
    card("", ...spent),
    await file(visit),
    more(title, el("div", {}, ...bytes)),
    !final && again < Date.now() / 1000 && el("div.actions", {}, button(say("page.retry"), retry)),
  ]);
  if (final) return;
  if (navigator.onLine) at(again, retry);
  addEventListener("online", retry, { once: true, signal: visit.leave.signal });
}

/**
 * The texts on waiting envelopes: their state, and the time of the next attempt.
 * @param {any} campaign @param {boolean} refused @param {number} again UTC seconds; 0 for none @param {number} count
 */
export const waiting = ({ addresses }, refused, again, count) => [
  p(addresses.length ? say(refused ? "delivered.refused" : "delivered.waits", { count }) : say("terms.nowhere")),
  again > 0 && !refused && p(say("delivered.again", { day: day(again), clock: clock(again) })),
];

/** Create a link that saves bytes as a file. @param {string} words @param {string} name @param {Uint8Array[]} parts */
const download = (words, name, parts) =>
  el("a.button.plain", { href: URL.createObjectURL(new Blob([concat(...parts)])), download: name }, words);

/**
 * The card that saves the waiting envelopes as a file, to be handed to the organisation.
 * @param {import("./main.js").Visit} visit
 */
export async function file(visit) {
  const { organisation } = (await visit.terms()).texts;
  const link = download(say("page.save"), "report.htr", await visit.device.waiting(visit.id));
  return card("", link, p(say("page.save_how", { organisation }), "small"));
}

/** The card that saves the enrolment, in a campaign for enrolled devices. @param {import("./main.js").Visit} visit */
export async function enrolment(visit) {
  const { organisation } = (await visit.terms()).texts;
  const link = download(say("page.enrolment"), "device.enrolment", [await visit.device.enrolment(visit.id)]);
  return card("", link, p(say("page.enrolment_how", { organisation }), "small"));
}
