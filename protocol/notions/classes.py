"""Classes of people: a notion and a channel for each class, over the same values (SPEC 6.8).

The class of a person is public, so reports of different classes may be distinguished, and each class is audited alone.
A class has its own notion, so one campaign can have several levels and several priors.

The channel is a ``Blocks`` channel with one block for each class; value x of class c is input c * k + x.

The campaign names the classes; the person, or the device at random, chooses one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from protocol import codec, exact
from protocol.channels import Blocks, Channel, Loss
from protocol.errors import CampaignError, NotionError, Uncertified
from protocol.notions.notion import Certificate, Notion, certify, require_level

MAX_CLASSES = 64


@dataclass(frozen=True)
class Classes(Notion):
    """A notion for each class.

    Attributes:
        level: the largest of the classes' levels.
        notions: one for each class, in the campaign's order; none of them is classes, own-lip or
            transcript-lip.
    Raises:
        NotionError: an attribute is invalid, or does not fit the others.
    """

    level: int
    notions: tuple[Notion, ...]
    name: ClassVar[str] = "classes"

    def __post_init__(self) -> None:
        require_level(self.level)
        if not 2 <= len(self.notions) <= MAX_CLASSES:
            raise NotionError(f"there must be 2 to {MAX_CLASSES} classes, not {len(self.notions)}")
        for notion in self.notions:
            if notion.name in ("classes", "own-lip", "transcript-lip"):
                raise NotionError(
                    f"a class cannot have the notion {notion.name}: choose one without classes, declared priors and "
                    "transcripts"
                )
        if self.level != max(notion.level for notion in self.notions):
            raise NotionError(
                "the level must be the largest of the classes' levels, "
                f"{exact.in_nats(max(notion.level for notion in self.notions))}, not {exact.in_nats(self.level)} "
                "(nats: see docs/GLOSSARY.md)"
            )
        if len({notion.input_count for notion in self.notions} - {None}) > 1:
            raise NotionError("the notions of the classes have different numbers of values: give them equal numbers")

    @classmethod
    def of(cls, notions: tuple[Notion, ...]) -> Classes:
        """Return the notion of classes with these notions; its level is the largest of theirs."""
        return cls(max((notion.level for notion in notions), default=0), notions)

    @property
    def input_count(self) -> int | None:
        size = next((notion.input_count for notion in self.notions if notion.input_count is not None), None)
        return None if size is None else size * len(self.notions)

    @property
    def carries_views(self) -> bool:
        return all(notion.carries_views for notion in self.notions)

    @property
    def coarsening_steps(self) -> int:
        return sum(notion.coarsening_steps for notion in self.notions)

    def coarsened(self, input_of: Callable[[int], int], size: int) -> Classes:
        return Classes.of(tuple(notion.coarsened(input_of, size) for notion in self.notions))

    def audit_steps(self, channel: Channel) -> int:
        return self.certificate_steps(channel)

    def certificate_steps(self, channel: Channel) -> int:
        # Equal classes are audited once.
        return sum(notion.certificate_steps(inner) for inner, notion in dict.fromkeys(self._pairs(channel)))

    def _pairs(self, channel: Channel) -> list[tuple[Channel, Notion]]:
        return list(zip(class_channels(channel, len(self.notions)), self.notions, strict=True))

    def certificate(self, channel: Channel) -> Certificate:
        """Return the certificate of the whole channel, with the certificate of each class in ``class_certificates``.

        Raises:
            Uncertified: the channel does not have a block for each class, or a class's channel does not satisfy its
                notion.
        """
        pairs, known = self._pairs(channel), {}
        for class_index, (inner, notion) in enumerate(pairs):
            if (inner, notion) not in known:
                known[inner, notion] = _of_class(class_index, inner, notion)
        certificates = tuple(known[pair] for pair in pairs)
        # All bounds are satisfied and the witness is only shown to people, so floats may choose it.
        class_index = max(range(len(certificates)), key=lambda place: certificates[place].nearness)
        levels = [certificate.ldp_level for certificate in certificates]
        return Certificate(
            self.level,
            max(certificate.audited_level for certificate in certificates),
            None if None in levels else max(level for level in levels if level is not None),
            _within([inner for inner, _ in pairs], class_index, certificates[class_index].witness),
            class_certificates=certificates,
        )

    def audit(self, channel: Channel) -> tuple[bool, int, Loss]:
        certificate = self.certificate(channel)
        return True, certificate.audited_level, certificate.witness

    def encode(self) -> codec.Value:
        return [self.name, self.level, [notion.encode() for notion in self.notions]]

    @classmethod
    def from_wire(cls, value: codec.Value, decode: Callable[[codec.Value], Notion]) -> Classes:
        """Return the notion of a wire form; ``decode`` reads the notions of the classes."""
        _, level, listed = codec.fields(value, 3, cls.name, NotionError)
        notions = codec.array(listed, "the notions of classes", NotionError)
        return cls(codec.integer(level, "a level", NotionError), tuple(map(decode, notions)))


def require_class_names(names: Sequence[str], notion: Notion) -> None:
    """Refuse a campaign that does not name each class of its notion.

    Args:
        names: the names of the campaign's classes; empty if it has none.
        notion: the campaign's notion.
    Raises:
        CampaignError: the numbers differ.
    """
    claimed = len(notion.notions) if isinstance(notion, Classes) else 0
    if len(names) != claimed:
        raise CampaignError(f"the campaign must name as many classes as its notion has: {claimed}, not {len(names)}")


def class_channels(channel: Channel, class_count: int) -> tuple[Channel, ...]:
    """Return the channel of each class, over the same inputs.

    Raises:
        Uncertified: the channel does not have a block for each class.
    """
    size = channel.input_count // class_count
    expected = tuple((block, size) for block in range(1, class_count + 1))
    if not isinstance(channel, Blocks) or tuple(channel.runs) != expected:
        raise Uncertified(
            f"the channel for {class_count} classes must be {class_count} blocks of equal size, in the order of "
            "the classes"
        )
    return channel.channels


def _of_class(class_index: int, channel: Channel, notion: Notion) -> Certificate:
    try:
        return certify(channel, notion)
    except Uncertified as error:
        raise Uncertified(f"class {class_index + 1}: {error}") from None


def _within(channels: Sequence[Channel], class_index: int, witness: Loss) -> Loss:
    """Return the witness of a class, with inputs and outputs numbered as in the whole channel."""
    first = class_index * channels[class_index].input_count
    return replace(
        witness,
        x=witness.x + first,
        other=None if witness.other is None else witness.other + first,
        y=witness.y + sum(inner.output_count for inner in channels[:class_index]),
    )
