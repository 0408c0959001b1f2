"""Recall: results, order, and the parts of each score."""

from __future__ import annotations

import pickle
import sys
from datetime import datetime, timezone
from pathlib import Path
from types import FrameType

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hedgerow
from command_line import run
from hedgerow import InvalidInputError, MemoryRoot
from hedgerow._engine import _Recall
from hedgerow.memory import results, times
from hedgerow.memory.times import memory_time, parse_end, parse_time
from memory_doubles import WRAPUP, put

RAVEN = "The silver raven rests."
MOST_CALLS = 6
"""The maximum of our functions called before the engine searches. Lower it when one is removed."""
LONG = st.lists(st.text("abc d", max_size=30), max_size=60).map("\n".join)


class TestResults:
    def test_tell_where_a_memory_stands(self, root: MemoryRoot) -> None:
        put(
            root.path,
            "sessions/a.md",
            "---\nsession_id: s-1\ntags: [x, 2]\ntitle: T\n---\n# Head\n\nsilver\n\n## Two\n\nraven\n",
        )
        [one] = root.recall("raven")
        assert one.to_dict()["provenance"] == {
            "file": "sessions/a.md",
            "lineStart": 10,
            "lineEnd": 12,
            "sessionId": "s-1",
            "session_id": "s-1",
            "metadata": {"session_id": "s-1", "tags": ["x", "2"], "title": "T"},
        }
        assert one.snippet == "## Two raven"
        assert one.id.startswith("chunk-")
        assert len(one.id) == len("chunk-") + 64

    def test_a_text_without_a_title_is_shown_once(self, root: MemoryRoot) -> None:
        long = "A raven that is black flies over the hedge and the roses and the wall. It sings."
        for text in ("The raven flies.", long):
            file = root.remember(text).file
            [hit] = [one for one in root.recall("raven flies") if one.file == file]
            assert hit.snippet == text
        root.remember("The raven sings.", title="Birds")
        [first, *_] = root.recall("raven sings")
        assert first.snippet == "# Birds The raven sings."

    def test_every_file_that_matches_is_there_once(self, root: MemoryRoot) -> None:
        for number in range(30):
            put(root.path, f"decisions/2026-01-{number:02}-raven.md", f"# R{number}\n\n{RAVEN}\n")
        found = root.recall("raven", limit=100)
        assert len({one.file for one in found}) == len(found) == 30
        assert len({one.id for one in found}) == 30

    def test_what_stands_beside_a_passage_counts_for_it(self, root: MemoryRoot) -> None:
        beside = "# A\n\n## One\n\nraven\n\n## Two\n\nraven\n\n## Three\n\nraven\n"
        apart = "# B\n\n## One\n\nraven\n\n## Two\n\nowl\n\n## Three\n\nowl\n"
        put(root.path, "notes/z-beside.md", beside)
        put(root.path, "notes/a-apart.md", apart)
        found = root.recall("raven")
        assert [one.file for one in found] == ["notes/z-beside.md", "notes/a-apart.md"]
        for stage in ("search:raven", "all | rank:raven"):
            assert root.query(stage).keys[:2] == ["notes/z-beside.md", "notes/a-apart.md"]

    def test_what_the_asker_said_counts_more(self, root: MemoryRoot) -> None:
        for name, (one, other) in {"a": ("Ann", "Bo"), "b": ("Bo", "Ann")}.items():
            turns = (
                f"{one}: my quince blooms in the garden today\n\n{other}: the rain came at last\n\n"
            )
            put(root.path, f"sessions/{name}.md", turns * 2)
        for asker, first in [("Ann", "sessions/a.md"), ("Bo", "sessions/b.md")]:
            found = root.recall("where in the garden is my quince?", asker=asker)
            assert found.results[0].file == first
            assert found.results[0].score > found.results[1].score
        assert root.why_not("my quince", "sessions/b.md", asker="Ann", limit=1).cut is not None

    def test_how_it_searched_is_told(self, root: MemoryRoot) -> None:
        put(root.path, "notes/a.md", "# A\n\nraven\n")
        found = root.recall("the raven record", explain=True)
        assert found.trace is not None
        assert (found.trace.profile, found.trace.mode) == ("best", "bm25")
        assert found.trace.not_searched_for == ["the"]
        assert "trace" in found.to_dict(explain=True)
        assert "trace" not in found.to_dict()
        assert root.recall("raven").trace is None

    def test_long_files_leave_room_for_others(self, root: MemoryRoot) -> None:
        many = "".join(f"## Part {n}\n\nraven raven raven\n\n" for n in range(300))
        for name in "ab":
            put(root.path, f"notes/{name}.md", f"# Long\n\n{many}")
        put(root.path, "notes/c.md", f"# Short\n\n{'Of other birds and more. ' * 20}raven\n")
        assert {one.file for one in root.recall("raven")} == {f"notes/{n}.md" for n in "abc"}

    def test_ids_do_not_depend_on_the_query(self, root: MemoryRoot) -> None:
        put(root.path, "a.md", RAVEN)
        assert root.recall("silver").results[0].id == root.recall("raven").results[0].id

    def test_pickle_and_iterate(self, root: MemoryRoot) -> None:
        put(root.path, "a.md", RAVEN)
        found = root.recall("raven")
        assert pickle.loads(pickle.dumps(found)) == found
        assert list(found) == list(found.results)

    def test_the_limit_cuts_the_order(self, root: MemoryRoot) -> None:
        for number in range(9):
            put(root.path, f"n{number}.md", RAVEN)
        whole = root.recall("raven", limit=9).results
        assert [root.recall("raven", limit=n).results for n in (1, 4)] == [whole[:1], whole[:4]]

    @pytest.mark.parametrize("query", ["", "  \n"])
    def test_a_blank_query_is_refused(self, root: MemoryRoot, query: str) -> None:
        with pytest.raises(InvalidInputError) as raised:
            root.recall(query)
        assert raised.value.code == "invalid_option"

    def test_a_query_may_have_operators(self, root: MemoryRoot) -> None:
        put(root.path, "a.md", RAVEN)
        put(root.path, "b.md", "A silver spoon.")
        assert [one.file for one in root.recall("silver NOT raven")] == ["b.md"]

    def test_short_names_are_found(self, root: MemoryRoot) -> None:
        put(root.path, "a.md", "Ask about IL-10 and AI.")
        assert len(root.recall("what is AI?")) == 1


