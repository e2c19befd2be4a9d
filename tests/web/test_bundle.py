"""Modules linked into one script behave as separate modules do; syntax that the linker does not support is refused."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from aggregator.page.bundle import bundle
from aggregator.page.tokens import BundleError, script_text, tokens
from tests.vectors import generate
from tests.web.test_core import CASES, HERE, NODE, WEB, run

needs_node = pytest.mark.skipif(NODE is None, reason="needs node")

FAULTS = 'faults(JSON.parse(require("fs").readFileSync(0))).then((found) => console.log(JSON.stringify(found)));\n'


@needs_node
def test_the_bundle_gives_the_results_of_its_modules(tmp_path: Path) -> None:
    """The linked script also gives the stated results for the vectors of the codec, domains, certificates, campaigns,
    reports and answers."""
    script = tmp_path / "linked.cjs"
    script.write_text(bundle(HERE / "bundled.mjs") + FAULTS, encoding="utf-8")
    cases = {topic: CASES[topic] for topic in ("codec", "domain", "certificate", "campaign", "report", "answer")}
    found = run(cases | {"author": generate.ANALYST.public.hex()}, script)
    assert {topic: [fault for fault in faults if fault] for topic, faults in found.items()} == {it: [] for it in cases}
    assert {topic: len(faults) for topic, faults in found.items()} == {topic: len(cases[topic]) for topic in cases}


@pytest.mark.parametrize("path", sorted(WEB.rglob("*.js")), ids=lambda path: path.relative_to(WEB).as_posix())
def test_no_token_is_lost(path: Path) -> None:
    """The written module has all tokens of the module, and no comment."""
    found = list(tokens(path.read_text(encoding="utf-8")))
    again = list(tokens(script_text(found)))
    assert [(one.kind, one.text) for one in again] == [(one.kind, one.text) for one in found]
    assert "@param" not in script_text(found)


MEAN_THE_SAME = (
    "1 + +2 - -3",
    "(() => { let a = 4; return a++ / 2 + a-- / +2; })()",
    "'//' + \"/* no comment */\" + `// ${'none' /* one */} `",
    "`a ${`b ${ 1 + 1 }  c` + '}'}  $ {d} \\` ${ { a: 2 }.a }`",
    "[/[/]\\/\"'`]/g.source, 8 / 2 / 2, ((a) => a / 2)(6) / 3]",
    "typeof /x/ in { object: 1 }",
    "(() => {\n  return\n  1;\n})()",
    "(() => {\n  const a = 1\n  const b = 2\n  ;[a, b].join()\n  return a\n    + b\n})()",
    "(() => { let i = 1\n++i\nreturn i })()",
    "1 .toFixed(1) + 1..toFixed() + 1e-3 + 0x1Fn + 2n ** 70n + .5",
    "class { #a = 1; static b = 2; get c() { return this.#a } }",
    "((a, b) => a ?. [0] ?? (b ? .5 : 1))(null, true)",
    "'\\\n' + '\u2028'",
    "((a) => a instanceof Array && 1 in a)([1, 2])",
    "(() => { label: for (const x of [1, 2]) { for (;;) { if (x > 1) break label; continue label } } })()",
)
"""Expressions whose value depends on blank space, comments, line ends or slashes."""


@needs_node
def test_bundled_values_equal_the_source_values() -> None:
    """Each value is the same whether it is evaluated from the source or from the written tokens."""
    assert NODE is not None
    ask = """
      const shown = (_, it) => it === undefined ? "none" : typeof it === "bigint" ? it + "n"
        : typeof it === "function" ? [it.b, new it().c] : it;
      const value = (text) => JSON.stringify([(0, eval)("(" + text + "\\n)")], shown);
      console.log(JSON.stringify(JSON.parse(require("fs").readFileSync(0)).map((pair) => pair.map(value))));"""
    cases = [[source, script_text(tokens(source))] for source in MEAN_THE_SAME]
    done = subprocess.run([NODE, "-e", ask], input=json.dumps(cases), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for source, (one, other) in zip(MEAN_THE_SAME, json.loads(done.stdout), strict=True):
        assert one == other, source


NAMED = """
import { total, wide as total2, Shape, pairs } from "./other.js";
import * as all from "./other.js";

