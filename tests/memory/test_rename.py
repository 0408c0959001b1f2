"""Renaming updates links."""

from __future__ import annotations

from pathlib import Path

import pytest

from hedgerow import HedgerowError, InvalidInputError, MemoryRoot
from hedgerow._engine import _link_positions
from memory_doubles import put

LINKS = """---
related: notes/hedge
supersedes: [hedge.md, "[[hedge]]"]
derived_from:
  - {to: notes/hedge.md, strength: 0.5}
see: "[[hedge|the plan]]"
---
See [[hedge]], [[Hedge plan]], [[notes/hedge.md#When|it]] and [it](hedge.md#when).

`[[hedge]]` and

```
[[hedge]]
```

[other]: hedge.md "é [[hedge]]"
"""


@pytest.fixture
def linked(tmp_path: Path) -> MemoryRoot:
    """A plan, a note with links of all kinds to it, and a note without links to it."""
    put(tmp_path, "notes/hedge.md", "---\ntitle: Hedge plan\n---\n[door](door.md) [[door]]\n")
    put(tmp_path, "notes/links.md", LINKS)
    put(tmp_path, "notes/door.md", "The door, by a hedge.\n")
    return MemoryRoot.open(tmp_path)


def text(root: MemoryRoot, file: str) -> str:
    return (root.path / file).read_text()


class TestTitle:
    @pytest.mark.parametrize(
        ("text", "title"),
        [
            ("---\ntitle: Tulips\n---\n# Bulbs\n\nPlant them.\n", "Tulips"),
            ("# Bulbs\n\nPlant them.\n", "Bulbs"),
            ("Plant them.\n", None),
        ],
    )
    def test_it_stays_and_is_the_same_everywhere(
        self, tmp_path: Path, text: str, title: str | None
    ) -> None:
        put(tmp_path, "notes/old.md", text)
        root = MemoryRoot.open(tmp_path)
        assert root.rename("old", "new").title == title
        [listed] = root.list().memories
        assert (listed.file, listed.title or None) == ("notes/new.md", title)
        assert root.links("new").titles == ({} if title is None else {"notes/new.md": title})
        assert root.show(title or "new").text == text
        assert [one.file for one in root.recall("plant")] == ["notes/new.md"]


