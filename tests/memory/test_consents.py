"""The file of a user's consents."""

from __future__ import annotations

import json
import logging
import os
import stat
import sys
import threading
from pathlib import Path

import pytest

from hedgerow import HedgerowError, MemoryRoot
from hedgerow.memory import trust
from hedgerow.memory.trust import TrustRequest
from local_server import LocalServer
from memory_doubles import put
from trust_doubles import allow_all

posix = pytest.mark.skipif(sys.platform == "win32", reason="links and modes of POSIX")


class TestTheFile:
    REQUEST = TrustRequest("embedder", "openai:x", "send", "Not.", "/r")

    def unusable(self) -> str:
        with pytest.raises(HedgerowError) as raised:
            trust.read_consents()
        assert raised.value.code == "trust_unusable"
        return raised.value.message

    @posix
    def test_is_private_and_whole(self) -> None:
        trust.allow([self.REQUEST])
        file = trust.consents_file()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.parent.stat().st_mode) & 0o077 == 0
        # Other tests of this process store an identity and tokens in this folder.
        names = {path.name for path in file.parent.glob("trust*")}
        assert names == {"trust.json", "trust.lock"}
        [entry] = json.loads(file.read_text())["roots"]["/r"]
        assert (entry["setting"], entry["value"]) == ("embedder", "openai:x")
        file.chmod(0o640)
        trust.allow([self.REQUEST])
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert len(trust.read_consents()) == 1

    def test_is_known_by_the_real_path_of_the_root(
        self, attacked: Path, server: LocalServer, tmp_path: Path
    ) -> None:
        allow_all(attacked)
        (tmp_path / "link").symlink_to(attacked)
        with MemoryRoot.open(tmp_path / "link") as root:
            assert root.recall("otter").notices == ()
        assert server.requests != []

    def test_keeps_what_others_write_at_the_same_time(self) -> None:
        def allow(root: str) -> None:
            trust.allow([TrustRequest("embedder", "openai:x", "send", "Not.", root)])

        threads = [threading.Thread(target=allow, args=(f"/r{i}",)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert {one.root for one in trust.read_consents()} == {f"/r{i}" for i in range(8)}

    @pytest.mark.parametrize(
        "content",
        ["{", "[]", '{"version": 2, "roots": {}}', '{"version": 1, "roots": {"/r": [1]}}'],
    )
    def test_that_cannot_be_read_allows_nothing(
        self, content: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        put(trust.consents_file().parent, "trust.json", content)
        assert "it is not what hedgerow wrote" in self.unusable()
        other = TrustRequest("indexRoot", "/", "read", "Not.", "/r")
        with caplog.at_level(logging.WARNING, "hedgerow"):
            assert len(trust.without_consent([self.REQUEST, other])) == 2
        assert len(caplog.records) == 1
        with caplog.at_level(logging.WARNING, "hedgerow"):
            assert trust.without_consent([self.REQUEST]) == (self.REQUEST,)
        assert "it is not what hedgerow wrote" in caplog.text
        with pytest.raises(HedgerowError):
            trust.allow([self.REQUEST])
        assert trust.consents_file().read_text() == content

    @posix
    def test_that_others_may_write_allows_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        trust.allow([self.REQUEST])
        assert trust.without_consent([self.REQUEST]) == ()
        trust.consents_file().chmod(0o620)
        assert "others may write to it; run: chmod 600" in self.unusable()
        assert trust.without_consent([self.REQUEST]) == (self.REQUEST,)
        trust.consents_file().chmod(0o600)
        mine = os.geteuid()
        monkeypatch.setattr(os, "geteuid", lambda: mine + 1)
        assert "another user owns it" in self.unusable()

    @pytest.mark.parametrize("variable", ["HEDGEROW_CONFIG_DIR", "XDG_CONFIG_HOME"])
    @pytest.mark.skipif(sys.platform != "linux", reason="the folder of Linux")
    def test_is_not_looked_for_below_the_working_directory(
        self, monkeypatch: pytest.MonkeyPatch, variable: str
    ) -> None:
        monkeypatch.delenv("HEDGEROW_CONFIG_DIR")
        monkeypatch.setenv(variable, "config")
        with pytest.raises(HedgerowError, match="set HEDGEROW_CONFIG_DIR to one") as raised:
            trust.read_consents()
        assert raised.value.code == "user_folder_unusable"
        assert trust.without_consent([self.REQUEST]) == (self.REQUEST,)

    @pytest.mark.skipif(sys.platform != "linux", reason="the folder of Linux")
    def test_is_in_the_users_configuration(
        self, monkeypatch: pytest.MonkeyPatch, nobodys_home: Path
    ) -> None:
        monkeypatch.delenv("HEDGEROW_CONFIG_DIR")
        file = nobodys_home / ".config" / "hedgerow" / "trust.json"
        assert trust.consents_file() == file
