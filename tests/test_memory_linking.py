"""`MemoryRoot.link` and `unlink`: lines in the front matter of a file."""

from __future__ import annotations

import pytest

import hedgerow as hr
from memory_doubles import edges, put


def test_a_link_is_a_line_in_the_front_matter(root: hr.MemoryRoot) -> None:
    file = put(root.path, "notes/a.md", "---\ntitle: A # mine\n---\n\nbody\n")
    put(root.path, "notes/b.md", "# The B\n")
    assert root.link("a", "The B") == "notes/a.md"
    linked = '---\ntitle: A # mine\nrelated: ["[[notes/b]]"]\n---\n\nbody\n'
    assert file.read_text() == linked
    assert edges(root) == [("notes/a.md", "notes/b.md", "related", 1.0)]
    root.link("a", "b")
    assert file.read_text() == linked
    root.link("a", "b", 0.5, "part-of")
    root.link("a", "b", strength=0.25)
    assert [edge[2:] for edge in edges(root)] == [("part-of", 0.5), ("related", 0.25)]
    assert root.unlink("a", "b")
    assert not root.unlink("a", "b")
    assert [edge[2:] for edge in edges(root)] == [("part-of", 0.5)]


@pytest.mark.parametrize("name", ["a|b.md", "a[1].md", "q#1.md", "x.MD", "wörld & co.md"])
def test_names_of_all_kinds_can_be_linked(root: hr.MemoryRoot, name: str) -> None:
    put(root.path, "a.md", "x")
    put(root.path, name, "x")
    root.link("a.md", name, 0.5)
    assert edges(root) == [("a.md", name, "related", 0.5)]
    assert root.unlink("a.md", name)


@pytest.mark.parametrize(
    ("ends", "options", "code", "message"),
    [
        (("a", "a"), {}, "invalid_edge", "cannot be linked to itself"),
        (("a", "x"), {}, "unknown_node", "there is no memory 'x' in this root"),
        (("a", "b.m"), {}, "unknown_node", "did you mean 'b.md'?"),
        (("a", "b"), {"strength": 0}, "invalid_edge", "above 0 and at most 1, not 0"),
        (("a", "b"), {"strength": "1"}, "invalid_edge", "above 0 and at most 1, not '1'"),
        (("a", "b"), {"rel": "title"}, "invalid_edge", "a key of front matter that has no"),
        (("a", "b"), {"rel": "a b"}, "invalid_edge", "not 'a b'"),
        (("a", "b#.md"), {"rel": "x"}, "invalid_edge", "cannot stand in [[ ]]"),
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
    with pytest.raises(TypeError, match="rel must be a str, not int"):
        root.link("a", "b", rel=5)  # type: ignore[arg-type]


def test_a_link_in_the_text_is_removed_by_hand(root: hr.MemoryRoot) -> None:
    put(root.path, "a.md", "[[b]]")
    put(root.path, "b.md", "x")
    with pytest.raises(hr.HedgerowError, match=r"stands in the text of a\.md; remove it there"):
        root.unlink("a", "b")
