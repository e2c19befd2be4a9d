"""Links JavaScript modules into one classic script, so that a page is one file and its script has one hash.

The modules stand one after another, each after those it imports from, in one function. Comments, blank space and
functions that nothing calls are left out, and names are shortened; nothing else is changed, and the same modules give
the same script on every machine. The linker knows few forms and refuses every other:

    import { a, b as c } from "./x.js";          export function f() {}   (also async, generators)
    import * as x from "./x.js";                 export class C {}
                                                 export const a = 1;
                                                 export { a, b as c };

An imported name must be exported, modules do not import one another in a circle, and what is exported is never assigned
again: then one name does for what a module gives and another takes.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from aggregator.page.names import ModuleNames, fresh
from aggregator.page.tokens import BundleError, Token, tokens, written

_ENDS_SCRIPT = re.compile(r"<!--|</?script|^-->", re.IGNORECASE | re.MULTILINE)


@dataclass
class _Module:
    """A module with its imports and exports.

    Attributes:
        imports: of each statement the module it names, and pairs of a name there and here; ("*", here) for all of it.
        exports: names here by names elsewhere.
    """

    imports: list[tuple[Path, list[tuple[str, str]]]] = field(default_factory=list)
    exports: dict[str, str] = field(default_factory=dict)
    body: list[Token] = field(default_factory=list)

    def taken(self) -> Iterator[tuple[tuple[Path, str], str]]:
        """What it imports, as the module that has it and the name there, and its name here."""
        for path, names in self.imports:
            yield from (((path, there), here) for there, here in names)


def bundle(entry: Path) -> str:
    """Return a module and its imports as one script.

    Args:
        entry: its file; the exports of this module are dropped.
    Returns:
        a script that a page may hold inside of ``<script>``.
    Raises:
        BundleError: a form of import or export that is not known here, or what a script in a page cannot hold.
        OSError: a module cannot be read.
    """
    found: dict[Path, _Module] = {}
    _collect(entry.resolve(), found, [])
    script = f'(function(){{"use strict";{";".join(_joined(found))}}})();\n'
    ends = _ENDS_SCRIPT.search(script)
    if ends is not None:
        raise BundleError(f"a script in a page cannot hold {ends[0]!r}: write it in two parts")
    return script


def _collect(path: Path, found: dict[Path, _Module], open_now: list[Path]) -> None:
    """Read a module after those that it imports."""
    if path in open_now:
        circle = " -> ".join(one.name for one in [*open_now[open_now.index(path) :], path])
        raise BundleError(f"modules import one another in a circle: {circle}")
    if path in found:
        return
    module = _read(path)
    for imported, names in module.imports:
        _collect(imported, found, [*open_now, path])
        missing = [there for there, _ in names if there != "*" and there not in found[imported].exports]
        if missing:
            raise BundleError(f"{path.name}: {imported.name} does not export {missing[0]}")
    found[path] = module


def _joined(found: Mapping[Path, _Module]) -> Iterator[str]:
    """The modules as parts of one script."""
    names = {path: ModuleNames(module.body) for path, module in found.items()}
    _require_apart(names)

    def declared(of: tuple[Path, str]) -> tuple[Path, str]:
        path, there = of
        return of if there == "*" else (path, found[path].exports[there])

    places = {path: place for place, path in enumerate(found)}
    kept: set[str] = set()
    uses: Counter[tuple[Path, str]] = Counter()
    for path, module in found.items():
        uses.update({(path, name): names[path].uses[name] for name in names[path].whole})
        uses.update({declared(of): names[path].uses[here] for of, here in module.taken()})
        kept |= names[path].kept([here for _, here in module.taken()])
    for path in found:
        once = {name for name in names[path].whole if uses[path, name] == 1 and (path, "*") not in uses}
        names[path] = names[path].without(once)
    stay = {(path, name) for path in found for name in names[path].classes}
    order = sorted(uses.keys() - stay, key=lambda of: (-uses[of], places[of[0]], of[1]))
    news = dict(zip(order, fresh(string.ascii_uppercase, kept), strict=False))
    for path, module in found.items():
        new = {name: news[path, name] for name in names[path].whole}
        new |= {here: news.get(declared(of), declared(of)[1]) for of, here in module.taken()}
        yield written(names[path].shortened(new, kept))
        if (path, "*") in news:
            given = (f"{there}:{news.get((path, here), here)}" for there, here in module.exports.items())
            yield f"const {news[path, '*']}=Object.freeze({{{','.join(given)}}})"


def _require_apart(names: Mapping[Path, ModuleNames]) -> None:
    """Refuse two classes of one name, which stays as it is."""
    seen: dict[str, Path] = {}
    for path, module in names.items():
        for name in module.classes:
            if name in seen:
                raise BundleError(f"{path.name} and {seen[name].name} both have a class {name}: rename one")
            seen[name] = path


def _read(path: Path) -> _Module:
    try:
        return _Statements(path, list(tokens(path.read_text(encoding="utf-8")))).module()
    except BundleError as error:
        raise BundleError(f"{path.name}: {error}") from None


class _Statements:
    """Takes the imports and exports of one module off its other tokens."""

    def __init__(self, path: Path, found: Sequence[Token]) -> None:
        self.path = path
        self.tokens = found
        self.place = 0

    def module(self) -> _Module:
        made = _Module()
        while self.place < len(self.tokens):
            token = self.tokens[self.place]
            self._require_known(token)
            if self._is_word("import") and token.depth == 0:
                made.imports.append(self._import())
            elif self._is_word("export") and token.depth == 0:
                self._export(made)
            else:
                made.body.append(token)
                self.place += 1
        return made

    def _require_known(self, token: Token) -> None:
        if token.kind != "word" or self._text(-1) == ".":
            return
        if token.text in ("import", "export") and token.depth:
            raise self._unknown(f"{token.text} stands at the top of a module only")
        if token.text == "await" and not token.depth:
            raise self._unknown("a module does not wait at its top")

    def _import(self) -> tuple[Path, list[tuple[str, str]]]:
        self.place += 1
        if self._text() in ("(", "."):
            raise self._unknown("import stands at the top of a module only")
        if self._text() == "*":
            self._take("*")
            self._take("as")
            names = [("*", self._name())]
        else:
            names = self._names()
        self._take("from")
        written_path = self._text()[1:-1] if self.tokens[self.place].kind == "text" else ""
        if not written_path.startswith(("./", "../")) or "\\" in written_path:
            raise self._unknown('a module is named by a relative path, as "./x.js"')
        self.place += 1
        self._take(";")
        return (self.path.parent / written_path).resolve(), names

    def _export(self, made: _Module) -> None:
        self.place += 1
        if self._text() == "{":
            names = self._names()
            self._take(";")
            made.exports |= {there: here for here, there in names}
            return
        is_async = self._text() == "async"
        declares = self._text(is_async)
        after = is_async + 1
        after += self._text(after) == "*"
        known = declares == "function" or (declares in ("const", "class") and not is_async)
        name = self.tokens[self.place + after] if self.place + after < len(self.tokens) else None
        if not known or name is None or name.kind != "word":
            raise self._unknown("export function, class, const or { names }, each with its name")
        if declares == "const":
            self._require_single()
        made.exports[name.text] = name.text

    def _require_single(self) -> None:
        """Refuse a declaration of several names: the second would not be exported."""
        for token in self.tokens[self.place :]:
            if token.depth == 0 and token.text == ";":
                return
            if token.depth == 0 and token.text == ",":
                break
        raise self._unknown("export const declares one name, and ends with ;")

    def _names(self) -> list[tuple[str, str]]:
        """Pairs of names in braces: the second is the first where there is no ``as``."""
        self._take("{")
        names = []
        while self._text() != "}":
            first = self._name()
            second = first
            if self._text() == "as":
                self._take("as")
                second = self._name()
            names.append((first, second))
            if self._text() != "}":
                self._take(",")
        self._take("}")
        return names

    def _name(self) -> str:
        token = self.tokens[self.place] if self.place < len(self.tokens) else None
        if token is None or token.kind != "word" or token.text == "default":
            raise self._unknown("a name is expected, and default is none")
        self.place += 1
        return token.text

    def _take(self, text: str) -> None:
        if self._text() != text:
            raise self._unknown(f"{text} is expected")
        self.place += 1

    def _text(self, ahead: int = 0) -> str:
        place = self.place + ahead
        return self.tokens[place].text if 0 <= place < len(self.tokens) else ""

    def _is_word(self, text: str) -> bool:
        return self.tokens[self.place].kind == "word" and self._text() == text and self._text(-1) != "."

    def _unknown(self, why: str) -> BundleError:
        line = self.tokens[min(self.place, len(self.tokens) - 1)].line
        return BundleError(f"line {line}: this import or export is not known here: {why}")
