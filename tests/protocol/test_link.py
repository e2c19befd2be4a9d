"""Links and the names of keys: each has one spelling, and errors name the remedy (SPEC 2.3, 7.4)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.errors import KeyRefused, LinkRefused
from protocol.keys import AuthorKey, fingerprint, fingerprint_from_text, fingerprint_text, key_id
from protocol.link import MAX_LINK, Link
from tests.vectors.generate import ANALYST

NAMES = st.text("abcz09-", min_size=1, max_size=12).filter(lambda name: name.strip("-") == name)
HOSTS = st.lists(NAMES, min_size=1, max_size=4).map(lambda names: ".".join([*names, "example"]))
PATHS = st.lists(st.text("azAZ09._~-", min_size=1, max_size=9).filter(lambda name: name not in (".", "..")), max_size=3)
PORTS = st.one_of(st.just(""), st.integers(1, 65535).map(lambda port: f":{port}"))
ADDRESSES = st.one_of(
    st.builds(lambda host, port, path: "/".join([f"https://{host}{port}", *path]), HOSTS, PORTS, PATHS),
    st.builds(lambda port: f"http://127.0.0.1{port}", PORTS),
)
CODES = st.text("abzABZ059-_", max_size=64)
IDS = st.binary(min_size=16, max_size=16)


@st.composite
def links(draw):
    address = draw(ADDRESSES)
    for_app = address.startswith("https:") and draw(st.booleans())
    return Link(address, draw(IDS), draw(IDS), draw(CODES), for_app)


@given(links())
def test_a_link_is_read_back_and_has_one_text(link: Link) -> None:
    """parse and str are inverse to each other, the text has at most the maximum length, and neither repr nor host shows
    the code."""
    text = str(link)
    assert Link.parse(text) == Link.parse(f"\n {text} \t") == link
    assert len(text) <= MAX_LINK
    assert text.startswith("halftruth://") is link.for_app
    assert link.host in text
    assert repr(link) == repr(replace(link, code="another"))


@given(links(), st.data())
def test_no_second_text_is_the_same_link(link: Link, data) -> None:
    """A link with one character changed or dropped is refused, or is another link."""
    text = str(link)
    place = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.sampled_from(["", "%", "#", "&", "=", "A", "a", "0", "/", "é"]).filter(text[place].__ne__))
    changed = text[:place] + other + text[place + 1 :]
    try:
        found = Link.parse(changed)
    except LinkRefused:
        return
    assert found != link
    assert str(found) == changed


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("https://study.example/s/" + "0" * 32, "does not name its author's key"),
        ("http://study.example/s/" + "0" * 32 + "#k=" + "A" * 22, "plain http is for this machine only"),
        ("see you there", "copy the whole link"),
        ("https://study.example/s/" + "0" * 32 + "#k=AAAA", "of 22 letters, .*: copy the link whole"),
        ("https://study.example/s/" + "0" * 32 + "#k=" + "A" * 22 + "&c=" + "secret!" * 3, "code in the link"),
        ("x" * 1000, f"at most {MAX_LINK}"),
    ],
)
def test_an_invalid_link_is_refused_in_one_line(text: str, why: str) -> None:
    """The error names the problem in one line, and repeats no code."""
    with pytest.raises(LinkRefused, match=why) as refused:
        Link.parse(text)
    assert "\n" not in str(refused.value)
    assert "secret" not in str(refused.value)


def test_a_link_for_an_app_needs_https() -> None:
    """A link with plain http has no form for an app, because the text could not be parsed back."""
    with pytest.raises(LinkRefused, match="https"):
        Link("http://127.0.0.1:8700", bytes(16), bytes(16), for_app=True)


@given(st.binary(min_size=16, max_size=16))
def test_a_fingerprint_has_one_text(found: bytes) -> None:
    """A fingerprint has 22 characters that decode to its 16 bytes; the four unused bits are zero."""
    text = fingerprint_text(found)
    assert len(text) == 22
    assert fingerprint_from_text(text) == found
    after = {"A": "B", "Q": "R", "g": "h", "w": "x"}[text[-1]]
    with pytest.raises(KeyRefused):
        fingerprint_from_text(text[:-1] + after)


def test_a_fingerprint_begins_with_the_key_id() -> None:
    """A fingerprint and a key id are beginnings of one hash, so a campaign's key id can be compared with a link."""
    assert fingerprint(ANALYST.public)[:8] == key_id(ANALYST.public)


@given(st.text(max_size=120))
def test_the_name_of_a_key_is_read_back_or_refused(name: str) -> None:
    """A key's name must be one readable line, and is read back from its file."""
    try:
        author = AuthorKey(ANALYST.public, name)
    except KeyRefused:
        return
    assert AuthorKey.from_line(author.line()) == AuthorKey.from_line(f" {author.line()}\n") == author
    assert author.line().count("\n") == 1
