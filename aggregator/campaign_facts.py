"""The facts about a campaign that commands print: its certificate, its views and its study.

``author.audit`` adds the expected errors, which need the estimators.
"""

from __future__ import annotations

from typing import Any

from aggregator.quantity import quantity
from protocol import exact
from protocol.campaign import Campaign
from protocol.domain import Domain, Grid
from protocol.notions import Lip
from protocol.notions.information import RADIUS_UNITS
from protocol.views import Coarse, Identity, QuestionsMap, View, is_plain


def counted_noun(campaign: Campaign) -> str:
    """Return the noun for a campaign's counted outputs: "output" if a report may have several, else "report"."""
    return report_noun(bundled=campaign.answers_per_period > 1)


def report_noun(*, bundled: bool) -> str:
    """Return "output" if reports are bundled, else "report".

    Args:
        bundled: whether a device answers several times in a period, so that a report may have several outputs.
    """
    return "output" if bundled else "report"


def estimated_noun(campaign: Campaign) -> str:
    """Return the noun for the units that an estimate counts: "device" with transcripts, where all reports of a device
    are decoded together, else ``counted_noun``."""
    return "device" if campaign.transcript else counted_noun(campaign)


def counted_text(number: int, campaign: Campaign) -> str:
    """Return a number of counted outputs with its noun: "24 outputs", or "24 reports" if each report has one output."""
    return quantity(number, counted_noun(campaign))


def view_name(domain: Domain, view: View) -> str:
    """Return a short description of the answer that devices with a view are asked for."""
    map_ = view.map
    if isinstance(map_, Identity):
        return "the answer itself"
    count = map_.input_count(domain)
    if isinstance(map_, QuestionsMap):
        return f"{count:,} answers to {' and '.join(question.name for question in map_.questions(domain))}"
    if isinstance(map_, Coarse) and isinstance(domain, Grid):
        return f"{count:,} squares of {map_.factor} x {map_.factor} cells"
    if isinstance(map_, Coarse):
        return f"{count:,} groups of {map_.factor} neighbouring values"
    return f"{count:,} {map_.name}"


def view_facts(campaign: Campaign) -> list[dict[str, Any]]:
    """Return each view with its certificate, levels in nats; empty for a campaign without views."""
    if is_plain(campaign.views):
        return []
    total = sum(view.weight for view in campaign.views)
    return [
        {
            "view": view_name(campaign.domain, view),
            "map": view.map.name,
            "values": view.map.input_count(campaign.domain),
            "weight": view.weight,
            "share": view.weight / total,
            "family": view.channel.family,
            "audited": exact.nats(certificate.audited_level),
            "ldp": None if certificate.ldp_level is None else exact.nats(certificate.ldp_level),
            "worst_case": exact.nats(certificate.cost * campaign.max_draws_of(place)),
        }
        for place, (view, certificate) in enumerate(zip(campaign.views, campaign.view_certificates, strict=True))
    ]


def study_facts(campaign: Campaign) -> dict[str, Any]:
    """Return the facts about the study in a campaign: addresses, contact, retention, legal notice, languages, goal."""
    return {
        "addresses": list(campaign.addresses),
        "contact": campaign.contact,
        "retention": campaign.retention,
        "notice": campaign.notice,
        "language": campaign.language,
        "translations": [translation.language for translation in campaign.translations],
        "goal": campaign.goal,
    }


def certificate_facts(campaign: Campaign) -> dict[str, Any]:
    """Return the certificate of a campaign in the machine-readable form.

    Returns:
        Levels, cost and worst case in nats, each rounded up to a nanonat; null where infinite.
    """
    certificate = campaign.certificate
    channel = campaign.views[certificate.view_index].channel  # the witness belongs to this view
    levels: dict[str, float | None] = {
        "declared": exact.nats(certificate.declared_level),
        "ldp": None if certificate.ldp_level is None else exact.nats(certificate.ldp_level),
        campaign.notion.name: exact.nats(certificate.audited_level),
    }
    ball: dict[str, float] = {}
    if isinstance(campaign.notion, Lip) and certificate.ball_level is not None:
        levels["lip-ball"] = exact.nats(certificate.ball_level)
        ball["ball"] = campaign.notion.radius / RADIUS_UNITS
    return {
        "mechanism": campaign.mechanism,
        "family": ", ".join(dict.fromkeys(view.channel.family for view in campaign.views)),
        "values": max(1, len(campaign.classes)) * campaign.domain.size,
        "output_bits": campaign.output_bits,
        "views": view_facts(campaign),
        "notion": campaign.notion.name,
        "levels": levels,
        "certified": True,  # a campaign that is not certified cannot be constructed
        "witness": {
            "view": certificate.view_index,
            "input": certificate.witness.x,
            "other": certificate.witness.other,
            "output": channel.spelled(certificate.witness.y),
        },
        "study": study_facts(campaign),
        "cost": exact.nats(certificate.cost),
        "worst_case": exact.nats(campaign.worst_case),
        **ball,
    }
