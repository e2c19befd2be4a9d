/** Windows: local information privacy for a domain of any size, without a table of inputs x outputs (SPEC 5.9). */

import { array, big, integer, integers, requireIncreasing, toBig } from "../codec.js";
import { ChannelError } from "../errors.js";
import { largest, smallest } from "../exact.js";
import { MAX_VALUES } from "../runs.js";
import { Channel, Worst, cumulative, firstAbove, sum } from "./channel.js";
import { Circle, POINTS, Coverage } from "./circle.js";

/**
 * An output reserved for input `x`; its weight is `own` for this input and `other` for every other input.
 * @typedef {{x: number, own: bigint, other: bigint}} Single
 */
/**
 * A type of windows. `span` is the number of cells that a window covers. The weights of a window are: for a rare input,
 * `inside` if it covers the input and `outside` if not; `low` for a single; `heavy` for each heavy input.
 * @typedef {{span: number, inside: bigint, outside: bigint, low: bigint, heavy: bigint[]}} Type
 */

// The kinds of inputs: LOW for a single, RARE for an input with an arc; the kind of a heavy input is its index among
// the heavy inputs.
const LOW = -2;
const RARE = -1;

/**
 * A windows channel: its outputs are the singles, the output `rest` with the remaining probability, and the windows on
 * the circle by type.
 */
export class Windows extends Channel {
  /** @param {any[]} wire */
  constructor(wire) {
    const parts = array(wire, "a windows channel", ChannelError, 7);
    const arcs = integers(parts[1], "an arc", ChannelError, 0, 2 ** 53);
    const cells = integer(parts[2], "the number of cells", ChannelError, 1, 2 ** 24);
    const orders = integer(parts[3], "the number of orders", ChannelError, 1, 256);
    const heavies = integers(parts[4], "a heavy input", ChannelError, 0, MAX_VALUES);
    const weights = (/** @type {any} */ list) =>
      array(list, "weights", ChannelError).map((weight) => big(weight, "a weight", ChannelError));
    const flat = weights(parts[5]);
    if (flat.length % 3) throw new ChannelError("singles must be triples of an input and two weights");
    /** @type {Single[]} */
    const singles = [];
    for (let i = 0; i < flat.length; i += 3) singles.push({ x: Number(flat[i]), own: flat[i + 1], other: flat[i + 2] });
    /** @type {Type[]} */
    const types = array(parts[6], "the types of windows", ChannelError).map((one) => {
      const numbers = weights(one);
      const [span, inside, outside, low, ...heavy] = numbers;
      if (numbers.length < 4) throw new ChannelError(`a type of windows must have 4 numbers or more, not ${numbers.length}`);
      return { span: Number(span), inside, outside, low, heavy };
    });
    const k = arcs.length;
    const length = sum(arcs);
    const outputs = singles.length + 1 + types.length * orders * cells;
    super(wire, k, outputs, 128 + Math.log2(orders), 17);
    if (k < 2 || k > MAX_VALUES) throw new ChannelError(`a channel must have 2 to ${MAX_VALUES} inputs, not ${k}`);
    if (length === Infinity) throw new ChannelError("the arcs must sum to at most 2^53");
    if (orders & (orders - 1)) throw new ChannelError(`the number of orders of a windows channel must be a power of two, at most 256, not ${orders}`);
    if (outputs < 2 || outputs > 2 ** 24)
      throw new ChannelError(`a windows channel must have 2 to 2^24 outputs, not ${outputs}`);
    const named = singles.map(({ x }) => x);
    requireIncreasing(heavies, "heavy inputs", ChannelError);
    requireIncreasing(named, "singles", ChannelError);
    const roles = arcs.map((arc) => (arc ? 1 : 0));
    for (const x of integers([...heavies, ...named], "a heavy input or a single", ChannelError, 0, k - 1)) roles[x]++;
    const wrong = roles.findIndex((count) => count !== 1);
    if (wrong >= 0) throw new ChannelError(`each input must be exactly one of rare (with an arc), heavy and single; input ${wrong} is not`);
    if (types.length && !length) throw new ChannelError("a windows channel with types must have an input with an arc");
    if (!types.length && named.length < k)
      throw new ChannelError(`a windows channel without types must have a single for each of ${k} inputs, not ${named.length}`);
    if (!types.length && (cells !== 1 || orders !== 1))
      throw new ChannelError(`a windows channel without types must have 1 cell and 1 order, not ${cells} and ${orders}`);
    for (const { span, inside, outside, heavy } of types) {
      if (heavy.length !== heavies.length)
        throw new ChannelError(`a type of windows must have one weight for each heavy input: ${heavies.length} in all, not ${heavy.length}`);
      if (span > cells) throw new ChannelError(`a window must span 0 to ${cells} cells, not ${span}`);
      if (inside < outside)
        throw new ChannelError(`the inside weight of a window must be at least its outside weight, ${outside}, not ${inside}`);
      if (span % cells === 0 && inside !== outside)
        throw new ChannelError(`a window of no or all cells must have the same weight inside and outside, not ${inside} and ${outside}`);
    }
    for (const { own, other } of singles)
      if (other > own)
        throw new ChannelError(`the weights of a single's output must satisfy 0 <= other <= own, not other = ${other} and own = ${own}`);
    this.arcs = arcs;
    this.cells = cells;
    this.orders = orders;
    this.heavies = heavies;
    this.singles = singles;
    this.types = types;
    this.circle = new Circle(arcs, cells, length);
    this.placeOf = new Map(heavies.map((x, place) => [x, place]));
    this.singleOf = new Map(singles.map(({ x }, y) => [x, y]));
    this.others = cumulative(singles.map(({ other }) => other));
    /** The cumulative weights of the types, for each kind of input. @type {Map<number, bigint[]>} */
    this.ends = new Map();
    for (const kind of [RARE, LOW, ...heavies.keys()]) {
      const taken = types.map((type) => {
        const [inside, outside] = this.pairOf(type, kind);
        return BigInt(type.span) * inside + BigInt(cells - type.span) * outside;
      });
      this.ends.set(kind, cumulative(taken));
    }
    const least = [RARE, ...heavies.keys()].map((kind) => this.restOf(kind));
    const rest = smallest([...least, ...singles.map(({ own, other }) => this.restOf(LOW) - own + other)]);
    if (rest < 0n) throw new ChannelError(`the weights of an input must sum to at most 2^64, not to ${2n ** 64n - rest}`);
    const beside = 2 * k + 8 * singles.length;
    const wide =
      length && 2 * Number((BigInt(largest(arcs)) * BigInt(cells) + BigInt(length) - 1n) / BigInt(length)) + 1;
    const halves = sum(types.map(({ span }) => (wide <= span && span <= cells - wide ? 1 : 4)));
    const kinds = (heavies.length + singles.length + 8) * types.length;
    const rare = this.circle.rare.length;
    this.priorSteps = beside + (types.length && orders * (rare + kinds + Math.floor((cells * (8 + halves)) / 2)));
    this.numbersHeld = types.length && orders * (cells + rare);
  }

