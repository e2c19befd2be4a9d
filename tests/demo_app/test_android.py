"""The Android package: its recipe and sources need nothing that a phone lacks."""

from __future__ import annotations

import ast
import configparser
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
SPEC = ROOT / "demo_app" / "buildozer.spec"
PACKAGES = ("protocol", "edge_sdk", "demo_app")

RECIPES = {
    "python3": "3.14.2", "kivy": "2.3.1", "cryptography": "46.0.3", "sqlite3": "3.50.4", "openssl": "3.3.1",
    "pyjnius": "1.7.0", "android": None, "sdl2": "2.30.11", "cffi": "2.0.0", "libffi": "v3.4.2",
}  # fmt: skip
"""Recipes of python-for-android 2026.5.9, as its release on the package index has them, and the versions they build."""

PURE = {"msgpack", "certifi"}
"""Packages without compiled parts on a phone: certifi is data, and msgpack falls back to pure Python."""

IMPORTED = {"kivy": "kivy", "jnius": "pyjnius", "cryptography": "cryptography", "msgpack": "msgpack",
            "certifi": "certifi", "keyring": None, "darkdetect": None}  # fmt: skip
"""Modules that are not the standard library's, and the requirement each comes from; None is for desktops alone."""


def spec() -> configparser.SectionProxy:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(SPEC, encoding="utf-8")
    return parser["app"]


def listed(key: str) -> list[str]:
    return [part.strip() for part in spec()[key].split(",") if part.strip()]


def sources() -> list[Path]:
    return sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


def test_everything_needed_can_be_built_for_a_phone() -> None:
    """Every requirement has a known build recipe for Android, or is pure Python."""
    requirements = listed("requirements")
    assert requirements[0] == "python3"
    assert set(requirements) <= set(RECIPES) | PURE
    assert {"kivy", "cryptography", "sqlite3", "openssl", "msgpack", "pyjnius", "android"} <= set(requirements)


def test_the_recipes_versions_are_not_too_old() -> None:
    """The versions of the recipes are at least those that the project requires."""
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for name in ("cryptography", "kivy"):
        least = re.search(rf'"{name}>=([0-9.]+)"', project)
        assert least
        built = str(RECIPES[name])
        assert [int(part) for part in built.split(".")] >= [int(part) for part in least[1].split(".")], name
    python = re.search(r'requires-python = ">=([0-9.]+)"', project)
    assert python
    assert [int(part) for part in str(RECIPES["python3"]).split(".")] >= [int(part) for part in python[1].split(".")]


def test_every_imported_module_is_a_requirement() -> None:
    """Every module that the three packages import belongs to the standard library, to them, or to a requirement."""
    tops: set[str] = set()
    for path in sources():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                tops |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                tops.add(node.module.split(".")[0])
    foreign = tops - set(sys.stdlib_module_names) - set(PACKAGES)
    assert foreign <= set(IMPORTED)
    assert {IMPORTED[name] for name in foreign} - {None} <= set(listed("requirements"))


def test_a_backup_cannot_restore_an_older_ledger() -> None:
    """Android does not back up the store, and the app requests only the permission for the network."""
    assert spec()["android.allow_backup"] == "False"
    assert listed("android.permissions") == ["INTERNET"]


def test_the_api_levels_of_the_package_agree() -> None:
    """The package is for 64-bit and 32-bit phones, and the API levels agree with each other."""
    assert listed("android.archs") == ["arm64-v8a", "armeabi-v7a"]
    assert int(spec()["android.minapi"]) == int(spec()["android.ndk_api"]) >= 21
    assert int(spec()["android.api"]) >= int(spec()["android.minapi"])