class TestDepth:
    def test_moves_pages_up_and_sessions_down(self, root: MemoryRoot) -> None:
        for folder in ("pages", "sessions", "notes"):
            put(root.path, f"{folder}/x.md", RAVEN)
        shallow = [one.file for one in root.recall("raven", depth="shallow")]
        assert shallow == ["pages/x.md", "notes/x.md", "sessions/x.md"]
        assert root.recall("raven", depth="deep").results[0].file == "sessions/x.md"

    def test_a_stated_type_counts_before_the_folder(self, root: MemoryRoot) -> None:
        put(root.path, "notes/x.md", f"---\ntype: Page\n---\n{RAVEN}")
        [one] = root.recall("raven", depth="shallow")
        assert (one.parts.depth, one.parts.driver) == (0.8, "keywords:page")

    def test_the_policy_is_replaceable(self, tmp_path: Path) -> None:
        put(tmp_path, "attic/x.md", RAVEN)
        root = MemoryRoot.open(tmp_path, depth_policy=lambda bucket, _: float(bucket == "attic"))
        assert root.recall("raven").results[0].parts.depth == 1.0

    def test_an_unknown_depth_is_refused(self, root: MemoryRoot) -> None:
        with pytest.raises(InvalidInputError, match="shallow, normal, deep") as raised:
            root.recall("x", depth="Deep")
        assert raised.value.code == "invalid_option"

    @given(st.text(max_size=9), st.sampled_from(results.DEPTHS))
    def test_every_bucket_has_a_boost(self, bucket: str, how: str) -> None:
        assert -1 < results.depth_boost(bucket, how) < 1


class TestScore:
    def test_parts_are_those_of_the_specification(self, root: MemoryRoot) -> None:
        put(
            root.path,
            "decisions/d.md",
            "---\ntype: decision\ntitle: Raven\nconfidence: user-reviewed\nsession_id: s1\n---\n"
            f"# D\n\n{RAVEN}\n",
        )
        [one] = root.recall("silver raven")
        assert one.parts.to_dict() == {
            "retrievalScore": 1.0,
            "exactMatchBoost": 0.31,
            "metadataBoost": 0.03,
            "temporalRelevance": 0.0,
            "memoryStrength": 0.1,
            "provenanceConfidence": 0.07,
            "depthPolicyBoost": 0.08,
            "finalScore": 1.59,
            "retrievalDepth": "normal",
            "driver": "keywords:decision",
        }
        assert one.score == 1.59


