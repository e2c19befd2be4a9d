/**
 * The screen "History and budget": the state of the campaign, the person's answers and budget, the ledger, and a button
 * to forget the campaign.
 */

import { hex } from "../codec.js";
import { above, below, day, language, number, say } from "./say.js";
import { button, card, el, more, p, svg } from "./dom.js";
import { at, enrolment, file, waiting } from "./sent.js";
import { due } from "../upload.js";
import { factorAbove } from "../promise.js";
import { labelText } from "./review.js";

/**
 * The state of a campaign, in one sentence; an end is shown as the last open day.
 * @param {any} campaign @returns {string}
 */
export function stateOf({ opens, closes, ends, left, nextPeriod }) {
  const now = Date.now() / 1000;
  if (ends <= opens) return say("state.cancelled");
  if (now >= ends) return say(ends < closes ? "state.early" : "state.over", { day: day(ends - 1) });
  if (now < opens) return say("state.upcoming", { day: day(opens) });
  if (left > 0) return say("state.open", { day: day((nextPeriod ?? ends) - 1) });
  return nextPeriod === null ? say("state.last") : say("state.answered", { day: day(nextPeriod) });
}

/** Show the screen "History and budget". @param {import("./main.js").Visit} visit */
export async function own(visit) {
  const { device, id } = visit;
  const [campaign, budget] = [await visit.terms(), await device.budget()];
  const [answers, waits] = [Object.entries(await device.history(id)), await visit.waits()];
  const titles = new Map();
  for (const one of await device.campaigns()) titles.set(hex(one), (await device.terms(one, language())).texts.title);
  const entries = (await device.ledger()).reverse().slice(0, 60);
  const [, kept] = await device.found(id);
  const refused = kept.upload.trouble === "refused";
  const later = waits.length > 0 && !due(kept, device.now);
  const again = later ? kept.upload.nextAttempt : 0;
  const send = button(say("review.send"), () => visit.do(() => visit.sending()), later ? "gone" : "");
  visit.show(campaign.texts.title, [
    el("div.card", {}, p(stateOf(campaign)), ...(waits.length ? waiting(campaign, refused, again, waits.length) : [])),
    el(
      "div.actions",
      {},
      waits.length > 0 && campaign.addresses.length > 0 && send,
      campaign.left > 0 && button(say("terms.answer"), () => visit.do(() => visit.question()), waits.length ? "plain" : ""),
    ),
    waits.length > 0 && (await file(visit)),
    card(
      say("history.title"),
      p(say("history.private"), "small"),
      !answers.length && p(say("history.nothing")),
      ...answers.map(([label, times]) => p(`${labelText(label, campaign)} (${times}×)`)),
    ),
    gauge(budget),
    card(
      say("ledger.title"),
      p(say("ledger.what"), "small"),
      el(
        "ul",
        {},
        entries.map(({ time, kind, nanonats, campaignId }) => {
          const title = titles.get(hex(campaignId)) ?? say("ledger.forgotten");
          return el("li", {}, `${day(time)}: ${say(`ledger.${kind}`, { nats: above(nanonats), title })}`);
        }),
      ),
    ),
    campaign.enrolled && !campaign.coded && (await enrolment(visit)),
    more(
      say("forget.ask", { title: campaign.texts.title }),
      p(say("forget.what"), "small"),
      button(say("forget.do"), () => visit.do(() => visit.forget()), "grave"),
    ),
  ], campaign.texts.language);
  if (later && !refused) at(again, () => send.classList.remove("gone"));
}

/** The card with the budget. @param {{lifetime: bigint, spent: bigint, reserved: bigint, remaining: bigint}} budget */
function gauge({ lifetime, spent, reserved, remaining }) {
  const part = (/** @type {bigint} */ nats) => `${lifetime ? Number((1000n * nats) / lifetime) / 10 : 0}%`;
  const factor = (/** @type {bigint} */ nats) => number(factorAbove(nats * 10n ** 9n));
  return card(
    say("budget.title"),
    svg(
      "svg",
      { class: "bar", "aria-hidden": "true" },
      svg("rect", { width: "100%", height: "100%" }),
      svg("rect", { width: part(spent + reserved), height: "100%", class: "half" }),
      svg("rect", { width: part(spent), height: "100%", class: "full" }),
    ),
    p(say("gauge.spent", { nats: above(spent) })),
    p(say("gauge.reserved", { nats: above(reserved) })),
    p(say("gauge.remaining", { nats: below(remaining), cap: below(lifetime) })),
    p(say("budget.nat", { one: factor(1n), two: factor(2n), eight: factor(8n) }), "small"),
  );
}
