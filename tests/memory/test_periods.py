"""Periods named in a question."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_line import run
from hedgerow import InvalidInputError, MemoryRoot
from hedgerow.memory.times import HOLDS, Period, checked_end, checked_start, period_in
from memory_doubles import put

SATURDAY = datetime(2026, 4, 18, 9, 30, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("what was decided today?", "today (2026-04-18)"),
        ("Yesterday", "Yesterday (2026-04-17)"),
        ("slugs last  week", "last week (2026-04-06 to 2026-04-12)"),
        ("this week", "this week (2026-04-13 to 2026-04-19)"),
        ("last month", "last month (2026-03-01 to 2026-03-31)"),
        ("previous year", "previous year (2025-01-01 to 2025-12-31)"),
        ("last Saturday", "last Saturday (2026-04-11)"),
        ("last friday", "last friday (2026-04-17)"),
        ("in the last 7 days", "in the last 7 days (2026-04-12 to 2026-04-18)"),
        ("past 2 weeks", "past 2 weeks (2026-04-05 to 2026-04-18)"),
        ("the past 2 months", "the past 2 months (2026-02-19 to 2026-04-18)"),
        ("what did I do in the last week?", "in the last week (2026-04-12 to 2026-04-18)"),
        ("over the last month", "over the last month (2026-03-19 to 2026-04-18)"),
        ("slugs in the past week", "in the past week (2026-04-12 to 2026-04-18)"),
        ("the past year", "the past year (2025-04-19 to 2026-04-18)"),
        ("WHAT WAS SAID LAST WEEK", "LAST WEEK (2026-04-06 to 2026-04-12)"),
        ("Slugs? Yesterday", "Yesterday (2026-04-17)"),
        ("3 days ago", "3 days ago (2026-04-15)"),
        ("2 weeks ago", "2 weeks ago (2026-03-30 to 2026-04-05)"),
        ("1 month ago", "1 month ago (2026-03-01 to 2026-03-31)"),
        ("notes from March", "from March (2026-03-01 to 2026-03-31)"),
        ("from May", "from May (2025-05-01 to 2025-05-31)"),
        ("written in december 2023", "written in december 2023 (2023-12-01 to 2023-12-31)"),
        ("pages from 2024", "from 2024 (2024-01-01 to 2024-12-31)"),
        ("pomelo in May 2025", "in May 2025 (2025-05-01 to 2025-05-31)"),
        ("what did we decide during march 2026", "during march 2026 (2026-03-01 to 2026-03-31)"),
        ("the plan the day before yesterday", "the day before yesterday (2026-04-16)"),
        ("the week before last", "the week before last (2026-03-30 to 2026-04-05)"),
        ("two weeks ago", "two weeks ago (2026-03-30 to 2026-04-05)"),
        ("a month ago", "a month ago (2026-03-01 to 2026-03-31)"),
        ("a year ago", "a year ago (2025-01-01 to 2025-12-31)"),
        ("what did I do this week?", "this week (2026-04-13 to 2026-04-19)"),
        ("what does the plan from last week say?", "last week (2026-04-06 to 2026-04-12)"),
        ("what did we say about hedges last week?", "last week (2026-04-06 to 2026-04-12)"),
        ("plans about yesterday", "yesterday (2026-04-17)"),
    ],
)
def test_a_period_is_understood(query: str, expected: str) -> None:
    assert str(period_in(query, SATURDAY)) == expected


@pytest.mark.parametrize(
    "query",
    ["", "the last hedge", "blast week", "weekly", "may we cut?", "5000 years ago", "in 0000",
     "march of the slugs"],
)  # fmt: skip
def test_other_words_are_none(query: str) -> None:
    assert period_in(query, SATURDAY) is None


@pytest.mark.parametrize(
    "query",
    [
        "the song Yesterday", "what did they say on Last Week Tonight", "1.5 weeks ago", "2,5 days ago",
        "-3 days ago", "plan NOT yesterday", "what did we not do yesterday", "plans before last week",
        "everything except what we said last week", "notes since last month", "until yesterday",
        "last week or earlier", "older than 3 weeks ago", "why didn't it run yesterday?",
        "yesterday and last Friday", "last week and in March", "the day after yesterday",
        "last week of March", "the end of last month", "early last year", "from 2024 to 2026",
        "from 2026-03-15", "2 days before yesterday", "the week before last week",
        "last week's frost", "yesterday’s rain", "tomorrow or today", "last spring",
        '"last week we met"', 'hedge "yesterday', "“last week”", "'last week' in a song",
        "What do we do about taxes in April?", "When does the lease end in 2027?",
        "taxes in May 2026", "taxes in April 2026", "What is due in March 2026?",
        "What is due today?", "what do we do this month?", "when does the lease end this year?",
        "over a month ago", "about a year ago", "almost 2 years ago", "at least two weeks ago",
        "just under a year ago", "plans instead of last week", "unlike last year", "like last year",
        "the plan as of last week", "as early as last month", "the same as last year",
        "starting last week", "compared with last year", "plan all but last week",
        "plan ignoring last week", "plan aside from last week", "plan minus last week",
        "plan !last week", "plan `last week`", "plan 「last week」", "it isnt yesterday",
        "pre-last week", "post last month", "2 or 3 days ago", "2–3 days ago", "@yesterday",
        "#yesterday", "notes/yesterday", "this time last year", "the same week last year",
        "what's on this week", "letter from April Smith", "a song from August Burns Red",
    ],
)  # fmt: skip
def test_a_question_about_something_else_is_not_narrowed(query: str) -> None:
    assert period_in(query, SATURDAY) is None


@given(
    st.text(max_size=50)
    | st.from_regex(r"(last|past|in) \d{1,5} (days|weeks|months)( ago)?", fullmatch=True),
    st.datetimes(),
)
def test_no_question_fails(query: str, asked: datetime) -> None:
    found = period_in(query, asked.replace(tzinfo=timezone.utc))
    assert found is None or found.after < found.before


def test_a_long_question_takes_linear_time() -> None:
    assert period_in("last " * 200_000 + "week", SATURDAY) is None


class TestRecall:
    @pytest.fixture
    def hedges(self, root: MemoryRoot) -> MemoryRoot:
        """Notes on the hedge from last week and last year, and one without a date."""
        put(root.path, "notes/week.md", "---\ndate: 2026-04-07\n---\nThe hedge was cut.\n")
        put(root.path, "notes/year.md", "---\ndate: 2025-04-07\n---\nThe hedge was laid.\n")
        put(root.path, "notes/none.md", "The hedge is there. Last week is a phrase.\n")
        return root

    def test_it_narrows_the_time(self, hedges: MemoryRoot) -> None:
        found = hedges.recall("the hedge last week", question_date=SATURDAY)
        assert [one.file for one in found] == ["notes/week.md"]
        assert found.left_out == {"filtered": 2}
        assert found.period is not None
        assert found.to_dict()["period"] == {
            "phrase": "last week",
            "after": "2026-04-06T00:00:00+00:00",
            "before": "2026-04-13T00:00:00+00:00",
            "found": True,
        }
        assert Period.from_dict(found.period.to_dict()) == found.period

    def test_nothing_from_then_is_said(self, hedges: MemoryRoot) -> None:
        found = hedges.recall("the hedge yesterday", question_date="2026-04-18")
        assert len(found) == 3
        assert found.period is not None
        assert not found.period.found

    def test_without_a_date_it_is_words(self, hedges: MemoryRoot) -> None:
        assert hedges.recall("the hedge last week").period is None
        assert len(hedges.recall("the hedge last week")) == 3

    def test_what_was_asked_for_counts_more(self, hedges: MemoryRoot) -> None:
        found = hedges.recall("hedge last week", question_date=SATURDAY, after="2025-01-01")
        assert (found.period, len(found)) == (None, 2)

    def test_a_period_alone_is_searched_for_by_its_words(self, hedges: MemoryRoot) -> None:
        found = hedges.recall("last month", question_date=SATURDAY)
        assert found.period is not None
        assert not found.period.found

    @pytest.mark.parametrize(
        "query", ["last week", "what did I do last week", "gardening last week?"]
    )
    def test_memories_from_then_are_listed_if_none_has_the_other_words(
        self, hedges: MemoryRoot, query: str
    ) -> None:
        put(
            hedges.path,
            "notes/later.md",
            "---\ndate: 2026-04-09\n---\n# Later\n\nIt rained.\n\n## More\n",
        )
        put(hedges.path, "notes/void.md", "---\ndate: 2026-04-10\n---\n")
        found = hedges.recall(query, question_date=SATURDAY)
        assert [one.file for one in found] == ["notes/later.md", "notes/week.md"]
        assert [one.validity for one in found] == [HOLDS, HOLDS]
        assert found.period is not None
        assert (found.period.found, found.period.is_listed) == (True, True)
        why = "" if query == "last week" else ": no memory has the other words"
        assert found.notices == (
            f"The memories from last week (2026-04-06 to 2026-04-12), newest first{why}. To search "
            'memories of any time, put the words in quotes: "last week".',
        )
        [newest] = hedges.recall(query, question_date=SATURDAY, limit=1)
        assert newest.file == "notes/later.md"
        packed = hedges.context(query, question_date=SATURDAY)
        assert [one.text for one in packed.passages][::2] == [
            "# Later\n\nIt rained.",
            "The hedge was cut.",
        ]

    def test_a_list_has_the_filters_and_what_holds(self, hedges: MemoryRoot) -> None:
        put(hedges.path, "notes/tagged.md", "---\ndate: 2026-04-08\ntags: [a]\n---\nIt rained.\n")
        found = hedges.recall("what did I do last week", question_date=SATURDAY, tags=["a"])
        assert [one.file for one in found] == ["notes/tagged.md"]
        hedges.retract("notes/tagged.md")
        found = hedges.recall("what did I do last week", question_date=SATURDAY)
        assert [one.file for one in found] == ["notes/week.md"]

    def test_words_that_others_have_are_searched_for(self, hedges: MemoryRoot) -> None:
        found = hedges.recall("what was laid last week?", question_date=SATURDAY)
        assert found.period is not None
        assert not found.period.found
        assert found.results[0].file == "notes/year.md"

    def test_a_context_has_it_too(self, hedges: MemoryRoot) -> None:
        packed = hedges.context("the hedge last week", question_date=date(2026, 4, 18))
        assert [one.file for one in packed.passages] == ["notes/week.md"]

    @pytest.mark.parametrize(
        ("asked", "day"),
        [
            ("2026-04-18T01:00+05:00", "2026-04-18T00:00:00+05:00"),
            ("2026-04-18T23:00-08:00", "2026-04-18T00:00:00-08:00"),
            (datetime(2026, 4, 18, 1, tzinfo=timezone(timedelta(hours=13))),
             "2026-04-18T00:00:00+13:00"),
            ("2026-04-18", "2026-04-18T00:00:00+00:00"),
        ],
    )  # fmt: skip
    def test_days_are_those_of_the_zone_of_the_question(
        self, root: MemoryRoot, asked: datetime | str, day: str
    ) -> None:
        for date_ in ("2026-04-17", "2026-04-18", "2026-04-19"):
            put(root.path, f"notes/{date_}.md", "The hedge.\n")
        found = root.recall("hedge today", question_date=asked)
        assert found.period is not None
        assert found.period.after.isoformat() == day
        assert [one.file for one in found] == ["notes/2026-04-18.md"]

    def test_the_notice_says_how_to_undo_it(self, hedges: MemoryRoot) -> None:
        found = hedges.recall("the hedge last week", question_date=SATURDAY)
        assert found.notices == (
            "Only memories from last week (2026-04-06 to 2026-04-12). To search memories of any time, put the "
            'words in quotes: "last week".',
        )
        undone = hedges.recall('the hedge "last week"', question_date=SATURDAY)
        assert (undone.period, undone.notices, len(undone)) == (None, (), 3)

    def test_every_face_narrows_alike(self, hedges: MemoryRoot) -> None:
        packed = hedges.context("the hedge yesterday", question_date=SATURDAY)
        found = hedges.recall("the hedge yesterday", question_date=SATURDAY)
        assert packed.notices == found.notices
        assert found.notices == (
            "Nothing that was found is from yesterday (2026-04-17). Memories of any time are shown.",
        )

    @pytest.mark.parametrize("command", ["recall", "search"])
    def test_the_commands_narrow_alike(self, hedges: MemoryRoot, command: str) -> None:
        told = run(command, "the hedge yesterday", "--root", str(hedges.path)).stdout
        assert "Nothing that was found is from yesterday" in told
        told = run(command, 'the hedge "yesterday"', "--root", str(hedges.path)).stdout
        assert "yesterday" not in told.partition("1. ")[2]

    def test_the_words_are_searched_for_if_nothing_is_from_then(self, hedges: MemoryRoot) -> None:
        asked = SATURDAY + timedelta(days=365)
        found = hedges.recall("last week is a phrase", question_date=asked)
        assert found.results[0].file == "notes/none.md"

    def test_a_date_that_is_none_is_refused(self, hedges: MemoryRoot) -> None:
        with pytest.raises(InvalidInputError, match="question_date must be a date that exists"):
            hedges.recall("last week", question_date="2026-02-30")


def test_ages_are_taken() -> None:
    asked = SATURDAY - timedelta(days=7)
    assert str(period_in("today", asked)) == "today (2026-04-11)"


class TestTimesInWords:
    """A year or words as `after`, `before` and `as_of`."""

    @pytest.mark.parametrize(
        ("words", "start", "end"),
        [
            ("2025", "2025-01-01", "2025-12-31"),
            ("yesterday", "2026-04-17", "2026-04-17"),
            (" Last week ", "2026-04-06", "2026-04-12"),
            ("from March", "2026-03-01", "2026-03-31"),
            ("2 weeks ago", "2026-03-30", "2026-04-05"),
        ],
    )
    def test_they_begin_and_end(self, words: str, start: str, end: str) -> None:
        zone = timezone.utc if words.isdigit() else None
        begins = checked_start(words, "after", SATURDAY).astimezone(zone)
        ends = checked_end(words, "as_of", SATURDAY).astimezone(zone)
        assert f"{begins:%Y-%m-%d %H:%M}" == f"{start} 00:00"
        assert f"{ends:%Y-%m-%d %H:%M}" == f"{end} 23:59"

    @pytest.mark.parametrize("words", ["slugs yesterday", "1066", "20255", "tomorrow", "soon", ""])
    def test_any_other_text_is_refused(self, words: str) -> None:
        with pytest.raises(InvalidInputError, match="after must be a date that exists"):
            checked_start(words, "after", SATURDAY)
        with pytest.raises(InvalidInputError, match="as_of must be a date that exists"):
            checked_end(words, "as_of", SATURDAY)

    def test_a_recall_takes_them(self, tmp_path: Path) -> None:
        put(tmp_path, "notes/old.md", "---\ndate: 2024-06-01\n---\nblue slugs\n")
        put(tmp_path, "notes/new.md", "---\ndate: 2025-06-01\n---\nblue snails\n")
        with MemoryRoot.open(tmp_path) as memory:
            assert [one.file for one in memory.recall("blue", after="2025")] == ["notes/new.md"]
            assert [one.file for one in memory.recall("blue", before="2025")] == ["notes/old.md"]
            assert not memory.recall("blue", after="yesterday").results
            assert len(memory.recall("blue", as_of="yesterday").results) == 2
