"""Remote results equal those of a local `MemoryRoot`."""

from __future__ import annotations

import asyncio
from datetime import date, datetime, timezone

import pytest

import hedgerow as hr
from connecting import awaited
from hedgerow.memory import Edge
from serving import WRITER

SECTIONS = ["Findings", "Decisions", "Conflicts / Corrections", "Open Questions"]
WRAPUP = "\n\n".join(f"## {section}\n\nSlugs." for section in SECTIONS)


def test_recalls_are_the_same(root, memory):
    for query, options in [("slugs", {}), ("bees", {"limit": 1, "depth": "deep"}), ("none", {})]:
        found, expected = root.recall(query, **options), memory.recall(query, **options)
        assert found == expected
        assert found.trace == expected.trace
        assert awaited(root, "arecall", query, **options) == expected


def test_contexts_are_the_same(root, memory):
    for options in [
        {},
        {"budget": 60, "per_file": 1},
        {"types": ["preference"], "after": date(2020, 1, 1)},
    ]:
        expected = memory.context("slugs ivy", **options)
        assert root.context("slugs ivy", **options) == expected
        assert awaited(root, "acontext", "slugs ivy", **options) == expected
    assert root.recall("slugs", budget=60).context == memory.context("slugs", budget=60).text
    with pytest.raises(hr.HedgerowError, match="budget"):
        root.context("slugs", budget=1)


def test_reasons_are_the_same(root, memory):
    for query, key, options in [
        ("slugs", "ivy", {"limit": 1}),
        ("slugs", "slugs", {}),
        ("none", "ivy", {}),
    ]:
        expected = memory.why_not(query, key, **options)
        assert root.why_not(query, key, **options) == expected
        assert str(awaited(root, "awhy_not", query, key, **options)) == expected.reason
    with pytest.raises(hr.InvalidInputError, match="there is no memory"):
        root.why_not("slugs", "nothing")


def test_memories_are_forgotten(root, memory):
    with pytest.raises(hr.InvalidInputError, match="to delete it: purge=True"):
        root.forget("slugs")
    done = root.forget("slugs", purge=True)
    assert done.file == "notes/slugs.md"
    assert not (memory.path / "notes/slugs.md").exists()
    assert awaited(root, "aforget", "ivy", purge=True).file == "notes/ivy.md"


def test_pipelines_are_the_same(root, memory):
    for pipeline in ["all", "all | count", "all | select:key,type", 'search:"slugs" | limit:1']:
        found = root.query(pipeline, now=1_800_000_000, explain=True)
        assert found == memory.query(pipeline, now=1_800_000_000, explain=True) or [
            stage.name for stage in found.stages
        ] == [
            stage.name for stage in memory.query(pipeline, now=1_800_000_000, explain=True).stages
        ]
        plain = root.query(pipeline, now=1_800_000_000)
        assert plain == memory.query(pipeline, now=1_800_000_000)
    assert root.query(["all", "count"]).count == 2
    assert root.query("limit:5", terms=["slugs"]).keys == ["notes/slugs.md"]
    assert awaited(root, "aquery", "all | count").count == 2
    with pytest.raises(hr.PipelineError) as caught:
        root.query("all | nothing")
    with pytest.raises(hr.PipelineError) as expected:
        memory.query("all | nothing")
    assert vars(caught.value) == vars(expected.value)
    assert str(caught.value) == str(expected.value)


def test_memories_are_written_read_and_edited(root, memory):
    written = root.remember("Beer traps work.", title="Beer", type="finding", tags=["slugs"])
    assert written.indexed
    assert (memory.path / written.file).read_text().count("Beer traps work.") == 1
    read = root.show("Beer")
    assert read.file == written.file
    assert [one.file for one in root.list(type="finding").memories] == [written.file]
    assert root.list().count == 3
    edited = root.edit(read.file, read.text.replace("work", "work well"), read.digest)
    assert "work well" in (memory.path / written.file).read_text()
    assert edited == root.show(written.file)
    with pytest.raises(hr.HedgerowError, match="changed since you read it") as caught:
        root.edit(read.file, "mine", read.digest)
    assert caught.value.code == "file_changed"


