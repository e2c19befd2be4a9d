"""Read access to a study: its campaigns, their registered keys, and the refused envelopes.

Modules that only need campaigns and keys use ``Holdings``. Its subclass ``study.Study`` adds methods for changes and
estimates.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from deltalake import DeltaTable

from aggregator.intake.registry import Registry, load_registry
from aggregator.storage import tables
from aggregator.storage.paths import StoragePath
from aggregator.storage.tables import CAMPAIGNS, KEYS, REFUSALS, StudyError
from protocol.campaign import SignedCampaign, open_campaign
from protocol.closing import is_closing, unverified_closing
from protocol.errors import BadData


@dataclass(frozen=True)
class CampaignEntry:
    """The entry of a campaign in the study's list.

    Attributes:
        name: the analyst's name for the campaign.
        id: the campaign's id, in hex.
        author: the author's public key.
        data: the signed campaign.
        closing: the signed closing notice; b"" for none.
    """

    name: str
    id: str
    author: bytes = field(repr=False)
    data: bytes = field(repr=False)
    closing: bytes = field(default=b"", repr=False)

    @property
    def closed_early(self) -> int | None:
        """The closing time that the closing notice states, UTC seconds; None without a closing notice."""
        return unverified_closing(self.closing).closes if self.closing else None


@dataclass(frozen=True)
class VerifiedCampaign:
    """A campaign of the study, verified and audited.

    Attributes:
        name: the analyst's name for the campaign.
        closing: the signed closing notice; b"" for none.
    """

    name: str
    signed: SignedCampaign
    closing: bytes = field(default=b"", repr=False)

    @property
    def closed_early(self) -> int | None:
        """The closing time that the closing notice states, UTC seconds; None without a closing notice."""
        return unverified_closing(self.closing).closes if self.closing else None


class Holdings:
    """The campaigns and keys of a study in a folder or bucket. Every method reads the latest committed state, except
    ``cached_campaign``, because an ingest calls it for every chunk of reports. A method that cannot read the study
    raises ``StudyError``."""

    def __init__(self, path: StoragePath) -> None:
        self.path = path
        self._opened: dict[str, VerifiedCampaign] = {}
        self._registries: dict[str, tuple[int, Registry]] = {}

    def listed(self) -> list[CampaignEntry]:
        """List all campaigns without opening them.

        Returns:
            One entry for each campaign, in order of their names.
        """
        return sorted(listed_in(self._campaigns()), key=lambda listed: listed.name)

    def _campaigns(self) -> DeltaTable:
        return tables.snapshot(self.path / CAMPAIGNS)

    def ids(self) -> tuple[str, ...]:
        """List the ids of all campaigns.

        Returns:
            Ids in hex, in order of the campaigns' names.
        """
        return tuple(listed.id for listed in self.listed())

    def campaigns(self) -> list[VerifiedCampaign]:
        """Verify and audit all campaigns.

        Returns:
            One entry for each campaign, in order of their names.
        """
        return [self._open(listed, listed.name) for listed in self.listed()]

    def cached_campaign(self, campaign: str) -> VerifiedCampaign:
        """Return a campaign by its id, from memory after the first call.

        Args:
            campaign: the campaign's id, in hex.
        Returns:
            The campaign, verified; a notice imported after the first call may be missing.
        Raises:
            StudyError: the study has no such campaign.
        """
        if campaign not in self._opened:
            self._open(next((listed for listed in self.listed() if listed.id == campaign), None), campaign)
        return self._opened[campaign]

    def campaign(self, text: str) -> SignedCampaign:
        """Find a campaign by its name or id.

        Args:
            text: the campaign's name, its id in hex, or the beginning of exactly one id.
        Returns:
            The campaign, verified.
        Raises:
            StudyError: the text matches no campaign, or several.
        """
        listed = self.listed()
        exact = [entry for entry in listed if text in (entry.name, entry.id)]
        named = exact[:1] or [entry for entry in listed if text and entry.id.startswith(text)]
        if len(named) > 1:
            raise StudyError(f"{len(named)} campaigns have ids that begin with {text!r}: give a name or more digits")
        return self._open(named[0] if named else None, text).signed

    def _open(self, listed: CampaignEntry | None, name: str) -> VerifiedCampaign:
        if listed is None:
            names = ", ".join(entry.name for entry in self.listed()) or "none"
            raise StudyError(f"{name!r} names no campaign of the study; its campaigns are: {names}")
        if listed.id not in self._opened:
            try:
                self._opened[listed.id] = VerifiedCampaign(listed.name, open_campaign(listed.data, [listed.author]))
            # The campaign was verified when it was imported, so this program is older than its format.
            except BadData as error:
                fault = f"contains the campaign {listed.name!r}, which this version cannot open ({error})"
                raise tables.Newer.of(self.path / CAMPAIGNS, fault) from error
        if self._opened[listed.id].closing != listed.closing:
            self._opened[listed.id] = replace(self._opened[listed.id], closing=listed.closing)
        return self._opened[listed.id]

    def registry(self, campaign: str) -> Registry:
        """Return the keys registered in a campaign.

        Args:
            campaign: the campaign's id, in hex.
        Returns:
            Key ids and public keys, with the period from which each revoked key is refused.
        """
        table = tables.snapshot(self.path / KEYS)
        version, registry = self._registries.get(campaign, (-1, None))
        if registry is None or version != table.version():
            registry = load_registry(table, campaign)
            self._registries[campaign] = table.version(), registry
        return registry

    def refused(self, signed: SignedCampaign | None) -> dict[str, int]:
        """Count the envelopes that were refused.

        Args:
            signed: the campaign that the envelopes name; None for unknown campaigns.
        Returns:
            The number of envelopes by reason.
        """
        campaign_hex = signed.id.hex() if signed is not None else ""
        # The only outside text of the query is an id, which has hex digits only.
        condition = f"campaign = '{campaign_hex}'"
        sql = f"SELECT reason, sum(count) AS n FROM rows WHERE {condition} GROUP BY reason ORDER BY reason"  # noqa: S608
        rows = tables.query(tables.snapshot(self.path / REFUSALS), sql)
        return dict(zip(rows["reason"].to_pylist(), rows["n"].to_pylist(), strict=True))


def listed_in(table: DeltaTable) -> list[CampaignEntry]:
    """Return the campaigns of the table, each with its earliest notice."""
    rows = tables.query(table, "SELECT name, campaign AS id, author, data FROM rows").to_pylist()
    notices: dict[str, bytes] = {}
    for row in rows:
        if is_closing(row["data"]):
            notice, earlier = row["data"], notices.get(row["id"])
            if earlier is None or unverified_closing(notice).closes < unverified_closing(earlier).closes:
                notices[row["id"]] = notice
    return [CampaignEntry(**row, closing=notices.get(row["id"], b"")) for row in rows if not is_closing(row["data"])]
