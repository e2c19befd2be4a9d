"""Links: a device joins only the named campaign, trusts no author silently, and connects only after consent."""

from __future__ import annotations

import io
import json
import sys
import time
from dataclasses import replace

import pytest

from aggregator.study import Study
from edge_sdk import BudgetPolicy, Device, fetch_invited
from edge_sdk.__main__ import main
from edge_sdk.campaigns.invitation import Invitation
from edge_sdk.errors import BudgetRefused, InvitationRefused, StoreRestored
from edge_sdk.store.sqlite import DATABASE_FILE
from edge_sdk.transport.download import NoCampaign, NoResponse
from protocol.campaign import campaign_id
from protocol.errors import CampaignError, KeyRefused, OutsideSchedule
from protocol.keys import AuthorKey, SigningKey, fingerprint
from protocol.link import Link
from tests.aggregator.test_receive import served
from tests.edge_sdk.conftest import AUTHOR, OPENS, campaign
from tests.edge_sdk.fake_connection import FakeConnection

HERE = "https://study.example/a"
STRANGER = SigningKey(bytes(32))
DATA = campaign()
SIGNED = campaign("Signed", addresses=(HERE,))
NAMED = AuthorKey(AUTHOR.public, "Town library")


def link_to(data, address=HERE, author=AUTHOR.public, **parts):
    return Link(address, campaign_id(data), fingerprint(author), **parts)


class RespondingStudy(FakeConnection):
    """A study that responds to each path with a status and bytes, and to all other paths with 404. ``asked`` has the
    requested paths."""

    def __init__(self, data, author=AUTHOR.public, below="/a"):
        path = f"{below}/v1/campaigns/{campaign_id(data).hex()}"
        self.answers = {path: (200, data), f"{path}/author": (200, author)}
        self.asked = []

    def request(self, method, path, body=None, headers=None):
        assert method == "GET"
        self.asked.append((self.at.host, path))
        self.status, self.response = self.answers.get(path, (404, b""))


@pytest.fixture
def device(open_device):
    """Return a device without trusted authors."""
    return open_device(trust=())


@pytest.mark.parametrize("data", [DATA, SIGNED], ids=["no address signed", "address signed"])
@pytest.mark.parametrize("for_app", [False, True])
def test_a_device_without_trusted_authors_joins_by_link(device, data, for_app):
    """A device without trusted authors joins by link: the author is trusted for that campaign only."""
    study = RespondingStudy(data)
    terms = device.accept(fetch_invited(link_to(data, for_app=for_app), study))
    assert {host for host, _ in study.asked} == {"study.example"}
    assert (terms.author, terms.author_name, terms.addresses) == (AUTHOR.public, "", (HERE,))
    assert device.campaigns == [campaign_id(data)]
    assert device.trusted == []
    with pytest.raises(CampaignError, match="no author is trusted"):
        device.join(campaign("Another"))
    device.consent(terms.campaign_id)
    device.answer(terms.campaign_id, "primary")


def other_data(study):
    study.answers = {path: (200, SIGNED if "author" not in path else AUTHOR.public) for path in study.answers}


def other_key(study):
    study.answers = {path: (200, STRANGER.public if "author" in path else said) for path, (_, said) in
                     study.answers.items()}  # fmt: skip


def short_key(study):
    study.answers = {path: (200, said[:31] if "author" in path else said) for path, (_, said) in study.answers.items()}


def unknown(study):
    study.answers = {}


def failing(study):
    study.answers = dict.fromkeys(study.answers, (500, b""))


@pytest.mark.parametrize(
    ("spoil", "error", "why"),
    [
        (other_data, InvitationRefused, "other bytes"),
        (other_key, InvitationRefused, "but the link names another author's key"),
        (short_key, KeyRefused, "32 bytes"),
        (unknown, NoCampaign, "no such campaign"),
        (failing, NoResponse, "responded with status 500"),
    ],
)
def test_a_study_that_differs_from_the_link_is_refused(device, spoil, error, why):
    """Another campaign, another or a short key, and a study that fails or lacks the campaign are each refused by an
    error of one line, and nothing is stored."""
    study = RespondingStudy(DATA)
    spoil(study)
    with pytest.raises(error, match=why) as refused:
        fetch_invited(link_to(DATA), study)
    assert "\n" not in str(refused.value)
    assert device.campaigns == []


