/** The questions, one per screen. The answers stay in the page's memory until the person sends them. */

import { button, el, p } from "./dom.js";
import { field } from "./choices.js";
import { say } from "./say.js";

/**
 * The questions that this device is asked, each with its domain, and with the domain in the person's language.
 * @param {any} campaign the result of `terms`
 * @returns {{name: string, text: string, domain: any, shown: any, skippable: boolean}[]}
 */
export function questionsOf({ domain, shown, texts, asked }) {
  if (domain.kind !== "form") return [{ name: "", text: texts.question, domain, shown, skippable: false }];
  return asked.map((/** @type {number} */ place) => {
    const translated = shown.questions[place];
    return { ...domain.questions[place], text: translated.text, shown: translated.domain };
  });
}

/**
 * Show the screen of a question.
 * @param {import("./main.js").Visit} visit @param {number} [place] index among the asked questions
 * @param {{[name: string]: any}} [answers] so far, by the names of the questions
 */
export async function question(visit, place = 0, answers = {}) {
  const campaign = await visit.terms();
  const asked = questionsOf(campaign);
  const { name, text, domain, shown, skippable } = asked[place];
  const form = domain !== campaign.domain;
  const total = campaign.domain.questions?.length;
  const proceed = async () => {
    if (place + 1 < asked.length) return question(visit, place + 1, answers);
    await visit.review(form ? answers : answers[name], answers);
  };
  const next = button(say(place + 1 < asked.length ? "question.on" : "question.next"), () => visit.do(proceed));
  const choose = (/** @type {any} */ value) => {
    answers[name] = value;
    next.toggleAttribute("disabled", value === undefined);
  };
  const parts = field(domain, shown, answers[name] ?? undefined, choose);
  const skip = () => {
    answers[name] = null;
    return proceed();
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