def test_similar_memories_are_named(root):
    there = root.remember("Beer traps work in the whole of the garden.", title="Beer").file
    done = root.remember("Beer traps work in the whole of the gardens.", title="Gardens")
    assert [one.file for one in done.similar] == [there]
    [group] = root.process("dedupe").groups
    assert {group.file, *(one.file for one in group.similar)} == {there, done.file}
    assert group.similar[0].likeness == done.similar[0].likeness


def test_what_is_not_indexed_says_so(root, memory):
    (memory.path / "hedgerow.json").write_text('{"schemaVersion": 1, "exclude": ["notes/"]}')
    written = root.remember("x", title="Y")
    assert written.problem == memory.remember("x", title="Y").problem
    assert written.problem.startswith("Not indexed: hedgerow.json excludes it")
    assert not written.indexed


def test_wrapups_processing_links_and_visits(root, memory):
    done = root.wrapup(WRAPUP, title="Beds", topic="slugs")
    assert done.related.query == "slugs"
    assert done.related.results
    assert (memory.path / done.file).is_file()
    assert root.wrapup(WRAPUP, title="Beds").related.skipped
    with pytest.raises(hr.InvalidInputError, match="Open Questions"):
        root.wrapup("## Findings", title="Beds")
    assert root.process("lint") == memory.process("lint")
    assert awaited(root, "aprocess", "lint", since="30d").applied is False
    assert root.status() == memory.status()
    assert root.link("slugs", "Ivy", 0.5, "helps").a == "notes/slugs.md"
    links = root.links("Ivy", hops=2)
    assert links == memory.links("Ivy", hops=2)
    assert links.edges == (Edge("notes/slugs.md", "notes/ivy.md", "helps", 0.5),)
    assert links.unresolved == ("moss",)
    assert links.titles["notes/slugs.md"] == "Slugs"
    assert root.unlink("slugs", "Ivy", "helps").removed
    assert not awaited(root, "aunlink", "slugs", "Ivy", "helps").removed
    root.visit("linker", "slugs", 1_800_000_000)
    assert memory.query("all | visited:linker,7d", now=1_800_000_100).keys == ["notes/slugs.md"]


def test_what_holds(root, memory):
    done = root.supersede("slugs", text="More slugs.", tags=["x"])
    assert done.validity == memory.validity("slugs")
    day = date(2020, 1, 1)
    for options in (
        {},
        {"include_superseded": True},
        {"as_of": "2020-01-01"},
        {
            "as_of": day,
            "after": day,
            "before": datetime(2100, 1, 1),  # noqa: DTZ001 - as callers have them
        },
        {"types": ("note",), "tags": ["x"]},
    ):
        found = root.recall("slugs", **options)
        assert found == memory.recall("slugs", **options)
        assert awaited(root, "arecall", "slugs", **options) == found
    assert awaited(root, "arestore", "slugs").validity.holds
    assert awaited(root, "asupersede", "slugs", by="ivy").validity.by == ("notes/ivy.md",)
    assert root.restore("slugs").validity == memory.validity("slugs")
    assert root.retract("slugs", "gone").validity.reason == "gone"
    assert awaited(root, "aretract", "slugs").validity.why == "retracted"
    with pytest.raises(hr.InvalidInputError, match="give what takes its place"):
        root.supersede("slugs")


def test_lists_are_the_same(root, memory):
    for options in ({}, {"type": "note", "limit": 1}, {"offset": 1}, {"superseded": True}):
        assert root.list(**options) == memory.list(**options)
        assert awaited(root, "alist", **options) == memory.list(**options)
    read = root.show("slugs")
    assert read == memory.show("slugs")
    edited = memory.edit(read.file, read.text + "More.\n", read.digest)
    assert edited == root.show("slugs")
    part = {"section": "Slugs", "offset": 1, "limit": 1}
    assert root.show("slugs", **part) == memory.show("slugs", **part)
    with pytest.raises(hr.HedgerowError, match="changed since you read it") as caught:
        memory.edit(read.file, "x", read.digest)
    assert caught.value.code == "file_changed"