  /**
   * The weight of a window that covers an input of a kind, and of a window that does not.
   * @param {Type} type @param {number} kind
   */
  pairOf(type, kind) {
    if (kind === RARE) return [type.inside, type.outside];
    const flat = kind === LOW ? type.low : type.heavy[kind];
    return [flat, flat];
  }

  /** The kind of an input. @param {number} x */
  kindOf(x) {
    return this.arcs[x] ? RARE : (this.placeOf.get(x) ?? LOW);
  }

  /** The cumulative weights of the types for a kind. @param {number} kind @returns {bigint[]} */
  endsOf(kind) {
    return this.ends.get(kind) ?? [];
  }

  /** The weight over 2^64 of the output `rest`; for singles, before their bonus is subtracted. @param {number} kind */
  restOf(kind) {
    return POINTS - (this.endsOf(kind).at(-1) ?? 0n) - (this.others.at(-1) ?? 0n);
  }

  /** The additional weight of a single on its own output; 0 for other inputs. @param {number} x @returns {bigint} */
  bonus(x) {
    const { own, other } = this.singles[this.singleOf.get(x) ?? -1] ?? { own: 0n, other: 0n };
    return own - other;
  }

  /** The weight over 2^64 of the output `rest` for an input. @param {number} x */
  rest(x) {
    return this.restOf(this.kindOf(x)) - this.bonus(x);
  }

  /** @param {number} x @param {number} y */
  weight(x, y) {
    const lift = BigInt(this.scale - 64);
    const single = this.singles[y];
    if (single) return (single.x === x ? single.own : single.other) << lift;
    if (y === this.singles.length) return this.rest(x) << lift;
    const place = y - this.singles.length - 1;
    const [window, row] = [place % this.cells, Math.floor(place / this.cells)];
    const type = this.types[Math.floor(row / this.orders)];
    const kind = this.kindOf(x);
    const [inside, outside] = this.pairOf(type, kind);
    const points = kind === RARE ? this.circle.covered(row % this.orders, x, window, type.span) : 0n;
    return (outside << 64n) + (inside - outside) * points;
  }

