/** How a question is answered: a list, a set, a number, a day. Each hands its answer over as the device reads it. */

import { el } from "./dom.js";
import { date, number, say, typed } from "./say.js";
import { map } from "./map.js";

/** @typedef {(value: any) => void} Choose takes the answer; undefined where there is none */

const FEW_DAYS = 12;
const SEARCHED = 12;
const MOST_SHOWN = 200;

/** What a domain's values are called. @param {any} domain @returns {string[]} */
export const labelsOf = ({ labels = [], size }) =>
  labels.length ? labels : Array.from({ length: size }, (_, x) => String(x + 1));

/**
 * The field of a question.
 * @param {any} domain as `terms` describes it @param {any} shown the same in the person's language @param {any} known
 *   the answer so far @param {Choose} choose
 * @returns {HTMLElement}
 */
export function field(domain, shown, known, choose) {
  const { kind, size, low } = domain;
  if (kind === "grid") return map(domain, known, choose);
  if (kind === "date") return size > FEW_DAYS ? days(domain, known, choose) : listed(fewDays(domain), date, known, choose);
  if (low !== undefined) return numbers(shown, known, choose);
  const [own, said] = [labelsOf(domain), labelsOf(shown)];
  const names = new Map(own.map((label, x) => [label, said[x]]));
  return listed(own, (label) => names.get(label) ?? label, known, choose, kind === "items");
}

/** @param {any} domain @returns {string[]} */
const fewDays = ({ low, size, step }) =>
  Array.from({ length: size }, (_, x) => new Date(Date.parse(low) + x * step * 864e5).toISOString().slice(0, 10));

/**
 * A list to choose from, with a search where it is long.
 * @param {string[]} labels @param {(label: string) => string} name @param {any} known @param {Choose} choose
 * @param {boolean} [several]
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
    const hidden = found.length - MOST_SHOWN;
    box.replaceChildren(...found.slice(0, MOST_SHOWN).map(one));
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

/** @param {any} domain @param {any} known @param {Choose} choose */
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
    const is = /^-?(\d+\.?\d*|\.\d+)$/.test(value);
    const inside = is && Number(value) >= Number(low) && Number(value) <= Number(high);
    const ends = { low: number(low), high: number(high) };
    fault.textContent = !value || inside ? "" : is ? say("number.outside", ends) : say("number.none");
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

/** @param {any} domain @param {any} known @param {Choose} choose */
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
