"""The start: a program that cannot start prints one line with the reason and the next step."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.demo_app.screen import ROOT


def started(*arguments: str | Path, program: str = "") -> subprocess.CompletedProcess[str]:
    """Run ``program`` and then ``python -m demo_app`` with the given arguments; it must end by itself."""
    code = f"import runpy, sys; {program}runpy.run_module('demo_app', run_name='__main__', alter_sys=True)"
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)


def test_the_app_without_kivy_names_the_missing_extra() -> None:
    """Without Kivy, the app ends in one line that names the extra, and exit code 1."""
    done = started(program="sys.modules['kivy'] = None; ")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines() == [
        "demo_app: Kivy is not installed: run pip install '.[demo]' in a clone of the repository"
    ]


def test_the_app_without_a_display_says_that_its_window_may_be_invisible(tmp_path: Path) -> None:
    """On Linux without a display, the app says so before it makes a window; with one, it prints nothing."""
    # The app itself is replaced, because a window without a display never closes.
    replaced = "import os, sys, types; app = types.SimpleNamespace(run=lambda: None); "
    replaced += "sys.modules['demo_app.app'] = types.SimpleNamespace(HalftruthApp=lambda *_: app); "
    unset = "[os.environ.pop(name, None) for name in ('DISPLAY', 'WAYLAND_DISPLAY', 'SDL_VIDEODRIVER')]; "
    warning = "demo_app: none of DISPLAY, WAYLAND_DISPLAY, SDL_VIDEODRIVER is set"
    for program, count in ((unset, 1), (unset + "os.environ['DISPLAY'] = ':9'; ", 0)):
        done = started("--store", tmp_path / "store", program=replaced + program)
        assert done.returncode == 0
        assert done.stderr.count(warning) == count


def test_a_key_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """If a key file is missing or not text, the app ends with exit code 2 before it makes a window or a store."""
    binary = tmp_path / "binary.pub"
    binary.write_bytes(b"\xff\xfe")
    for path in (tmp_path / "none.pub", binary):
        done = started("--trust", path, "--store", tmp_path / "store")
        assert (done.returncode, done.stdout) == (2, "")
        (line,) = done.stderr.splitlines()
        assert line.startswith(f"demo_app: the key file {path} cannot be read: ")
    assert not (tmp_path / "store").exists()