  /** @param {number} x @param {Uint8Array} rand */
  sample(x, rand) {
    const d = toBig(rand.subarray(0, 8));
    const r = rand[16] % this.orders;
    const kind = this.kindOf(x);
    const ends = this.endsOf(kind);
    const cell = BigInt(this.circle.cell(r, x, toBig(rand.subarray(8, 16))));
    const t = firstAbove(ends, d);
    if (t < ends.length) {
      const [inside, outside] = this.pairOf(this.types[t], kind);
      const o = d - (ends[t - 1] ?? 0n);
      const beyond = o - BigInt(this.types[t].span) * inside;
      const cells = BigInt(this.cells);
      const j = beyond < 0n ? cell - o / inside : cell + 1n + beyond / outside;
      return this.singles.length + 1 + (t * this.orders + r) * this.cells + Number(((j % cells) + cells) % cells);
    }
    const left = d - (ends.at(-1) ?? 0n) - this.bonus(x);
    return left < 0n ? (this.singleOf.get(x) ?? 0) : firstAbove(this.others, left);
  }

  /** @param {number[]} first @param {number[]} second */
  pairSteps(first, second) {
    return 64 + first.length + second.length + this.priorSteps;
  }

  /** A set of inputs, grouped by the kinds that determine their weights. @param {number[]} inputs */
  kinds(inputs) {
    const members = new Set(inputs);
    const heavies = this.heavies.filter((x) => members.has(x));
    const named = this.singles.filter(({ x }) => members.has(x)).map(({ x }) => x);
    const rare = members.size - heavies.length - named.length;
    const one = inputs.find((x) => this.arcs[x]);
    return {
      named: new Set(named),
      rare: rare === this.circle.rare.length ? null : new Set(inputs.filter((x) => this.arcs[x])),
      rests: [...heavies, ...named, ...(one === undefined ? [] : [one])].map((x) => this.rest(x)),
      only: members.size === 1 ? named[0] : undefined,
      /** The weights over 2^128 of a window for the inputs without an arc. @param {Type} type */
      flat: (type) =>
        [...heavies.map((x) => type.heavy[this.placeOf.get(x) ?? 0]), ...(named.length ? [type.low] : [])].map(
          (w) => w << 64n,
        ),
    };
  }

  /** @param {number[]} first @param {number[]} second */
  loss(first, second) {
    const worst = new Worst();
    const [some, others] = [this.kinds(first), this.kinds(second)];
    for (const { x, own, other } of this.singles)
      worst.look(some.named.has(x) ? own : other, others.only === x ? own : other);
    worst.look(largest(some.rests), smallest(others.rests));
    for (let order = 0; this.types.length && order < this.orders; order++) {
      const covers = new Coverage(this.circle, order, some.rare);
      const misses = some.rare === others.rare ? covers : new Coverage(this.circle, order, others.rare);
      for (const type of this.types) {
        const { span, inside, outside } = type;
        const [slope, beside] = [inside - outside, this.cells - span];
        const [tops, bottoms] = [some.flat(type), others.flat(type)];
        // If every window covers a whole arc of the first set and misses a whole arc of the second, all windows have the
        // same worst ratio.
        const alike = covers.widest <= span && misses.widest <= beside;
        for (let j = 0; j < (alike ? 1 : this.cells); j++) {
          const top = covers.size ? [(outside << 64n) + slope * covers.largestPart(j, span), ...tops] : tops;
          const bottom = misses.size
            ? [(inside << 64n) - slope * misses.largestPart((j + span) % this.cells, beside), ...bottoms]
            : bottoms;
          worst.look(largest(top), smallest(bottom));
        }
      }
    }
    return worst;
  }

