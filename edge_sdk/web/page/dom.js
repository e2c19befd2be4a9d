/** Elements of the page, and the function that shows a screen. */

import { say } from "./say.js";

/** @typedef {Node | string | null | false | undefined} Part */

/**
 * Create an element with its attributes, listeners and parts.
 * @param {string} name of the tag, with classes after points: "p.small"
 * @param {{[name: string]: any}} given attributes; a function is a listener to the event of this name; false and null
 *   are left out
 * @param {...(Part | Part[])} parts
 * @returns {HTMLElement & {value: string, checked: boolean}}
 */
export function el(name, given = {}, ...parts) {
  const [tag, ...classes] = name.split(".");
  const made = document.createElement(tag);
  made.className = classes.join(" ");
  return /** @type {any} */ (filled(made, given, parts));
}

/**
 * Create an element of a drawing.
 * @param {string} name @param {{[name: string]: any}} given @param {...(Part | Part[])} parts
 */
export const svg = (name, given = {}, ...parts) =>
  filled(document.createElementNS("http://www.w3.org/2000/svg", name), given, parts);

/**
 * Add attributes, listeners and parts.
 * @template {Element} T @param {T} made @param {{[name: string]: any}} given @param {(Part | Part[])[]} parts
 * @returns {T}
 */
function filled(made, given, parts) {
  for (const [name, value] of Object.entries(given))
    if (typeof value === "function") made.addEventListener(name, value);
    else if (value !== false && value !== null) made.setAttribute(name, value === true ? "" : value);
  made.append(.../** @type {(Node | string)[]} */ (parts.flat().filter((part) => part || part === "")));
  return made;
}

/** Create a button. @param {string} words @param {() => any} click @param {string} [look] a class of the style sheet */
export const button = (words, click, look = "") => el(`button.${look}`, { type: "button", click }, words);

/** Create a card with a heading. @param {string} title @param {...Part} parts */
export const card = (title, ...parts) => el("section.card", {}, title && el("h2", {}, title), parts);

/** Create a paragraph. @param {string} words @param {string} [look] a class of the style sheet */
export const p = (words, look = "") => el(`p.${look}`, {}, words);

/** Create a paragraph with an English text for somebody who helps the person. @param {string} text */
export const detail = (text) => el("p.small", {}, `${say("dialog.detail")} `, el("span", { lang: "en" }, text));

/** Create a card that is closed until the person opens it. @param {string} title @param {...Part} parts */
export const more = (title, ...parts) => el("details.card", {}, el("summary", {}, title), parts);

/** The container of the screen, and an invisible paragraph that screen readers read aloud when it changes. */
const [screen, announced] = [el("div"), el("p.announced", { role: "status" })];

/**
 * Show a screen; if it replaces another, move the focus to its heading.
 * @param {string} title @param {(Part | Part[])[]} parts @param {Part} foot shown below every screen
 * @param {string} [lang] of the title, if it is not the page's language
 */
export function show(title, parts, foot, lang) {
  const heading = el("h1", { tabindex: -1, id: "asked", lang: lang || null }, title);
  screen.replaceChildren(heading, ...el("div", {}, ...parts).childNodes, foot || "");
  const main = /** @type {HTMLElement} */ (document.getElementById("page"));
  if (!screen.parentNode) main.replaceChildren(screen, announced);
  else heading.focus();
  announced.textContent = "";
  document.title = title;
  scrollTo(0, 0);
}

/** Mark the page as busy or not, for screen readers. @param {boolean} now */
export const busy = (now) => document.getElementById("page")?.setAttribute("aria-busy", String(now));

/** Have a screen reader read words aloud. @param {string} words */
export function announce(words) {
  announced.textContent = words;
}
