"""The table of commands: of each its file, its line in the list of commands, and an example.

`halftruth --help` and completion read this table alone, so they load no command and no library that one needs.
"""

from __future__ import annotations

from typing import NamedTuple


class CommandEntry(NamedTuple):
    """What is known of a command before its file is loaded.

    Attributes:
        file: the module in ``aggregator.cli`` that adds the command to the group.
        summary: one line, for the list of commands.
        example: what is typed after ``halftruth``, for the help of the command.
    """

    file: str
    summary: str
    example: str


COMMANDS = {
    "keygen": CommandEntry("keygen", "Make an author's key pair.", "keygen analyst"),
    "plan": CommandEntry(
        "plan", "Which mechanism, how sure, how many people.", "plan --values 43750 --epsilon 1 --reports 1000000"
    ),
    "campaign": CommandEntry(
        "author",
        "Turn a draft (TOML) into a signed campaign.",
        "campaign education.toml --key analyst.key --out education.campaign",
    ),
    "close": CommandEntry(
        "author",
        "Close a campaign before its time.",
        "close education.campaign --key analyst.key --out education.closing",
    ),
    "audit": CommandEntry(
        "author", "Recompute a campaign's privacy claims from its integers.", "audit education.campaign --json"
    ),
    "anonymity": CommandEntry(
        "release",
        "k-anonymity and l-diversity of a table or of counted reports.",
        "anonymity people.csv --known age --known town --sensitive illness",
    ),
    "import": CommandEntry(
        "desk",
        "Take a signed campaign, or the notice that closes it, into the study.",
        "--study lib import education.campaign --trust analyst.pub",
    ),
    "enrol": CommandEntry("desk", "Register device keys.", "--study lib enrol devices.pub"),
    "revoke": CommandEntry(
        "desk", "Refuse reports under device keys from now on.", "--study lib revoke stolen.pub --from-period 3"
    ),
    "receive": CommandEntry("receive", "Take uploads over HTTP.", "--study lib receive --listen 127.0.0.1:8700"),
    "ingest": CommandEntry("desk", "Verify reports and count each once.", "--study lib ingest uploads/ --json"),
    "status": CommandEntry("status", "What the study holds.", "--study lib status"),
    "estimate": CommandEntry(
        "estimate",
        "The distribution behind a campaign's reports.",
        "--study lib estimate education --by period --plot trend.png",
    ),
    "compare": CommandEntry(
        "changes",
        "What differs between two campaigns, or two classes of people.",
        "--study lib compare education education-2027 --plot difference.png",
    ),
    "export": CommandEntry(
        "export",
        "Tallies or estimates by period, as Parquet, CSV or GeoJSON.",
        "--study lib export education --to tallies.parquet",
    ),
    "compact": CommandEntry("upkeep", "Put the study into fewer files.", "--study lib compact"),
    "rebuild": CommandEntry("upkeep", "Make a damaged study anew.", "--study lib rebuild --out lib-new"),
    "simulate": CommandEntry(
        "simulate",
        "Simulate devices for a file of true counts.",
        "simulate education.campaign --truth counts.csv --out batch.htr --keys devices.pub",
    ),
    "inspect": CommandEntry("inspect", "What a campaign, a notice or a batch claims to be.", "inspect batch.htr"),
    "doctor": CommandEntry("doctor", "Whether this machine can do the work.", "doctor"),
    "completion": CommandEntry("completion", "Complete commands, options and campaigns in a shell.", "completion bash"),
    "demo": CommandEntry("demo", "The whole session, on the answers of 48,842 people.", "demo --out session"),
    "reproduce": CommandEntry("reproduce", "The experiments of a paper, beside what it says.", "reproduce lip --quick"),
}
"""All commands, in the order in which a session needs them."""
