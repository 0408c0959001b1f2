"""`hedgerow trust`, and the behavior of other commands without consent."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from agents_doubles import chat_completion, put_agent
from command_line import as_json, failed, ok, run
from embedder_servers import KEY, openai_answer
from hedgerow.memory import trust
from local_server import LocalServer
from memory_doubles import WRAPUP, put
from model_folders import install_model
from trust_doubles import asking
from waiting import LONGEST

HEDGEROW = str(Path(sysconfig.get_path("scripts")) / "hedgerow")


@pytest.fixture
def asking_root(here: Path, server: LocalServer) -> Path:
    """A root that asks to send its texts to a server, and to index its parent folder."""
    server.answer = openai_answer
    put(here, "private.md", "secret otter")
    return asking(here / "memory", embedder=f"openai:m@{server.url}/v1", indexRoot="..")


class TestWithoutConsent:
    @pytest.mark.parametrize(
        "args",
        [
            ["recall", "--topic", "otter"],
            ["search", "otter"],
            ["index"],
            ["remember", "--title", "T"],
            ["wrapup", "--title", "W", "--topic", "otter"],
            ["process", "--mode", "synthesize", "--topic", "otter", "--apply"],
            ["query", 'search:"otter"'],
            ["graph"],
            ["agents", "check"],
        ],
    )
    def test_each_command_says_so_once_and_goes_on(
        self, asking_root: Path, server: LocalServer, args: list[str]
    ) -> None:
        (asking_root / "agents").mkdir()
        result = run(*args, stdin=WRAPUP.encode())
        assert result.exit_code == 0, result.output
        lines = result.stderr.splitlines()
        assert [line.partition(" asks to ")[2].split()[0] for line in lines] == ["send", "read"]
        assert all(line.endswith(f"hedgerow trust --root {asking_root}") for line in lines)
        assert "private.md" not in result.stdout
        assert server.requests == []

    def test_status_and_doctor_name_it(self, asking_root: Path) -> None:
        for command in ("status", "doctor"):
            text = ok(command)
            assert text.count("Not allowed:") == 2
            assert text.count(f"hedgerow trust --root {asking_root}") == 2
        assert len(as_json("status")["notAllowed"]) == 2
        assert as_json("status", "--trust").get("notAllowed") is None

    def test_the_flag_allows_it_once(self, asking_root: Path, server: LocalServer) -> None:
        assert f"Memory root: {asking_root}" in ok("recall", "--topic", "otter", "--trust")
        posted = len(server.requests)
        assert posted > 0
        assert run("recall", "--topic", "otter").stderr.count("Not allowed:") == 2
        assert len(server.requests) == posted

    def test_a_file_that_cannot_be_used_is_no_reason_to_fail(self, asking_root: Path) -> None:
        put(trust.consents_file().parent, "trust.json", "{")
        result = run("recall", "--topic", "otter")
        assert (result.exit_code, result.stderr.count("Not allowed:")) == (0, 2)
        assert "it is not what hedgerow wrote" in failed(1, "trust", "--list")
        assert "it is not what hedgerow wrote" in run("trust", "--yes").stderr
        assert asking_root.exists()


class TestTrust:
    def test_allows_all_and_lists_and_revokes(self, asking_root: Path, server: LocalServer) -> None:
        url = f"{server.url}/v1"
        assert ok("trust", "--yes").splitlines() == [
            f"Memory root: {asking_root}",
            f'- embedder "openai:m@{url}": send the text of your memories and questions to {url}, '
            "without a key",
            f'- indexRoot "{asking_root.parent}": read and index all Markdown files below '
            f"{asking_root.parent}",
            "Allowed: 2 of 2.",
        ]
        assert as_json("recall", "--topic", "otter").get("notices") is None
        assert server.requests != []
        assert "Nothing to allow: all that it asks for is allowed." in ok("trust")
        listed = as_json("trust", "--list")
        assert listed["file"] == str(trust.consents_file())
        assert [(one["root"], one["setting"]) for one in listed["allowed"]] == [
            (str(asking_root), "embedder"), (str(asking_root), "indexRoot"),
        ]  # fmt: skip
        assert "2 consents in" in ok("trust", "--list", "--root", "memory")
        assert "0 consents in" in ok("trust", "--list", "--root", "elsewhere")
        assert "Revoked: 2 consents." in ok("trust", "--revoke")
        assert run("recall", "--topic", "otter").stderr.count("Not allowed:") == 2

    def test_a_root_that_is_gone_can_be_revoked(self, asking_root: Path) -> None:
        ok("trust", "--yes")
        asking_root.rename(asking_root.with_name("gone"))
        assert len(as_json("trust", "--revoke", "--root", "memory")["revoked"]) == 2
        assert as_json("trust", "--list")["allowed"] == []

    def test_without_a_terminal_nothing_is_allowed(self, asking_root: Path) -> None:
        result = run("trust", stdin=b"y\ny\n")
        assert result.exit_code == 2
        assert "Nothing was allowed. The root requests this; to allow it, add --yes." in (
            result.stderr
        )
        assert str(asking_root) in result.stdout
        result = run("trust", "--json")
        assert json.loads(result.stderr)["error"]["code"] == "not_applied"
        assert len(json.loads(result.stdout)["notAllowed"]) == 2
        assert trust.read_consents() == []

    @pytest.mark.skipif(sys.platform == "win32", reason="a terminal of POSIX")
    def test_asks_about_each_at_a_terminal(self, asking_root: Path) -> None:
        import pty  # noqa: PLC0415 - not on Windows

        ours, theirs = pty.openpty()
        os.write(ours, b"y\n\n")
        done = subprocess.run(
            [HEDGEROW, "trust"],
            cwd=asking_root.parent,
            stdin=theirs,
            capture_output=True,
            text=True,
            check=True,
            timeout=LONGEST,
        )
        os.close(ours)
        os.close(theirs)
        assert done.stdout.count("[y/N]") == 2
        assert "Allowed: 1 of 2." in done.stdout
        assert [one.setting for one in trust.read_consents()] == ["embedder"]

    @pytest.mark.parametrize(
        ("args", "message"),
        [
            (["--list", "--revoke"], "exclude each other"),
            (["--yes", "--revoke"], "exclude each other"),
            (["--root", " "], "--root must not be empty"),
            (["--remote-url", "https://brain.example"], "not implemented yet"),
            (["x"], "unexpected extra argument"),
        ],
    )
    def test_wrong_usage_names_the_fix(
        self, asking_root: Path, args: list[str], message: str
    ) -> None:
        assert asking_root.exists()
        result = run("trust", *args)
        assert result.exit_code != 0
        assert message in result.stderr

    def test_what_a_root_says_cannot_change_the_terminal(self, here: Path) -> None:
        asking(here, embedder="openai:x\x1b[2K\nAllowed@http://e/v1")
        for result in (run("trust"), run("status"), run("recall", "--topic", "otter")):
            assert "\x1b" not in result.output
            assert 'openai:x\\u001b[2K\\nAllowed@http://e/v1"' in result.output


class TestAgents:
    @pytest.fixture
    def linker_root(self, here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        for variable in ("HEDGEROW_MODEL_URL", "HEDGEROW_MODEL_KEY", "OPENAI_API_KEY"):
            monkeypatch.delenv(variable, raising=False)
        root = asking(here / "memory")
        put_agent(root / "agents", "linker", actions=["note"])
        return root

    def test_a_model_that_the_root_chose_is_not_asked(self, linker_root: Path) -> None:
        message = failed(1, "agents", "run", "linker")
        assert message.startswith("Error: linker is not run. Not allowed: the memory root")
        assert 'openai:small"' in message
        assert message.endswith(f"hedgerow trust --root {linker_root}\n")
        # With consent, the missing key is the next error.
        ok("trust", "--yes")
        assert "OPENAI_API_KEY holds no key" in failed(1, "agents", "run", "linker")

    def test_its_prompt_can_be_looked_at(self, linker_root: Path) -> None:
        assert linker_root.exists()
        assert "blue otter" in ok("agents", "run", "linker", "--dry-run")

    @pytest.mark.parametrize("by", ["flag", "variable"])
    def test_an_address_that_the_user_names_is_the_users_choice(
        self, linker_root: Path, server: LocalServer, monkeypatch: pytest.MonkeyPatch, by: str
    ) -> None:
        assert linker_root.exists()
        server.answer = lambda _: chat_completion("NOTE fine")
        monkeypatch.setenv("HEDGEROW_MODEL_KEY", KEY)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-other")
        named = ["--model-url", server.url] if by == "flag" else []
        if by == "variable":
            monkeypatch.setenv("HEDGEROW_MODEL_URL", server.url)
        assert as_json("agents", "run", "linker", *named)["status"] == "ok"
        [request] = server.requests
        assert request.headers["Authorization"] == f"Bearer {KEY}"

    def test_the_key_of_another_server_is_not_for_openai(
        self, linker_root: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert linker_root.exists()
        monkeypatch.setenv("HEDGEROW_MODEL_KEY", KEY)
        # Without an address the model is OpenAI's, and its key is not set.
        message = failed(1, "agents", "run", "linker", "--trust")
        assert "OPENAI_API_KEY holds no key" in message

    def test_the_daemon_says_who_is_not_run(
        self, linker_root: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert linker_root.exists()
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setattr("hedgerow.agents.serve", lambda *_, **__: None)
        result = run("agents", "daemon")
        assert result.exit_code == 0
        assert "linker is not run. Not allowed: the memory root" in result.stderr


class TestInitWithAnEmbedder:
    @pytest.fixture
    def model(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        install_model(tmp_path / "site", "bge-small-en-v1.5", tmp_path, monkeypatch)

    @pytest.mark.usefixtures("model")
    def test_the_embedder_is_written_and_allowed_in_one_step(self, here: Path) -> None:
        shown = ok("init", "--root", "memory", "--embedder", "local", "--yes")
        assert shown.splitlines()[-1] == "Embedder: local (allowed)"
        config = json.loads((here / "memory" / "hedgerow.json").read_text())
        assert (config["embedder"], config["schemaVersion"]) == ("local", 1)
        [consent] = trust.read_consents()
        assert (consent.setting, consent.value) == ("embedder", "local")
        assert ok("init", "--root", "memory", "--embedder", "local").endswith("local (allowed)\n")

    @pytest.mark.usefixtures("model")
    def test_without_a_terminal_it_waits(self, here: Path) -> None:
        shown = ok("init", "--root", "memory", "--embedder", "local")
        assert shown.endswith("Embedder: local (not allowed yet; run hedgerow trust)\n")
        assert json.loads((here / "memory" / "hedgerow.json").read_text())["embedder"] == "local"
        assert trust.read_consents() == []

    @pytest.mark.usefixtures("model")
    def test_an_existing_configuration_keeps_its_other_keys(self, here: Path) -> None:
        put(here, "memory/hedgerow.json", '{"schemaVersion": 1, "note": "ours"}')
        ok("init", "--root", "memory", "--embedder", "local")
        config = json.loads((here / "memory" / "hedgerow.json").read_text())
        assert config == {"schemaVersion": 1, "note": "ours", "embedder": "local"}

    def test_a_name_of_no_embedder_writes_nothing(self, here: Path) -> None:
        assert "names no embedder" in failed(1, "init", "--root", "memory", "--embedder", "six:m")
        assert not (here / "memory").exists()
