"""Tags in the text, and aliases, as Obsidian has them."""

from __future__ import annotations

import pytest

from hedgerow import InvalidInputError, MemoryRoot
from hedgerow.memory.tags import inline_tags
from memory_doubles import put


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A #garden note, #Garden/beds and #2026-plan.", ["garden", "Garden/beds", "2026-plan"]),
        ("#first\n\n- #item one\n\n> #quoted", ["first", "item", "quoted"]),
        ("# Heading\n\n## #in-heading", ["in-heading"]),
        ("#egel #刺猬 #ёж", ["egel", "刺猬", "ёж"]),
        ("a#b, issue #12, `#code`, [#text](#anchor), https://x.example/#part", []),
        ("```\n#include\n```\n\n    #indented", []),
        ("#a #a", ["a"]),
        ("", []),
    ],
)
def test_tags_in_a_text(text: str, expected: list[str]) -> None:
    assert inline_tags(text) == expected


def test_the_first_hundred_count() -> None:
    assert len(inline_tags(" ".join(f"#t{number}" for number in range(300)))) == 100


class TestRoot:
    @pytest.fixture
    def vault(self, root: MemoryRoot) -> MemoryRoot:
        """Notes on hawthorn, with aliases and tags, and one that links to it by an alias."""
        matter = "---\naliases: [May tree, Whitethorn]\ntags: [tree]\n---\n"
        put(root.path, "notes/hawthorn.md", f"{matter}A hedge plant. #hedge/plants\n")
        put(root.path, "notes/other.md", "See [[may tree]] and [[Whitethorn|it]], a hedge.\n")
        return root

    def test_recall_goes_by_them(self, vault: MemoryRoot) -> None:
        for tag in ("hedge/plants", "#Hedge/Plants", "tree"):
            assert [one.file for one in vault.recall("hedge", tags=[tag])] == ["notes/hawthorn.md"]
        assert not vault.recall("hedge", tags=["hedge"]).results

    def test_aliases_are_names(self, vault: MemoryRoot) -> None:
        assert vault.read("May Tree").file == "notes/hawthorn.md"
        edges = vault.graph().edges
        assert [one[:2] for one in edges] == [("notes/other.md", "notes/hawthorn.md")]

    def test_an_alias_that_comes_or_goes_moves_links(self, vault: MemoryRoot) -> None:
        vault.graph()
        put(vault.path, "notes/hawthorn.md", "---\naliases: Haw, Quickset\n---\nA hedge plant.\n")
        assert vault.graph().unresolved == (
            ("notes/other.md", "may tree"),
            ("notes/other.md", "Whitethorn"),
        )
        assert vault.read("quickset").file == "notes/hawthorn.md"

    def test_marks_go_by_aliases(self, vault: MemoryRoot) -> None:
        put(vault.path, "notes/new.md", "---\nsupersedes: '[[Whitethorn]]'\n---\nAnother hedge.\n")
        assert vault.validity("notes/hawthorn.md").by == ("notes/new.md",)

    def test_an_alias_of_two_is_ambiguous(self, vault: MemoryRoot) -> None:
        put(vault.path, "notes/blackthorn.md", "---\naliases: [May tree]\n---\nAnother.\n")
        with pytest.raises(InvalidInputError) as raised:
            vault.read("may tree")
        assert raised.value.code == "ambiguous_node"
