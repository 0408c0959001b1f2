"""Tags in text and aliases, as in Obsidian."""

from __future__ import annotations

from pathlib import Path

import pytest

from hedgerow import InvalidInputError, MemoryRoot
from hedgerow._engine import _inline_tags
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
        ("#🚀 and #🚀launch, #👩\u200d💻/go", ["🚀", "🚀launch", "👩\u200d💻/go"]),
        ("#→ #\ufe0f\u20e3", []),
        ("", []),
    ],
)
def test_tags_in_a_text(text: str, expected: list[str]) -> None:
    assert _inline_tags(text) == expected


def test_the_first_hundred_count() -> None:
    assert len(_inline_tags(" ".join(f"#t{number}" for number in range(300)))) == 100


class TestRoot:
    @pytest.fixture
    def vault(self, root: MemoryRoot) -> MemoryRoot:
        """A note on hawthorn with aliases and tags, and one that links to it by alias."""
        matter = "---\naliases: [May tree, Whitethorn]\ntags: [tree]\n---\n"
        put(root.path, "notes/hawthorn.md", f"{matter}A hedge plant. #hedge/plants\n")
        put(root.path, "notes/other.md", "See [[may tree]] and [[Whitethorn|it]], a hedge.\n")
        return root

    def test_recall_goes_by_them(self, vault: MemoryRoot) -> None:
        for tag in ("hedge/plants", "#Hedge/Plants", "tree"):
            assert [one.file for one in vault.recall("hedge", tags=[tag])] == ["notes/hawthorn.md"]
        assert not vault.recall("hedge", tags=["plants"]).results

    def test_a_list_goes_by_them(self, vault: MemoryRoot) -> None:
        for tags in (["hedge"], ["#Hedge/Plants,tree"], ["hedge", "tree"]):
            found = vault.list(tags=tags)
            assert ([one.file for one in found.memories], found.count) == (["notes/hawthorn.md"], 1)
        assert vault.list(tags=["hedge", "stone"]).count == 0
        assert vault.list().count == 2

    def test_fields_are_read_in_any_case(self, root: MemoryRoot) -> None:
        matter = "Tags: [🚀 launch]\nALIASES: Kube\nDate: 2026-04-18\nType: Finding\nTitle: Big\n"
        put(root.path, "notes/a.md", f"---\n{matter}---\npomelo\n")
        put(root.path, "notes/b.md", "---\nRetracted: true\n---\npomelo\n")
        put(root.path, "notes/c.md", "---\nRelated: ['[[b]]']\n---\npomelo\n")
        for filters in ({"tags": ["🚀 launch"]}, {"after": "2026-01-01"}, {"types": ["finding"]}):
            found = root.recall("pomelo", **filters)
            assert [one.file for one in found] == ["notes/a.md"]
        assert (root.resolve("kube"), root.list(type="finding").memories[0].title) == (
            "notes/a.md",
            "Big",
        )
        assert sorted(one.file for one in root.recall("pomelo")) == ["notes/a.md", "notes/c.md"]
        root.restore("notes/b.md")
        assert len(root.recall("pomelo")) == 3
        root.link("notes/c.md", "notes/a.md")
        text = (root.path / "notes/c.md").read_text(encoding="utf-8")
        assert text.count("elated:") == 1
        assert "[[notes/a]]" in text or "[[a]]" in text

    def test_a_field_in_two_cases_is_reported(self, root: MemoryRoot) -> None:
        put(root.path, "notes/a.md", "---\nTags: [x]\ntags: [y]\n---\npomelo\n")
        assert len(root.recall("pomelo", tags=["y"])) == 1
        assert not root.recall("pomelo", tags=["x"]).results
        said = "Tags is not read, because tags is there too"
        assert any(said in one for one in root.recall("pomelo").notices)
        assert any(said in one for one in root.process("lint").summary)

    def test_aliases_are_names(self, vault: MemoryRoot) -> None:
        assert vault.show("May Tree").file == "notes/hawthorn.md"
        edges = vault.graph().edges
        assert [one[:2] for one in edges] == [("notes/other.md", "notes/hawthorn.md")]

    def test_an_alias_that_comes_or_goes_moves_links(self, vault: MemoryRoot) -> None:
        vault.graph()
        put(vault.path, "notes/hawthorn.md", "---\naliases: Haw, Quickset\n---\nA hedge plant.\n")
        assert vault.graph().unresolved == (
            ("notes/other.md", "may tree"),
            ("notes/other.md", "Whitethorn"),
        )
        assert vault.show("quickset").file == "notes/hawthorn.md"

    def test_marks_go_by_aliases(self, vault: MemoryRoot) -> None:
        put(vault.path, "notes/new.md", "---\nsupersedes: '[[Whitethorn]]'\n---\nAnother hedge.\n")
        assert vault.validity("notes/hawthorn.md").by == ("notes/new.md",)

    def test_an_alias_of_two_is_ambiguous(self, vault: MemoryRoot) -> None:
        put(vault.path, "notes/blackthorn.md", "---\naliases: [May tree]\n---\nAnother.\n")
        with pytest.raises(InvalidInputError) as raised:
            vault.show("may tree")
        assert raised.value.code == "ambiguous_node"


