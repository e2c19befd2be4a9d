"""Certificates of campaigns with views, computed from the integers of all views (SPEC 6.12).

A device has one view for the campaign's lifetime, independent of its answers. So the device applies the view's channel
Q_j to the coarsened answer. The level of two answers is the largest level of the two coarsened answers over all views.
Each view is certified alone, under the campaign's notion coarsened to the view's inputs. Equal pairs of channel and
notion are certified once, and all views share one limit of steps. With classes of people, the certificate of a view
contains a certificate for each class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from protocol.channels import Channel
from protocol.domain import Domain, Form, Items, Line
from protocol.effort import require_affordable
from protocol.errors import CampaignError, NotionError
from protocol.notions import Certificate, Classes, Graded, Ldp, Notion
from protocol.notions.notion import require_covers_rounding, require_covers_sets
from protocol.views.maps import Identity, Map
from protocol.views.view import View, channel_places, is_plain


def certificates_of(views: Sequence[View], notion: Notion, domain: Domain) -> tuple[Certificate, ...]:
    """Return the certificate of each view; its inputs and outputs are numbered as in the view's channel.

    Raises:
        CampaignError: the notion cannot be applied to views, to a form, to sets of items, or to numbers rounded at
            random.
        NotionError: the notion has another number of values than the domain, or, coarsened, bounds no two inputs of a
            view, or only at levels below the least level of a notion.
        Uncertified: a channel exceeds its bounds, even minimally, the notion does not allow it, or the audit is too
            large.
    """
    of_classes = notion.notions if isinstance(notion, Classes) else (notion,)
    for class_notion in of_classes:
        if not is_plain(views) and not class_notion.carries_views:
            unbounded = " without a bound for some pair" if isinstance(class_notion, Graded) else ""
            raise CampaignError(
                "the notion of a campaign with views must be ldp, pairwise, or minid or avgid with every pair bounded, "
                f"in each class; not {class_notion.name}{unbounded}"
            )
        if isinstance(domain, Form) and class_notion.name != Ldp.name:
            raise CampaignError(f"the notion of a form must be ldp, in each class, not {class_notion.name}")
        if class_notion.input_count not in (None, domain.size):
            raise NotionError(
                f"the notion must have {domain.size} values, one for each value of the domain, not "
                f"{class_notion.input_count}"
            )
        if isinstance(domain, Items):
            require_covers_sets(class_notion, domain.padding)
        if isinstance(domain, Line) and domain.rounds_randomly:
            require_covers_rounding(class_notion)
    maps = dict.fromkeys(view.map for view in views)
    steps = sum(notion.coarsening_steps for map_ in maps if not isinstance(map_, Identity))
    require_affordable(steps, 0)
    coarsened: dict[Map, Notion] = {map_: _coarsened(notion, map_, domain) for map_ in maps}
    numbers = {view_notion: number for number, view_notion in enumerate(dict.fromkeys(coarsened.values()))}
    of_map = {map_: numbers[view_notion] for map_, view_notion in coarsened.items()}
    different: dict[tuple[int, int], tuple[Channel, Notion]] = {}
    pairs = [(place, of_map[view.map]) for place, view in zip(channel_places(views), views, strict=True)]
    for pair, view in zip(pairs, views, strict=True):
        different.setdefault(pair, (view.channel, coarsened[view.map]))
    for channel, class_notion in different.values():
        steps += class_notion.certificate_steps(channel)
    require_affordable(steps, max(view.channel.numbers_held for view in views))
    certificates = {pair: view_notion.certificate(channel) for pair, (channel, view_notion) in different.items()}
    return tuple(certificates[pair] for pair in pairs)


def worst_of(certificates: Sequence[Certificate], notion: Notion) -> Certificate:
    """Return a campaign's certificate, computed from those of its views: the largest levels, and the witness of the
    view whose worst ratio is nearest to its bound.

    Args:
        notion: the campaign's notion; if it is one of classes, ``class_certificates`` of the result contains the worst
            certificate of each class over all views.
    """
    if len(certificates) == 1:
        return certificates[0]
    # All bounds are satisfied and the witness is only shown to people, so floats may choose it.
    view = max(range(len(certificates)), key=lambda place: certificates[place].nearness)
    levels = [certificate.ldp_level for certificate in certificates]
    return replace(
        certificates[view],
        declared_level=notion.level,
        audited_level=max(certificate.audited_level for certificate in certificates),
        ldp_level=None if None in levels else max(level for level in levels if level is not None),
        class_certificates=tuple(
            worst_of([certificate.class_certificates[place] for certificate in certificates], class_notion)
            for place, class_notion in enumerate(notion.notions if isinstance(notion, Classes) else ())
        ),
        view_index=view,
    )


def _coarsened(notion: Notion, map_: Map, domain: Domain) -> Notion:
    """Return the notion for a view's inputs: coarsened by the view's map."""
    if isinstance(map_, Identity):
        return notion
    return notion.coarsened(partial(map_.input, domain), map_.input_count(domain))
