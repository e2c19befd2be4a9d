"""Public data sets of the experiments, read from their original files or from compact forms of these files.

The label of a data set states which part of the data was read. A result from a part of the data is labelled with the
name and size of the part, and is never presented as computed from the paper's data.

halftruth contains none of them; ``SOURCES`` states where each is described. A compact form is a CSV file or has numpy
arrays without pickles.

    original                                      compact
    kosarak.dat                                   kosarak_first100k.npz   items, and offsets of each list in them
    retail.dat                                    retail.npz              the same
    renttherunway_final_data.json                 renttherunway.npz       user, item, rating (0: none)
    loc-gowalla_totalCheckins.txt                 gowalla_u5628_us_grid.csv.gz, gowalla_last_checkin_36x36_u1000.npz

Original files may be compressed with gzip.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from aggregator.families.decoder import Floats, Integers
from aggregator.reproduce.formats import UnreadableData, check_ins, compact_arrays, grid_check_ins, lists, rentals
from protocol.errors import NotYet

GRID_ROWS, GRID_COLUMNS = 125, 350
"""The grid over the United States: latitude 25 to 50, longitude -130 to -60, in cells of a fifth of a degree."""

DISTRICTS = 36
"""Number of districts of the world in each direction, 5 degrees of latitude by 10 of longitude each."""


class MissingData(NotYet):
    """A data set is not in the data folder, or no folder was given."""


@dataclass(frozen=True)
class DataSource:
    """A public data set.

    Attributes:
        title: the common name of the data set.
        originals: the possible names of the original file.
        compact: the name of the file in compact form.
        described_at: the web address or the title of the data set's description.
        records: the number of records of the whole data set.
    """

    title: str
    originals: tuple[str, ...]
    compact: str
    described_at: str
    records: int


_FIMI = "the Frequent Itemset Mining Dataset Repository, fimi.uantwerpen.be/data"
_GOWALLA = "SNAP, snap.stanford.edu/data/loc-gowalla.html (Cho, Myers, Leskovec 2011)"
_CHECK_INS = ("loc-gowalla_totalCheckins.txt", "loc-gowalla_totalCheckins.txt.gz", "Gowalla_totalCheckins.txt")

SOURCES = {
    "kosarak": DataSource(
        "Kosarak", ("kosarak.dat", "kosarak.dat.gz"), "kosarak_first100k.npz", f"{_FIMI} (F. Bodon)", 8_019_015
    ),
    "retail": DataSource(
        "Retail", ("retail.dat", "retail.dat.gz"), "retail.npz", f"{_FIMI} (Brijs et al. 1999)", 908_576
    ),
    "clothing": DataSource(
        "Clothing (Rent the Runway)",
        ("renttherunway_final_data.json", "renttherunway_final_data.json.gz"),
        "renttherunway.npz",
        'the "Clothing Fit Dataset for Size Recommendation" of the McAuley lab, UCSD (Misra, Wan, McAuley 2018)',
        192_544,
    ),
    "gowalla-grid": DataSource("Gowalla", _CHECK_INS, "gowalla_u5628_us_grid.csv.gz", _GOWALLA, 3_671_812),
    "gowalla-last": DataSource("Gowalla", _CHECK_INS, "gowalla_last_checkin_36x36_u1000.npz", _GOWALLA, 6_442_892),
}
"""The data sets by the names under which experiments need them. The records of the grid are the check-ins inside the
grid."""


@dataclass(frozen=True)
class Baskets:
    """Lists of items, one list for each user.

    Attributes:
        offsets: (users + 1,) the ends of the lists: list i is ``items[offsets[i]:offsets[i + 1]]``.
        items: all lists, one after another, as item ids from 0; some ids may not occur.
        label: the name and the size of the data that were read.
        complete: whether the whole data set was read.
    """

    offsets: Integers
    items: Integers
    label: str
    complete: bool

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def occurrences(self) -> Integers:
        """Number of occurrences of each item, shape (items,)."""
        return np.bincount(self.items)


@dataclass(frozen=True)
class CheckIns:
    """Check-ins on the grid over the United States.

    Attributes:
        counts: (43,750,) the number of check-ins in each cell, with rows from the south and columns from the west.
        label, complete: see ``Baskets``.
    """

    counts: Integers
    label: str
    complete: bool


@dataclass(frozen=True)
class LastCheckIns:
    """The last and the earlier check-ins of each user, in 36 x 36 districts of the world.

    Attributes:
        last: (users,) the district of each user's last check-in.
        user, district, count: the number ``count`` of earlier check-ins of ``user`` in ``district``, with one row for
            each pair of user and district.
        label, complete: see ``Baskets``.
    """

    last: Integers
    user: Integers
    district: Integers
    count: Integers
    label: str
    complete: bool

    @property
    def earlier(self) -> Integers:
        """Number of earlier check-ins of all users in each district, shape (1296,)."""
        counts = np.zeros(DISTRICTS**2, dtype=np.int64)
        np.add.at(counts, self.district, self.count)
        return counts


@dataclass(frozen=True)
class DataFolder:
    """The folder that contains the data sets.

    A method that reads a data set raises ``MissingData`` if the folder does not have it, and ``UnreadableData`` if its
    file has another content.

    Attributes:
        path: the folder; None if none was given.
    """

    path: Path | None

    def file(self, name: str) -> Path:
        """Return the path of a data set's original file, or of its compact form if there is no original.

        Raises:
            MissingData: the folder has none of these files, or no folder was given.
        """
        source = SOURCES[name]
        names = (*source.originals, source.compact)
        if self.path is not None:
            for file_name in names:
                if (self.path / file_name).is_file():
                    return self.path / file_name
        lacking = "no folder of data sets was named"
        if self.path is not None:
            lacking = f"{self.path} contains no file of this data set ({', '.join(names)})"
        raise MissingData(
            f"the data set {source.title} is missing: {lacking}. It is described at {source.described_at}; put "
            f"{source.originals[0]} (or the compact {source.compact}) into a folder and name it with --data"
        )

    def baskets(self, name: str) -> Baskets:
        """Return the baskets of "kosarak", the clicks of each user of a news portal (F. Bodon), or of "retail", the
        market baskets of a shop (Brijs et al. 1999)."""
        path, source = self.file(name), SOURCES[name]
        if path.suffix == ".npz":
            arrays = compact_arrays(path, "offsets", "items")
            offsets, items = arrays["offsets"].astype(np.int64), arrays["items"].astype(np.int64)
            if offsets[0] or offsets[-1] != len(items) or (np.diff(offsets) < 0).any():
                raise UnreadableData(
                    f"{path.name}: its offsets must rise from 0 to {len(items)}, the number of items; make the file "
                    "again, or use the original file"
                )
        else:
            offsets, items = lists(path)
        complete = len(items) == source.records
        label = f"{_label(source.title, complete)}, {len(offsets) - 1:,} baskets with {len(items):,} items in them"
        return Baskets(offsets, items, label, complete)

    def clothing(self) -> Baskets:
        """Return the rated rentals of each person (Misra, Wan, McAuley 2018).

        An item that a person rented twice occurs twice in the person's list.
        """
        path = self.file("clothing")
        if path.suffix == ".npz":
            arrays = compact_arrays(path, "user", "item", "rating")
            user, item, rated = arrays["user"], arrays["item"], arrays["rating"] > 0
        else:
            user, item, rated = rentals(path)
        order = np.argsort(user[rated], kind="stable")
        _, sizes = np.unique(user[rated], return_counts=True)
        source = SOURCES["clothing"]
        complete = len(user) == source.records
        label = f"{_label(source.title, complete)}, {int(rated.sum()):,} rated rentals by {len(sizes):,} people"
        return Baskets(np.append(0, np.cumsum(sizes)), item[rated][order].astype(np.int64), label, complete)

    def check_ins_on_grid(self) -> CheckIns:
        """Return the number of check-ins in each cell of the grid over the United States (Cho, Myers, Leskovec
        2011)."""
        path = self.file("gowalla-grid")
        if path.suffix != ".gz" or "us_grid" not in path.name:
            _, _, latitude, longitude = check_ins(path)
            row = np.floor((latitude - 25) * 5 + 1e-9).astype(np.int64)
            column = np.floor((longitude + 130) * 5 + 1e-9).astype(np.int64)
            inside = (row >= 0) & (row < GRID_ROWS) & (column >= 0) & (column < GRID_COLUMNS)
            cell = row[inside] * GRID_COLUMNS + column[inside]
            counts = np.bincount(cell, minlength=GRID_ROWS * GRID_COLUMNS)
        else:
            counts = grid_check_ins(path, GRID_ROWS, GRID_COLUMNS)
        complete = int(counts.sum()) == SOURCES["gowalla-grid"].records
        label = f"{_label('Gowalla', complete)}, {int(counts.sum()):,} check-ins in the United States"
        return CheckIns(counts, label, complete)

    def last_check_ins(self) -> LastCheckIns:
        """Return the districts of each user's last and earlier check-ins (Cho, Myers, Leskovec 2011)."""
        path = self.file("gowalla-last")
        if path.suffix == ".npz":
            arrays = compact_arrays(path, "last_district", "early_offsets", "early_district", "early_count")
            last, complete = arrays["last_district"].astype(np.int64), False
            ends = arrays["early_offsets"].astype(np.int64)
            user = np.repeat(np.arange(len(last)), ends[1:] - ends[:-1])
            district, count = (arrays[key].astype(np.int64) for key in ("early_district", "early_count"))
            if not len(user) == len(district) == len(count):
                raise UnreadableData(
                    f"{path.name} has {len(user)} users, {len(district)} districts and {len(count)} counts of "
                    "check-ins: expected equal numbers; make the file again, or use the original file"
                )
            records = len(last) + int(count.sum())
        else:
            users, seconds, latitude, longitude = check_ins(path)
            last, user, district, count = _by_user(users, seconds, _districts(latitude, longitude))
            records = len(users)
            complete = records == SOURCES["gowalla-last"].records
        label = f"{_label('Gowalla', complete)}, {len(last):,} users with {records:,} check-ins"
        return LastCheckIns(last, user, district, count, label, complete)


