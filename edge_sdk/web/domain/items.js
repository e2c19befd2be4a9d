/** Sets of items, reported one item at a time: padding and sampling (SPEC 4). */

import { array, integer, toBig, trimmed } from "../codec.js";
import { DomainError, NotInDomain } from "../errors.js";
import { MAX_VALUES } from "../runs.js";
import { labelsFrom, requireSize } from "./domain.js";

/** Sets of items, padded with dummies to l members, of which one is reported; inputs are the items, then l dummies. */
export class Items {
  kind = "items";

  /** @param {any[]} wire */
  constructor(wire) {
    const [, padding, items] = array(wire, "a domain of items", DomainError, 3);
    this.padding = integer(padding, "the padding", DomainError, 1, 2 ** 12);
    this.named = Array.isArray(items) ? labelsFrom(items) : [];
    this.count = Array.isArray(items)
      ? items.length
      : integer(items, "the number of items", DomainError, 1, MAX_VALUES);
    if (!this.count) throw new DomainError("a domain of items must have at least one item");
    for (const label of this.named) {
      if (label.includes(";")) throw new DomainError(`item "${label}" contains ";", which separates items: leave it out`);
      if (label.startsWith("(none ")) throw new DomainError(`item "${label}" begins with "(none ", like a dummy: rename the item`);
    }
    this.size = requireSize(this.count + this.padding);
    this.places = new Map(this.named.map((label, x) => [label, x]));
  }

  /** @param {number} x @returns {string} */
  label(x) {
    return x < this.count ? (this.named[x] ?? String(x + 1)) : `(none ${x - this.count + 1})`;
  }

  /** The input of a label. @param {any} label @returns {number} */
  place(label) {
    const written = String(label);
    const number = /^(\(none )?([1-9]\d{0,6})(\)?)$/.exec(written);
    const from = number?.[1] ? this.count : 0;
    const x = this.places.get(written) ?? (number && (from || !this.named.length) ? from + Number(number[2]) - 1 : -1);
    if (x < 0 || x >= this.size || this.label(x) !== written)
      throw new NotInDomain("the answer has a member that is not one of the campaign's items: choose only from them");
    return x;
  }

  /**
   * The input of the member of the padded set that the dither chooses.
   * @param {any} answer labels in an array, or as text with semicolons @param {Uint8Array} dither
   * @returns {Promise<number>}
   */
  async indexOf(answer, dither) {
    const labels = typeof answer === "string" ? answer.split(";").map(trimmed).filter(Boolean) : [answer].flat();
    const members = [...new Set(labels.map((label) => this.place(label)))].sort((one, other) => one - other);
    if ((members.at(-1) ?? 0) >= this.count) {
      if (members.length > 1) throw new NotInDomain("the answer has a dummy beside other members: give it alone, or items only");
      return members[0];
    }
    const u = toBig(dither);
    if (members.length >= this.padding) return members[Number((u * BigInt(members.length)) >> 64n)];
    const c = Number((u * BigInt(this.padding ** 2)) >> 64n);
    return members[Math.floor(c / this.padding)] ?? this.count + (c % this.padding);
  }

  describe() {
    return { kind: this.kind, size: this.count, labels: this.named, padding: this.padding };
  }
}
