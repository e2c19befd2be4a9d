"""The payload of a campaign's envelope: 22 fields in a fixed order (SPEC 7)."""

from __future__ import annotations

from protocol import codec, domain, envelope, notions, texts, views
from protocol.campaign.campaign import ENROLMENTS, Campaign
from protocol.envelope import Kind
from protocol.errors import CampaignError
from protocol.texts import Texts


def encode_campaign(campaign: Campaign) -> bytes:
    """Return the payload of a campaign's envelope.

    Args:
        campaign: the campaign to encode, without its certificates.
    Returns:
        Canonical msgpack.
    """
    return codec.encode([
        campaign.title, campaign.question, campaign.purpose, campaign.organisation,
        campaign.domain.encode(), campaign.notion.encode(), campaign.mechanism, views.encode(campaign.views),
        campaign.opens, campaign.closes, campaign.period_seconds, campaign.answers_per_period,
        campaign.minimum_devices, ENROLMENTS.index(campaign.enrolment), list(campaign.classes),
        list(campaign.addresses), campaign.contact, campaign.retention, campaign.notice,
        campaign.language, [translation.encode() for translation in campaign.translations], campaign.goal,
    ])  # fmt: skip


def decode_campaign(payload: bytes) -> Campaign:
    """Decode and audit the payload of a campaign's envelope.

    Args:
        payload: canonical msgpack.
    Returns:
        The campaign; its channels satisfy the declared level.
    Raises:
        BadData: a check of stage codec, domain, notion, channel, view, certificate or campaign failed.
    """
    value = codec.decode(payload, limit=envelope.MAX_PAYLOAD[Kind.CAMPAIGN])
    parts = codec.fields(value, 22, "a campaign", CampaignError)
    title, question, purpose, organisation, domain_value, notion, mechanism, views_value = parts[:8]
    opens, closes, period_seconds, answers, minimum, enrolment = codec.integers(
        parts[8:14], "a campaign's number", CampaignError
    )
    contact, retention, notice, language = (codec.text(part, "a text", CampaignError) for part in parts[16:20])
    translations = codec.array(parts[20], "the translations", CampaignError)
    return Campaign(
        codec.text(title, "a title", CampaignError),
        codec.text(question, "a question", CampaignError),
        codec.text(purpose, "a purpose", CampaignError),
        codec.text(organisation, "an organisation", CampaignError),
        domain.decode(domain_value),
        notions.decode(notion),
        codec.text(mechanism, "a mechanism", CampaignError),
        views.decode(views_value),
        opens,
        closes,
        period_seconds,
        answers,
        minimum,
        ENROLMENTS[codec.integer(enrolment, "enrolment", CampaignError, 0, len(ENROLMENTS) - 1)],
        texts.names_of(parts[14], "classes"),
        texts.names_of(parts[15], "addresses"),
        contact,
        retention,
        notice,
        language,
        tuple(Texts.from_wire(translation) for translation in translations),
        codec.text(parts[21], "a goal", CampaignError),
    )
