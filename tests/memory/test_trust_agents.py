"""The models of a root's agents, which the user must allow."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from agents_doubles import put_agent
from hedgerow import HedgerowError, MemoryRoot
from hedgerow.agents import Agents, ScriptedModel
from hedgerow.agents.definition_file import LARGEST
from hedgerow.memory.trust import agent_model
from memory_doubles import put
from trust_doubles import allow_all, asking

posix = pytest.mark.skipif(sys.platform == "win32", reason="links and modes of POSIX")


class TestAgents:
    @pytest.fixture
    def agents_root(self, tmp_path: Path) -> Path:
        root = asking(tmp_path / "memory")
        actions = ["note"]
        put_agent(root / "agents", "linker", actions=actions)
        put_agent(root / "agents", "broken", pipeline="nonsense(", actions=actions)
        put(root, "agents/odd.toml", "execution = 3")
        put(root, "agents/none.toml", "\x00")
        put(root, "agents/.hidden.toml", '[execution]\nmodel = "hidden"\n')
        return root

    def agents(self, root: MemoryRoot, model: Any = None) -> Agents:
        return root.agents(model, refuses=root.refuses_model)

    def test_each_model_is_asked_about_once(self, agents_root: Path) -> None:
        [asked] = MemoryRoot.open(agents_root).status().not_allowed
        assert asked == agent_model(agents_root, "small")
        assert (asked.setting, asked.value) == ("agents", "openai:small")
        assert "https://api.openai.com/v1, with the key in OPENAI_API_KEY" in asked.effect

    @pytest.mark.skipif(sys.platform == "win32", reason="links of POSIX")
    def test_what_is_no_file_of_the_folder_is_not_read(self, agents_root: Path) -> None:
        asked = MemoryRoot.open(agents_root).status().not_allowed
        put(agents_root, "other.toml", '[execution]\nmodel = "other"\n')
        (agents_root / "agents/linked.toml").symlink_to("../other.toml")
        (agents_root / "agents/device.toml").symlink_to("/dev/zero")
        assert MemoryRoot.open(agents_root).status().not_allowed == asked

    @pytest.mark.skipif(sys.platform == "win32", reason="links of POSIX")
    def test_a_definition_is_read_as_agents_read_it(self, agents_root: Path) -> None:
        put(agents_root, "agents/more/other.txt", '[execution]\nmodel = "other"\n')
        (agents_root / "agents/linked.toml").symlink_to("more/other.txt")
        put(agents_root, "agents/large.toml", f'[execution]\nmodel = "large"\n{" " * LARGEST}')
        asked = MemoryRoot.open(agents_root).status().not_allowed
        assert [one.value for one in asked] == ["openai:other", "openai:small"]

    def test_none_is_asked_about_where_the_user_names_the_address(
        self, agents_root: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HEDGEROW_MODEL_URL", "http://localhost:1/v1")
        assert MemoryRoot.open(agents_root).status().not_allowed == ()

    def test_without_consent_none_is_run(self, agents_root: Path) -> None:
        model = ScriptedModel(["NOTE fine"] * 3)
        with MemoryRoot.open(agents_root) as root:
            agents = self.agents(root, model)
            for call in (agents.run, agents.dry_run):
                with pytest.raises(HedgerowError, match="linker is not run") as raised:
                    call("linker")
                assert raised.value.code == "not_allowed"
            assert agents.tick().report is None
            [status] = agents.statuses()
            assert (status.verdict.word, status.verdict.due) == ("refused", False)
            assert f"hedgerow trust --root {agents_root}" in status.verdict.sentence
            assert self.agents(root).dry_run("linker").prompt is not None
        assert model.requests == []

    def test_with_consent_they_are_run(self, agents_root: Path) -> None:
        allow_all(agents_root)
        model = ScriptedModel(["NOTE fine"])
        with MemoryRoot.open(agents_root) as root:
            report = self.agents(root, model).tick().report
        assert report is not None
        assert report.status == "ok"
        assert len(model.requests) == 1

    def test_the_callers_model_needs_none(self, agents_root: Path) -> None:
        with MemoryRoot.open(agents_root) as root:
            assert root.agents(ScriptedModel(["NOTE fine"])).run("linker").status == "ok"