def test_the_error_for_an_offline_study_names_the_host():
    """If no server listens at the address of a link, the error names the host."""
    with pytest.raises(NoResponse, match="no response from 127"):
        fetch_invited(link_to(DATA, "http://127.0.0.1:9"))


def test_a_link_whose_key_did_not_sign_is_refused(device):
    """A stranger's link to the library's campaign with the stranger's own key is refused, because the signature
    decides."""
    invitation = fetch_invited(link_to(DATA, author=STRANGER.public), RespondingStudy(DATA, STRANGER.public))
    with pytest.raises(CampaignError):
        device.accept(invitation)
    assert device.campaigns == []


def test_an_address_that_the_author_did_not_sign_is_refused(device):
    """If a campaign names the addresses for its reports, a link to another server does not join it."""
    link = replace(link_to(SIGNED), address="https://mirror.example/a")
    with pytest.raises(InvitationRefused, match="signed another address"):
        device.accept(fetch_invited(link, RespondingStudy(SIGNED)))
    assert device.campaigns == []
    device.accept(fetch_invited(link_to(SIGNED), RespondingStudy(SIGNED)))
    with pytest.raises(InvitationRefused):
        device.accept(fetch_invited(link, RespondingStudy(SIGNED)))


def test_an_invitation_that_differs_from_its_link_is_refused():
    """An invitation is refused if its campaign or its author is not the one that its link names."""
    for data, author in ((SIGNED, AUTHOR.public), (DATA, STRANGER.public), (DATA, bytes(32))):
        with pytest.raises((CampaignError, KeyRefused)):
            Invitation(link_to(DATA), data, author)


def test_caps_and_schedule_hold_for_links_too(open_device):
    """A campaign that is refused as a file is refused by link."""
    now = OPENS + 20 * 7 * 86_400
    late = open_device(trust=(), clock=lambda: now)
    with pytest.raises(OutsideSchedule):
        late.accept(fetch_invited(link_to(DATA), RespondingStudy(DATA)))
    dear = campaign("Dear", level=15 * 10**9)
    with pytest.raises(BudgetRefused):
        open_device(trust=(), budget=BudgetPolicy(lifetime=1.0)).accept(
            fetch_invited(link_to(dear), RespondingStudy(dear))
        )


# Names


def test_trusted_authors_have_names_and_stay(tmp_path):
    """A stored author is shown by name in the next session; names decide nothing and may be equal."""
    twin = AuthorKey(STRANGER.public, NAMED.name)
    with Device.open(tmp_path / "s", clock=lambda: OPENS) as device:
        for author in (NAMED, twin):
            device.trust_author(author)
    with Device.open(tmp_path / "s", clock=lambda: OPENS) as device:
        assert set(device.trusted) == {NAMED, twin}
        assert len({author.fingerprint_text for author in device.trusted}) == 2
        terms = device.join(DATA)
        assert (terms.author, terms.author_name) == (AUTHOR.public, "Town library")
        assert device.terms(terms.campaign_id).as_json()["author"] == NAMED.fingerprint_text
        device.trust_author(replace(NAMED, name="Library"))
        assert device.terms(terms.campaign_id).author_name == "Library"
        device.distrust_author(AUTHOR.public)
        assert device.trusted == [twin]
        assert device.terms(terms.campaign_id).author_name == ""
        with pytest.raises(CampaignError):
            device.join(SIGNED)


def test_a_session_may_name_its_authors(tmp_path):
    """An author who is trusted until the device is closed is shown by name and not stored."""
    with Device.open(tmp_path / "s", [NAMED, STRANGER.public], clock=lambda: OPENS) as device:
        assert device.trusted == [NAMED, AuthorKey(STRANGER.public)]
        assert device.join(DATA).author_name == "Town library"
    with Device.open(tmp_path / "s", clock=lambda: OPENS) as device:
        assert device.trusted == []
        assert device.terms(campaign_id(DATA)).author_name == ""