  /** @param {number[]} prior */
  lossAgainstPrior(prior) {
    const worst = new Worst();
    const total = BigInt(sum(prior));
    const look = (/** @type {bigint} */ high, /** @type {bigint} */ low, /** @type {bigint} */ marginal) =>
      worst.look(high * total, marginal).look(marginal, low * total);
    const massOf = (/** @type {number[]} */ inputs) => BigInt(sum(inputs.map((x) => prior[x])));
    const everything = this.kinds([...this.arcs.keys()]);
    for (const { x, own, other } of this.singles) look(own, other, other * total + (own - other) * BigInt(prior[x]));
    const { rare } = this.circle;
    const rareMass = massOf(rare);
    const named = [...this.heavies, ...this.singleOf.keys()].map((x) => BigInt(prior[x]) * this.rest(x));
    const restOfAll = named.reduce((one, other) => one + other, rare.length ? this.rest(rare[0]) * rareMass : 0n);
    look(largest(everything.rests), smallest(everything.rests), restOfAll);
    const lows = massOf([...this.singleOf.keys()]);
    for (let order = 0; this.types.length && order < this.orders; order++) {
      const masses = this.circle.masses(order, prior);
      const coverage = new Coverage(this.circle, order, null);
      // Compare as floats first, and skip masses that can be neither the least nor the largest; compare the others
      // exactly, as bigints.
      const rough = Float64Array.from(masses, Number);
      const near = rough[2 * this.cells] * 2 ** -50;
      for (const type of this.types) {
        const { span, inside, outside } = type;
        const slope = inside - outside;
        const heavy = this.heavies.reduce((before, x, place) => before + BigInt(prior[x]) * type.heavy[place], 0n);
        const base = (heavy + type.low * lows + outside * rareMass) << 64n;
        const flat = everything.flat(type);
        // Among the windows with the same largest coverage of an arc, the least probable one is the worst.
        const [rarest, mostFrequent] = [new Map(), new Map()];
        const [whole, bare] = [coverage.widest <= span, coverage.widest <= this.cells - span];
        let [least, most] = [masses[span] - masses[0], 0n];
        let [low, high] = [Number(least) + near, -near];
        for (let j = 0; j < this.cells; j++) {
          const about = rough[j + span] - rough[j];
          if (whole && bare && about > low && about < high) continue;
          const mass = masses[j + span] - masses[j];
          if (mass < least) [least, low] = [mass, about + near];
          if (mass > most) [most, high] = [mass, about - near];
          const covered = whole ? POINTS : coverage.largestPart(j, span);
          const missed = bare ? POINTS : coverage.largestPart((j + span) % this.cells, this.cells - span);
          if (!whole && !(rarest.get(covered) <= mass)) rarest.set(covered, mass);
          if (!bare && !(mostFrequent.get(missed) >= mass)) mostFrequent.set(missed, mass);
        }
        if (whole) rarest.set(POINTS, least);
        if (bare) mostFrequent.set(POINTS, most);
        for (const [covered, mass] of rarest)
          worst.look(largest([(outside << 64n) + slope * covered, ...flat]) * total, base + slope * mass);
        for (const [missed, mass] of mostFrequent)
          worst.look(base + slope * mass, smallest([(inside << 64n) - slope * missed, ...flat]) * total);
      }
    }
    return worst;
  }

  get ballSteps() {
    return this.outputCount * (96 + 32 * (this.heavies.length + this.singles.length));
  }

  /**
   * All columns: the arcs inside the window, the arcs cut by its ends, and all other inputs.
   * @param {number[]} prior
   */
  *outputsUnder(prior) {
    const lift = BigInt(this.scale - 64);
    const total = sum(prior);
    const flat = [...this.heavies, ...this.singleOf.keys()];
    for (const { x, own, other } of this.singles)
      yield withMass([
        [own << lift, prior[x]],
        [other << lift, total - prior[x]],
      ]);
    const { rare } = this.circle;
    const mass = sum(rare.map((x) => prior[x]));
    const shared = rare.length ? this.rest(rare[0]) : 0n;
    yield withMass([[shared << lift, mass], ...flat.map((x) => weighed(this.rest(x) << lift, prior[x]))]);
    for (let order = 0; this.types.length && order < this.orders; order++) {
      const { sequence } = this.circle.layout(order);
      const { cut, before } = this.circle.cutsOf(order);
      let end = 0;
      const ends = sequence.map((x) => (end += prior[x]));
      for (const type of this.types) {
        const { span, inside, outside } = type;
        const weight = (/** @type {bigint} */ points) => (outside << 64n) + (inside - outside) * points;
        const named = flat.map((x) => weighed(this.pairOf(type, this.kindOf(x))[0] << 64n, prior[x]));
        for (let j = 0; j < this.cells; j++) {
          const [last, round] = [(j + span) % this.cells, j + span >= this.cells];
          const [here, there] = [cut[j], cut[last]];
          const masses = [here, there].map((place) => prior[sequence[place]]);
          if (here === there) {
            const points = before[last] - before[j] + (round ? POINTS : 0n);
            // A window with both ends in one arc covers all other arcs if it goes round the circle, and none otherwise.
            const others = mass - masses[0];
            yield withMass([[weight(points), masses[0]], [weight(round ? POINTS : 0n), others], ...named]);
            continue;
          }
          const whole = ends[there] - masses[1] + (round ? mass : 0) - ends[here];
          yield withMass([
            [weight(POINTS - before[j]), masses[0]],
            [weight(before[last]), masses[1]],
            [weight(POINTS), whole],
            [weight(0n), mass - masses[0] - masses[1] - whole],
            ...named,
          ]);
        }
      }
    }
  }
}

/**
 * A weight with the prior mass of the inputs that have it.
 * @param {bigint} weight @param {number} mass @returns {[bigint, number]}
 */
const weighed = (weight, mass) => [weight, mass];

/** The parts with a mass above zero. @param {[bigint, number][]} parts @returns {[bigint, number][]} */
const withMass = (parts) => parts.filter((part) => part[1]);
