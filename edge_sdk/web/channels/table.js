/** Tables: any explicit matrix, for small domains (SPEC 5.1). */

import { array, big, toBig } from "../codec.js";
import { ChannelError } from "../errors.js";
import { Channel, Worst, cumulative, firstAbove } from "./channel.js";

/** An explicit channel; each row sums to 2^62. */
export class Table extends Channel {
  /** @param {any[]} wire */
  constructor(wire) {
    const rows = array(array(wire, "a table channel", ChannelError, 2)[1], "a table", ChannelError).map((row) =>
      array(row, "a table's row", ChannelError).map((cell) => big(cell, "a weight", ChannelError, 0, 2n ** 62n)),
    );
    const outputs = rows[0]?.length ?? 0;
    if (rows.length < 2 || outputs < 2 || rows.length * outputs > 2 ** 20)
      throw new ChannelError(`a table must have at least 2 inputs, 2 outputs and at most 2^20 cells, not ${rows.length} x ${outputs}`);
    super(wire, rows.length, outputs, 62, 8);
    this.rows = rows;
    rows.forEach((row, x) => {
      if (row.length !== outputs) throw new ChannelError(`row ${x} must have as many outputs as row 0: ${outputs}, not ${row.length}`);
      const total = cumulative(row).at(-1);
      if (total !== 2n ** 62n) throw new ChannelError(`the weights of row ${x} must sum to 2^62, not to ${total}`);
    });
    this.priorSteps = this.inputCount * outputs;
  }

  /** @param {number} x @param {number} y */
  weight(x, y) {
    return this.rows[x][y];
  }

  /** @param {number} x @param {Uint8Array} rand */
  sample(x, rand) {
    return firstAbove(cumulative(this.rows[x]), toBig(rand) >> 2n);
  }

  /** @param {number[]} first @param {number[]} second */
  pairSteps(first, second) {
    return 64 + this.outputCount * (first.length + second.length);
  }

  /** @param {number[]} first @param {number[]} second */
  loss(first, second) {
    const worst = new Worst();
    for (let y = 0; y < this.outputCount; y++) {
      let [most, least] = [0n, 2n ** 62n];
      for (const x of first) if (this.rows[x][y] > most) most = this.rows[x][y];
      for (const x of second) if (this.rows[x][y] < least) least = this.rows[x][y];
      worst.look(most, least);
    }
    return worst;
  }
}
