/** The screen before an answer is sent: its possible disclosure, its cost, every byte on request, and a send button. */

import { REPORT, decodeEnvelope } from "../envelope.js";
import { hex } from "../codec.js";
import { above, date, number, say } from "./say.js";
import { announce, button, card, el, p } from "./dom.js";
import { labelsOf } from "./choices.js";
import { position } from "./map.js";
import { questionsOf } from "./question.js";
import { reveals } from "./reveals.js";

/**
 * An answer as text for a person.
 * @param {any} value in a form that Device.answer accepts @param {any} domain
 * @param {any} shown the domain in the person's language
 * @returns {string}
 */
export function spelled(value, domain, shown) {
  if (value === null) return say("answer.skipped");
  const { kind, low, labels = [], unit = "" } = shown;
  const named = (/** @type {string} */ label) => labelsOf(shown)[labelsOf(domain).indexOf(label)] ?? label;
  if (kind === "grid") return position(value, "answer.position");
  if (kind === "date") return date(value);
  if (kind === "items") return [value].flat().map(named).join(", ") || say("review.empty");
  return low === undefined || labels.length ? named(value) : `${number(value)} ${unit}`.trim();
}

/**
 * Show the screen before an answer is sent.
 * @param {import("./main.js").Visit} visit @param {any} value in a form that Device.answer accepts
 * @param {{[name: string]: any}} answers the same, by question
 */
export async function review(visit, value, answers) {
  const { device, id } = visit;
  const [campaign, found, preview] = [await visit.terms(), await device.reveals(id, value), await device.preview(id, value)];
  const asked = questionsOf(campaign);
  const { kind, random } = campaign.domain;
  // A number or day between two inputs counts as one of them. The page shows this input, unless it is chosen at random.
  const rounded = (kind === "number" || kind === "date") && !random && campaign.views === 1 && found.label !== value;
  const counts = rounded && spelled(found.label, campaign.domain, campaign.shown);
  const bytes = el("div");
  const send = button(say("review.send"), () => visit.do(() => visit.send(value)));
  const price = p(preview.cost ? say("review.costs", { cost: above(preview.cost) }) : say("review.free"));
  const change = button(say("review.change"), () => visit.do(() => visit.question(0, answers)), "plain");
  const make = button(say("page.show"), () => visit.do(async () => {
    const { cost } = await visit.make(value);
    if (cost) price.textContent = say("review.cost_now", { cost: above(cost) });
    change.remove();
    const [title, ...parts] = await envelopeBytes(visit);
    bytes.replaceChildren(el("h2", {}, title), ...parts);
    announce(title);
  }), "plain");
  bytes.append(make, p(say("page.show_how"), "small"));
  visit.show(say("review.title"), [
    el(
      "div.card",
      {},
      asked.map(({ name, text, domain, shown }) => [
        p(asked.length > 1 ? text : say("review.answer"), "small"),
        el("p.asked", {}, spelled(answers[name], domain, shown)),
      ]).flat(),
      counts && counts !== spelled(value, campaign.domain, campaign.shown) && p(kind === "date" ? say("day.counts", { day: counts }) : say("number.counts", { number: counts })),
      p(say(asked.length > 1 ? "review.stay" : "review.stays"), "small"),
    ),
    reveals(say("review.chances"), asked.length > 1 ? say("review.together") : "", found),
    card(say("review.price"), price),
    el("div.card", {}, bytes),
    el("div.stay", {}, send),
    change,
  ]);
}

/**
 * The title of the waiting envelopes, and the elements that show their bytes.
 * @param {import("./main.js").Visit} visit @returns {Promise<[string, ...HTMLElement[]]>}
 */
export async function envelopeBytes(visit) {
  const waiting = await visit.device.waiting(visit.id);
  const count = waiting.reduce((total, { length }) => total + length, 0);
  return [
    say("review.bytes", { count }),
    ...waiting.flatMap((one) => [
      p(say(decodeEnvelope(one).kind === REPORT ? "review.report" : "review.enrolment", { count: one.length })),
      el("p.code", {}, hex(one).replace(/../g, "$& ")),
    ]),
  ];
}
