/** The texts of a campaign: their limits, and their translations (SPEC 7.1). */

import { requireLink } from "./address.js";
import { array, readable, requireIncreasing, requireName, text, trimmed } from "./codec.js";
import { CampaignError } from "./errors.js";

/**
 * A campaign's texts in one language; a missing text is empty.
 * @typedef {object} Texts
 * @property {string} language
 * @property {string} title
 * @property {string} question
 * @property {string} purpose
 * @property {string} organisation
 * @property {string} contact
 * @property {string} retention
 * @property {string} notice
 * @property {string[]} labels the domain's labels and units, and the names of the views' districts, in order
 * @property {string[]} classes
 */

/** The fields of a translation that are one text each, in their order on the wire. */
export const TEXTS = ["language", "title", "question", "purpose", "organisation", "contact", "retention", "notice"];

/**
 * Refuse a text that is too long, has invisible characters or more than one line.
 * @param {string} value @param {string} what @param {number} most
 */
export function requireText(value, what, most) {
  if ([...value].length > most) throw new CampaignError(`the ${what} must have at most ${most} characters, not ${[...value].length}`);
  if (!readable(value)) throw new CampaignError(`the ${what} has a character that is not allowed: leave out control codes, invisible characters and changes of direction`);
}

/** Require labels, units or names of classes. @param {any} value @param {string} what @returns {string[]} */
const namesFrom = (value, what) =>
  array(value, what, CampaignError).map((name) => requireName(name, `one of ${what}`, CampaignError));

/** Require the names of classes. @param {any} value @returns {string[]} */
export function classNamesFrom(value) {
  const names = namesFrom(value, "the classes");
  if (new Set(names).size < names.length) throw new CampaignError("two classes have the same name: rename one");
  return names;
}

/** Refuse texts outside their limits. @param {Texts} texts @returns {Texts} */
export function checked(texts) {
  if (texts.language && !/^[a-z]{2,3}(-[a-z0-9]{2,8}){0,3}$/.test(texts.language))
    throw new CampaignError("a language must be a tag in lower case, such as de, pt-br or zh-hant");
  for (const name of /** @type {const} */ (["title", "question"]))
    if (!trimmed(texts[name])) throw new CampaignError(`the ${name} is empty, and the person must see it before consent: write one`);
  if (texts.organisation && !trimmed(texts.organisation)) throw new CampaignError("the organisation's name is only blanks: write the name; a translation may leave it empty");
  for (const name of /** @type {const} */ (["title", "organisation", "contact"])) requireText(texts[name], name, 200);
  for (const name of /** @type {const} */ (["question", "purpose", "retention"]))
    requireText(texts[name].replaceAll("\n", " "), name, 2000);
  if (texts.notice) requireLink(texts.notice);
  return texts;
}

/** The translation of a wire form. @param {any} wire @returns {Texts} */
function translationFrom(wire) {
  const parts = array(wire, "a translation", CampaignError, 10);
  const fields = TEXTS.map((name, place) => [name, text(parts[place], `a translation's ${name}`, CampaignError)]);
  const [labels, classes] = [namesFrom(parts[8], "the labels"), classNamesFrom(parts[9])];
  return checked({ .../** @type {any} */ (Object.fromEntries(fields)), labels, classes });
}

/** The translations of a campaign's own texts. @param {any} wire @param {Texts} own @returns {Texts[]} */
export function translationsFrom(wire, own) {
  const found = array(wire, "the translations", CampaignError).map(translationFrom);
  if (found.length > 32) throw new CampaignError(`a campaign must have at most 32 translations, not ${found.length}`);
  if (found.length && !own.language)
    throw new CampaignError("the campaign has translations, but does not name the language of its own texts: name it");
  found.forEach(({ language, labels, classes }) => {
    if (!language) throw new CampaignError("a translation does not name its language: name it");
    if (language === own.language) throw new CampaignError(`the campaign is written in "${language}": leave out the translation into it`);
    if (
      (labels.length && labels.length !== own.labels.length) ||
      (classes.length && classes.length !== own.classes.length)
    )
      throw new CampaignError(`the translation "${language}" must translate each label, unit, district and class, in order, or none`);
  });
  requireIncreasing(found.map(({ language }) => language), "the language tags of translations", CampaignError);
  return found;
}

/**
 * The texts for a reader of a language (RFC 4647, 3.4): the campaign's own, or a translation, whose empty texts are
 * replaced by the campaign's own.
 * @param {Texts} own @param {Texts[]} translations @param {string} language as a system writes it: de, de-AT, de_AT
 * @returns {Texts}
 */
export function textsFor(own, translations, language) {
  const parts = language.toLowerCase().replaceAll("_", "-").split("-");
  for (; parts.length; parts.pop()) {
    const tag = parts.join("-");
    if (tag === own.language) return own;
    const there = translations.find((one) => one.language === tag);
    if (there) return { ...own, ...Object.fromEntries(Object.entries(there).filter(([, translated]) => translated.length)) };
  }
  return own;
}
