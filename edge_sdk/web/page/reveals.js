/** Pictures of the possible disclosure by one report: how often a report fits, and the probability of the answer before and after it. */

import { ceilDiv } from "../exact.js";
import { card, el, p, svg } from "./dom.js";
import { percent, say } from "./say.js";

/** @typedef {import("../exact.js").Fraction} Fraction */

/** A picture of 100 people, the first `count` of them filled. @param {number} count @param {string} words */
const people = (count, words) =>
  el(
    "div.row",
    {},
    svg(
      "svg",
      { viewBox: "0 0 100 100", "aria-hidden": "true", class: "dots" },
      Array.from({ length: 100 }, (_, i) =>
        svg("circle", { cx: 5 + 10 * (i % 10), cy: 5 + 10 * Math.floor(i / 10), r: 3.4, class: i < count ? "full" : "" }),
      ),
    ),
    p(words),
  );

/**
 * A bar filled up to a share, with its percentage.
 * @param {string} words @param {Fraction} share @param {string} look
 */
const portion = (words, share, look) => [
  el("p.row.apart", {}, el("span", {}, words), el("b", {}, percent(share))),
  svg(
    "svg",
    { class: `bar ${look}`, "aria-hidden": "true" },
    svg("rect", { width: "100%", height: "100%" }),
    svg("rect", { width: `${Number(ceilDiv(1000n * share.n, share.d)) / 10}%`, height: "100%", class: "full" }),
  ),
];

/**
 * The card with the possible disclosure by one report.
 * @param {string} title @param {string | undefined} how a remark @param {import("../disclosure.js").Revealed} found
 * @returns {HTMLElement}
 */
export function reveals(title, how, { before, after, fitsTrue, fitsOther }) {
  const parts = [];
  if (fitsTrue && fitsOther) {
    const fits = Number(ceilDiv(100n * fitsTrue.n, fitsTrue.d));
    const also = Number((100n * fitsOther.n) / fitsOther.d);
    const rare = fitsTrue.n > 0n && 100n * fitsTrue.n < fitsTrue.d;
    parts.push(p(say("chances.fits"), "small"), people(fits, say(rare ? "chances.rare" : "chances.truth", { count: fits })));
    parts.push(people(also, say(also ? "chances.wrong" : "chances.unfit", { count: also })));
  }
  parts.push(...portion(say("posterior.before"), before, ""), ...portion(say("posterior.after"), after, "strong"));
  return card(title, how && p(how, "small"), ...parts);
}
