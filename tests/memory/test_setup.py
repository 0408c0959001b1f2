"""Setting up a root, finding it, and rejecting incompatible ones."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from hedgerow import HedgerowError, InvalidInputError, MemoryRoot
from hedgerow.memory import MemoryRoots
from hedgerow.memory.config import nearest_root
from hedgerow.memory.doctor import diagnose
from memory_doubles import put

NEWER = '{"schemaVersion": 7}'
DIRECTORIES = ["decisions", "findings", "notes", "pages", "preferences", "sessions"]


class TestInit:
    def test_makes_configuration_folders_and_ignore_file(self, tmp_path: Path) -> None:
        root = MemoryRoot.init(tmp_path / "a" / "memory")
        names = sorted(path.name for path in root.path.iterdir())
        assert names == [".gitignore", *DIRECTORIES[:2], "hedgerow.json", *DIRECTORIES[2:]]
        config = json.loads((root.path / "hedgerow.json").read_text())
        assert list(config) == [
            "schemaVersion", "canonical", "derivedDir", "memoryDirs", "createdAt", "createdBy",
        ]  # fmt: skip

    def test_twice_changes_nothing(self, tmp_path: Path) -> None:
        MemoryRoot.init(tmp_path)
        config = (tmp_path / "hedgerow.json").read_text().replace("}\n", ', "indexRoot": "."}\n')
        (tmp_path / "hedgerow.json").write_text(config)
        done = MemoryRoot.initialize(tmp_path)
        assert (done.config_created, done.gitignore_updated) == (False, False)
        assert (tmp_path / "hedgerow.json").read_text() == config

    def test_force_writes_the_configuration_afresh(self, tmp_path: Path) -> None:
        put(tmp_path, "hedgerow.json", '{"schemaVersion": 1, "indexRoot": ".."}')
        assert MemoryRoot.initialize(tmp_path, force=True).config_created
        assert "indexRoot" not in (tmp_path / "hedgerow.json").read_text()

    @pytest.mark.parametrize(
        "text", ["nope", "null", '{"schemaVersion": 0}', '{"schemaVersion": "1"}']
    )
    def test_force_mends_what_cannot_be_read(self, tmp_path: Path, text: str) -> None:
        put(tmp_path, "hedgerow.json", text)
        with pytest.raises(HedgerowError) as raised:
            MemoryRoot.init(tmp_path)
        assert raised.value.code == "root_config_invalid"
        assert [path.name for path in tmp_path.iterdir()] == ["hedgerow.json"]
        assert MemoryRoot.init(tmp_path, force=True).status().compatible

    @pytest.mark.parametrize("force", [False, True])
    @pytest.mark.parametrize("name", ["hedgerow.json", "jumpybrain.json"])
    def test_a_newer_schema_is_never_touched(
        self, tmp_path: Path, name: str, *, force: bool
    ) -> None:
        put(tmp_path, name, NEWER)
        with pytest.raises(HedgerowError, match=r"schema v7.*only supports up to v1") as raised:
            MemoryRoot.init(tmp_path, force=force)
        assert raised.value.code == "root_too_new"
        assert [path.name for path in tmp_path.iterdir()] == [name]

    @pytest.mark.parametrize("line", [".hedgerow", "  .hedgerow/  ", "/.hedgerow/", "**/.hedgerow"])
    def test_an_ignore_file_that_knows_stays(self, tmp_path: Path, line: str) -> None:
        put(tmp_path, ".gitignore", f"x\n{line}\n")
        assert not MemoryRoot.initialize(tmp_path).gitignore_updated
        assert (tmp_path / ".gitignore").read_text() == f"x\n{line}\n"

    def test_an_ignore_file_of_another_encoding_keeps_its_bytes(self, tmp_path: Path) -> None:
        (tmp_path / ".gitignore").write_bytes(b"caf\xe9\r\n")
        assert MemoryRoot.initialize(tmp_path).gitignore_updated
        assert (tmp_path / ".gitignore").read_bytes() == (
            b"caf\xe9\r\n# hedgerow derived state\r\n.hedgerow/\r\n"
        )

    @pytest.mark.parametrize(
        ("old", "added"),
        [
            (b"a\r\nb\r\n", b"# hedgerow derived state\r\n.hedgerow/\r\n"),
            (b"a\r\nb", b"\r\n# hedgerow derived state\r\n.hedgerow/\r\n"),
            (b"a\r\nb\nc\n", b"# hedgerow derived state\n.hedgerow/\n"),
            (b"a", b"\n# hedgerow derived state\n.hedgerow/\n"),
            (b"\xef\xbb\xbfa\r\n", b"# hedgerow derived state\r\n.hedgerow/\r\n"),
            (b"", b"# hedgerow derived state\n.hedgerow/\n"),
        ],
    )
    def test_an_ignore_file_keeps_its_line_ends(
        self, tmp_path: Path, old: bytes, added: bytes
    ) -> None:
        (tmp_path / ".gitignore").write_bytes(old)
        assert MemoryRoot.initialize(tmp_path).gitignore_updated
        assert (tmp_path / ".gitignore").read_bytes() == old + added

    @pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
    @pytest.mark.parametrize("tail", [b"", b"\0"])
    def test_an_ignore_file_that_git_cannot_read_is_an_error(
        self, tmp_path: Path, encoding: str, tail: bytes
    ) -> None:
        old = "\ufeff".encode("utf-16-be") * (encoding == "utf-16-be") + "x\r\n".encode(encoding)
        (tmp_path / ".gitignore").write_bytes(old + tail)
        with pytest.raises(
            HedgerowError, match=r"\.gitignore was not changed: it is UTF-16"
        ) as raised:
            MemoryRoot.initialize(tmp_path)
        assert raised.value.code == "root_io"
        assert [path.name for path in tmp_path.iterdir()] == [".gitignore"]
        assert (tmp_path / ".gitignore").read_bytes() == old + tail

    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
    def test_a_setting_keeps_the_form_of_the_configuration(
        self, tmp_path: Path, encoding: str
    ) -> None:
        text = json.dumps({"schemaVersion": 1, "note": "é"}, indent=2).replace("\n", "\r\n")
        (tmp_path / "hedgerow.json").write_bytes(text.encode(encoding))
        MemoryRoot.initialize(tmp_path, vault=False, embedder="ollama:x")
        new = (tmp_path / "hedgerow.json").read_bytes().decode(encoding)
        assert new.count("\n") == new.count("\r\n") == 5
        assert json.loads(new) == {"schemaVersion": 1, "note": "é", "embedder": "ollama:x"}

    @pytest.mark.parametrize("name", [".gitignore", "hedgerow.json"])
    def test_a_linked_file_stays_a_link(self, tmp_path: Path, name: str) -> None:
        real = put(tmp_path, "own/file", "{}" if name.endswith("json") else "x\n")
        (tmp_path / name).symlink_to("own/file")
        MemoryRoot.initialize(tmp_path, force=True)
        assert (tmp_path / name).is_symlink()
        assert "hedgerow" in real.read_text()

    def test_an_ignore_file_linked_out_of_the_root_is_refused(self, tmp_path: Path) -> None:
        shared = put(tmp_path, "ignore", "x\n")
        (tmp_path / "root").mkdir()
        (tmp_path / "root/.gitignore").symlink_to("../ignore")
        with pytest.raises(HedgerowError, match=r"is a link to .*, outside") as raised:
            MemoryRoot.init(tmp_path / "root")
        assert raised.value.code == "root_io"
        assert shared.read_text() == "x\n"
        shared.write_text("x\n.hedgerow/\n")
        assert MemoryRoot.init(tmp_path / "root").status().initialized

    def test_an_ignore_file_edited_at_the_same_time_is_not_lost(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        put(tmp_path, ".gitignore", "x\n")
        monkeypatch.setattr(os, "fsync", lambda _: put(tmp_path, ".gitignore", "x\ny\n"))
        with pytest.raises(HedgerowError) as raised:
            MemoryRoot.init(tmp_path)
        assert raised.value.code == "file_changed"
        assert (tmp_path / ".gitignore").read_text() == "x\ny\n"


class TestOpen:
    def test_a_root_without_configuration_works(self, tmp_path: Path) -> None:
        root = MemoryRoot.open(tmp_path)
        assert root.status().compatible
        assert not root.status().initialized
        root.remember("Beer drowns slugs.", title="Slugs")
        assert len(root.recall("slugs")) == 1

    def test_an_old_name_of_the_configuration_is_honoured(self, tmp_path: Path) -> None:
        put(tmp_path, "jumpybrain.json", '{"schemaVersion": 1, "indexRoot": "docs"}')
        put(tmp_path, "docs/a.md", "slugs")
        root = MemoryRoot.open(tmp_path)
        assert root.status().config_file == "jumpybrain.json"
        assert [one.file for one in root.recall("slugs")] == ["a.md"]

    def test_a_link_is_followed(self, tmp_path: Path) -> None:
        (tmp_path / "real").mkdir()
        (tmp_path / "link").symlink_to("real")
        assert MemoryRoot.open(tmp_path / "link").path == (tmp_path / "real").resolve()

    @pytest.mark.parametrize("name", ["nowhere", "file.md"])
    def test_what_is_no_folder_is_refused(self, tmp_path: Path, name: str) -> None:
        put(tmp_path, "file.md", "")
        with pytest.raises(InvalidInputError, match=rf"{name}: .*MemoryRoot\.init\(") as raised:
            MemoryRoot.open(tmp_path / name)
        assert (raised.value.code, raised.value.path) == ("root_not_found", str(tmp_path / name))

    def test_a_newer_schema_is_refused_by_all_but_status(self, tmp_path: Path) -> None:
        put(tmp_path, "hedgerow.json", NEWER)
        root = MemoryRoot.open(tmp_path)
        assert not root.status().compatible
        for call in (
            root.sync,
            root.index,
            lambda: root.remember("x", title="T"),
            lambda: root.recall("x"),
            lambda: root.wrapup("x", title="T"),
            lambda: root.process("lint"),
        ):
            with pytest.raises(HedgerowError) as raised:
                call()
            assert raised.value.code == "root_too_new"
        assert [path.name for path in tmp_path.iterdir()] == ["hedgerow.json"]

    @pytest.mark.parametrize(
        "config",
        [
            '{"schemaVersion": 1, "indexRoot": 5}',
            '{"schemaVersion": 1, "indexRoot": "none"}',
            '{"schemaVersion": 1, "indexRoot": "a\\u0000b"}',
            '{"schemaVersion": 1, "indexRoot": "a\\ud800b"}',
            '{"schemaVersion": 1, "indexRoot": "loop"}',
            f'{{"schemaVersion": 1, "indexRoot": "{"a" * 300}"}}',
            '{"schemaVersion": 1, "embedder": {"adapter": "ollama"}}',
            "[]",
            "{",
        ],
    )
    def test_a_configuration_that_makes_no_sense_is_named(
        self, tmp_path: Path, config: str
    ) -> None:
        (tmp_path / "loop").symlink_to("loop")
        put(tmp_path, "hedgerow.json", config)
        with pytest.raises(HedgerowError, match=r"hedgerow\.json") as raised:
            MemoryRoot.open(tmp_path).sync()
        assert raised.value.code == "root_config_invalid"

    def test_a_configuration_in_conflict_is_named_with_the_line(self, tmp_path: Path) -> None:
        text = (
            '{\n<<<<<<< HEAD\n"schemaVersion": 1,\n=======\n"schemaVersion": 1\n>>>>>>> other\n}\n'
        )
        put(tmp_path, "hedgerow.json", text)
        with pytest.raises(HedgerowError, match=r"hedgerow\.json:2: it is in conflict") as raised:
            MemoryRoot.open(tmp_path).sync()
        assert raised.value.code == "root_config_invalid"
        assert "--force" not in raised.value.message

    @pytest.mark.parametrize("is_set_up", [True, False])
    def test_an_open_root_that_was_moved_is_not_made_again(
        self, tmp_path: Path, *, is_set_up: bool
    ) -> None:
        folder = tmp_path / "memory"
        put(folder, "notes/a.md", "hawthorn")
        if is_set_up:
            MemoryRoot.init(folder)
        root = MemoryRoot.open(folder)
        assert len(root.recall("hawthorn")) == 1
        folder.rename(tmp_path / "moved")
        for call in (
            lambda: root.recall("hawthorn"),
            lambda: root.recall("hawthorn", sync=False),
            lambda: root.remember("x", title="T"),
            root.list,
            root.status,
            lambda: root.process("lint", apply=True),
        ):
            with pytest.raises(InvalidInputError, match="moved or renamed") as raised:
                call()
            assert raised.value.code == "root_not_found"
        assert not folder.exists()
        assert len(MemoryRoot.open(tmp_path / "moved").recall("hawthorn")) == 1

    @pytest.mark.parametrize(
        ("settings", "position"),
        [
            ('"indexRoot": 5', "2:14"),
            ('"embedder": {"model": "x"}', "2:13"),
            ('"é": 0, "exclude": ["a", 7]', "2:26"),
            ('"exclude": "a"', "2:12"),
            ('"defaults": {"finding": {"staleAfter": "90d", "validUntil": "x"}}', "2:61"),
            ('"defaults": {"fact": {}}', "2:22"),
            ('"defaults": 3', "2:13"),
            ('"vault": "x"', "2:10"),
            ('"remote": "x", "remote": "y"', "2:26"),
            ('"schemaVersion": 0', "2:18"),
        ],
    )
    @pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
    def test_a_wrong_value_has_a_position(
        self, tmp_path: Path, settings: str, position: str, encoding: str
    ) -> None:
        text = f'{{"schemaVersion": 1,\n{settings}}}'
        (tmp_path / "hedgerow.json").write_bytes(text.encode(encoding))
        with pytest.raises(HedgerowError, match=rf"hedgerow\.json:{position}[: ]") as raised:
            MemoryRoot.open(tmp_path).sync()
        assert raised.value.code == "root_config_invalid"

    @pytest.mark.parametrize(
        ("key", "advice"),
        [
            ("excludes", '; did you mean "exclude"?'),
            ("Exclude", '; did you mean "exclude"?'),
            ("embeder", '; did you mean "embedder"?'),
            ("dailynotes", '; did you mean "dailyNotes"?'),
            ("schemaVersio", '; did you mean "schemaVersion"?'),
            ("owner", "."),
            ("é", "."),
        ],
    )
    @pytest.mark.parametrize("name", ["hedgerow.json", "jumpybrain.json"])
    def test_a_key_that_does_not_exist_is_named(
        self, tmp_path: Path, key: str, advice: str, name: str
    ) -> None:
        put(tmp_path, name, f'{{"schemaVersion": 1,\n  {json.dumps(key)}: ["private/"]}}')
        line = f"{tmp_path / name}:2:{len(json.dumps(key)) + 5}"
        notice = f"{line}: unknown key {json.dumps(key)}{advice}"
        told: list[str] = []
        root = MemoryRoot.open(tmp_path, notify=told.append)
        assert root.recall("x").notices == (notice,)
        assert root.recall("x", sync=False).notices == (notice,)
        assert told == [notice]
        assert root.status().message == f"This hedgerow supports schema v1. {notice}"
        assert notice in diagnose(tmp_path).memory_root.message

    def test_many_keys_that_do_not_exist_are_counted(self, tmp_path: Path) -> None:
        keys = {f"key {number}": 0 for number in range(9)}
        put(tmp_path, "hedgerow.json", json.dumps({"schemaVersion": 1} | keys))
        *named, rest = MemoryRoot.open(tmp_path, notify=lambda _: None).recall("x").notices
        assert len(named) == 5
        assert rest == f"{tmp_path / 'hedgerow.json'} has 4 more keys that do not exist."

    def test_keys_of_each_of_several_roots_are_named(self, tmp_path: Path) -> None:
        for name in ("a", "b"):
            put(tmp_path / name, "hedgerow.json", '{"schemaVersion": 1, "indexroot": "."}')
        roots = MemoryRoots.open([tmp_path / "a", tmp_path / "b"], notify=lambda _: None)
        assert [one.split(":")[0] for one in roots.recall("x").notices] == [
            str(tmp_path / name / "hedgerow.json") for name in ("a", "b")
        ]

    @pytest.mark.parametrize(
        ("defaults", "meant"),
        [
            ({"findings": {}}, "finding"),
            ({"finding": {"staleafter": "90d"}}, "staleAfter"),
            ({"finding": {"validUntl": "90d"}}, "validUntil"),
        ],
    )
    def test_the_nearest_key_of_defaults_is_named(
        self, tmp_path: Path, defaults: dict[str, object], meant: str
    ) -> None:
        put(tmp_path, "hedgerow.json", json.dumps({"schemaVersion": 1, "defaults": defaults}))
        with pytest.raises(HedgerowError, match=f'; did you mean "{meant}"\\?; repair it'):
            MemoryRoot.open(tmp_path).recall("x")

    @pytest.mark.parametrize("path", ["a\0b", "a\ud800b"])
    def test_a_text_that_is_not_a_path_is_refused(self, path: str) -> None:
        for call in (MemoryRoot.open, MemoryRoot.init):
            with pytest.raises(InvalidInputError) as raised:
                call(path)
            assert raised.value.code == "root_not_found"
            assert raised.value.message.startswith(f"{path!r} is not a path: it has a NUL")


class TestNearest:
    def test_the_folder_itself_comes_before_its_memory_and_before_those_above(
        self, tmp_path: Path
    ) -> None:
        put(tmp_path, "p/memory/hedgerow.json", "{}")
        put(tmp_path, "p/a/b/c.txt", "")
        assert nearest_root(tmp_path / "p/a/b").root == tmp_path / "p/memory"
        put(tmp_path, "p/jumpybrain.json", "{}")
        assert nearest_root(tmp_path / "p/a/b").root == tmp_path / "p"
        put(tmp_path, "p/a/memory/hedgerow.json", "{}")
        assert nearest_root(tmp_path / "p/a/b").root == tmp_path / "p/a/memory"

    def test_there_may_be_none(self, tmp_path: Path) -> None:
        assert nearest_root(tmp_path).root is None


@pytest.mark.parametrize(
    "call",
    [
        lambda root: root.recall("hedge").results,
        lambda root: root.context("hedge").text,
        lambda root: root.list().memories,
        lambda root: root.show("hedge").text,
        lambda root: root.grep("hedge").matches,
        lambda root: root.query("all").keys,
        lambda root: root.links("hedge").nodes,
        lambda root: root.remember("The pond froze.", title="Pond").file,
        lambda root: root.retract("hedge").changed,
        lambda root: root.edit("hedge", "More.", root.show("hedge").digest, append=True).text,
        lambda root: root.sync().documents,
        lambda root: root.scoped(user="ana").remember("Otters.", title="Otters").file,
    ],
)
def test_a_call_after_close_opens_the_root_again(
    root: MemoryRoot, call: Callable[[MemoryRoot], object]
) -> None:
    put(root.path, "notes/hedge.md", "The hedge is cut.\n")
    root.recall("hedge")
    root.graph()
    root.close()
    assert call(root)
    root.close()
    root.close()


class TestDoctor:
    def test_of_a_healthy_root(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        skill = put(tmp_path, "home/.claude/skills/hedgerow-memory/SKILL.md", "x")
        root = MemoryRoot.init(tmp_path / "memory")
        found = diagnose(root.path).to_dict()
        assert list(found) == [
            "ok", "engine", "memoryRoot", "index", "links", "edges", "files", "permissions",
            "integrations",
        ]  # fmt: skip
        assert found["ok"] is found["engine"]["ok"] is found["permissions"]["ok"] is True
        assert found["memoryRoot"]["root"] == str(root.path)
        assert found["integrations"]["claude"]["path"] == str(skill)
        installed = {name: one["ok"] for name, one in found["integrations"].items()}
        assert installed == {"codex": False, "claude": True, "pi": False}

    def test_an_index_that_is_missing_or_behind_is_a_warning(self, tmp_path: Path) -> None:
        root = MemoryRoot.init(tmp_path)
        assert not diagnose(tmp_path).index.ok
        root.sync()
        index = diagnose(tmp_path).to_dict()["index"]
        assert (index["ok"], index["documents"], index["stale"]) == (True, 0, False)
        put(tmp_path, "notes/a.md", "x")
        found = diagnose(tmp_path)
        assert (found.ok, found.index.ok, found.to_dict()["index"]["stale"]) == (True, False, True)

    def test_says_how_memories_are_found(self, tmp_path: Path) -> None:
        assert "Retrieval: keywords." in diagnose(tmp_path).index.message

    def test_links_to_no_memory_are_a_warning(self, root: MemoryRoot) -> None:
        put(root.path, "notes/a.md", "---\nsupersedes: old\n---\n[[b]], [[heron]] and [[heron]]\n")
        put(root.path, "notes/b.md", "# B\n")
        found = diagnose(root.path)
        assert (found.ok, found.links.ok) == (True, False)
        assert found.links.message == "2 broken: notes/a.md: old; notes/a.md: heron."
        assert not (root.path / ".hedgerow").exists()
        unresolved = found.to_dict()["links"]["unresolved"]
        assert unresolved == [
            {"file": "notes/a.md", "link": "old"},
            {"file": "notes/a.md", "link": "heron"},
        ]
        assert [(one["file"], one["link"]) for one in unresolved] == [*root.graph().unresolved]
        put(root.path, "heron.md", "# Heron\n")
        assert diagnose(root.path).links.message == "1 broken: notes/a.md: old."
        put(root.path, "old.md", "x")
        links = diagnose(root.path).links
        assert (links.ok, links.message) == (True, "None is broken.")

    def test_links_to_files_that_are_no_memories_are_not_broken(self, root: MemoryRoot) -> None:
        put(root.path, "att/a.pdf", "x")
        put(root.path, "notes/deep/Diagram.PNG", "x")
        put(root.path, "notes/cafe\u0301.png", "x")
        put(root.path, ".hedgerow/gone.png", "x")
        names = "![[diagram.png]] [[att/a.pdf#page=2|pdf]] [[../att/a.pdf]] ![[caf\xe9.png]]"
        put(root.path, "notes/a.md", f"{names} [[a.pdf]] ![[gone.png]] [[b/a.pdf]] [[diagram]]")
        broken = [("notes/a.md", name) for name in ("gone.png", "b/a.pdf", "diagram")]
        unresolved = diagnose(root.path).to_dict()["links"]["unresolved"]
        assert [(one["file"], one["link"]) for one in unresolved] == broken
        assert [*root.graph().unresolved] == broken

    def test_of_many_links_the_first_are_shown(self, root: MemoryRoot) -> None:
        put(root.path, "a.md", "".join(f"[[x{number}]]" for number in range(5)))
        assert diagnose(root.path).links.message == (
            "5 broken: a.md: x0; a.md: x1; a.md: x2; and 2 more."
        )

    @pytest.mark.parametrize("config", [NEWER, "{"])
    def test_a_root_that_is_not_for_us_is_unhealthy(self, tmp_path: Path, config: str) -> None:
        put(tmp_path, "hedgerow.json", config)
        found = diagnose(tmp_path)
        assert (found.ok, found.memory_root.ok) == (False, False)
        assert (found.links.ok, found.links.message) == (False, "Not looked at.")

    def test_no_root_is_unhealthy(self, tmp_path: Path) -> None:
        found = diagnose(tmp_path / "nowhere").to_dict()
        assert (found["ok"], found["memoryRoot"]["ok"], found["permissions"]["ok"]) == (
            False, False, False,
        )  # fmt: skip


@pytest.mark.parametrize("make", [MemoryRoot.open, MemoryRoot.init])
def test_the_url_of_a_server_is_no_folder(make, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        InvalidInputError, match=r"to use the server: hedgerow\.connect\("
    ) as raised:
        make("http://127.0.0.1:7411")
    assert raised.value.code == "root_not_found"
    assert not list(tmp_path.iterdir())


def test_a_root_is_opened_by_its_class_too(tmp_path):
    (tmp_path / "a.md").write_text("# Oak\n\nThe oak is old.\n")
    with MemoryRoot(str(tmp_path)) as root:
        assert [one.file for one in root.recall("oak").results] == ["a.md"]
    with pytest.raises(InvalidInputError, match="No such file or directory; check the path"):
        MemoryRoot(tmp_path / "none")
