"""Duplicates: memories with the same text as others, and those that are like others."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, ClassVar

import pytest

import hedgerow as hr
from hedgerow import HedgerowError, InvalidInputError, MemoryRoot
from hedgerow._engine import LIKE, _compare, _repeats
from hedgerow.memory import SimilarMemory
from hedgerow.memory.remembering import MOST_SIMILAR, WRAPUP_SECTIONS
from memory_doubles import put

HEDGE = "We cut the hedge in August, after the birds have left the nests."
MARCH = HEDGE.replace("August", "March")


def _likeness(one: str, other: str) -> float:
    """Return the likeness of two texts."""
    return _compare(one, [other])[0][1]


def refused(root: MemoryRoot, text: str) -> str:
    """Return the error message for a memory that exists already."""
    with pytest.raises(HedgerowError) as raised:
        root.remember(text, title="Again")
    assert raised.value.code == "duplicate_memory"
    return str(raised.value)


class TestRemember:
    @pytest.mark.parametrize(
        "text",
        [
            HEDGE,
            f"# Another title\n\n{HEDGE.upper()}",
            HEDGE.replace(" ", "\n\n"),
            HEDGE.replace("A", "\N{FULLWIDTH LATIN CAPITAL LETTER A}"),
        ],
    )
    def test_the_same_text_is_refused(self, root: MemoryRoot, text: str) -> None:
        there = root.remember(HEDGE, title="Hedge").file
        assert refused(root, text) == (
            f'nothing was written: {there} has the same text; to keep both: on_duplicate="keep"; '
            'to replace that memory: on_duplicate="supersede"'
        )
        assert len(list(root.path.glob("notes/*.md"))) == 1

    def test_a_near_duplicate_is_written_and_named(self, root: MemoryRoot) -> None:
        there = root.remember(HEDGE, title="Hedge").file
        done = root.remember(MARCH, title="March")
        assert done.indexed
        assert done.similar == (SimilarMemory(there, _likeness(HEDGE, MARCH)),)
        assert str(done.similar[0]) == f"{there} (80 %)"
        assert done.to_dict()["similar"] == [{"file": there, "likeness": done.similar[0].likeness}]

    def test_the_most_similar_are_named_first(self, root: MemoryRoot) -> None:
        further = ["Now", "we", "rest", "there", "too", "all"]
        texts = [f"{HEDGE} {' '.join(further[:count])}" for count in range(1, len(further) + 1)]
        files = [root.remember(one, title="Hedge", on_duplicate="keep").file for one in texts]
        similar = root.remember(HEDGE, title="Hedge").similar
        expected = sorted(
            (-_likeness(HEDGE, one), file) for one, file in zip(texts, files, strict=True)
        )
        assert [(-one.likeness, one.file) for one in similar] == expected[:MOST_SIMILAR]

    @pytest.mark.parametrize(
        "text",
        [
            "We cut the hedge.",
            f"{HEDGE} The ladder is at Tom's, the shears are blunt, and it rains.",
        ],
    )
    def test_another_text_has_no_similar_memory(self, root: MemoryRoot, text: str) -> None:
        root.remember(HEDGE, title="Hedge")
        done = root.remember(text, title="Hedge")
        assert (done.indexed, done.similar) == (True, ())
        assert "similar" not in done.to_dict()

    def test_texts_without_words_are_never_the_same(self, root: MemoryRoot) -> None:
        root.remember("\N{HORIZONTAL ELLIPSIS}", title="!")
        assert root.remember("\N{HORIZONTAL ELLIPSIS}", title="!").indexed

    @pytest.mark.parametrize("text", [HEDGE, MARCH])
    def test_refuse_refuses_near_duplicates_too(self, root: MemoryRoot, text: str) -> None:
        there = root.remember(HEDGE, title="Hedge", on_duplicate="refuse").file
        with pytest.raises(
            HedgerowError, match=f"{there} (has the same text|is 80 % like it)"
        ) as raised:
            root.remember(text, title="Again", on_duplicate="refuse")
        assert raised.value.code == "duplicate_memory"
        assert len(list(root.path.glob("notes/*.md"))) == 1

    @pytest.mark.parametrize("text", [HEDGE, MARCH])
    def test_keep_refuses_nothing(self, root: MemoryRoot, text: str) -> None:
        first = root.remember(HEDGE, title="Hedge")
        second = root.remember(text, title="Hedge", on_duplicate="keep")
        assert first.file != second.file
        assert second.superseded is None
        assert [one.file for one in second.similar] == [first.file]

    @pytest.mark.parametrize("text", [HEDGE, MARCH])
    def test_supersede_replaces_the_most_similar(self, root: MemoryRoot, text: str) -> None:
        other = root.remember(f"{HEDGE} And in May.", title="May")
        old = root.remember(HEDGE, title="Hedge")
        new = root.remember(text, title="Hedge", on_duplicate="supersede")
        assert new.superseded == old.file
        assert new.to_dict()["superseded"] == old.file
        assert [one.file for one in new.similar] == [other.file]
        assert {one.file for one in root.recall("hedge")} == {new.file, other.file}
        assert root.validity(old.file).by == (new.file,)

    def test_without_a_similar_memory_nothing_is_superseded(self, root: MemoryRoot) -> None:
        done = root.remember(HEDGE, title="Hedge", on_duplicate="supersede")
        assert done.superseded is None
        assert "superseded" not in done.to_dict()

    def test_a_memory_that_no_longer_holds_does_not_count(self, root: MemoryRoot) -> None:
        root.retract(root.remember(HEDGE, title="Hedge").file)
        assert root.remember(MARCH, title="Hedge").similar == ()
        assert root.remember(HEDGE, title="Hedge").indexed

    def test_files_written_by_hand_count_after_a_sync(self, root: MemoryRoot) -> None:
        put(root.path, "notes/by-hand.md", f"---\ntags: [hedge]\n---\n\n{HEDGE}\n")
        root.sync()
        assert "notes/by-hand.md has the same text" in refused(root, HEDGE)

    def test_a_file_that_is_gone_is_no_duplicate(self, root: MemoryRoot) -> None:
        (root.path / root.remember(HEDGE, title="Hedge").file).unlink()
        assert root.remember(HEDGE, title="Hedge").similar == ()

    def test_a_damaged_index_is_made_anew(self, root: MemoryRoot) -> None:
        there = root.remember(HEDGE, title="Hedge").file
        root.close()
        (root.path / ".hedgerow/index.db").write_bytes(b"no index")
        assert f"{there} has the same text" in refused(root, HEDGE)

    def test_an_unknown_choice_is_refused(self, root: MemoryRoot) -> None:
        with pytest.raises(InvalidInputError) as raised:
            root.remember(HEDGE, title="T", on_duplicate="ignore")  # type: ignore[arg-type]
        assert raised.value.message == (
            "on_duplicate must be one of report, refuse, keep, supersede, not 'ignore'"
        )

    def test_a_long_text_is_compared_whole(self, root: MemoryRoot) -> None:
        text = " ".join(f"word{number}" for number in range(5000))
        root.remember(text, title="Long")
        assert "has the same text" in refused(root, text)
        assert root.remember(text[: len(text) // 2], title="Half").similar == ()

    def test_a_text_with_a_common_beginning_is_found_among_many(self, root: MemoryRoot) -> None:
        frame = " ".join(f"word{number}" for number in range(200))
        for number in range(40):
            put(root.path, f"notes/n{number}.md", f"{frame} closing{number}\n")
        root.sync()
        assert "notes/n31.md has the same text" in refused(root, f"{frame} closing31")


class TestOtherWriters:
    """`supersede` with a text refuses the same text, `wrapup` none; both name similar memories."""

    def test_supersede(self, root: MemoryRoot) -> None:
        old = root.remember("Hedges are cut in spring.", title="Spring").file
        there = root.remember(HEDGE, title="Hedge").file
        with pytest.raises(HedgerowError) as raised:
            root.supersede(old, text=HEDGE)
        assert raised.value.code == "duplicate_memory"
        assert raised.value.key == there
        assert str(raised.value) == (
            f"nothing was written: {there} has the same text; to supersede by that memory: "
            f'root.supersede(old="{old}", by="{there}")'
        )
        with pytest.raises(HedgerowError, match=f"{old} has the same text$"):
            root.supersede(old, text="hedges are cut in spring.")
        done = root.supersede(old, text=MARCH)
        assert [one.file for one in done.similar] == [there]
        # The old memory is not named, though it is like the new one.
        assert root.supersede(there, text=HEDGE.replace("cut", "trim")).similar == ()

    def test_wrapup(self, root: MemoryRoot) -> None:
        sections = "\n\n".join(f"## {name}\n\n{HEDGE}" for name in WRAPUP_SECTIONS)
        first = root.wrapup(sections, title="Monday")
        assert first.similar == ()
        again = root.wrapup(sections, title="Tuesday")
        assert again.similar == (SimilarMemory(first.file, 1.0),)
        third = root.wrapup(f"{sections}\n\nThe shears are blunt.", title="Wednesday")
        assert {one.file for one in third.similar} == {first.file, again.file}
        assert third.to_dict()["similar"][0]["likeness"] < 1


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
        """Three copies, of which the second is the oldest, a near-duplicate twice, and two others."""
        put(tmp_path, "notes/a.md", f"---\ndate: 2026-02-01\n---\n{HEDGE}\n")
        put(tmp_path, "notes/b.md", f"---\ndate: 2025-02-01\n---\n# Hedge\n\n{HEDGE}\n")
        put(tmp_path, "notes/c.md", f"{HEDGE.upper()}\n")
        put(tmp_path, "notes/d.md", f"---\ndate: 2026-03-01\n---\n{MARCH}\n")
        put(tmp_path, "notes/d2.md", f"{MARCH}\n")
        put(tmp_path, "notes/e.md", "# Empty\n")
        put(tmp_path, "notes/e2.md", "# Empty\n")
        put(tmp_path, "notes/f.md", f"---\nretracted: true\n---\n{HEDGE}\n")
        return MemoryRoot.open(tmp_path)

    def test_a_plan_writes_nothing(self, copies: MemoryRoot) -> None:
        before = {file: file.read_bytes() for file in copies.path.glob("notes/*.md")}
        plan = copies.process("dedupe")
        assert plan.summary == (
            "1 group: 3 with the same text, 1 similar.",
            "notes/a.md has the same text as notes/b.md: would be superseded by it.",
            "notes/c.md has the same text as notes/b.md: would be superseded by it.",
            "notes/d.md is 80 % like notes/b.md: left as it is.",
            "notes/d2.md has the same text as notes/d.md: would be superseded by it.",
        )
        assert plan.files == ("notes/b.md", "notes/a.md", "notes/c.md", "notes/d.md", "notes/d2.md")
        likeness = _likeness(HEDGE, MARCH)
        similar = {
            "notes/a.md": 1,
            "notes/c.md": 1,
            "notes/d.md": likeness,
            "notes/d2.md": likeness,
        }
        [group] = plan.groups
        assert (group.file, {one.file: one.likeness for one in group.similar}) == (
            "notes/b.md",
            similar,
        )
        assert plan.to_dict()["groups"][0]["similar"][0] == {"file": "notes/a.md", "likeness": 1.0}
        assert not plan.applied
        assert before == {file: file.read_bytes() for file in copies.path.glob("notes/*.md")}

    def test_the_oldest_supersedes_those_with_the_same_text(self, copies: MemoryRoot) -> None:
        done = copies.process("dedupe", apply=True)
        assert done.applied
        assert set(done.files) == {f"notes/{name}.md" for name in ("a", "b", "c", "d", "d2")}
        assert {one.file for one in copies.recall("hedge")} == {"notes/b.md", "notes/d.md"}
        assert copies.process("dedupe").summary[0] == "1 group: 0 with the same text, 1 similar."

    def test_above_marks_similar_memories_too(self, copies: MemoryRoot) -> None:
        plan = copies.process("dedupe", above=0.9)
        assert [one.file for one in plan.groups] == ["notes/b.md", "notes/d.md"]
        done = copies.process("dedupe", apply=True, above=0.8)
        assert done.summary[1:] == (
            "notes/a.md has the same text as notes/b.md: superseded by it.",
            "notes/c.md has the same text as notes/b.md: superseded by it.",
            "notes/d.md is 80 % like notes/b.md: superseded by it.",
            "notes/d2.md is 80 % like notes/b.md: superseded by it.",
        )
        assert {one.file for one in copies.recall("hedge")} == {"notes/b.md"}
        assert copies.process("dedupe").summary == ("No memory is like an older one.",)

    @pytest.mark.parametrize(("mode", "above"), [("dedupe", 0.5), ("dedupe", 1.1), ("lint", 0.9)])
    def test_above_has_bounds_and_a_mode(self, root: MemoryRoot, mode: Any, above: float) -> None:
        with pytest.raises(InvalidInputError, match="above"):
            root.process(mode, above=above)

    def test_restore_undoes_it(self, copies: MemoryRoot) -> None:
        before = {file: file.read_bytes() for file in copies.path.glob("notes/*.md")}
        copies.process("dedupe", apply=True)
        for name in ("a", "c", "d2"):
            copies.restore(f"notes/{name}.md")
        after = {file: file.read_bytes() for file in copies.path.glob("notes/*.md")}
        assert after == before

    def test_a_file_that_has_to_be_edited_by_hand_is_named(self, copies: MemoryRoot) -> None:
        put(copies.path, "notes/a.md", f"---\nnotes: [a\n---\n{HEDGE}\n")
        done = copies.process("dedupe", apply=True)
        assert [(one.path, one.code) for one in done.unreadable] == [
            ("notes/a.md", "invalid_front_matter")
        ]
        assert "notes/a.md" not in done.files

    def test_only_selected_memories_are_compared(self, copies: MemoryRoot) -> None:
        nothing = "No memory is like an older one."
        assert copies.process("dedupe", topic="pears").summary == (nothing,)
        assert copies.process("dedupe", since="2026-02-15").summary[0] == nothing

    def test_memories_of_different_scopes_are_no_copies(self, tmp_path: Path) -> None:
        for user in ("ana", "ben", "cleo"):
            put(tmp_path, f"notes/{user}.md", f"---\nscope: {{user: {user}}}\n---\n{HEDGE}\n")
        put(tmp_path, "notes/ana-2.md", f"---\nscope: {{user: ana}}\n---\n{HEDGE}\n")
        root = MemoryRoot.open(tmp_path)
        assert [one.file for one in root.process("dedupe").groups] == ["notes/ana-2.md"]
        assert [one.file for one in root.audit().findings] == ["notes/ana.md"]


class TestLikeness:
    """The rule: the share of common words, signs and pairs of neighbors, of those that either text has."""

    TEXT = (
        "We cut the hedge in August, after the birds have left the nests. The cuttings go on the heap. "
        "Leave two metres at the gate, and 30 cm of the old wood."
    )

    EDITS: ClassVar[dict[str, tuple[str, str]]] = {
        "case and white space": ("hedge in", "HEDGE\n\nin"),
        "a sign": ("August,", "August"),
        "a number": ("30 cm", "45 cm"),
        "a negation": ("We cut", "We never cut"),
        "a word": ("August", "March"),
        "the order of sentences": (f"{TEXT[:64]} {TEXT[65:95]}", f"{TEXT[65:95]} {TEXT[:64]}"),
    }

    @pytest.mark.parametrize("edit", EDITS)
    def test_a_copy_with_one_edit_is_like_the_text(self, edit: str) -> None:
        edited = self.TEXT.replace(*self.EDITS[edit])
        assert edited != self.TEXT
        assert LIKE < _likeness(self.TEXT, edited) <= 1
        [(is_same, likeness)] = _compare(self.TEXT, [edited])
        assert is_same == (edit == "case and white space") == (likeness == 1)

    def test_more_edits_make_texts_less_alike(self) -> None:
        edited = [self.TEXT]
        for edit in ("a sign", "a number", "a negation", "a word"):
            edited.append(edited[-1].replace(*self.EDITS[edit]))
        edited.append(f"{edited[-1][70:]} {edited[-1][:70]}")
        found = [_likeness(self.TEXT, one) for one in edited]
        assert found == sorted(set(found), reverse=True)

    @pytest.mark.parametrize(
        ("text", "edited", "other"),
        [
            (
                "刺猬在树篱下冬眠，直到三月。",
                "刺猬在树篱下冬眠，直到四月。",
                "我们在八月修剪树篱。",
            ),
            (
                "ハリネズミは生け垣の下で冬眠する。",
                "ハリネズミは生け垣の中で冬眠する。",
                "八月に生け垣を刈る。",
            ),
            ("เม่นจำศีลใต้พุ่มไม้ในฤดูหนาว", "เม่นจำศีลใต้พุ่มไม้ในฤดูฝน", "เราตัดพุ่มไม้ในเดือนสิงหาคม"),
            (
                "고슴도치는 울타리 밑에서 겨울잠을 잔다.",
                "고슴도치는 울타리 옆에서 겨울잠을 잔다.",
                "팔월에 울타리를 자른다.",
            ),
            (
                "Ёж зимует под живой изгородью до марта.",
                "Ёж зимует под живой изгородью до мая.",
                "Мы стрижём её в августе.",
            ),
        ],
    )
    def test_it_works_in_every_script(self, text: str, edited: str, other: str) -> None:
        assert LIKE < _likeness(text, edited) < 1
        assert _likeness(text, other) < LIKE / 2

    def test_many_texts_take_near_linear_time(self) -> None:
        chosen = random.Random(1)  # noqa: S311 - no secret
        frame = " ".join(f"f{number}" for number in range(60))
        frequent = [
            " ".join(f"w{chosen.paretovariate(0.7):.0f}" for _ in range(60)) for _ in range(5_000)
        ]
        framed = [f"{frame} {number} {chosen.random()}" for number in range(5_000)]
        began = time.process_time()
        _repeats([*frequent, *framed])
        assert time.process_time() - began < 20


@pytest.mark.parametrize("on_duplicate", ["report", "refuse", "keep", "supersede"])
def test_an_empty_root_has_no_duplicates(
    tmp_path: Path, on_duplicate: hr.typing.OnDuplicate
) -> None:
    root = MemoryRoot.open(tmp_path)
    done = root.remember(HEDGE, title="Hedge", on_duplicate=on_duplicate)
    assert (done.superseded, done.similar) == (None, ())
