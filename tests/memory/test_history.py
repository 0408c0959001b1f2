"""The history of a memory, from marks and from git, and the difference between two versions."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow import HedgerowError, InvalidInputError, MemoryRoot
from hedgerow.memory import Diff, Event, History, git_log
from hedgerow.memory.diff import unified_diff
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
        assert (commits(found), len(found.notices)) == ([], 1)

    def test_a_repository_of_another_user(
        self, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        if os.name != "posix" or os.geteuid() != 0:
            pytest.skip("needs root")
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        root = MemoryRoot.open(repository / "memory")
        for path in (repository, repository / ".git"):
            os.chown(path, 65534, 65534)
        [notice] = root.history("hedge").notices
        assert "dubious ownership" in notice
        put(tmp_path, "home/.gitconfig", f"[safe]\n\tdirectory = {repository}\n")
        assert len(commits(root.history("hedge"))) == 3

    def test_a_name_that_looks_like_an_option_or_a_pattern(self, repository: Path) -> None:
        for name in ("--output=x", "*", ":(top)a"):
            put(repository / "memory", f"notes/{name}.md", f"{name}\n")
        git(repository, "add", ".")
        git(repository, "commit", "-qm", "Odd")
        root = MemoryRoot.open(repository / "memory")
        for name in ("--output=x", "*", ":(top)a"):
            assert commits(root.history(f"notes/{name}.md")) == ["Odd"]
        assert not (repository / "x.md").exists()


class TestOfHostileRepositories:
    """The configuration of a repository names programs. None may run, and plain git runs some of them."""

    PROGRAMS = (
        *(
            "core.fsmonitor",
            "core.pager",
            "core.editor",
            "core.sshCommand",
            "core.gitProxy",
            "core.askPass",
        ),
        *("core.alternateRefsCommand", "credential.helper", "uploadpack.packObjectsHook"),
        *("gpg.program", "gpg.openpgp.program", "gpg.ssh.program", "gpg.ssh.defaultKeyCommand"),
        *("diff.external", "diff.evil.command", "diff.evil.textconv", "merge.evil.driver"),
        *(
            "filter.evil.clean",
            "filter.evil.smudge",
            "filter.evil.process",
            "interactive.diffFilter",
        ),
        *("pager.log", "pager.cat-file", "remote.origin.uploadpack", "trace2.eventTarget"),
    )

    @pytest.fixture
    def canary(self, tmp_path: Path) -> Path:
        """A file that `evil.sh` next to it creates."""
        ran = tmp_path / "ran"
        script = tmp_path / "evil.sh"
        script.write_text(f"#!/bin/sh\ntouch {ran}\ncat\n")
        script.chmod(0o755)
        return ran

    def test_no_program_runs(self, repository: Path, canary: Path) -> None:
        script = str(canary.with_name("evil.sh"))
        commit = git(repository, "cat-file", "commit", "HEAD").replace(
            "\n\n",
            "\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\n",
            1,
        )
        put(repository, "commit", f"{commit}\n")
        git(repository, "update-ref", "HEAD", git(repository, "hash-object", "-wtcommit", "commit"))
        hooks = canary.with_name("hooks")
        hooks.mkdir()
        for name in (
            "post-index-change",
            "reference-transaction",
            "pre-auto-gc",
            "fsmonitor-watchman",
        ):
            shutil.copy(script, hooks / name)
        put(repository, ".git/more", "".join(
            f'[{section.replace(".", chr(32) + chr(34), 1) + chr(34) if "." in section else section}]\n\t{key} = {script}\n'
            for section, _, key in (one.rpartition(".") for one in self.PROGRAMS)
        ))  # fmt: skip
        for key, value in {
            "include.path": "more", "core.hooksPath": str(hooks), "log.showSignature": "true",
            "log.showRoot": "false", "alias.log": f"!{script}", "alias.cat-file": f"!{script}",
        }.items():  # fmt: skip
            git(repository, "config", key, value)
        for file in (".gitattributes", ".git/info/attributes"):
            put(repository, file, "*.md diff=evil filter=evil merge=evil\n")
        root = MemoryRoot.open(repository / "memory")
        assert len(commits(root.history("hedge"))) == 3
        assert "+Cut in May." in root.diff("hedge").text
        assert not canary.exists()
        git(repository, "log")
        assert canary.exists()

    def test_no_object_is_fetched(self, repository: Path, canary: Path) -> None:
        git(repository, "config", "uploadpack.allowFilter", "true")
        clone = canary.with_name("clone")
        git(
            repository,
            "clone",
            "-q",
            "--no-checkout",
            "--filter=blob:none",
            f"file://{repository}",
            str(clone),
        )
        git(clone, "config", "remote.origin.uploadpack", f"touch {canary}; git-upload-pack")
        git(clone, "config", "protocol.file.allow", "always")
        put(clone / "memory", "notes/hedge.md", "mine\n")
        root = MemoryRoot.open(clone / "memory")
        assert len(commits(root.history("hedge"))) == 3
        with pytest.raises(HedgerowError, match="git failed"):
            root.diff("hedge")
        assert not canary.exists()
        git(clone, "cat-file", "blob", "HEAD:memory/notes/hedge.md")
        assert canary.exists()

    def test_git_in_the_working_directory_is_not_run(
        self, repository: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(shutil, "which", lambda name: f".{os.sep}{name}")
        [notice] = MemoryRoot.open(repository / "memory").history("hedge").notices
        assert notice == "The history of the repository was not read: git is not installed."


class TestGitThatFails:
    def test_no_git(self, repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(shutil, "which", lambda _: None)
        root = MemoryRoot.open(repository / "memory")
        assert root.history("hedge").notices == (
            "The history of the repository was not read: git is not installed.",
        )
        with pytest.raises(InvalidInputError, match="git is not installed"):
            root.diff("hedge")
        put(repository / "memory", "notes/other.md", "other\n")
        assert root.diff("hedge", old="other").old == "notes/other.md"

    def test_a_git_that_takes_too_long(
        self, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        slow = tmp_path / "slow"
        slow.write_text("#!/bin/sh\nexec sleep 60\n")
        slow.chmod(0o755)
        monkeypatch.setattr(shutil, "which", lambda _: str(slow))
        monkeypatch.setattr(git_log, "SECONDS", 0.05)
        [notice] = MemoryRoot.open(repository / "memory").history("hedge").notices
        assert "git took longer than" in notice

    @pytest.mark.parametrize(
        ("file", "text"),
        [
            ("HEAD", "ref: refs/../../secret\n"),
            ("HEAD", "garbage\n"),
            ("HEAD", "0" * 40 + "\n"),
            ("refs/heads/main", "ref: refs/heads/main\n"),
            ("config", "[core\n"),
        ],
    )
    def test_a_damaged_repository_is_a_notice(self, repository: Path, file: str, text: str) -> None:
        (repository / ".git" / file).write_text(text)
        root = MemoryRoot.open(repository / "memory")
        found = root.history("hedge")
        assert commits(found) == []
        assert found.notices[0].startswith(
            "The history of the repository was not read: git failed ("
        )
        assert root.diff("hedge", old="hedge").text == ""

    def test_output_that_is_too_large(
        self, repository: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        [newest, *_] = git_log.commits(repository, repository / "memory/notes/hedge.md")
        monkeypatch.setattr(git_log, "LARGEST", 10)
        with pytest.raises(HedgerowError, match="git wrote more than 10 bytes"):
            newest.text()
        [notice] = MemoryRoot.open(repository / "memory").history("hedge").notices
        assert "git wrote more than 10 bytes" in notice


class TestOfUnifiedDiffs:
    @staticmethod
    def applied(old: list[str], diff: str) -> list[str]:
        """Apply a diff as `patch` does."""
        new: list[str] = []
        at = 0
        for line in diff.split("\n")[2:-1]:
            if line.startswith("@@"):
                start, _, count = line.split()[1][1:].partition(",")
                first = int(start) - (count != "0")
                new += old[at:first]
                at = first
            elif line.startswith("+"):
                new.append(line[1:])
            else:
                assert old[at] == line[1:]
                new += [line[1:]] if line.startswith(" ") else []
                at += 1
        return new + old[at:]

    LINES = st.lists(st.sampled_from(["a", "b", "@@ c", "-a", "+b", "x\u2028y"]), max_size=30)

    @given(before=LINES, after=LINES, around=st.tuples(LINES, LINES))
    def test_a_diff_leads_from_one_text_to_the_other(
        self, before: list[str], after: list[str], around: tuple[list[str], list[str]]
    ) -> None:
        old, new = ([*around[0], *lines, *around[1]] for lines in (before, after))
        diff = unified_diff(
            ("old", "\r\n".join(old)), ("new", "".join(f"{line}\n" for line in new))
        )
        assert (diff == "") == (old == new)
        assert self.applied(old, diff) == new if diff else True

    def test_long_texts_are_compared_where_they_differ(self) -> None:
        lines = [f"{number}\n" for number in range(100_000)]
        changed = [*lines[:50_000], "new\n", *lines[50_001:]]
        old, new = ("old", "".join(lines)), ("new", "".join(changed))
        assert unified_diff(old, new) == (
            "--- old\n+++ new\n@@ -49998,7 +49998,7 @@\n 49997\n 49998\n 49999\n-50000\n+new\n 50001\n 50002\n"
            " 50003\n"
        )
        with pytest.raises(
            InvalidInputError, match="old and new have more than 3,000 lines between"
        ):
            unified_diff(old, ("new", "".join(lines[::-1])))
