"""Distributed tallies, in which each worker counts the rows of a part of the keys and the parts are added.

All rows of a device are in one part, and tallies are integers, which can be added. So each part is computed with the
study's queries on the rows of its keys, and the sum is exactly the tally of all rows.

``aggregator.estimate`` computes an estimate from a tally.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from deltalake import DeltaTable

from aggregator.engines.steps import PinnedStudy, StudyVersion, pinned_study
from aggregator.estimate.groups import GROUPS, Groups
from aggregator.estimate.personal import PersonalTally
from aggregator.estimate.tally import Tally, ViewsTally
from aggregator.estimate.transcript import TranscriptTally
from aggregator.holdings import CampaignEntry, VerifiedCampaign
from aggregator.intake.columns import Integers
from aggregator.intake.registry import Registry
from aggregator.intake.shards import shard_condition
from aggregator.storage.tables import REPORTS, Slice
from aggregator.study import Study
from protocol import codec
from protocol.campaign import SignedCampaign


class _StudyShard(Study):
    """A study that is limited to the reports of one shard of the keys."""

    def __init__(self, study: PinnedStudy, slice_: Slice) -> None:
        super().__init__(study.path)
        self._study, self._slice = study, slice_

    def listed(self) -> list[CampaignEntry]:
        return self._study.listed()

    def cached_campaign(self, campaign: str) -> VerifiedCampaign:
        return self._study.cached_campaign(campaign)

    def registry(self, campaign: str) -> Registry:
        return self._study.registry(campaign)

    def refused(self, signed: SignedCampaign | None) -> dict[str, int]:
        """Return an empty mapping, because refusals are counted without their keys, so they belong to no part."""
        return {}

    def _reports(self) -> DeltaTable:
        return self._slice


PeriodChoice: TypeAlias = int | tuple[int, int] | None
"""The choice of the reports that a tally counts: a period; the first and last period of a span, with counts by groups
of devices; or None for each device's latest period."""


def part_tally(
    study_version: StudyVersion, table_version: int, shard: int, shard_count: int, campaign: str, chosen: PeriodChoice
) -> Tally:
    """Return the tally of one of ``shard_count`` shards, computed by ``Study.tally`` or ``Study.spans``.

    Args:
        table_version: the version of the table of reports.
        campaign: the id of the campaign in hexadecimal digits.
    Raises:
        StudyError: the study cannot be read, or as in ``Study.spans``.
    """
    study = _StudyShard(
        pinned_study(study_version),
        Slice(study_version.path / REPORTS, table_version, shard_condition(shard, shard_count)),
    )
    signed = study.cached_campaign(campaign).signed
    tally = next(study.spans(signed, [chosen])) if isinstance(chosen, tuple) else study.tally(signed, chosen)
    return replace(tally, refused={})


def total_tally(parts: Sequence[Tally], refused: Mapping[str, int]) -> Tally:
    """Return the sum of at least one part.

    Args:
        refused: the number of refused envelopes by reason.
    """
    first, reports = parts[0], sum(part.reports for part in parts)
    if isinstance(first, TranscriptTally):
        chained = [part for part in parts if isinstance(part, TranscriptTally)]
        chains, new_index = np.unique(np.concatenate([part.chains for part in chained]), axis=0, return_inverse=True)
        return replace(
            first,
            counts=_added(chained, new_index, len(chains)),
            reports=reports,
            refused=refused,
            chains=chains,
            lost=sum(part.lost for part in chained),
            groups=_summed_groups(parts, new_index),
        )
    if isinstance(first, PersonalTally):
        declared = [part for part in parts if isinstance(part, PersonalTally)]
        rows, new_index = _declarations(declared)
        size = next((len(part.counts) // len(part.declared) for part in declared if len(part.declared)), 0)
        cells = (new_index[:, np.newaxis] * size + np.arange(size)).ravel()
        counts = _added(declared, cells, len(rows) * size)
        groups = _summed_groups(parts, cells)
        return replace(first, counts=counts, reports=reports, refused=refused, declared=rows, groups=groups)
    if isinstance(first, ViewsTally):
        views = [total_tally(of_view, refused) for of_view in zip(*(part.by_view for part in parts), strict=True)]
        return ViewsTally.of_parts(views, refused, first.version)
    counts = np.sum([part.counts for part in parts], axis=0)
    return replace(first, counts=counts, reports=reports, refused=refused, groups=_summed_groups(parts, None))


def _added(parts: Sequence[Tally], new_index: Integers, size: int) -> Integers:
    """Return an array of ``size`` counts to which each count of the parts, in their order, is added at its index in
    ``new_index``."""
    counts = np.zeros(size, dtype=np.int64)
    np.add.at(counts, new_index, np.concatenate([part.counts for part in parts]))
    return counts


def _declarations(parts: Sequence[PersonalTally]) -> tuple[Integers, Integers]:
    """Return the distinct declarations in the order of their encodings, and for each declaration of the parts its index
    in this order."""
    all_rows = [tuple(row) for part in parts for row in part.declared.tolist()]
    distinct = sorted(set(all_rows), key=lambda row: codec.encode(list(row)))
    place = {row: number for number, row in enumerate(distinct)}
    rows = np.array(distinct, dtype=np.int64).reshape(-1, parts[0].declared.shape[1])
    return rows, np.array([place[row] for row in all_rows], dtype=np.int64)


def _summed_groups(parts: Sequence[Tally], new_index: Integers | None) -> Groups | None:
    """Return the sum of the groups of all parts; None if a part has no groups.

    Args:
        new_index: the new index of each feature of the parts, in their order; None if the indices do not change.
    """
    groups_of_parts: list[Groups] = []
    offset = 0
    for part in parts:
        if part.groups is None:
            return None
        feature = part.groups.feature if new_index is None else new_index[offset + part.groups.feature]
        groups_of_parts.append(replace(part.groups, feature=feature))
        offset += len(part.counts)
    cells = np.concatenate([groups.feature * GROUPS + groups.group for groups in groups_of_parts])
    distinct, index = np.unique(cells, return_inverse=True)
    counts = np.zeros(len(distinct), dtype=np.int64)
    np.add.at(counts, index, np.concatenate([groups.count for groups in groups_of_parts]))
    order = np.lexsort((distinct // GROUPS, distinct % GROUPS))
    feature, group = np.divmod(distinct[order], GROUPS)
    reports = np.sum([groups.reports for groups in groups_of_parts], axis=0)
    devices = sum(groups.devices for groups in groups_of_parts)
    max_outputs = max(groups.max_outputs for groups in groups_of_parts)
    return Groups(group, feature, counts[order], reports, devices, max_outputs)
