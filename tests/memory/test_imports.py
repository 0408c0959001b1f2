"""Imports from other tools."""

from __future__ import annotations

import json
import os
import shutil
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest

from hedgerow import InvalidInputError, MemoryRoot
from hedgerow.memory import ImportResult
from memory_doubles import put
from places import ROOT

EXPORTS = ROOT / "tests" / "data" / "exports"
SOURCES = {
    "obsidian": EXPORTS / "vault",
    "basic-memory": EXPORTS / "basic-memory",
    "mem0": EXPORTS / "mem0.json",
    "chatgpt": EXPORTS / "chatgpt.json",
    "claude": EXPORTS / "claude.json",
    "jsonl": EXPORTS / "memories.jsonl",
}


def moved(root: MemoryRoot, name: str, source: Path | None = None) -> ImportResult:
    return root.import_from(source or SOURCES[name], name, apply=True)


def skipped(done: ImportResult) -> list[tuple[str, int | None, str]]:
    return [(one.path, one.line, one.reason) for one in done.unreadable]


def text_of(root: MemoryRoot, done: ImportResult, at: int = 0) -> str:
    return (root.path / done.memories[at].file).read_text()


class TestForms:
    def test_a_vault_stays_as_it_is(self, root: MemoryRoot) -> None:
        done = moved(root, "obsidian")
        assert [(one.action, one.file) for one in done.memories] == [
            ("new", "notes/Hedge.md"),
            ("new", "notes/Projects/Slugs.md"),
        ]
        assert skipped(done) == [("trap.png", None, "not Markdown")]
        text = text_of(root, done)
        assert text.startswith("---\naliases: [Hawthorn]\ncreated: 2025-03-04\ntags:\n  - garden\n")
        assert 'import_id: "obsidian:Hedge.md"' in text
        assert text.endswith("---\nThe hedge is cut in February. See [[Slugs]] and #winter.\n")
        edges = {(one[0], one[1]) for one in root.graph().edges}
        assert edges == {("notes/Hedge.md", "notes/Projects/Slugs.md")}

    @pytest.mark.parametrize("name", ["obsidian", "basic-memory"])
    @pytest.mark.parametrize(
        "data",
        [
            b"---\r\ntitle: A\r\n---\r\nPears.\r\nMore.\r\n",
            b"Pears.\r\nMore.",
            b"\xef\xbb\xbf---\r\ntitle: A\r\n---\r\nPears.\r\n",
            b"\xef\xbb\xbfPears.\n",
            b"---\ntitle: A\n---\nPears.\r\nMore.\n",
            b"---\r\nbad: [x\r\n---\r\nPears.\r\n",
            b'+++\r\ntitle = "A"\r\n+++\r\nPears.\r\n',
            b'+++\ntitle = "A"\n+++\nPears.',
            b"---\nPears.\n",
            b"---\n\xc2\xa0title: A\ntags:\xc2\xa0[x]\n---\nPears.\n",
            b"Pears.\rMore.\r",
        ],
    )
    def test_all_bytes_of_a_note_stay(
        self, root: MemoryRoot, name: str, data: bytes, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        vault = tmp_path_factory.mktemp("vault")
        (vault / "a.md").write_bytes(data)
        done = moved(root, name, vault)
        assert ([one.action for one in done.memories], skipped(done)) == (["new"], [])
        written = (root.path / "notes/a.md").read_bytes()
        lines = written.splitlines(keepends=True)
        bare = b"".join(one for one in lines if not one.startswith(b"import_"))
        assert data in {bare, bare.replace(b"---\n---\n", b"").replace(b"---\r\n---\r\n", b"")}
        assert len({one.endswith(b"\r\n") for one in lines[:2]}) == 1
        assert [hit.file for hit in root.recall("pears")] == ["notes/a.md"]
        assert [one.action for one in moved(root, name, vault).memories] == ["unchanged"]
        (vault / "a.md").write_bytes(data + b" And quinces.\n")
        assert [one.action for one in moved(root, name, vault).memories] == ["changed"]
        assert (root.path / "notes/a.md").read_bytes().endswith(data[-6:] + b" And quinces.\n")

    @pytest.mark.parametrize("name", ["obsidian", "basic-memory"])
    def test_the_time_of_a_note_stays(
        self, root: MemoryRoot, name: str, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        vault = tmp_path_factory.mktemp("vault")
        for file, text in (
            ("old.md", "Pears."),
            ("dated.md", "---\ndate: 2015-06-01\n---\nQuinces."),
        ):
            put(vault, file, text)
            os.utime(vault / file, (1_577_880_000, 1_577_880_000))
        moved(root, name, vault)
        days = {one.file: one.timestamp for one in root.list().memories}
        assert days == {"notes/old.md": 1_577_880_000, "notes/dated.md": 1_433_116_800}
        put(vault, "old.md", "Pears and medlars.")
        os.utime(vault / "old.md", (1_600_000_000, 1_600_000_000))
        assert moved(root, name, vault).counts == {"changed": 1, "unchanged": 1}
        assert {one.timestamp for one in root.list().memories} == {1_600_000_000, 1_433_116_800}
        assert [hit.file for hit in root.recall("medlars")] == ["notes/old.md"]

    def test_relations_of_basic_memory_become_links(self, root: MemoryRoot) -> None:
        done = moved(root, "basic-memory")
        assert done.memories[0].file == "decisions/decisions/no-pellets.md"
        assert done.memories[0].id == "decisions/no-pellets"
        text = text_of(root, done)
        assert 'follows_from: ["[[Poisoned hedgehogs]]"]' in text
        assert 'relates_to: ["[[Slugs]]"]' in text
        assert "- [reason] What eats the slugs eats the pellets #slugs (Marijke)" in text
        assert root.query("all | type:decision").keys == [done.memories[0].file]

    def test_a_permalink_is_a_name_of_its_note(
        self, root: MemoryRoot, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        project = tmp_path_factory.mktemp("project")
        notes = {
            "specs/First Note.md": "---\ntype: decision\npermalink: specs/first-note\n---\nPears.\n",
            "Second.md": "---\npermalink: /second/\n---\n- part_of [[specs/first-note]]\n",
            "Third.md": "See [[second]], [[specs/First Note]] and [[none]].\n",
        }
        for name, text in notes.items():
            put(project, name, text)
        moved(root, "basic-memory", project)
        first = "decisions/specs/First Note.md"
        assert {edge[:3] for edge in root.graph().edges} == {
            ("notes/Second.md", first, "part_of"),
            ("notes/Second.md", first, "link"),
            ("notes/Third.md", "notes/Second.md", "link"),
            ("notes/Third.md", first, "link"),
        }
        assert list(root.graph().unresolved) == [("notes/Third.md", "none")]
        assert root.resolve("specs/first-note") == first
        # The text is as it is.
        assert (root.path / first).read_text().startswith(notes["specs/First Note.md"][:-12])
        root.rename(first, "Renamed")
        assert "- part_of [[specs/first-note]]" in (root.path / "notes/Second.md").read_text()
        assert len(root.graph().edges) == 4

    def test_many_relations_and_long_lines_take_linear_time(self, root: MemoryRoot) -> None:
        vault = root.path.parent / "project"
        vault.mkdir()
        many = "".join(f"- relates_to [[n{one}]]\n" for one in range(400))
        kinds = "".join(f"- kind{one} [[x]]\n" for one in range(105))
        (vault / "a.md").write_text(f"{many}{kinds}- word{' ' * 200_000}.\n")
        begun = time.process_time()
        done = moved(root, "basic-memory", vault)
        assert time.process_time() - begun < 60
        text = text_of(root, done)
        assert 'relates_to: ["[[n0]]", "[[n1]]", ' in text
        assert '"[[n399]]"]\n' in text
        assert "\nkind98: " in text
        assert "\nkind99: " not in text

    def test_mem0_keeps_whose_a_memory_is(self, root: MemoryRoot) -> None:
        done = moved(root, "mem0")
        assert skipped(done) == [("mem0.json[2]", None, "it has no text, memory or content")]
        text = text_of(root, done)
        for line in (
            'title: "Prefers mail to calls"',
            'source: "mem0"',
            'created_at: "2025-05-06T14:08:09.000Z"',
            'tags: ["preferences"]',
            'topic_area: "contact"',
            'scope: {"user":"ana"}',
            'import_id: "mem0:f1c8d1d4-9d2b-4a5e-8a57-1f0f3f0c6a01"',
        ):
            assert line in text
        assert root.scoped(user="ana", session="r1").list().count == 1
        assert root.scoped(user="ana").recall("mail").results[0].file == done.memories[0].file

    def test_a_conversation_is_the_branch_that_was_shown(self, root: MemoryRoot) -> None:
        done = moved(root, "chatgpt")
        assert skipped(done) == [("chatgpt.json[1]", None, "nobody says anything in it")]
        [memory] = done.memories
        assert memory.file.startswith("sessions/2025-05-06-slugs-in-may-")
        text = text_of(root, done)
        assert text.endswith(
            "# Slugs in May\n\n## User\n\nWhat drowns slugs?\n\n## ChatGPT\n\nBeer.\n\n"
            "*(something that is no text was left out)*\n"
        )
        assert "Wine" not in text
        assert root.recall("drowns").results[0].session_id == "c-1"

    def test_what_claude_thinks_is_left_out(self, root: MemoryRoot) -> None:
        done = moved(root, "claude")
        text = text_of(root, done)
        assert text.endswith(
            "## User\n\nWhen do we cut?\n\nNorth side first.\n\n## Claude\n\nIn February.\n"
        )
        assert 'created_at: "2025-06-07T08:09:10.123Z"' in text
        assert len(done.unreadable) == 1

    def test_lines_are_read_one_by_one(self, root: MemoryRoot) -> None:
        done = moved(root, "jsonl")
        assert done.memories[0].id == "7"
        assert [(line, reason.partition(" (")[0]) for _, line, reason in skipped(done)] == [
            (3, "it has no text, memory or content"),
            (4, "the line is no JSON object"),
            (5, "the line is no JSON"),
        ]
        text = text_of(root, done)
        assert done.memories[0].file.startswith("findings/2025-04-05-nematodes-work")
        assert 'crop: "leeks"' in text
        assert "supersedes" not in text

    @pytest.mark.parametrize("name", ["chatgpt", "claude"])
    def test_an_archive_and_its_folder_are_read_too(
        self, root: MemoryRoot, tmp_path_factory: pytest.TempPathFactory, name: str
    ) -> None:
        expected = [(one.id, one.file) for one in moved(root, name).memories]
        folder = tmp_path_factory.mktemp("export")
        shutil.copy(SOURCES[name], folder / "conversations.json")
        archive = folder / "export.zip"
        with zipfile.ZipFile(archive, "w") as made:
            made.write(folder / "conversations.json", "export-2025/conversations.json")
        for source in (folder, archive):
            done = root.import_from(source, name)
            assert [(one.id, one.file) for one in done.memories] == expected
            assert done.counts == {"unchanged": len(expected)}


class TestAgain:
    @pytest.mark.parametrize("name", SOURCES)
    def test_a_plan_writes_nothing_and_names_what_is_written(
        self, root: MemoryRoot, name: str
    ) -> None:
        plan = root.import_from(SOURCES[name], name)
        assert not plan.applied
        assert not list(root.path.rglob("*.md"))
        done = moved(root, name)
        assert done.memories == plan.memories
        assert all((root.path / one.file).is_file() for one in done.memories)
        assert set(done.counts) == {"new"}

    @pytest.mark.parametrize("name", SOURCES)
    def test_a_second_import_changes_nothing(self, root: MemoryRoot, name: str) -> None:
        moved(root, name)
        before = {file: file.read_bytes() for file in root.path.rglob("*.md")}
        assert set(moved(root, name).counts) == {"unchanged"}
        assert before == {file: file.read_bytes() for file in root.path.rglob("*.md")}

    def test_it_changes_what_changed_there_alone(
        self, root: MemoryRoot, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        vault = tmp_path_factory.mktemp("vault")
        for name in ("a", "b", "c", "d"):
            (vault / f"{name}.md").write_text(f"Note {name}.\n")
        moved(root, "obsidian", vault)
        (vault / "a.md").write_text("Note a, anew.\n")
        (vault / "b.md").write_text("Note b, anew.\n")
        (vault / "d.md").unlink()
        mine = root.path / "notes/b.md"
        mine.write_text(mine.read_text() + "Mine.\n")
        done = moved(root, "obsidian", vault)
        assert {one.file: one.action for one in done.memories} == {
            "notes/a.md": "changed",
            "notes/b.md": "edited",
            "notes/c.md": "unchanged",
        }
        assert done.gone == ("notes/d.md",)
        assert (root.path / "notes/a.md").read_text().endswith("Note a, anew.\n")
        assert mine.read_text().endswith("Note b.\nMine.\n")

    def test_line_ends_that_version_control_changed_are_no_edit(self, root: MemoryRoot) -> None:
        source = root.path / "one.jsonl"
        source.write_text('{"id": "1", "text": "one"}\n')
        file = root.path / moved(root, "jsonl", source).memories[0].file
        file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
        source.write_text('{"id": "1", "text": "two"}\n')
        assert [one.action for one in moved(root, "jsonl", source).memories] == ["changed"]
        assert file.read_text().endswith("two\n")

    @pytest.mark.parametrize(
        ("title", "name"), [(".env files", "env-files"), ("aux.c", "note-aux.c")]
    )
    def test_without_a_day_no_name_is_hidden_or_a_device(
        self, root: MemoryRoot, title: str, name: str
    ) -> None:
        source = root.path / "one.jsonl"
        source.write_text(json.dumps({"text": "hello", "title": title}))
        [file] = [one.file for one in moved(root, "jsonl", source).memories]
        assert file.startswith(f"notes/{name}-")
        assert [one.action for one in moved(root, "jsonl", source).memories] == ["unchanged"]
        assert [one.file for one in root.list().memories] == [file]

    def test_a_moved_file_is_known_again(self, root: MemoryRoot) -> None:
        moved(root, "obsidian")
        (root.path / "notes/Hedge.md").rename(root.path / "notes/hawthorn.md")
        done = moved(root, "obsidian")
        assert {one.file: one.action for one in done.memories} == {
            "notes/hawthorn.md": "unchanged",
            "notes/Projects/Slugs.md": "unchanged",
        }

    def test_another_file_of_the_name_stays(self, root: MemoryRoot) -> None:
        (root.path / "notes").mkdir()
        (root.path / "notes/Hedge.md").write_text("Mine.\n")
        done = moved(root, "obsidian")
        assert done.counts == {"new": 1, "taken": 1}
        assert (root.path / "notes/Hedge.md").read_text() == "Mine.\n"

    def test_nothing_is_written_through_a_link(
        self, root: MemoryRoot, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        outside = tmp_path_factory.mktemp("outside")
        (root.path / "notes").symlink_to(outside)
        done = moved(root, "obsidian")
        assert not done.memories
        assert {one.code for one in done.unreadable} == {"linked_path", "not_imported"}
        assert not list(outside.iterdir())


class TestProblems:
    @pytest.mark.parametrize(
        ("name", "content", "message"),
        [
            ("mem0", "{", "it is no JSON"),
            ("mem0", "{}", "it is no list, or an object with results or memories"),
            ("chatgpt", "3", "it is no list, or an object with conversations"),
            ("chatgpt", "[" * 100_000, "it is no JSON"),
            ("claude", None, "there is no such file"),
            ("jsonl", None, "there is no such file"),
            ("obsidian", None, "it is no folder"),
            ("basic-memory", "text", "it is no folder"),
        ],
    )
    def test_what_is_no_export_is_refused(
        self, root: MemoryRoot, name: str, content: str | None, message: str
    ) -> None:
        source = root.path / "source"
        if content is not None:
            source.write_text(content)
        with pytest.raises(InvalidInputError) as raised:
            root.import_from(source, name, apply=True)
        assert raised.value.code == "invalid_export"
        assert f"{source} cannot be imported: {message}" in raised.value.message

    def test_an_archive_without_conversations_is_refused(self, root: MemoryRoot) -> None:
        archive = root.path / "export.zip"
        with zipfile.ZipFile(archive, "w") as made:
            made.writestr("user.json", "{}")
        with pytest.raises(InvalidInputError, match=r"it holds no conversations\.json"):
            root.import_from(archive, "chatgpt")

    @pytest.mark.parametrize("compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA])
    def test_a_damaged_archive_is_refused(self, root: MemoryRoot, compression: int) -> None:
        pytest.importorskip("lzma")
        archive = root.path / "export.zip"
        with zipfile.ZipFile(archive, "w", compression) as made:
            made.writestr("conversations.json", json.dumps(list(range(10_000))))
        data = bytearray(archive.read_bytes())
        data[60:300] = b"\xff" * 240
        archive.write_bytes(data)
        with pytest.raises(InvalidInputError, match="it is no ZIP archive that can be read"):
            root.import_from(archive, "chatgpt")

    @pytest.mark.parametrize(
        "record",
        [
            {"text": "hi", "id": "\ud800"},
            {"text": "hi", "rating": "\ud800"},
            {"text": "hi", "tags": ["\ud800"]},
            {"text": "hi", "user_id": "\ud800"},
        ],
    )
    def test_half_of_a_surrogate_pair_keeps_no_other(
        self, root: MemoryRoot, record: dict[str, object]
    ) -> None:
        source = root.path / "half.jsonl"
        source.write_text(f'{json.dumps(record)}\n{{"text": "whole"}}\n')
        done = moved(root, "jsonl", source)
        assert len(done.memories) == 1
        assert [one.line for one in done.unreadable] == [1]
        assert "has half of a surrogate pair" in done.unreadable[0].reason

    def test_numbers_and_times_that_nothing_can_hold(self, root: MemoryRoot) -> None:
        source = root.path / "odd.jsonl"
        source.write_text(
            '{"text": "a", "rating": NaN, "other": -1e999, "date": "0001-01-01T00:00+05:00"}\n'
            '{"text": "b", "date": "0500-01-01"}\n'
        )
        done = moved(root, "jsonl", source)
        text = text_of(root, done)
        assert 'rating: "nan"\nother: "-inf"\n' in text
        assert "created_at" not in text
        assert done.memories[1].file.startswith("notes/0500-01-01-b-")
        assert 'created_at: "0500-01-01T00:00:00.000Z"' in text_of(root, done, 1)

    def test_a_form_that_is_none_is_refused(self, root: MemoryRoot) -> None:
        with pytest.raises(InvalidInputError, match="format must be one of obsidian, basic-memory"):
            root.import_from(EXPORTS, "notion")

    @pytest.mark.parametrize("chat", [None, {}, {"uuid": 3}, {"uuid": "u", "chat_messages": 3}])
    def test_one_bad_conversation_keeps_no_other(self, root: MemoryRoot, chat: object) -> None:
        source = root.path / "conversations.json"
        source.write_text(json.dumps([chat, *json.loads(SOURCES["claude"].read_text())]))
        done = moved(root, "claude", source)
        assert len(done.memories) == 1
        assert done.unreadable[0].path == "conversations.json[0]"

    def test_a_conversation_without_id_and_name_is_known_by_its_text(
        self, root: MemoryRoot
    ) -> None:
        source = root.path / "conversations.json"
        said = {
            "author": {"role": "user"},
            "content": {"parts": ["Which slugs \ud83e eat hostas?"]},
        }
        chats = [
            {"title": "Slugs \ud83e", "mapping": {"a": {"message": said}}},
            {
                "title": None,
                "mapping": {"b": {"message": {**said, "content": {"parts": ["Hi.\0 Ana here."]}}}},
            },
        ]
        source.write_text(json.dumps(chats))
        done = moved(root, "chatgpt", source)
        assert not done.unreadable
        texts = [(root.path / one.file).read_text() for one in done.memories]
        assert [text.split("\n")[2] for text in texts] == [
            'title: "Slugs ?"',
            'title: "Hi. Ana here."',
        ]
        assert "Which slugs ? eat hostas?" in texts[0]
        assert moved(root, "chatgpt", source).counts == {"unchanged": 2}
        nameless = [
            {
                "uuid": "u",
                "name": "",
                "chat_messages": [{"sender": "human", "text": "Moss in the lawn?\nHow?"}],
            }
        ]
        source.write_text(json.dumps(nameless))
        assert '\ntitle: "Moss in the lawn?"\n' in text_of(root, moved(root, "claude", source))

    def test_ids_in_a_circle_end(self, root: MemoryRoot) -> None:
        said = {"author": {"role": "user"}, "content": {"parts": ["Hi."]}}
        mapping = {one: {"message": said, "parent": to} for one, to in ("ab", "ba")}
        source = root.path / "conversations.json"
        source.write_text(json.dumps([{"id": "c", "mapping": mapping, "current_node": "a"}]))
        assert text_of(root, moved(root, "chatgpt", source)).count("Hi.") == 2

    def test_blank_lines_count_as_lines(self, root: MemoryRoot) -> None:
        source = root.path / "gaps.jsonl"
        source.write_text('\n{"text": "a"}\n\n{"text": ""}\nno\n')
        assert [one.line for one in moved(root, "jsonl", source).unreadable] == [4, 5]

    def test_the_same_id_twice_is_named(self, root: MemoryRoot) -> None:
        source = root.path / "twice.jsonl"
        source.write_text('{"id": 1, "text": "a"}\n{"id": 1, "text": "b"}\n')
        done = moved(root, "jsonl", source)
        assert len(done.memories) == 1
        assert skipped(done) == [("twice.jsonl", 2, "another memory has the id 1")]

    @pytest.mark.parametrize(
        ("given", "stored"),
        [
            (1_717_000_000, "2024-05-29T16:26:40.000Z"),
            (1_717_000_000_123, "2024-05-29T16:26:40.123Z"),
            ("1717000000", "2024-05-29T16:26:40.000Z"),
            ("1717000000123", "2024-05-29T16:26:40.123Z"),
            ("2024-05-29 16:26:40.5 UTC", "2024-05-29T16:26:40.500Z"),
            ("20/05/2024 16:26", "20/05/2024 16:26"),
        ],
    )
    def test_a_time_is_kept_in_any_form(self, root: MemoryRoot, given: object, stored: str) -> None:
        source = root.path / "times.jsonl"
        source.write_text(json.dumps({"text": "a", "created_at": given}))
        assert f'created_at: "{stored}"' in text_of(root, moved(root, "jsonl", source))

    def test_tags_as_a_text_and_a_type_in_capitals(self, root: MemoryRoot) -> None:
        source = root.path / "loose.jsonl"
        source.write_text('{"text": "a", "tags": "red, dark green", "type": "Decision"}')
        done = moved(root, "jsonl", source)
        assert done.memories[0].file.startswith("decisions/")
        assert 'tags: ["red","dark green"]' in text_of(root, done)

    def test_lines_of_windows_in_utf_16(self, root: MemoryRoot) -> None:
        source = root.path / "wide.jsonl"
        source.write_bytes('{"text": "Größe"}\r\n{"text": "b"}\r\n'.encode("utf-16"))
        done = moved(root, "jsonl", source)
        assert skipped(done) == []
        assert "Größe" in text_of(root, done)

    @pytest.mark.parametrize(
        ("name", "problem"),
        [
            ("list.jsonl", "it is one JSON list; write each object of it on a line"),
            ("a.zip", "it is a ZIP archive; unpack it first"),
            ("folder", "it is a folder; name a file in it"),
        ],
    )
    def test_another_container_is_refused_as_a_whole(
        self, root: MemoryRoot, tmp_path: Path, name: str, problem: str
    ) -> None:
        (tmp_path / "list.jsonl").write_text('[\n {"text": "a"},\n {"text": "b"}\n]\n')
        (tmp_path / "folder").mkdir()
        with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
            archive.writestr("vault/a.md", "a")
        with pytest.raises(InvalidInputError, match=problem):
            moved(root, "jsonl", tmp_path / name)
        if name == "a.zip":
            with pytest.raises(InvalidInputError, match=problem):
                moved(root, "obsidian", tmp_path / name)


def talk(key: str = "c1", **changes: Any) -> dict[str, Any]:
    """Return a ChatGPT conversation with three messages, with some fields replaced."""

    def node(name: str, parent: str, who: str, text: str, child: list[str]) -> dict[str, Any]:
        message = {
            "author": {"role": who},
            "create_time": 1700000000.5,
            "content": {"content_type": "text", "parts": [text]},
        }
        return {"id": name, "parent": parent, "children": child, "message": message}

    mapping = {
        "root": {"id": "root", "message": None, "parent": None, "children": ["a"]},
        "a": node("a", "root", "user", "when is the hedge cut?", ["b"]),
        "b": node("b", "a", "assistant", "In February, says the quince.", ["c"]),
        "c": node("c", "b", "user", "thank you", []),
    }
    whole = {"id": key, "title": "Hedge", "create_time": 1700000000.1, "current_node": "c"}
    return {**whole, "mapping": mapping, **changes}


class TestOddRecords:
    """An invalid record of an export affects no other record."""

    @staticmethod
    def imported(root: MemoryRoot, tmp_path: Path, chats: list[Any]) -> tuple[str, list[str]]:
        source = tmp_path / "conversations.json"
        source.write_text(json.dumps(chats), encoding="utf-8")
        done = root.import_from(source, "chatgpt", apply=True)
        files = sorted((root.path / "sessions").glob("*.md"))
        text = "\n".join(file.read_text(encoding="utf-8") for file in files)
        return text, [one.reason for one in done.unreadable]

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("content", None), ("content", 3), ("content", {"parts": None}),
            ("content", {"parts": [None]}), ("content", {"content_type": "code", "text": None}),
            ("author", None), ("author", {}), ("author", {"role": None}),
        ],
    )  # fmt: skip
    def test_an_odd_message_is_left_out_and_counted(
        self, root: MemoryRoot, tmp_path: Path, field: str, value: object
    ) -> None:
        chat = talk()
        chat["mapping"]["c"]["message"][field] = value
        text, problems = self.imported(root, tmp_path, [chat, talk("c2")])
        assert text.count("quince") == 2
        assert text.count("thank you") == 1
        assert problems == ["1 message was left out: without an author or a text"]

    @pytest.mark.parametrize(
        "change",
        [
            {"current_node": "gone"}, {"current_node": None}, {"current_node": ["c"]},
            {"create_time": None}, {"create_time": "soon"}, {"title": None}, {"title": 3},
        ],
    )  # fmt: skip
    def test_an_odd_conversation_is_whole(
        self, root: MemoryRoot, tmp_path: Path, change: dict[str, Any]
    ) -> None:
        text, problems = self.imported(root, tmp_path, [talk(**change)])
        assert "quince" in text
        assert "thank you" in text
        assert problems == []

    @pytest.mark.parametrize("lost", ["parent", "children", "node"])
    def test_odd_nodes(self, root: MemoryRoot, tmp_path: Path, lost: str) -> None:
        chat = talk()
        if lost == "node":
            chat["mapping"]["root"] = None
        for node in chat["mapping"].values():
            if node is not None and lost in node:
                node[lost] = None
        text, problems = self.imported(root, tmp_path, [chat])
        assert "when is the hedge cut?" in text
        assert "thank you" in text
        assert problems == []

    def test_numbered_files(self, root: MemoryRoot, tmp_path: Path) -> None:
        export = tmp_path / "export"
        export.mkdir()
        for at in range(3):
            text = json.dumps([talk(f"c{at}")]) if at != 1 else "no JSON"
            (export / f"conversations-{at:03}.json").write_text(text)
        (export / "user.json").write_text("{}")
        done = root.import_from(export, "chatgpt", apply=True)
        assert done.counts == {"new": 2}
        assert [(one.path, one.code) for one in done.unreadable] == [
            ("conversations-001.json", "refused"),
            ("user.json", "not_imported"),
        ]
        with zipfile.ZipFile(tmp_path / "export.zip", "w") as archive:
            for file in sorted(export.iterdir()):
                archive.write(file, f"top/{file.name}")
        again = root.import_from(tmp_path / "export.zip", "chatgpt")
        assert again.counts == {"unchanged": 2}
        assert [one.path for one in again.unreadable] == ["conversations-001.json", "user.json"]

    @pytest.mark.parametrize("name", ["one.json", "conversations.json"])
    def test_a_conversation_that_is_no_list(
        self, root: MemoryRoot, tmp_path: Path, name: str
    ) -> None:
        said = {"sender": "human", "content": [{"type": "text", "text": "a quince"}]}
        chat = {"uuid": "u1", "chat_messages": [said]}
        for tool, one in (("claude", chat), ("chatgpt", talk("c1"))):
            (tmp_path / name).write_text(json.dumps(one))
            done = root.import_from(tmp_path / name, tool)
            assert ([one.id for one in done.memories], skipped(done)) == (
                ["u1" if tool == "claude" else "c1"],
                [],
            )
            listed = [one, {"x": 1}, one | {"uuid": "u2", "id": "c2", "conversation_id": "c2"}]
            (tmp_path / name).write_text(json.dumps(listed))
            done = root.import_from(tmp_path / name, tool)
            assert done.counts == {"new": 2}
            assert [one.path for one in done.unreadable] == [f"{name}[1]"]
        (tmp_path / name).write_text('{"x": 1}')
        with pytest.raises(
            InvalidInputError, match="it is no list, or an object with conversation"
        ):
            root.import_from(tmp_path / name, "claude")

    def test_what_claude_remembers(self, root: MemoryRoot, tmp_path: Path) -> None:
        records = [
            {
                "account_uuid": "a",
                "conversations_memory": "Ann grows quinces.",
                "project_memories": {"p1": "The medlar project.", "p2": " ", "p3": 5},
            },
            {"conversations_memory": None, "project_memories": None},
        ]
        (tmp_path / "memories.json").write_text(json.dumps(records))
        (tmp_path / "users.json").write_text("[]")
        done = root.import_from(tmp_path, "claude", apply=True)
        assert [one.id for one in done.memories] == ["memory:a", "project:p1"]
        assert skipped(done) == [
            ("memories.json[0]", None, "the project p3 has no text"),
            ("users.json", None, "it holds no conversation"),
        ]
        assert len(root.recall("quinces")) == len(root.recall("medlar")) == 1
        again = root.import_from(tmp_path / "memories.json", "claude")
        assert again.counts == {"unchanged": 2}

    def test_projects_of_claude(self, root: MemoryRoot, tmp_path: Path) -> None:
        document = {"uuid": "d1", "filename": "trees.md", "content": "The medlar is old."}
        projects = [
            {"uuid": "p0", "name": "How to", "is_starter_project": True, "docs": [document]},
            {
                "uuid": "p1",
                "name": "Orchard",
                "description": "About trees.",
                "prompt_template": "Name the quinces.",
                "created_at": "2026-04-18T10:00:00Z",
                "docs": [document, {"filename": "empty.md"}, 5],
            },
            {"uuid": "p2", "name": None, "prompt_template": "", "docs": None},
        ]
        (tmp_path / "projects.json").write_text(json.dumps(projects))
        done = root.import_from(tmp_path, "claude", apply=True)
        assert [one.id for one in done.memories] == ["instructions:p1", "document:d1"]
        assert skipped(done) == [
            ("projects.json[0]", None, "it is the sample project of Claude"),
            ("projects.json[1]", None, "the document empty.md has no text"),
        ]
        (hit,) = root.recall("quinces")
        assert hit.file.startswith("notes/2026-04-18-orchard-")
        (hit,) = root.recall("medlar")
        assert "# trees.md" in (root.path / hit.file).read_text()
        assert root.import_from(tmp_path / "projects.json", "claude").counts == {"unchanged": 2}

    @pytest.mark.parametrize("tool", ["chatgpt", "claude", "codex"])
    def test_many_messages_of_one_speaker_take_linear_time(
        self, root: MemoryRoot, tmp_path: Path, tool: str
    ) -> None:
        count = 20_000
        texts = [f"message {at}" for at in range(count)]
        export = tmp_path / ("conversations.jsonl" if tool == "codex" else "conversations.json")
        if tool == "codex":
            lines = ({"type": "message", "role": "user", "content": text} for text in texts)
            export.write_text("\n".join(map(json.dumps, lines)))
        elif tool == "claude":
            said = [{"sender": "human", "text": text} for text in texts]
            export.write_text(json.dumps([{"uuid": "u1", "chat_messages": said}]))
        else:
            nodes = {
                str(at): {
                    "parent": str(at - 1),
                    "message": {"author": {"role": "user"}, "content": {"parts": [text]}},
                }
                for at, text in enumerate(texts)
            }
            export.write_text(
                json.dumps([{"id": "c1", "mapping": nodes, "current_node": str(count - 1)}])
            )
        begun = time.process_time()
        done = root.import_from(export, tool, apply=True)
        assert time.process_time() - begun < 10
        text = text_of(root, done)
        assert text.count("## User") == 1
        assert "message 0\n\nmessage 1\n\n" in text

    def test_many_files_of_an_archive_take_linear_time(
        self, root: MemoryRoot, tmp_path: Path
    ) -> None:
        with zipfile.ZipFile(tmp_path / "export.zip", "w") as archive:
            for at in range(2_000):
                archive.writestr(f"conversations-{at:03}.json", "[]")
        begun = time.process_time()
        root.import_from(tmp_path / "export.zip", "chatgpt")
        assert time.process_time() - begun < 5

    def test_odd_messages_of_claude(self, root: MemoryRoot, tmp_path: Path) -> None:
        said = {"sender": "human", "content": [{"type": "text", "text": "a quince"}]}
        odd = [None, {"sender": "human", "content": None, "attachments": None}, {"content": [None]}]
        chats = [{"uuid": "u1", "chat_messages": [said, *odd, said]}]
        (tmp_path / "conversations.json").write_text(json.dumps(chats))
        root.import_from(tmp_path / "conversations.json", "claude", apply=True)
        (file,) = (root.path / "sessions").glob("*.md")
        assert file.read_text().count("a quince") == 2 + file.read_text().count('title: "a quince')

    def test_what_chatgpt_does_not_show_is_no_lost_message(
        self, root: MemoryRoot, tmp_path: Path
    ) -> None:
        chat = talk()
        first, second = list(chat["mapping"].values())[1:3]
        first["message"]["content"] = {"content_type": "thoughts", "thoughts": [{"content": "hm"}]}
        cited = "Beer traps.\ue200cite\ue202turn0search0\ue201 Every night."
        second["message"]["content"]["parts"] = [cited]
        source = tmp_path / "conversations.json"
        source.write_text(json.dumps([chat]))
        done = moved(root, "chatgpt", source)
        assert skipped(done) == []
        assert "Beer traps. Every night." in text_of(root, done)

    def test_templates_and_empty_notes_are_not_imported(
        self, root: MemoryRoot, tmp_path: Path
    ) -> None:
        vault = tmp_path.parent / f"{tmp_path.name}-vault"
        put(vault, "a.md", "text\n")
        put(vault, "Templates/daily.md", "# {{title}}\n")
        put(vault, "x/_templates/b.md", "b\n")
        put(vault, "Muster/c.md", "c\n")
        put(vault, ".obsidian/templates.json", '{"folder": "Muster/"}')
        put(vault, "empty.md", "")
        put(vault, "only-tags.md", "---\ntags: [a]\n---\n\n")
        put(vault, "alias.md", "---\naliases: [a]\n---\n\n")
        done = root.import_from(vault, "obsidian")
        assert [one.id for one in done.memories] == ["a.md", "alias.md"]
        assert {one.path: one.reason for one in done.unreadable} == {
            "Muster/c.md": "it is a template",
            "Templates/daily.md": "it is a template",
            "x/_templates/b.md": "it is a template",
            "empty.md": "it is empty",
            "only-tags.md": "it is empty",
        }

    @pytest.mark.parametrize("form", ["obsidian", "basic-memory"])
    def test_front_matter_that_is_not_yaml_is_imported_as_it_is(
        self, root: MemoryRoot, tmp_path: Path, form: str
    ) -> None:
        vault = tmp_path.parent / f"{tmp_path.name}-vault"
        text = "---\ntitle: GP-7: one\ntags: [x]\n---\n\npomelo\n- likes [[b]]\n"
        put(vault, "one.md", text)
        assert root.import_from(vault, form, apply=True).counts == {"new": 1}
        file = root.path / "notes/one.md"
        assert file.read_text().startswith("---\ntitle: GP-7: one\ntags: [x]\nimport_id: ")
        assert file.read_text().endswith(text.partition("---\n\n")[2])
        assert root.import_from(vault, form, apply=True).counts == {"unchanged": 1}
        put(vault, "one.md", text + "more\n")
        assert root.import_from(vault, form, apply=True).counts == {"changed": 1}
        file.write_text(file.read_text() + "mine\n")
        put(vault, "one.md", text + "yet more\n")
        assert root.import_from(vault, form, apply=True).counts == {"edited": 1}


def test_half_of_a_pair_in_a_text_keeps_no_other(root: MemoryRoot) -> None:
    source = root.path / "mem0.json"
    source.write_text('[{"id":"a","memory":"\\ud800 half"},{"id":"b","memory":"good"}]')
    done = moved(root, "mem0", source)
    assert [one.id for one in done.memories] == ["b"]
    assert "has half of a surrogate pair" in done.unreadable[0].reason


def test_a_scope_that_cannot_be_read_is_refused(root: MemoryRoot) -> None:
    source = root.path / "a.jsonl"
    source.write_text('{"text": "x", "scope": "ana"}\n{"text": "y", "user_id": ""}\n')
    done = moved(root, "jsonl", source)
    assert [one.line for one in done.unreadable] == [1]
    assert "its scope cannot be read" in done.unreadable[0].reason
    assert len(done.memories) == 1


def test_a_short_conversation_is_untitled(root: MemoryRoot) -> None:
    chat = {
        "uuid": "1",
        "chat_messages": [
            {"sender": "human", "text": "Hi"},
            {"sender": "assistant", "text": "Hello"},
        ],
    }
    source = root.path / "conversations.json"
    source.write_text(json.dumps([chat]))
    assert 'title: "Untitled conversation"' in text_of(root, moved(root, "claude", source))


def test_drawings_are_left_out(root: MemoryRoot) -> None:
    vault = root.path.parent / "vault"
    put(vault, "a.md", "text")
    put(vault, "b.excalidraw.md", "drawing")
    done = moved(root, "obsidian", vault)
    assert [one.id for one in done.memories] == ["a.md"]
    assert skipped(done) == [("b.excalidraw.md", None, "it is a drawing")]


def test_forgetting_an_imported_memory_names_its_export(root: MemoryRoot, tmp_path: Path) -> None:
    source = tmp_path / "a.jsonl"
    source.write_text('{"id": 7, "text": "Tea at five."}\n')
    file = moved(root, "jsonl", source).memories[0].file
    assert root.forget(file, purge=True).out_of_reach[0] == (
        "the export of jsonl with 7, from which the next import writes the memory again"
    )
    assert root.import_from(source, "jsonl").counts == {"new": 1}


@pytest.mark.parametrize("tool", ["obsidian", "basic-memory"])
@pytest.mark.parametrize("base", [".", "root"])
def test_memories_of_the_root_are_not_imported(tmp_path: Path, tool: str, base: str) -> None:
    put(tmp_path, "root/hedgerow.json", '{"schemaVersion": 1, "exclude": ["/old/"]}')
    put(tmp_path, "root/old/elm.md", "Elms are tall.\n")
    put(tmp_path, "root/oak.md", "Oaks are old.\n")
    with MemoryRoot.open(tmp_path / "root") as root:
        source = tmp_path / base
        prefix = "root/" if base == "." else ""
        done = moved(root, tool, source)
        assert [one.file for one in done.memories] == [f"notes/{prefix}old/elm.md"]
        assert (f"{prefix}oak.md", None, "it is a memory of this root already") in skipped(done)
        assert moved(root, tool, source).counts == {"unchanged": 1}


def test_a_type_without_a_folder_is_kept(root: MemoryRoot, tmp_path: Path) -> None:
    source = tmp_path / "a.jsonl"
    types = ["Team Meeting", "episodic", "FINDING", "", 5]
    records = [{"text": f"Tea at {at}.", "type": one} for at, one in enumerate(types)]
    source.write_text("\n".join(map(json.dumps, records)))
    done = moved(root, "jsonl", source)
    folders = [one.file.split("/")[0] for one in done.memories]
    assert folders == ["notes", "sessions", "findings", "notes", "notes"]
    stated = [text_of(root, done, at).splitlines()[1] for at in range(len(types))]
    words = ["team-meeting", "session", "finding", "note", "note"]
    assert stated == [f'type: "{one}"' for one in words]
    assert root.list(type="team-meeting").count == 1
    assert moved(root, "jsonl", source).counts == {"unchanged": 5}


class TestSimilar:
    """An import skips the same text, and names the memory that a new one is most like."""

    SAID = "Cut the hedge in August, after the birds have left the nests."

    def records(self, root: MemoryRoot, *records: dict[str, Any]) -> Path:
        source = root.path / "memories.jsonl"
        source.write_text("".join(f"{json.dumps(one)}\n" for one in records))
        return source

    def test_the_same_text_is_skipped_and_a_near_duplicate_named(self, root: MemoryRoot) -> None:
        there = root.remember(self.SAID, title="Hedge").file
        march = {"id": "2", "text": self.SAID.replace("August", "March"), "title": "March"}
        source = self.records(
            root,
            {"id": "1", "text": self.SAID.upper(), "title": "Copy"},
            march,
            {**march, "id": "3", "title": "March again"},
            {"id": "4", "text": "Beer drowns slugs.", "title": "Beer"},
        )
        for apply in (False, True):
            done = root.import_from(source, "jsonl", apply=apply)
            assert done.counts == {"new": 2, "same": 2}
            copy, near, again, other = done.memories
            assert (copy.file, again.file) == (there, near.file)
            assert [one.file for one in near.similar] == [there]
            assert near.similar[0].percent == 78
            assert other.similar == ()
            assert (root.path / near.file).exists() == apply
        assert near.to_dict()["similar"][0]["file"] == there
        assert moved(root, "jsonl", source).counts == {"unchanged": 2, "same": 2}

    def test_memories_of_other_scopes_and_ended_ones_do_not_count(self, root: MemoryRoot) -> None:
        root.retract(root.remember(self.SAID, title="Hedge").file)
        source = self.records(
            root,
            {"id": "1", "text": self.SAID, "scope": {"user": "ana"}},
            {"id": "2", "text": self.SAID, "scope": {"user": "ben"}},
            {"id": "3", "text": self.SAID},
        )
        assert moved(root, "jsonl", source).counts == {"new": 3}

    def test_notes_that_others_link_to_by_name_are_written(
        self, root: MemoryRoot, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        vault = tmp_path_factory.mktemp("vault")
        for name in ("Ana", "Ben"):
            put(
                vault,
                f"{name}.md",
                f"# {name}\n\n## Meetings\n\nNone yet. See [[Ana]] and [[Ben]].\n",
            )
        done = moved(root, "obsidian", vault)
        assert done.counts == {"new": 2}
        first, second = done.memories
        assert first.similar == ()
        assert str(second.similar[0]) == "notes/Ana.md (100 %)"
        assert root.graph().unresolved == ()
