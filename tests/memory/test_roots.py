"""Several roots recalled as one."""

from __future__ import annotations

import asyncio
import json
import shutil
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

import hedgerow as hr
from command_line import as_json, failed, ok
from hedgerow import InvalidInputError, MemoryRoot
from hedgerow.memory import derived
from hedgerow.memory.roots import MemoryRoots, joint_folder
from memory_doubles import put

QUERIES = [
    "hedge",
    "when do we cut the hedge in august",
    "slugs beer garden",
    "latest decision",
    "鼻涕虫",
]

OWN = {
    "preferences/2026-01-01-mail.md": "# Mail\n\nPrefers mail to calls about the garden.\n",
    "notes/2026-02-01-slugs.md": "---\ntags: [garden]\n---\n# Slugs\n\nBeer drowns slugs. 啤酒淹死鼻涕虫。\n",
    "old.md": "The hedge was planted in 1999.\n",
}
PROJECT = {
    "decisions/2026-03-01-hedge.md": "# Hedge\n\nWe cut the hedge in August, after the birds.\n",
    "decisions/2025-03-01-hedge.md": "---\nsuperseded_by: 2026-03-01-hedge\n---\n# Old\n\nWe cut the hedge in March.\n",
    "notes/long.md": "# Hedge plan\n\n"
    + "The hedge grows along the garden, and slugs live in it.\n\n" * 40,
}


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """The roots of a user and of a project."""
    monkeypatch.setenv("HEDGEROW_CONFIG_DIR", str(tmp_path / "config"))
    own, project = tmp_path / "own", tmp_path / "project"
    for folder, files in ((own, OWN), (project, PROJECT)):
        for name, text in files.items():
            put(folder, name, text)
    return own, project


@pytest.fixture
def both(folders: tuple[Path, Path]) -> MemoryRoots:
    return MemoryRoots.open(folders)


@pytest.mark.parametrize("depth", ["shallow", "normal"])
@pytest.mark.parametrize("query", QUERIES)
def test_scores_are_those_of_one_root_with_all_files(
    both: MemoryRoots, folders: tuple[Path, Path], tmp_path: Path, query: str, depth: str
) -> None:
    one = tmp_path / "one"
    for folder in folders:
        shutil.copytree(folder, one, dirs_exist_ok=True)
    expected = MemoryRoot.open(one).recall(query, depth=depth, limit=20)  # type: ignore[arg-type]
    found = both.recall(query, depth=depth, limit=20)  # type: ignore[arg-type]
    assert {(item.file.lstrip("@/"), item.score, item.parts) for item in found} == {
        (item.file, item.score, item.parts) for item in expected
    }
    assert found.left_out == expected.left_out
    for item in found:
        number = item.file.count("@") - 1
        assert item.root == found.roots[number] == str(folders[number])
        assert (folders[number] / item.file.lstrip("@/")).is_file()


def test_asynchronous_methods_answer_as_the_others(both: MemoryRoots) -> None:
    assert asyncio.run(both.arecall("hedge")) == both.recall("hedge")
    assert asyncio.run(both.ashow("@/old.md")) == both.show("@/old.md")


def test_changes_of_each_root_are_seen(both: MemoryRoots, folders: tuple[Path, Path]) -> None:
    assert not both.recall("moles").results
    put(folders[1], "notes/moles.md", "Moles dig.\n")
    assert [one.file for one in both.recall("moles")] == ["@@/notes/moles.md"]
    assert not both.recall("moles", sync=True, tags=["none"]).results
    (folders[1] / "notes/moles.md").unlink()
    assert not both.recall("moles").results


def test_a_context_names_the_roots(both: MemoryRoots, folders: tuple[Path, Path]) -> None:
    found = both.context("when do we cut the hedge", budget=300)
    assert "[1] @@/decisions/2026-03-01-hedge.md:" in str(found)
    assert found.roots == tuple(map(str, folders))
    assert both.recall("when do we cut the hedge", budget=300).context == found.text


def test_lists_are_merged(both: MemoryRoots) -> None:
    found = both.list(limit=2)
    assert (found.count, [one.file for one in found.memories]) == (
        6,
        [one.file for one in both.list(limit=100).memories[:2]],
    )
    page = both.list(limit=2, offset=2)
    assert [*found.memories, *page.memories] == list(both.list(limit=4).memories)
    assert {one.file for one in both.list(type="decision").memories} == {
        "@@/decisions/2026-03-01-hedge.md",
        "@@/decisions/2025-03-01-hedge.md",
    }
    with pytest.raises(InvalidInputError, match="no memories of the type"):
        both.list(type="nonsense")


