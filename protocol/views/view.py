"""Views: the coarsenings of the answer that a campaign asks for, each with its channel (SPEC 7.3).

One path through the code serves all campaigns: a plain campaign, whose author asks for no views, has a single ``View``
that leaves the answer unchanged. Its wire form is the channel alone.

The module ``certificate`` certifies a view's channel.
"""

from __future__ import annotations

import hashlib
import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from protocol import channels, codec
from protocol.channels import Channel
from protocol.domain import Domain, Form
from protocol.errors import CampaignError, ViewError
from protocol.views import maps
from protocol.views.maps import Identity, Map, QuestionsMap

MAX_VIEWS = 4096
MAX_WEIGHT = 2**32
"""Maximum sum of all weights, so that a view's share of the keys is its share of the weights, up to a relative error of
2^-32."""

_CONTEXT = b"halftruth view\0"
_HEAD_BYTES = 8
_NAME = "views"
"""The first element of the wire form of views; the first element of a channel's wire form is its family."""


@dataclass(frozen=True)
class View:
    """A coarsening of the answer and its channel, assigned to a part of the devices.

    Attributes:
        weight: the view's share of the devices is ``weight`` / sum of all views' weights.
        map: maps the input of the answer to the input of the channel.
        channel: randomises the coarsened answer.
    """

    weight: int
    map: Map
    channel: Channel


def plain_views(channel: Channel) -> tuple[View, ...]:
    """Return the views of a plain campaign: one view, without coarsening."""
    return (View(1, Identity(), channel),)


def is_plain(views: Sequence[View]) -> bool:
    """Return whether every device answers without coarsening, through one channel."""
    return len(views) == 1 and isinstance(views[0].map, Identity)


def require_views(views: Sequence[View]) -> None:
    """Refuse views that are not canonical; ``require_view_inputs`` checks that they fit a domain.

    Raises:
        ViewError: a number or weight is out of range, the weights have a common factor, or two views are the same.
    """
    if not 1 <= len(views) <= MAX_VIEWS:
        raise ViewError(f"a campaign must have 1 to {MAX_VIEWS} views, not {len(views)}")
    weights = [view.weight for view in views]
    if min(weights) < 1:
        raise ViewError(f"the weight of a view must be at least 1, not {min(weights)}")
    if sum(weights) > MAX_WEIGHT:
        raise ViewError(f"the weights of the views must sum to at most {MAX_WEIGHT}, not {sum(weights)}")
    if math.gcd(*weights) != 1:
        raise ViewError("the weights of the views have a common factor: divide them by it")
    places = channel_places(views)
    if len(set(zip((view.map for view in views), places, strict=True))) < len(views):
        raise ViewError("two views have the same map and channel: write one, with the sum of their weights")


def require_view_inputs(views: Sequence[View], domain: Domain, class_count: int) -> None:
    """Refuse views whose channels do not fit a domain.

    Args:
        domain: the campaign's domain.
        class_count: number of the campaign's classes; 0 if it has none.
    Raises:
        CampaignError: a channel does not have one input for each value (of each class), or a map does not fit.
    """
    for view in views:
        values = view.map.input_count(domain)
        expected = max(1, class_count) * values
        if view.channel.input_count != expected:
            suffix = f" in each of {class_count} classes" if class_count else ""
            raise CampaignError(
                f"the channel of a view must have {expected} inputs, one for each of {values} values{suffix}, not "
                f"{view.channel.input_count}"
            )


def require_every_question(views: Sequence[View], domain: Domain) -> None:
    """Refuse views of a form that leave a question out.

    Raises:
        CampaignError: no view asks one of the questions.
    """
    if not isinstance(domain, Form):
        return
    positions = {position for view in views if isinstance(view.map, QuestionsMap) for position in view.map.positions}
    for position, question in enumerate(domain.questions):
        if position not in positions:
            raise CampaignError(f"no view asks question {question.name!r}: add a view that asks it")


def channel_places(views: Sequence[View]) -> list[int]:
    """Return the index of each view's channel among the different channels, in order of first appearance."""
    # Thousands of views share a few channels, and comparing large channels is slow: each object is compared once.
    objects = {id(view.channel): view.channel for view in views}
    places = {channel: place for place, channel in enumerate(dict.fromkeys(objects.values()))}
    of_object = {object_id: places[channel] for object_id, channel in objects.items()}
    return [of_object[id(view.channel)] for view in views]


def encode(views: Sequence[View]) -> codec.Value:
    """Return the wire form of the views (SPEC 7.3); for a plain campaign, the wire form of its channel (SPEC 5)."""
    if is_plain(views):
        return views[0].channel.encode()
    places = channel_places(views)
    different = {place: view.channel for place, view in zip(places, views, strict=True)}
    return [
        _NAME,
        [[view.weight, view.map.encode(), place] for view, place in zip(views, places, strict=True)],
        [channel.encode() for channel in different.values()],
    ]


def decode(value: codec.Value) -> tuple[View, ...]:
    """Return the views of a wire form.

    Raises:
        ChannelError: a channel is invalid.
        ViewError: anything else is invalid.
    """
    if not (isinstance(value, list) and value and value[0] == _NAME):
        return plain_views(channels.decode(value))
    _, listed, wires = codec.fields(value, 3, "the wire form of views", ViewError)
    listed, wires = (
        codec.array(part, subject, ViewError) for part, subject in ((listed, "the views"), (wires, "the channels"))
    )
    if len(listed) > MAX_VIEWS:
        raise ViewError(f"a campaign must have 1 to {MAX_VIEWS} views, not {len(listed)}")
    rows = [codec.fields(view, 3, "a view", ViewError) for view in listed]
    last = len(wires) - 1
    places = [codec.integer(place, "the number of a view's channel", ViewError, 0, last) for _, _, place in rows]
    codec.require_first_use(places, len(wires), "channel", ViewError)
    different = [channels.decode(wire) for wire in wires]
    if len(set(different)) < len(different):
        raise ViewError("a channel is listed twice: list it once for all its views")
    views = tuple(
        View(codec.integer(weight, "a view's weight", ViewError), maps.decode(map_value), different[place])
        for (weight, map_value, _), place in zip(rows, places, strict=True)
    )
    if is_plain(views):
        raise ViewError("the campaign's only view does not coarsen the answer: write its channel in place of the views")
    return views


def view_of(campaign_id: bytes, public: bytes, ends: Sequence[int]) -> int:
    """Return the index of a key's view: the view whose range contains floor(H * W / 2^64) (SPEC 7.3).

    H is the first 8 bytes of SHA-256 of a context, the campaign's id and the key, as an integer. The key is derived
    before any answer is known, so the choice reveals nothing about the answer. The choice is never sent, because it can
    be computed from the key.

    Args:
        campaign_id: 16 bytes.
        public: the public key of the device in this campaign.
        ends: the cumulative weights: entry j is the sum of the weights of views 0 .. j; the last entry is W.
    """
    head = hashlib.sha256(_CONTEXT + campaign_id + public).digest()[:_HEAD_BYTES]
    return bisect_right(ends, int.from_bytes(head, "big") * ends[-1] >> 8 * _HEAD_BYTES)
