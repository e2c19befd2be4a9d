"""Modules linked into one script do what they do apart, and a form that the linker does not know is refused."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from aggregator.page.bundle import bundle
from aggregator.page.tokens import BundleError, tokens, written
from tests.vectors import generate
from tests.web.test_core import CASES, HERE, NODE, WEB, run

needs_node = pytest.mark.skipif(NODE is None, reason="needs node")

FAULTS = 'faults(JSON.parse(require("fs").readFileSync(0))).then((found) => console.log(JSON.stringify(found)));\n'


@needs_node
def test_a_bundle_does_what_its_modules_do(tmp_path: Path) -> None:
    """The vectors of the domains, certificates, campaigns, reports and answers hold in the linked script as well."""
    script = tmp_path / "linked.cjs"
    script.write_text(bundle(HERE / "bundled.mjs") + FAULTS, encoding="utf-8")
    told = {topic: CASES[topic] for topic in ("codec", "domain", "certificate", "campaign", "report", "answer")}
    found = run(told | {"author": generate.ANALYST.public.hex()}, script)
    assert {topic: [fault for fault in faults if fault] for topic, faults in found.items()} == {it: [] for it in told}
    assert {topic: len(faults) for topic, faults in found.items()} == {topic: len(told[topic]) for topic in told}


@pytest.mark.parametrize("path", sorted(WEB.rglob("*.js")), ids=lambda path: path.relative_to(WEB).as_posix())
def test_no_token_is_lost(path: Path) -> None:
    """What is written of a module has the module's tokens, and no comment."""
    found = list(tokens(path.read_text(encoding="utf-8")))
    again = list(tokens(written(found)))
    assert [(one.kind, one.text) for one in again] == [(one.kind, one.text) for one in found]
    assert "@param" not in written(found)


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
"""Values whose blank space, comments, line ends and slashes decide what they are."""


@needs_node
def test_what_is_written_means_the_same() -> None:
    """Each value is the same, read from its source and from what is written of its tokens."""
    assert NODE is not None
    ask = """
      const shown = (_, it) => it === undefined ? "none" : typeof it === "bigint" ? it + "n"
        : typeof it === "function" ? [it.b, new it().c] : it;
      const value = (text) => JSON.stringify([(0, eval)("(" + text + "\\n)")], shown);
      console.log(JSON.stringify(JSON.parse(require("fs").readFileSync(0)).map((pair) => pair.map(value))));"""
    told = [[source, written(tokens(source))] for source in MEAN_THE_SAME]
    done = subprocess.run([NODE, "-e", ask], input=json.dumps(told), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for source, (one, other) in zip(MEAN_THE_SAME, json.loads(done.stdout), strict=True):
        assert one == other, source


REFUSED = {
    'import x from "./other.js";': "{ is expected",
    'import "./other.js";': "{ is expected",
    'import { one } from "other";': "relative path",
    'import { two } from "./other.js";': "other.js does not export two",
    'import { one } from "./entry.js";\nexport const one = 1;': "circle: entry.js -> entry.js",
    'import { one } from "./other.js" with { type: "json" };': "; is expected",
    'const x = import("./other.js");': "top of a module only",
    'const x = () => import("./other.js");': "top of a module only",
    "const x = [import.meta];": "top of a module only",
    "export default 1;": "export function",
    "export let x = 1;": "export function",
    "export const { x } = {};": "export function",
    "export const x = 1, y = 2;": "one name",
    'export { one } from "./other.js";': "; is expected",
    'export * from "./other.js";': "export function",
    "await x;": "does not wait at its top",
    "const $1 = 1;": "name it otherwise",
    'const x = "</SCRIPT>";': "a page cannot hold '</SCRIPT'",
    "const x = y<!--z;": "a page cannot hold '<!--'",
    "const x = 'a\nb';": "begins nothing that is known",
    "const x = `a${b}": "does not end",
    "const x = (1];": "closes no bracket",
    "const x = {": "ends inside of {",
    "const x = /a\n/;": "does not end in its line",
}


@pytest.mark.parametrize("source", REFUSED)
def test_an_unknown_form_is_refused(source: str, tmp_path: Path) -> None:
    """What the linker does not know is an error that says what is known, with the module and the line."""
    (tmp_path / "other.js").write_text("export const one = 1;\n", encoding="utf-8")
    entry = tmp_path / "entry.js"
    entry.write_text("\n" + source, encoding="utf-8")
    with pytest.raises(BundleError) as refused:
        bundle(entry)
    assert REFUSED[source] in str(refused.value)
    assert "a page" in str(refused.value) or str(refused.value).startswith(("entry.js: ", "modules import"))
