"""The tables of a store, and the number of their format.

The module sqlite creates the tables. The classes that write them, listed in records, define the meaning of the rows.
"""

from __future__ import annotations

VERSION = 1
"""The format of a store; a store of another format is refused."""

# A forgotten campaign keeps its number. Under this number the store keeps the campaign's spending, its used slots, its
# early closing, and the declared prior, which is public and which the study keeps permanently.
SCHEMA = """
CREATE TABLE setting (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE cap (kind TEXT, seconds INTEGER, nanonats INTEGER NOT NULL, PRIMARY KEY (kind, seconds)) WITHOUT ROWID;
CREATE TABLE trusted (public BLOB PRIMARY KEY, name TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE known (number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE);
CREATE TABLE used (campaign INTEGER, period INTEGER, slots INTEGER NOT NULL, PRIMARY KEY (campaign, period))
    WITHOUT ROWID;
CREATE TABLE ledger (number INTEGER PRIMARY KEY, time INTEGER NOT NULL, campaign INTEGER NOT NULL,
    kind INTEGER NOT NULL, nanonats INTEGER NOT NULL);
CREATE INDEX committed ON ledger (campaign, kind, nanonats) WHERE kind IN (1, 3);
CREATE TABLE joined (campaign INTEGER PRIMARY KEY, author BLOB NOT NULL, data BLOB NOT NULL,
    addresses TEXT NOT NULL, signed INTEGER NOT NULL);
CREATE TABLE consent (campaign INTEGER PRIMARY KEY, time INTEGER NOT NULL, dither BLOB NOT NULL,
    cost INTEGER NOT NULL, draws INTEGER NOT NULL, answers INTEGER NOT NULL, period_seconds INTEGER NOT NULL,
    periods INTEGER NOT NULL, class_index INTEGER, choice INTEGER NOT NULL, latest INTEGER NOT NULL,
    floor INTEGER NOT NULL);
CREATE TABLE closing (campaign INTEGER PRIMARY KEY, closes INTEGER NOT NULL);
CREATE TABLE declared (campaign INTEGER PRIMARY KEY, prior BLOB NOT NULL);
CREATE TABLE transcript (campaign INTEGER, period INTEGER, y BLOB NOT NULL, PRIMARY KEY (campaign, period))
    WITHOUT ROWID;
CREATE TABLE memo (campaign INTEGER, x INTEGER, y BLOB NOT NULL, period INTEGER NOT NULL, slot INTEGER NOT NULL,
    times INTEGER NOT NULL, PRIMARY KEY (campaign, x)) WITHOUT ROWID;
CREATE TABLE reading (campaign INTEGER, period INTEGER, slot INTEGER, x INTEGER NOT NULL, sealed INTEGER NOT NULL,
    PRIMARY KEY (campaign, period, slot)) WITHOUT ROWID;
CREATE TABLE code (campaign INTEGER PRIMARY KEY, code TEXT NOT NULL);
CREATE TABLE outbox (number INTEGER PRIMARY KEY, campaign INTEGER NOT NULL, envelope BLOB NOT NULL);
CREATE TABLE upload (campaign INTEGER PRIMARY KEY, envelopes INTEGER NOT NULL, failures INTEGER NOT NULL,
    next_attempt INTEGER NOT NULL, trouble INTEGER NOT NULL);
"""