class TestKinds:
    """Nested and combined tags, aliases and types."""

    @pytest.fixture
    def infra(self, tmp_path: Path) -> MemoryRoot:
        put(tmp_path, "notes/a.md", "---\ntags: [infra/k8s]\n---\npomelo one\n")
        put(tmp_path, "notes/b.md", "pomelo two #infra/db #ops\n")
        put(tmp_path, "notes/c.md", "---\ntags: [infrastructure]\n---\npomelo three\n")
        put(tmp_path, "garden/d.md", "---\naliases: [Kubernetes, Grow bed]\n---\npomelo four\n")
        put(tmp_path, "recipes/e.md", "---\ntype: Soup Recipe\n---\npomelo five\n")
        put(tmp_path, "sessions/f.md", "pomelo six\n")
        return MemoryRoot.open(tmp_path)

    @pytest.mark.parametrize(
        ("tags", "expected"),
        [
            (["infra"], ["notes/a.md", "notes/b.md"]),
            (["#Infra/"], ["notes/a.md", "notes/b.md"]),
            (["infra/k8s"], ["notes/a.md"]),
            (["infra,ops"], ["notes/b.md"]),
            (["infra, ops", "infra/db"], ["notes/b.md"]),
            (["infra/k"], []),
        ],
    )
    def test_tags(self, infra: MemoryRoot, tags: list[str], expected: list[str]) -> None:
        assert sorted(one.file for one in infra.recall("pomelo", tags=tags)) == expected

    def test_decomposed_tags_are_the_same(self, tmp_path: Path) -> None:
        put(tmp_path, "notes/a.md", "---\ntags: [cafe\u0301]\n---\npomelo\n")
        assert len(MemoryRoot.open(tmp_path).recall("pomelo", tags=["caf\u00e9"])) == 1

    def test_tags_with_commas_are_written_apart(self, root: MemoryRoot) -> None:
        file = root.remember("pomelo", title="T", tags=["one, two", "three"]).file
        assert 'tags: ["one","two","three"]' in (root.path / file).read_text()

    @pytest.mark.parametrize("query", ["kubernetes", "grow bed"])
    def test_aliases_are_found(self, infra: MemoryRoot, query: str) -> None:
        assert [one.file for one in infra.recall(query)] == ["garden/d.md"]

    def test_the_alias_of_an_empty_note_is_found(self, tmp_path: Path) -> None:
        put(tmp_path, "notes/a.md", "---\ntitle: T\naliases: Kubernetes\n---\n")
        assert len(MemoryRoot.open(tmp_path).recall("kubernetes")) == 1

    @pytest.mark.parametrize(
        ("type_", "expected"),
        [
            ("session", ["sessions/f.md"]),
            ("episodic", ["sessions/f.md"]),
            ("Session", ["sessions/f.md"]),
            ("soup recipe", ["recipes/e.md"]),
            ("soup-recipe", ["recipes/e.md"]),
            ("note", ["garden/d.md", "notes/a.md", "notes/b.md", "notes/c.md"]),
        ],
    )
    def test_types_mean_the_same_everywhere(
        self, infra: MemoryRoot, type_: str, expected: list[str]
    ) -> None:
        assert sorted(one.file for one in infra.recall("pomelo", types=[type_])) == expected
        assert sorted(one.file for one in infra.list(type=type_).memories) == expected

    def test_a_folder_is_a_type(self, infra: MemoryRoot) -> None:
        assert [one.file for one in infra.recall("pomelo", types=["garden"])] == ["garden/d.md"]
        assert [one.file for one in infra.list(type="garden").memories] == ["garden/d.md"]

    def test_several_types_may_be_written_with_commas(self, infra: MemoryRoot) -> None:
        expected = ["recipes/e.md", "sessions/f.md"]
        for types in (["session", "soup recipe"], ["session, soup-recipe"]):
            assert sorted(one.file for one in infra.recall("pomelo", types=types)) == expected
            assert sorted(one.file for one in infra.grep("pomelo", types=types)) == expected
        listed = infra.list(type="session,soup recipe")
        assert sorted(one.file for one in listed.memories) == expected
        with pytest.raises(InvalidInputError, match="no memories of the type 'sesion'"):
            infra.list(type="note,sesion")
        with pytest.raises(InvalidInputError, match="a type or a tag is blank"):
            infra.list(type=" ")

    def test_a_list_says_session(self, infra: MemoryRoot) -> None:
        assert {one.type for one in infra.list().memories} == {"note", "session", "soup-recipe"}

    @pytest.mark.parametrize(("wrong", "near"), [("sesion", "session"), ("decisions", "decision")])
    def test_an_unknown_type_is_an_error_everywhere(
        self, infra: MemoryRoot, wrong: str, near: str
    ) -> None:
        for call in (
            lambda: infra.recall("pomelo", types=[wrong]),
            lambda: infra.context("pomelo", types=[wrong]),
            lambda: infra.list(type=wrong),
            lambda: infra.remember("x", title="T", type=wrong),
            lambda: infra.supersede("a", text="x", type=wrong),
        ):
            with pytest.raises(InvalidInputError, match=f"did you mean '{near}'"):
                call()

    def test_types_of_another_scope_are_unknown(self, infra: MemoryRoot) -> None:
        with pytest.raises(InvalidInputError, match="no memories of the type 'soup-recipe'"):
            infra.scoped(user="ana").recall("pomelo", types=["soup recipe"])
        for type_ in ("soup recipe", "semantic"):
            with pytest.raises(InvalidInputError, match="no memories of the type"):
                infra.scoped(user="ana").list(type=type_)