class TestTime:
    MID = datetime(2026, 6, 5, tzinfo=timezone.utc)

    @pytest.mark.parametrize(
        ("text", "iso"),
        [
            ("2026-04-18", "2026-04-18T00:00:00+00:00"),
            ("2026-04-18T09:30:00.123Z", "2026-04-18T09:30:00.123000+00:00"),
            (" 2026-04-18 09:30 ", "2026-04-18T09:30:00+00:00"),
            ("2026-04-18T09:30:00+02:00", "2026-04-18T09:30:00+02:00"),
            ("2026-04-18T09:30:00-0530", "2026-04-18T09:30:00-05:30"),
            ("2026-02-30", None),
            ("2026-04-18T25:00", None),
            ("2026-04-18 and more", None),
            ("18 April 2026", None),
            (20260418, None),
        ],
    )
    def test_is_read_strictly(self, text: object, iso: str | None) -> None:
        read = times.parse_time(text)
        assert (read.isoformat() if read else None) == iso

    def test_an_event_is_the_first_time_that_exists(self) -> None:
        metadata = {"date": "2026-02-30", "updated_at": "2026-06-05", "created_at": "2026-06-01"}
        first = datetime(2026, 6, 1, tzinfo=timezone.utc)
        named = "notes/2026-06-01-slugs.md"
        created = {"updated_at": "2026-06-05", "created": "2026-06-01"}
        assert times.memory_time("a.md", metadata) == first
        assert times.memory_time("a.md", created) == first
        assert times.memory_time(named, {}) == times.memory_time(named, {"date": "soon"}) == first
        assert times.memory_time(named, {"date": "2026-06-05"}) == self.MID
        for other in ("2026-06-01/slugs.md", "2026-06-011.md", "2026-02-30.md", "slugs.md"):
            assert times.memory_time(other, {}) is None


class TestUnreadableNotes:
    def test_are_reported(self, root: MemoryRoot) -> None:
        put(root.path, "notes/a.md", "hawthorn")
        put(root.path, "notes/b.md", "---\na: [\n---\nhawthorn")
        (root.path / "notes/c.md").write_bytes(b"hawthorn \xff")
        for sync in (True, True, False):
            found = root.recall("hawthorn", sync=sync)
            assert len(found) == 2
            [skip] = found.unreadable
            assert (skip.path, skip.code) == ("notes/c.md", "not_utf8")
            assert found.to_dict()["unreadable"] == [skip.to_dict()]
        put(root.path, "notes/c.md", "hawthorn")
        assert root.recall("hawthorn").unreadable == ()

    def test_are_reported_with_a_wrapup(self, root: MemoryRoot) -> None:
        (root.path / "c.md").write_bytes(b"hawthorn \xff")
        done = root.wrapup(WRAPUP, title="A day", topic="hawthorn").to_dict()
        assert [one["path"] for one in done["relatedMemory"]["unreadable"]] == ["c.md"]

    def test_are_reported_by_the_command(self, root: MemoryRoot) -> None:
        (root.path / "c.md").write_bytes(b"a\0b")
        done = run("recall", "--root", str(root.path), "--topic", "hawthorn")
        assert done.stderr == "Skipped c.md: the file is binary, not text\n"
        assert done.stdout.endswith("No memory matches found.\n")