def test_the_package_contains_only_three_packages_and_main() -> None:
    """`make apk` lays out protocol, edge_sdk, demo_app and main.py, in the folder that the spec names."""
    made = re.search(r"^apk:.*?(?=^\S)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.S | re.M)
    assert made
    copied = re.findall(r"cp -r ([^\n]+?) build/android", made[0])
    assert [words.split() for words in copied] == [list(PACKAGES)]
    assert "cp demo_app/main.py build/android/main.py" in made[0]
    assert (SPEC.parent / spec()["source.dir"]).resolve() == ROOT / "build" / "android"


def test_every_file_that_the_app_opens_is_packaged() -> None:
    """Every kind of file that the app opens is packaged, and the app's pictures exist."""
    kinds = set(listed("source.include_exts"))
    opened = {"demo_app/shell.kv", "demo_app/texts/en.toml", "demo_app/texts/de.toml", "demo_app/data/coast.bin"}
    assert all((ROOT / path).is_file() for path in opened)
    assert {Path(path).suffix[1:] for path in opened} | {"py", "pub"} <= kinds
    for key in ("icon.filename", "presplash.filename"):
        assert (ROOT / spec()[key].removeprefix("%(source.dir)s/")).is_file()
    left = {path.suffix for package in PACKAGES for path in (ROOT / package).rglob("*") if path.is_file()}
    assert {"kv", "toml", "bin", "png"} <= {suffix[1:] for suffix in left} & kinds


def run(program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a program in a separate Python in which msgpack is pure Python, as on a phone."""
    environment = os.environ | {"MSGPACK_PUREPYTHON": "1", "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-c", program], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


DEVICE = """
import msgpack
assert msgpack.Packer.__module__ == "msgpack.fallback"
from pathlib import Path
from edge_sdk import BudgetPolicy, Device
from tests.edge_sdk.conftest import AUTHOR, Clock, Dice, campaign
with Device.open("store", [AUTHOR.public], BudgetPolicy(lifetime=8.0), clock=Clock(), urandom=Dice()) as device:
    terms = device.join(campaign())
    device.consent(terms.campaign_id)
    receipt = device.answer(terms.campaign_id, "bachelor")
    device.outbox.export("upload.htr")
print(receipt.envelope.hex(), Path("upload.htr").read_bytes().hex())
"""


def test_a_device_works_without_compiled_msgpack(tmp_path: Path) -> None:
    """Joining, answering and exporting give the same bytes with msgpack's pure-Python fallback as with the compiled
    version."""
    pure, compiled = tmp_path / "pure", tmp_path / "compiled"
    pure.mkdir()
    compiled.mkdir()
    done = run(DEVICE, pure)
    assert done.returncode == 0, done.stderr
    program = "import os; del os.environ['MSGPACK_PUREPYTHON']\n" + DEVICE.replace(
        "assert msgpack.Packer", "msgpack.Packer"
    )
    with_compiled = run(program, compiled)
    assert with_compiled.returncode == 0, with_compiled.stderr
    assert done.stdout == with_compiled.stdout
    assert len(done.stdout) > 100


def test_the_vectors_hold_without_compiled_msgpack(tmp_path: Path) -> None:
    """With msgpack's pure-Python fallback every vector is encoded to the same bytes, and any value decodes to itself.

    Decoding does not use msgpack, so tests that only decode are not repeated here.
    """
    tests = ["test_vectors.py::test_vectors_are_current", "test_codec.py::test_every_value_decodes_to_itself"]
    nodes = [str(ROOT / "tests" / "protocol" / name) for name in tests]
    program = (
        "import sys, msgpack, pytest\n"
        "assert msgpack.Packer.__module__ == 'msgpack.fallback'\n"
        f"sys.exit(pytest.main(['-n', '0', '-q', '-p', 'no:cacheprovider', '--rootdir', {str(ROOT)!r}, *{nodes!r}]))"
    )
    done = run(program, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("..")


def test_the_codec_uses_only_old_features_of_msgpack() -> None:
    """The codec uses only `packb(value, use_bin_type=True)` of msgpack, which exists since version 0.4."""
    tree = ast.parse((ROOT / "protocol" / "codec.py").read_text(encoding="utf-8"))
    used = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "msgpack"
    }
    calls = [
        node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == "msgpack.packb"
    ]
    assert used == {"packb"}
    assert [[keyword.arg for keyword in call.keywords] for call in calls] == [["use_bin_type"]]
    others = {path for path in sources() if "msgpack" in path.read_text(encoding="utf-8")}
    assert {path for path in others if re.search(r"^\s*(import|from) msgpack", path.read_text("utf-8"), re.M)} == {
        ROOT / "protocol" / "codec.py"
    }


def test_a_phones_start_names_its_authorities(tmp_path: Path) -> None:
    """Before the first connection, Python on a phone gets the certificate authorities for https."""
    check = (
        "import certifi, os, ssl, demo_app.main as phone\n"
        "os.environ.pop('SSL_CERT_FILE', None)\n"
        "phone.main = lambda arguments: 7\n"
        "assert phone.start() == 7\n"
        "assert os.environ['SSL_CERT_FILE'] == certifi.where()\n"
        "assert ssl.create_default_context().cert_store_stats()['x509_ca'] > 50\n"
    )
    done = run(check, tmp_path)
    assert done.returncode == 0, done.stderr


def test_links_open_the_app() -> None:
    """The intent filters match halftruth: links, and https links to the page of a campaign on any host, and no other
    pages."""
    filters = (SPEC.parent / spec()["android.manifest.intent_filters"]).read_text(encoding="utf-8")
    found = re.findall(r'<data android:scheme="(\w+)"(?: android:host="(.)" android:pathPattern="(.*)")?', filters)
    assert [(scheme, host) for scheme, host, _ in found] == [("halftruth", ""), ("https", "*")]
    assert spec()["android.manifest.launch_mode"] == "singleTask"
    paths = re.compile(found[1][2])
    assert paths.fullmatch("/s/" + "0f" * 16)
    for path in ("/", "/s/", "/s/short", "/v1/campaigns/" + "0f" * 16):
        assert not paths.fullmatch(path), path
