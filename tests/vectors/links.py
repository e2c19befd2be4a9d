"""The vectors of links (SPEC 7.4): links with their parts, and spellings that are refused."""

from __future__ import annotations

from collections.abc import Iterator

from tests.vectors.case import Case

ID = "000102030405060708090a0b0c0d0e0f"
KEY, FINGERPRINT = "8PHy8_T19vf4-fr7_P3-_w", "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff"


def link_cases() -> Iterator[Case]:
    """Yield the cases, which are written by hand and not computed."""
    for name, link, address, code in (
        ("plain", f"https://study.example/s/{ID}#k={KEY}", "https://study.example", ""),
        ("with a code", f"https://study.example/s/{ID}#k={KEY}&c=Ab-_9", "https://study.example", "Ab-_9"),
        ("with a port and a path", f"https://study.example:8443/a/s/{ID}#k={KEY}", "https://study.example:8443/a", ""),
        ("with a path that ends in /s", f"https://x.example/s/s/{ID}#k={KEY}", "https://x.example/s", ""),
        ("to this machine", f"http://127.0.0.1:8700/s/{ID}#k={KEY}", "http://127.0.0.1:8700", ""),
        ("for an app", f"halftruth://study.example/s/{ID}#k={KEY}&c=x", "https://study.example", "x"),
    ):
        yield {
            "name": name,
            "link": link,
            "address": address,
            "campaign_id": ID,
            "fingerprint": FINGERPRINT,
            "code": code,
            "for_app": name == "for an app",
        }
    refused = {
        "empty": "",
        "without a campaign": "https://study.example",
        "to a list of campaigns": f"https://study.example/v1/campaigns/{ID}#k={KEY}",
        "without its key": f"https://study.example/s/{ID}",
        "cut off in its key": f"https://study.example/s/{ID}#k={KEY[:-1]}",
        "with a key that is too long": f"https://study.example/s/{ID}#k={KEY}A",
        "with a key in a second encoding": f"https://study.example/s/{ID}#k={KEY[:-1]}x",
        "with a padded key": f"https://study.example/s/{ID}#k={KEY}==",
        "with a key in standard base64": f"https://study.example/s/{ID}#k={KEY.replace('_', '/').replace('-', '+')}",
        "with an id in upper case": f"https://study.example/s/{ID.upper()}#k={KEY}",
        "with an id that is too short": f"https://study.example/s/{ID[2:]}#k={KEY}",
        "with a query": f"https://study.example/s/{ID}?from=mail#k={KEY}",
        "with an empty code": f"https://study.example/s/{ID}#k={KEY}&c=",
        "with a code that is too long": f"https://study.example/s/{ID}#k={KEY}&c={'x' * 65}",
        "with a percent sign in its code": f"https://study.example/s/{ID}#k={KEY}&c=a%20b",
        "with two codes": f"https://study.example/s/{ID}#k={KEY}&c=a&c=b",
        "with its code first": f"https://study.example/s/{ID}#c=a&k={KEY}",
        "with an unknown part": f"https://study.example/s/{ID}#k={KEY}&d=a",
        "with another scheme": f"ftp://study.example/s/{ID}#k={KEY}",
        "with its scheme in upper case": f"HTTPS://study.example/s/{ID}#k={KEY}",
        "in plain http to another machine": f"http://study.example/s/{ID}#k={KEY}",
        "with credentials": f"https://me@study.example/s/{ID}#k={KEY}",
        "with a host in upper case": f"https://Study.example/s/{ID}#k={KEY}",
        "with a port that begins with 0": f"https://study.example:0443/s/{ID}#k={KEY}",
        "for an app, and with https": f"halftruth:https://study.example/s/{ID}#k={KEY}",
        "for an app, without a host": f"halftruth:///s/{ID}#k={KEY}",
        "with a second slash": f"https://study.example//s/{ID}#k={KEY}",
        "with text after the key": f"https://study.example/s/{ID}#k={KEY} now",
    }
    for name, link in refused.items():
        yield {"name": name, "link": link, "stage": "link"}
