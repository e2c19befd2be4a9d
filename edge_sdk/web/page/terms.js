/**
 * The screen of the terms: question, purpose, organisation, promise, possible disclosure, cost, and a consent button.
 */

import { hex } from "../codec.js";
import { above, below, date, day, list, number, promised, say, span } from "./say.js";
import { button, card, el, more, p } from "./dom.js";
import { labelsOf } from "./choices.js";
import { stateOf } from "./own.js";
import { reveals } from "./reveals.js";

/** Maximum number of answers that are listed. */
const MAX_NAMED = 24;

/** Show the terms. @param {import("./main.js").Visit} visit */
export async function terms(visit) {
  const { device, id } = visit;
  const [campaign, budget, found] = [await visit.terms(), await device.budget(), await device.reveals(id)];
  const { texts, domain, shown, classes } = campaign;
  const form = domain.kind === "form";
  const lang = texts.language || null;
  const shares = assumed(campaign);
  const [view] = list("views")[campaign.view] ?? [];
  const fits = campaign.worstCase <= budget.remaining;
  /** @type {any} */
  let asClass;
  const agree = button(say("consent.agree"), () => visit.do(() => visit.agree(asClass)));
  const ready = () => /** @type {any} */ (agree).toggleAttribute("disabled", !fits || (classes.length > 0 && asClass === undefined));
  ready();
  visit.show(say("terms.who", { organisation: texts.organisation }), [
    el(
      "div.card",
      {},
      el("p.asked", { lang }, form ? texts.title : say("terms.question", { question: texts.question })),
      texts.purpose && p(say("terms.why", { purpose: texts.purpose })),
    ),
    form ? questions(campaign) : card(say("terms.values"), p(possible(shown, MAX_NAMED))),
    view && card(say("terms.asked"), p(view)),
    about(campaign),
    card(say("terms.promise"), p(promised(campaign.promise, campaign.answersPerPeriod)), shares && p(shares), p(say("terms.checked"), "small")),
    reveals(say("terms.chances"), say(form ? "terms.chances_any" : "terms.chances_how"), found),
    card(
      say("terms.price"),
      p(say(campaign.notion === "transcript-lip" ? "terms.cost_each" : "terms.cost", { cost: above(campaign.cost) })),
      p(say("terms.worst", { worst: above(campaign.worstCase), remaining: below(budget.remaining) })),
      !fits && !campaign.consented && p(say("terms.unfit"), "alert"),
    ),
    when(campaign),
    card(say("page.limits"), el("ul", {}, list("page.limits_how").map((one) => el("li", {}, one)), !visit.data.served && el("li", {}, say("page.file")))),
    more(say("terms.signed"), visit.data.authorName && p(visit.data.authorName), el("p.code", {}, hex(visit.author)), p(say(visit.linked ? "page.matches" : "page.unnamed"), "small")),
    campaign.needsPrior && p(say("consent.prior"), "card"),
    campaign.enrolled && p(campaign.coded ? say("consent.code") : say("consent.enrol", { place: say("page.own") }), "card"),
    !campaign.consented &&
      classes.length > 0 &&
      el(
        "fieldset.card",
        {},
        el("legend", {}, say("consent.class")),
        p(say("consent.class_how"), "small"),
        classes.map((/** @type {string} */ name, /** @type {number} */ place) =>
          el(
            "label.choice",
            {},
            el("input", { type: "radio", name: "class", change: () => ((asClass = name), ready()) }),
            el("span", {}, say("consent.class_cost", { name: texts.classes[place], worst: above(campaign.worstCases[place]) })),
          ),
        ),
      ),
    form && !campaign.consented && p(say("consent.form"), "small"),
    campaign.consented
      ? ""
      : el("div.actions", {}, agree, button(say("terms.decline"), () => visit.do(() => visit.forget()), "plain")),
  ]);
}

/** The card with the questions of a form. @param {any} campaign */
function questions({ shown, asked }) {
  return card(
    say("terms.form", { count: shown.questions.length }),
    !asked && p(say("terms.form_how"), "small"),
    el(
      "ol",
      {},
      shown.questions.map((/** @type {any} */ one) =>
        el("li", {}, one.text, el("br"), el("span.small", {}, possible(one.domain, 8))),
      ),
    ),
  );
}

/** The possible answers as text. @param {any} domain in the person's language @param {number} most @returns {string} */
function possible(domain, most) {
  const { kind, low, high, unit = "" } = domain;
  if (kind === "grid") return say("terms.place", { step: number(String(domain.step / 1e6)) });
  if (kind === "date") return say("terms.day", { low: date(low), high: date(high) });
  if (low !== undefined) return say("terms.number", { low: number(low), high: `${number(high)} ${unit}`.trim() });
  return some(labelsOf(domain), most);
}

/** The first texts of a list, and the number of the others, as text. @param {string[]} all @param {number} most */
function some(all, most) {
  const values = all.slice(0, most).join(", ");
  return all.length > most ? say("terms.more", { values, count: all.length - most }) : values;
}

/** The shares of the answers that the promise assumes, as text; "" if it assumes none. @param {any} campaign */
function assumed({ classes, classIndex }) {
  /** @type {[string, string][]} */
  const shares = /** @type {any} */ (list("assumed")[classes.length ? classIndex : 0] ?? []);
  const named = shares.map(([name, share]) => say("terms.share", { name, share: number(share) }));
  return named.length ? say("terms.assumed", { shares: some(named, MAX_NAMED) }) : "";
}

/** The card with the schedule. @param {any} campaign */
function when(campaign) {
  const { opens, ends, answersPerPeriod, periodSeconds } = campaign;
  const periods = Math.max(0, Math.ceil((ends - opens) / periodSeconds));
  return card(
    say("terms.when"),
    p(stateOf(campaign)),
    periods > 0 && p(say("terms.from_to", { opens: day(opens), closes: day(ends - 1) })),
    periods > 0 && p(say("terms.answers", { count: periods * answersPerPeriod })),
    periods > 0 && p(say("terms.every", { count: answersPerPeriod, length: span(periodSeconds) })),
  );
}

/** The card with contact, retention, addresses and legal notice. @param {any} campaign */
function about({ texts, addresses }) {
  const hosts = addresses.map((/** @type {string} */ one) => new URL(one).host).join(", ");
  const link = texts.notice && el("a", { href: texts.notice, rel: "noreferrer" }, texts.notice);
  const [before, after] = say("terms.notice", { link: "\n" }).split("\n");
  return card(
    say("terms.about"),
    p(texts.contact ? say("terms.contact", { contact: texts.contact }) : say("terms.nobody")),
    p(texts.retention ? say("terms.kept", { retention: texts.retention }) : say("terms.unkept")),
    p(hosts ? say("terms.hosts", { hosts }) : say("terms.nowhere")),
    p(say("outbox.seen")),
    link && el("p", {}, before, link, after),
    p(say("terms.withdrawal"), "small"),
  );
}
