/** A map on which a cell of a grid is chosen: by a touch, by the arrow keys, or by typing a position. */

import { decimal } from "../domain/domain.js";
import { button, el, svg } from "./dom.js";
import { number, say } from "./say.js";

const MICRO = 1e6;

/** A position as people read it. @param {string} value latitude,longitude @param {string} key @param {{[name: string]: any}} [more] */
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

/** @param {any} domain @param {any} known @param {import("./choices.js").Choose} choose @returns {HTMLElement} */
export function map({ south, north, west, east, step, rows, columns }, known, choose) {
  // Degrees east are drawn narrower, by the cosine of the middle latitude.
  const narrow = Math.max(0.2, Math.cos((((south + north) / 2 / MICRO) * Math.PI) / 180));
  const [width, height] = [columns * narrow, rows];
  let [row, column, zoom] = [rows >> 1, columns >> 1, 1];
  let chosen = false;
  const at = (/** @type {number} */ from, /** @type {number} */ place) => decimal(5n * BigInt(2 * from + (2 * place + 1) * step), 7);
  const corner = (/** @type {number} */ down, /** @type {number} */ over) => position(`${down / MICRO},${over / MICRO}`, "answer.position");
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
        const by = { ArrowUp: [1, 0], ArrowDown: [-1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
        if (!by) return;
        event.preventDefault();
        go(chosen ? row + by[0] : row, chosen ? column + by[1] : column);
      },
    },
    svg("rect", { width, height, class: "land" }),
    lines,
    mark,
  );
  const where = el("p", { role: "status" });
  const text = el("input", { type: "text", autocomplete: "off", change: () => find() });
  const draw = () => {
    const [w, h] = [width / zoom, height / zoom];
    const inside = (/** @type {number} */ from, /** @type {number} */ most) => Math.min(Math.max(0, from), most);
    const [x, y] = [column * narrow, rows - 1 - row];
    const corner = [inside(x - w / 2, width - w), inside(y - h / 2, height - h)];
    picture.setAttribute("viewBox", `${corner[0]} ${corner[1]} ${w} ${h}`);
    mark.setAttribute("x", String(x));
    mark.setAttribute("y", String(y));
    mark.classList.toggle("gone", !chosen);
  };
  /** @param {number} down @param {number} over */
  const go = (down, over) => {
    row = Math.min(Math.max(0, down), rows - 1);
    column = Math.min(Math.max(0, over), columns - 1);
    chosen = true;
    const value = `${at(south, row)},${at(west, column)}`;
    where.textContent = position(value, "map.cell", { step: number(String(step / MICRO)) });
    choose(value);
    draw();
  };
  const find = () => {
    const parts = text.value.split(/;|,\s+|,(?=-?\d+\.)|\s+/).filter(Boolean).map((one) => Number(one.replace(",", ".")));
    const [down, over] = [(parts[0] * MICRO - south) / step, (parts[1] * MICRO - west) / step];
    if (parts.length !== 2 || Number.isNaN(down + over)) where.textContent = say("map.none");
    else if (down < 0 || over < 0 || down > rows || over > columns) where.textContent = say("map.outside");
    else return go(Math.floor(down), Math.floor(over));
    chosen = false;
    choose(undefined);
    draw();
  };
  const nearer = (/** @type {number} */ by) => () => {
    zoom = Math.min(Math.max(1, zoom * by), Math.max(1, Math.max(rows, columns) / 4));
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
    el("p.small", {}, corner(south, west), " \u2013 ", corner(north, east)),
    el("div.actions", {}, button(say("map.nearer"), nearer(2), "plain"), button(say("map.farther"), nearer(0.5), "plain")),
    where,
    el("label", {}, say("map.type"), text),
  );
}