@pytest.mark.parametrize(
    ("value", "start", "end"),
    [
        ("2026/03/15", "2026-03-15T00:00:00", "2026-03-15T23:59:59.999999"),
        ("2026/3/5 10:30", "2026-03-05T10:30:00", "2026-03-05T10:30:00"),
        ("2026.03.15", "2026-03-15T00:00:00", "2026-03-15T23:59:59.999999"),
        ("2026-03", "2026-03-01T00:00:00", "2026-03-31T23:59:59.999999"),
        ("9999-12", "9999-12-01T00:00:00", "9999-12-31T23:59:59.999999"),
        ("2026/2", "2026-02-01T00:00:00", "2026-02-28T23:59:59.999999"),
        ("[[2026-03-15]]", "2026-03-15T00:00:00", "2026-03-15T23:59:59.999999"),
        ("[[journal/2026_03_15|today]]", "2026-03-15T00:00:00", "2026-03-15T23:59:59.999999"),
        (['["2026-03-15"]'], "2026-03-15T00:00:00", "2026-03-15T23:59:59.999999"),
        ("2026-13", None, None),
        ("2026/03/32", None, None),
        ("2026", "2026-01-01T00:00:00", "2026-12-31T23:59:59.999999"),
        ("[[Hedge]]", None, None),
        (["a", "b"], None, None),
        (None, None, None),
    ],
)
def test_forms_of_dates(value: object, start: str | None, end: str | None) -> None:
    times = parse_time(value), parse_end(value)
    assert [None if one is None else one.replace(tzinfo=None).isoformat() for one in times] == [
        start,
        end,
    ]


@pytest.mark.parametrize(
    ("name", "day"),
    [
        ("2026_04_18.md", 18),
        ("a/2026-04-18-x.md", 18),
        ("2026_04-18.md", None),
        ("2026_04_181.md", None),
    ],
)
def test_days_in_names(name: str, day: int | None) -> None:
    found = memory_time(name, {})
    assert (None if found is None else found.day) == day


class TestRecency:
    @pytest.fixture
    def hedge(self, tmp_path: Path) -> MemoryRoot:
        for name, day in (
            ("new", "date: 2026-03-01"),
            ("old", "date: 2026-01-30"),
            ("none", "a: 1"),
        ):
            put(tmp_path, f"notes/{name}.md", f"---\n{day}\n---\nhedge {name}\n")
        return MemoryRoot.open(tmp_path)

    def test_age_halves_the_score_of_the_search(self, hedge: MemoryRoot) -> None:
        found = hedge.recall(
            "hedge", recency="30d", as_of="2026-03-01T00:00Z", include_superseded=True
        )
        parts = {one.file: one.parts for one in found}
        weights = {file: one.recency_weight for file, one in parts.items()}
        assert weights == {"notes/new.md": 1.0, "notes/old.md": 0.5, "notes/none.md": 0.5}
        old = parts["notes/old.md"]
        assert old.recency == round(-0.5 * old.retrieval, 4)
        assert found.results[0].file == "notes/new.md"
        told = found.to_dict()["results"][-1]["scoreBreakdown"]
        assert (told["recencyWeight"], told["recencyPenalty"]) == (0.5, old.recency)
        assert told["finalScore"] == found.results[-1].score

    def test_it_is_off_by_default(self, hedge: MemoryRoot) -> None:
        [first, *_] = hedge.recall("hedge")
        assert (first.parts.recency, first.parts.recency_weight) == (0.0, None)
        assert "recencyWeight" not in str(first.to_dict())

    def test_a_context_prefers_new_memories(self, hedge: MemoryRoot) -> None:
        assert hedge.context("hedge old", recency="1d").passages[0].file != "notes/new.md"
        put(hedge.path, "notes/now.md", "---\ndate: 2999-01-01\n---\nhedge now\n")
        assert hedge.context("hedge", recency="1d").passages[0].file == "notes/now.md"

    @pytest.mark.parametrize("age", ["0d", "30", "yesterday", "-1d", ""])
    def test_an_age_that_is_none(self, hedge: MemoryRoot, age: str) -> None:
        with pytest.raises(InvalidInputError, match="recency must be an age of one day or more"):
            hedge.recall("hedge", recency=age)


def test_few_functions_of_ours_are_called_before_the_engine(root: MemoryRoot) -> None:
    package = str(Path(hedgerow.__file__).parent)
    put(root.path, "notes/raven.md", RAVEN)
    root.recall("raven")
    called: list[str] = []

    def profile(frame: FrameType, event: str, argument: object) -> None:
        # Skip the `__init__` that `dataclass` generates for a request.
        if event == "call" and frame.f_code.co_filename.startswith(package):
            called.append(frame.f_code.co_qualname if sys.version_info >= (3, 11) else "")
        elif event == "c_call" and type(getattr(argument, "__self__", None)) is _Recall:
            ends.append(len(called))

    ends: list[int] = []
    sys.setprofile(profile)
    try:
        root.recall("raven")
    finally:
        sys.setprofile(None)
    assert ends[0] <= MOST_CALLS, called
