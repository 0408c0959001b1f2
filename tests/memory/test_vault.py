"""Vaults of Obsidian and Logseq as memory roots."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import as_json, failed, ok
from hedgerow import HedgerowError, MemoryRoot
from memory_doubles import found, keys, put


def names(folder: Path) -> list[str]:
    return sorted(one.relative_to(folder).as_posix() for one in folder.rglob("*"))


@pytest.fixture
def obsidian(tmp_path: Path) -> Path:
    """An Obsidian vault with templates, drawings and a folder for new notes."""
    put(tmp_path, ".obsidian/app.json", '{"newFileLocation":"folder","newFileFolderPath":"Inbox"}')
    put(tmp_path, ".obsidian/templates.json", '{"folder": "My [templates]"}')
    plugin = ".obsidian/plugins/obsidian-excalidraw-plugin/data.json"
    put(tmp_path, plugin, '{"folder": "Drawings"}')
    put(tmp_path, "My [templates]/day.md", "template hedge")
    put(tmp_path, "Drawings/d.md", "---\nexcalidraw-plugin: parsed\n---\ndrawing hedge")
    put(tmp_path, "a.excalidraw.md", "drawing hedge")
    put(
        tmp_path,
        "Projects/Hedge.md",
        "---\naliases: [Haag]\n---\n# Hedge plan\n\nCut the hedge in August. ^cut-1\n\n%%\nmoles\n%%\n\n"
        "> [!warning] Nests\n> Look for nests first #birds/nests\n\n[[2026-04-18]] [[Slugs#^abc|s]]\n",
    )
    put(tmp_path, "Projects/Slugs.md", "Slugs eat hostas. ^abc\n")
    put(tmp_path, "Daily/2026-04-18.md", "Talked about bees.\n")
    return tmp_path


@pytest.fixture
def logseq(tmp_path: Path) -> Path:
    """A Logseq vault."""
    put(tmp_path, "logseq/config.edn", '{:meta/version 1\n ;; :pages-directory "other"\n}\n')
    put(tmp_path, "logseq/bak/pages/Hedge.md", "- old hedge\n")
    put(
        tmp_path,
        "pages/Hedge.md",
        "alias:: Haag, living fence\ntags:: [[garden/hedge]], #birds\n\n- Cut it in August\n"
        "  id:: 65f1-aaa\n- [[Apr 18th, 2026]] and [[infra/k8s]]\n",
    )
    put(tmp_path, "pages/infra___k8s.md", "- cluster\n")
    put(tmp_path, "journals/2026_04_18.md", "- [[Haag]] and bees\n")
    return tmp_path


class TestInit:
    def test_adds_a_configuration_and_the_derived_folder_alone(self, obsidian: Path) -> None:
        before = names(obsidian)
        done = MemoryRoot.initialize(obsidian)
        assert sorted({*names(obsidian)} - {*before}) == [".hedgerow", "hedgerow.json"]
        assert (done.vault, done.memory_dirs, done.gitignore_updated) == (
            "obsidian",
            ("Inbox",),
            False,
        )
        assert json.loads((obsidian / "hedgerow.json").read_text())["vault"] == "obsidian"

    def test_ignores_the_derived_folder_in_a_repository(self, obsidian: Path) -> None:
        (obsidian / ".git").mkdir()
        assert MemoryRoot.initialize(obsidian).gitignore_updated

    def test_takes_any_folder_for_one(self, tmp_path: Path) -> None:
        done = MemoryRoot.initialize(tmp_path, vault=True)
        assert (done.vault, done.memory_dirs) == ("obsidian", (".",))
        assert names(tmp_path) == [".hedgerow", "hedgerow.json"]

    def test_leaves_a_root_that_obsidian_opened(self, tmp_path: Path) -> None:
        MemoryRoot.init(tmp_path)
        (tmp_path / ".obsidian").mkdir()
        done = MemoryRoot.initialize(tmp_path)
        assert (done.vault, len(done.memory_dirs)) == (None, 6)
        assert MemoryRoot.open(tmp_path).status().compatible

    def test_says_where_new_memories_go(self, obsidian: Path) -> None:
        assert "Vault: Obsidian; new memories in Inbox\n" in ok("init", str(obsidian))

    @pytest.mark.parametrize("words", [(), ("--vault",)])
    def test_takes_the_current_folder_if_it_is_a_vault(
        self, obsidian: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
    ) -> None:
        monkeypatch.delenv("HEDGEROW_MEMORY_ROOT", raising=False)
        monkeypatch.chdir(obsidian)
        assert f"Memory root: {obsidian}\n" in ok("init", *words)
        assert (obsidian / "hedgerow.json").exists()

    def test_asks_for_a_folder_elsewhere(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("HEDGEROW_MEMORY_ROOT", raising=False)
        monkeypatch.chdir(tmp_path)
        assert "Missing argument 'DIR'" in failed(2, "init")
        assert names(tmp_path) == []

    def test_rejects_another_tool(self, tmp_path: Path) -> None:
        put(tmp_path, "hedgerow.json", '{"schemaVersion": 1, "vault": "roam"}')
        said = failed(1, "list", "--root", str(tmp_path))
        assert "vault must be obsidian or logseq" in said


class TestObsidian:
    def test_reads_notes_alone(self, obsidian: Path) -> None:
        root = MemoryRoot.init(obsidian)
        assert keys(root, "all | sort:key") == [
            "Daily/2026-04-18.md",
            "Projects/Hedge.md",
            "Projects/Slugs.md",
        ]
        assert root.index().unused == []

    @pytest.mark.parametrize(
        ("given", "left"),
        [
            (["Private/"], ["Private.md", "a.md", "b/Private/x.md", "tmp-x.md"]),
            (["Private"], ["a.md", "b/Private/x.md", "tmp-x.md"]),
            (["tmp-", "b/Pri"], ["Private.md", "Private/x.md", "a.md"]),
            ([5, "", "../x", "*"], ["Private.md", "Private/x.md", "a.md", "b/Private/x.md", "tmp-x.md"]),
            ("Private/", ["Private.md", "Private/x.md", "a.md", "b/Private/x.md", "tmp-x.md"]),
        ],
    )  # fmt: skip
    def test_excluded_files_are_not_read(
        self, tmp_path: Path, given: object, left: list[str]
    ) -> None:
        for name in ("a.md", "Private.md", "Private/x.md", "b/Private/x.md", "tmp-x.md"):
            put(tmp_path, name, "Pears.\n")
        put(tmp_path, ".obsidian/app.json", json.dumps({"userIgnoreFilters": given}))
        root = MemoryRoot.init(tmp_path)
        assert sorted(hit.file for hit in root.recall("pears", limit=10)) == left
        assert root.recall("pears").notices == ()

    def test_regular_expressions_of_excluded_files_are_named(self, tmp_path: Path) -> None:
        given = ["Private/", *(f"/^tmp-{number}/" for number in range(5))]
        put(tmp_path, ".obsidian/app.json", json.dumps({"userIgnoreFilters": given}))
        root = MemoryRoot.init(tmp_path)
        (notice,) = root.recall("pears").notices
        assert notice == (
            f"{tmp_path / '.obsidian/app.json'}: the excluded files '/^tmp-0/', '/^tmp-1/', '/^tmp-2/' and 2 "
            'more are read: a regular expression is no pattern; name them with "exclude" in hedgerow.json'
        )
        assert notice in root.status().message

    def test_canvases_of_a_renamed_note_are_named(self, tmp_path: Path) -> None:
        (tmp_path / ".obsidian").mkdir()
        put(tmp_path, "sub/x.md", "Pears.\n")
        shown = {
            "file": {"file": "sub/x.md"},
            "deep/path": {"text": "see [[sub/x]]"},
            "name": {"text": "see [[X#Part|pears]]"},
            "other": {"file": "x.md", "text": "sub/x.md and [[xy]]"},
        }
        for name, node in shown.items():
            put(tmp_path, f"{name}.canvas", json.dumps({"nodes": [5, {"file": 5}, node]}))
        for name, text in (("bad", "{"), ("list", "[]"), ("none", '{"nodes": 1}')):
            put(tmp_path, f"{name}.canvas", text)
        root = MemoryRoot.init(tmp_path)
        done = root.rename("sub/x.md", "sub/y.md")
        assert [(one.path, one.code) for one in done.by_hand] == [
            ("deep/path.canvas", "canvas"),
            ("file.canvas", "canvas"),
            ("name.canvas", "canvas"),
        ]
        assert done.by_hand[0].reason == "it shows sub/x.md, and canvases are not changed"

    @pytest.mark.parametrize(
        ("link", "target"),
        [
            ("[x](sub/x%20y.md)", "sub/x y.md"),
            ("[x](<sub/x y.md#Part>)", "sub/x y.md"),
            ("[x](/sub/x%20y.md)", "sub/x y.md"),
            ("[x](../sub/x%20y)", "sub/x y.md"),
            ("[x](X%20y.md)", "sub/x y.md"),
            ("[x](x%20y)", "sub/x y.md"),
            ("![x](sub/x%20y.md)", "sub/x y.md"),
            ("[x][1]\n\n[1]: sub/x%20y.md", "sub/x y.md"),
            ("[t](t.md)", "t.md"),
            ("[t](./t.md)", "a/t.md"),
            ("[t](a/t.md)", "a/t.md"),
            ("[x](./sub/x%20y.md)", None),
            ("[x](b/sub/x%20y.md)", None),
            ("![x](x%20y)", None),
            ("[x](https://example.com/x%20y.md)", None),
        ],
    )
    def test_markdown_links_lead_where_obsidian_resolves_them(
        self, tmp_path: Path, link: str, target: str | None
    ) -> None:
        (tmp_path / ".obsidian").mkdir()
        for name in ("sub/x y.md", "t.md", "a/t.md"):
            put(tmp_path, name, "Pears.\n")
        put(tmp_path, "a/from.md", f"{link}\n")
        root = MemoryRoot.init(tmp_path)
        expected = [] if target is None else [("a/from.md", target)]
        assert [edge[:2] for edge in root.graph().edges] == expected
        broken = as_json("doctor", "--root", str(tmp_path))["links"]["unresolved"]
        assert list(root.graph().unresolved) == [(one["file"], one["link"]) for one in broken]

    def test_markdown_links_of_other_roots_are_paths(self, tmp_path: Path) -> None:
        put(tmp_path, "sub/x.md", "Pears.\n")
        put(tmp_path, "a/b.md", "[x](sub/x.md) [x](x.md) [x](../sub/x) [x](../sub/x.md)\n")
        root = MemoryRoot.init(tmp_path)
        assert [edge[:2] for edge in root.graph().edges] == [("a/b.md", "sub/x.md")]
        assert list(root.graph().unresolved) == [("a/b.md", "sub/x.md"), ("a/b.md", "x.md")]

    def test_markdown_links_keep_their_form_in_a_rename(self, tmp_path: Path) -> None:
        (tmp_path / ".obsidian").mkdir()
        put(tmp_path, "sub/x y.md", "Pears.\n")
        texts = {
            "a/vault.md": ("[x](sub/x%20y.md#Part)\n", "[x](new/z%20z.md#Part)\n"),
            "a/rooted.md": ("[x](/sub/x%20y)\n", "[x](/new/z%20z)\n"),
            "a/name.md": ("[x](X%20y.md) and [z](z.md)\n", "[x](z%20z.md) and [z](z.md)\n"),
            "a/short.md": ("![x](<x y.md>) [x](x%20y)\n", "![x](<z%20z.md>) [x](z%20z)\n"),
            "a/relative.md": ("[x](../sub/x%20y.md)\n", "[x](../new/z%20z.md)\n"),
            "deep/a.md": ("[x](../sub/x%20y) [[x y]]\n", "[x](../new/z%20z) [[z z]]\n"),
            "sub/dotted.md": ("[x](./x%20y.md)\n", "[x](../new/z%20z.md)\n"),
            "a/other.md": ("[z](sub/z.md) [q](b/sub/x%20y.md)\n", None),
        }
        for name, (text, _) in texts.items():
            put(tmp_path, name, text)
        root = MemoryRoot.init(tmp_path)
        before = {edge[0] for edge in root.graph().edges if edge[1] == "sub/x y.md"}
        done = root.rename("sub/x y.md", "new/z z.md")
        after = {name: (tmp_path / name).read_text() for name in texts}
        assert after == {name: new or old for name, (old, new) in texts.items()}
        assert done.by_hand == ()
        assert set(done.changed) == before == {name for name, (_, new) in texts.items() if new}
        assert {edge[0] for edge in root.graph().edges if edge[1] == "new/z z.md"} == before

    def test_links_of_a_moved_note_keep_their_target(self, tmp_path: Path) -> None:
        (tmp_path / ".obsidian").mkdir()
        for name in ("a/t.md", "sub/x.md", "a/p.png", "files/q.png"):
            put(tmp_path, name, "Pears.\n")
        text = "[t](t.md) [t](./t.md) [x](sub/x.md) [x](x.md) ![p](p.png) ![q](files/q.png)\n"
        put(tmp_path, "a/from.md", text)
        root = MemoryRoot.init(tmp_path)
        done = root.rename("a/from.md", "b/from.md")
        assert (tmp_path / "b/from.md").read_text() == (
            "[t](t.md) [t](../a/t.md) [x](sub/x.md) [x](x.md) ![p](../a/p.png) ![q](files/q.png)\n"
        )
        assert done.by_hand == ()
        assert [edge[1] for edge in root.graph().edges] == ["a/t.md", "sub/x.md"]

    def test_comments_and_block_ids_are_not_found(self, obsidian: Path) -> None:
        root = MemoryRoot.init(obsidian)
        assert found(root, "moles") == found(root, '"cut-1"') == []
        [one] = root.recall("nests", tags=["birds"])
        assert (one.file, one.line_end) == ("Projects/Hedge.md", 15)
        assert "August." in one.snippet

    def test_links_aliases_and_daily_notes_lead_to_their_notes(self, obsidian: Path) -> None:
        root = MemoryRoot.init(obsidian)
        targets = [edge[1] for edge in root.graph().edges]
        assert targets == ["Daily/2026-04-18.md", "Projects/Slugs.md"]
        assert root.resolve("Haag") == "Projects/Hedge.md"
        [one] = root.recall("bees", after="2026-04-18", before="2026-04-19")
        assert one.file == "Daily/2026-04-18.md"

    def test_memories_are_written_where_new_notes_go(self, obsidian: Path) -> None:
        root = MemoryRoot.init(obsidian)
        done = root.remember("Mulch in spring.", title="Mulch", type="decision")
        assert done.file.startswith("Inbox/")
        assert done.indexed
        page = root.process("synthesize", topic="hedge", apply=True)
        assert page.files == ("Inbox/hedge.md",)
        assert not (obsidian / "decisions").exists()
        assert not (obsidian / "pages").exists()
        [one] = root.recall("mulch", types=["decision"])
        assert one.file == done.file

    @pytest.mark.parametrize("folder", ["../../x", "/etc", ".hidden", "a\\n", 7, ""])
    def test_a_folder_outside_is_not_written_to(self, tmp_path: Path, folder: object) -> None:
        setting = {"newFileLocation": "folder", "newFileFolderPath": folder}
        put(tmp_path, ".obsidian/app.json", json.dumps(setting))
        root = MemoryRoot.init(tmp_path)
        file = root.remember("x", title="x").file
        written = (tmp_path / file).resolve()
        assert written.is_file()
        assert written.is_relative_to(tmp_path.resolve())

    def test_imports_go_where_new_notes_go(self, obsidian: Path, tmp_path: Path) -> None:
        export = put(
            tmp_path, "export.jsonl", '{"id": "1", "text": "Tea.", "type": "preference"}\n'
        )
        [one] = MemoryRoot.init(obsidian).import_from(export, "jsonl", apply=True).memories
        assert one.file.startswith("Inbox/tea-")
        assert not (obsidian / "preferences").exists()

    def test_a_folder_named_agents_has_notes(self, obsidian: Path) -> None:
        put(obsidian, "agents/james.md", "James is an agent of the estate.\n")
        root = MemoryRoot.init(obsidian)
        assert found(root, "estate") == ["agents/james.md"]
        put(obsidian, "agents/linker.toml", "")
        assert found(root, "estate") == []

    def test_a_link_is_not_written_through(self, obsidian: Path, tmp_path: Path) -> None:
        root = MemoryRoot.init(obsidian)
        (tmp_path / "elsewhere").mkdir()
        (obsidian / "Inbox").symlink_to(tmp_path / "elsewhere")
        with pytest.raises(HedgerowError) as raised:
            root.remember("x", title="x")
        assert raised.value.code == "linked_path"

    def test_settings_that_cannot_be_read_count_as_none(self, tmp_path: Path) -> None:
        put(tmp_path, ".obsidian/app.json", "{broken")
        put(tmp_path, ".obsidian/templates.json", "[" * 100_000)
        put(tmp_path, "a.md", "a hedge")
        root = MemoryRoot.init(tmp_path)
        assert found(root, "hedge") == ["a.md"]

    def test_percent_signs_of_other_roots_stay(self, tmp_path: Path) -> None:
        put(tmp_path, "a.md", "%%moles%%")
        root = MemoryRoot.open(tmp_path)
        assert found(root, "moles") == ["a.md"]
        put(tmp_path, "hedgerow.json", '{"schemaVersion": 1, "vault": "obsidian"}')
        assert found(root, "moles") == []


class TestLogseq:
    def test_names_of_pages_and_journals_are_understood(self, logseq: Path) -> None:
        root = MemoryRoot.init(logseq)
        assert sorted((edge[0], edge[1]) for edge in root.graph().edges) == [
            ("journals/2026_04_18.md", "pages/Hedge.md"),
            ("pages/Hedge.md", "journals/2026_04_18.md"),
            ("pages/Hedge.md", "pages/infra___k8s.md"),
        ]
        assert root.resolve("living fence") == "pages/Hedge.md"
        assert root.graph().unresolved == ()

    def test_markdown_links_are_paths(self, logseq: Path) -> None:
        put(logseq, "pages/Links.md", "- [a](Hedge.md) [b](pages/Hedge.md) [c](../journals/x.md)\n")
        root = MemoryRoot.init(logseq)
        assert ("pages/Links.md", "pages/Hedge.md") in {edge[:2] for edge in root.graph().edges}
        assert {target for _, target in root.graph().unresolved} == {
            "pages/Hedge.md",
            "../journals/x.md",
        }

    def test_properties_are_tags_and_ids_are_not_found(self, logseq: Path) -> None:
        root = MemoryRoot.init(logseq)
        assert [one.file for one in root.recall("august", tags=["garden"])] == ["pages/Hedge.md"]
        assert found(root, '"65f1"') == []
        assert found(root, "old") == []

    def test_a_tag_may_have_spaces_in_brackets(self, logseq: Path) -> None:
        (logseq / "pages" / "Pear.md").write_text("- Prune it #[[dark green]] and `#[[none]]`\n")
        root = MemoryRoot.init(logseq)
        assert [one.file for one in root.recall("prune", tags=["dark green"])] == ["pages/Pear.md"]
        assert root.recall("prune", tags=["none"]).results == ()

    def test_pages_are_notes_for_lint_and_synthesis(self, logseq: Path) -> None:
        root = MemoryRoot.init(logseq)
        assert root.process("lint").summary == ("0 findings.",)
        assert "pages/Hedge.md" in root.process("synthesize", topic="august").summary
        done = root.remember("Mulch in spring.", title="Mulch")
        assert done.file.startswith("pages/")


def test_doctor_knows_the_names_of_pages_and_journals(logseq: Path) -> None:
    MemoryRoot.initialize(logseq)
    unresolved = as_json("doctor", "--root", str(logseq))["links"]["unresolved"]
    assert unresolved == []


def test_a_tag_without_a_page_is_no_broken_link(logseq: Path) -> None:
    (logseq / "pages" / "Pear.md").write_text("- #[[dark green]] #[[Hedge]] [[Apple]]\n")
    missing = [("pages/Pear.md", "Apple")]
    with MemoryRoot.init(logseq) as root:
        graph = root.graph()
        assert list(graph.unresolved) == missing
        assert ("pages/Pear.md", "pages/Hedge.md") in {edge[:2] for edge in graph.edges}
    doctor = as_json("doctor", "--root", str(logseq))["links"]["unresolved"]
    assert [(one["file"], one["link"]) for one in doctor] == missing
