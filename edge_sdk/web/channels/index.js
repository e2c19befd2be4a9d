/** The families of channels by their names on the wire (SPEC 5). */

import { array } from "../codec.js";
import { ChannelError } from "../errors.js";
import { Bits } from "./bits.js";
import { Blocks } from "./blocks.js";
import { Hadamard } from "./hadamard.js";
import { Noise } from "./noise.js";
import { GradedProjective, ProjectiveResponse } from "./projective.js";
import { RandomizedResponse } from "./response.js";
import { SubsetSelection, Triples } from "./sets.js";
import { Table } from "./table.js";
import { Wave } from "./wave.js";
import { Windows } from "./windows.js";

/** @typedef {import("./channel.js").Channel} Channel */

/** @type {Record<string, new (wire: any[]) => Channel>} */
const FAMILIES = {
  table: Table,
  response: RandomizedResponse,
  hadamard: Hadamard,
  projective: ProjectiveResponse,
  subset: SubsetSelection,
  bits: Bits,
  blocks: Blocks,
  noise: Noise,
  windows: Windows,
  triples: Triples,
  wave: Wave,
  graded: GradedProjective,
};

/**
 * The channel of a wire form.
 * @param {any} wire
 * @returns {Channel}
 * @throws {ChannelError} unknown family, wrong fields, or an invalid channel
 */
export function channelFrom(wire) {
  const [family] = array(wire, "a channel", ChannelError);
  if (!Object.hasOwn(FAMILIES, String(family)))
    throw new ChannelError(`a channel's family must be one of ${Object.keys(FAMILIES).join(", ")}`);
  return new FAMILIES[family](wire);
}
