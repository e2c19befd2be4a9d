/** The points of a projective geometry over a field of q elements, and their orthogonality (SPEC 5.4). */

import { integer } from "../codec.js";
import { ChannelError } from "../errors.js";
import { MAX_VALUES } from "../runs.js";
import { sum } from "./channel.js";

/**
 * The arithmetic of the field of q elements, the numbers 0 .. q - 1; q is a prime, 4, 8 or 9.
 * @param {number} q
 * @returns {{add: (a: number, b: number) => number, times: (a: number, b: number) => number, minusOne: number}}
 */
function fieldOf(q) {
  const known = /** @type {Record<number, [number, number]>} */ ({ 4: [2, 3], 8: [2, 3], 9: [3, 2] });
  // q = p^e, and `reduced` is the element z^e.
  const [p, reduced] = known[q] ?? [q, 0];
  if (p === q) return { add: (a, b) => (a + b) % q, times: (a, b) => (a * b) % q, minusOne: q - 1 };
  const add = (/** @type {number} */ a, /** @type {number} */ b) => {
    let total = 0;
    for (let unit = 1; unit < q; unit *= p) total += ((Math.floor(a / unit) + Math.floor(b / unit)) % p) * unit;
    return total;
  };
  const times = (/** @type {number} */ a, /** @type {number} */ b) => {
    let product = 0;
    for (let unit = q / p; unit >= 1; unit /= p) {
      const over = Math.floor((product * p) / q);
      product = (product * p) % q;
      for (let i = 0; i < over; i++) product = add(product, reduced);
      for (let i = 0; i < Math.floor(b / unit) % p; i++) product = add(product, a);
    }
    return product;
  };
  const table = (/** @type {(a: number, b: number) => number} */ of) =>
    Uint8Array.from({ length: q * q }, (_, at) => of(Math.floor(at / q), at % q));
  const [sums, products] = [table(add), table(times)];
  return { add: (a, b) => sums[a * q + b], times: (a, b) => products[a * q + b], minusOne: p - 1 };
}

/** The points of PG(t-1, q), numbered in the order of SPEC 5.4; the first k are the inputs. */
export class ProjectiveGeometry {
  /** @param {number} k inputs @param {any} order @param {any} dimension */
  constructor(k, order, dimension) {
    if (k < 2 || k > MAX_VALUES) throw new ChannelError(`a channel must have 2 to ${MAX_VALUES} inputs, not ${k}`);
    const q = integer(order, "the order of a field", ChannelError, 2, MAX_VALUES - 1);
    for (let divisor = 2; divisor * divisor <= q && ![4, 8, 9].includes(q); divisor++)
      if (q % divisor === 0) throw new ChannelError(`the order of a projective channel's field must be a prime, or 4, 8 or 9; not ${q}`);
    const t = integer(dimension, "the number of coordinates", ChannelError, 2, 24);
    const [powers, firsts] = [[1], [0]];
    for (let f = 0; f < t; f++) {
      firsts.push(firsts[f] + powers[f]);
      powers.push(powers[f] * q);
    }
    const [support, points] = firsts.slice(-2);
    if (!(k <= points && points <= 2 ** 24)) throw new ChannelError(`${k} inputs need a geometry of ${k} to 2^24 points, not ${points}`);
    this.inputCount = k;
    this.q = q;
    this.t = t;
    this.powers = powers;
    /** The number of the first point with f coordinates after its leading 1, by f. */
    this.firsts = firsts;
    this.field = fieldOf(q);
    this.points = points;
    this.support = support;
    let entries = 0;
    for (const [f, used] of this.used()) entries += used * firsts[f];
    /** Number of audit steps of `masses`. */
    this.massSteps = Math.floor((3 * entries) / 4) + 4 * points * this.used().length;
  }

  /** Pairs of f and the number of inputs with f coordinates after their leading 1. @returns {[number, number][]} */
  used() {
    const used = this.powers.slice(0, this.t).map((power, f) => [f, Math.min(power, this.inputCount - this.firsts[f])]);
    return /** @type {[number, number][]} */ (used.filter(([, count]) => count > 0));
  }

  /** The last `length` digits in base q, the most significant first. @param {number} number @param {number} length */
  digits(number, length) {
    const found = Array(length);
    for (let place = length - 1; place >= 0; place--) {
      found[place] = number % this.q;
      number = Math.floor(number / this.q);
    }
    return found;
  }

