"""Paths in a bucket behave like those of pathlib; a missing path, or a store unfit for a study, is an error."""

from __future__ import annotations

import io
import json
import os
import random
import sys
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner

from aggregator.cli.group import halftruth
from aggregator.intake.files import IntakeError, batch_files
from aggregator.receive.inbox import NoInbox, inbox_of
from aggregator.storage import remote, tables
from aggregator.storage.paths import files_below, prefetched, size_of, storage_path
from aggregator.storage.remote import ObjectStoreError, Remote, StoragePathError
from aggregator.storage.tables import REPORTS, StudyError
from aggregator.study import Study
from protocol.keys import public_line
from tests.aggregator.fleet import AUTHOR, enrolment, report
from tests.aggregator.object_store import uploaded, using_store
from tests.aggregator.test_intake_ingest import PLAIN

ELSEWHERE = ["gs://b/c", "abfss://b@c/d", "https://b/c", "file:///b"]


# Paths


def test_a_path_in_a_bucket_behaves_like_one_on_a_disk(bucket, tmp_path):
    """The same tree on a disk and in a bucket has the same names, sizes, bytes and kinds.

    A missing object, an object that must be new, and writing through ``open`` are errors.
    """
    here = tmp_path / "here"
    content = {"a": b"0123456789" * 400, "b/c": b"", "b/d e/ü#1": os.urandom(70_000), "b/d e/.f": b"x"}
    for name, data in content.items():
        path, remote = here, bucket
        for part in name.split("/"):
            path, remote = path / part, remote / part
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        remote.write_bytes(data)
        assert remote == bucket / name == storage_path(str(remote)) == remote.resolve()
        assert remote.read_bytes() == path.read_bytes() == data
        assert (remote.name, remote.parent.name) == (path.name, path.parent.name if "/" in name else bucket.name)
        assert remote.with_name("z") == remote.parent / "z"
        for one in (remote, remote.parent, bucket / "nothing", bucket / "b"):
            two = here / str(one).removeprefix(str(bucket)).lstrip("/")
            assert (one.exists(), one.is_file(), one.is_dir()) == (two.exists(), two.is_file(), two.is_dir())
        listed = next(file for file in files_below(bucket) if file.path == remote)
        assert listed.size == size_of(listed.path) == size_of(remote) == path.stat().st_size
        assert abs(listed.path.stat().st_mtime - path.stat().st_mtime) < 60
        read = []
        for opened in (remote.open("rb"), path.open("rb", buffering=0)):
            with opened as file:
                positions = [file.seek(-min(5, len(data)), io.SEEK_END), file.read(3), file.tell(), file.seek(0)]
                read.append([*positions, file.read(1000), file.seek(10, io.SEEK_CUR), file.readall(), file.read(1)])
        assert read[0] == read[1]
    names = [sorted(str(file.path).removeprefix(str(top)) for file in files_below(top)) for top in (bucket, here)]
    assert names[0] == names[1] != []
    (bucket / "a").unlink()
    for asked in (Remote.stat, Remote.read_bytes, Remote.open):
        with pytest.raises(FileNotFoundError):
            asked(bucket / "a")
    with pytest.raises(FileExistsError):
        (bucket / "b/c").write_bytes(b"new", new=True)
    assert (bucket / "b/c").read_bytes() == b""
    with pytest.raises(ValueError, match="opened with mode 'rb', not"):
        (bucket / "b/c").open("wb")


@pytest.mark.parametrize(
    "name", ["s3://", "s3:///key", "s3://b//c", "s3://b/../c", "s3://b/./c", "s3://b/c//d", *ELSEWHERE]
)
def test_malformed_bucket_addresses_are_refused(name):
    """Malformed addresses of buckets are refused, and do not become folders named "s3:" or "gs:"."""
    with pytest.raises(StoragePathError, match="is not a valid path"):
        storage_path(name)


def test_a_whole_bucket_is_a_path():
    """A whole bucket is a path, and a trailing slash changes nothing; "s3" alone is a folder."""
    assert storage_path("s3://b") == storage_path("s3://b/") == Remote("b")
    assert storage_path("S3://b/C") == Remote("b", "C")
    assert str(Remote("b")) == "s3://b"
    assert storage_path("s3://b/c/d/") == Remote("b", "c/d")
    assert (Remote("b").name, Remote("b", "c").parent, Remote("b").parent) == ("b", Remote("b"), Remote("b"))
    assert storage_path("s3") == Path("s3")


def test_prefetched_results_are_in_order():
    """Prefetched results are in the order of the requests, each once, and an error is raised at its turn."""

    def ask(number):
        threading.Event().wait(random.Random(number).random() / 200)
        return 1 // (number - 90) * 0 + number

    answers = prefetched(ask, range(100))
    assert [next(answers) for _ in range(90)] == list(range(90))
    with pytest.raises(ZeroDivisionError):
        next(answers)
    assert list(prefetched(ask, [])) == []


# Error messages


