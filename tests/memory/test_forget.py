"""Forgetting leaves nothing of a memory."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from hedgerow import HedgerowError, InvalidInputError, MemoryRoot
from memory_doubles import put

PLACE = "under the third stone of the old wall"


@pytest.fixture
def keys(tmp_path: Path) -> MemoryRoot:
    """A root with a secret that is linked, visited, listed, linted, and in an old store."""
    put(
        tmp_path,
        "notes/keys.md",
        f"---\ntitle: Where keys lie\n---\nThe zyzzyva key lies {PLACE}.\n",
    )
    put(tmp_path, "notes/door.md", "The door. [[keys]]\n")
    put(tmp_path, "notes/asks.md", f"## Open Questions\n\n- Who knows it lies {PLACE}?\n")
    for number in range(50):
        put(tmp_path, f"notes/n{number}.md", f"# Note {number}\n\nThe hedge {number}.\n")
    root = MemoryRoot.open(tmp_path)
    root.index()
    root.visit("agent", "keys", 1_800_000_000)
    root.visit("agent", "door", 1_800_000_000)
    root.process("lint", apply=True)
    return root


def left_of(root: MemoryRoot, *words: str) -> list[str]:
    """Return the derived files that contain any of the words."""
    files = [file for file in (root.path / ".hedgerow").rglob("*") if file.is_file()]
    return sorted(
        file.name for file in files if any(word.encode() in file.read_bytes() for word in words)
    )


class TestForget:
    def test_nothing_is_left(self, keys: MemoryRoot) -> None:
        before = left_of(keys, "The zyzzyva key", "notes/keys.md")
        assert {"index.db", "store.db", "index.json"} <= {
            name.removesuffix("-wal") for name in before
        }
        done = keys.forget("Where keys lie", purge=True)
        assert done.file == "notes/keys.md"
        assert done.named_by == ("notes/door.md",)
        assert not (keys.path / "notes/keys.md").exists()
        keys.close()
        assert left_of(keys, "The zyzzyva key", "notes/keys.md", "Where keys lie") == []

    def test_its_words_are_no_longer_indexed(self, keys: MemoryRoot) -> None:
        keys.forget("keys", purge=True)
        keys.close()
        for name in ("index.db", "store.db"):
            # FTS5 omits the prefix that a term shares with the previous term.
            terms = (keys.path / ".hedgerow" / name).read_bytes()
            assert b"edg" in terms
            assert b"zyva" not in terms

    def test_everything_else_stays(self, keys: MemoryRoot) -> None:
        keys.forget("keys", purge=True)
        assert len(keys.query("all")) == 52
        assert keys.query("all | visited:agent").keys == ["notes/door.md"]
        assert len(keys.recall("hedge", limit=100)) == 50
        assert keys.graph().unresolved == (("notes/door.md", "keys"),)
        keys.store().index.check()

    def test_it_can_be_written_again(self, keys: MemoryRoot) -> None:
        keys.forget("keys", purge=True)
        put(keys.path, "notes/keys.md", "The key is new.\n")
        assert keys.query("all | key:notes/keys.md").keys == ["notes/keys.md"]
        assert keys.query("all | visited:agent").keys == ["notes/door.md"]
        assert keys.recall("key").results[0].file == "notes/keys.md"

    def test_reports_and_old_stores_go_too(self, keys: MemoryRoot) -> None:
        derived = keys.path / ".hedgerow"
        (derived / "reports/mine.md").write_text("notes/keys.md is odd\n")
        (derived / "reports/other.md").write_text("notes/door.md is odd\n")
        (derived / "store.db.damaged").write_bytes(b"...notes/keys.md...")
        done = keys.forget("keys", purge=True)
        assert set(done.reports) >= {".hedgerow/reports/mine.md", ".hedgerow/store.db.damaged"}
        assert (derived / "reports/other.md").exists()

    def test_lines_that_others_have_are_no_traces(self, keys: MemoryRoot) -> None:
        put(keys.path, "notes/copy.md", f"The zyzzyva key lies {PLACE}.\nSee notes/keys.md\n")
        assert keys.forget("keys", purge=True).file == "notes/keys.md"
        assert keys.recall("zyzzyva").results[0].file == "notes/copy.md"

    def test_what_every_remembered_note_has_is_no_trace(self, tmp_path: Path) -> None:
        root = MemoryRoot.init(tmp_path / "memory")
        # For a deleted file the store keeps a node, with its writer.
        first = root.remember("Elm by the lake.", title="Elm").file
        assert root.query("all").keys == [first]
        (root.path / first).unlink()
        second = root.remember("Oak by the road.", title="Oak")
        assert root.query("all").keys == [second.file]
        assert root.forget(second.file, purge=True).file == second.file

    def test_what_is_left_is_named(self, keys: MemoryRoot) -> None:
        stray = keys.path / ".hedgerow/backup-of-mine"
        stray.write_text("... notes/keys.md ...")
        with pytest.raises(HedgerowError) as raised:
            keys.forget("keys", purge=True)
        assert raised.value.code == "not_forgotten"
        assert str(stray) in raised.value.message
        assert not (keys.path / "notes/keys.md").exists()

    def test_what_cannot_be_known_is_said(
        self, keys: MemoryRoot, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(*_: object, **__: object) -> None:
            raise HedgerowError("the disk is full", code="root_io")

        monkeypatch.setattr("hedgerow.memory.rename.sync", fail)
        with pytest.raises(HedgerowError) as raised:
            keys.forget("keys", purge=True)
        assert raised.value.code == "not_forgotten"
        assert "may be left: the disk is full; delete " in raised.value.message

    @pytest.mark.parametrize("step", ["hedgerow.memory.rename.sync", "pathlib.Path.unlink"])
    def test_one_that_is_killed_leaves_no_path_of_a_deleted_file(
        self, keys: MemoryRoot, monkeypatch: pytest.MonkeyPatch, step: str
    ) -> None:
        def stop(*_: object, **__: object) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(step, stop)
            with pytest.raises(KeyboardInterrupt):
                keys.forget("keys", purge=True)
        keys.query("all")
        keys.close()
        with closing(sqlite3.connect(keys.path / ".hedgerow/store.db")) as store:
            nodes = dict(store.execute("SELECT key, deleted FROM nodes"))
        assert nodes.get("notes/keys.md") == (0 if (keys.path / "notes/keys.md").exists() else None)

    def test_long_lines_leave_traces_too(self, keys: MemoryRoot) -> None:
        put(keys.path, "notes/long.md", " ".join(f"zyx{n}" for n in range(4000)) + "\n")
        keys.index()
        stray = keys.path / ".hedgerow/pages-of-mine"
        stray.write_text(" ".join(f"zyx{n}" for n in range(20)))
        with pytest.raises(HedgerowError, match="pages-of-mine"):
            keys.forget("long", purge=True)

    def test_it_has_to_be_said(self, keys: MemoryRoot) -> None:
        with pytest.raises(InvalidInputError, match="to delete it: purge=True"):
            keys.forget("keys")
        assert (keys.path / "notes/keys.md").exists()

    def test_the_last_memory_can_go(self, tmp_path: Path) -> None:
        put(tmp_path, "notes/a.md", "The only memory of all.\n")
        root = MemoryRoot.open(tmp_path)
        root.sync()
        assert root.forget("a", purge=True).named_by == ()
        assert root.list().count == 0

    def test_other_handles_go_on(self, keys: MemoryRoot) -> None:
        with MemoryRoot.open(keys.path) as other:
            other.recall("hedge")
            other.query("all")
            keys.forget("keys", purge=True)
            assert not other.recall("zyzzyva").results
            assert len(other.query("all")) == 52


class TestQuotes:
    """Quotes of a forgotten memory in other files."""

    def test_pages_are_rewritten_and_quotes_named(self, keys: MemoryRoot) -> None:
        put(keys.path, "pages/mine.md", f"# Mine\n\nThe zyzzyva key lies {PLACE}, I think.\n")
        put(keys.path, "notes/more.md", "# More\n\nThe zyzzyva is a beetle.\n")
        page = keys.process("synthesize", topic="zyzzyva", apply=True).files[0]
        assert PLACE in (keys.path / page).read_text()
        done = keys.forget("keys", purge=True)
        assert (done.rewritten, done.emptied) == ((page,), ())
        assert done.quoted_by == ("pages/mine.md",)
        assert PLACE not in (keys.path / page).read_text()
        assert "notes/keys.md" not in (keys.path / page).read_text()
        assert page not in [one.file for one in keys.recall("third stone")]

    @pytest.mark.parametrize(
        ("added", "stays"),
        [
            ("", False),
            ("\n\n", False),
            ("\nA note of mine.\n", True),
            ("\n# Another heading\n", True),
        ],
    )
    def test_a_page_about_it_alone_goes(self, keys: MemoryRoot, added: str, stays: bool) -> None:
        page = keys.process("synthesize", topic="zyzzyva", apply=True).files[0]
        file = keys.path / page
        assert "notes/keys.md" in file.read_text()
        file.write_text(file.read_text() + added)
        done = keys.forget("keys", purge=True)
        assert (done.rewritten, done.emptied) == (((page,), ()) if stays else ((), (page,)))
        assert file.exists() is stays
        assert (page in [one.file for one in keys.recall("zyzzyva")]) is stays
        assert PLACE not in (file.read_text() if stays else "")

    @pytest.mark.parametrize("topic", ["zyzzyva", "keys"])
    def test_a_page_that_says_what_no_longer_holds_stays(
        self, keys: MemoryRoot, topic: str
    ) -> None:
        put(keys.path, "notes/old.md", f"# Old {topic}\n\nNo zyzzyva.\n")
        keys.retract("old")
        page = keys.process("synthesize", topic=topic, apply=True).files[0]
        done = keys.forget("keys", purge=True)
        assert (done.rewritten, done.emptied) == ((page,), ())

    @pytest.mark.parametrize(
        ("quote", "is_one"),
        [
            (f"He says: THE ZYZZYVA KEY\nlies {PLACE}", True),
            (f"The **zyzzyva** key lies {PLACE}, I think.", True),
            ("The token is ab-12345-cd.", True),
            ("It lies under the third stone", False),
            ("My pin: qzj7, of 2026-04-18!", False),
            ("Where keys lie", False),
        ],
    )
    def test_a_quote_has_a_line_or_a_code(self, tmp_path: Path, quote: str, is_one: bool) -> None:
        put(
            tmp_path,
            "notes/keys.md",
            f"---\ntitle: Where keys lie\n---\nThe zyzzyva key lies {PLACE}.\n\nAB-12345-CD\n\n"
            "pin qzj7\n\n2026-04-18\n",
        )
        put(tmp_path, "notes/other.md", f"{quote}\n")
        done = MemoryRoot.open(tmp_path).forget("keys", purge=True)
        assert done.quoted_by == (("notes/other.md",) if is_one else ())

    def test_large_files_are_named_and_not_read(self, keys: MemoryRoot) -> None:
        for number in range(6):
            with (keys.path / f"disk{number}.img").open("wb") as file:
                file.truncate((64 << 20) + 1)  # sparse
        put(keys.path, "export.txt", f"The zyzzyva key lies {PLACE}.\n")
        done = keys.forget("keys", purge=True)
        assert done.copies == ("export.txt",)
        named = ", ".join(f"disk{number}.img" for number in range(5))
        assert done.out_of_reach[0] == f"large files: {named} and 1 more"

    def test_copies_in_other_files_are_named(self, keys: MemoryRoot) -> None:
        put(keys.path, ".trash/keys.md", f"The zyzzyva key lies {PLACE}.\n")
        put(keys.path, "export.txt", f"The zyzzyva key lies {PLACE}.\n")
        put(keys.path, ".hedgerow/index.db.damaged", f"The zyzzyva key lies {PLACE}.\n")
        put(keys.path, ".hedgerow/.hedgerow-1-ab.tmp", f"The zyzzyva key lies {PLACE}.\n")
        done = keys.forget("keys", purge=True)
        assert done.copies == (".trash/keys.md", "export.txt")
        assert left_of(keys, "The zyzzyva key") == []

    def test_git_history_is_out_of_reach(self, keys: MemoryRoot) -> None:
        (keys.path / ".git").mkdir()
        put(keys.path, ".git/packed", f"The zyzzyva key lies {PLACE}.\n")
        done = keys.forget("keys", purge=True)
        assert done.out_of_reach == (
            f"the git history of {keys.path}, and its clones",
            "backups, synced copies, and what other processes have in memory",
        )
        assert done.copies == ()
        assert type(done).from_dict(done.to_dict()) == done

    def test_a_scope_names_no_file_of_another(self, tmp_path: Path) -> None:
        root = MemoryRoot.open(tmp_path)
        text = f"The zyzzyva key lies {PLACE}."
        ana, bo = root.scoped(user="ana"), root.scoped(user="bo")
        file = ana.remember(text, title="Ana").file
        bo.remember(text, title="Bo")
        mine = ana.remember(text, title="Ana again", on_duplicate="keep").file
        done = ana.forget(file, purge=True)
        assert (done.quoted_by, done.copies) == ((mine,), ())

    @pytest.mark.parametrize("step", ["read_documents", "_purged", "remove"])
    def test_one_that_is_killed_can_be_repeated(
        self, keys: MemoryRoot, monkeypatch: pytest.MonkeyPatch, step: str
    ) -> None:
        def stop(*_: object, **__: object) -> None:
            raise KeyboardInterrupt

        keys.process("synthesize", topic="zyzzyva", apply=True)
        assert "The zyzzyva key" in (keys.path / "pages/zyzzyva.md").read_text()
        with monkeypatch.context() as patched:
            patched.setattr(f"hedgerow.memory.rename.{step}", stop)
            with pytest.raises(KeyboardInterrupt):
                keys.forget("notes/keys.md", purge=True)
        keys.forget("notes/keys.md", purge=True)
        keys.close()
        assert not (keys.path / "pages/zyzzyva.md").exists()
        assert left_of(keys, "The zyzzyva key", "notes/keys.md") == []

    @pytest.mark.parametrize("name", ["a [b] #1.md", "sub/!x*.md"])
    def test_names_with_marks_of_patterns(self, tmp_path: Path, name: str) -> None:
        put(tmp_path, name, "The zyzzyva key lies there.\n")
        put(tmp_path, "hedgerow.json", '{"schemaVersion": 1, "include": ["*.md"]}')
        root = MemoryRoot.open(tmp_path)
        root.index()
        assert root.forget(name, purge=True).file == name
        root.close()
        assert left_of(root, "zyzzyva") == []

    def test_a_title_that_is_the_name_of_a_page_is_that_of_the_memory(self, tmp_path: Path) -> None:
        root = MemoryRoot.init(tmp_path / "memory")
        file = root.remember("The code is 4711.", title="Vault").file
        root.process("synthesize", topic="vault", apply=True)
        assert root.forget("Vault", purge=True).file == file
