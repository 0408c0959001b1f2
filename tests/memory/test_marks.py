"""Validity: the marks, their meaning at a point in time, and how they are set and removed."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow import HedgerowError, InvalidInputError, MemoryRoot
from hedgerow._engine import _Documents
from hedgerow.memory.results import MarkResult
from hedgerow.memory.times import HOLDS, Validity
from hedgerow.memory.view import Marks
from memory_doubles import put

JULY = datetime(2026, 7, 1, tzinfo=timezone.utc)
NAMES = ["a.md", "b.md", "c.md", "d.md", "e.md"]


def marks_of(**files: str) -> Marks:
    """Return the marks of files, each given by its front matter."""
    texts = [(f"{name}.md", f"---\n{matter}\n---\ntext\n") for name, matter in files.items()]
    return Marks(_Documents.of(texts).view())


def why(marks: Marks, name: str, at: datetime = JULY) -> str | None:
    validity = marks.at(f"{name}.md", at)
    assert marks.holds(f"{name}.md", at) == validity.holds
    return validity.why


class TestValidity:
    @pytest.mark.parametrize(
        ("matter", "expected"),
        [
            ("title: T", None),
            ("valid_from: 2026-07-01", None),
            ("valid_from: 2026-07-02", "not_yet_valid"),
            ("valid_from: 2026-07-01T00:00:01Z", "not_yet_valid"),
            ("valid_until: 2026-07-01", None),
            ("valid_until: 2026-06-30", "expired"),
            ("valid_until: 2026-06-30T23:00Z", "expired"),
            ("valid_until: 2026-07-01T02:00+02:00", None),
            ("valid_until: soon", None),
            ("valid_until: 2026-02-30", None),
            ("retracted: true", "retracted"),
            ("retracted: 2026-06-30", "retracted"),
            ("retracted: 2026-07-02", None),
            ("retracted: wrong bed", "retracted"),
            ("retracted: false", None),
            ("retracted:", None),
            ("superseded_by: '[[gone]]'", "superseded"),
            ("superseded_by: gone.md", "superseded"),
            ("superseded_by: []", None),
            # Contradictory marks do not count.
            ("valid_from: 2026-08-01\nvalid_until: 2026-06-01", None),
            ("supersedes: a.md", None),
        ],
    )
    def test_of_one_memory(self, matter: str, expected: str | None) -> None:
        assert why(marks_of(a=matter), "a") == expected

    def test_a_day_holds_to_its_end(self) -> None:
        marks = marks_of(a="valid_until: 2026-06-30")
        end = datetime(2026, 6, 30, 23, 59, 59, tzinfo=timezone.utc)
        assert why(marks, "a", end) is None
        assert why(marks, "a", end + timedelta(seconds=1)) == "expired"

    def test_a_memory_is_known_from_its_time(self) -> None:
        marks = marks_of(a="date: 2026-07-05", b="date: 2026-07-05\nvalid_from: 2026-01-01")
        assert marks.at("a.md", JULY) == HOLDS
        assert marks.at("a.md", JULY, was_known=True).why == "not_yet_valid"
        assert marks.at("b.md", JULY, was_known=True).holds

    def test_when_to_look_again(self) -> None:
        stale = datetime(2026, 6, 30, tzinfo=timezone.utc)
        marks = marks_of(
            a="date: 2026-04-01\nstale_after: 90d",
            b="stale_after: 90d",
            c="stale_after: 2026-07-01",
        )
        validity = marks.at("a.md", JULY)
        assert (validity.holds, validity.stale_since) == (True, stale)
        assert marks.at("b.md", JULY) == marks.at("c.md", JULY) == HOLDS


class TestSuperseding:
    def test_either_file_is_enough(self) -> None:
        assert why(marks_of(a="title: A", b="supersedes: a"), "a") == "superseded"
        assert why(marks_of(a="superseded_by: b.md", b="title: B"), "a") == "superseded"
        assert why(marks_of(a="title: Old bed", b="supersedes: '[[old bed]]'"), "a") == "superseded"

    def test_it_begins_with_what_takes_the_place(self) -> None:
        for matter in ("date: 2026-07-05", "date: 2025-01-01\nvalid_from: 2026-07-05"):
            marks = marks_of(a="date: 2025-01-01", b=f"{matter}\nsupersedes: a.md")
            assert marks.at("a.md", JULY) == HOLDS
            after = marks.at("a.md", datetime(2026, 7, 6, tzinfo=timezone.utc))
            since = datetime(2026, 7, 5, tzinfo=timezone.utc)
            assert after == Validity("superseded", since, ("b.md",))

    def test_a_chain(self) -> None:
        marks = marks_of(a="title: A", b="supersedes: a", c="supersedes: b")
        assert [why(marks, name) for name in "abc"] == ["superseded", "superseded", None]
        assert marks.at("a.md", JULY).by == ("b.md",)

    def test_a_circle_does_not_count(self) -> None:
        marks = marks_of(a="supersedes: b", b="supersedes: c", c="supersedes: a", d="supersedes: a")
        assert [why(marks, name) for name in "abcd"] == ["superseded", None, None, None]
        assert marks.cycles == [("a.md", "c.md"), ("b.md", "a.md"), ("c.md", "b.md")]

    def test_it_outlives_a_retraction(self) -> None:
        marks = marks_of(a="title: A", b="supersedes: a\nretracted: true")
        assert [why(marks, name) for name in "ab"] == ["superseded", "retracted"]


class TestDoubt:
    def test_goes_through_the_whole_chain(self) -> None:
        marks = marks_of(
            a="retracted: true", b="derived_from: a", c="derived_from: [b, e]", d="derived_from: c",
            e="derived_from: c",
        )  # fmt: skip
        for name in "bcde":
            validity = marks.at(f"{name}.md", JULY)
            assert (validity.holds, validity.doubtful) == (True, ("a.md",))
        assert marks.at("a.md", JULY).doubtful == ()

    def test_not_of_what_is_not_valid_yet(self) -> None:
        marks = marks_of(a="valid_from: 2027-01-01", b="derived_from: a")
        assert marks.at("b.md", JULY) == HOLDS

    def test_a_long_chain_takes_linear_time(self) -> None:
        files = {f"n{number}": f"derived_from: n{number - 1}" for number in range(1, 3000)}
        marks = marks_of(n0="retracted: true", **files)
        assert marks.at("n2999.md", JULY).doubtful == ("n0.md",)


@given(st.dictionaries(st.sampled_from(NAMES), st.lists(st.sampled_from(NAMES), unique=True)))
def test_circles_are_the_edges_with_a_way_back(edges: dict[str, list[str]]) -> None:
    def reaches(start: str, goal: str) -> bool:
        seen, waiting = set(), [start]
        while waiting:
            node = waiting.pop()
            if node == goal:
                return True
            if node not in seen:
                seen.add(node)
                waiting.extend(edges.get(node, ()))
        return False

    edges = {one: [to for to in others if to != one] for one, others in edges.items()}
    expected = {(one, to) for one, others in edges.items() for to in others if reaches(to, one)}
    matters = {one: f"superseded_by: [{', '.join(others)}]" for one, others in edges.items()}
    marks = marks_of(**{name[:-3]: matters.get(name, "x: 1") for name in NAMES})
    assert marks.cycles == sorted(expected)
    for one, others in edges.items():
        assert marks.said_to_supersede(one) == sorted(others)
        kept = [to for to in others if (one, to) not in expected]
        assert marks.superseding(one) == sorted(kept)


@given(
    st.builds(
        Validity,
        st.sampled_from(["retracted", "superseded", "expired", "not_yet_valid", None]),
        st.none() | st.datetimes(timezones=st.just(timezone.utc)),
        st.lists(st.text()).map(tuple),
        st.none() | st.text(),
        st.lists(st.text()).map(tuple),
        st.none() | st.datetimes(timezones=st.just(timezone.utc)),
    )
)
def test_a_validity_is_its_json(validity: Validity) -> None:
    assert Validity.from_dict(validity.to_dict()) == validity
    assert isinstance(str(validity), str)


class TestRecall:
    @pytest.fixture
    def kept(self, root: MemoryRoot) -> MemoryRoot:
        put(root.path, "notes/march.md", "---\ndate: 2025-01-01\n---\ncut the hedge in March\n")
        put(
            root.path,
            "notes/august.md",
            "---\ndate: 2026-05-01\nsupersedes: notes/march.md\n---\ncut the hedge in August\n",
        )
        put(root.path, "notes/never.md", "---\nretracted: true\n---\nnever cut the hedge\n")
        put(root.path, "notes/plan.md", "---\nderived_from: march\n---\nhedge plan\n")
        return root

    def test_leaves_out_what_does_not_hold(self, kept: MemoryRoot) -> None:
        found = kept.recall("hedge")
        assert {one.file for one in found} == {"notes/august.md", "notes/plan.md"}
        assert dict(found.left_out) == {"retracted": 1, "superseded": 1}
        assert found.to_dict()["leftOut"] == {"retracted": 1, "superseded": 1}
        [plan] = [one for one in found if one.file == "notes/plan.md"]
        assert plan.to_dict()["validity"] == {"holds": True, "doubtful": ["notes/march.md"]}
        assert "validity" not in found.results[0].to_dict() or found.results[0] is plan

    def test_as_of_a_day(self, kept: MemoryRoot) -> None:
        found = kept.recall("hedge", as_of="2026-04-30")
        assert {one.file for one in found} == {"notes/march.md", "notes/plan.md"}
        assert dict(found.left_out) == {"retracted": 1, "not_yet_valid": 1}
        assert found.to_dict()["asOf"] == "2026-04-30T23:59:59.999999+00:00"
        same = datetime(2026, 4, 30, 12, tzinfo=timezone.utc)
        for as_of in (same, same.date(), same.replace(tzinfo=None)):
            assert [one.file for one in kept.recall("hedge", as_of=as_of)] == [
                one.file for one in found
            ]

    def test_includes_what_does_not_hold(self, kept: MemoryRoot) -> None:
        found = kept.recall("hedge", include_superseded=True)
        said = {one.file: str(one.validity) for one in found}
        assert said == {
            "notes/march.md": "superseded by notes/august.md since 2026-05-01",
            "notes/august.md": "",
            "notes/never.md": "retracted",
            "notes/plan.md": "in doubt: derived from notes/march.md",
        }
        assert dict(found.left_out) == {}

    def test_fills_up_to_the_limit(self, root: MemoryRoot) -> None:
        for number in range(250):
            put(root.path, f"old{number:03}.md", "---\nretracted: true\n---\nhedge hedge\n")
        put(root.path, "new.md", f"hedge among {'other ' * 200}words\n")
        found = root.recall("hedge", limit=1)
        assert [one.file for one in found] == ["new.md"]
        assert found.left_out["retracted"] == 250

    def test_sees_marks_that_are_edited_by_hand(self, kept: MemoryRoot) -> None:
        assert kept.recall("never").results == ()
        put(kept.path, "notes/never.md", "never cut the hedge\n")
        assert [one.file for one in kept.recall("never")] == ["notes/never.md"]
        put(kept.path, "notes/empty.md", "---\nsupersedes: never\n---\n")
        assert dict(kept.recall("never").left_out) == {"superseded": 1}
        (kept.path / "notes/empty.md").unlink()
        assert [one.file for one in kept.recall("never")] == ["notes/never.md"]

    def test_of_a_type_a_tag_a_time(self, kept: MemoryRoot) -> None:
        put(kept.path, "decisions/a.md", "---\ntags: [Garden, x]\ndate: 2026-01-05\n---\nhedge\n")
        put(kept.path, "b.md", "---\ntype: Decision\ntags: '#garden, y'\n---\nhedge\n")

        def files(**options: object) -> list[str]:
            return sorted(one.file for one in kept.recall("hedge", **options))  # type: ignore[arg-type]

        assert files(types=["decision"]) == ["b.md", "decisions/a.md"]
        assert files(types=["decision", "note"], tags=["x"]) == ["decisions/a.md"]
        assert files(tags=["#GARDEN"]) == ["b.md", "decisions/a.md"]
        assert files(tags=["garden", "y"]) == ["b.md"]
        assert files(after="2026-01-05") == ["decisions/a.md", "notes/august.md"]
        assert files(after="2026-01-06") == ["notes/august.md"]
        assert files(before="2026-05-01") == ["decisions/a.md"]
        assert files(before="2026-01-05", include_superseded=True) == ["notes/march.md"]
        assert files(after="1d") == []
        found = kept.recall("hedge", types=["page"])
        assert dict(found.left_out) == {"filtered": 6}

    def test_a_filter_looks_beyond_the_best(self, root: MemoryRoot) -> None:
        for number in range(900):
            put(root.path, f"old{number:03}.md", "hedge hedge\n")
        put(root.path, "new.md", f"---\ntags: x\n---\nhedge among {'other ' * 200}words\n")
        assert [one.file for one in root.recall("hedge", tags=["x"])] == ["new.md"]

    @pytest.mark.parametrize("name", ["after", "before"])
    @pytest.mark.parametrize("given", ["soon", "2026-02-30", "30y"])
    def test_refuses_times_that_are_none(self, root: MemoryRoot, name: str, given: str) -> None:
        with pytest.raises(InvalidInputError, match=f"{name} must be a date that exists"):
            root.recall("hedge", **{name: given})  # type: ignore[arg-type]

    @pytest.mark.parametrize("as_of", ["soon", "2026-02-30", "", "2026-13-01"])
    def test_refuses_what_is_no_date(self, root: MemoryRoot, as_of: str) -> None:
        with pytest.raises(InvalidInputError, match="as_of must be a date that exists"):
            root.recall("hedge", as_of=as_of)


class TestMarking:
    OLD = "---\ntitle: Cutting # kept\ntype: decision\ntags: [hedge]\n---\nIn March.\n"

    def test_supersede_by_a_memory(self, root: MemoryRoot) -> None:
        put(root.path, "old.md", self.OLD)
        put(root.path, "new.md", "In August.\n")
        done = root.supersede("old", by="new")
        assert done.file == "old.md"
        assert set(done.changed) == {"old.md", "new.md"}
        assert done.validity.by == ("new.md",)
        old = self.OLD.replace("tags: [hedge]\n", 'tags: [hedge]\nsuperseded_by: ["[[new]]"]\n')
        assert (root.path / "old.md").read_text() == old
        assert (
            root.path / "new.md"
        ).read_text() == '---\nsupersedes: ["[[old]]"]\n---\nIn August.\n'
        assert root.supersede("old", by="new").changed == ()
        assert root.restore("old").validity == HOLDS
        assert (root.path / "old.md").read_text() == self.OLD
        assert root.restore("old").changed == ()

    def test_supersede_by_a_text(self, root: MemoryRoot) -> None:
        put(root.path, "old.md", self.OLD)
        done = root.supersede("Cutting", text="In August.")
        assert done.written is not None
        assert done.written.startswith("decisions/")
        assert done.changed == ("old.md",)
        new = (root.path / done.written).read_text()
        assert 'title: "In August."\n' in new
        assert 'tags: ["hedge"]\nsupersedes: ["[[old]]"]\n' in new
        assert [one.file for one in root.recall("August March")] == [done.written]

    def test_retract_and_restore(self, root: MemoryRoot) -> None:
        put(root.path, "old.md", self.OLD)
        done = root.retract("old", "the wrong\nbed")
        assert (done.validity.why, done.validity.reason) == ("retracted", "the wrong bed")
        assert str(root.validity("old")).startswith("retracted since 20")
        assert root.validity("old", as_of="2020-01-01").why is None
        assert root.restore("old").changed == ("old.md",)
        assert (root.path / "old.md").read_text() == self.OLD

    def test_restore_names_each_mark_that_it_removes(self, root: MemoryRoot) -> None:
        put(root.path, "old.md", self.OLD)
        put(root.path, "new.md", "In August.\n")
        root.supersede("old", by="new")
        root.retract("old", "the wrong bed")
        put(root.path, "newer.md", "---\nsupersedes: old\n---\nIn September.\n")
        done = root.restore("old")
        retracted, superseded = done.removed
        assert (retracted.why, retracted.reason) == ("retracted", "the wrong bed")
        assert retracted.since is not None
        assert (superseded.why, superseded.by) == ("superseded", ("new.md", "newer.md"))
        assert sorted(done.changed) == ["new.md", "newer.md", "old.md"]
        assert MarkResult.from_dict(done.to_dict()) == done
        assert root.restore("old").removed == ()

    @pytest.mark.parametrize(
        ("block", "said"),
        [
            ("superseded_by: gone", "superseded by gone"),
            ("retracted: true", "retracted"),
            ("retracted: 2026-03-01\nretraction_reason: [a]", "retracted since 2026-03-01"),
            ("retracted: false", ""),
            ("valid_until: 2020-01-01", ""),
        ],
    )
    def test_restore_names_marks_written_by_hand(
        self, root: MemoryRoot, block: str, said: str
    ) -> None:
        put(root.path, "old.md", f"---\n{block}\n---\nIn March.\n")
        assert "; ".join(map(str, root.restore("old").removed)) == said

    def test_restore_names_what_the_own_file_names(self, root: MemoryRoot) -> None:
        put(root.path, "a.md", "---\nscope: {user: ana}\nsuperseded_by: b\n---\nIn March.\n")
        put(root.path, "b.md", "---\nscope: {user: ben}\nsupersedes: a\n---\nIn August.\n")
        before = (root.path / "b.md").read_bytes()
        [removed] = root.scoped(user="ana").restore("a").removed
        assert (removed.why, removed.by) == ("superseded", ("b",))
        assert (root.path / "b.md").read_bytes() == before

    def test_restore_tells_what_else_keeps_it_from_holding(self, root: MemoryRoot) -> None:
        put(root.path, "old.md", "---\nvalid_until: 2020-01-01\nretracted: true\n---\ntext\n")
        assert root.restore("old").validity.why == "expired"

    def test_restore_breaks_a_circle(self, root: MemoryRoot) -> None:
        put(root.path, "a.md", "---\nsupersedes: b\n---\ntext\n")
        put(root.path, "b.md", "---\nsupersedes: [other, a]\n---\ntext\n")
        root.restore("a")
        assert "other" in (root.path / "b.md").read_text()
        assert root.validity("b").why == "superseded"
        assert root.validity("a").holds

    def test_nothing_is_written_where_one_file_cannot_be(self, root: MemoryRoot) -> None:
        put(root.path, "old.md", "---\n{title: T}\n---\nIn March.\n")
        put(root.path, "new.md", "In August.\n")
        before = files_in(root.path)
        for new in ({"by": "new"}, {"text": "In August."}):
            with pytest.raises(HedgerowError, match="edit it by hand") as caught:
                root.supersede("old", **new)  # type: ignore[arg-type]
            assert caught.value.code == "invalid_front_matter"
        assert files_in(root.path) == before

    def test_a_circle_is_refused(self, root: MemoryRoot) -> None:
        for name in "abc":
            put(root.path, f"{name}.md", f"text {name}\n")
        root.supersede("a", by="b")
        root.supersede("b", by="c")
        before = files_in(root.path)
        for old in ("b", "c"):
            with pytest.raises(InvalidInputError, match=r"restore a\.md first") as caught:
                root.supersede(old, by="a")
            assert caught.value.code == "invalid_edge"
        assert files_in(root.path) == before
        root.restore("a")
        root.supersede("c", by="a")
        assert [root.validity(name).holds for name in "abc"] == [True, False, False]

    def test_what_is_refused(self, root: MemoryRoot) -> None:
        put(root.path, "old.md", self.OLD)
        with pytest.raises(InvalidInputError, match="cannot supersede itself"):
            root.supersede("old", by="Cutting")
        for new in ({}, {"by": "old", "text": "x"}):
            with pytest.raises(InvalidInputError, match="give what takes its place"):
                root.supersede("old", **new)  # type: ignore[arg-type]
        with pytest.raises(InvalidInputError, match="there is no memory 'gone'"):
            root.retract("gone")
        with pytest.raises(InvalidInputError, match="the text is blank"):
            root.supersede("old", text="  ")
        assert (root.path / "old.md").read_text() == self.OLD


def files_in(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.rglob("*.md")}


class TestLint:
    def test_names_what_contradicts(self, root: MemoryRoot) -> None:
        put(root.path, "a.md", "---\nsupersedes: b\n---\nx\n")
        put(root.path, "b.md", "---\nsupersedes: a\n---\nx\n")
        put(root.path, "c.md", "---\nvalid_from: 2026-02-01\nvalid_until: 2026-01-01\n---\nx\n")
        put(root.path, "d.md", "---\nvalid_until: soon\n---\nx\n")
        put(root.path, "e.md", "---\nretracted: true\nsupersedes: f\n---\nx\n")
        put(root.path, "f.md", "---\nderived_from: e\n---\nx\n")
        put(root.path, "g.md", "---\nstale_after: 2026-01-01\n---\nx\n")
        put(root.path, "h.md", "---\nvalid_until: 30d\nstale_after: 9999d\n---\nx\n")
        said = [line for line in root.process("lint").summary if line.startswith("[")]
        way = "which it supersedes, perhaps through others"
        assert said == [
            f"[contradiction] `a.md` is superseded by `b.md`, {way}",
            f"[contradiction] `b.md` is superseded by `a.md`, {way}",
            "[contradiction] `c.md` is valid until a time before it begins to be",
            "[contradiction] `f.md` is superseded by `e.md`, which was retracted: restore the one that holds",
            "[unreadable-mark] `d.md` has valid_until: soon, which is no date",
            "[unreadable-mark] `h.md` has valid_until: 30d, which is no date",
            "[in-doubt] `f.md` is derived from what no longer holds: `e.md`",
            "[stale] `g.md` is due for review since 2026-01-01",
        ]


def test_an_index_of_an_earlier_version_is_read_anew(root: MemoryRoot) -> None:
    put(root.path, "a.md", "---\nretracted: true\n---\nhedge\n")
    root.sync()
    root.close()
    with closing(sqlite3.connect(root.path / ".hedgerow/index.db")) as index, index:
        index.execute(
            "UPDATE settings SET value = '2 ' || substr(value, 4) WHERE name = 'sync_scope'"
        )
        assert index.execute("SELECT changes()").fetchone() == (1,)
        index.execute("UPDATE sources SET facts = ''")
    with hr.MemoryRoot.open(root.path) as again:
        assert dict(again.recall("hedge").left_out) == {"retracted": 1}


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ({"title": "T"}, "title"),
        ({"type": "decision", "tags": ["a"]}, "type and tags"),
        ({"tags": []}, "tags"),
        ({"allow_secret": True}, "allow_secret"),
    ],
)
def test_what_belongs_to_a_new_text_is_refused_with_by(
    tmp_path: Path, given: dict[str, object], names: str
) -> None:
    put(tmp_path, "a.md", "One.\n")
    put(tmp_path, "b.md", "Two.\n")
    root = MemoryRoot.open(tmp_path)
    with pytest.raises(InvalidInputError, match=f"^{names} would be those of a new text") as raised:
        root.supersede("a.md", by="b.md", **given)  # type: ignore[arg-type]
    assert raised.value.code == "invalid_option"
    assert (tmp_path / "a.md").read_text() == "One.\n"


def test_a_memory_is_superseded_by_a_text_once(tmp_path: Path) -> None:
    put(tmp_path, "notes/gate.md", "---\ntitle: Gate\n---\nThe gate is open.\n")

    def supersede(_: int) -> str:
        try:
            with MemoryRoot.open(tmp_path) as root:
                return root.supersede("Gate", text="The gate is shut.").written or ""
        except HedgerowError as error:
            return error.code

    with ThreadPoolExecutor(4) as pool:
        done = sorted(pool.map(supersede, range(4)))
    assert done[:3] == ["duplicate_memory"] * 3
    assert MemoryRoot.open(tmp_path).list().count == 2
