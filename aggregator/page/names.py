"""Shorten the names that modules declare, so that a page is small and its modules can share one scope.

A name at the top level of a module gets a new name that is unique in the whole bundle; a name inside a function gets a
new name that is unique in that function. New names of the top level begin with a capital letter and the others do not,
so renaming creates no new shadowing. Names of properties, of classes (which distinguish errors) and of globals stay.

Declarations and names of properties are recognized from the tokens: see ``_roles`` and ``_Declared``.
"""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, product

from aggregator.page.tokens import Token

KEYWORDS = frozenset((
    "arguments", "as", "async", "await", "break", "case", "catch", "class", "const", "continue", "debugger",
    "default", "delete", "do", "else", "enum", "eval", "export", "extends", "false", "finally", "for", "from",
    "function", "get", "if", "implements", "import", "in", "instanceof", "interface", "let", "new", "null", "of",
    "package", "private", "protected", "public", "return", "set", "static", "super", "switch", "target", "this",
    "throw", "true", "try", "typeof", "undefined", "var", "void", "while", "with", "yield",
))  # fmt: skip
"""Words that are keywords everywhere or in some places; they are not shortened."""
_BEFORE_OBJECT = frozenset((
    "return", "throw", "typeof", "in", "of", "instanceof", "new", "await", "yield", "case", "const", "let", "var",
    "default", "void", "delete",
))  # fmt: skip
_HEADS = frozenset(("if", "for", "while", "switch", "with"))
_CLOSING = {"(": ")", "[": "]", "{": "}"}


@dataclass
class ModuleNames:
    """The names in a module.

    Attributes:
        body: tokens of the module, without imports and the word ``export``.
        uses: number of occurrences of each name.
        top_level: the names that are declared at the top level.
        classes: names of classes, which are not shortened.
    """

    body: Sequence[Token]
    uses: Counter[str] = field(init=False)
    top_level: list[str] = field(init=False)
    classes: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self._roles = list(_roles(self.body))
        self._parts = list(_parts(self.body, self._roles))
        self._local: dict[int, dict[str, None]] = {}
        top_level: dict[str, None] = {}
        for place, of_module in _Declared(self.body, self._roles).places():
            (top_level if of_module else self._local.setdefault(self._parts[place], {}))[self.body[place].text] = None
        self.top_level = list(top_level)
        named = zip(self.body, self._roles, strict=True)
        self.uses = Counter(token.text for token, role in named if role in ("name", "shorthand"))
        pairs = zip(self._roles, self.body, self.body[1:], strict=False)
        self.classes = [name.text for role, word, name in pairs if role == "class" and not word.depth]

    def free_names(self, imported: Collection[str]) -> set[str]:
        """Return the names that the module neither declares nor imports, such as those of browser functions."""
        return (self.uses.keys() - self.top_level - set(imported)).difference(*self._local.values())

    def without(self, functions: Collection[str]) -> ModuleNames:
        """Return the module without the given functions, which nothing calls."""
        begins = {part: place for place, part in reversed(list(enumerate(self._parts)))}
        dropped = set()
        for part, place in begins.items():
            place += self.body[place].text == "async"
            words = [token.text for token in self.body[place : place + 2]]
            if words[0] == "function" and words[-1] in functions:
                dropped.add(part)
        return ModuleNames([token for token, part in zip(self.body, self._parts, strict=True) if part not in dropped])

    def shortened(self, new: Mapping[str, str], reserved: Collection[str]) -> list[Token]:
        """Return the tokens with short names.

        Args:
            new: the new name of each top-level and imported name.
            reserved: names that must not be used as short names.
        """
        news = {
            part: dict(
                zip(
                    (name for name in names if name not in new),
                    unused_names(string.ascii_lowercase, reserved),
                    strict=False,
                )
            )
            for part, names in self._local.items()
        }
        tokens: list[Token] = []
        for token, role, part in zip(self.body, self._roles, self._parts, strict=True):
            name = new.get(token.text) or news.get(part, {}).get(token.text, token.text)
            if role == "shorthand" and name != token.text:
                tokens += [token, token._replace(kind="sign", text=":", apart=""), token._replace(text=name, apart="")]
            else:
                tokens.append(token._replace(text=name) if role == "name" else token)
        return tokens