  /**
   * The canonical vector of a point, whose first coordinate that is not 0 is 1.
   * @param {number} point @param {number} length
   * @returns {number[]}
   */
  canonical(point, length) {
    let free = length - 1;
    while (this.firsts[free] > point) free--;
    return this.digits(this.powers[free] + point - this.firsts[free], length);
  }

  /** The point of a vector that is not all 0. @param {number[]} vector @returns {number} */
  point(vector) {
    const factor = this.inverse(vector.find((coordinate) => coordinate) ?? 1);
    const number = vector.reduce((before, one) => before * this.q + this.field.times(one, factor), 0);
    const free = this.powers.findLastIndex((least) => least <= number);
    return number - this.powers[free] + this.firsts[free];
  }

  /** The dot product. @param {number[]} one @param {number[]} other @returns {number} */
  product(one, other) {
    const { add, times } = this.field;
    return one.reduce((total, coordinate, place) => add(total, times(coordinate, other[place])), 0);
  }

  /** True if two points are orthogonal. @param {number} x @param {number} y @returns {boolean} */
  orthogonal(x, y) {
    return !this.product(this.canonical(x, this.t), this.canonical(y, this.t));
  }

  /**
   * The output at a position among the outputs that are, or are not, orthogonal to x.
   * @param {number} x @param {number} place @param {boolean} near true for the orthogonal ones
   */
  output(x, place, near) {
    const own = this.canonical(x, this.t);
    const pivot = own.indexOf(1);
    const y = near ? this.canonical(place, this.t - 1) : this.digits(place, this.t - 1);
    y.splice(pivot, 0, 0);
    y[pivot] = this.field.add(Number(!near), this.negative(this.product(own, y)));
    return this.point(y);
  }

  /** The multiplicative inverse: the power q - 2. @param {number} element not 0 */
  inverse(element) {
    const { times } = this.field;
    let [found, power] = [1, element];
    for (let exponent = this.q - 2; exponent > 0; exponent >>= 1) {
      if (exponent & 1) found = times(found, power);
      power = times(power, power);
    }
    return found;
  }

  /** The additive inverse. @param {number} element */
  negative(element) {
    return this.field.times(this.field.minusOne, element);
  }

  /**
   * The mass of the inputs orthogonal to each output. For an input (1, rest) with f coordinates after its
   * leading 1, only the last f + 1 coordinates (d, low) of an output matter: they are orthogonal if d + <rest, low> is
   * 0. So one table over (d, low) is enough for all outputs.
   * @param {number[]} prior
   * @returns {Float64Array}
   */
  masses(prior) {
    const found = new Float64Array(this.points);
    for (const [free, used] of this.used()) {
      const table = this.massTable(free, prior.slice(this.firsts[free], this.firsts[free] + used));
      for (let length = 0; length < this.t; length++) {
        const [start, count] = [this.firsts[length], this.powers[length]];
        // An output with at most f coordinates after its leading 1 has an entry; for others the table repeats.
        const shift = length <= free ? count : 0;
        for (let i = 0; i < count; i++) found[start + i] += table[(i + shift) % table.length];
      }
    }
    return found;
  }

  /**
   * The mass of the inputs (1, rest) with d + <rest, low> = 0, by the number of (d, low).
   * @param {number} free @param {number[]} prior
   */
  massTable(free, prior) {
    const { q } = this;
    const { add, times } = this.field;
    const size = this.powers[free];
    // If all coordinates of a point are used, its first one is 0 or 1, so no other d is needed.
    const width = free < this.t - 1 ? q : 2;
    const table = new Float64Array(size * width);
    // With low = 0, the condition is true for all inputs if d = 0, and for no input otherwise.
    table[0] = sum(prior);
    for (let place = 0; place < this.firsts[free]; place++) {
      const low = this.canonical(place, free);
      let products = [0];
      low.forEach((coordinate, digit) => {
        const most = Math.ceil(prior.length / this.powers[free - digit - 1]);
        const next = [];
        for (const product of products)
          for (let value = 0; value < q && next.length < most; value++)
            next.push(add(product, times(coordinate, value)));
        products = next;
      });
      const sums = new Float64Array(q);
      for (let i = 0; i < prior.length; i++) sums[products[i]] += prior[i];
      for (let factor = 1; factor < q; factor++) {
        // A nonzero multiple of (d, low) is orthogonal to the same inputs.
        const number = low.reduce((before, one) => before * q + times(factor, one), 0);
        const share = this.inverse(this.negative(factor));
        for (let d = 0; d < width; d++) table[d * size + number] = sums[times(share, d)];
      }
    }
    return table;
  }
}
