/** Views: the coarsenings of the answer that a campaign asks for, each with its channel (SPEC 7.3, 6.12). */

import { firstAbove } from "./channels/channel.js";
import { channelFrom } from "./channels/index.js";
import { keyOf } from "./channels/key.js";
import { array, concat, integer, integers, requireFirstUse, requireName, toBig } from "./codec.js";
import { Grid } from "./domain/domain.js";
import { Form } from "./domain/form.js";
import { requireAffordable } from "./effort.js";
import { CampaignError, NotionError, ViewError } from "./errors.js";
import { gcd, total } from "./exact.js";
import { sha256 } from "./keys.js";
import { Classes } from "./notions/classes.js";
import { MAX_VALUES, runsFrom } from "./runs.js";

/** @typedef {import("./channels/channel.js").Channel} Channel */
/** @typedef {import("./domain/domain.js").Domain} Domain */
/** @typedef {import("./notions/notion.js").Notion} Notion */
/** @typedef {import("./notions/notion.js").Certificate} Certificate */

/**
 * A function from the inputs of a domain to the inputs of a view.
 * @typedef {object} Map_
 * @property {string} name
 * @property {any[]} wire
 * @property {number[]} questions for a form, the indices of the asked questions; else empty
 * @property {(domain: Domain) => number} inputCount number of the view's inputs; refuses a domain that the map does not fit
 * @property {(domain: Domain, x: any) => number} input the view's input for an input of the domain
 * @property {(domain: Domain, z: number) => string} label
 * @property {string[]} [named] the names that the author chose for the view's inputs
 */

/** @typedef {Omit<Map_, "name" | "wire" | "questions"> & {questions?: number[]}} OwnParts the parts that differ by the kind of a map */

/** @typedef {{weight: number, map: Map_, channel: Channel}} View */

/** Refuse a domain whose answers have several parts. @param {Domain} domain @returns {Domain} */
function single(domain) {
  if (["form", "items"].includes(domain.kind))
    throw new CampaignError(`this map needs a domain of values, numbers, dates or a grid, not ${domain.kind}`);
  return domain;
}

/** The map that does not coarsen: a view's input is the domain's. @param {any[]} wire @returns {OwnParts} */
function identity(wire) {
  array(wire, "the identity map", ViewError, 1);
  const inputCount = (/** @type {Domain} */ domain) => {
    if (domain instanceof Form) throw new CampaignError("a view of a form must have a map of one or two of its questions, not the identity map");
    return domain.size;
  };
  return { inputCount, input: (_, x) => x, label: (domain, z) => domain.label(z) };
}

/** A map to groups of neighbours: squares of grid cells, or stretches of a list. @param {any[]} wire @returns {OwnParts} */
function coarse(wire) {
  const factor = integer(array(wire, "a coarse map", ViewError, 2)[1], "the factor", ViewError, 2, MAX_VALUES);
  /** The numbers of columns of cells and of squares; a list is a single row. @param {Domain} domain */
  const columns = (domain) => {
    const cells = domain instanceof Grid ? domain.columns : domain.size;
    return [cells, Math.ceil(cells / factor)];
  };
  return {
    inputCount(domain) {
      const [cells, squares] = columns(single(domain));
      const found = squares * (domain instanceof Grid ? Math.ceil(domain.size / cells / factor) : 1);
      if (found < 2) throw new CampaignError(`a coarse map of factor ${factor} maps all ${domain.size} values to one group: choose a smaller factor`);
      return found;
    },
    input(domain, x) {
      const [cells, squares] = columns(domain);
      return Math.floor(Math.floor(x / cells) / factor) * squares + Math.floor((x % cells) / factor);
    },
    label(domain, z) {
      const [cells, squares] = columns(domain);
      const [row, column] = [Math.floor(z / squares) * factor, (z % squares) * factor];
      const [lastRow, lastColumn] = [
        Math.min(row + factor, domain.size / cells) - 1,
        Math.min(column + factor, cells) - 1,
      ];
      const ends = [row * cells + column, lastRow * cells + lastColumn].map((x) => domain.label(x));
      return [...new Set(ends)].join(" .. ");
    },
  };
}