def unused_names(first: str, reserved: Collection[str]) -> Iterator[str]:
    """Yield names that begin with a letter of ``first``: first all names of one letter, then of two letters, and so
    on."""
    for length in count():
        for name in map("".join, product(first, *[string.ascii_letters] * length)):
            if name not in reserved and name not in KEYWORDS:
                yield name


def _parts(body: Sequence[Token], roles: Sequence[str]) -> Iterator[int]:
    """Yield the number of each token's part: a statement of the module, or a member of a class.

    A name declared inside a part is used in that part only.
    """
    part, in_class = 0, False
    for token, role in zip(body, roles, strict=True):
        yield part
        in_class |= role == "class" and not token.depth
        if token.kind == "sign" and token.text in ("}", ";") and token.depth <= in_class:
            part += 1
            in_class &= token.depth > 0


@dataclass
class _Bracket:
    """An open bracket.

    Attributes:
        kind: "(", "[", "template", "block", "object" or "class".
        at_key: whether the next word is the name of a member, in an object or a class.
        in_value: whether the value of a class member is being read.
        in_case: whether the next colon ends a case of a switch.
        after_case: whether the latest colon ended a case, so that a brace after it opens a block.
        class_begun: whether the head of a class is being read.
    """

    kind: str
    at_key: bool = False
    in_value: bool = False
    in_case: bool = False
    after_case: bool = False
    class_begun: bool = False


def _roles(body: Sequence[Token]) -> Iterator[str]:
    """Yield the role of each token: "name", "shorthand" (name and property in one), "class" (the keyword), or ""."""
    opened = [_Bracket("block")]
    for place, token in enumerate(body):
        before = body[place - 1] if place else None
        after = body[place + 1].text if place + 1 < len(body) else ""
        inside = opened[-1]
        role = _role(token, before, after, inside) if token.kind == "word" else ""
        if token.kind in ("sign", "template"):
            _follow(token, before, opened)
        yield role


def _role(token: Token, before: Token | None, after: str, inside: _Bracket) -> str:
    if (before is not None and before.text == ".") or token.text[0] in "#@":
        return ""
    if inside.at_key:
        if inside.kind == "object" and after in (",", "}", "=") and token.text not in KEYWORDS:
            return "shorthand"
        return ""
    inside.in_case |= token.text == "case" or (token.text == "default" and after == ":")
    if token.text == "class":
        inside.class_begun = True
        return "class"
    return "" if token.text in KEYWORDS else "name"


def _follow(token: Token, before: Token | None, opened: list[_Bracket]) -> None:
    """Update the list of open brackets after a sign or a part of a template."""
    inside, text = opened[-1], token.text
    if token.kind == "template":
        if text[0] == "}":
            opened.pop()
        if text.endswith("${"):
            opened.append(_Bracket("template"))
        return
    if text in ("(", "["):
        opened.append(_Bracket(text))
    elif text == "{":
        kind = _kind_of(before, inside)
        inside.class_begun = False
        opened.append(_Bracket(kind, at_key=kind in ("object", "class")))
    elif text in (")", "]", "}"):
        closed = opened.pop()
        if closed.kind == "block" and opened[-1].kind == "class" and not opened[-1].in_value:
            opened[-1].at_key = True
    elif inside.kind == "object":
        inside.at_key = text == "," or (inside.at_key and text == "*")
    elif inside.kind == "class" and text in ("=", ";"):
        inside.in_value = text == "="
        inside.at_key = text == ";"
    elif text == ":":
        inside.after_case, inside.in_case = inside.in_case, False


def _kind_of(before: Token | None, inside: _Bracket) -> str:
    """Return the kind of bracket that a brace opens."""
    if inside.class_begun:
        return "class"
    if before is None or before.text in (";", "{", "}", ")", "=>") or (inside.kind == "class" and not inside.in_value):
        return "block"
    if before.kind == "word":
        return "object" if before.text in _BEFORE_OBJECT else "block"
    return "block" if before.text == ":" and inside.after_case else "object"


