/** The privacy notions by their names on the wire (SPEC 6). */

import { array } from "../codec.js";
import { NotionError } from "../errors.js";
import { classesFrom } from "./classes.js";
import { Geo } from "./geo.js";
import { Lip, MutualInformation, DeclaredPrior, TranscriptPrior } from "./information.js";
import { block, graded, highLow, ldp, pairwise } from "./pairwise.js";

/** @typedef {import("./notion.js").Notion} Notion */

/** @type {Record<string, (wire: any[]) => Notion>} */
const NOTIONS = {
  ldp,
  "high-low": highLow,
  block,
  pairwise,
  minid: graded,
  avgid: graded,
  geo: (wire) => new Geo(wire),
  lip: (wire) => new Lip(wire),
  "own-lip": (wire) => new DeclaredPrior(wire),
  "transcript-lip": (wire) => new TranscriptPrior(wire),
  "mutual-information": (wire) => new MutualInformation(wire),
  classes: (wire) => classesFrom(wire, notionFrom),
};

/**
 * The notion of a wire form.
 * @param {any} wire
 * @returns {Notion}
 * @throws {NotionError} unknown name, wrong fields, or an invalid notion
 */
export function notionFrom(wire) {
  const [name] = array(wire, "a notion", NotionError);
  if (!Object.hasOwn(NOTIONS, String(name))) throw new NotionError(`a notion must be one of ${Object.keys(NOTIONS).join(", ")}; not ${String(name).slice(0, 40)}`);
  return NOTIONS[name](wire);
}