class TestRename:
    def test_links_follow(self, linked: MemoryRoot) -> None:
        before = linked.graph()
        done = linked.rename("Hedge plan", "hawthorn")
        assert (done.file, done.to) == ("notes/hedge.md", "notes/hawthorn.md")
        assert (done.changed, done.by_hand) == (("notes/links.md",), ())
        expected = (
            LINKS.replace("hedge", "hawthorn")
            .replace("`[[hawthorn]]`", "`[[hedge]]`")
            .replace("```\n[[hawthorn]]", "```\n[[hedge]]")
        )
        assert (
            text(linked, "notes/links.md").replace('md "é [[hedge]]"', 'md "é [[hawthorn]]"')
            == expected
        )
        moved = {"notes/hedge.md": "notes/hawthorn.md"}
        assert sorted(linked.graph().edges) == sorted(
            (moved.get(a, a), moved.get(b, b), relation, strength)
            for a, b, relation, strength in before.edges
        )
        assert not linked.graph().unresolved

    def test_into_another_folder_its_own_links_follow_too(self, linked: MemoryRoot) -> None:
        done = linked.rename("hedge", "decisions/hedge.md")
        assert set(done.changed) == {"notes/links.md", "decisions/hedge.md"}
        assert text(linked, "decisions/hedge.md").endswith("[door](../notes/door.md) [[door]]\n")
        links = text(linked, "notes/links.md")
        assert "[it](../decisions/hedge.md#when)" in links
        # The file name still resolves to it.
        assert "See [[hedge]]," in links
        assert "related: decisions/hedge\n" in links
        assert not linked.graph().unresolved

    def test_a_path_without_its_suffix_follows_and_keeps_no_other(self, linked: MemoryRoot) -> None:
        put(
            linked.path,
            "notes/short.md",
            "[[hedge]] [a](hedge.md) [b](hedge#plan) [c](/notes/hedge)",
        )
        done = linked.rename("notes/hedge.md", "fences/hawthorn")
        assert "notes/short.md" in done.changed
        assert text(linked, "notes/short.md") == (
            "[[hawthorn]] [a](../fences/hawthorn.md) [b](../fences/hawthorn#plan) [c](/fences/hawthorn)"
        )

    def test_a_name_that_would_mean_another_becomes_a_path(self, linked: MemoryRoot) -> None:
        put(linked.path, "notes/x/wall.md", "A wall.\n")
        put(linked.path, "notes/x/y.md", "[[hedge]]\n")
        linked.rename("notes/hedge.md", "notes/wall.md")
        assert text(linked, "notes/x/y.md") == "[[notes/wall]]\n"

    def test_a_link_by_file_name_follows_though_the_title_is_the_same(
        self, linked: MemoryRoot
    ) -> None:
        put(linked.path, "notes/Gate.md", "# Gate\n\nBy the door.\n")
        put(
            linked.path,
            "notes/x.md",
            "---\nrelated: Gate\n---\n[[Gate]], [[gate|it]] and ![[notes/Gate#When]]\n",
        )
        linked.rename("notes/Gate.md", "Garden gate")
        assert text(linked, "notes/x.md") == (
            "---\nrelated: Garden gate\n---\n"
            "[[Garden gate]], [[Garden gate|it]] and ![[notes/Garden gate#When]]\n"
        )
        linked.rename("notes/Garden gate.md", "fences/Garden gate")
        assert "[[Garden gate]], [[Garden gate|it]]" in text(linked, "notes/x.md")

    def test_names_with_spaces_and_scripts(self, linked: MemoryRoot) -> None:
        linked.rename("hedge", "Živý plot 1")
        links = text(linked, "notes/links.md")
        assert "[[Živý plot 1]]" in links
        assert "[it](%C5%BDiv%C3%BD%20plot%201.md#when)" in links
        assert not linked.graph().unresolved

    def test_bytes_around_links_stay(self, linked: MemoryRoot) -> None:
        file = linked.path / "notes/links.md"
        file.write_bytes(b"\xef\xbb\xbf---\r\nrelated: hedge\r\n---\r\n[[hedge]]  \r\nx")
        linked.rename("hedge", "haw")
        assert file.read_bytes() == (b"\xef\xbb\xbf---\r\nrelated: haw\r\n---\r\n[[haw]]  \r\nx")

    def test_what_cannot_be_changed_is_left_and_named(self, linked: MemoryRoot) -> None:
        put(linked.path, "notes/odd.md", '---\nrelated: "he\\x64ge"\n---\nOdd.\n')
        assert any(edge[0] == "notes/odd.md" for edge in linked.graph().edges)
        done = linked.rename("notes/hedge.md", "haw")
        assert [one.path for one in done.by_hand] == ["notes/odd.md"]
        assert "edit it by hand" in done.by_hand[0].reason
        assert (linked.path / "notes/haw.md").exists()

    def test_an_address_below_the_indexed_folder_stays_one(self, linked: MemoryRoot) -> None:
        put(
            linked.path,
            "notes/links.md",
            "[a](/notes/hedge.md#when) [b](/notes/door.md) [c](/x.md)",
        )
        done = linked.rename("hedge", "far/haw thorn")
        assert done.changed == ("far/haw thorn.md", "notes/links.md")
        assert text(linked, "notes/links.md") == (
            "[a](/far/haw%20thorn.md#when) [b](/notes/door.md) [c](/x.md)"
        )
        assert done.by_hand == ()

    def test_a_moved_file_that_cannot_be_changed_is_named_by_its_new_path(
        self, linked: MemoryRoot
    ) -> None:
        put(linked.path, "notes/odd.md", '---\nrelated: "o\\x64d"\n---\nOdd.\n')
        done = linked.rename("odd", "moved/even")
        assert [one.path for one in done.by_hand] == ["moved/even.md"]

    def test_a_link_that_led_nowhere_does_not_keep_others_from_being_changed(
        self, linked: MemoryRoot
    ) -> None:
        put(linked.path, "notes/door.md", "[[notes/door]] and [[gate]]\n")
        put(linked.path, "notes/wish.md", "[[notes/door]] and [[gate]]\n")
        assert linked.rename("door", "fences/gate").by_hand == ()
        assert text(linked, "fences/gate.md") == "[[fences/gate]] and [[gate]]\n"
        assert text(linked, "notes/wish.md") == "[[fences/gate]] and [[gate]]\n"

    @pytest.mark.parametrize(
        ("to", "message"),
        [
            ("door", "there is a file notes/door.md already"),
            ("hedge", "there is a file notes/hedge.md already"),
            ("../out", "'../out' is no path below the indexed folder, as in notes/hedge.md"),
            ("/etc/x", "'/etc/x' is no path below the indexed folder, as in notes/hedge.md"),
            ("a/../../x", "'a/../../x' is no path below the indexed folder, as in notes/hedge.md"),
            (" ", "' ' is no path below the indexed folder, as in notes/hedge.md"),
            ("fences/", "'fences/' is no path below the indexed folder, as in notes/hedge.md"),
            ("a\x1bb", "'a\\x1bb' is no path below the indexed folder, as in notes/hedge.md"),
            (
                ".hidden/x",
                "no memory can be .hidden/x.md: hedgerow.json excludes it, or a folder of it is hidden",
            ),
        ],
    )
    def test_a_path_that_it_cannot_have_is_refused(
        self, linked: MemoryRoot, to: str, message: str
    ) -> None:
        with pytest.raises(InvalidInputError) as raised:
            linked.rename("notes/hedge.md", to)
        assert raised.value.message == message
        assert text(linked, "notes/links.md") == LINKS

    @pytest.mark.parametrize(
        ("to", "reason"),
        [("a" * 300, "File name too long"), ("notes/door.md/x", "Not a directory")],
    )
    def test_a_path_that_the_system_refuses_changes_no_link(
        self, linked: MemoryRoot, to: str, reason: str
    ) -> None:
        with pytest.raises(HedgerowError, match=f"cannot rename it to .*: {reason}") as raised:
            linked.rename("notes/hedge.md", to)
        assert raised.value.code == "root_io"
        assert text(linked, "notes/links.md") == LINKS

    def test_half_of_a_surrogate_pair_is_refused(self, linked: MemoryRoot) -> None:
        with pytest.raises(InvalidInputError, match="to has half of a surrogate pair"):
            linked.rename("notes/hedge.md", "a\ud800")

    def test_into_a_folder_that_is_a_link_nothing_is_changed(
        self, linked: MemoryRoot, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        (linked.path / "away").symlink_to(tmp_path_factory.mktemp("outside"))
        with pytest.raises(HedgerowError) as raised:
            linked.rename("notes/hedge.md", "away/hedge.md")
        assert raised.value.code == "linked_path"
        assert text(linked, "notes/links.md") == LINKS
        assert (linked.path / "notes/hedge.md").exists()

    def test_in_a_scope_the_files_of_others_stay(self, tmp_path: Path) -> None:
        put(tmp_path, "notes/a.md", "---\nscope: {user: ana}\n---\nA.\n")
        put(tmp_path, "notes/b.md", "---\nscope: {user: ben}\n---\n[[a]]\n")
        root = MemoryRoot.open(tmp_path)
        assert root.scoped(user="ana").rename("a", "c").changed == ()
        assert text(root, "notes/b.md").endswith("[[a]]\n")


class TestPositions:
    """Only links that the parser finds are changed."""

    @pytest.mark.parametrize(
        ("before", "after"),
        [
            ("| A |\n| --- |\n| [[Old\\|gate]] |\n", "| A |\n| --- |\n| [[New\\|gate]] |\n"),
            ("[[Old]] is written \\[[Old]] here.\n", "[[New]] is written \\[[Old]] here.\n"),
            ("[[Old]] [\\[Old]] [[Old\\]] &#91;[Old]]\n", "[[New]] [\\[Old]] [[Old\\]] &#91;[Old]]\n"),
            ("<!-- [[Old]] -->\n\n[[Old]]\n", "<!-- [[Old]] -->\n\n[[New]]\n"),
            ("a <!-- [[Old]] --> [[Old]]\n", "a <!-- [[Old]] --> [[New]]\n"),
            ("`[[Old]]` [[ Old ]]\n", "`[[Old]]` [[ New ]]\n"),
            ("    [[Old]]\n\n> - [[Old#part|\u00fcber]]\n", "    [[Old]]\n\n> - [[New#part|\u00fcber]]\n"),
            ("\u00e4 **[[Old]]** \u2014 ![[Old]]\n", "\u00e4 **[[New]]** \u2014 ![[New]]\n"),
            ('[a](Old.md) [b](<Old.md> "t") [c][r]\n\n[r]: Old.md\n',
             '[a](New.md) [b](<New.md> "t") [c][r]\n\n[r]: New.md\n'),
            ("[x](Old.md#p) \\[x](Old.md)\n", "[x](New.md#p) \\[x](Old.md)\n"),
            ("---\nrelated: Old # not [[Old]]\nnote: '[[Old]] # [[Old]]'\n---\n[[Old]]\n",
             "---\nrelated: New # not [[Old]]\nnote: '[[New]] # [[New]]'\n---\n[[New]]\n"),
        ],
    )  # fmt: skip
    def test_a_rename(self, root: MemoryRoot, before: str, after: str) -> None:
        put(root.path, "notes/Old.md", "old\n")
        put(root.path, "notes/i.md", before)
        done = root.rename("notes/Old.md", "New")
        assert (root.path / "notes/i.md").read_text(encoding="utf-8") == after
        assert done.by_hand == ()

    @pytest.mark.parametrize(
        ("before", "after"),
        [
            ("![plan](img/plan.png)\n", "![plan](../a/img/plan.png)\n"),
            ("[![x](img/plan.png)](img/plan.png 'p')\n", "[![x](../a/img/plan.png)](../a/img/plan.png 'p')\n"),
            ("![](<img/a plan.png>)\n", "![](<../a/img/a%20plan.png>)\n"),
            ("[i]\n\n[i]: img/plan.png\n", "[i]\n\n[i]: ../a/img/plan.png\n"),
            ("[f](img/) [g](img/plan.png#x)\n", "[f](../a/img) [g](../a/img/plan.png#x)\n"),
            ("[o](Other.md) [gone](gone.png)\n", "[o](../a/Other.md) [gone](gone.png)\n"),
            ("[w](https://x.example/img/plan.png) [h](#top) `![](img/plan.png)`\n", None),
        ],
    )  # fmt: skip
    def test_a_move(self, root: MemoryRoot, before: str, after: str | None) -> None:
        put(root.path, "notes/a/Old.md", before)
        put(root.path, "notes/a/Other.md", "other\n")
        for name in ("plan.png", "a plan.png"):
            put(root.path, f"notes/a/img/{name}", "png")
        done = root.rename("notes/a/Old.md", "notes/z/Old.md")
        assert (root.path / "notes/z/Old.md").read_text() == (after or before)
        assert done.by_hand == ()

    def test_paths_in_html_are_named(self, root: MemoryRoot) -> None:
        put(root.path, "notes/a/Old.md", 'x <img src="img/plan.png">\n\n<a href="b.pdf">b</a>\n')
        put(root.path, "notes/a/img/plan.png", "png")
        done = root.rename("notes/a/Old.md", "notes/z/Old.md")
        assert [(one.path, one.code) for one in done.by_hand] == [("notes/z/Old.md", "html_path")]
        assert "img/plan.png" in done.by_hand[0].reason
        assert "b.pdf" not in done.by_hand[0].reason

    @pytest.mark.parametrize(
        "piece", ["[a](", "[[", "![", "<a href=", "`[[a]]`\n\n[r]: x\n", "[a]: (("]
    )
    def test_hostile_texts_take_linear_time(self, piece: str) -> None:
        _link_positions(piece * 20_000)


def test_footnotes_references_and_lists(tmp_path: Path) -> None:
    put(tmp_path, "notes/target.md", "# Target\n")
    put(
        tmp_path,
        "notes/a.md",
        "---\nrelated:\n  - target\n---\nText[^1] and[^2].\n\n[^1]: [[target]]\n[^2]: [x](target.md)\n",
    )
    put(tmp_path, "notes/b.md", "![x][r2]\n\n[r2]: <img/a b.png>\n")
    put(tmp_path, "notes/img/a b.png", "")
    root = MemoryRoot.open(tmp_path)
    done = root.rename("target", "new")
    assert (done.changed, done.by_hand) == (("notes/a.md",), ())
    assert text(root, "notes/a.md") == (
        "---\nrelated:\n  - new\n---\nText[^1] and[^2].\n\n[^1]: [[new]]\n[^2]: [x](new.md)\n"
    )
    root.rename("notes/b.md", "c/b.md")
    assert "[r2]: <../notes/img/a%20b.png>" in text(root, "c/b.md")
