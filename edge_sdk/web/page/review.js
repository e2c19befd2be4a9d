/** The screen before an answer is sent: its possible disclosure, its cost, every byte on request, and a send button. */

import { REPORT, decodeEnvelope } from "../envelope.js";
import { hex } from "../codec.js";
import { rational } from "../exact.js";
import { above, date, list, number, say } from "./say.js";
import { announce, button, card, el, p } from "./dom.js";
import { labelsOf } from "./choices.js";
import { position } from "./map.js";
import { questionsOf } from "./question.js";
import { reveals } from "./reveals.js";

/**
 * The text that names the input of an answer, by the kind of the domain.
 * @type {{[kind: string]: string}}
 */
const COUNTS = { number: "number.counts", buckets: "number.counts", date: "day.counts", items: "review.picked" };

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

/** True if both are the same number, such as 7.0 and 7. @param {any} one @param {any} other */
function sameNumber(one, other) {
  const [a, b] = [rational(one), rational(other)];
  return a && b && a.n * b.d === b.n * a.d;
}

/**
 * The label of the input of each asked question, by the names of the questions; null for a skipped one.
 * @param {string} label of an input @param {any} campaign
 * @returns {{[name: string]: string | null}}
 */
function inputsOf(label, campaign) {
  if (campaign.domain.kind !== "form") return { "": label };
  const given = new Map(label.split("; ").map((part) => /** @type {[string, string]} */ (part.split(/=(.*)/, 2))));
  return Object.fromEntries(
    questionsOf(campaign).map(({ name, domain }) => {
      const value = given.get(name) ?? "";
      return [name, value === "skipped" && !domain.labels?.includes(value) ? null : value];
    }),
  );
}

/**
 * An answered value as text for a person; a coarsened value is named by the labels at its ends.
 * @param {string} label @param {any} campaign
 * @returns {string}
 */
export function labelText(label, campaign) {
  const { domain, shown, labels, texts } = campaign;
  if (domain.kind === "form") {
    const inputs = inputsOf(label, campaign);
    return questionsOf(campaign).map(({ name, text, domain, shown }) => `${text} ${spelled(inputs[name], domain, shown)}`).join(" · ");
  }
  if (domain.kind === "items" && label.startsWith("(none ")) return say("history.none");
  if (!list("views").length) return spelled(label, domain, shown);
  const end = (/** @type {string} */ one) => {
    const place = labels.indexOf(one);
    // A district without a name has a number in place of it.
    return place < 0 && !one.startsWith("district ") ? spelled(one, domain, shown) : (texts.labels[place] ?? one);
  };
  return label.split(" .. ").map(end).join(" .. ");
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
  const inputs = inputsOf(found.label, campaign);
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
      asked.flatMap(({ name, text, domain, shown }) => {
        const answer = spelled(answers[name], domain, shown);
        // Only the question of a form has a name.
        const input = name ? spelled(inputs[name], domain, shown) : labelText(found.label, campaign);
        // A number or day between two inputs counts as one of them, and a set as one item.
        const counts = !coarse && input !== answer && !sameNumber(answers[name], inputs[name]) && COUNTS[domain.kind];
        return [
          p(asked.length > 1 ? text : say("review.answer"), "small"),
          el("p.asked", {}, answer),
          counts && p(say(counts, { number: input, day: input, item: input })),
        ];
      }),
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