def test_types_that_one_root_has_are_found(both: MemoryRoots, folders: tuple[Path, Path]) -> None:
    (folders[0] / "notes/soup.md").write_text("---\ntype: soup\n---\nhedge soup\n")
    (folders[1] / "notes/cake.md").write_text("---\ntype: cake\n---\nhedge cake\n")
    expected = {"@/notes/soup.md", "@@/notes/cake.md"}
    assert {one.file for one in both.list(type="soup,cake").memories} == expected
    assert {one.file for one in both.grep("hedge", types=["soup", "cake"])} == expected
    assert {one.file for one in both.recall("hedge", types=["soup", "cake"])} == expected


def test_writes_go_to_the_first(both: MemoryRoots, folders: tuple[Path, Path]) -> None:
    done = both.remember("Mulch in spring.", title="Mulch")
    assert (done.root, (folders[0] / done.file).is_file()) == (str(folders[0]), True)
    assert both.retract(f"@/{done.file}").file == done.file
    with pytest.raises(InvalidInputError, match="only the first root is written to") as raised:
        both.retract("@@/notes/long.md")
    assert str(folders[1]) in raised.value.message


def test_keys_are_those_of_results(both: MemoryRoots) -> None:
    assert both.show("@@/notes/long.md").file == "@@/notes/long.md"
    assert both.show("Hedge plan").file == "@@/notes/long.md"
    assert both.show("old").file == "@/old.md"
    for key in ("@@/old.md", "@@@@/x.md", "nothing"):
        with pytest.raises(InvalidInputError) as raised:
            both.show(key)
        assert raised.value.code == "unknown_node"


def test_why_not_and_exclusions_are_of_each_root(
    both: MemoryRoots, folders: tuple[Path, Path]
) -> None:
    put(folders[0], "hedgerow.json", '{"schemaVersion": 1, "exclude": ["old.md"]}')
    assert "@/old.md" not in [one.file for one in both.recall("hedge", limit=20)]
    assert both.why_not("hedge", "@@/decisions/2025-03-01-hedge.md").cut == "superseded"


def test_a_forgotten_memory_is_in_no_joint_index(
    both: MemoryRoots, folders: tuple[Path, Path]
) -> None:
    put(folders[1], "notes/secret.md", "The otter sleeps under the bridge of Alcantara.\n")
    assert both.recall("otter").results
    folder = joint_folder(list(folders))
    assert any(b"Alcantara" in file.read_bytes() for file in folder.glob(".hedgerow/*"))
    MemoryRoot.open(folders[1]).forget("notes/secret.md", purge=True)
    assert not folder.exists()
    assert not both.recall("otter").results
    assert not any(b"Alcantara" in file.read_bytes() for file in folder.glob(".hedgerow/*"))
    assert (folders[1] / "notes/long.md").is_file()


def test_a_scope_is_that_of_all(folders: tuple[Path, Path]) -> None:
    for folder in folders:
        put(folder, "ana.md", "---\nscope: {user: ana}\n---\nAna's hedge.\n")
    both = MemoryRoots.open(folders, scope={"user": "ana"})
    assert {one.file for one in both.recall("hedge")} == {"@/ana.md", "@@/ana.md"}


