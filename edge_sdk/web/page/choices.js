/**
 * The input elements for a question: list, set, number, day, map. Each passes on an answer in a form that Device.answer
 * accepts.
 */

import { el } from "./dom.js";
import { date, number, say, typed } from "./say.js";
import { map } from "./map.js";

/** @typedef {(value: any) => void} Choose receives each change of the answer; undefined if it is missing or invalid */

const FEW_DAYS = 12;
const SEARCHED = 12;
const MAX_SHOWN = 200;

/** The labels of a domain's values; their numbers if they have no labels. @param {any} domain @returns {string[]} */
export const labelsOf = ({ labels = [], size }) =>
  labels.length ? labels : Array.from({ length: size }, (_, x) => String(x + 1));

/**
 * The input element for a question, by the kind of its domain.
 * @param {any} domain as in `terms` @param {any} shown the same in the person's language
 * @param {any} known the answer so far @param {Choose} choose
 * @returns {HTMLElement}
 */
export function field(domain, shown, known, choose) {
  const { kind, size, low } = domain;
  if (kind === "grid") return map(domain, known, choose);
  if (kind === "date") return size > FEW_DAYS ? days(domain, known, choose) : listed(fewDays(domain), date, known, choose);
  if (low !== undefined) return numbers(shown, known, choose);
  const [labels, translated] = [labelsOf(domain), labelsOf(shown)];
  const names = new Map(labels.map((label, x) => [label, translated[x]]));
  return listed(labels, (label) => names.get(label) ?? label, known, choose, kind === "items");
}

/** All days of a domain. @param {any} domain @returns {string[]} YYYY-MM-DD */
const fewDays = ({ low, size, step }) =>
  Array.from({ length: size }, (_, x) => new Date(Date.parse(low) + x * step * 864e5).toISOString().slice(0, 10));

/**
 * A list to choose from, with a search field if it is long.
 * @param {string[]} labels @param {(label: string) => string} name @param {any} known @param {Choose} choose
 * @param {boolean} [several] true if more than one can be chosen
 */
function listed(labels, name, known, choose, several = false) {
  const chosen = new Set(several ? (known ?? []) : [known]);
  const total = el("p.small");
  const update = () => {
    total.textContent = several ? say("choice.chosen", { count: chosen.size, total: labels.length }) : "";
    choose(several ? [...chosen] : [...chosen][0]);
  };
  const one = (/** @type {string} */ label) =>
    el(
      "label.choice",
      {},
      el("input", {
        type: several ? "checkbox" : "radio",
        name: "answer",
        checked: chosen.has(label),
        change: (/** @type {any} */ { target }) => {
          if (!several) chosen.clear();
          if (target.checked) chosen.add(label);
          else chosen.delete(label);
          update();
        },
      }),
      el("span", {}, name(label)),
    );
  const box = el("div", { role: several ? "group" : "radiogroup", "aria-labelledby": "asked" });
  const find = (/** @type {string} */ words) => {
    const found = labels.filter((label) => name(label).toLowerCase().includes(words.toLowerCase().trim()));
    const hidden = found.length - MAX_SHOWN;
    box.replaceChildren(...found.slice(0, MAX_SHOWN).map(one));
    rest.textContent = !found.length ? say("choice.none") : hidden > 0 ? say("page.more", { count: hidden }) : "";
  };
  const rest = el("p.small", { role: "status" });
  const search =
    labels.length > SEARCHED &&
    el("label", {}, say("choice.search"), el("input", { type: "search", input: (/** @type {any} */ { target }) => find(target.value) }));
  find("");
  update();
  return el("div", {}, search, box, rest, total);
}

/**
 * A field for a number, with a slider if the numbers are evenly spaced.
 * @param {any} domain @param {any} known @param {Choose} choose
 */
function numbers({ low, high, step, size, unit = "" }, known, choose) {
  const places = (step.split(".")[1] ?? "").length;
  const fault = el("p.alert", { role: "status" });
  const slider =
    step &&
    el("input", {
      type: "range",
      min: 0,
      max: size - 1,
      value: size >> 1,
      "aria-label": say("page.number"),
      input: () => {
        const value = (Number(low) + Number(slider.value) * Number(step)).toFixed(places).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
        text.value = number(value);
        slider.setAttribute("aria-valuetext", `${text.value} ${unit}`);
        take();
      },
    });
  const take = () => {
    const value = typed(text.value);
    const isNumber = /^-?(\d+\.?\d*|\.\d+)$/.test(value);
    const inside = isNumber && Number(value) >= Number(low) && Number(value) <= Number(high);
    const ends = { low: number(low), high: number(high) };
    fault.textContent = !value || inside ? "" : isNumber ? say("number.outside", ends) : say("number.none");
    if (inside && slider) slider.value = String(Math.round((Number(value) - Number(low)) / Number(step)));
    choose(inside ? value : undefined);
  };
  const text = el("input", { type: "text", inputmode: "decimal", autocomplete: "off", input: take });
  if (known !== undefined) text.value = number(known);
  const label = say("number.type", { low: number(low), high: `${number(high)} ${unit}`.trim() });
  const made = el("div", {}, slider, el("label", {}, label, el("span.row", {}, text, unit && el("span", {}, unit))), fault);
  take();
  return made;
}

/** A field for a day. @param {any} domain @param {any} known @param {Choose} choose */
function days({ low, high }, known, choose) {
  const fault = el("p.alert", { role: "status" });
  const input = el("input", {
    type: "date",
    min: low,
    max: high,
    input: () => {
      const inside = input.value >= low && input.value <= high;
      fault.textContent = !input.value || inside ? "" : say("day.outside", { low: date(low), high: date(high) });
      choose(inside ? input.value : undefined);
    },
  });
  if (known) input.value = known;
  choose(known);
  return el("div", {}, el("label", {}, say("terms.day", { low: date(low), high: date(high) }), input), fault);
}
