/** Forms: several named questions, each with its own domain (SPEC 4). An input is a list of one input per question. */

import { array, concat, integer, readable, text, trimmed } from "../codec.js";
import { DomainError, NotInDomain } from "../errors.js";
import { sha256 } from "../keys.js";
import { requireSize } from "./domain.js";

const SKIPPED = "skipped";

/**
 * @typedef {object} Question
 * @property {string} name the key of its answer
 * @property {string} text shown to the person
 * @property {import("./domain.js").Domain} domain
 * @property {boolean} skippable
 * @property {number} size number of inputs, including "skipped" if it can be skipped
 */

/** Two to 32 questions, answered by a mapping from their names. */
export class Form {
  kind = "form";
  size = Infinity;

  /** @param {any[]} wire @param {(wire: any) => import("./domain.js").Domain} domainFrom of one question */
  constructor(wire, domainFrom) {
    const questions = array(array(wire, "a form", DomainError, 2)[1], "the questions", DomainError);
    if (questions.length < 2 || questions.length > 32) throw new DomainError(`a form must have 2 to 32 questions, not ${questions.length}`);
    this.questions = questions.map((one) => question(one, domainFrom));
    if (new Set(this.questions.map(({ name }) => name)).size < questions.length)
      throw new DomainError("two questions of the form have the same name: rename one");
    this.named = this.questions.flatMap(({ domain }) => domain.named);
  }

  /** The label of an input of a question. @param {number} place @param {number} x @returns {string} */
  labelOf(place, x) {
    const { domain } = this.questions[place];
    return x === domain.size ? SKIPPED : domain.label(x);
  }

  /** @returns {string} */
  label() {
    throw new RangeError("a form has too many inputs to list: use labelOf");
  }

  /**
   * The input of each question; 0 for a question that is not asked.
   * @param {any} answer an object from names to answers, with null for a skipped one; or text
   * @param {Uint8Array} dither @param {number[]} [asked] indices of the asked questions; by default all
   * @returns {Promise<number[]>}
   */
  async indexOf(answer, dither, asked = [...this.questions.keys()]) {
    if (typeof answer !== "string" && (typeof answer !== "object" || !answer || Array.isArray(answer)))
      throw new NotInDomain(`the answer to a form must be a mapping from the names of the asked questions to answers, not ${typeof answer}`);
    const given = typeof answer === "string" ? this.parse(answer) : new Map(Object.entries(answer));
    const names = asked.map((place) => this.questions[place].name);
    for (const name of given.keys())
      if (!names.includes(name)) throw new NotInDomain(`this device is asked only ${names.join(", ")}: leave the other answers out`);
    const found = this.questions.map(() => 0);
    for (const place of asked) {
      const { name, domain, skippable } = this.questions[place];
      const part = given.get(name) ?? null;
      if (part === null && !skippable)
        throw new NotInDomain(`question "${name}" has no answer, and it cannot be skipped: answer it`);
      const own = (await sha256(concat("halftruth question\0", dither, [place]))).slice(0, 8);
      try {
        found[place] = part === null ? domain.size : await domain.indexOf(part, own);
      } catch (error) {
        throw error instanceof NotInDomain ? new NotInDomain(`question "${name}": ${error.message}`) : error;
      }
    }
    return found;
  }

  /** The answers by name, from text. @param {string} written name=answer; ... @returns {Map<string, string | null>} */
  parse(written) {
    const found = new Map();
    for (const part of written.split(";")) {
      const [head, ...rest] = part.split("=");
      const asked = this.questions.find(({ name }) => name === trimmed(head));
      if (!asked || !rest.length || found.has(asked.name))
        throw new NotInDomain("the answer must be name=answer; name=answer, with each question at most once");
      const value = trimmed(rest.join("="));
      found.set(asked.name, asked.skippable && value === SKIPPED ? null : value);
    }
    return found;
  }

  describe() {
    const questions = this.questions.map(({ domain, ...rest }) => ({ ...rest, domain: domain.describe() }));
    return { kind: this.kind, questions };
  }
}

/**
 * The question of a wire form.
 * @param {any} wire @param {(wire: any) => import("./domain.js").Domain} domainFrom
 * @returns {Question}
 */
function question(wire, domainFrom) {
  const parts = array(wire, "a question", DomainError, 4);
  const name = text(parts[0], "a question's name", DomainError);
  if (!/^[a-z0-9_]{1,40}$/.test(name))
    throw new DomainError(`a question's name must be 1 to 40 characters of a-z, 0-9 and _, not ${JSON.stringify(name.slice(0, 40))}`);
  const asked = text(parts[1], "a question's text", DomainError);
  if ([...asked].length > 500 || !readable(asked) || !trimmed(asked))
    throw new DomainError(`the text of question "${name}" must be 1 to 500 readable characters, not only blanks`);
  const domain = domainFrom(parts[2]);
  const skippable = integer(parts[3], "the skip flag of a question", DomainError, 0, 1) === 1;
  for (const label of domain.kind === "number" ? [] : domain.named) {
    if (label.includes(";")) throw new DomainError(`question "${name}": value "${label}" contains ";", which separates answers: leave it out`);
    if (skippable && label === SKIPPED)
      throw new DomainError(`question "${name}" can be skipped and has the value "${SKIPPED}", which means a skipped question: rename the value`);
  }
  return { name, text: asked, domain, skippable, size: requireSize(domain.size + Number(skippable)) };
}