/** A map to the parts of a partition, such as districts of a country on a grid. @param {any[]} wire @returns {OwnParts} */
function districts(wire) {
  const parts = array(wire, "a map of districts", ViewError, 3);
  // Thousands of views may have a few runs of a million inputs each, so no map lists its inputs.
  const runs = runsFrom(parts[1], 0, ViewError);
  let size = 0;
  const ends = runs.map(([, length]) => (size += length));
  const names = array(parts[2], "the names of districts", ViewError).map((one) => requireName(one, "a district's name", ViewError));
  const count = new Set(runs.map(([district]) => district)).size;
  if (count < 2 || count >= size) throw new ViewError(`a map must have at least 2 districts and fewer districts than inputs, not ${count} for ${size} inputs`);
  if (names.length && names.length !== count) throw new ViewError(`${count} districts must have ${count} names or none, not ${names.length}`);
  if (new Set(names).size < names.length) throw new ViewError("two districts have the same name: rename one");
  const inputCount = (/** @type {Domain} */ domain) => {
    if (single(domain).size !== size)
      throw new CampaignError(`the districts must have all ${domain.size} inputs of the domain, not ${size}: correct the lengths of the runs`);
    return count;
  };
  return {
    inputCount,
    input: (_, x) => runs[firstAbove(ends, x)][0],
    label: (_, z) => names[z] ?? `district ${z + 1}`,
    named: names,
  };
}

/** A map to the answers of one or two questions of a form. @param {any[]} wire @returns {OwnParts} */
function questions(wire) {
  const places = integers(array(wire, "a map of questions", ViewError, 2)[1], "a question", ViewError, 0, 2 ** 64);
  const [first, second] = places;
  if (places.length < 1 || places.length > 2 || second <= first)
    throw new ViewError(`a map of questions must have the numbers of one or two questions, from 0, in increasing order, not ${places.join(", ")}`);
  const form = (/** @type {Domain} */ domain) => {
    if (!(domain instanceof Form)) throw new CampaignError(`a map of questions needs a form, not a domain of ${domain.kind}`);
    const [last, asked] = [Math.max(...places), domain.questions.length];
    if (last >= asked) throw new CampaignError(`a view asks question number ${last}, counted from 0, but the form has only ${asked}`);
    return domain;
  };
  const sizes = (/** @type {Domain} */ domain) => places.map((place) => form(domain).questions[place].size);
  return {
    questions: places,
    inputCount(domain) {
      const found = sizes(domain).reduce((one, other) => one * other);
      if (found > MAX_VALUES)
        throw new CampaignError(`a view has more than ${MAX_VALUES} pairs of answers: use two views`);
      return found;
    },
    input: (domain, x) => sizes(domain).reduce((z, size, i) => z * size + x[places[i]], 0),
    label(domain, z) {
      const last = sizes(domain).at(-1) ?? 1;
      const inputs = [Math.floor(z / last), z % last].slice(-places.length);
      const asked = form(domain);
      return places.map((place, i) => `${asked.questions[place].name}=${asked.labelOf(place, inputs[i])}`).join("; ");
    },
  };
}

/** @type {Record<string, (wire: any[]) => OwnParts>} */
const MAPS = { identity, coarse, districts, questions };

/** The map of a wire form. @param {any} wire @returns {Map_} @throws {ViewError} unknown name, or an invalid map */
function mapFrom(wire) {
  const [name] = array(wire, "a map", ViewError);
  if (!Object.hasOwn(MAPS, String(name))) throw new ViewError(`a map must be one of ${Object.keys(MAPS).join(", ")}`);
  return { name, wire, questions: [], ...MAPS[name](wire) };
}

/** True if every device answers without coarsening, through one channel. @param {View[]} views */
const isPlain = (views) => views.length === 1 && views[0].map.name === "identity";

/**
 * The views of field 7 of a campaign.
 * @param {any} wire
 * @returns {View[]}
 */
export function viewsFrom(wire) {
  if (!Array.isArray(wire) || wire[0] !== "views")
    return [{ weight: 1, map: mapFrom(["identity"]), channel: channelFrom(wire) }];
  const parts = array(wire, "the views", ViewError, 3);
  const rows = array(parts[1], "the views", ViewError).map((row) => array(row, "a view", ViewError, 3));
  if (rows.length < 1 || rows.length > 4096) throw new ViewError(`a campaign must have 1 to 4096 views, not ${rows.length}`);
  const wires = array(parts[2], "the channels of views", ViewError);
  const places = rows.map((row) => integer(row[2], "the number of a view's channel", ViewError, 0, wires.length - 1));
  requireFirstUse(places, wires.length, "channel", ViewError);
  const channels = wires.map(channelFrom);
  if (new Set(wires.map(keyOf)).size < wires.length)
    throw new ViewError("a channel is listed twice: list it once for all its views");
  const views = rows.map((row, j) => ({
    weight: integer(row[0], "a view's weight", ViewError, 1, 2 ** 32),
    map: mapFrom(row[1]),
    channel: channels[places[j]],
  }));
  if (isPlain(views)) throw new ViewError("the campaign's only view does not coarsen the answer: write its channel in place of the views");
  const weights = views.map(({ weight }) => BigInt(weight));
  const whole = total(weights);
  if (whole > 2n ** 32n) throw new ViewError(`the weights of the views must sum to at most ${2 ** 32}, not ${whole}`);
  if (weights.reduce(gcd) !== 1n) throw new ViewError("the weights of the views have a common factor: divide them by it");
  if (new Set(rows.map((row) => keyOf([row[1], row[2]]))).size < rows.length)
    throw new ViewError("two views have the same map and channel: write them as one");
  return views;
}