def run(*arguments):
    """Return a command's exit code, output and error messages."""
    done = CliRunner().invoke(halftruth, [str(argument) for argument in arguments])
    assert not done.exception or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.stdout, done.stderr


def test_commands_have_the_same_output_for_a_bucket_and_a_folder(bucket, tmp_path):
    """import, enrol, ingest, status, estimate, compact and rebuild work for a study in a bucket as for one in a
    folder."""
    (tmp_path / "education.campaign").write_bytes(PLAIN.data)
    (tmp_path / "author.pub").write_text(public_line(AUTHOR.public))
    (tmp_path / "devices.pub").write_bytes(b"".join(enrolment(n, PLAIN) for n in range(50)))
    data = b"".join(report(n, PLAIN, n % 16) for n in range(50))
    uploaded(bucket / "inbox", [data])
    uploaded(tmp_path / "inbox", [data])
    printed = []
    for where, inputs in ((bucket / "study", bucket / "inbox"), (tmp_path / "study", tmp_path / "inbox")):
        of = ["--study", str(where)]
        sessions = [
            run(*of, "import", tmp_path / "education.campaign", "--trust", tmp_path / "author.pub"),
            run(*of, "enrol", tmp_path / "devices.pub"),
            run(*of, "ingest", inputs, "--json"),
            run(*of, "status", "--json"),
            run(*of, "estimate", "education", "--json"),
            run(*of, "compact"),
        ]
        assert [code for code, _, _ in sessions] == [0] * len(sessions), sessions
        printed.append([out for _, out, _ in sessions[1:5]])
        code, out, _ = run(*of, "rebuild", "--out", tmp_path / f"rebuilt from {where.parent.name}", "--json")
        assert (code, json.loads(out)["copied"]) == (0, 50)
    assert printed[0] == printed[1]
    assert json.loads(printed[0][1])["accepted"] == 50


def test_a_bucket_without_the_object_is_refused_before_any_work(bucket, study, tmp_path):
    """A bucket cannot have an inbox, a rebuilt study, or a study among other objects; a missing bucket or object is
    named in the error."""
    of = ["--study", study.path]
    for arguments, message in (
        ([*of, "ingest"], "has no inbox"),
        ([*of, "receive"], "to receive uploads, use a study in a folder"),
        ([*of, "rebuild", "--out", bucket / "rebuilt"], "is in a bucket: name a folder"),
        ([*of, "ingest", bucket / "nothing"], "no such file or folder"),
        ([*of, "ingest", "s3://no-such-bucket/there"], "404 Not Found (NoSuchBucket)"),
        ([*of, "ingest", "s3://"], "is not a valid path"),
        (["--study", "s3:///lib", "status"], "is not a valid path"),
        (["--study", "s3://no-such-bucket/lib", "status"], "404 Not Found (NoSuchBucket)"),
        (["--study", bucket / "nothing", "status"], "does not exist: name the folder of a study"),
    ):
        code, out, err = run(*arguments)
        assert code in (1, 2)
        assert out == ""
        assert message in " ".join(err.split()), err
        assert "Traceback" not in err
    with pytest.raises(NoInbox):
        inbox_of(study.path)
    with pytest.raises(IntakeError):
        batch_files([bucket / "nothing"])
    (bucket / "other" / "file").write_bytes(b"x")
    with pytest.raises(StudyError, match="has other files"):
        Study.create(bucket / "other")
    assert not (tmp_path / "s3:").exists()


def test_a_store_that_overwrites_objects_is_refused(stores, bucket):
    """A store that ignores If-None-Match and overwrites objects is refused, and nothing is left in it."""
    with using_store(stores[1]):
        with pytest.raises(StoragePathError, match="If-None-Match"):
            Study.create(bucket / "study")
        assert not (bucket / "study").exists()


def test_a_store_that_does_not_answer_is_named_as_such(study, monkeypatch):
    """A store that does not answer, a missing bucket, missing credentials and a missing program are errors with the
    reason."""
    silence = pytest.raises(StudyError, match=r"the object store does not answer; .* set AWS_ENDPOINT_URL")
    with using_store("http://127.0.0.1:9"), silence:
        Study.open(study.path)
    with pytest.raises(ObjectStoreError, match="NoSuchBucket"):
        batch_files(["s3://no-such-bucket/inbox"])
    with pytest.raises(StudyError, match="NoSuchBucket"):
        tables.snapshot(Remote("no-such-bucket", "study") / REPORTS)
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("AWS_ALLOW_HTTP")
        remote._store.cache_clear()
        with pytest.raises(StudyError, match="AWS_ALLOW_HTTP=true"):
            Study.open(study.path)
    remote._store.cache_clear()
    asked = "Generic S3 error: Error performing PUT http://169.254.169.254/latest/api/token in 5 ms - 403 Forbidden"
    assert "AWS_ACCESS_KEY_ID" in str(remote.reason_of(OSError(asked)))
    monkeypatch.setitem(sys.modules, "obstore.store", None)
    with pytest.raises(StoragePathError, match=r"halftruth\[aggregator,s3\]"):
        Study.open(study.path)
