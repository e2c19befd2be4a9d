/** The domains by their kinds on the wire (SPEC 4). */

import { array } from "../codec.js";
import { DomainError } from "../errors.js";
import { Grid, Values } from "./domain.js";
import { Form } from "./form.js";
import { Items } from "./items.js";
import { Dates, buckets, numberRange } from "./numbers.js";

/** @typedef {import("./domain.js").Domain} Domain */

/** @type {Record<string, (wire: any[]) => Domain>} */
const SINGLE = {
  values: (wire) => new Values(wire),
  ordered: (wire) => new Values(wire),
  grid: (wire) => new Grid(wire),
  buckets,
  number: numberRange,
  date: (wire) => new Dates(wire),
};
/** @type {Record<string, (wire: any[]) => Domain>} */
const KINDS = {
  ...SINGLE,
  items: (wire) => new Items(wire),
  form: (wire) => new Form(wire, (part) => from(part, SINGLE)),
};

/**
 * The domain of a wire form, of one of these kinds.
 * @param {any} wire @param {Record<string, (wire: any[]) => Domain>} kinds
 * @returns {Domain}
 */
function from(wire, kinds) {
  const [kind] = array(wire, "a domain", DomainError);
  if (!Object.hasOwn(kinds, String(kind))) throw new DomainError(`a domain's kind must be one of ${Object.keys(kinds).join(", ")}; not ${String(kind).slice(0, 40)}`);
  return kinds[kind](wire);
}

/**
 * The wire form of a domain under other names and, for a form, with other texts of its questions.
 * @param {any[]} wire of a domain @param {string[]} names the new names; those that the domain uses are removed from
 *   this array
 * @param {string[]} [texts] of a form's questions
 * @returns {any[]}
 */
export function renamed([kind, first, ...rest], names, texts = []) {
  const one = (/** @type {any[]} */ [name, , part, skippable], /** @type {number} */ place) =>
    [name, texts[place], renamed(part, names), skippable];
  if (kind === "form") return [kind, first.map(one)];
  if (kind === "values" || kind === "ordered") return [kind, names.splice(0, first.length)];
  if (kind === "items") return [kind, first, Array.isArray(rest[0]) ? names.splice(0, rest[0].length) : rest[0]];
  const unit = kind === "number" && rest.at(-1) ? names.splice(0, 1) : rest.slice(-1);
  return [kind, first, ...rest.slice(0, -1), ...unit];
}

/**
 * The domain of a wire form.
 * @param {any} wire
 * @returns {Domain}
 * @throws {DomainError} unknown kind, wrong fields, or an invalid domain
 */
export const domainFrom = (wire) => from(wire, KINDS);