/**
 * Refuse views that do not fit the domain, or leave a question of a form out.
 * @param {View[]} views @param {Domain} domain @param {number} classes
 */
export function requireFit(views, domain, classes) {
  for (const { map, channel } of views) {
    const inputs = Math.max(1, classes) * map.inputCount(domain);
    if (channel.inputCount !== inputs) throw new CampaignError(`the channel of a view must have ${inputs} inputs, not ${channel.inputCount}`);
  }
  const asked = new Set(views.flatMap(({ map }) => map.questions));
  const missing = domain instanceof Form && domain.questions.find((_, place) => !asked.has(place));
  if (missing) throw new CampaignError(`no view asks question "${missing.name}": add a view that asks it`);
}

/**
 * The certificate of each view. Equal certificates are computed once, and all of them share one limit of steps.
 * @param {View[]} views @param {Notion} notion @param {Domain} domain
 * @returns {Certificate[]}
 */
export function certificatesOf(views, notion, domain) {
  /** @type {any[]} */
  const notions = notion instanceof Classes ? notion.notions : [notion];
  for (const { name, inputCount, carriesViews, wire, drift } of notions) {
    if (!isPlain(views) && !carriesViews) throw new CampaignError("the notion of a campaign with views must be ldp, pairwise, or minid or avgid with every pair bounded, in each class");
    if (domain instanceof Form && name !== "ldp") throw new CampaignError(`the notion of a form must be ldp, in each class, not ${name}`);
    if (inputCount !== null && inputCount !== domain.size)
      throw new NotionError(`the notion must have ${domain.size} values, one for each value of the domain, not ${inputCount}`);
    const { padding, random } = /** @type {any} */ (domain);
    // The promise must be true for mixtures of inputs. The last run of budget classes must contain all dummies (SPEC 6.14).
    if (padding && !(/id$/.test(name) ? carriesViews && wire[3].at(-1) >= padding : /^ldp|lip|mutual/.test(name) && !drift))
      throw new CampaignError(`the notion of sets of items must be lip, mutual-information, ldp, or minid or avgid with every pair bounded, in each class, not ${name}`);
    if (random && drift) throw new CampaignError("the promise of a drift does not cover numbers rounded at random: set drift to 0, or use a domain without random rounding");
  }
  const maps = new Map(views.map(({ map }) => [keyOf(map.wire), map]));
  maps.delete(keyOf(["identity"]));
  let steps = maps.size * notion.coarseningSteps;
  requireAffordable(steps, 0);
  const coarsened = new Map();
  for (const [key, map] of maps) coarsened.set(key, notion.coarsened((x) => map.input(domain, x), map.inputCount(domain)));
  const different = new Map();
  const keys = views.map(({ map, channel }) => {
    const own = coarsened.get(keyOf(map.wire)) ?? notion;
    const key = keyOf([channel.wire, own.wire]);
    different.set(key, { channel, own });
    return key;
  });
  for (const { channel, own } of different.values()) steps += own.steps(channel);
  requireAffordable(steps, Math.max(...views.map(({ channel }) => channel.numbersHeld)));
  for (const pair of different.values()) pair.certificate = pair.own.certificate(pair.channel);
  return keys.map((key) => different.get(key).certificate);
}

/**
 * The index of a device's view: a function of its public key and of the campaign only.
 * @param {View[]} views @param {Uint8Array} campaignId @param {Uint8Array} publicKey
 * @returns {Promise<number>}
 */
export async function viewIndex(views, campaignId, publicKey) {
  const head = toBig((await sha256(concat("halftruth view\0", campaignId, publicKey))).slice(0, 8));
  let place = Number((head * total(views.map(({ weight }) => BigInt(weight)))) >> 64n);
  return views.findIndex(({ weight }) => (place -= weight) < 0);
}
