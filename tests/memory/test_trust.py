"""The rights of a memory root without consent, and those that its user must grant."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import Any

import pytest

import hedgerow.embedders
from embedder_servers import KEY, openai_answer
from hedgerow import MemoryRoot
from hedgerow.memory import trust
from hedgerow.memory.doctor import diagnose
from hedgerow.memory.trust import embedder, index_root
from local_server import LocalServer
from memory_doubles import put
from trust_doubles import allow_all, asking

posix = pytest.mark.skipif(sys.platform == "win32", reason="links and modes of POSIX")


def files(root: MemoryRoot) -> list[str]:
    return [one.file for one in root.recall("otter")]


class TestWithoutConsent:
    def test_nothing_is_posted_and_nothing_outside_is_read(
        self, attacked: Path, server: LocalServer
    ) -> None:
        with MemoryRoot.open(attacked) as root:
            found = root.recall("otter")
            assert [(one.file, one.parts.driver) for one in found] == [
                ("notes/a.md", "keywords:note")
            ]
            assert root.index().documents == 1
            assert root.query('search:"otter"').keys == ["notes/a.md"]
            assert root.retrieval == "keywords"
            assert root.remember("Otters dive.", title="Dive").indexed
        assert server.requests == []

    def test_results_say_what_was_left_out_and_how_to_allow_it(
        self, attacked: Path, server: LocalServer, tmp_path: Path
    ) -> None:
        with MemoryRoot.open(attacked) as root:
            found = root.recall("otter")
            first, second = found.notices
            assert found.to_dict()["notices"] == [first, second]
        url = f"{server.url}/v1"
        assert first == (
            f"Not allowed: the memory root {attacked} asks to send the text of your memories and "
            f'questions to {url}, without a key (embedder "openai:small@{url}"). It is searched by '
            f"keywords alone. To allow it: hedgerow trust --root {attacked}"
        )
        assert f"read and index all Markdown files below {tmp_path.resolve()}" in second
        assert "Only the root itself is indexed." in second

    def test_a_handle_says_it_once(self, attacked: Path, caplog: pytest.LogCaptureFixture) -> None:
        with (
            caplog.at_level(logging.WARNING, "hedgerow"),
            MemoryRoot.open(attacked) as root,
        ):
            root.recall("otter")
            root.recall("otter")
            root.sync()
        assert [record.getMessage()[:12] for record in caplog.records] == ["Not allowed:"] * 2
        told: list[str] = []
        caplog.clear()
        with MemoryRoot.open(attacked, notify=told.append) as root:
            root.recall("otter")
            root.recall("otter")
        assert (len(told), caplog.records) == (2, [])

    def test_status_and_doctor_name_it(self, attacked: Path) -> None:
        status = MemoryRoot.open(attacked).status()
        assert [one.setting for one in status.not_allowed] == ["embedder", "indexRoot"]
        assert [one["setting"] for one in status.to_dict()["notAllowed"]] == [
            "embedder",
            "indexRoot",
        ]
        found = diagnose(attacked)
        assert found.ok
        assert found.memory_root.message.count("Not allowed:") == 2
        assert found.to_dict()["memoryRoot"]["notAllowed"] == status.to_dict()["notAllowed"]
        assert "notAllowed" not in diagnose(attacked, trust=True).to_dict()["memoryRoot"]

    def test_a_root_that_asks_for_nothing_has_no_new_keys(self, tmp_path: Path) -> None:
        root = MemoryRoot.open(asking(tmp_path, indexRoot="notes"))
        assert "notAllowed" not in root.status().to_dict()
        assert "notices" not in root.recall("otter").to_dict()
        assert files(root) == ["a.md"]

    @posix
    def test_a_link_to_the_outside_is_outside(self, tmp_path: Path) -> None:
        put(tmp_path, "private/p.md", "secret otter")
        put(tmp_path, "other/o.md", "other otter")
        root = asking(tmp_path / "memory", indexRoot="docs")
        (root / "docs").symlink_to("../private")
        assert files(MemoryRoot.open(root)) == ["notes/a.md"]
        allow_all(root)
        assert files(MemoryRoot.open(root)) == ["p.md"]
        (root / "docs").unlink()
        (root / "docs").symlink_to("../other")
        assert files(MemoryRoot.open(root)) == ["notes/a.md"]

    @pytest.mark.parametrize("adapter", ["sentence-transformers", "model2vec"])
    def test_no_model_is_loaded_from_a_folder(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, adapter: str
    ) -> None:
        loaded: list[str] = []
        monkeypatch.setattr(hedgerow.embedders, "embedder_named", loaded.append)
        root = asking(tmp_path / "memory", embedder=f"{adapter}:memory/model")
        put(root, "model/modules.json", "[]")
        monkeypatch.chdir(tmp_path)
        [notice] = MemoryRoot.open(root).recall("otter").notices
        assert loaded == []
        assert f"load the model in the folder {root}{os.sep}model, which may run code" in notice

    def test_a_name_that_becomes_a_folder_is_asked_about_again(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        root = asking(tmp_path / "memory", embedder="sentence-transformers:all-MiniLM-L6-v2")
        monkeypatch.chdir(tmp_path)
        [before] = MemoryRoot.open(root).status().not_allowed
        assert "download the model all-MiniLM-L6-v2" in before.effect
        allow_all(root)
        assert MemoryRoot.open(root).status().not_allowed == ()
        put(tmp_path, "all-MiniLM-L6-v2/modules.json", "[]")
        [after] = MemoryRoot.open(root).status().not_allowed
        assert f"in the folder {tmp_path.resolve()}" in after.effect


class TestWithConsent:
    def test_texts_and_questions_are_posted(self, attacked: Path, server: LocalServer) -> None:
        allow_all(attacked)
        with MemoryRoot.open(attacked) as root:
            found = root.recall("otter")
        assert {one.file for one in found} == {"private.md", "clone/project/memory/notes/a.md"}
        assert {one.parts.driver.split(":")[0] for one in found} == {"hybrid"}
        assert {request.path for request in server.requests} == {"/v1/embeddings"}
        assert any("otter" in body["input"] for body in server.bodies)

    def test_another_value_needs_another(self, attacked: Path, server: LocalServer) -> None:
        allow_all(attacked)
        asking(attacked, embedder=f"openai:small@{server.url}/v2")
        with MemoryRoot.open(attacked) as root:
            assert [one.parts.driver for one in root.recall("otter")] == ["keywords:note"]
        assert server.requests == []

    def test_another_root_needs_another(
        self, attacked: Path, server: LocalServer, tmp_path: Path
    ) -> None:
        allow_all(attacked)
        other = asking(tmp_path / "other", embedder=f"openai:small@{server.url}/v1")
        with MemoryRoot.open(other) as root:
            root.recall("otter")
        assert server.requests == []

    def test_an_open_handle_heeds_a_revocation(self, attacked: Path, server: LocalServer) -> None:
        allow_all(attacked)
        with MemoryRoot.open(attacked) as root:
            root.recall("otter")
            posted = len(server.requests)
            assert len(trust.revoke(str(attacked))) == 2
            assert files(root) == ["notes/a.md"]
            assert len(server.requests) == posted > 0

    def test_by_the_environment_for_roots_that_it_names(
        self, attacked: Path, server: LocalServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setenv("HEDGEROW_TRUST", f"{tmp_path / 'x'}{os.pathsep}{tmp_path}")
        assert MemoryRoot.open(attacked).recall("otter").notices != ()
        monkeypatch.setenv("HEDGEROW_TRUST", f"{tmp_path / 'x'}{os.pathsep}{attacked}")
        with MemoryRoot.open(attacked) as root:
            assert root.recall("otter").notices == ()
        assert server.requests != []


class TestTheCaller:
    def test_may_trust_a_root(self, attacked: Path, server: LocalServer) -> None:
        with MemoryRoot.open(attacked, trust=True) as root:
            assert len(files(root)) == 2
        assert server.requests != []
        assert trust.read_consents() == []

    def test_may_distrust_what_the_user_allowed(self, attacked: Path, server: LocalServer) -> None:
        allow_all(attacked)
        with MemoryRoot.open(attacked, trust=False) as root:
            assert files(root) == ["notes/a.md"]
        assert server.requests == []

    def test_must_say_yes_or_no(self, attacked: Path) -> None:
        trust: Any = "no"
        with pytest.raises(TypeError, match="trust must be True, False or None, not 'no'"):
            MemoryRoot.open(attacked, trust=trust)

    def test_may_name_an_embedder(self, attacked: Path, server: LocalServer) -> None:
        name = f"openai:mine@{server.url}/mine"
        with MemoryRoot.open(attacked, embedder=name) as root:
            assert root.retrieval == f"hybrid, with {name}"
            found = root.recall("otter")
        assert [one.parts.driver for one in found] == ["hybrid:note"]
        assert ["indexRoot" in notice for notice in found.notices] == [True]
        assert {request.path for request in server.requests} == {"/mine/embeddings"}

    def test_may_bring_an_embedder_which_it_closes_itself(
        self, tmp_path: Path, server: LocalServer
    ) -> None:
        server.answer = openai_answer
        own = server.closes(hedgerow.embedders.OpenAIEmbedder("own", base_url=f"{server.url}/own"))
        for _ in range(2):
            with MemoryRoot.open(asking(tmp_path), embedder=own) as root:
                assert root.retrieval == "hybrid, with own"
                assert root.recall("otter").results[0].parts.driver == "hybrid:note"


class TestKeys:
    def test_of_openai_is_not_sent_to_an_address_that_a_root_names(
        self, attacked: Path, server: LocalServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for variable in ("OPENAI_API_KEY", "HEDGEROW_MODEL_KEY"):
            monkeypatch.setenv(variable, KEY)
        allow_all(attacked)
        with MemoryRoot.open(attacked) as root:
            root.recall("otter")
        assert server.requests != []
        assert not any("Authorization" in request.headers for request in server.requests)

    @pytest.mark.parametrize(
        ("name", "effect"),
        [
            ("openai:m", "https://api.openai.com/v1, with the key in OPENAI_API_KEY"),
            (
                "openai:m@https://api.openai.com/v1",
                "https://api.openai.com/v1, with the key in OPENAI_API_KEY",
            ),
            ("openai:m@https://api.openai.com/v1/", "https://api.openai.com/v1/, without a key"),
            ("openai:m@https://api.openai.com.evil/v1", "https://api.openai.com.evil/v1, without"),
            ("ollama:m", "http://localhost:11434, without a key"),
            ("ollama:m@http://10.0.0.1:1", "http://10.0.0.1:1, without a key"),
            ("openai:m@http://\u0430pi.openai.com", "http://\\u0430pi.openai.com, without a key"),
        ],
    )
    def test_a_request_says_where_texts_and_keys_go(self, name: str, effect: str) -> None:
        asked = embedder(Path("r"), name)
        assert asked is not None
        assert asked.effect.startswith(f"send the text of your memories and questions to {effect}")


class TestRequests:
    def test_a_value_cannot_forge_lines_or_hide_in_them(self) -> None:
        asked = embedder(Path("r"), "openai:x\nAllowed.\x1b[2K\u202e@http://e/v1")
        assert asked is not None
        for text in (asked.question, asked.notice):
            assert text.isprintable()
        assert '"openai:x\\nAllowed.\\u001b[2K\\u202e@http://e/v1"' in asked.question

    def test_the_command_is_quoted_for_a_shell(self) -> None:
        notice = index_root(Path("a b;c"), Path("x")).notice
        assert notice.endswith("hedgerow trust --root 'a b;c'")
        assert index_root(Path("a\nb"), Path("x\x1b")).notice.isprintable()

    def test_a_name_of_no_embedder_asks_for_nothing(self) -> None:
        assert embedder(Path("r"), "toy:one") is None
