"""The command page: a page in a file contacts only addresses that its author signed; an unusable page is refused."""

from __future__ import annotations

import base64
import json
import time
from dataclasses import replace

import pytest

from aggregator.page.alone import NoPage, page_file
from aggregator.page.document import page_code
from aggregator.study import Study
from protocol import keys
from protocol.campaign import open_campaign, seal_campaign
from protocol.closing import seal_closing
from tests.aggregator import fleet
from tests.aggregator.command import run
from tests.aggregator.fleet import AUTHOR
from tests.aggregator.test_receive_page import Elements, data

NOW = int(time.time())
HERE = "https://study.example"


def signed_campaign(**changes):
    """A campaign that is open now and has an address."""
    usual = {"opens": NOW - 86_400, "closes": NOW + 13 * 86_400, "addresses": (HERE,)}
    return open_campaign(seal_campaign(replace(fleet.campaign(5).campaign, **usual | changes), AUTHOR), [AUTHOR.public])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a campaign's file, its author's key, and a study that has the campaign under the name "it"."""
    monkeypatch.chdir(tmp_path)
    signed = signed_campaign()
    (tmp_path / "it.campaign").write_bytes(signed.data)
    (tmp_path / "author.pub").write_text(keys.public_line(AUTHOR.public))
    Study.create(tmp_path / "lib").import_campaign(signed.data, [AUTHOR.public], "it")
    return tmp_path


def test_the_pages_of_a_file_and_of_the_study_are_equal(folder):
    """A campaign's file and its study give the same page, with the policy before any element that it restricts."""
    run("--study", "lib", "page", "it", "--out", "one.html")
    done = run("page", "it.campaign", "--trust", "author.pub", "--out", "other.html", "--json")
    made = (folder / "one.html").read_text("utf-8")
    assert made == (folder / "other.html").read_text("utf-8")
    summary = json.loads(done.stdout)
    assert (summary["bytes"], summary["addresses"]) == (len(made.encode()), [HERE])
    elements = Elements(made)
    names = [(name, attributes.get("http-equiv")) for name, attributes, _ in elements.found]
    assert names[:4] == [("html", None), ("head", None), ("meta", None), ("meta", "Content-Security-Policy")]
    policy = elements.all("meta")[1][0]["content"]
    assert f"connect-src {HERE}/v1/; " in policy
    assert f"script-src '{summary['script']}'" in policy
    assert "'self'" not in policy
    assert data(made)["served"] is False


def test_the_page_of_a_closed_campaign_has_the_closing_notice(folder):
    """The page of a campaign that was closed early contains the closing notice."""
    study = Study.open(folder / "lib")
    notice = seal_closing(study.campaign("it"), NOW, AUTHOR)
    study.close_early(notice)
    run("--study", "lib", "page", "it", "--out", "page.html")
    assert base64.b64decode(data((folder / "page.html").read_text("utf-8"))["closing"]) == notice


def test_a_page_never_overwrites_a_file(folder):
    """A page never overwrites a file, and a command that fails leaves no file."""
    (folder / "page.html").write_text("mine")
    assert "not overwritten" in run("--study", "lib", "page", "it", "--out", "page.html", code=1).output
    assert (folder / "page.html").read_text() == "mine"
    run("--study", "lib", "page", "none", "--out", "other.html", code=1)
    assert sorted(path.name for path in folder.iterdir()) == ["author.pub", "it.campaign", "lib", "page.html"]


@pytest.mark.parametrize(
    ("changes", "download", "why"),
    [
        ({"addresses": ()}, False, "names no address"),
        ({}, True, "leave out --download"),
        ({"addresses": ("https://192.0.2.7",)}, False, "need the name of a host, not its IP address"),
        ({"addresses": (HERE, "http://[::1]:8700")}, False, "cannot send to http://\\[::1\\]:8700"),
        ({"addresses": ("http://127.0.0.2",)}, False, "cannot send to"),
        ({"opens": NOW - 9 * 86_400, "closes": NOW - 1}, False, "is over"),
    ],
)
def test_a_page_that_could_not_work_is_refused(changes, download, why):
    """A campaign without an address, with an address that no policy can contain, or past its end is refused with a
    reason.

    A page for saved reports is refused for a campaign with an address.
    """
    with pytest.raises(NoPage, match=why):
        page_file(signed_campaign(**changes), NOW, download=download)


def test_a_page_without_address_sends_no_request():
    """A page that saves reports as files has a policy that allows no request."""
    made = page_file(signed_campaign(addresses=()), NOW, download=True)
    assert "connect-src 'none'; " in Elements(made).all("meta")[1][0]["content"]
    assert page_code().script in made
    assert "connect-src http://127.0.0.1:8700/v1/; " in page_file(
        signed_campaign(addresses=("http://127.0.0.1:8700",)), NOW
    )
