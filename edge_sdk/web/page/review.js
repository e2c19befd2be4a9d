/** The screen before an answer is sent: its possible disclosure, its cost, every byte on request, and a send button. */

import { REPORT, decodeEnvelope } from "../envelope.js";
import { hex } from "../codec.js";
import { above, date, list, number, say } from "./say.js";
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
  const translated = (/** @type {string} */ label) => labelsOf(shown)[labelsOf(domain).indexOf(label)] ?? label;
  if (kind === "grid") return position(value, "answer.position");
  if (kind === "date") return date(value);
  if (kind === "items") return [value].flat().map(translated).join(", ") || say("review.empty");
  return low === undefined || labels.length ? translated(value) : `${number(value)} ${unit}`.trim();
}

/**
 * An answered value as text for a person; a coarsened value is named by the labels at its ends.
 * @param {string} label @param {any} campaign
 * @returns {string}
 */
export function labelText(label, campaign) {
  const { domain, shown, labels, texts } = campaign;
  if (domain.kind === "form") {
    const given = new Map(label.split("; ").map((part) => /** @type {[string, string]} */ (part.split(/=(.*)/, 2))));
    return questionsOf(campaign)
      .map((one) => {
        const value = given.get(one.name) ?? "";
        const skipped = value === "skipped" && !one.domain.labels?.includes(value);
        return `${one.text} ${spelled(skipped ? null : value, one.domain, one.shown)}`;
      })
      .join(" · ");
  }
  if (domain.kind === "items" && label.startsWith("(none ")) return say("history.none");
  if (!list("views").length) return spelled(label, domain, shown);
  return label.split(" .. ").map((one) => texts.labels[labels.indexOf(one)] ?? one).join(" .. ");
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
  const rounded = (kind === "number" || kind === "date") && !random && !list("views").length && found.label !== value;
  const counts = rounded && spelled(found.label, campaign.domain, campaign.shown);
  const [, coarse] = list("views")[campaign.view] ?? [];
  const group = coarse && say("review.group", { group: labelText(found.label, campaign) });
  const how = asked.length > 1 ? say("review.together") : group;
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
    reveals(say("review.chances"), how, found),
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