def _label(title: str, complete: bool) -> str:
    return f"{title}, whole" if complete else f"{title}, a part of it"


def _districts(latitude: Floats, longitude: Floats) -> Integers:
    row = np.clip(np.floor((latitude + 90) / 5), 0, DISTRICTS - 1)
    column = np.clip(np.floor((longitude + 180) / 10), 0, DISTRICTS - 1)
    cells: Integers = (row * DISTRICTS + column).astype(np.int64)
    return cells


def _by_user(user: Integers, seconds: Integers, district: Integers) -> tuple[Integers, Integers, Integers, Integers]:
    """Return the last district of each user, and the user, district and count of all earlier check-ins.

    Among several check-ins in a user's last second, the first in the file is the last in time, because the newest come
    first.
    """
    order = np.lexsort((-np.arange(len(user)), seconds, user))
    users, starts = np.unique(user[order], return_index=True)
    ends = np.append(starts[1:], len(user)) - 1
    last = district[order][ends]
    before = np.ones(len(user), dtype=bool)
    before[ends] = False
    earlier = np.repeat(np.arange(len(users)), np.diff(np.append(starts, len(user))))[before]
    pairs, count = np.unique(earlier * DISTRICTS**2 + district[order][before], return_counts=True)
    return last, pairs // DISTRICTS**2, pairs % DISTRICTS**2, count.astype(np.int64)
