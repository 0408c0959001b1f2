"""The links of a memory, and the file that each link resolves to."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow import MemoryRoot
from hedgerow._engine import FrontMatter, _links_in_fields, _links_in_text, _Names
from memory_doubles import put


def meant(
    files: dict[str, str], name: str, source: str = "x.md", *, is_path: bool = False
) -> str | None:
    """Return the file that a name resolves to, among files with titles."""
    names = _Names([(path, title, ()) for path, title in files.items()])
    return names.find(name, is_path, source)


def targets(text: str) -> list[tuple[str, bool]]:
    return _links_in_text(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see [[slugs]]", [("slugs", False)]),
        (
            "[[slugs|the slugs]] and [[garden/frogs#Pond]]",
            [("slugs", False), ("garden/frogs", False)],
        ),
        ("[[ spaced name ]]", [("spaced name", False)]),
        ("[[#Heading]] and [[]] and [[ ]]", []),
        ("| [[a\\|b]] |", [("a", False)]),
        ("[[a b_c_d]] *and [[e]]*", [("a b_c_d", False), ("e", False)]),
        ("- item [[in list]]\n\n> [[quoted]]", [("in list", False), ("quoted", False)]),
        ("[x](frogs.md)", [("frogs.md", True)]),
        ("[x](../ops/on%20call.md#who)", [("../ops/on call.md", True)]),
        ("[x](<a b.md>)", [("a b.md", True)]),
        ("[x][1]\n\n[1]: deep/er.md 'title'", [("deep/er.md", True)]),
        ("[x](FROGS.MD?raw=1)", [("FROGS.MD", True)]),
        ("[x](https://a.b/c.md) [y](//a/b.md) [z](mailto:a.md) [i](a.png)", []),
        ("![picture](a.md)", []),
        ("`[[code]]` and ``[x](a.md)``", []),
        ("```\n[[fenced]]\n[x](a.md)\n```", []),
        ("    [[indented code]]", []),
        ("<!-- [[comment]] -->\n\na <!-- [[inline]] --> b", []),
        ("a <!-- [[over\nlines]] --> <b>[[c]]</b>", [("c", False)]),
        (r"\[\[escaped]] and [\[half]]", []),
        (r"[[a]\] and &#91;[b]] and [[c\_d]] and \\[[e]]", [("e", False)]),
        ("[[two\nlines]]", []),
        ("[[two\\\nlines]]", []),
        (
            "| [[a\\|b]] | [[c|d]] |\n|---|---|\n| [[e\\|f]] | [[g|h]] |",
            [(x, False) for x in "aceg"],
        ),
        ("[[a]] [x](b.md)\n\n[[c]]", [("b.md", True), ("a", False), ("c", False)]),
        ("- [[a]]\n  - [x](b.md)", [("a", False), ("b.md", True)]),
        ("# [[a]] #\n\n[[b]]\n===", [("a", False), ("b", False)]),
        ("[[slugs]]\n\n[slugs]: garden/slugs.md", [("garden/slugs.md", True)]),
        ("[the [[a]]](b.md)", [("b.md", True), ("a", False)]),
        ("![the [[a]] [x](b.md)](c.md) ![y][1]\n\n[1]: d.md", []),
        ("<https://example.org/[[a]].md> <a@b.md>", []),
        ("[x](caf%C3%A9.md) [x](caf\xe9.md)", [("caf\xe9.md", True)] * 2),
        ("[x](a&amp;b.md) [x](a\\_b.md)", [("a&b.md", True), ("a_b.md", True)]),
        ("\U0001f994 \xe9 \\[[a]] [[\U0001f994]]", [("\U0001f994", False)]),
        ("no links at all", []),
    ],
)
def test_links_in_text(text: str, expected: list[tuple[str, bool]]) -> None:
    assert targets(text) == expected


def test_links_in_text_are_weaker_than_stated_ones(tmp_path: Path) -> None:
    put(tmp_path, "a.md", "---\nrelated: b\n---\n[[c]]\n")
    put(tmp_path, "b.md", "b\n")
    put(tmp_path, "c.md", "c\n")
    with MemoryRoot.open(tmp_path) as root:
        edges = root.graph().edges
    assert edges == (("a.md", "b.md", "related", 1.0), ("a.md", "c.md", "link", 0.7))


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"related": ["a", "[[b|B]]"]}, [("a", "related", 1.0), ("b", "related", 1.0)]),
        ({"supersedes": "old/plan.md"}, [("old/plan.md", "supersedes", 1.0)]),
        ({"people": ["[[asha]]", "tom"]}, [("asha", "people", 1.0)]),
        ({"related": [["slugs"]]}, [("slugs", "related", 1.0)]),
        ({"related": [{"to": "a", "strength": 0.25}]}, [("a", "related", 0.25)]),
        ({"people": [{"to": "[[asha]]", "strength": 1}]}, [("asha", "people", 1.0)]),
        ({"links": ["https://example.org/a.md", "", 7, None]}, []),
        ({"title": "about [[a]]", "tags": ["x"]}, [("a", "title", 1.0)]),
        ({"when": "2026-01-01", "n": 3, "nested": {"a": "[[b]]"}}, []),
    ],
)
def test_links_in_front_matter(
    fields: dict[str, Any], expected: list[tuple[str, str, float]]
) -> None:
    links, problems = _links_in_fields(FrontMatter(fields))
    assert links == expected
    assert problems == []


@pytest.mark.parametrize(
    ("item", "problem"),
    [
        ({"strength": 0.5}, "a link with a strength is written {to: NAME, strength: 0.5}"),
        ({"to": "a", "strength": 2}, "strength must be above 0 and at most 1, not 2; 1.0 is used"),
        ({"to": "a", "strength": "x"}, 'strength must be above 0 and at most 1, not "x"'),
    ],
)
def test_a_strength_that_is_none_is_told(item: dict[str, Any], problem: str) -> None:
    _, [told] = _links_in_fields(FrontMatter({"related": [item]}))
    assert told.startswith(f"related: {problem}")


@pytest.mark.parametrize(
    ("item", "kept"), [("[[a]]", 43_690), ("[[a]]" * 1000, 52_000), ({"to": "[[a]]"}, 43_690)]
)
def test_of_front_matter_so_much_is_read_for_links(item: Any, kept: int) -> None:
    matter = FrontMatter({f"key{number}": [item] * 1000 for number in range(60)})
    links, [told] = _links_in_fields(matter)
    assert len(links) == kept
    assert told == (
        f"{links[-1][1]}: the links of front matter are read from 262,144 characters, with "
        "aliases written out; the links after these are left out"
    )


def test_a_long_list_of_links_is_read_to_its_end() -> None:
    names = [f"notes/note-{number}" for number in range(10_000)]
    links, problems = _links_in_fields(FrontMatter({"related": names}))
    assert [target for target, *_ in links] == names
    assert problems == []


def test_a_name_of_many_accents_is_compared_without_being_normalized() -> None:
    # Sorting this many accents would take minutes.
    name = "a" + "\u0300\u0316" * 200_000
    files = {"a.md": name, f"{name}.md": ""}
    assert meant(files, name) == f"{name}.md"
    assert meant({"a.md": name}, name) == "a.md"
    assert meant(files, f"{name}.") is None


FILES = {
    "about.md": "About this garden",
    "garden/slugs.md": "Slugs",
    "garden/pond/frogs.md": "Frogs",
    "archive/slugs.md": "Old slugs",
    "archive/frogs.md": "",
    "a.b.md": "",
}


@pytest.mark.parametrize(
    ("target", "source", "found"),
    [
        ("garden/slugs", "about.md", "garden/slugs.md"),
        ("garden/slugs.md", "about.md", "garden/slugs.md"),
        ("/archive/slugs", "garden/slugs.md", "archive/slugs.md"),
        ("pond/frogs", "garden/slugs.md", "garden/pond/frogs.md"),
        ("./pond/frogs", "garden/slugs.md", "garden/pond/frogs.md"),
        ("pond/FROGS", "about.md", "garden/pond/frogs.md"),
        ("Slugs", "garden/pond/frogs.md", "garden/slugs.md"),
        ("slugs", "archive/frogs.md", "archive/slugs.md"),
        ("frogs", "about.md", "archive/frogs.md"),
        ("frogs", "garden/slugs.md", "garden/pond/frogs.md"),
        ("about this  GARDEN", "archive/frogs.md", "about.md"),
        ("a.b", "about.md", "a.b.md"),
        ("nowhere", "about.md", None),
        ("arden/slugs", "about.md", None),
    ],
)
def test_which_file_a_name_means(target: str, source: str, found: str | None) -> None:
    assert meant(FILES, target, source) == found


@pytest.mark.parametrize(
    ("target", "source", "found"),
    [
        ("pond/frogs.md", "garden/slugs.md", "garden/pond/frogs.md"),
        ("../about.md", "garden/slugs.md", "about.md"),
        ("/about.md", "garden/slugs.md", "about.md"),
        ("about.md", "garden/slugs.md", None),
        ("../../about.md", "garden/slugs.md", None),
    ],
)
def test_a_markdown_link_counts_from_its_folder(
    target: str, source: str, found: str | None
) -> None:
    assert meant(FILES, target, source, is_path=True) == found


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize("other", ["NFC", "NFD"])
@pytest.mark.parametrize(
    "target", ["Caf\xe9", "notes/caf\xe9.md", "CAF\xc9", "Th\xe9 vert", "th\xe9  VERT"]
)
def test_names_are_compared_whatever_their_unicode_form(
    target: str, form: Literal["NFC", "NFD"], other: Literal["NFC", "NFD"]
) -> None:
    path, title = (normalize(other, name) for name in ("notes/Caf\xe9.md", "Th\xe9 vert"))
    assert meant({path: title}, normalize(form, target)) == path


def test_of_two_files_whose_names_differ_in_form_the_exact_one_counts() -> None:
    paths = [normalize("NFC", "caf\xe9.md"), normalize("NFD", "caf\xe9.md")]
    for path in paths:
        assert meant(dict.fromkeys(paths, ""), path) == path


def test_of_several_links_the_strongest_counts_and_one_to_itself_does_not(
    tmp_path: Path,
) -> None:
    links = "[{to: slugs, strength: 0.7}, {to: slugs, strength: 0.9}, about, x]"
    put(tmp_path, "about.md", f"---\nrelated: {links}\n---\nhedge\n")
    put(tmp_path, "slugs.md", "hedge\n")
    with MemoryRoot.open(tmp_path) as root:
        graph = root.graph()
    assert graph.edges == (("about.md", "slugs.md", "related", 0.9),)
    assert graph.unresolved == (("about.md", "x"),)


@given(st.text(alphabet="[]|#\\`*_()<>! \nab.md-", max_size=60))
def test_any_text_has_links_that_are_names(text: str) -> None:
    for target, _ in _links_in_text(text):
        assert target.strip()
        assert not set(target) & set("\n\0")


@given(st.text(max_size=40))
def test_wikilinks_name_what_stands_in_them(name: str) -> None:
    links, _ = _links_in_fields(FrontMatter({"about": f"a [[{name}]] b"}))
    plain = not set(name) & set("[]|#\n\0")
    assert [target for target, *_ in links] == [name.strip()] if plain and name.strip() else True