class _Declared:
    """The names that a module declares: variables, functions and parameters, in any scope."""

    def __init__(self, body: Sequence[Token], roles: Sequence[str]) -> None:
        self.body = body
        self.roles = roles
        self.pairs = dict(self._pairs())

    def _pairs(self) -> Iterator[tuple[int, int]]:
        """Yield the place of each bracket with the place of its matching bracket, for opening and closing brackets."""
        opened: list[int] = []
        for place, token in enumerate(self.body):
            if token.kind == "template":
                if token.text[0] == "}":
                    opened.pop()
                if token.text.endswith("${"):
                    opened.append(place)
            elif token.text in _CLOSING:
                opened.append(place)
            elif token.text in (")", "]", "}"):
                begun = opened.pop()
                yield begun, place
                yield place, begun

    def places(self) -> Iterator[tuple[int, bool]]:
        """Yield the places of declared names, and whether each is at the top level."""
        for place, token in enumerate(self.body):
            if token.kind == "word" and not self._is_property(place):
                if token.text in ("const", "let", "var"):
                    yield from ((name, not token.depth) for name in self._variables(place + 1))
                elif token.text == "function":
                    named = place + 1 + (self._text(place + 1) == "*")
                    if self.roles[named] == "name":
                        yield named, not token.depth
            elif token.text == "=>":
                before = place - 1
                parameters = self._patterns(self.pairs[before]) if self._text(before) == ")" else [before]
                yield from ((parameter, False) for parameter in parameters)
            elif token.text == "(" and self._text(self.pairs[place] + 1) == "{" and not self._is_head(place):
                yield from ((parameter, False) for parameter in self._patterns(place))

    def _is_property(self, place: int) -> bool:
        return place > 0 and self.body[place - 1].text == "."

    def _is_head(self, place: int) -> bool:
        """Return whether a parenthesis belongs to a statement such as ``if``, and not to a function or a catch."""
        before = self.body[place - 1]
        return place > 0 and (before.text in _HEADS and not self._is_property(place - 1))

    def _variables(self, place: int) -> Iterator[int]:
        """Yield the names of a declaration whose first pattern begins at a place."""
        while True:
            names, place = self._pattern(place)
            yield from names
            place = self._after_value(place)
            if self._text(place) != ",":
                return
            place += 1

    def _patterns(self, opening: int) -> Iterator[int]:
        """Yield the names in a list of patterns, which may have default values."""
        place, ends = opening + 1, self.pairs[opening]
        while place < ends:
            if self._text(place) == ",":
                place += 1
                continue
            names, place = self._pattern(place)
            yield from names
            place = self._after_value(place)

    def _pattern(self, place: int) -> tuple[list[int], int]:
        """Return the names of one pattern, and the place after it."""
        text = self._text(place)
        if text == "...":
            return self._pattern(place + 1)
        if text == "[":
            return list(self._patterns(place)), self.pairs[place] + 1
        if text == "{":
            return list(self._members(place)), self.pairs[place] + 1
        return ([place] if self.roles[place] == "name" else []), place + 1

    def _members(self, opening: int) -> Iterator[int]:
        place, ends = opening + 1, self.pairs[opening]
        while place < ends:
            if self._text(place) == ",":
                place += 1
                continue
            if self.roles[place] == "shorthand":
                yield place
                place = self._after_value(place + 1)
                continue
            if self._text(place) != "...":
                place = self.pairs[place] + 1 if self._text(place) == "[" else place + 1
                place += self._text(place) == ":"
            names, place = self._pattern(place)
            yield from names
            place = self._after_value(place)

    def _after_value(self, place: int) -> int:
        """Return the place after the default value of a pattern, if it has one."""
        if self._text(place) != "=":
            return place
        place += 1
        while place < len(self.body) and self._text(place) not in (",", ";", ")", "]", "}"):
            opens = place in self.pairs and self.pairs[place] > place
            place = self.pairs[place] + 1 if opens else place + 1
        return place

    def _text(self, place: int) -> str:
        return self.body[place].text if place < len(self.body) else ""