class TestKeys:
    """A key resolves to the valid memory."""

    def test_a_memory_counts_before_a_page(self, root: MemoryRoot) -> None:
        """Of the same title, and if only the page has the name."""
        file = root.remember("The kettle is copper.", title="Kettle").file
        page = root.process("synthesize", topic="kettle", apply=True).files[0]
        assert [root.resolve(key) for key in ("Kettle", "kettle", "[[Kettle]]")] == [file] * 3
        assert (root.resolve(page), root.resolve("pages/kettle")) == (page, page)
        assert root.show("kettle").file == file
        new = root.supersede("Kettle", text="The kettle is of steel.", title="Kettle").written
        assert root.resolve("Kettle") == new
        assert root.forget("Kettle", purge=True).file == new
        assert root.resolve("Kettle") == file

    def test_a_memory_of_a_vault_counts_before_a_page(self, tmp_path: Path) -> None:
        (tmp_path / ".obsidian").mkdir()
        root = MemoryRoot.init(tmp_path)
        file = root.remember("The kettle is copper.", title="Kettle").file
        page = root.process("synthesize", topic="kettle", apply=True).files[0]
        assert (root.resolve("Kettle"), root.resolve(page)) == (file, page)

    def test_the_one_that_holds_counts(self, root: MemoryRoot) -> None:
        old = root.remember("Deploys happen on Tuesdays.", title="Deploys").file
        new = root.supersede("Deploys", text="They are on Wednesdays.", title="Deploys").written
        assert root.resolve("Deploys") == new
        newest = root.supersede("Deploys", text="They are on Fridays.", title="Deploys").written
        assert root.resolve("deploys") == newest
        assert root.show("Deploys").file == newest
        with pytest.raises(InvalidInputError) as raised:
            root.restore("Deploys")
        assert raised.value.code == "ambiguous_node"
        assert newest not in raised.value.message
        assert old in raised.value.message

    def test_restore_means_the_one_that_does_not(self, root: MemoryRoot) -> None:
        root.remember("Deploys happen on Tuesdays.", title="Deploys")
        other = root.remember("They are announced by mail.", title="Deploys").file
        root.retract(other)
        assert root.restore("Deploys").file == other

    def test_several_that_hold_are_ambiguous(self, root: MemoryRoot) -> None:
        root.remember("Deploys happen on Tuesdays.", title="Deploys")
        root.remember("They are announced by mail.", title="Deploys")
        with pytest.raises(InvalidInputError, match="ambiguous"):
            root.resolve("Deploys")

    def test_the_title_is_that_of_the_new_text(self, root: MemoryRoot) -> None:
        old = root.remember("Deploys happen on Tuesdays.", title="Deploys happen on Tuesdays").file
        new = root.supersede(old, text="Deploys happen on Wednesdays.").written
        assert new is not None
        text = (root.path / new).read_text()
        assert 'title: "Deploys happen on Wednesdays."' in text
        assert "Tuesday" not in text
        assert root.resolve("Deploys happen on Wednesdays.") == new
