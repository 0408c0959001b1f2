"""The user's own folder, and its key, which distinguishes the user's roots from others'."""

from __future__ import annotations

import logging
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import click
import pytest

from hedgerow import HedgerowError, MemoryRoot
from hedgerow.memory import identity
from hedgerow.memory.identity import user_folder
from memory_doubles import put

posix = pytest.mark.skipif(sys.platform == "win32", reason="links and modes of POSIX")
pytestmark = pytest.mark.usefixtures("users")


class TestTheUserFolder:
    def test_is_the_one_that_is_named(self, users: Path) -> None:
        assert user_folder() == users / "mallory"

    def test_is_else_that_of_the_platform(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HEDGEROW_CONFIG_DIR", " ")
        assert user_folder() == Path(click.get_app_dir("hedgerow"))

    def test_does_not_depend_on_the_working_directory(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HEDGEROW_CONFIG_DIR", "config")
        with pytest.raises(HedgerowError) as raised:
            user_folder()
        assert (raised.value.code, str(raised.value)) == (
            "user_folder_unusable",
            "the folder config for the user's own files is not an absolute path; set "
            "HEDGEROW_CONFIG_DIR to one that is",
        )


class TestTheKey:
    @posix
    def test_is_for_its_user_alone(self, users: Path) -> None:
        identity.ensure_key()
        file = users / "mallory" / "identity"
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
        assert [one.name for one in file.parent.iterdir()] == ["identity"]
        assert len(bytes.fromhex(file.read_text())) == 32

    def test_is_made_once(self, users: Path) -> None:
        identity.ensure_key()
        before = identity.signature_of(users)
        identity.ensure_key()
        assert identity.signature_of(users) == before
        assert identity.signature_of(users / "other") != before
        program = "from hedgerow.memory import identity; import sys; from pathlib import Path;"
        program += "identity.ensure_key(); print(identity.signature_of(Path(sys.argv[1])))"
        done = subprocess.run(
            [sys.executable, "-c", program, str(users)], capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == before

    def test_is_made_by_nobody_who_only_reads(self, users: Path) -> None:
        put(users / "root", "a.md", "x")
        with MemoryRoot.open(users / "root") as root:
            assert root.index_state() is None
        assert not (users / "mallory").exists()
        assert identity.signature_of(users) == ""

    @pytest.mark.parametrize("text", ["", "no key", "ab" * 31])
    def test_of_another_form_is_made_again(self, users: Path, text: str) -> None:
        file = put(users, "mallory/identity", text)
        identity.ensure_key()
        assert len(bytes.fromhex(file.read_text())) == 32

    @pytest.mark.parametrize("folder", ["here", "{file}/below"])
    def test_that_cannot_be_kept_is_of_one_process(
        self,
        users: Path,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
        folder: str,
    ) -> None:
        monkeypatch.chdir(users)
        monkeypatch.setenv("HEDGEROW_CONFIG_DIR", folder.format(file=put(users, "file", "x")))
        put(users / "root", "a.md", "hawthorn")
        try:
            with caplog.at_level(logging.WARNING, "hedgerow"):
                for _ in range(2):
                    with MemoryRoot.open(users / "root") as root:
                        assert len(root.recall("hawthorn").results) == 1
        finally:
            identity._key_of_this_process.cache_clear()
        [record] = caplog.records
        assert "each process rebuilds .hedgerow/" in record.getMessage()
        assert "set HEDGEROW_CONFIG_DIR to a folder that you may write to" in record.getMessage()
        assert not (users / "here").exists()

    def test_that_cannot_be_kept_is_one_for_all_threads(
        self, users: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HEDGEROW_CONFIG_DIR", put(users, "file", "x").as_posix() + "/below")
        made: list[bytes] = []
        both = threading.Barrier(2)

        def slowly(count: int) -> bytes:
            with suppress(threading.BrokenBarrierError):
                both.wait(0.5)  # this wait succeeds only if a second key is made
            made.append(bytes([len(made)]) * count)
            return made[-1]

        monkeypatch.setattr(identity.secrets, "token_bytes", slowly)
        try:
            with ThreadPoolExecutor(2) as pool:
                for done in [pool.submit(identity.ensure_key) for _ in range(2)]:
                    done.result()
            assert len(made) == 1
        finally:
            identity._key_of_this_process.cache_clear()