def test_adoption_keeps_the_trusted_authors(tmp_path):
    """Adoption of a restored store forgets the joined campaigns, and keeps the authors that the owner trusts."""
    place = tmp_path / "s"
    with Device.open(place, clock=lambda: OPENS) as device:
        device.trust_author(NAMED)
    before = (place / DATABASE_FILE).read_bytes()
    with Device.open(place, clock=lambda: OPENS) as device:
        device.consent(device.join(DATA).campaign_id)
    (place / DATABASE_FILE).write_bytes(before)
    with pytest.raises(StoreRestored):
        Device.open(place, clock=lambda: OPENS)
    with Device.adopt(place, clock=lambda: OPENS) as device:
        assert device.trusted == [NAMED]
        assert device.campaigns == []


# The command line


@pytest.fixture
def link(tmp_path):
    """Yield the link to a campaign that is open now, at the address of a running study."""
    data = campaign(opens=int(time.time()) - 60)
    made = Study.create(tmp_path / "lib")
    made.import_campaign(data, [AUTHOR.public], "education")
    with served(made) as (host, port):
        yield link_to(data, f"http://{host}:{port}")


@pytest.fixture
def run(tmp_path, capsys, monkeypatch):
    def call(*words, stdin=None):
        typed = io.StringIO(stdin or "")
        typed.isatty = lambda: stdin is not None
        monkeypatch.setattr(sys, "stdin", typed)
        capsys.readouterr()
        code = main(["--store", str(tmp_path / "store"), *map(str, words)])
        return code, *capsys.readouterr()

    return call


def test_join_asks_before_the_first_request(link, run, monkeypatch):
    """Host and fingerprint are shown first; unless the person confirms, no request is sent and nothing is stored."""
    monkeypatch.setattr(
        "edge_sdk.transport.download._exchange",
        lambda *_: pytest.fail("a request was sent before the person confirmed"),
    )
    for stdin, code in ((None, 2), ("n\n", 1), ("\n", 1)):
        found, out, err = run("join", link, stdin=stdin)
        assert (found, out) == (code, "")
        assert f"host: {link.host}" in err
        assert str(link).rpartition("=")[2] in err
        assert "not an author you trust" in err
    assert "no study" in run("join", "http://study.example/s/" + str(link).rpartition("/")[2])[2]
    assert json.loads(run("ledger", "--json")[1])["campaigns"] == []


def test_join_follows_a_link(link, run, tmp_path):
    """After the person confirms, the campaign is joined from its own study; its author can be given a name
    afterwards."""
    code, out, err = run("join", link, "--json", "--yes")
    assert (code, err) == (0, "")
    terms = json.loads(out)
    assert (terms["campaign"], terms["author"]) == (link.campaign_id.hex(), str(link).rpartition("=")[2])
    assert run("join", link, stdin="y\n")[0] == 0
    assert "none" in run("trust")[1]
    assert run("trust", "add", terms["campaign"][:8], "--name", "Town library")[0] == 0
    [row] = json.loads(run("trust", "--json")[1])["authors"]
    assert row == {"name": "Town library", "key": terms["author"], "campaigns": 1}
    assert "Town library, whom you trust" in run("join", link, stdin="n\n")[2]
    assert "Town library" in run("terms", terms["campaign"])[1]
    (tmp_path / "twin.pub").write_text(AuthorKey(STRANGER.public, "Town library").line())
    out = run("trust", "add", tmp_path / "twin.pub")[1]
    assert out.count("Town library") == 2
    assert terms["author"] in out
    assert run("trust", "remove", terms["author"][:6])[1].count("Town library") == 1
    for words in (("trust", "add"), ("trust", "remove", "zzz"), ("join", link, "--trust", tmp_path / "twin.pub")):
        code, out, err = run(*words)
        assert (code, out) == (2, "")
        assert err.count("\n") == 1


def test_an_error_about_a_key_file_names_it(run, tmp_path):
    """A missing key file, and a file without a key, are named in the error."""
    other = tmp_path / "other.key"
    other.write_text("another text\n")
    assert "missing.pub: there is no such file" in run("trust", "add", tmp_path / "missing.pub")[2]
    assert f"{other}: this is not a public key file" in run("trust", "add", other)[2]
