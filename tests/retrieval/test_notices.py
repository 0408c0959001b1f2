"""Notices about queries that were probably meant differently, in every interface."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import hedgerow as hr
from command_line import as_json, ok, run
from hedgerow.typing import Profile

SPELLED = "For hanlde, also searched: handle."
EXCLUDED = "Left out, for the minus sign: texts with roses."


@pytest.fixture
def index() -> hr.Index:
    texts = ["The handle of the door", "Pruning roses", "E-mail the gardener"]
    return hr.Index.from_texts(texts, paths=["door.md", "roses.md", "mail.md"])


class TestResponse:
    def test_it_has_the_words_that_were_not_searched_for_too(self, index: hr.Index) -> None:
        response = hr.Retriever(index, ranking=hr.Ranking("best")).search("the hanlde -roses")
        assert [hit.path for hit in response] == ["door.md"]
        assert response.notices == ["Not searched for: the.", EXCLUDED, SPELLED]
        assert response.trace.notices == [EXCLUDED, SPELLED]
        told = response.to_dict()
        assert told["notices"] == response.notices
        assert told["trace"]["notices"] == response.trace.notices
        assert SPELLED in response.explain().splitlines()
        assert SPELLED in response._repr_html_()
        assert hr.Trace._from_dict(told["trace"]) == response.trace

    @pytest.mark.parametrize("query", ["door NOT hanlde", "door NOT (hanlde OR roses)"])
    def test_what_is_excluded_has_no_other_spellings(self, index: hr.Index, query: str) -> None:
        response = hr.Retriever(index, ranking=hr.Ranking("best")).search(query)
        assert [hit.path for hit in response] == ["door.md"]
        assert SPELLED not in response.notices

    def test_a_search_that_is_understood_has_none(self, index: hr.Index) -> None:
        response = hr.Retriever(index, ranking=hr.Ranking("best")).search("handle")
        assert response.notices == []
        assert "notices" not in response.trace.to_dict()

    @pytest.mark.parametrize(
        ("query", "text", "is_meant"),
        [
            ("café", "Be careful", False),
            ("cafe", "Be careful", False),
            ("café", "We care", False),
            ("häusre", "Die Häuser", True),
            ("hegde", "The hedges", True),
            ("recieve", "On receiving it", True),
        ],
    )
    def test_short_words_and_accents_are_compared_whole(
        self, query: str, text: str, *, is_meant: bool
    ) -> None:
        retriever = hr.Retriever(hr.Index.from_texts([text]), ranking=hr.Ranking("best"))
        assert bool(retriever.search(query).results) is is_meant

    @pytest.mark.parametrize("query", ["???", "*", "( )"])
    def test_a_query_without_words_says_so(self, index: hr.Index, query: str) -> None:
        said = "Keywords found nothing: the query has no word that can be searched for."
        assert hr.Retriever(index, ranking=hr.Ranking("best")).search(query).trace.notices == [said]
        assert hr.Retriever(index).search(query).notices[-1:] != [said]

    def test_the_specification_neither_excludes_nor_spells(self, index: hr.Index) -> None:
        retriever = hr.Retriever(index)
        assert {hit.path for hit in retriever.search("handle -roses")} == {"door.md", "roses.md"}
        assert retriever.search("handle -roses").notices == []
        assert retriever.search("hanlde", skip_retry_ladder=True).trace.match_query == '"hanlde"'

    def test_a_filter_hides_spellings(self, index: hr.Index) -> None:
        retriever = hr.Retriever(index, ranking=hr.Ranking("best"))
        assert retriever.search("hanlde", filters={"paths": ["roses.md"]}).notices == []


class TestCommands:
    pytestmark = pytest.mark.usefixtures("here")

    def test_a_search_of_an_index(self, here: Path) -> None:
        (here / "door.md").write_text("# Door\n\nThe handle of the door.\n")
        ok("index", "door.md", "--db", "notes.db")
        assert SPELLED in run("search", "hanlde", "--db", "notes.db").stdout.splitlines()
        assert as_json("search", "hanlde", "--db", "notes.db")["notices"] == [SPELLED]
        assert "notices" not in as_json("search", "handle", "--db", "notes.db")

    def test_a_recall(self) -> None:
        ok("init", "--root", "memory")
        ok("remember", "The handle of the door.", "--title", "Door", "--root", "memory")
        found = run("recall", "hanlde", "--root", "memory")
        assert "The handle of the door." in found.stdout
        assert f"Note: {SPELLED}" in found.stderr.splitlines()
        told = json.loads(run("recall", "hanlde", "--json", "--root", "memory").stdout)
        assert told["notices"] == [SPELLED]


class TestScopes:
    def test_the_words_of_other_users_are_not_told(self, tmp_path: Path) -> None:
        with hr.MemoryRoot.init(tmp_path / "memory") as root:
            root.scoped(user="ana").remember("The handle of the door.", title="Door")
            root.scoped(user="ben").remember("Roses in winter.", title="Roses")
            assert root.scoped(user="ana").recall("hanlde").notices == (SPELLED,)
            assert root.scoped(user="ben").recall("hanlde").notices == ()


GERMAN = ["Die Kinder gingen gestern ins große Schwimmbad.", "Das Haus hat einen großen Balkon."]
POLISH = ["W naszych domach mieszkają koty.", "To jest piękny dzień, dziękuję."]

FOLDED = [
    ("Les œufs sont dans le réfrigérateur", "oeufs"),
    ("un voyage à Łódź", "lodz"),
    ("Straße", "STRASSE"),
    ("ISPARTA", "ısparta"),
    ("मेरा फ़ोन", "फोन"),
    ("मेरी माँ", "मां"),
    ("वे हिन्दी", "हिंदी"),
    ("เด็กๆไปโรงเรียน", "เด็ก"),
    ("我的貓喜歡在廣場上曬太陽。", "广场"),
    ("我的貓喜歡在廣場上曬太陽。", "猫"),
    ("我的狗叫旺财。", "旺財"),
    ("渡邊さん", "渡辺"),
    ("عام ٢٠٢٦", "2026"),
    ("2026", "२०२६"),
    ("CO₂", "CO2"),
    ("from the U.S.A.", "USA"),
    ("the USA", "U.S.A."),
    ("12,000 oaks", "12000"),
    ("12000 oaks", "12'000"),
]
"""A text, and a query that differs from it only in letters that the tokenizer folds."""


class TestOtherSpellings:
    @pytest.mark.parametrize("profile", ["best", "spec"])
    @pytest.mark.parametrize(("text", "query"), FOLDED)
    def test_folded_words_are_the_same(self, text: str, query: str, profile: Profile) -> None:
        index = hr.Index.from_texts([text, "other words"], paths=["folded", "other"])
        response = hr.Retriever(index, ranking=hr.Ranking(profile)).search(query)
        assert [hit.path for hit in response] == ["folded"]
        assert response.notices == []

    @pytest.mark.parametrize(
        ("texts", "query", "found", "spelling"),
        [(GERMAN, "Kind", 0, "kind*"), (POLISH, "dom", 0, "dom*")],
    )
    def test_inflected_words_are_found_by_their_beginning(
        self, texts: list[str], query: str, found: int, spelling: str
    ) -> None:
        index = hr.Index.from_texts(texts, paths=[str(n) for n in range(len(texts))])
        response = hr.Retriever(index, ranking=hr.Ranking("best")).search(query)
        assert [hit.path for hit in response] == [str(found)]
        assert response.notices == [f"For {query.lower()}, also searched: {spelling}."]

    @pytest.mark.parametrize("query", ["post", "Kind", "pos", "tester"])
    def test_english_words_keep_their_ends(self, query: str) -> None:
        index = hr.Index.from_texts(["a poster", "in the kindergarten"])
        response = hr.Retriever(index, ranking=hr.Ranking("best")).search(query)
        assert response.notices == []

    @pytest.mark.parametrize(
        ("text", "query", "spelling"),
        [
            ("the calendar", "calender", "calendar"),
            ("the calendars", "calenders", "calendars"),
            ("a cellar door", "celler", "cellar"),
            ("a grammar book", "grammer", "grammar"),
            ("in September", "septembar", "september"),
            ("the tailor", "taylers", None),
            ("a hedge", "hegers", None),
        ],
    )
    def test_a_word_whose_stem_is_another_is_compared_whole(
        self, text: str, query: str, spelling: str | None
    ) -> None:
        index = hr.Index.from_texts([text, "other words"])
        response = hr.Retriever(index, ranking=hr.Ranking("best")).search(query)
        said = [] if spelling is None else [f"For {query}, also searched: {spelling}."]
        assert response.notices == said

    def test_a_misspelled_ending_is_named_as_the_texts_have_the_word(self, index: hr.Index) -> None:
        response = hr.Retriever(index, ranking=hr.Ranking("best")).search("handlign")
        assert response.notices == ["For handlign, also searched: handle."]


class TestOtherSyntax:
    """Syntax of other search programs is read as words, and a notice says so."""

    @pytest.mark.parametrize(
        "query",
        [
            *[
                "title:door",
                "door tag:#roses",
                "tag:#roses door",
                "path:roses door",
                "(file:x) door",
            ],
            *["door created:2026", "door since:2026", "type:note door", "door is:todo"],
            *[
                "door NEAR handle",
                "door NEAR/3 handle",
                "NEAR(door handle)",
                "door AROUND(3) handle",
            ],
            *[
                "door^2",
                "door ^2",
                "door~",
                "door ~2",
                '"the door"^2',
                '"the door"~3',
                "(door roses)^2",
            ],
            *[
                "/prun.*/",
                "door /ro[st]es/",
                "*oor",
                "d*r",
                "do?r",
                "+door",
                "!door",
                "door && roses",
            ],
        ],
    )
    def test_it_is_named(self, index: hr.Index, query: str) -> None:
        response = hr.Retriever(index, ranking=hr.Ranking("best")).search(query)
        said = ("was searched for", "was read as", "was left out")
        assert any(word in one for one in response.notices for word in said), response.notices

    @pytest.mark.parametrize(
        "query",
        [
            *[
                "door near handle",
                "DOOR NEAR HANDLE",
                "door ~ roses",
                "door ^ roses",
                "std::vec door",
            ],
            *[
                "https://x.y/z",
                "door 10:30",
                "door (roses)",
                "C++",
                "f(x)",
                "/usr/lib/door",
                "a/b door",
            ],
        ],
    )
    def test_words_are_not(self, index: hr.Index, query: str) -> None:
        response = hr.Retriever(index, ranking=hr.Ranking("best")).search(query)
        assert not [one for one in response.notices if "was " in one]


class TestExclusions:
    @pytest.mark.parametrize(
        ("query", "found"),
        [
            ("handle -door", []),
            ("handle NOT (door OR roses)", []),
            ("handle NOT(door OR roses)", []),
            ("roses NOT(door)", ["roses.md"]),
            ("door AND(handle)", ["door.md"]),
            ("(door AND handle)OR pruning", ["door.md", "roses.md"]),
            ("handle AND (NOT roses)", ["door.md"]),
            ("handle AND (NOT door)", []),
            ("(NOT door) roses", ["roses.md"]),
        ],
    )
    def test_what_is_excluded_is_never_found(
        self, index: hr.Index, query: str, found: list[str]
    ) -> None:
        response = hr.Retriever(index, ranking=hr.Ranking("best")).search(query)
        assert sorted(hit.path for hit in response) == found

    @pytest.mark.parametrize(
        ("query", "executed"),
        [("(door)AND(roses)", '"door" AND "roses"'), ('"a NOT(door)"', '"a not(door)"')],
    )
    def test_operators_next_to_parentheses_count_outside_of_quotes(
        self, index: hr.Index, query: str, executed: str
    ) -> None:
        response = hr.Retriever(index, ranking=hr.Ranking("best")).search(query)
        assert response.trace.match_query == executed

    @pytest.mark.parametrize("query", ['-"the door"', "-(door OR roses)", "(NOT door)"])
    def test_exclusions_alone_are_searched_for_and_a_notice_says_so(
        self, index: hr.Index, query: str
    ) -> None:
        response = hr.Retriever(index, ranking=hr.Ranking("best")).search(query)
        assert "door.md" in [hit.path for hit in response]
        assert response.notices[0].startswith(("The minus sign was ignored", "Ignored, because"))

    @pytest.mark.parametrize(
        ("query", "left_out"),
        [
            ("oak (-tree)", "tree"),
            ("(-tree) oak", "tree"),
            ("oak ((-tree))", "tree"),
            ("oak -🦔", "🦔"),
            ("oak (-🦔)", "🦔"),
            ("oak OR elm -🦔", "🦔"),
            ("oak -€5", None),
            ("oak -5", None),
        ],
    )
    def test_a_minus_sign_excludes_in_parentheses_and_before_an_emoji(
        self, query: str, left_out: str | None
    ) -> None:
        index = hr.Index.from_texts(["oak tree", "oak 🦔", "oak €5"])
        response = hr.Retriever(index, ranking=hr.Ranking("best")).search(query)
        found = {hit.content for hit in response}
        assert found == {"oak tree", "oak 🦔", "oak €5"} - {f"oak {left_out}"}
        said = [] if left_out is None else [f"Left out, for the minus sign: texts with {left_out}."]
        assert list(response.notices) == said

    def test_filters_that_nothing_passes_are_told_from_words_that_nothing_has(
        self, index: hr.Index
    ) -> None:
        search = hr.Retriever(index, ranking=hr.Ranking("best")).search
        said = "No chunk passes the filters: check their names and values, or leave one out."
        for filters in ({"tag": "x"}, hr.Filters(path_prefix="nowhere/"), {"tags": ["x"]}):
            response = search("door", filters=filters)
            assert (list(response), response.notices) == ([], [said])
        assert search("door", filters={"path": "roses.md"}).notices == []
        assert search("zzzzz").notices == []
        assert hr.Retriever(index).search("handle", filters={"tag": "x"}).notices == []

    @pytest.mark.parametrize("quoted", ["‹the door›", "《the door》", "〝the door〞"])
    def test_quotes_of_other_languages_make_a_phrase(self, index: hr.Index, quoted: str) -> None:
        response = hr.Retriever(index, ranking=hr.Ranking("best")).search(quoted)
        assert response.trace.match_query == '"the door"'
