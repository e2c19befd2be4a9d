/** The questions, one a page, in the form that suits what can be answered. The answers stay in this page until they are sent. */

import { button, el, p } from "./dom.js";
import { field } from "./choices.js";
import { say } from "./say.js";

/**
 * What this device is asked, each with its domain, and the same in the person's language.
 * @param {any} campaign the result of `terms`
 * @returns {{name: string, text: string, domain: any, shown: any, skippable: boolean}[]}
 */
export function questionsOf({ domain, shown, texts, asked }) {
  if (domain.kind !== "form") return [{ name: "", text: texts.question, domain, shown, skippable: false }];
  return asked.map((/** @type {number} */ place) => {
    const { text, domain: said } = shown.questions[place];
    return { ...domain.questions[place], text, shown: said };
  });
}

/**
 * @param {import("./main.js").Visit} visit @param {number} [place] of the question among those that are asked
 * @param {{[name: string]: any}} [answers] so far, by the names of the questions
 */
export async function question(visit, place = 0, answers = {}) {
  const campaign = await visit.terms();
  const asked = questionsOf(campaign);
  const { name, text, domain, shown, skippable } = asked[place];
  const form = domain !== campaign.domain;
  const total = campaign.domain.questions?.length;
  const on = async () => {
    if (place + 1 < asked.length) return question(visit, place + 1, answers);
    await visit.leaving(form ? answers : answers[name], answers);
  };
  const next = button(say(place + 1 < asked.length ? "question.on" : "question.next"), () => visit.do(on));
  const choose = (/** @type {any} */ value) => {
    answers[name] = value;
    next.toggleAttribute("disabled", value === undefined);
  };
  const parts = field(domain, shown, answers[name] ?? undefined, choose);
  const skip = () => {
    answers[name] = null;
    return on();
  };
  visit.show(text, [
    form && p(say("question.place", { place: place + 1, count: asked.length }), "small"),
    form && !place && el("p.card", {}, say("selection.asked", { count: asked.length, total }), ". ", asked.length < total && say("selection.why")),
    el("div.card", {}, parts),
    el("div.stay", {}, next),
    el(
      "div.actions",
      {},
      skippable && button(say("question.skip"), () => visit.do(skip), "plain"),
      place > 0 && button(say("bar.back"), () => visit.do(() => question(visit, place - 1, answers)), "plain"),
    ),
  ], campaign.texts.language);
}