def test_wrong_roots_are_refused(folders: tuple[Path, Path], tmp_path: Path) -> None:
    for paths, message in (
        ([], "give 1 to 5 roots"),
        ([folders[0]] * 2, "have files in common"),
        ([tmp_path, folders[0]], "have files in common"),
        ([folders[0], tmp_path / "none"], "No such file"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            MemoryRoots.open(paths)


class TestCommands:
    def test_recall_and_list_take_several(self, folders: tuple[Path, Path]) -> None:
        roots = ("--root", str(folders[0]), "--root", str(folders[1]))
        said = ok("recall", "hedge", *roots)
        assert f"Memory root @/: {folders[0]}\nMemory root @@/: {folders[1]}\n" in said
        assert ". @@/decisions/2026-03-01-hedge.md:1-3 " in said
        answer = as_json("recall", "hedge", *roots)
        assert answer["roots"] == list(map(str, folders))
        assert {one["root"] for one in answer["results"]} == set(map(str, folders))
        assert "@@/notes/long.md" in ok("recall", "hedge", *roots, "--budget", "300")
        said = ok("list", *roots)
        assert "@/old.md" in said
        assert f"@@/: {folders[1]}" in said

    def test_show_and_grep_take_the_paths_of_results(self, folders: tuple[Path, Path]) -> None:
        roots = ("--root", str(folders[0]), "--root", str(folders[1]))
        answer = as_json("show", "@@/notes/long.md", *roots)
        assert answer["file"] == "@@/notes/long.md"
        assert answer["text"].startswith("# Hedge plan")
        said = ok("grep", "planted|after the birds", "--regex", *roots)
        assert said == (
            "@/old.md:1: The hedge was planted in 1999.\n"
            "@@/decisions/2026-03-01-hedge.md:3: We cut the hedge in August, after the birds.\n"
        )
        answer = as_json("grep", "slugs", "-i", *roots)
        assert {one["file"].partition("/")[0] for one in answer["matches"]} == {"@", "@@"}
        assert answer["count"] == len(answer["matches"]) == 42
        assert answer["files"] == 2
        assert len(as_json("grep", "slugs", "-i", "-n", "3", *roots)["matches"]) == 3
        error = failed(1, "retract", "@@/notes/long.md", *roots)
        assert "only the first root is written to" in error

    def test_other_commands_take_the_first(self, folders: tuple[Path, Path]) -> None:
        roots = ("--root", str(folders[0]), "--root", str(folders[1]))
        assert f"Memory root: {folders[0]}" in ok("remember", "Mulch in spring.", *roots)

    def test_wrong_use_is_named(self, folders: tuple[Path, Path]) -> None:
        roots = ("--root", str(folders[0]), "--root", str(folders[1]))
        assert "pass --root once" in failed(2, "recall", "x", *roots, "--report", "x.html")
        assert "have files in common" in failed(2, "list", *roots[:2], *roots[:2])
        assert "must not be empty" in failed(2, "list", *roots[:2], "--root", " ")

    def test_one_root_has_no_numbers(self, folders: tuple[Path, Path]) -> None:
        answer = as_json("recall", "hedge", "--root", str(folders[1]))
        assert "roots" not in answer
        assert "root" not in answer["results"][0]


def test_links_are_made_anew(both: MemoryRoots, folders: tuple[Path, Path], tmp_path: Path) -> None:
    both.recall("hedge")
    [link] = [one for one in joint_folder(list(folders)).iterdir() if one.name == "@@"]
    link.unlink()
    (tmp_path / "elsewhere").mkdir()
    link.symlink_to(tmp_path / "elsewhere")
    assert [one.file for one in both.recall("planted")] == ["@/old.md"]
    assert link.readlink() == folders[1]
    assert json.dumps(both.recall("hedge").to_dict())


class Counting:
    """An embedder that records the texts it embeds."""

    def __init__(self, name: str = "counting") -> None:
        self.name = name
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str], /) -> list[list[float]]:
        self.texts += texts
        return [[1.0 + text.count("hedge"), 1.0 + text.count("slug")] for text in texts]


def vectors_of(folder: Path) -> dict[str, object]:
    with hr.Index.open(folder / ".hedgerow/index.db", read_only=True) as index:
        return {chunk.id: list(chunk.embedding or ()) for chunk in index}


def test_vectors_are_taken_from_the_roots(folders: tuple[Path, Path]) -> None:
    embedder = Counting()
    for folder in folders:
        MemoryRoot.open(folder, embedder=embedder).sync()
    put(folders[1], "notes/new.md", "A mole in the hedge.\n")
    embedder.texts.clear()
    both = MemoryRoots.open(folders, embedder=embedder)
    assert both.recall("hedge").results
    [text] = [text for text in embedder.texts if text != "hedge"]
    assert text.endswith("A mole in the hedge.")
    joint = vectors_of(joint_folder(list(folders)))
    own = {
        f"{mark}/{name}": vector
        for mark, folder in zip(("@", "@@"), folders, strict=True)
        for name, vector in vectors_of(folder).items()
    }
    assert own == {name: joint[name] for name in own}
    assert len(joint) == len(own) + 1


def test_vectors_of_another_embedder_or_text_are_not_taken(folders: tuple[Path, Path]) -> None:
    MemoryRoot.open(folders[0], embedder=Counting("another")).sync()
    MemoryRoot.open(folders[1], embedder=Counting()).sync()
    put(folders[1], "notes/long.md", "Only slugs now.\n")
    embedder = Counting()
    both = MemoryRoots.open(folders, embedder=embedder)
    both.recall("hedge")
    assert any(text.endswith("Only slugs now.") for text in embedder.texts)
    assert len([text for text in embedder.texts if text != "hedge"]) == len(OWN) + 1
    (folders[1] / ".hedgerow/index.db").write_bytes(b"no index")
    shutil.rmtree(joint_folder(list(folders)))
    both.close()
    assert both.recall("hedge").results


def test_all_roots_are_watched(folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    listed: list[Path] = []
    list_folder = derived.list_folder

    def listing(folder: Path, *given: object, **more: object) -> object:
        listed.append(folder)
        return list_folder(folder, *given, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(derived, "list_folder", listing)
    with MemoryRoots.open(folders, watch=True) as both:
        both.recall("hedge")
        assert both.status().watch == "active"
        time.sleep(0.3)
        both.recall("hedge")
        listed.clear()
        both.recall("hedge")
        assert listed == []
        for folder, mark in zip(folders, ("@", "@@"), strict=True):
            put(folder, "notes/moles.md", "Moles dig.\n")
            file = f"{mark}/notes/moles.md"
            end = time.monotonic() + 5
            while file not in [one.file for one in both.recall("moles")]:
                assert time.monotonic() < end
                time.sleep(0.02)
    with MemoryRoots.open(folders) as both:
        assert both.status().watch is None
