"""Fetching: the source of a download proves nothing, and a malformed response is refused as a whole."""

from __future__ import annotations

import http.client
import json
import re

import pytest

from aggregator.intake.ingest import ingest
from aggregator.receive import inbox
from aggregator.study import Study
from edge_sdk.campaigns.files import MAX_CAMPAIGN_BYTES
from edge_sdk.errors import AddressRefused
from edge_sdk.presentation import given_answers
from edge_sdk.transport import download
from edge_sdk.transport.download import (
    MAX_LIST_BYTES,
    MAX_OFFERS,
    MAX_QUERY_REPORTS,
    NoResponse,
    Offer,
    fetch_counted,
    fetch_offers,
)
from edge_sdk.transport.stored_outbox import MAX_WAITING_BYTES
from edge_sdk.transport.upload import Address
from protocol.campaign import campaign_id
from protocol.errors import CampaignError, HalftruthError, NotYet
from tests.aggregator.test_receive import served
from tests.edge_sdk.conftest import AUTHOR, OPENS, WEEK, agreed, campaign
from tests.edge_sdk.fake_connection import FakeConnection

URL = "http://127.0.0.1:9/study/"
FIRST, SECOND = campaign(), campaign("Second", enrolment="enrolled")
LISTED = {"id": "0f" * 16, "title": "Education", "opens": 1, "closes": 2, "enrolment": "open"}


class DownloadNetwork(FakeConnection):
    """A replacement for a connection that records the requests and returns prepared responses."""

    def __init__(self, prepared: object = b"", status: int = 200) -> None:
        self.prepared = prepared if isinstance(prepared, bytes | Exception) else json.dumps(prepared).encode()
        self.status = status
        self.asked: list[tuple[str, str, bytes | None]] = []

    def request(self, method: str, path: str, body: bytes | None = None, headers: object = None) -> None:
        self.asked.append((method, path, body))
        if isinstance(self.prepared, Exception):
            raise self.prepared
        self.response = self.prepared


@pytest.fixture
def study(tmp_path):
    """Return a study of both campaigns."""
    made = Study.create(tmp_path / "lib")
    made.import_campaign(FIRST, [AUTHOR.public], "first")
    made.import_campaign(SECOND, [AUTHOR.public], "second")
    return made


def test_from_an_address_to_a_report_that_was_counted(study, open_device):
    """A device fetches the list of a study, then the signed bytes, and joins; once its report is ingested, the study
    says that it is counted."""
    device = open_device()
    with served(study) as (host, port):
        url = f"http://{host}:{port}"
        offers = {offer.title: offer for offer in fetch_offers(url)}
        assert offers["Second"] == Offer(campaign_id(SECOND), "Second", OPENS, OPENS + 10 * WEEK, "enrolled")
        data = download.fetch_campaign(url, offers["Highest education"].campaign_id)
        assert data == FIRST
        joined = agreed(device, data, url)
        device.answer(joined, "primary")
        [one] = given_answers(device, joined)
        assert fetch_counted(url, [one.report]) == [False]
        assert device.outbox.send(url).envelopes == 2
        ingest(study, inbox.waiting(study.path), now=OPENS, threads=1)
        assert fetch_counted(url, [one.report, one.report]) == [True, True]


def test_requests_go_to_the_documented_paths():
    """Each request goes to the documented path below the address; for an empty query, no request is sent."""
    network = DownloadNetwork({"campaigns": []})
    assert fetch_offers(URL, network) == []
    assert network.asked == [("GET", "/study/v1/campaigns", None)]
    network = DownloadNetwork(FIRST)
    assert download.fetch_campaign(URL, campaign_id(FIRST), network) == FIRST
    assert network.asked == [("GET", f"/study/v1/campaigns/{campaign_id(FIRST).hex()}", None)]
    network = DownloadNetwork({"counted": [True, False]})
    assert fetch_counted(URL, [b"one", b"two"], network) == [True, False]
    assert network.asked == [("POST", "/study/v1/counted", b"onetwo")]
    network = DownloadNetwork({"counted": [True] * MAX_QUERY_REPORTS})
    assert fetch_counted(URL, [b"r"] * 3 * MAX_QUERY_REPORTS, network) == [True] * 3 * MAX_QUERY_REPORTS
    assert [body for _, _, body in network.asked] == [b"r" * MAX_QUERY_REPORTS] * 3
    silent = DownloadNetwork()
    assert fetch_counted(URL, [], silent) == []
    assert silent.asked == []
    with pytest.raises(ValueError, match="at most"):
        fetch_counted(URL, [bytes(MAX_WAITING_BYTES), b"x"], silent)
    assert silent.asked == []


