"""`hedgerow query`, `link`, `visit` and `graph` on a memory root and on a store file."""

from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

import hedgerow as hr
from command_line import as_json, assert_every_option_has_help, failed, ok, run
from memory_doubles import put


@pytest.fixture(autouse=True)
def four_notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A root as the working directory, with the notes slugs - frogs - pond and an unlinked one."""
    root = tmp_path / "memory"
    root.mkdir()
    put(
        root,
        "garden/slugs.md",
        "---\nweight: 0.9\nupdated_at: 2026-04-01\n---\n# Slugs\n\nthey eat\n",
    )
    put(root, "garden/frogs.md", "# Frogs\n\nFrogs eat [slugs](slugs.md) in the [[pond]].\n")
    put(root, "garden/pond.md", "# Pond\n\n[[heron]]\n")
    put(root, "decisions/no-pellets.md", "---\nupdated_at: 2026-04-17\n---\nNo pellets.\n")
    monkeypatch.delenv("HEDGEROW_MEMORY_ROOT", raising=False)
    hr.MemoryRoot.init(root)
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def typed_store(tmp_path: Path) -> str:
    file = str(tmp_path / "memory.db")
    with hr.Store.open(file, types=["bug"]) as store:
        store.upsert([hr.Node("a", type="bug"), hr.Node("b"), hr.Node("c"), hr.Node("d")])
        store.link("a", "b", 0.8)
        store.link("b", "c", 0.5, "part-of")
    return file


class TestQuery:
    def test_in_the_nearest_root(self, four_notes: Path) -> None:
        value = as_json("query", "all | type:decision | age:<30d", "--now", "2026-04-18")
        assert [one["key"] for one in value["results"]] == ["decisions/no-pellets.md"]
        assert value["root"] == str(four_notes)
        assert as_json("query", "type:decision", "--root", str(four_notes))["count"] == 1

    def test_search_goes_by_what_a_recall_finds(self) -> None:
        text = ok("query", 'search:"pellets frogs" | spread,max_hops=2,mix=0.3', "--keys")
        assert set(text.splitlines()[:2]) == {"decisions/no-pellets.md", "garden/frogs.md"}
        assert len(text.splitlines()) == 4

    def test_a_type_of_the_root_is_suggested(self) -> None:
        assert 'did you mean "decision"?' in failed(2, "query", "type:decison")

    def test_db_and_root_exclude_each_other(self, typed_store: str) -> None:
        assert "--db and --root exclude each other" in failed(
            2, "query", "all", "--db", typed_store, "--root", "."
        )

    def test_without_either_the_way_to_both_is_told(
        self, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path_factory.mktemp("empty"))
        for args in (["query", "all"], ["link", "a", "b"], ["visit", "x", "a"], ["graph"]):
            assert "Missing option '--db' or '--root'" in failed(2, *args)


class TestLink:
    def test_in_a_root_a_file_is_changed(self, four_notes: Path) -> None:
        told = ok("link", "slugs", "no-pellets", "--strength", "0.5")
        assert told == (
            "Linked garden/slugs.md to decisions/no-pellets.md (related), strength 0.5.\n"
        )
        text = (four_notes / "garden/slugs.md").read_text()
        assert 'related: [{"to":"[[decisions/no-pellets]]","strength":0.5}]\n' in text
        ends = {"a": "garden/slugs.md", "b": "decisions/no-pellets.md", "rel": "related"}
        assert as_json("link", "slugs", "no-pellets") == {
            "root": str(four_notes), **ends, "strength": 1.0,
        }  # fmt: skip
        removed = as_json("link", "slugs", "no-pellets", "--remove")
        assert removed == {"root": str(four_notes), **ends, "removed": True}
        assert ok("link", "slugs", "no-pellets", "--remove").startswith("There was no link garden")

    def test_with_db_an_edge_is_made(self, typed_store: str) -> None:
        assert ok("link", "c", "d", "--db", typed_store) == "Linked c to d (link), strength 1.\n"
        assert ok("query", "neighbors:d", "--db", typed_store, "--keys") == "c\n"
        assert ok("link", "c", "d", "--db", typed_store, "--remove") == "Unlinked c to d (link).\n"
        assert ok("query", "neighbors:d", "--db", typed_store, "--keys") == ""

    @pytest.mark.parametrize(
        ("exit_code", "args", "message"),
        [
            (2, ["slugs"], "Missing argument 'B'"),
            (2, ["slugs", "pond", "--strength", "0"], "0.0 is not in the range 0<x<=1"),
            (1, ["slugs", "snails"], "there is no memory 'snails' in this root"),
            (1, ["slugs", "slugs"], "cannot be linked to itself"),
            (1, ["slugs", "pond", "--rel", "weight"], "a key of front matter that has no other"),
            (1, ["frogs", "pond", "--remove", "--rel", "link"], "no other meaning"),
            (1, ["frogs", "pond", "--remove"], "is in the text of garden/frogs.md"),
        ],
    )
    def test_what_is_wrong_is_told(self, exit_code: int, args: list[str], message: str) -> None:
        assert message in failed(exit_code, "link", *args)

    def test_unknown_keys_of_a_store(self, typed_store: str) -> None:
        assert 'there is no node "x"; upsert it first' in failed(
            1, "link", "a", "x", "--db", typed_store
        )


class TestVisit:
    def test_visits_are_noted_together(self, four_notes: Path) -> None:
        assert ok("visit", "linker", "slugs", "Pond", "--at", "2026-04-18") == (
            "Recorded 2 visits of linker.\n"
        )
        keys = ok("query", "visited:linker,2d", "--now", "2026-04-19", "--keys")
        assert keys == "garden/pond.md\ngarden/slugs.md\n"
        assert ok("query", "visited:linker,1d", "--now", "2026-04-19", "--keys") == ""
        assert as_json("visit", "y", "slugs", "--at", "2026")["at"] == 1_767_225_600
        assert as_json("visit", "x", "slugs", "--at", "5", "--outcome", "failed") == {
            "root": str(four_notes), "agent": "x", "at": 5, "outcome": "failed",
            "keys": ["garden/slugs.md"],
        }  # fmt: skip
        assert ok("query", "visited:x", "--keys") == ""

    def test_all_or_none(self, typed_store: str) -> None:
        assert 'there is no node "x"' in failed(1, "visit", "linker", "a", "x", "--db", typed_store)
        assert ok("query", "visited:linker", "--db", typed_store, "--keys") == ""
        assert ok("visit", "linker", "a", "--db", typed_store) == "Recorded 1 visit of linker.\n"
        assert ok("query", "visited:linker", "--db", typed_store, "--keys") == "a\n"

    @pytest.mark.parametrize(
        ("exit_code", "args", "message"),
        [
            (2, ["linker"], "Missing argument 'KEY...'"),
            (2, [" ", "slugs"], "AGENT must not be empty"),
            (2, ["linker", "slugs", "--outcome", "good"], "'good' is not one of"),
            (2, ["linker", "slugs", "--at", "noon"], "'noon' is no time"),
            (1, ["linker", "slugs", "snails"], "there is no memory 'snails'"),
        ],
    )
    def test_what_is_wrong_is_told(self, exit_code: int, args: list[str], message: str) -> None:
        assert message in failed(exit_code, "visit", *args)


class TestGraph:
    def test_figures_of_a_root(self, four_notes: Path) -> None:
        assert [line.rstrip() for line in ok("graph").splitlines()] == [
            f"4 nodes and 2 links in {four_notes}.",
            "types      note 3, decision 1",
            "relations  link 2",
            "per node   1.0 links on average",
            "alone      1 node without links",
            "connected  1 part, the largest of 3",
            "",
            "community around  nodes  isolation",
            "garden/frogs.md       3       1.00",
            "",
            "most linked      links",
            "garden/frogs.md      2",
            "garden/pond.md       1",
            "garden/slugs.md      1",
            "",
            "1 link to no memory:",
            "  garden/pond.md: heron",
        ]

    def test_figures_as_json(self, typed_store: str) -> None:
        assert as_json("graph", "--db", typed_store) == {
            "db": typed_store,
            "nodes": 4,
            "edges": 2,
            "types": {"semantic": 3, "bug": 1},
            "relations": {"link": 1, "part-of": 1},
            "alone": 1,
            "meanDegree": 1.0,
            "components": [3],
            "communities": [{"id": 1, "node": "b", "nodes": 3, "isolation": 1.0}],
            "mostLinked": [
                {"key": "b", "degree": 2},
                {"key": "a", "degree": 1},
                {"key": "c", "degree": 1},
            ],
            "stale": False,
        }
        put(Path(), "bad.md", "---\nweight: 7\n---\n")
        assert run("graph", "--json").exit_code == 0
        value = as_json("graph")
        assert value["unresolved"] == [{"file": "garden/pond.md", "link": "heron"}]
        assert [one["path"] for one in value["skipped"]] == ["bad.md"]
        assert "bad.md: weight must be a number from 0 to 1" in ok("graph")

    def test_an_empty_root_has_no_nodes(self, tmp_path: Path) -> None:
        hr.MemoryRoot.init(tmp_path / "new")
        told = ok("graph", "--root", str(tmp_path / "new"))
        assert told == f"0 nodes and 0 links in {tmp_path / 'new'}.\n"

    def test_what_is_around_a_memory(self) -> None:
        lines = [line.rstrip() for line in ok("graph", "Pond").splitlines()]
        assert lines == [
            "garden/pond.md: 1 node around it.",
            "from             to              relation  strength",
            "garden/frogs.md  garden/pond.md  link           0.7",
            "",
            "1 link to no memory:",
            "  heron",
        ]
        value = as_json("graph", "pond", "--hops", "2")
        assert value["nodes"] == {"garden/pond.md": 0, "garden/frogs.md": 1, "garden/slugs.md": 2}
        assert len(value["edges"]) == 2
        assert (value["unresolved"], value["leftOut"]) == (["heron"], 0)
        assert ok("graph", "no-pellets") == "decisions/no-pellets.md: 0 nodes around it.\n"

    def test_without_a_sync_files_are_not_read(self, four_notes: Path, typed_store: str) -> None:
        assert as_json("graph")["nodes"] == 4
        put(four_notes, "garden/heron.md", "[[pond]]\n")
        assert as_json("graph", "--no-sync")["nodes"] == 4
        assert "heron.md" not in ok("graph", "pond", "--no-sync")
        assert "there is no memory 'heron'" in failed(1, "graph", "heron", "--no-sync")
        assert as_json("graph")["nodes"] == 5
        said = "--no-sync goes with --root DIR."
        assert said in failed(2, "graph", "--no-sync", "--db", typed_store)

    @pytest.mark.parametrize(
        ("exit_code", "args", "message"),
        [
            (2, ["--svg", "a.svg"], "Pass a KEY: --svg and --hops show its neighborhood."),
            (2, ["--hops", "2"], "Pass a KEY"),
            (2, ["slugs", "--hops", "0"], "0 is not in the range 1<=x<=10"),
            (2, ["slugs", "--svg", "a.png"], "--svg writes SVG; give a file that ends in .svg"),
            (1, ["snails"], "there is no memory 'snails' in this root"),
            (1, ["slugs", "--svg", "none/a.svg"], "No such file or directory"),
        ],
    )
    def test_what_is_wrong_is_told(self, exit_code: int, args: list[str], message: str) -> None:
        assert message in failed(exit_code, "graph", *args)

    def test_an_unknown_key_of_a_store(self, typed_store: str) -> None:
        assert "there is no node 'x\"'; the pipeline" in failed(
            1, "graph", 'x"', "--db", typed_store
        )


class TestDrawing:
    def test_every_node_has_its_name_and_equal_graphs_equal_drawings(
        self, four_notes: Path
    ) -> None:
        assert ok("graph", "slugs", "--svg", "one.svg") == "Drew 3 nodes into one.svg.\n"
        ok("graph", "slugs", "--svg", "two.svg")
        text = (four_notes / "one.svg").read_text(encoding="utf-8")
        assert text == (four_notes / "two.svg").read_text(encoding="utf-8")
        drawn = ET.fromstring(text)  # noqa: S314 - our own
        space = "{http://www.w3.org/2000/svg}"
        labels = [one.text for one in drawn.iter(f"{space}text")]
        assert sorted(labels[:3]) == ["frogs", "pond", "slugs"]  # type: ignore[type-var]
        assert labels[3:] == ["note"]
        assert len(list(drawn.iter(f"{space}line"))) == 2
        assert "prefers-color-scheme: dark" in text
        for circle in drawn.iter(f"{space}circle"):
            assert 0 < float(circle.get("cx", "-1")) < 900

    def test_one_node_alone_and_names_that_are_markup(
        self, four_notes: Path, typed_store: str
    ) -> None:
        assert (
            ok("graph", "d", "--svg", "d.svg", "--db", typed_store) == "Drew 1 node into d.svg.\n"
        )
        put(four_notes, "<b> & co.md", "[[slugs]]")
        told = as_json("graph", "<b> & co", "--svg", "x.svg", "--hops", "1")
        assert told["nodes"] == 2
        assert "&lt;b&gt; &amp; co" in (four_notes / "x.svg").read_text(encoding="utf-8")

    def test_more_than_can_be_told_apart_is_left_out_and_said(self, four_notes: Path) -> None:
        for number in range(70):
            put(four_notes, f"n{number}.md", "[[slugs]]")
        told = ok("graph", "slugs", "--svg", "s.svg", "--hops", "1")
        assert told == "Drew 60 nodes into s.svg, 12 further ones left out.\n"

    def test_without_networkx_the_extra_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "networkx", None)
        monkeypatch.delitem(sys.modules, "hedgerow._graph.svg", raising=False)
        message = failed(1, "graph", "slugs", "--svg", "s.svg")
        assert 'run: pip install "hedgerow[graph]"' in message


@pytest.mark.parametrize("command", ["query", "link", "visit", "graph"])
def test_help_has_examples_and_no_option_without_help(command: str) -> None:
    text = ok(command, "-h")
    examples = [line for line in text.splitlines() if line.startswith("    hedgerow ")]
    assert len(examples) >= 3
    assert "\\b" not in text
    assert_every_option_has_help(text)
    assert max(map(len, text.splitlines())) <= 80
