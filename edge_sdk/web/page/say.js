/** The texts in the language the person reads; numbers and days as it writes them. */

import { ceilDiv } from "../exact.js";

/** @type {{[language: string]: any}} */
let catalogues = {};
let spoken = "en";

/** @param {{[language: string]: any}} texts @param {string} [language] as navigator.language names it */
export function speak(texts, language = "") {
  catalogues = texts;
  spoken = language.slice(0, 2).toLowerCase() in texts ? language.slice(0, 2).toLowerCase() : "en";
  document.documentElement.lang = spoken;
}

/** The language that is spoken. */
export const language = () => spoken;

/**
 * The text of a key; of a text for one and for several, that of `count`.
 * @param {string} key @param {{[name: string]: any}} [values] of its placeholders
 * @returns {string}
 */
export function say(key, values = {}) {
  let found = catalogues[spoken];
  for (const part of key.split(".")) found = found[part];
  return filled(found.other ? found[values.count === 1 ? "one" : "other"] : found, values);
}

/** @param {string} text @param {{[name: string]: any}} values */
const filled = (text, values) =>
  text.replace(/\{(\w+)\}/g, (_, name) => (typeof values[name] === "number" ? number(String(values[name])) : values[name]));

/** The texts of a list. @param {string} key @returns {string[]} */
export const list = (key) => key.split(".").reduce((found, part) => found[part], catalogues[spoken]);

/** A promise in words. @param {import("../promise.js").Promised} promised */
export function promised({ keys, sensitive, numbers }) {
  const values = Object.fromEntries(Object.entries(numbers).map(([name, one]) => [name, number(one)]));
  const sentences = catalogues[spoken].promise;
  return keys.map((key) => filled([sentences[key]].flat()[Number(sensitive > 1)] ?? sentences[key], { count: sensitive, ...values })).join(" ");
}

/** A decimal, digits with a point, as the language writes it. @param {string} decimal */
export function number(decimal) {
  const [point, group] = spoken === "de" ? [",", "."] : [".", ","];
  const [whole, rest] = decimal.replace("-", "\u2212").split(".");
  const grouped = /\d{5}/.test(whole) ? whole.replace(/\B(?=(\d{3})+$)/g, group) : whole;
  return grouped + (rest ? point + rest : "");
}

/**
 * What a person typed, as digits with a point: a comma and a point both begin decimals, but for marks between thousands.
 * @param {string} words @returns {string}
 */
export function typed(words) {
  const group = spoken === "de" ? "." : ",";
  const bare = words.replace("\u2212", "-").trim();
  const grouped = new RegExp(`^-?[1-9]\\d{0,2}(\\${group}\\d{3})+(?!\\d)`).test(bare);
  return (grouped ? bare.replaceAll(group, "") : bare).replace(",", ".");
}

/** Nats of three digits, rounded up. @param {bigint} nanonats */
export const above = (nanonats) => nats(nanonats, ceilDiv);

/** Nats of three digits that are left, rounded down. @param {bigint} nanonats */
export const below = (nanonats) => nats(nanonats, (n, d) => n / d);

/** @param {bigint} nanonats @param {(n: bigint, d: bigint) => bigint} rounded */
function nats(nanonats, rounded) {
  const whole = String(nanonats / 10n ** 9n);
  const unit = whole === "0" ? 1n : 10n ** BigInt(Math.min(3, whole.length));
  const thousandths = String(rounded(nanonats, unit * 10n ** 6n) * unit).padStart(4, "0");
  return number(`${thousandths.slice(0, -3)}.${thousandths.slice(-3).replace(/0+$/, "")}`);
}

/** @param {import("../exact.js").Fraction} share @returns {string} percent, rounded up */
export function percent({ n, d }) {
  if (n && 100n * n < d) return say("belief.rare");
  if (n < d && 100n * n > 99n * d) return say("belief.sure");
  return say("belief.percent", { percent: Number(ceilDiv(100n * n, d)) });
}

/** @param {number} seconds UTC @returns {string} */
export const day = (seconds) => dated(new Date(seconds * 1000));

/** A day that is written YYYY-MM-DD. @param {string} written */
export const date = (written) => dated(new Date(`${written}T00:00Z`), { timeZone: "UTC" });

/** @param {Date} moment @param {Intl.DateTimeFormatOptions} [where] */
const dated = (moment, where) => moment.toLocaleDateString(spoken === "de" ? "de" : "en-GB", { dateStyle: "long", ...where });

/** @param {number} seconds UTC @returns {string} */
export const clock = (seconds) => new Date(seconds * 1000).toTimeString().slice(0, 5);

/** A length of time in its largest whole unit. @param {number} seconds */
export function span(seconds) {
  for (const [unit, length] of /** @type {[string, number][]} */ ([["days", 86_400], ["hours", 3600], ["minutes", 60]]))
    if (seconds % length === 0) return say(`span.${unit}`, { count: seconds / length });
  return say("span.seconds", { count: seconds });
}
