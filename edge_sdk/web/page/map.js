/** A map for choosing a cell of a grid: by touch, by the arrow keys, or by typing a position. */

import { decimal } from "../domain/domain.js";
import { button, el, svg } from "./dom.js";
import { number, say } from "./say.js";

const MICRO = 1e6;

/**
 * A position as text for people.
 * @param {string} value latitude,longitude @param {string} key of the text
 * @param {{[name: string]: any}} [more] values of its placeholders
 */
export function position(value, key, more = {}) {
  const [latitude, longitude] = value.split(",");
  const bare = (/** @type {string} */ degrees) => number(degrees.replace("-", ""));
  return say(key, {
    latitude: bare(latitude),
    north: say(latitude.startsWith("-") ? "map.south" : "map.north"),
    longitude: bare(longitude),
    east: say(longitude.startsWith("-") ? "map.west" : "map.east"),
    ...more,
  });
}

/**
 * The map of a grid.
 * @param {any} domain @param {any} known the answer so far @param {import("./choices.js").Choose} choose
 * @returns {HTMLElement}
 */
export function map({ south, north, west, east, step, rows, columns }, known, choose) {
  // A degree of longitude is drawn narrower than one of latitude, by the cosine of the middle latitude.
  const narrow = Math.max(0.2, Math.cos((((south + north) / 2 / MICRO) * Math.PI) / 180));
  const [width, height] = [columns * narrow, rows];
  let [row, column, zoom] = [rows >> 1, columns >> 1, 1];
  let chosen = false;
  const centre = (/** @type {number} */ from, /** @type {number} */ place) => decimal(5n * BigInt(2 * from + (2 * place + 1) * step), 7);
  const cornerText = (/** @type {number} */ latitude, /** @type {number} */ longitude) =>
    position(`${latitude / MICRO},${longitude / MICRO}`, "answer.position");
  const mark = svg("rect", { width: narrow, height: 1, class: "here" });
  const lines = [0, 1, 2, 3, 4].flatMap((i) => {
    const [x, y] = [(width * i) / 4, (height * i) / 4];
    return [svg("line", { x1: x, x2: x, y1: 0, y2: height }), svg("line", { y1: y, y2: y, x1: 0, x2: width })];
  });
  const picture = svg(
    "svg",
    {
      class: "map",
      tabindex: 0,
      role: "application",
      "aria-label": say("map.ask", { step: number(String(step / MICRO)) }),
      click: (/** @type {MouseEvent} */ event) => {
        const box = /** @type {SVGGraphicsElement} */ (/** @type {any} */ (picture));
        const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(box.getScreenCTM()?.inverse());
        go(rows - 1 - Math.floor(y), Math.floor(x / narrow));
      },
      keydown: (/** @type {KeyboardEvent} */ event) => {
        const move = { ArrowUp: [1, 0], ArrowDown: [-1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
        if (!move) return;
        event.preventDefault();
        go(chosen ? row + move[0] : row, chosen ? column + move[1] : column);
      },
    },
    svg("rect", { width, height, class: "land" }),
    lines,
    mark,
  );
  const where = el("p", { role: "status" });
  const text = el("input", { type: "text", autocomplete: "off", change: () => find() });
  const draw = () => {
    const [seenWidth, seenHeight] = [width / zoom, height / zoom];
    const inside = (/** @type {number} */ from, /** @type {number} */ most) => Math.min(Math.max(0, from), most);
    const [x, y] = [column * narrow, rows - 1 - row];
    const [left, top] = [inside(x - seenWidth / 2, width - seenWidth), inside(y - seenHeight / 2, height - seenHeight)];
    picture.setAttribute("viewBox", `${left} ${top} ${seenWidth} ${seenHeight}`);
    mark.setAttribute("x", String(x));
    mark.setAttribute("y", String(y));
    mark.classList.toggle("gone", !chosen);
  };
  /**
   * Choose the cell nearest to a row, counted from the south, and a column.
   * @param {number} up @param {number} across
   */
  const go = (up, across) => {
    row = Math.min(Math.max(0, up), rows - 1);
    column = Math.min(Math.max(0, across), columns - 1);
    chosen = true;
    const value = `${centre(south, row)},${centre(west, column)}`;
    where.textContent = position(value, "map.cell", { step: number(String(step / MICRO)) });
    choose(value);
    draw();
  };
  /** Choose the cell of the typed position. */
  const find = () => {
    const parts = text.value.split(/;|,\s+|,(?=-?\d+\.)|\s+/).filter(Boolean).map((one) => Number(one.replace(",", ".")));
    const [up, across] = [(parts[0] * MICRO - south) / step, (parts[1] * MICRO - west) / step];
    if (parts.length !== 2 || Number.isNaN(up + across)) where.textContent = say("map.none");
    else if (up < 0 || across < 0 || up > rows || across > columns) where.textContent = say("map.outside");
    else return go(Math.floor(up), Math.floor(across));
    chosen = false;
    choose(undefined);
    draw();
  };
  const zoomBy = (/** @type {number} */ factor) => () => {
    zoom = Math.min(Math.max(1, zoom * factor), Math.max(1, Math.max(rows, columns) / 4));
    draw();
  };
  choose(undefined);
  draw();
  if (known) {
    text.value = known.replace(",", ", ");
    find();
    text.value = "";
  }
  return el(
    "div",
    {},
    el("p.small", {}, say("map.ask", { step: number(String(step / MICRO)) })),
    picture,
    el("p.small", {}, cornerText(south, west), " \u2013 ", cornerText(north, east)),
    el("div.actions", {}, button(say("map.nearer"), zoomBy(2), "plain"), button(say("map.farther"), zoomBy(0.5), "plain")),
    where,
    el("label", {}, say("map.type"), text),
  );
}
