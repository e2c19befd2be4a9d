"""Link JavaScript modules into one classic script, so that a page is one file and its script has one hash.

The code of all modules is placed in one function, each module after the modules from which it imports. Comments, blank
space and uncalled functions are left out, and names are shortened. Nothing else is changed, and the same modules give
the same script on every machine. The linker accepts only these forms:

    import { a, b as c } from "./x.js";          export function f() {}   (also async, generators)
    import * as x from "./x.js";                 export class C {}
                                                 export const a = 1;
                                                 export { a, b as c };

An imported name must be exported, imports must not form a circle, and an exported name must not be assigned again. So
an exported name and its imports can share one name.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from aggregator.page.names import ModuleNames, unused_names
from aggregator.page.tokens import BundleError, Token, script_text, tokens

_ENDS_SCRIPT = re.compile(r"<!--|</?script|^-->", re.IGNORECASE | re.MULTILINE)


@dataclass
class _Module:
    """A module with its imports and exports.

    Attributes:
        imports: for each import statement, the imported module and pairs of the name there and the name in this module;
            ("*", name) for an import of all names.
        exports: the exported names, each with its name in this module.
    """

    imports: list[tuple[Path, list[tuple[str, str]]]] = field(default_factory=list)
    exports: dict[str, str] = field(default_factory=dict)
    body: list[Token] = field(default_factory=list)

    def imported(self) -> Iterator[tuple[tuple[Path, str], str]]:
        """Yield each import: the module, the name in that module, and the name in this one."""
        for path, names in self.imports:
            yield from (((path, exported), local) for exported, local in names)


def bundle(entry: Path) -> str:
    """Return a module and its imports as one script.

    Args:
        entry: the file of the module; the exports of this module are dropped.
    Returns:
        A script that is safe inside ``<script>``.
    Raises:
        BundleError: an unknown form of import or export, or text that a script in a page cannot contain.
        OSError: a module cannot be read.
    """
    modules: dict[Path, _Module] = {}
    _collect(entry.resolve(), modules, [])
    script = f'(function(){{"use strict";{";".join(_joined(modules))}}})();\n'
    ends = _ENDS_SCRIPT.search(script)
    if ends is not None:
        raise BundleError(f"a script in a page cannot contain {ends[0]!r}: write it in two parts")
    return script


def _collect(path: Path, modules: dict[Path, _Module], open_now: list[Path]) -> None:
    """Read a module after the modules that it imports."""
    if path in open_now:
        circle = " -> ".join(file.name for file in [*open_now[open_now.index(path) :], path])
        raise BundleError(f"modules import one another in a circle: {circle}. Move the shared code to another module")
    if path in modules:
        return
    module = _read(path)
    for imported, names in module.imports:
        _collect(imported, modules, [*open_now, path])
        missing = [exported for exported, _ in names if exported != "*" and exported not in modules[imported].exports]
        if missing:
            raise BundleError(
                f"{path.name}: {imported.name} does not export {missing[0]}: export it there, or correct the import"
            )
    modules[path] = module


def _joined(modules: Mapping[Path, _Module]) -> Iterator[str]:
    """Yield the parts of the script, one module after another."""
    names = {path: ModuleNames(module.body) for path, module in modules.items()}
    _require_apart(names)

    def declared(origin: tuple[Path, str]) -> tuple[Path, str]:
        path, exported = origin
        return origin if exported == "*" else (path, modules[path].exports[exported])

    places = {path: place for place, path in enumerate(modules)}
    reserved: set[str] = set()
    uses: Counter[tuple[Path, str]] = Counter()
    for path, module in modules.items():
        uses.update({(path, name): names[path].uses[name] for name in names[path].top_level})
        uses.update({declared(origin): names[path].uses[local] for origin, local in module.imported()})
        reserved |= names[path].free_names([local for _, local in module.imported()])
    for path in modules:
        once = {name for name in names[path].top_level if uses[path, name] == 1 and (path, "*") not in uses}
        names[path] = names[path].without(once)
    stay = {(path, name) for path in modules for name in names[path].classes}
    order = sorted(uses.keys() - stay, key=lambda origin: (-uses[origin], places[origin[0]], origin[1]))
    news = dict(zip(order, unused_names(string.ascii_uppercase, reserved), strict=False))
    for path, module in modules.items():
        new = {name: news[path, name] for name in names[path].top_level}
        new |= {local: news.get(declared(origin), declared(origin)[1]) for origin, local in module.imported()}
        yield script_text(names[path].shortened(new, reserved))
        if (path, "*") in news:
            exports = (f"{exported}:{news.get((path, local), local)}" for exported, local in module.exports.items())
            yield f"const {news[path, '*']}=Object.freeze({{{','.join(exports)}}})"


def _require_apart(names: Mapping[Path, ModuleNames]) -> None:
    """Refuse two classes with one name, because names of classes are not shortened."""
    class_paths: dict[str, Path] = {}
    for path, module in names.items():
        for name in module.classes:
            if name in class_paths:
                raise BundleError(f"{path.name} and {class_paths[name].name} both have a class {name}: rename one")
            class_paths[name] = path


def _read(path: Path) -> _Module:
    try:
        return _Statements(path, list(tokens(path.read_text(encoding="utf-8")))).module()
    except BundleError as error:
        raise BundleError(f"{path.name}: {error}") from None


class _Statements:
    """The parser that separates the imports and exports of a module from its other tokens."""

    def __init__(self, path: Path, tokens: Sequence[Token]) -> None:
        self.path = path
        self.tokens = tokens
        self.place = 0

    def module(self) -> _Module:
        module = _Module()
        while self.place < len(self.tokens):
            token = self.tokens[self.place]
            self._require_known(token)
            if self._is_word("import") and token.depth == 0:
                module.imports.append(self._import())
            elif self._is_word("export") and token.depth == 0:
                self._export(module)
            else:
                module.body.append(token)
                self.place += 1
        return module

    def _require_known(self, token: Token) -> None:
        if token.kind != "word" or self._text(-1) == ".":
            return
        if token.text in ("import", "export") and token.depth:
            raise self._unknown(f"{token.text} is allowed only at the top level of a module")
        if token.text == "await" and not token.depth:
            raise self._unknown("await is not allowed at the top level of a module")

    def _import(self) -> tuple[Path, list[tuple[str, str]]]:
        self.place += 1
        if self._text() in ("(", "."):
            raise self._unknown("import is allowed only at the top level of a module")
        if self._text() == "*":
            self._take("*")
            self._take("as")
            names = [("*", self._name())]
        else:
            names = self._names()
        self._take("from")
        written_path = self._text()[1:-1] if self.tokens[self.place].kind == "text" else ""
        if not written_path.startswith(("./", "../")) or "\\" in written_path:
            raise self._unknown('expected the relative path of a module, such as "./x.js"')
        self.place += 1
        self._take(";")
        return (self.path.parent / written_path).resolve(), names

    def _export(self, module: _Module) -> None:
        self.place += 1
        if self._text() == "{":
            names = self._names()
            self._take(";")
            module.exports |= {exported: local for local, exported in names}
            return
        is_async = self._text() == "async"
        declares = self._text(is_async)
        after = is_async + 1
        after += self._text(after) == "*"
        known = declares == "function" or (declares in ("const", "class") and not is_async)
        name = self.tokens[self.place + after] if self.place + after < len(self.tokens) else None
        if not known or name is None or name.kind != "word":
            raise self._unknown("expected export function, class or const with a name, or export { names }")
        if declares == "const":
            self._require_single()
        module.exports[name.text] = name.text

    def _require_single(self) -> None:
        """Refuse a declaration of several names, because the second name would not be exported."""
        for token in self.tokens[self.place :]:
            if token.depth == 0 and token.text == ";":
                return
            if token.depth == 0 and token.text == ",":
                break
        raise self._unknown("expected export const with one name, and ; at the end")

    def _names(self) -> list[tuple[str, str]]:
        """Return pairs of names from a list in braces; without ``as``, both names of a pair are the same."""
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
            raise self._unknown("expected a name other than default")
        self.place += 1
        return token.text

    def _take(self, text: str) -> None:
        if self._text() != text:
            raise self._unknown(f"expected {text}")
        self.place += 1

    def _text(self, ahead: int = 0) -> str:
        place = self.place + ahead
        return self.tokens[place].text if 0 <= place < len(self.tokens) else ""

    def _is_word(self, text: str) -> bool:
        return self.tokens[self.place].kind == "word" and self._text() == text and self._text(-1) != "."

    def _unknown(self, why: str) -> BundleError:
        line = self.tokens[min(self.place, len(self.tokens) - 1)].line
        return BundleError(f"line {line}: unknown form of import or export: {why}")