const name = "module", size = 3;
let { length, [name]: computed = size, ...rest } = { length: 1, module: undefined, name, size };
const [first, , [second = first] = [], ...others] = [1, 2, [], 4, 5];
function shown({ size: wide = size, name, deep: { length } = { length: name } } = {}, ...more) {
  const inner = (size) => size * 2, outer = ({ name }, [wide] = [more.length]) => ({ name, wide, inner });
  return [wide, name, length, outer({ name }).wide, inner(size), more, (() => ({ size }))().size];
}
class Round extends Shape {
  #size = size;
  static made = 0;
  static size = ({ size }) => size;
  name = name;
  get length() { return this.#size + length; }
  set length(size) { this.#size = size; }
  async wait(size = this.#size) { return { size, total: await size }; }
  *walk(name) { for (const size of pairs) yield { ...size, name }; }
  total(total) { return total + super.total(total2); }
  [name](name) { return name; }
}
function choose(name) {
  switch (name) {
    case "a": { const size = 1; return { size }; }
    case size ? "b" : "c": return name ? { name } : { name: size };
    default: {
      const name = "none";
      return `${name} ${`${{ name }.name}`} ${[size].map((size) => { return { size }.size; })}`;
    }
  }
}
outer: for (const [name, { size }] of Object.entries({ x: { size: 2 }, y: { size: 4 } })) {
  for (let length = 0; ; length++) { if (length > size) continue outer; rest[name + length] = length; }
}
const caught = (() => {
  try { throw { name: "thrown" }; } catch ({ name }) { return name; } finally { length += 1; }
})();
const round = new Round();
round.length = 7;
const of = 1, async = 2;
globalThis.result = (async () => JSON.stringify([
  name, length, computed, rest, first, second, others,
  shown(), shown({ size: 1, name: "n", deep: { length: 9 } }, 1, 2),
  round.length, round.name, Round.size({ size: 5 }), await round.wait(), await round.wait(3), [...round.walk("w")],
  round.total(1), round[name]("own"), ["a", "b", "d"].map(choose), caught, Round.name, of + async,
  Object.keys(all).sort(), all.total(2), all.Shape === Shape, typeof shown, ((a, b = a) => a / b / 1)(4),
  pairs.map(({ x: y, ...z }) => ({ y, z })),
]))();
"""
"""A module in which names are declared, used and shadowed in every way, and properties have the same names."""


@needs_node
def test_shortened_names_change_no_result(tmp_path: Path) -> None:
    """A bundle with shortened names computes the same results as its modules."""
    assert NODE is not None
    other = """
      const size = 10;
      export const pairs = [{ x: 1, name: 2 }, { x: 3, size }];
      export function total(name, size = 2) { return name * size; }
      const wide = size + 1;
      export { wide };
      export class Shape { total(name) { return total(name) + size; } }
    """
    (tmp_path / "other.js").write_text(other, encoding="utf-8")
    (tmp_path / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    entry = tmp_path / "entry.js"
    entry.write_text(NAMED, encoding="utf-8")
    printing = "globalThis.result.then((result) => console.log(result));\n"
    (tmp_path / "linked.cjs").write_text(bundle(entry) + printing, encoding="utf-8")
    (tmp_path / "apart.js").write_text(f'import "./entry.js";\n{printing}', encoding="utf-8")
    apart, linked = (
        subprocess.run([NODE, tmp_path / name], capture_output=True, text=True, check=False)
        for name in ("apart.js", "linked.cjs")
    )
    assert (linked.stdout, linked.stderr) == (apart.stdout, "")
    assert len(json.loads(apart.stdout)) == 27
    assert "computed" not in bundle(entry)


def test_an_unused_export_is_not_bundled(tmp_path: Path) -> None:
    """An export without importers is not in the bundle, unless a module imports all names of the exporting module."""
    other = 'export const one = 1;\nexport async function two() { return "uncalled"; }\n'
    (tmp_path / "other.js").write_text(other, encoding="utf-8")
    entry = tmp_path / "entry.js"
    entry.write_text('import { one } from "./other.js";\nglobalThis.result = one;\n', encoding="utf-8")
    assert bundle(entry) == '(function(){"use strict";const A=1;;globalThis.result=A;})();\n'
    entry.write_text('import * as all from "./other.js";\nglobalThis.result = all;\n', encoding="utf-8")
    assert "uncalled" in bundle(entry)


REFUSED = {
    'import x from "./other.js";': "expected {",
    'import "./other.js";': "expected {",
    'import { one } from "other";': "relative path",
    'import { two } from "./other.js";': "other.js does not export two",
    'import { one } from "./entry.js";\nexport const one = 1;': "circle: entry.js -> entry.js",
    'import { one } from "./other.js" with { type: "json" };': "expected ;",
    'const x = import("./other.js");': "only at the top level",
    'const x = () => import("./other.js");': "only at the top level",
    "const x = [import.meta];": "only at the top level",
    "export default 1;": "export function",
    "export let x = 1;": "export function",
    "export const { x } = {};": "export function",
    "export const x = 1, y = 2;": "one name",
    'export { one } from "./other.js";': "expected ;",
    'export * from "./other.js";': "export function",
    "await x;": "await is not allowed",
    'const x = "</SCRIPT>";': "a page cannot contain '</SCRIPT'",
    "const x = y<!--z;": "a page cannot contain '<!--'",
    "const x = 'a\nb';": "unexpected character",
    "const x = `a${b}": "does not end",
    "const x = (1];": "closes no open bracket",
    "const x = {": "ends before { is closed",
    "const x = /a\n/;": "does not end in its line",
}


@pytest.mark.parametrize("source", REFUSED)
def test_an_unknown_form_is_refused(source: str, tmp_path: Path) -> None:
    """For syntax that the linker does not support, the error has the cause, and names the module unless the whole page
    is meant."""
    (tmp_path / "other.js").write_text("export const one = 1;\n", encoding="utf-8")
    entry = tmp_path / "entry.js"
    entry.write_text("\n" + source, encoding="utf-8")
    with pytest.raises(BundleError) as refused:
        bundle(entry)
    assert REFUSED[source] in str(refused.value)
    assert "a page" in str(refused.value) or str(refused.value).startswith(("entry.js: ", "modules import"))
