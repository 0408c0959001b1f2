"""The history of a memory, from marks and from git, and the difference between two versions."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from hedgerow import HedgerowError, InvalidInputError, MemoryRoot
from hedgerow.memory import Diff, Event, History
from memory_doubles import put

GIT = shutil.which("git")
needs_git = pytest.mark.skipif(GIT is None, reason="needs git")


def git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=Ana 小", "-c", "user.email=a@example.org", "-c", "commit.gpgSign=false"]
    environment = {
        **os.environ,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_AUTHOR_DATE": "2026-04-18T09:30:00Z",
        "GIT_COMMITTER_DATE": "2026-04-18T09:30:00Z",
    }
    command = [str(GIT), *who, *arguments]
    done = subprocess.run(
        command, cwd=folder, env=environment, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def told(found: History) -> list[tuple[str, str, str | None, str | None]]:
    return [(one.kind, one.file, one.by, one.other) for one in found.events]


class TestOfMarks:
    def test_the_line_of_succession(self, tmp_path: Path) -> None:
        put(
            tmp_path, "notes/a.md",
            "---\ncreated_at: 2025-01-05T08:00:00Z\nupdated_at: 2025-02-01\nwritten_by: [codex, ana]\n"
            "import_id: 'mem0:7'\n---\nCut in March.\n",
        )  # fmt: skip
        put(
            tmp_path, "notes/b.md",
            "---\ndate: 2025-03-05\nsupersedes: '[[a]]'\nwritten_by: 小明\nretracted: 2025-04-01\n"
            "retraction_reason: The wrong hedge.\nvalid_until: 2025-05-31\n---\nCut in May.\n",
        )  # fmt: skip
        put(tmp_path, "notes/c.md", "---\nsupersedes: '[[b]]'\n---\nCut in August.\n")
        put(tmp_path, "notes/other.md", "Other.\n")
        root = MemoryRoot.open(tmp_path)
        found = root.history("c")
        assert told(found) == [
            ("expired", "notes/b.md", None, None),
            ("retracted", "notes/b.md", None, None),
            ("superseded", "notes/a.md", "小明", "notes/b.md"),
            ("created", "notes/b.md", "小明", None),
            ("edited", "notes/a.md", "ana", None),
            ("imported", "notes/a.md", "codex", None),
            ("superseded", "notes/b.md", None, "notes/c.md"),
            ("created", "notes/c.md", None, None),
        ]
        assert [found.events[n].detail for n in (1, 5)] == ["The wrong hedge.", "mem0:7"]
        assert (found.count, found.notices) == (8, ())
        assert [told(root.history(key)) for key in "ab"] == [told(found)] * 2
        first = root.history("c", limit=1)
        assert (first.count, first.events) == (8, found.events[:1])
        assert told(root.history("other")) == [("created", "notes/other.md", None, None)]
        assert History.from_dict(found.to_dict()) == found
        assert "by" not in found.to_dict()["events"][0]

    def test_a_long_line_ends(self, tmp_path: Path) -> None:
        for number in range(130):
            put(tmp_path, f"notes/n{number}.md", f"---\nsupersedes: n{number - 1}\n---\n{number}\n")
        found = MemoryRoot.open(tmp_path).history("n60", limit=1_000)
        assert sum(one.kind == "created" for one in found.events) == 100

    @pytest.mark.parametrize("mark", ["retracted: false", "retracted: no", "retracted:", "a: 1"])
    def test_no_retraction(self, tmp_path: Path, mark: str) -> None:
        put(tmp_path, "notes/a.md", f"---\n{mark}\n---\nx\n")
        assert [one.kind for one in MemoryRoot.open(tmp_path).history("a").events] == ["created"]

    def test_an_unknown_memory(self, tmp_path: Path) -> None:
        root = MemoryRoot.init(tmp_path)
        for call in (root.history, root.diff):
            with pytest.raises(InvalidInputError) as raised:
                call("gone")
            assert raised.value.code == "unknown_node"

    def test_hostile_marks_are_one_line(self, tmp_path: Path) -> None:
        put(
            tmp_path, "notes/a.md",
            '---\nretracted: [1]\nretraction_reason: "a\\x1b[2Jb\\nc"\nimport_id: "x\\ny"\n---\nx\n',
        )  # fmt: skip
        events = MemoryRoot.open(tmp_path).history("a").events
        assert {one.detail for one in events} == {"a [2Jb c", "x y"}

    def test_a_difference_of_two_memories(self, tmp_path: Path) -> None:
        put(tmp_path, "notes/a.md", "Cut in March.\nBoth.\n")
        put(tmp_path, "notes/b.md", "Cut in 八月.\r\nBoth.\r\n")
        root = MemoryRoot.open(tmp_path)
        with pytest.raises(InvalidInputError, match=r"notes/b\.md has no earlier state"):
            root.diff("b")
        found = root.diff("b", old="a")
        assert (found.old, found.new) == ("notes/a.md", "notes/b.md")
        assert str(found) == (
            "--- notes/a.md\n+++ notes/b.md\n@@ -1,2 +1,2 @@\n-Cut in March.\n+Cut in 八月.\n Both.\n"
        )
        assert root.diff("b", old="b").text == ""
        assert Diff.from_dict(found.to_dict()) == found
        root.supersede("a", by="b")
        assert root.diff("b").old == "notes/a.md"
        for name in ("gone", "0123456789"):
            with pytest.raises(InvalidInputError, match=f"there is no state '{name}'"):
                root.diff("b", old=name)

    def test_a_scope_sees_its_own(self, tmp_path: Path) -> None:
        put(tmp_path, "notes/a.md", "---\nscope: {user: bo}\nsupersedes: b\n---\nhis\n")
        put(tmp_path, "notes/b.md", "---\nscope: {user: ana}\n---\nhers\n")
        root = MemoryRoot.open(tmp_path, scope={"user": "ana"})
        found = root.history("b")
        assert told(found) == [("created", "notes/b.md", None, None)]
        assert found.notices == (
            "Commits are not read within a scope: they can have texts of others.",
        )
        with pytest.raises(InvalidInputError, match="there is no state"):
            root.diff("b", old="notes/a.md")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository whose folder `memory` is a root, with a memory that was edited and renamed."""
    if GIT is None:
        pytest.skip("needs git")
    git(tmp_path, "init", "-q", "-b", "main")
    put(tmp_path, "memory/notes/树篱.md", "# Hedge\n\nCut in March.\n\none\ntwo\nthree\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "First\n\nbody")
    put(tmp_path, "memory/notes/树篱.md", "# Hedge\n\nCut in May.\n\none\ntwo\nthree\n")
    git(tmp_path, "commit", "-qam", "Later")
    git(tmp_path, "mv", "memory/notes/树篱.md", "memory/notes/hedge.md")
    git(tmp_path, "commit", "-qm", "Rename")
    return tmp_path


def commits(found: History) -> list[str | None]:
    return [one.detail for one in found.events if one.kind == "committed"]


class TestOfGit:
    def test_commits_are_events(self, repository: Path) -> None:
        root = MemoryRoot.open(repository / "memory")
        found = root.history("hedge")
        assert commits(found) == ["Rename", "Later", "First"]
        event = next(one for one in found.events if one.kind == "committed")
        assert (event.by, event.file, f"{event.at}") == (
            "Ana 小", "notes/hedge.md", "2026-04-18 09:30:00+00:00",
        )  # fmt: skip
        assert event.commit == git(repository, "rev-parse", "HEAD")[:12]
        assert isinstance(event, Event)

    def test_the_difference_from_a_commit(self, repository: Path) -> None:
        root = MemoryRoot.open(repository / "memory")
        head, middle, first = git(repository, "log", "--format=%H").split()
        found = root.diff("hedge")
        assert (found.old, found.new) == (first[:12], "notes/hedge.md")
        assert "-Cut in March.\n+Cut in May.\n" in found.text
        assert root.diff("hedge", old=first[:7].upper(), new=middle).new == middle[:12]
        assert root.diff("hedge", old=head, new=middle).text == ""
        put(repository / "memory", "notes/hedge.md", "# Hedge\n\nNever.\n")
        assert root.diff("hedge").old == head[:12]
        with pytest.raises(InvalidInputError, match="there is no state"):
            root.diff("hedge", old="f" * 40)

    def test_a_state_in_which_the_file_was_deleted(self, repository: Path) -> None:
        git(repository, "rm", "-q", "memory/notes/hedge.md")
        git(repository, "commit", "-qm", "Delete")
        put(repository / "memory", "notes/hedge.md", "again\n")
        found = MemoryRoot.open(repository / "memory").diff("hedge")
        assert found.text.endswith("@@ -0,0 +1 @@\n+again\n")

    def test_a_file_that_is_not_committed(self, repository: Path) -> None:
        put(repository / "memory", "notes/new.md", "new\n")
        root = MemoryRoot.open(repository / "memory")
        assert commits(root.history("new")) == []
        with pytest.raises(InvalidInputError, match="has no earlier state"):
            root.diff("new")

    def test_further_working_trees_packed_references_and_shallow_clones(
        self, repository: Path, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        tree = tmp_path_factory.mktemp("trees") / "tree"
        git(repository, "worktree", "add", "-q", "-b", "feature/x", str(tree))
        git(repository, "pack-refs", "--all")
        git(repository, "gc", "-q")
        for folder in (repository, tree):
            assert len(commits(MemoryRoot.open(folder / "memory").history("hedge"))) == 3
        git(tree, "checkout", "-q", "--detach")
        assert len(commits(MemoryRoot.open(tree / "memory").history("hedge"))) == 3
        clone = tree.parent / "clone"
        git(tree.parent, "clone", "-q", "--depth=2", f"file://{repository}", str(clone))
        assert len(commits(MemoryRoot.open(clone / "memory").history("hedge"))) == 2

    def test_a_repository_without_commits(self, tmp_path: Path) -> None:
        if GIT is None:
            pytest.skip("needs git")
        git(tmp_path, "init", "-q")
        put(tmp_path, "notes/a.md", "x\n")
        found = MemoryRoot.open(tmp_path).history("a")
        assert (commits(found), found.notices) == ([], ())

    def test_nothing_of_the_repository_runs(self, repository: Path) -> None:
        ran = repository / "ran"
        script = repository / "evil.sh"
        script.write_text(f"#!/bin/sh\ntouch {ran}\ncat\n")
        script.chmod(0o755)
        for key in (
            *("core.fsmonitor", "core.pager", "core.sshCommand", "core.editor", "diff.external"),
            *("log.showSignature", "gpg.program", "diff.evil.textconv", "diff.evil.command"),
            *("filter.evil.clean", "filter.evil.smudge", "alias.log", "alias.cat-file"),
        ):
            value = (
                "true"
                if key == "log.showSignature"
                else f"!{script}"
                if "alias" in key
                else str(script)
            )
            git(repository, "config", key, value)
        hooks = repository / ".git/hooks"
        for hook in ("post-index-change", "reference-transaction", "pre-auto-gc"):
            shutil.copy(script, hooks / hook)
        put(repository, ".gitattributes", "*.md diff=evil filter=evil\n")
        put(repository / ".git", "info/attributes", "*.md diff=evil filter=evil\n")
        root = MemoryRoot.open(repository / "memory")
        assert len(commits(root.history("hedge"))) == 3
        assert "+Cut in May." in root.diff("hedge").text
        assert not ran.exists()

    def test_a_name_that_looks_like_an_option_or_a_pattern(self, repository: Path) -> None:
        for name in ("--output=x", "*", ":(top)a"):
            put(repository / "memory", f"notes/{name}.md", f"{name}\n")
        git(repository, "add", ".")
        git(repository, "commit", "-qm", "Odd")
        root = MemoryRoot.open(repository / "memory")
        for name in ("--output=x", "*", ":(top)a"):
            assert commits(root.history(f"notes/{name}.md")) == ["Odd"]
        assert not (repository / "x.md").exists()


class TestGitThatFails:
    def test_no_git(self, repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(shutil, "which", lambda _: None)
        root = MemoryRoot.open(repository / "memory")
        assert root.history("hedge").notices == (
            "The history of the repository was not read: git is not installed.",
        )
        with pytest.raises(HedgerowError, match="git is not installed"):
            root.diff("hedge")

    def test_a_git_that_takes_too_long(
        self, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        slow = tmp_path / "slow"
        slow.write_text("#!/bin/sh\nexec sleep 60\n")
        slow.chmod(0o755)
        monkeypatch.setattr(shutil, "which", lambda _: str(slow))
        monkeypatch.setattr("hedgerow.memory.history.SECONDS", 0.05)
        [notice] = MemoryRoot.open(repository / "memory").history("hedge").notices
        assert "git took longer than" in notice

    @pytest.mark.parametrize(
        ("file", "text", "problem"),
        [
            ("HEAD", "ref: refs/../../secret\n", "HEAD is 'refs/../../secret'"),
            ("HEAD", "garbage\n", "HEAD is 'garbage'"),
            ("HEAD", "0" * 40 + "\n", "git failed (fatal: bad object HEAD)"),
            ("refs/heads/main", "ref: refs/heads/main\n", "HEAD is 'ref: refs/heads/main'"),
        ],
    )
    def test_a_damaged_repository_is_a_notice(
        self, repository: Path, file: str, text: str, problem: str
    ) -> None:
        (repository / ".git" / file).write_text(text)
        found = MemoryRoot.open(repository / "memory").history("hedge")
        assert commits(found) == []
        assert problem in found.notices[0]

    def test_objects_of_another_repository(self, repository: Path, tmp_path: Path) -> None:
        elsewhere = tmp_path / "elsewhere"
        shutil.move(repository / ".git/objects", elsewhere)
        (repository / ".git/objects").symlink_to(elsewhere)
        [notice] = MemoryRoot.open(repository / "memory").history("hedge").notices
        assert "its folder of objects is a link out of it" in notice

    def test_a_text_that_is_too_large(
        self, repository: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("hedgerow.memory.history.LARGEST", 10)
        with pytest.raises(HedgerowError, match="at most 10 are compared"):
            MemoryRoot.open(repository / "memory").diff("hedge")
