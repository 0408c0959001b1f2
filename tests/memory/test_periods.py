"""Periods that a query names, in every language of the calendar: they rank memories, and leave none out."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_line import run
from hedgerow import InvalidInputError, MemoryRoot
from hedgerow._operations.operation import sent_arguments
from hedgerow.memory import index_handle
from hedgerow.memory.operations import ContextRequest, RecallRequest
from hedgerow.memory.times import HOLDS, checked_end, checked_start
from memory_doubles import put

SATURDAY = datetime(2026, 4, 18, 9, 30, tzinfo=timezone.utc)
LAST_WEEK = {
    "en": "last week", "de": "letzte Woche", "fr": "la semaine dernière", "es": "la semana pasada",
    "pt": "semana passada", "it": "settimana scorsa", "nl": "vorige week",
    "ru": "на прошлой неделе", "zh": "上周", "ja": "先週",
}  # fmt: skip


@pytest.fixture
def hedges(root: MemoryRoot) -> MemoryRoot:
    """Notes on the hedge from last year, from last week, and without a date, best by words first."""
    put(root.path, "notes/old.md", "---\ndate: 2025-04-07\n---\nThe hedge, the hedge was laid.\n")
    put(root.path, "notes/new.md", "---\ndate: 2026-04-07\n---\nThe hedge was cut, and burnt.\n")
    put(root.path, "notes/none.md", "She wrote: last week is a phrase.\n")
    return root


def files(found: Any) -> list[str]:
    return [one.file.removeprefix("notes/").removesuffix(".md") for one in found]


class TestRank:
    @pytest.mark.parametrize("phrase", LAST_WEEK.values())
    def test_memories_of_the_period_come_first_and_others_stay(
        self, hedges: MemoryRoot, phrase: str
    ) -> None:
        assert files(hedges.recall("hedge"))[0] == "old"
        found = hedges.recall(f"hedge {phrase}", question_date=SATURDAY)
        assert files(found)[:2] == ["new", "old"]
        assert (found.left_out, found.notices) == ({}, ())

    @pytest.mark.parametrize(
        "query", ['hedge "last week"', "hedge -yesterday", "hedge", "the hedge in 1066"]
    )
    def test_other_words_do_not(self, hedges: MemoryRoot, query: str) -> None:
        much_later = SATURDAY.replace(year=2035)
        found = hedges.recall(query, question_date=SATURDAY)
        assert files(found) == files(hedges.recall(query, question_date=much_later))

    def test_a_quoted_phrase_is_searched(self, hedges: MemoryRoot) -> None:
        assert files(hedges.recall('"last week"', question_date=SATURDAY)) == ["none"]

    @given(
        st.text(max_size=50).filter(str.strip)
        | st.from_regex(
            r"hedge (last|letzte|vor) \d{1,5} (days|Wochen|个月前|ago)", fullmatch=True
        ),
        st.datetimes(),
    )
    def test_no_question_leaves_anything_out(self, query: str, asked: datetime) -> None:
        request = RecallRequest(query, question_date=asked.replace(tzinfo=timezone.utc))
        assert (request.after, request.before) == (None, None)


class TestList:
    """A query without other words."""

    @pytest.fixture
    def dated(self, hedges: MemoryRoot) -> MemoryRoot:
        text = "---\ndate: 2026-04-09\n---\n# Later\n\nIt rained.\n\n## More\n"
        put(hedges.path, "notes/later.md", text)
        put(hedges.path, "notes/void.md", "---\ndate: 2026-04-10\n---\n")
        return hedges

    @pytest.mark.parametrize(
        "query",
        [*LAST_WEEK.values(), "what did I do last week?", "gardening vorige week?", "April 2026"],
    )  # fmt: skip
    def test_it_lists_the_memories_from_then_newest_first(
        self, dated: MemoryRoot, query: str
    ) -> None:
        found = dated.recall(query, question_date=SATURDAY)
        assert files(found) == ["later", "new"]
        assert [one.validity for one in found] == [HOLDS, HOLDS]
        assert files(dated.recall(query, question_date=SATURDAY, limit=1)) == ["later"]
        packed = dated.context(query, question_date=SATURDAY)
        assert [one.text for one in packed.passages][::2] == [
            "# Later\n\nIt rained.",
            "The hedge was cut, and burnt.",
        ]

    def test_without_memories_from_then_the_words_are_searched(self, dated: MemoryRoot) -> None:
        asked = SATURDAY + timedelta(days=365)
        assert files(dated.recall("last week", question_date=asked))[0] == "none"

    def test_it_has_the_filters_and_what_holds(self, dated: MemoryRoot) -> None:
        put(dated.path, "notes/tagged.md", "---\ndate: 2026-04-08\ntags: [a]\n---\nIt rained.\n")
        query = "what did I do last week"
        assert files(dated.recall(query, question_date=SATURDAY, tags=["a"])) == ["tagged"]
        dated.retract("notes/tagged.md")
        assert files(dated.recall(query, question_date=SATURDAY)) == ["later", "new"]
        assert files(dated.recall(query, question_date=SATURDAY, before="2026-04-09")) == ["new"]

    @pytest.mark.parametrize(
        ("asked", "expected"),
        [
            ("2026-04-18T01:00+05:00", ["18", "night"]),
            ("2026-04-17T23:00-08:00", ["17"]),
            (datetime(2026, 4, 18, 1, tzinfo=timezone(timedelta(hours=13))), ["18", "night"]),
            (date(2026, 4, 18), ["18"]),
            ("2026-04-18", ["18"]),
        ],
    )
    def test_days_are_those_of_the_zone_of_the_question(
        self, root: MemoryRoot, asked: datetime | date | str, expected: list[str]
    ) -> None:
        for day in ("17", "18", "19"):
            put(root.path, f"notes/{day}.md", f"---\ndate: 2026-04-{day}\n---\nThe hedge.\n")
        put(root.path, "notes/night.md", "---\ndate: 2026-04-17T22:00Z\n---\nThe owl.\n")
        found = sorted(files(root.recall("today", question_date=asked)))
        assert [one for one in found if one != "night" or "night" in expected] == expected


class TestQuestionDate:
    """The default is the present of the caller, on every face."""

    @pytest.mark.parametrize("kind", [RecallRequest, ContextRequest])
    def test_a_client_sends_its_own(self, kind: Callable[..., Any]) -> None:
        before = datetime.now().astimezone()
        sent = datetime.fromisoformat(sent_arguments(kind("hedge"))["question_date"])
        assert before <= sent <= datetime.now().astimezone()
        assert sent.utcoffset() == before.utcoffset()
        for dated in ({"as_of": "2026-01-01"}, {"question_date": "2026-01-01"}):
            assert sent_arguments(kind("hedge", **dated)) == {"query": "hedge", **dated}

    @pytest.fixture
    def today(self, root: MemoryRoot) -> MemoryRoot:
        """A note of today, and a better one by words of long ago."""
        day = datetime.now().astimezone().date()
        put(root.path, "notes/today.md", f"---\ndate: {day}\n---\nThe hedge was cut, and burnt.\n")
        put(root.path, "notes/old.md", "---\ndate: 2020-04-07\n---\nThe hedge, the hedge.\n")
        return root

    def test_python(self, today: MemoryRoot) -> None:
        assert files(today.recall("hedge"))[0] == "old"
        assert files(today.recall("hedge today"))[0] == "today"
        assert files(today.recall("hedge today", as_of="2024"))[0] == "old"

    @pytest.mark.parametrize("command", ["recall", "search"])
    def test_commands(self, today: MemoryRoot, command: str) -> None:
        shown = run(command, "hedge heute", "--root", str(today.path)).stdout
        assert shown.index("today.md") < shown.index("old.md")

    def test_a_date_that_is_none_is_refused(self, today: MemoryRoot) -> None:
        with pytest.raises(InvalidInputError, match="question_date must be a date that exists"):
            today.recall("last week", question_date="2026-02-30")


def test_a_recall_searches_once(hedges: MemoryRoot, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    made = index_handle._Recall

    def counted(*given: Any, **options: Any) -> Any:
        calls.append(given[2])
        return made(*given, **options)

    monkeypatch.setattr(index_handle, "_Recall", counted)
    queries = ["hedge last week", "gardening yesterday", "what did I do last week", "hedge in May"]
    for query in queries:
        hedges.recall(query, question_date=SATURDAY)
    assert calls == queries


class TestOptions:
    """A year or words as `after`, `before` and `as_of`."""

    @pytest.mark.parametrize(
        ("words", "start", "end"),
        [
            ("2025", "2025-01-01", "2025-12-31"),
            ("yesterday", "2026-04-17", "2026-04-17"),
            ("March", "2026-03-01", "2026-03-31"),
            ("2 weeks ago", "2026-03-30", "2026-04-05"),
            ("23.01.2024", "2024-01-23", "2024-01-23"),
            *((phrase, "2026-04-06", "2026-04-12") for phrase in LAST_WEEK.values()),
        ],
    )
    def test_they_begin_and_end(self, words: str, start: str, end: str) -> None:
        zone = timezone.utc if words.isdigit() else None
        begins = checked_start(words, "after", SATURDAY).astimezone(zone)
        ends = checked_end(words, "as_of", SATURDAY).astimezone(zone)
        assert f"{begins:%Y-%m-%d %H:%M}" == f"{start} 00:00"
        assert f"{ends:%Y-%m-%d %H:%M}" == f"{end} 23:59"

    @pytest.mark.parametrize(
        "words", ["slugs yesterday", "20255", "tomorrow", "soon", "", "05/04/2024"]
    )
    def test_any_other_text_is_refused(self, words: str) -> None:
        with pytest.raises(InvalidInputError, match="after must be a date that exists"):
            checked_start(words, "after", SATURDAY)
        with pytest.raises(InvalidInputError, match="as_of must be a date that exists"):
            checked_end(words, "as_of", SATURDAY)

    def test_a_recall_takes_them(self, tmp_path: Path) -> None:
        put(tmp_path, "notes/old.md", "---\ndate: 2024-06-01\n---\nblue slugs\n")
        put(tmp_path, "notes/new.md", "---\ndate: 2025-06-01\n---\nblue snails\n")
        with MemoryRoot.open(tmp_path) as memory:
            assert files(memory.recall("blue", after="2025")) == ["new"]
            assert files(memory.recall("blue", before="2025")) == ["old"]
            assert not memory.recall("blue", after="gestern").results
            assert len(memory.recall("blue", as_of="yesterday").results) == 2