async def everything(url):
    async with hr.connect(url, kind="root", token=WRITER) as root:
        written = await root.aremember("Moles dig.", title="Moles")
        memory = await root.ashow(written.file)
        await root.aedit(memory.file, memory.text + "\nDeep.\n", memory.digest)
        await root.awrapup(WRAPUP, title="Beds")
        await root.alink("Moles", "slugs")
        await root.avisit("linker", "Moles", 1_800_000_000)
        links = await root.alinks("Moles")
        status = await root.astatus()
        return await root.alist(), links, status


def test_one_text_is_not_a_list_of_tags_or_terms(root, memory):
    for searched in (root, memory):
        with pytest.raises(hr.InvalidInputError, match="tags must be a list, not 'tree'"):
            searched.remember("Yew.", title="Yew", tags="tree")
        with pytest.raises(
            hr.InvalidInputError, match="terms must be a list, not 'tree'"
        ) as caught:
            searched.query("rank:age", terms="tree")
        assert caught.value.code == "invalid_option"
    with pytest.raises(hr.InvalidInputError, match="tags must be a list, not 'tree'"):
        root.wrapup("Yew.", title="Yew", tags="tree")


def test_a_number_that_json_cannot_hold_is_not_sent(root):
    with pytest.raises(
        hr.InvalidInputError, match="strength must be a number above 0 and at most 1"
    ) as caught:
        root.link("slugs", "ivy", strength=float("nan"))
    assert caught.value.code == "invalid_option"


def test_all_of_it_is_awaited_too(root, memory):
    listed, links, status = asyncio.run(everything(root.url))
    assert listed.count == 4
    assert len(links.edges) == 1
    assert status == memory.status()


@pytest.mark.parametrize(
    ("call", "kind", "code"),
    [
        (lambda root: root.recall(" "), hr.InvalidInputError, "invalid_option"),
        (lambda root: root.show("nowhere"), hr.InvalidInputError, "unknown_node"),
        (lambda root: root.remember("", title="x"), hr.InvalidInputError, "invalid_note"),
        (lambda root: root.process("none"), hr.InvalidInputError, "invalid_option"),
        (lambda root: root.link("slugs", "nowhere"), hr.InvalidInputError, "unknown_node"),
    ],
)
def test_errors_are_those_of_there(root, call, kind, code):
    with pytest.raises(kind) as caught:
        call(root)
    assert type(caught.value) is kind
    assert caught.value.code == code


@pytest.mark.parametrize("key", ["slugs", "slugs#No such heading"])
def test_an_edit_that_came_too_late_is_the_same_error(root, memory, key):
    for one in (root, memory):
        with pytest.raises(hr.HedgerowError, match="changed since you read it") as caught:
            one.edit(key, "# New", "of another text")
        assert (type(caught.value), caught.value.code) == (hr.HedgerowError, "file_changed")


@pytest.mark.parametrize(
    ("at", "second"),
    [
        (datetime(2026, 3, 4, 12, tzinfo=timezone.utc), 1_772_625_600),
        (date(2026, 3, 4), 1_772_582_400),
        (1_772_582_400, 1_772_582_400),
    ],
)
def test_a_visit_has_any_kind_of_time(root, memory, at, second):
    assert root.visit("linker", "slugs", at) == memory.visit("linker", "slugs", at)
    assert root.visit("linker", "slugs", at).at == second


@pytest.mark.parametrize("pipeline", [5, None, b"all", ["all", 3]])
def test_a_pipeline_of_another_type_is_the_same_error(root, memory, pipeline):
    messages = []
    for one in (root, memory):
        with pytest.raises(hr.InvalidInputError) as caught:
            one.query(pipeline)
        messages.append((caught.value.code, str(caught.value)))
    assert messages[0] == messages[1]
