"""The table of commands: the file, one-line summary and an example of each.

`halftruth --help` and the completion of a command's name read only this table, so they load no command and none of the
commands' libraries.
"""

from __future__ import annotations

from typing import NamedTuple


class CommandEntry(NamedTuple):
    """The description of a command, available before its file is loaded.

    Attributes:
        file: the module in ``aggregator.cli`` that adds the command to the group.
        summary: one line, for the list of commands.
        example: arguments for ``halftruth``, shown in the help of the command.
    """

    file: str
    summary: str
    example: str


COMMANDS = {
    "keygen": CommandEntry("keygen", "Make an author's key pair.", 'keygen analyst --name "Town library"'),
    "plan": CommandEntry(
        "plan",
        "Compare mechanisms: expected error, and people needed.",
        "plan --values 43750 --epsilon 1 --reports 1000000",
    ),
    "campaign": CommandEntry(
        "author",
        "Turn a draft (TOML) into a signed campaign.",
        "campaign education.toml --key analyst.key --out education.campaign",
    ),
    "close": CommandEntry(
        "author",
        "Sign a closing notice, which closes a campaign early.",
        "close education.campaign --key analyst.key --out education.closing",
    ),
    "audit": CommandEntry(
        "author",
        "Recompute a campaign's privacy claims from its channel's integers.",
        "audit education.campaign --json",
    ),
    "anonymity": CommandEntry(
        "anonymity",
        "Compute k-anonymity and l-diversity of a table or of reports.",
        "anonymity people.csv --known age --known town --sensitive illness",
    ),
    "import": CommandEntry(
        "add_data",
        "Add a signed campaign, or its closing notice, to the study.",
        "--study lib import education.campaign --trust analyst.pub",
    ),
    "enrol": CommandEntry("add_data", "Register device keys.", "--study lib enrol devices.pub"),
    "revoke": CommandEntry(
        "add_data",
        "Refuse further reports under the given device keys.",
        "--study lib revoke stolen.pub --from-period 3",
    ),
    "invite": CommandEntry(
        "invite",
        "Invite people to a campaign: link, QR code, poster.",
        "--study lib invite education --out poster.pdf",
    ),
    "page": CommandEntry(
        "page", "Write the web page on which people answer, as one file.", "--study lib page education --out page.html"
    ),
    "codes": CommandEntry(
        "codes",
        "Make single-use codes that admit devices to a campaign.",
        "--study lib codes members --count 500 --out cards.pdf",
    ),
    "receive": CommandEntry("receive", "Receive uploads over HTTP.", "--study lib receive --listen 127.0.0.1:8700"),
    "ingest": CommandEntry("add_data", "Verify reports and count each one once.", "--study lib ingest uploads/ --json"),
    "status": CommandEntry("status", "Show the study's campaigns, keys, reports and refusals.", "--study lib status"),
    "estimate": CommandEntry(
        "estimate",
        "Estimate the distribution of answers from a campaign's reports.",
        "--study lib estimate education --by period --plot trend.png",
    ),
    "compare": CommandEntry(
        "compare",
        "Compare two campaigns, or two classes of people.",
        "--study lib compare education education-2027 --plot difference.png",
    ),
    "export": CommandEntry(
        "export",
        "Write tallies or estimates by period as Parquet, CSV or GeoJSON.",
        "--study lib export education --out tallies.parquet",
    ),
    "compact": CommandEntry("upkeep", "Merge the study's files.", "--study lib compact"),
    "rebuild": CommandEntry("upkeep", "Rebuild a damaged study in a new folder.", "--study lib rebuild --out lib-new"),
    "simulate": CommandEntry(
        "simulate",
        "Simulate devices for a file of true counts.",
        "simulate education.campaign --truth counts.csv --out batch.htr --keys devices.pub",
    ),
    "inspect": CommandEntry("inspect", "Show the content of a campaign, closing notice or batch.", "inspect batch.htr"),
    "doctor": CommandEntry("doctor", "Check whether this machine has all that halftruth needs.", "doctor"),
    "completion": CommandEntry("completion", "Print the script that completes commands in a shell.", "completion bash"),
    "demo": CommandEntry("demo", "Run a complete session on the answers of 48,842 people.", "demo --out session"),
    "reproduce": CommandEntry(
        "reproduce", "Repeat the experiments of a paper and compare the results.", "reproduce lip --quick"
    ),
}
"""All commands, in the order of a typical study."""
