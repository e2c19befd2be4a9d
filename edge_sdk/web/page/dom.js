/** Elements, and the one place on the page where a screen is shown. */

/** @typedef {Node | string | null | false | undefined} Part */

/**
 * An element with its attributes, listeners and parts.
 * @param {string} name of the tag, perhaps with classes: "p.small"
 * @param {{[name: string]: any}} given attributes; a function listens to the event of its name; false and null are left out
 * @param {...(Part | Part[])} parts
 * @returns {HTMLElement & {value: string, checked: boolean}}
 */
export function el(name, given = {}, ...parts) {
  const [tag, ...classes] = name.split(".");
  const made = document.createElement(tag);
  made.className = classes.join(" ");
  return /** @type {any} */ (filled(made, given, parts));
}

/** The same of a drawing. @param {string} name @param {{[name: string]: any}} given @param {...(Part | Part[])} parts */
export const svg = (name, given = {}, ...parts) =>
  filled(document.createElementNS("http://www.w3.org/2000/svg", name), given, parts);

/** @template {Element} T @param {T} made @param {{[name: string]: any}} given @param {(Part | Part[])[]} parts @returns {T} */
function filled(made, given, parts) {
  for (const [name, value] of Object.entries(given))
    if (typeof value === "function") made.addEventListener(name, value);
    else if (value !== false && value !== null) made.setAttribute(name, value === true ? "" : value);
  made.append(.../** @type {(Node | string)[]} */ (parts.flat().filter((part) => part || part === "")));
  return made;
}

/** @param {string} words @param {() => any} click @param {string} [look] */
export const button = (words, click, look = "") => el(`button.${look}`, { type: "button", click }, words);

/** A card with a heading. @param {string} title @param {...Part} parts */
export const card = (title, ...parts) => el("section.card", {}, title && el("h2", {}, title), parts);

/** @param {string} words @param {string} [look] */
export const p = (words, look = "") => el(`p.${look}`, {}, words);

/** Something to open, closed at first. @param {string} title @param {...Part} parts */
export const more = (title, ...parts) => el("details.card", {}, el("summary", {}, title), parts);

/** Where a screen is shown, and what is read aloud when it changes beside it. */
const [screen, heard] = [el("div"), el("p.heard", { role: "status" })];

/**
 * Show a screen in place of the one before, and move the focus to its heading.
 * @param {string} title @param {(Part | Part[])[]} parts @param {Part} foot what stands below every screen
 * @param {string} [lang] of the title, where it is not the page's
 */
export function show(title, parts, foot, lang) {
  const heading = el("h1", { tabindex: -1, id: "asked", lang: lang || null }, title);
  screen.replaceChildren(heading, ...el("div", {}, ...parts).childNodes, foot || "");
  const main = /** @type {HTMLElement} */ (document.getElementById("page"));
  if (!screen.parentNode) main.replaceChildren(screen, heard);
  else heading.focus();
  heard.textContent = "";
  document.title = title;
  scrollTo(0, 0);
}

/** Say whether something is under way. @param {boolean} now */
export const busy = (now) => document.getElementById("page")?.setAttribute("aria-busy", String(now));

/** Have something read aloud. @param {string} words */
export function hear(words) {
  heard.textContent = words;
}