@pytest.mark.parametrize("url", ["http://study.example", "ftp://study.example", "study.example", "", "https://a b"])
def test_no_request_goes_to_an_insecure_address(url):
    """An address that is not https, or a missing one, is refused before any request; http is allowed for this machine
    only."""
    network = DownloadNetwork({"campaigns": []})
    for ask in (
        lambda: fetch_offers(url, network),
        lambda: download.fetch_campaign(url, bytes(16), network),
        lambda: fetch_counted(url, [b"r"], network),
    ):
        with pytest.raises(AddressRefused):
            ask()
    assert network.asked == []
    fetch_offers("https://study.example", network)
    assert network.at == Address("https://study.example", True, "study.example", 443, "/v1/campaigns")


def test_other_bytes_than_were_asked_for_are_refused():
    """A campaign whose hash is not the requested id is refused, even if a trusted author signed it."""
    with pytest.raises(CampaignError, match="other bytes"):
        download.fetch_campaign(URL, campaign_id(FIRST), DownloadNetwork(SECOND))
    with pytest.raises(NoResponse, match="more than"):
        download.fetch_campaign(URL, campaign_id(FIRST), DownloadNetwork(bytes(MAX_CAMPAIGN_BYTES + 1)))


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"[",
        b"[" * 200_000,
        b"\xff\xfe",
        [],
        {},
        {"campaigns": {}},
        {"campaigns": [1]},
        {"campaigns": [LISTED] * (MAX_OFFERS + 1)},
        {"campaigns": [LISTED | {"id": "0F" * 16}]},
        {"campaigns": [LISTED | {"id": "0f" * 15}]},
        {"campaigns": [LISTED | {"title": "two\nlines"}]},
        {"campaigns": [LISTED | {"title": "x" * 201}]},
        {"campaigns": [LISTED | {"title": None}]},
        {"campaigns": [LISTED | {"opens": 1.0}]},
        {"campaigns": [LISTED | {"opens": True}]},
        {"campaigns": [LISTED | {"opens": 3}]},
        {"campaigns": [LISTED | {"closes": 2**70}]},
        {"campaigns": [LISTED | {"enrolment": ["open"]}]},
        {"campaigns": [LISTED | {"enrolment": "else"}]},
        b" " * (MAX_LIST_BYTES + 1),
    ],
)
def test_a_list_with_an_invalid_entry_is_refused(said):
    """If any entry of a study's list is invalid, the whole list is refused with an error that allows a retry."""
    with pytest.raises(NoResponse) as refused:
        fetch_offers(URL, DownloadNetwork(said))
    assert isinstance(refused.value, NotYet)


@pytest.mark.parametrize("said", [{}, {"counted": True}, {"counted": []}, {"counted": [1]}, {"counted": [True, True]}])
def test_a_response_without_a_verdict_for_each_report_is_refused(said):
    """A response that is not a list of one truth value for each report is refused."""
    with pytest.raises(NoResponse):
        fetch_counted(URL, [b"report"], DownloadNetwork(said))


@pytest.mark.parametrize(
    "trouble", [OSError(5, "a report's bytes"), http.client.BadStatusLine("a report's bytes"), UnicodeError("bytes")]
)
def test_a_network_error_does_not_quote_any_data(trouble):
    """For every failure of the network, the error is one of halftruth's, and repeats nothing that was sent or
    received."""
    with pytest.raises(HalftruthError) as refused:
        fetch_counted(URL, [b"report"], DownloadNetwork(trouble))
    assert isinstance(refused.value, NoResponse)
    assert not re.search("bytes|report", str(refused.value))


@pytest.mark.parametrize("status", [204, 302, 404, 500, 503])
def test_only_status_200_is_accepted(status):
    """Every status except 200 is refused and no redirect is followed; the error names the status."""
    network = DownloadNetwork({"campaigns": []}, status)
    with pytest.raises(NoResponse, match=str(status)):
        fetch_offers(URL, network)
    assert len(network.asked) == 1
