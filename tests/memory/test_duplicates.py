"""Duplicates: memories that exist already, and copies of each other."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

import hedgerow as hr
from hedgerow import HedgerowError, InvalidInputError, MemoryRoot
from hedgerow._engine import _likeness, _repeats, _words_of
from memory_doubles import put

HEDGE = "We cut the hedge in August, after the birds have left the nests."
MARCH = HEDGE.replace("August", "March")


def refused(root: MemoryRoot, text: str) -> str:
    """Return the error message for a memory that exists already."""
    with pytest.raises(HedgerowError) as raised:
        root.remember(text, title="Again")
    assert raised.value.code == "duplicate_memory"
    return raised.value.message


class TestRemember:
    @pytest.mark.parametrize(
        "text",
        [
            HEDGE,
            f"# Another title\n\n- **{HEDGE.upper()}**",
            HEDGE.replace(" ", "\n\n"),
            HEDGE.replace("A", "\N{FULLWIDTH LATIN CAPITAL LETTER A}"),
        ],
    )
    def test_what_says_the_same_is_refused(self, root: MemoryRoot, text: str) -> None:
        there = root.remember(HEDGE, title="Hedge").file
        assert refused(root, text) == (
            f'nothing was written: {there} says the same; keep both with on_duplicate="keep" '
            '(--force), or put the new one in its place with on_duplicate="supersede" (--supersede)'
        )
        assert len(list(root.path.glob("notes/*.md"))) == 1

    def test_what_says_nearly_the_same_is_refused(self, root: MemoryRoot) -> None:
        there = root.remember(HEDGE, title="Hedge").file
        assert f"{there} says nearly the same (86% of the words)" in refused(root, MARCH)

    def test_the_most_alike_is_named(self, root: MemoryRoot) -> None:
        root.remember(HEDGE, title="August")
        march = root.remember(MARCH, title="March", on_duplicate="keep").file
        assert f"{march} says the same" in refused(root, MARCH)

    @pytest.mark.parametrize(
        "text", ["We cut the hedge.", f"{HEDGE} The ladder is at Tom's, the shears are blunt."]
    )
    def test_what_says_something_else_is_written(self, root: MemoryRoot, text: str) -> None:
        root.remember(HEDGE, title="Hedge")
        assert root.remember(text, title="Hedge").indexed

    def test_texts_without_words_are_never_the_same(self, root: MemoryRoot) -> None:
        root.remember("…", title="!")
        assert root.remember("…", title="!").indexed

    def test_both_are_kept(self, root: MemoryRoot) -> None:
        first = root.remember(HEDGE, title="Hedge")
        second = root.remember(HEDGE, title="Hedge", on_duplicate="keep")
        assert first.file != second.file
        assert second.superseded is None

    def test_the_new_one_takes_the_place_of_the_old(self, root: MemoryRoot) -> None:
        old = root.remember(HEDGE, title="Hedge")
        new = root.remember(MARCH, title="Hedge", on_duplicate="supersede")
        assert new.superseded == old.file
        assert new.to_dict()["superseded"] == old.file
        assert [one.file for one in root.recall("hedge")] == [new.file]
        assert root.validity(old.file).by == (new.file,)

    def test_without_a_duplicate_nothing_is_superseded(self, root: MemoryRoot) -> None:
        done = root.remember(HEDGE, title="Hedge", on_duplicate="supersede")
        assert done.superseded is None
        assert "superseded" not in done.to_dict()

    def test_what_no_longer_holds_may_be_said_again(self, root: MemoryRoot) -> None:
        root.retract(root.remember(HEDGE, title="Hedge").file)
        assert root.remember(HEDGE, title="Hedge").indexed

    def test_files_written_by_hand_count_after_a_sync(self, root: MemoryRoot) -> None:
        put(root.path, "notes/by-hand.md", f"---\ntags: [hedge]\n---\n\n{HEDGE}\n")
        root.sync()
        assert "notes/by-hand.md says the same" in refused(root, HEDGE)

    def test_a_file_that_is_gone_is_no_duplicate(self, root: MemoryRoot) -> None:
        (root.path / root.remember(HEDGE, title="Hedge").file).unlink()
        assert root.remember(HEDGE, title="Hedge").indexed

    def test_a_damaged_index_is_made_anew(self, root: MemoryRoot) -> None:
        there = root.remember(HEDGE, title="Hedge").file
        root.close()
        (root.path / ".hedgerow/index.db").write_bytes(b"no index")
        assert f"{there} says the same" in refused(root, HEDGE)

    def test_a_choice_that_is_none_is_refused(self, root: MemoryRoot) -> None:
        with pytest.raises(InvalidInputError) as raised:
            root.remember(HEDGE, title="T", on_duplicate="ignore")  # type: ignore[arg-type]
        assert raised.value.message == (
            "on_duplicate must be one of error, keep, supersede, not 'ignore'"
        )

    def test_a_long_text_is_compared_whole(self, root: MemoryRoot) -> None:
        text = " ".join(f"word{number}" for number in range(5000))
        root.remember(text, title="Long")
        assert "says the same" in refused(root, text)
        assert root.remember(text[: len(text) // 2], title="Half").indexed


class TestAtOnce:
    """Several writers remember the same text at the same time."""

    def test_threads_write_it_once(self, root: MemoryRoot) -> None:
        roots = [MemoryRoot.open(root.path) for _ in range(4)]
        start = threading.Barrier(len(roots))

        def remember(one: MemoryRoot) -> str:
            start.wait()
            with one:
                try:
                    return one.remember(HEDGE, title="Hedge").file
                except HedgerowError as error:
                    return error.code

        with ThreadPoolExecutor(len(roots)) as pool:
            done = list(pool.map(remember, roots))
        assert done.count("duplicate_memory") == 3
        assert len(list(root.path.glob("notes/*.md"))) == 1

    def test_processes_write_it_once(self, root: MemoryRoot) -> None:
        code = "import sys, hedgerow as hr; hr.MemoryRoot.open(sys.argv[1]).remember(sys.argv[2], title='T')"
        command = [sys.executable, "-c", code, str(root.path), HEDGE]
        with ExitStack() as started:
            several = [
                started.enter_context(subprocess.Popen(command, stderr=subprocess.PIPE))
                for _ in range(4)
            ]
            errors = [one.communicate()[1] for one in several]
        assert sorted(one.returncode for one in several) == [0, 1, 1, 1], errors
        assert len(list(root.path.glob("notes/*.md"))) == 1


class TestDedupe:
    @pytest.fixture
    def copies(self, tmp_path: Path) -> MemoryRoot:
        """Three copies, of which the second is the oldest, a near-duplicate, and two others."""
        put(tmp_path, "notes/a.md", f"---\ndate: 2026-02-01\n---\n{HEDGE}\n")
        put(tmp_path, "notes/b.md", f"---\ndate: 2025-02-01\n---\n# Hedge\n\n{HEDGE}\n")
        put(tmp_path, "notes/c.md", f"*{HEDGE}*\n")
        put(tmp_path, "notes/d.md", f"---\ndate: 2026-03-01\n---\n{MARCH}\n")
        put(tmp_path, "notes/e.md", "# Empty\n")
        put(tmp_path, "notes/f.md", f"---\nretracted: true\n---\n{HEDGE}\n")
        return MemoryRoot.open(tmp_path)

    def test_a_plan_writes_nothing(self, copies: MemoryRoot) -> None:
        before = {file: file.read_bytes() for file in copies.path.glob("notes/*.md")}
        plan = copies.process("dedupe")
        assert plan.summary == (
            "2 duplicates.",
            "notes/a.md: would be superseded by notes/b.md, which says the same.",
            "notes/c.md: would be superseded by notes/b.md, which says the same.",
            "notes/d.md says nearly the same as notes/b.md (86% of the words): left as it is.",
        )
        assert plan.files == ("notes/b.md", "notes/a.md", "notes/c.md")
        assert not plan.applied
        assert before == {file: file.read_bytes() for file in copies.path.glob("notes/*.md")}

    def test_the_oldest_takes_the_place_of_the_others(self, copies: MemoryRoot) -> None:
        done = copies.process("dedupe", apply=True)
        assert done.applied
        assert set(done.files) == {"notes/a.md", "notes/b.md", "notes/c.md"}
        assert {one.file for one in copies.recall("hedge")} == {"notes/b.md", "notes/d.md"}
        assert copies.process("dedupe").summary[0] == "0 duplicates."

    def test_restore_undoes_it(self, copies: MemoryRoot) -> None:
        before = {file: file.read_bytes() for file in copies.path.glob("notes/*.md")}
        copies.process("dedupe", apply=True)
        copies.restore("notes/a.md")
        copies.restore("notes/c.md")
        after = {file: file.read_bytes() for file in copies.path.glob("notes/*.md")}
        assert after == before

    def test_a_file_that_has_to_be_edited_by_hand_is_named(self, copies: MemoryRoot) -> None:
        put(copies.path, "notes/a.md", f"---\nnotes: [a\n---\n{HEDGE}\n")
        done = copies.process("dedupe", apply=True)
        assert [(one.path, one.code) for one in done.unreadable] == [
            ("notes/a.md", "invalid_front_matter")
        ]
        assert set(done.files) == {"notes/b.md", "notes/c.md"}

    def test_only_what_is_asked_for_is_compared(self, copies: MemoryRoot) -> None:
        assert copies.process("dedupe", topic="pears").summary == ("0 duplicates.",)
        assert copies.process("dedupe", since="2026-01-15").summary[0] == "0 duplicates."


class TestSameness:
    def test_the_title_does_not_count(self) -> None:
        assert _words_of("# Title\n\nText *here*.") == _words_of("text here") == ["text", "here"]
        assert _words_of("# Only a title") == ["only", "a", "title"]

    def test_many_texts_take_near_linear_time(self) -> None:
        chosen = random.Random(1)  # noqa: S311 - no secret
        texts = [
            " ".join(f"w{chosen.paretovariate(0.7):.0f}" for _ in range(60)) for _ in range(10_000)
        ]
        began = time.process_time()
        _repeats(texts)
        assert time.process_time() - began < 20

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("Keep it at -18 degrees.", "Keep it at 18 degrees."),
            ("Keep it at \u221218 degrees.", "Keep it at 18 degrees."),
            ("The job is written in C++ for speed.", "The job is written in C# for speed."),
            ("The job is written in C for speed.", "The job is written in C++ for speed."),
            ("Alert if x > 3 in the log.", "Alert if x < 3 in the log."),
            ("Alert if x >= 3 in the log.", "Alert if x > 3 in the log."),
            ("Alert if a<b in the log.", "Alert if a>b in the log."),
            ("The price is 5 \u20ac a plant.", "The price is 5 % a plant."),
            ("The size is 3 * 4 metres there.", "The size is 3 + 4 metres there."),
            ("We cut the hedge in August.", "We cut the hedge in August?"),
            ("We cut the hedge in August.", "We never cut the hedge in August."),
            ("You should cut the hedge.", "You shouldn't cut the hedge."),
            ("We do cut the hedge in May.", "We don\u2019t cut the hedge in May."),
            ("Wir schneiden im August die Hecke.", "Wir schneiden im August keine Hecke."),
            ("The deploy went to \u2705 today.", "The deploy went to \u274c today."),
            (
                "Deploys are allowed on Fridays for all.",
                "Deploys are disallowed on Fridays for all.",
            ),
            ("The cache is enabled in the tests.", "The cache is disabled in the tests."),
            ("Deploy it with the flag in the end.", "Deploy it without the flag in the end."),
            ("Das Betreten ist hier im Haus erlaubt.", "Das Betreten ist hier im Haus unerlaubt."),
            ("Dat is in dit huis wel mogelijk.", "Dat is in dit huis wel onmogelijk."),
            ("Ana reports to Bob in the garden.", "Bob reports to Ana in the garden."),
            ("First cut the hedge, then mow.", "Then mow, first cut the hedge."),
            ("All of them are in [0, 1] here.", "All of them are in (0, 1) here."),
            ("Mix it in the ratio of 1:2 for all.", "Mix it in the ratio of 2:1 for all."),
            ("Take at most 10 mg of it a day.", "Take at most 10 g of it a day."),
            ("The field has 10² metres here.", "The field has 102 metres here."),
            ("- [x] water the plants", "- [ ] water the plants"),
            ("~~Use tabs~~ in this project.", "Use tabs in this project."),
            ("Run `a && b` in the build.", "Run `a || b` in the build."),
            ("القطط تدخل الحديقة كل يوم.", "القطط لا تدخل الحديقة كل يوم."),
            ("बिल्लियाँ बगीचे में आती हैं रोज़।", "बिल्लियाँ बगीचे में नहीं आती हैं रोज़।"),
        ],
    )
    def test_symbols_and_negations_count(self, one: str, other: str) -> None:
        assert _words_of(one) != _words_of(other)
        assert _likeness(one, [other]) == [0]
        assert _repeats([one, other]) == []

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("- cut *the* hedge", "1. cut **the** hedge"),
            ("> cut the hedge", "cut the <b>hedge</b>"),
            ("Cut, the \u201chedge\u201d \u2014 now.", "Cut the hedge now"),
            ("| cut | the |\n|-----|:---|\n| hedge | now |", "cut the\n\n---\n\nhedge now"),
            ("we don\u2019t cut", "we don't cut"),
            ("see [[hedge]] and [the hedge](hedge.md)", "see hedge and the hedge(hedge.md)"),
            ("the hedge (in August)", "the hedge in August"),
            ("see <https://example.org/a>", "see https://example.org/a"),
        ],
    )
    def test_markup_and_punctuation_do_not(self, one: str, other: str) -> None:
        expected = [word for word in _words_of(other) if word != "1"]
        assert [word for word in _words_of(one) if word != "1"] == expected

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("كِتَابٌ جديد", "كتاب جديد"),
            ("בַּיִת גדול", "בית גדול"),
            ("co\u00adoperate here", "cooperate here"),
            ("o\ufb03ce hours", "office hours"),
            ("\u1109\u1165울에서", "서울에서"),
            ("刺猬在树篱下冬眠。", "刺猬在树篱下冬眠"),
        ],
    )
    def test_points_forms_and_ligatures_do_not(self, one: str, other: str) -> None:
        assert _words_of(one) == _words_of(other) != []

    @pytest.mark.parametrize(
        ("one", "other"),
        [("किताब की", "किताब के"), ("ปีนี้", "ปูนี้"), ("한국", "한글"), ("刺猬冬眠", "刺猬不冬眠")],
    )
    def test_vowel_signs_are_letters(self, one: str, other: str) -> None:
        assert _words_of(one) != _words_of(other)

    def test_a_run_of_accents_takes_linear_time(self) -> None:
        assert (
            len(_words_of("a" + "\N{COMBINING ACUTE ACCENT}\N{COMBINING DOT BELOW}" * 200_000)) <= 2
        )


@pytest.mark.parametrize("on_duplicate", ["error", "keep", "supersede"])
def test_an_empty_root_has_no_duplicates(
    tmp_path: Path, on_duplicate: hr.typing.OnDuplicate
) -> None:
    root = MemoryRoot.open(tmp_path)
    assert root.remember(HEDGE, title="Hedge", on_duplicate=on_duplicate).superseded is None
