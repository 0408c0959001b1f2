"""A change of front matter changes one line and nothing else."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow import HedgerowError
from hedgerow._engine import read_front_matter
from hedgerow.memory.edit import Change, ListItems, planned


@pytest.fixture
def note(tmp_path: Path) -> Path:
    return tmp_path / "note.md"


def write(note: Path, text: str) -> None:
    note.write_bytes(text.encode())


def read(note: Path) -> str:
    return note.read_bytes().decode()


def set_field(note: Path, name: str, value: Any) -> bool:
    return planned(note.parent, note.name, Change(fields={name: value})).write()


def change_items(note: Path, name: str, *, add: Any = (), drop: Any = None) -> bool:
    return planned(note.parent, note.name, Change([ListItems(name, add, drop)])).write()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "---\nweight: 0.5 # mine\ntitle: A\n---\nbody\n",
            "---\nweight: 0.9 # mine\ntitle: A\n---\nbody\n",
        ),
        ("---\ntitle: A\n---\nbody\n", "---\ntitle: A\nweight: 0.9\n---\nbody\n"),
        ("---\r\ntitle: A\r\n---\r\nbody\r\n", "---\r\ntitle: A\r\nweight: 0.9\r\n---\r\nbody\r\n"),
        ("\ufeff---\ntitle: A\n---\nbody", "\ufeff---\ntitle: A\nweight: 0.9\n---\nbody"),
        ("body\n\nmore", "---\nweight: 0.9\n---\nbody\n\nmore"),
        ("", "---\nweight: 0.9\n---\n"),
        ("---\n---\nbody", "---\nweight: 0.9\n---\nbody"),
        ("---\nweight:\n---\nbody", "---\nweight: 0.9\n---\nbody"),
        (
            "---\ntext: |\n  a\n  b\n---\nbody\n",
            "---\ntext: |\n  a\n  b\nweight: 0.9\n---\nbody\n",
        ),
        (
            "---\ntexts:\n  - k: |\n      a\n---\nbody\n",
            "---\ntexts:\n  - k: |\n      a\nweight: 0.9\n---\nbody\n",
        ),
        (
            "---\ntitle: A\n...\nbody\u2028x\x0cy",
            "---\ntitle: A\nweight: 0.9\n...\nbody\u2028x\x0cy",
        ),
    ],
)
def test_a_field_is_set_and_all_else_stays(note: Path, before: str, after: str) -> None:
    write(note, before)
    assert set_field(note, "weight", 0.9)
    assert read(note) == after
    assert not set_field(note, "weight", 0.9)
    assert read(note) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("title: A\n", 'title: A\nrelated: ["b"]\n'),
        ("related: a # first\n", 'related: ["a","b"] # first\n'),
        ("related: []\nx: 1\n", 'related: ["b"]\nx: 1\n'),
        ("related: [a, 'c'] # two\n", "related: [a, 'c', \"b\"] # two\n"),
        (
            "related:\n  - a # first\n# about x\nx: 1\n",
            'related:\n  - a # first\n  - "b"\n# about x\nx: 1\n',
        ),
        (
            "related:\n- a\n- {to: c, strength: 0.5}\n",
            'related:\n- a\n- {to: c, strength: 0.5}\n- "b"\n',
        ),
        (
            "related:\n- to: c\n  strength: 0.5\nx: 1\n",
            'related:\n- to: c\n  strength: 0.5\n- "b"\nx: 1\n',
        ),
        ("related: [a,\n  c]\n", 'related: [a,\n  c, "b"]\n'),
    ],
)
def test_an_item_is_added(note: Path, before: str, after: str) -> None:
    write(note, f"---\n{before}---\nbody\n")
    assert change_items(note, "related", add=["b"])
    assert read(note) == f"---\n{after}---\nbody\n"
    assert not change_items(note, "related", add=["b"])


def test_an_item_is_added_to_a_file_with_windows_line_ends(note: Path) -> None:
    write(note, "---\r\nrelated:\r\n  - a\r\nx: 1\r\n---\r\nbody\r\n")
    assert change_items(note, "related", add=["b"])
    assert read(note) == '---\r\nrelated:\r\n  - a\r\n  - "b"\r\nx: 1\r\n---\r\nbody\r\n'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("related:\n  - a\n  - b # old\n  - c\n", "related:\n  - a\n  - c\n"),
        ("related:\n  - a\n  - to: b\n    strength: 1\nx: 1\n", "related:\n  - a\nx: 1\n"),
        ("related: [a, b]\n", 'related: ["a"]\n'),
        ("related: b\n", "related: []\n"),
        ("related:\n- b\n", "related: []\n"),
    ],
)
def test_items_are_dropped(note: Path, before: str, after: str) -> None:
    write(note, f"---\n{before}---\nbody\n")
    assert change_items(
        note, "related", drop=lambda item: item in ("b", {"to": "b", "strength": 1})
    )
    assert read(note) == f"---\n{after}---\nbody\n"
    assert not change_items(note, "related", drop=lambda item: item == "b")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("---\na: [1\n---\nbody\n", "it is not valid YAML"),
        ("---\n{a: 1, b: 2}\n---\nbody\n", "it is not one `key: value` a line"),
        (
            "---\nbase: &b [x]\nrelated: *b\n---\n",
            "the value of related is an alias",
        ),
        ("---\nrelated: # all\n  - {a: &x 1}\n---\n", "there is more than a value under related"),
        ("a\0b", "the file is binary, not text"),
    ],
)
def test_what_cannot_be_changed_safely_is_left_alone(note: Path, text: str, problem: str) -> None:
    write(note, text)
    with pytest.raises(HedgerowError) as caught:
        change_items(note, "related", add=["b"], drop=lambda item: item == {"a": 1})
    assert caught.value.code == "invalid_front_matter"
    assert caught.value.message.startswith(f"the front matter of {note} was not changed: ")
    assert problem in caught.value.message
    assert caught.value.message.endswith("; edit it by hand")
    assert read(note) == text


def test_a_file_that_is_not_there_is_named(note: Path) -> None:
    with pytest.raises(HedgerowError, match=r"note\.md was not changed: no such file"):
        set_field(note, "weight", 1)


def test_who_writes_at_the_same_time_loses_nothing(note: Path) -> None:
    write(note, "---\na: 1\n---\nbody\n")
    edit = planned(note.parent, note.name, Change(fields={"weight": 1}))
    write(note, "---\na: 1\n---\nbetter\n")
    with pytest.raises(
        HedgerowError, match="somebody changed the file at the same time; try again"
    ):
        edit.write()
    assert read(note) == "---\na: 1\n---\nbetter\n"


def test_an_error_of_the_choice_of_items_is_raised(note: Path) -> None:
    write(note, "---\na: [1]\n---\nbody\n")
    with pytest.raises(ZeroDivisionError):
        change_items(note, "a", drop=lambda item: 1 // (item - 1))
    assert read(note) == "---\na: [1]\n---\nbody\n"


def test_a_field_after_a_block_of_text_is_removed(note: Path) -> None:
    write(note, "---\ntext: |\n  a\nweight: 0.9\n---\nbody\n")
    assert planned(note.parent, note.name, Change(removed=["weight"])).write()
    assert read(note) == "---\ntext: |\n  a\n---\nbody\n"


def test_a_list_without_items_is_removed_if_wanted(note: Path) -> None:
    write(note, "---\na: [1]\nb: 2\n---\nbody\n")
    items = ListItems("a", drop=lambda item: item == 1, removes_empty=True)
    assert planned(note.parent, note.name, Change([items], {"c": 3}, ["b", "d"])).write()
    assert read(note) == "---\nc: 3\n---\nbody\n"


def test_an_edit_while_the_new_file_is_written_is_not_lost(
    note: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(note, "---\na: 1\n---\nbody\n")

    def meanwhile(_: int) -> None:
        write(note, "---\na: 1\n---\nbetter\n")

    monkeypatch.setattr(os, "fsync", meanwhile)
    with pytest.raises(HedgerowError, match="somebody changed the file at the same time") as caught:
        set_field(note, "weight", 1)
    assert caught.value.code == "file_changed"
    assert read(note) == "---\na: 1\n---\nbetter\n"
    assert [file.name for file in note.parent.iterdir()] == ["note.md"]


def test_a_file_that_is_removed_meanwhile_does_not_come_back(
    note: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(note, "---\na: 1\n---\nbody\n")
    monkeypatch.setattr(os, "fsync", lambda _: note.unlink(missing_ok=True))
    with pytest.raises(HedgerowError) as caught:
        set_field(note, "weight", 1)
    assert caught.value.code == "file_changed"
    assert not note.exists()


class TestLinkedFiles:
    def test_a_link_stays_one(self, note: Path) -> None:
        target = note.parent / "real.md"
        write(target, "body\n")
        target.chmod(0o640)
        note.symlink_to("real.md")
        assert set_field(note, "weight", 1)
        assert note.is_symlink()
        assert read(target) == "---\nweight: 1\n---\nbody\n"
        assert target.stat().st_mode & 0o777 == 0o640

    def test_out_of_the_root_is_refused(self, tmp_path: Path) -> None:
        target = tmp_path / "outside.md"
        write(target, "body\n")
        root = tmp_path / "root"
        root.mkdir()
        (root / "note.md").symlink_to("../outside.md")
        with pytest.raises(
            HedgerowError, match=r"note\.md was not changed: it is a link to .*, outside"
        ) as caught:
            set_field(root / "note.md", "weight", 1)
        assert caught.value.code == "root_io"
        assert (root / "note.md").is_symlink()
        assert read(target) == "body\n"
        assert planned(tmp_path, "root/note.md", Change(fields={"weight": 1})).write()


_VALUES = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    st.integers(-(2**40), 2**40),
    st.booleans(),
    st.floats(0, 1),
)
_NEWLINES = st.sampled_from(["\n", "\r\n"])


@given(
    fields=st.lists(
        st.sampled_from(["a: 1", "b: [x, y]", "c:\n  - x # note\n  - y", "# note", ""])
    ),
    value=_VALUES,
    newline=_NEWLINES,
    body=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30),
)
def test_what_is_set_is_read_and_the_rest_is_as_it_was(
    tmp_path_factory: pytest.TempPathFactory,
    fields: list[str],
    value: Any,
    newline: str,
    body: str,
) -> None:
    note = tmp_path_factory.getbasetemp() / "property.md"
    block = "\n".join(dict.fromkeys(fields))
    text = f"---\n{block}\n---\n".replace("\n", newline) + body
    write(note, text)
    for name in ("a", "b", "new"):
        try:
            set_field(note, name, value)
        except HedgerowError:
            assert read(note) == text
            return
        matter = read_front_matter(read(note).replace("\r\n", "\n").split("\n"))
        assert matter.fields[name] == value
        assert read(note).endswith(f"---{newline}{body}")
        text = read(note)
