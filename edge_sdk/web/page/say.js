/** The page's texts, numbers and dates in the person's language. */

import { ceilDiv } from "../exact.js";

/** @type {{[language: string]: any}} */
let allTexts = {};
let current = "en";

/**
 * Choose the language of the page: that of the locale, or English if the page has no texts in it.
 * @param {{[language: string]: any}} texts @param {string} [locale] as in navigator.language
 */
export function useLanguage(texts, locale = "") {
  allTexts = texts;
  const chosen = locale.slice(0, 2).toLowerCase();
  current = chosen in texts ? chosen : "en";
  document.documentElement.lang = current;
}

/** The language of the page. */
export const language = () => current;

/**
 * The text of a key; if it has a singular and a plural, the one for `count`.
 * @param {string} key @param {{[name: string]: any}} [values] of its placeholders
 * @returns {string}
 */
export function say(key, values = {}) {
  let found = allTexts[current];
  for (const part of key.split(".")) found = found[part];
  return filled(found.other ? found[values.count === 1 ? "one" : "other"] : found, values);
}

/** A text with the values of its placeholders. @param {string} text @param {{[name: string]: any}} values */
const filled = (text, values) =>
  text.replace(/\{(\w+)\}/g, (_, name) => (typeof values[name] === "number" ? number(String(values[name])) : values[name]));

/** The texts of a key that has a list. @param {string} key @returns {string[]} */
export const list = (key) => key.split(".").reduce((found, part) => found[part], allTexts[current]);

/**
 * The sentences of a promise in the page's language.
 * @param {import("../promise.js").Promised} promised @param {number} outputs the maximum number of outputs in a report
 */
export function promised({ keys, sensitive, numbers }, outputs) {
  const values = Object.fromEntries(Object.entries({ ...numbers, outputs: `${outputs}` }).map(([name, one]) => [name, number(one)]));
  const sentences = allTexts[current].promise;
  const all = outputs > 1 && keys[0] !== "classes" ? [...keys, "bundle"] : keys;
  return all.map((key) => filled([sentences[key]].flat()[Number(sensitive > 1)] ?? sentences[key], { count: sensitive, ...values })).join(" ");
}

/** A decimal as the page's language writes it. @param {string} decimal digits with a point */
export function number(decimal) {
  const [point, group] = current === "de" ? [",", "."] : [".", ","];
  const [whole, rest] = decimal.replace("-", "\u2212").split(".");
  const grouped = /\d{5}/.test(whole) ? whole.replace(/\B(?=(\d{3})+$)/g, group) : whole;
  return grouped + (rest ? point + rest : "");
}

/**
 * A typed number as digits with a point. A comma or a point begins the decimals, unless it separates thousands.
 * @param {string} words @returns {string}
 */
export function typed(words) {
  const group = current === "de" ? "." : ",";
  const bare = words.replace("\u2212", "-").trim();
  const grouped = new RegExp(`^-?[1-9]\\d{0,2}(\\${group}\\d{3})+(?!\\d)`).test(bare);
  return (grouped ? bare.replaceAll(group, "") : bare).replace(",", ".");
}

/** A level in nats as text, rounded up, with the digits of `nats`. @param {bigint} nanonats */
export const above = (nanonats) => nats(nanonats, ceilDiv);

/** A level in nats as text, rounded down, with the digits of `nats`. @param {bigint} nanonats */
export const below = (nanonats) => nats(nanonats, (n, d) => n / d);

/**
 * A level in nats as text: thousandths below 1, three digits below 1,000, else whole nats.
 * @param {bigint} nanonats @param {(n: bigint, d: bigint) => bigint} quotient of two integers, rounded up or down
 */
function nats(nanonats, quotient) {
  const whole = String(nanonats / 10n ** 9n);
  const unit = whole === "0" ? 1n : 10n ** BigInt(Math.min(3, whole.length));
  const thousandths = String(quotient(nanonats, unit * 10n ** 6n) * unit).padStart(4, "0");
  return number(`${thousandths.slice(0, -3)}.${thousandths.slice(-3).replace(/0+$/, "")}`);
}

/**
 * A probability as text in percent, rounded up; "below 1%" and "above 99%" near 0 and 1.
 * @param {import("../exact.js").Fraction} share @returns {string}
 */
export function percent({ n, d }) {
  if (n && 100n * n < d) return say("posterior.rare");
  if (n < d && 100n * n > 99n * d) return say("posterior.sure");
  return say("posterior.percent", { percent: Number(ceilDiv(100n * n, d)) });
}

/** The local date of a time, as text in the page's language. @param {number} seconds UTC @returns {string} */
export const day = (seconds) => dated(new Date(seconds * 1000));

/** A day as text in the page's language. @param {string} written YYYY-MM-DD */
export const date = (written) => dated(new Date(`${written}T00:00Z`), { timeZone: "UTC" });

/** A date as text in the page's language. @param {Date} moment @param {Intl.DateTimeFormatOptions} [where] time zone */
const dated = (moment, where) => moment.toLocaleDateString(current === "de" ? "de" : "en-GB", { dateStyle: "long", ...where });

/** The local time of day of a time. @param {number} seconds UTC @returns {string} HH:MM */
export const clock = (seconds) => new Date(seconds * 1000).toTimeString().slice(0, 5);

/** A duration as text, in the largest unit that divides it. @param {number} seconds */
export function span(seconds) {
  for (const [unit, length] of /** @type {[string, number][]} */ ([["days", 86_400], ["hours", 3600], ["minutes", 60]]))
    if (seconds % length === 0) return say(`span.${unit}`, { count: seconds / length });
  return say("span.seconds", { count: seconds });
}
