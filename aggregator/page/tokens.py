"""Split a JavaScript module into its tokens, and write tokens without comments and blank space.

The kinds of tokens are words, numbers, texts, regular expressions, brackets and other signs; a linker needs no others.
A slash begins a regular expression at the start of the module, after ``${``, after a word of ``_BEFORE_VALUE``, and
after a sign other than a closing bracket, ``++`` and ``--``; otherwise it means division. Therefore a statement that
begins with a regular expression directly after ``if (...)`` or a block is misread; modules must avoid such statements.

``bundle`` links modules.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from protocol.errors import HalftruthError

_TOKEN = re.compile(
    r"""
      (?P<blank>[ \t\v\f\u00a0\ufeff]+)
    | (?P<newline>[\n\r\u2028\u2029])
    | (?P<comment>//[^\n\r\u2028\u2029]*|/\*.*?\*/)
    | (?P<text>"(?:[^"\\\n\r]|\\.)*"|'(?:[^'\\\n\r]|\\.)*')
    | (?P<number>0[xXoObB][0-9A-Fa-f_]+n?|(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9][0-9_]*)(?:[eE][+-]?[0-9]+)?n?)
    | (?P<word>[#@]?[^\W\d][\w$]*|\$[\w$]*)
    | (?P<sign>\+\+|--|=>|\.\.\.|[{}()\[\];,<>+\-*/%&|^!~?:=.])
    """,
    re.VERBOSE | re.DOTALL,
)
_TEMPLATE = re.compile(r"(?:[^`\\$]|\\.|\$(?!\{))*(?P<ends>`|\$\{)", re.DOTALL)
_REGEX = re.compile(r"/(?:[^/\\\[\n\r]|\\[^\n\r]|\[(?:[^\]\\\n\r]|\\[^\n\r])*\])+/[A-Za-z]*")
_CLOSES = {")": "(", "]": "[", "}": "{"}
_BEFORE_VALUE = frozenset(
    "await case delete do else in instanceof new of return throw typeof void yield".split()  # noqa: SIM905  # shorter than a list
)
_LINE_CONTINUES_AFTER = frozenset("{([,;:?=&|!<>~^*%.+-") | {"=>", "..."}
_LINE_CONTINUES_BEFORE = frozenset(")]},;:?.&|=") | {"=>"}


class BundleError(HalftruthError):
    """A script or style cannot be put into a page."""


class Token(NamedTuple):
    """A lexical token of a module.

    Attributes:
        kind: "word", "number", "text", "regex", "template" (a part of one) or "sign".
        text: the text of the token in the source.
        apart: the separation from the token before: "" for none, " " for blank space or a comment, "\\n" for a line
            end.
        depth: number of open brackets around the token; an opening and its closing bracket have the same depth.
        line: number of the line, counted from 1.
    """

    kind: str
    text: str
    apart: str
    depth: int
    line: int


def tokens(source: str) -> Iterator[Token]:
    """Yield the tokens of a module, without its comments.

    Raises:
        BundleError: an unexpected character, a text that does not end, or unpaired brackets.
    """
    place, line, apart = 0, 1, ""
    opened: list[str] = []
    before: Token | None = None
    while place < len(source):
        kind, text = _next(source, place, line, before, opened)
        begins, place = line, place + len(text)
        line += text.count("\n")
        if kind in ("blank", "newline", "comment"):
            ends_line = kind == "newline" or (text.startswith("/*") and "\n" in text)
            apart = "\n" if ends_line or apart == "\n" else " "
            continue
        if text in _CLOSES or (kind == "template" and text[0] == "}"):
            expected = "`" if kind == "template" else _CLOSES[text]
            if not opened or opened.pop() != expected:
                raise BundleError(f"line {begins}: {text[0]} closes no open bracket: remove it, or open one before it")
        before = Token(kind, text, apart, len(opened), begins)
        apart = ""
        yield before
        if text in ("(", "[", "{"):
            opened.append(text)
        elif kind == "template" and text.endswith("${"):
            opened.append("`")
    if opened:
        raise BundleError(f"the module ends before {opened[-1]} is closed: close it")


def _next(source: str, place: int, line: int, before: Token | None, opened: list[str]) -> tuple[str, str]:
    """Return the kind and text of the token at a place."""
    if source[place] == "`" or (source[place] == "}" and opened and opened[-1] == "`"):
        match = _TEMPLATE.match(source, place + 1)
        if match is None:
            raise BundleError(f"line {line}: a template does not end: close it with `")
        return "template", source[place : match.end()]
    if source[place] == "/" and source[place + 1 : place + 2] not in ("/", "*") and _begins_value(before):
        match = _REGEX.match(source, place)
        if match is None:
            raise BundleError(f"line {line}: a regular expression does not end in its line: close it with /")
        return "regex", match[0]
    match = _TOKEN.match(source, place)
    if match is None:
        raise BundleError(
            f"line {line}: unexpected character {source[place]!r}: remove it, or close the text that it begins"
        )
    return str(match.lastgroup), match[0]


def _begins_value(before: Token | None) -> bool:
    """Return whether a value is expected after a token, so that a slash after it begins a regular expression."""
    if before is None:
        return True
    if before.kind == "template":
        return before.text.endswith("${")
    if before.kind == "sign":
        return before.text not in (")", "]", "}", "++", "--")
    return before.kind == "word" and before.text in _BEFORE_VALUE


def script_text(tokens: Iterable[Token]) -> str:
    """Return tokens as a script with the same meaning; line ends are kept where they may end a statement."""
    parts: list[str] = []
    before: Token | None = None
    for token in tokens:
        if before is not None and token.apart:
            parts.append(_between(before, token))
        parts.append(token.text)
        before = token
    return "".join(parts)


def _between(before: Token, token: Token) -> str:
    """Return the separation that two tokens need in place of the blank space between them."""
    continues = _continues_after(before) or (token.kind == "sign" and token.text in _LINE_CONTINUES_BEFORE)
    if token.apart == "\n" and not continues:
        return "\n"
    wordy = ("word", "number", "regex")
    if before.kind in wordy and token.kind in ("word", "number"):
        return " "
    if before.kind == "number" and token.text == ".":
        return " "
    alike = before.text[-1] == token.text[0] and token.text[0] in "+-/"
    return " " if alike and before.kind == "sign" and token.kind in ("sign", "regex") else ""


def _continues_after(before: Token) -> bool:
    if before.kind == "template":
        return before.text.endswith("${")
    return before.kind == "sign" and before.text in _LINE_CONTINUES_AFTER
