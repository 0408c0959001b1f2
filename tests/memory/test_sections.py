"""Reading and editing parts of memories: sections and ranges of lines."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from hedgerow import HedgerowError, InvalidInputError, MemoryRoot
from hedgerow.memory import Memory
from memory_doubles import put

TEXT = """\
---
title: Hedge
# Tools: a comment
---
# Hedge

Lead.

## Tools ##

- a saw

### Care

Oil it.

## When

```
## Tools
```
In August.
"""


@pytest.fixture
def hedge(tmp_path: Path) -> MemoryRoot:
    put(tmp_path, "notes/hedge.md", TEXT)
    return MemoryRoot.open(tmp_path)


def edited(root: MemoryRoot, text: str, **options: Any) -> str:
    digest = root.show("hedge").digest
    return root.edit("hedge", text, digest, **options).text


class TestReading:
    def test_a_section_has_its_subsections(self, hedge: MemoryRoot) -> None:
        whole = hedge.show("hedge")
        assert (whole.text, whole.lines, whole.remaining) == (TEXT, None, 0)
        part = hedge.show("hedge", section="tools")
        assert part.text == "## Tools ##\n\n- a saw\n\n### Care\n\nOil it.\n\n"
        assert (part.lines, part.remaining, part.digest) == ((9, 16), 0, whole.digest)

    @pytest.mark.parametrize("name", ["When", "## when", " when ", "##  WHEN ##"])
    def test_a_heading_is_named_in_any_case(self, hedge: MemoryRoot, name: str) -> None:
        assert hedge.show("hedge", section=name).text.startswith("## When\n")

    def test_a_range_of_lines(self, hedge: MemoryRoot) -> None:
        part = hedge.show("hedge", offset=4, limit=3)
        assert (part.text, part.lines, part.remaining) == ("# Hedge\n\nLead.\n", (5, 7), 15)
        part = hedge.show("hedge", section="Care", offset=2)
        assert (part.text, part.lines, part.remaining) == ("Oil it.\n\n", (15, 16), 0)
        assert hedge.show("hedge", offset=22).text == ""

    def test_pages_are_the_whole(self, hedge: MemoryRoot) -> None:
        pages = [hedge.show("hedge", offset=at, limit=5).text for at in range(0, 22, 5)]
        assert "".join(pages) == TEXT

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"section": "Tool"}, "notes/hedge.md has no section 'Tool'; did you mean 'Tools'?"),
            (
                {"section": "zzz"},
                "notes/hedge.md has no section 'zzz'; it has Hedge, Tools, Care, When",
            ),
            ({"offset": 23}, "offset is 23, and notes/hedge.md has 22 lines"),
            ({"offset": 9, "section": "care"}, "offset is 9, and the section has 4 lines"),
            ({"limit": 0}, "limit must be an integer of at least 1, not 0"),
        ],
    )
    def test_what_is_not_there_is_an_error(
        self, hedge: MemoryRoot, options: dict[str, Any], message: str
    ) -> None:
        with pytest.raises(InvalidInputError) as raised:
            hedge.show("hedge", **options)
        assert raised.value.message == message

    def test_a_heading_may_be_underlined(self, tmp_path: Path) -> None:
        put(tmp_path, "notes/lined.md", "Hedge\n=====\n\nlead\n\nThe *saw*\n---\n\nold\n")
        root = MemoryRoot.open(tmp_path)
        part = root.show("lined", section="the saw")
        assert (part.text, part.lines) == ("The *saw*\n---\n\nold\n", (6, 9))
        done = root.edit("lined", "new", part.digest, section="The saw")
        assert done.text == "Hedge\n=====\n\nlead\n\nThe *saw*\n---\n\nnew\n"

    def test_a_title_may_be_underlined(self, tmp_path: Path) -> None:
        put(tmp_path, "notes/lined.md", "Hedge saws\n=====\n\nlead\n")
        put(tmp_path, "notes/other.md", "---\ntype: note\n---\nsee [[hedge saws]]\n\nx\ny\n==\n")
        root = MemoryRoot.open(tmp_path)
        titles = {one.file: one.title for one in root.list().memories}
        assert titles["notes/lined.md"] == "Hedge saws"
        assert [edge[:2] for edge in root.graph().edges] == [("notes/other.md", "notes/lined.md")]

    def test_of_two_sections_none_is_chosen(self, tmp_path: Path) -> None:
        put(tmp_path, "notes/two.md", "# A\nx\n# B\n## A\ny\n")
        root = MemoryRoot.open(tmp_path)
        with pytest.raises(InvalidInputError) as raised:
            root.show("two", section="a")
        assert raised.value.message == (
            "notes/two.md has 2 sections 'a', at lines 1, 4; edit its whole text"
        )

    def test_a_text_without_headings_says_so(self, tmp_path: Path) -> None:
        put(tmp_path, "notes/plain.md", "plain\n")
        with pytest.raises(InvalidInputError, match="it has no headings"):
            MemoryRoot.open(tmp_path).show("plain", section="a")

    @pytest.mark.parametrize("key", ["hedge#Care", "notes/hedge.md#care", "hedge# Care "])
    def test_a_key_names_a_section(self, hedge: MemoryRoot, key: str) -> None:
        assert hedge.show(key) == hedge.show("hedge", section="Care")

    def test_a_name_with_a_hash_comes_before_a_section(self, tmp_path: Path) -> None:
        put(tmp_path, "notes/c.md", "---\ntitle: C\n---\n# Setup\n\nof C\n")
        put(tmp_path, "notes/sharp.md", "---\ntitle: C#\n---\n# Setup\n\nof C#\n")
        root = MemoryRoot.open(tmp_path)
        assert root.show("C#").file == "notes/sharp.md"
        assert root.show("C##Setup").text == "# Setup\n\nof C#\n"
        assert root.show("C#Setup").text == "# Setup\n\nof C\n"

    @pytest.mark.parametrize("key", ["[[hedge#Care]]", " [[notes/hedge#care|oiling]] "])
    def test_a_key_may_be_a_link(self, hedge: MemoryRoot, key: str) -> None:
        assert hedge.show(key).text == hedge.show("hedge#Care").text
        assert hedge.show("[[hedge]]").text == hedge.show("[[hedge|it]]").text
        with pytest.raises(InvalidInputError, match="there is no memory"):
            hedge.show("[[gone]]")

    @pytest.mark.parametrize("key", ["gone#Care", "#Care", "gone#", "##", "#" * 3000])
    def test_a_key_of_no_memory_is_named_whole(self, hedge: MemoryRoot, key: str) -> None:
        with pytest.raises(InvalidInputError) as raised:
            hedge.show(key)
        assert raised.value.code == "unknown_node"
        with pytest.raises(InvalidInputError, match="has no section 'Tool'; did you mean"):
            hedge.show("hedge#Tool")

    def test_a_budget_takes_whole_lines(self, tmp_path: Path) -> None:
        put(tmp_path, "notes/hedge.md", ("x" * 79 + "\n") * 9)
        root = MemoryRoot.open(tmp_path)
        part = root.show("hedge", budget=45)
        assert (part.lines, part.remaining) == ((1, 2), 7)
        assert root.show("hedge", budget=10_000).remaining == 0
        part = root.show("hedge", offset=7, budget=45)
        assert (part.lines, part.remaining) == ((8, 9), 0)

    def test_a_line_larger_than_a_budget_is_cut(self, tmp_path: Path) -> None:
        put(tmp_path, "notes/hedge.md", "砍" * 500 + "\nend\n")
        part = MemoryRoot.open(tmp_path).show("hedge", budget=40)
        assert part.text == "砍" * 52 + "…"
        assert (part.lines, part.remaining) == ((1, 1), 1)

    def test_the_json_of_a_part_comes_back(self, hedge: MemoryRoot) -> None:
        part = hedge.show("hedge", limit=1)
        assert Memory.from_dict(part.to_dict()) == part
        assert sorted(hedge.show("hedge").to_dict()) == ["digest", "file", "text"]


class TestEditing:
    def test_a_section_gets_another_content(self, hedge: MemoryRoot) -> None:
        text = edited(hedge, "Shears.\n", section="Tools")
        assert text == TEXT.replace("- a saw\n\n### Care\n\nOil it.\n", "Shears.\n")
        assert (hedge.path / "notes/hedge.md").read_text() == text

    def test_a_heading_of_the_same_name_replaces_it(self, hedge: MemoryRoot) -> None:
        text = edited(hedge, "### tools\nShears.", section="Tools")
        assert "\n### tools\nShears.\n\n## When\n" in text
        assert edited(hedge, "## After\nTea.", section="When").endswith(
            "## When\n\n## After\nTea.\n"
        )

    def test_a_text_is_added_to_a_section_or_to_the_file(self, hedge: MemoryRoot) -> None:
        text = edited(hedge, "Tea.", append=True)
        assert text == TEXT + "\nTea.\n"
        text = edited(hedge, "Sharpen it.", section="Care", append=True)
        assert "\nOil it.\n\nSharpen it.\n\n## When\n" in text

    def test_an_item_is_added_to_its_list(self, tmp_path: Path) -> None:
        put(tmp_path, "notes/hedge.md", "# Log\n\n- one\n\n# End")
        root = MemoryRoot.open(tmp_path)
        text = edited(root, "- two", section="Log", append=True)
        assert text == "# Log\n\n- one\n- two\n\n# End"
        assert edited(root, "1. three", append=True) == f"{text}\n\n1. three\n"

    def test_a_text_is_added_before_the_others(self, hedge: MemoryRoot) -> None:
        text = edited(hedge, "Tea.", prepend=True)
        assert text == TEXT.replace("# Hedge\n", "# Hedge\n\nTea.\n")
        text = edited(hedge, "- gloves", section="Tools", prepend=True)
        assert "## Tools ##\n\n- gloves\n- a saw\n" in text

    def test_one_text_is_replaced(self, hedge: MemoryRoot) -> None:
        assert edited(hedge, "May", replace="August") == TEXT.replace("August", "May")
        assert edited(hedge, "", replace="In May.\n") == TEXT.replace("In August.\n", "")
        assert "- 锯子\n" in edited(hedge, "锯子", replace="a saw", section="Tools")
        assert "- منشار\n" in edited(hedge, "منشار", replace="锯子")

    @pytest.mark.parametrize(
        ("old", "section", "message"),
        [
            ("shears", None, "notes/hedge.md does not have the text that is to be replaced"),
            ("Tools", None, "occurs more than once in notes/hedge.md, at lines 3, 9, 20;"),
            ("saw", "Care", "the section 'Care' of notes/hedge.md does not have the text"),
        ],
    )
    def test_a_text_that_does_not_occur_once(
        self, hedge: MemoryRoot, old: str, section: str | None, message: str
    ) -> None:
        with pytest.raises(InvalidInputError, match=re.escape(message)):
            edited(hedge, "x", replace=old, section=section)
        assert hedge.show("hedge").text == TEXT

    def test_overlapping_texts_count(self, tmp_path: Path) -> None:
        put(tmp_path, "notes/hedge.md", "aaa\n")
        with pytest.raises(InvalidInputError, match="at lines 1, 1;"):
            edited(MemoryRoot.open(tmp_path), "b", replace="aa")

    def test_line_ends_of_the_replaced_text_are_those_of_the_file(self, tmp_path: Path) -> None:
        file = put(tmp_path, "notes/hedge.md", "\ufeffa\r\nb\r\nc\r\n")
        edited(MemoryRoot.open(tmp_path), "1\n2", replace="a\nb")
        assert file.read_bytes().decode() == "\ufeff1\r\n2\r\nc\r\n"

    def test_an_edit_changes_one_part(self, hedge: MemoryRoot) -> None:
        with pytest.raises(InvalidInputError, match="give one of append, prepend and replace"):
            edited(hedge, "x", append=True, prepend=True)
        with pytest.raises(InvalidInputError, match="replace is empty"):
            edited(hedge, "x", replace="")
        with pytest.raises(HedgerowError, match="changed since you read it"):
            hedge.edit("hedge", "x", "0" * 64, replace="August")

    def test_a_key_names_the_section_of_an_edit(self, hedge: MemoryRoot) -> None:
        digest = hedge.show("hedge#Care").digest
        assert (
            "### Care\n\nGrease it.\n\n## When"
            in hedge.edit("hedge#Care", "Grease it.", digest).text
        )

    def test_line_ends_and_the_byte_order_mark_stay(self, tmp_path: Path) -> None:
        file = put(tmp_path, "notes/hedge.md", "\ufeff# A\r\n\r\nx\r\n\r\n# B\r\n")
        root = MemoryRoot.open(tmp_path)
        edited(root, "one\ntwo", section="A")
        assert file.read_bytes().decode() == "\ufeff# A\r\n\r\none\r\ntwo\r\n\r\n# B\r\n"

    def test_the_beginning_of_a_digest_is_enough(self, hedge: MemoryRoot) -> None:
        digest = hedge.show("hedge").digest
        for given_digest in (digest[:11], "0" * 12, ""):
            with pytest.raises(HedgerowError) as raised:
                hedge.edit("hedge", "x", given_digest, append=True)
            assert raised.value.code == "file_changed"
        done = hedge.edit("hedge", "x", digest[:12], append=True)
        assert done.digest == hedge.show("hedge").digest

    def test_a_section_that_is_not_there_changes_nothing(self, hedge: MemoryRoot) -> None:
        with pytest.raises(InvalidInputError, match="has no section 'Tool'"):
            edited(hedge, "x", section="Tool")
        with pytest.raises(InvalidInputError, match="a memory has a text"):
            edited(hedge, " ", append=True)
        assert hedge.show("hedge").text == TEXT


def test_read_is_another_name_of_show(tmp_path: Path) -> None:
    root = MemoryRoot.open(tmp_path)
    file = root.remember("hawthorn", title="Hedge").file
    assert root.read(file) == root.show(file)  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="no attribute 'reed'"):
        root.reed  # type: ignore[attr-defined]  # noqa: B018
