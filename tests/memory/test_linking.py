"""`MemoryRoot.link` and `unlink`: lines in a file's front matter."""

from __future__ import annotations

import re
import sys

import pytest

import hedgerow as hr
from hedgerow.memory import LinkResult
from memory_doubles import edges, put


def test_a_link_is_a_line_in_the_front_matter(root: hr.MemoryRoot) -> None:
    file = put(root.path, "notes/a.md", "---\ntitle: A # mine\n---\n\nbody\n")
    put(root.path, "notes/b.md", "# The B\n")
    assert root.link("a", "The B") == LinkResult(
        str(root.path), "notes/a.md", "notes/b.md", "related", strength=1.0
    )
    linked = '---\ntitle: A # mine\nrelated: ["[[notes/b]]"]\n---\n\nbody\n'
    assert file.read_text() == linked
    assert edges(root) == [("notes/a.md", "notes/b.md", "related", 1.0)]
    root.link("a", "b")
    assert file.read_text() == linked
    root.link("a", "b", 0.5, "part-of")
    root.link("a", "b", strength=0.25)
    assert [edge[2:] for edge in edges(root)] == [("part-of", 0.5), ("related", 0.25)]
    assert root.unlink("a", "b").removed
    assert not root.unlink("a", "b").removed
    assert [edge[2:] for edge in edges(root)] == [("part-of", 0.5)]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            "a|b.md", marks=pytest.mark.skipif(sys.platform == "win32", reason="no such name")
        ),
        "a[1].md",
        "q#1.md",
        "x.MD",
        "wörld & co.md",
    ],
)
def test_names_of_all_kinds_can_be_linked(root: hr.MemoryRoot, name: str) -> None:
    put(root.path, "a.md", "x")
    put(root.path, name, "x")
    root.link("a.md", name, 0.5)
    assert edges(root) == [("a.md", name, "related", 0.5)]
    assert root.unlink("a.md", name).removed


@pytest.mark.parametrize(
    ("ends", "options", "code", "message"),
    [
        (("a", "a"), {}, "invalid_edge", "cannot be linked to itself"),
        (("a", "x"), {}, "unknown_node", "there is no memory 'x' in this root"),
        (("a", "b.m"), {}, "unknown_node", "did you mean 'b.md'?"),
        (("a", "b"), {"strength": 0}, "invalid_option", "above 0 and at most 1, not 0"),
        (("a", "b"), {"strength": "1"}, "invalid_option", "above 0 and at most 1, not '1'"),
        (("a", "b"), {"rel": "title"}, "invalid_edge", "a key of front matter that has no"),
        (("a", "b"), {"rel": "a b"}, "invalid_edge", "not 'a b'"),
        (("a", "b#.md"), {"rel": "x"}, "invalid_edge", "cannot be written in [[ ]]"),
    ],
)
def test_what_cannot_be_linked(
    root: hr.MemoryRoot,
    ends: tuple[str, str],
    options: dict[str, object],
    code: str,
    message: str,
) -> None:
    for name in ("a.md", "b.md", "b#.md"):
        put(root.path, name, "x")
    with pytest.raises(hr.InvalidInputError) as caught:
        root.link(*ends, **options)  # type: ignore[arg-type]
    assert caught.value.code == code
    assert message in caught.value.message
    assert (root.path / "a.md").read_text() == "x"


def test_a_relation_is_text(root: hr.MemoryRoot) -> None:
    put(root.path, "a.md", "x")
    put(root.path, "b.md", "x")
    with pytest.raises(hr.InvalidInputError, match="rel must be a text, not 5"):
        root.link("a", "b", rel=5)  # type: ignore[arg-type]


def test_a_link_in_the_text_is_removed_by_hand(root: hr.MemoryRoot) -> None:
    put(root.path, "a.md", "[[b]]")
    put(root.path, "b.md", "x")
    with pytest.raises(hr.HedgerowError, match=r"is in the text of a\.md; remove it there"):
        root.unlink("a", "b")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("The B", "garden/b.md, notes/b.md"),
        ("the  b", "garden/b.md, notes/b.md"),
        ("b", "garden/b.md, notes/b.md"),
    ],
)
def test_a_name_of_two_memories_is_ambiguous(root: hr.MemoryRoot, name: str, meant: str) -> None:
    put(root.path, "a.md", "x")
    put(root.path, "notes/b.md", "# The B\n")
    put(root.path, "garden/b.md", "# The B\n")
    message = re.escape(f"{name!r} is ambiguous: it means {meant}; give the path")
    for call in (
        lambda: root.link("a", name),
        lambda: root.link(name, "a"),
        lambda: root.unlink("a", name),
        lambda: root.resolve(name),
        lambda: root.visit("linker", name, 1),
    ):
        with pytest.raises(hr.InvalidInputError, match=message) as caught:
            call()
        assert caught.value.code == "ambiguous_node"
    assert (root.path / "a.md").read_text() == "x"
    assert root.resolve("notes/b") == "notes/b.md"


def test_of_many_candidates_the_first_are_named(root: hr.MemoryRoot) -> None:
    for number in range(12):
        put(root.path, f"n{number:02}.md", "# Same\n")
    with pytest.raises(hr.InvalidInputError, match=r"n08\.md, n09\.md and 2 more; give the path"):
        root.resolve("same")


def test_names_are_found_whatever_their_unicode_form(root: hr.MemoryRoot) -> None:
    put(root.path, "a.md", "[[cafe\u0301]]")
    put(root.path, "caf\xe9.md", "# Th\xe9\n")
    assert edges(root) == [("a.md", "caf\xe9.md", "link", 0.7)]
    assert root.graph().unresolved == ()
    assert root.resolve("cafe\u0301") == root.resolve("The\u0301") == "caf\xe9.md"
