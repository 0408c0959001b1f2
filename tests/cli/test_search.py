"""`hedgerow search` on the examples: output, filters and explanations."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import hedgerow as hr
from command_line import as_json, failed, ok

pytestmark = pytest.mark.usefixtures("in_examples")


def test_shows_rank_score_place_title_and_snippet() -> None:
    lines = ok("search", "winter AND feeding", "--db", "notes.db", "--no-neighbors").splitlines()
    assert lines[0].startswith("1. notes/garden/hedgehogs.md:7  ")
    assert lines[1] == "   Hedgehogs in the garden > Winter feeding"
    assert lines[2].startswith("   Do not stop feeding in October.")
    assert lines[-1] == "2 results."


def test_query_is_the_same_as_text() -> None:
    args = ("--db", "notes.db")
    assert ok("search", "hedge", *args) == ok("search", "--query", "hedge", *args)


def test_as_json_has_these_keys() -> None:
    answer = as_json("search", "味噌汁", "--db", "notes.db", "--limit", "1")
    assert list(answer) == [
        "query", "db", "chunks", "limit", "offset", "candidates", "operator", "profile", "matching",
        "mode", "fusion", "neighbors", "speakers", "dates", "reweight", "filters", "match", "trace", "count",
        "results",
    ]  # fmt: skip
    (hit,) = answer["results"]
    assert list(hit) == [
        "rank", "score", "bm25Rank", "vectorSimilarity", "rerankScore", "id", "path", "ordinal",
        "line", "title", "summary", "tags", "snippet", "content", "metadata",
    ]  # fmt: skip
    assert (hit["path"], hit["ordinal"]) == ("notes/recipes/miso-soup.md", 2)
    assert (answer["candidates"], answer["profile"]) == (100, "best")
    assert hit["line"] == hit["metadata"]["line_start"]
    assert hit["tags"] == ["料理", "和食"]
    assert Path(hit["metadata"]["source_file"]).is_file()


def test_json_is_not_escaped_and_alone_on_stdout() -> None:
    text = ok("search", "味噌汁", "--db", "notes.db", "--json")
    assert "味噌" in text
    assert text.startswith("{\n") and text.endswith("}\n")  # noqa: PT018


def test_limit_is_said_when_reached() -> None:
    text = ok("search", "hedge", "--db", "notes.db", "--limit", "2")
    assert "2 results, the limit: --limit 4 may show more." in text


def test_offset_goes_on_where_the_limit_was() -> None:
    args = ("search", "hedge", "--db", "notes.db", "--limit")
    whole = as_json(*args, "4")
    page = as_json(*args, "2", "--offset", "2")
    assert page["results"] == whole["results"][2:]
    assert ([hit["rank"] for hit in page["results"]], page["offset"]) == ([3, 4], 2)
    lines = ok(*args, "2", "--offset", "2", "--explain").splitlines()
    assert [line[0] for line in lines if line[1:8] == ". notes"] == ["3", "4"]
    assert [line[0] for line in lines if line[1:9] == "  notes/"] == ["3", "4"]
    assert lines[-1] == "2 results from number 3 on, the limit: --offset 4 may show more."


def test_an_offset_past_the_last_says_how_many_there_are() -> None:
    args = ("search", "hedge", "--db", "notes.db", "--offset", "99")
    count = len(as_json(*args[:-2], "--limit", "60")["results"])
    assert ok(*args) == f"There are {count} results, none from number 100 on.\n"
    cut = ok(*args, "--candidates", "10")
    assert cut == (
        "There are 10 results, none from number 100 on. --candidates 20 may find more.\n"
    )
    assert "Invalid value for '--offset': -1 is not" in failed(2, *args[:-1], "-1")
    assert "--offset goes with --db FILE" in failed(2, "search", "x", "--offset", "1")


@pytest.mark.parametrize(
    ("filters", "paths"),
    [
        (["path=notes/recipes/sloe-gin.md"], {"notes/recipes/sloe-gin.md"}),
        (
            ["path=notes/people/tom.md", "path=notes/garden/slugs.md"],
            {"notes/people/tom.md"},
        ),
        (["prefix=notes/people/"], {"notes/people/tom.md"}),
        (["tag=decision"], set()),
        (["tag=hedge", "tag=autumn"], {
            "notes/recipes/sloe-gin.md",
            "notes/recipes/rosehip-syrup.md",
        }),
        (["meta.length_m=62"], {"notes/garden/hawthorn-hedge.md"}),
        (['meta.length_m="62"'], set()),
        (["meta.planted=2009-11-28"], {"notes/garden/hawthorn-hedge.md"}),
        (['meta.planted="2009-11-28"'], {"notes/garden/hawthorn-hedge.md"}),
    ],
)  # fmt: skip
def test_filters(filters: list[str], paths: set[str]) -> None:
    given = [part for one in filters for part in ("--filter", one)]
    args = ["search", "hedge OR blackthorn OR hawthorn OR roses", "--db", "notes.db", *given]
    assert {hit["path"] for hit in as_json(*args)["results"]} == paths


def test_aliases_and_operators_apply() -> None:
    args = ["search", "k8s rollout", "--db", "notes.db"]
    answer = as_json(
        *args, "--alias", "k8s=kubernetes,kubectl", "--operator", "AND", "--no-neighbors"
    )
    assert answer["match"] == '("kubernetes" OR "kubectl") AND "rollout"'
    assert answer["count"] == 1


def test_extended_matching_finds_short_names() -> None:
    args = ["search", "500 g", "--db", "notes.db"]
    assert as_json(*args, "--matching", "extended")["count"] > 0


def test_explain_shows_every_word_both_forms_and_each_hit() -> None:
    args = ["search", "the k8s", "--db", "notes.db", "--alias", "k8s=kubernetes", "--explain"]
    text = ok(*args, "--profile", "spec")
    for part in (
        "text        the k8s\n",
        "normalised  the k8s\n",
        "  the  dropped             a stop word: English\n",
        "  k8s  kept as kubernetes  k8s is an alias\n",
        "normative   kubernetes\n",
        'executed    "kubernetes"\n',
        "   why: number 1 by keywords (BM25 ",
        "  bm25  ",
        "mode bm25, profile spec, matching spec, fusion rrf, without neighbors, reweighted\n",
        "Not searched for: the.\n",
    ):
        assert part in text
    best = ok(*args)
    for part in (
        "  the  dropped             a stop word: function words of English\n",
        "   why: keywords 1.00 (100 % of the best keyword match)",
        "+0.4000",
        "mode bm25, profile best, matching extended, fusion score, with neighbors, with speakers, "
        "with dates, not reweighted\n",
    ):
        assert part in best
    chosen = ok(*args, "--fusion", "rrf")
    assert "mode bm25, matching extended, fusion rrf, with neighbors, not reweighted\n" in chosen
    assert as_json(*args, "--fusion", "rrf")["profile"] is None, "of neither profile"
    assert as_json(*args, "--profile", "spec")["profile"] == "spec"


def test_why_not() -> None:
    args = ["search", "hedge", "--db", "notes.db", "--limit", "1"]
    hits = as_json(*args[:-1], "60")["results"]
    last = hits[-1]["id"]
    found = ok(*args, "--why-not", last)
    assert f"Why not: '{last}' is number " in found
    assert "; the last of 1 results has " in found
    assert "Why not: The index has no chunk 'nowhere#9'.\n" in ok(*args, "--why-not", "nowhere#9")
    assert as_json(*args, "--why-not", last)["whyNot"]["cut"] == "limit"
    with hr.Index.open("own.db") as index:
        index.upsert([{"id": "1", "path": "garden.md", "content": "oak", "ordinal": 3}])
    own = as_json("search", "elm", "--db", "own.db", "--why-not", "garden.md#3")
    assert (own["whyNot"]["id"], own["whyNot"]["cut"]) == ("1", "no_match")
    place = f"{hits[-1]['path']}:{hits[-1]['line']}"
    assert as_json(*args, "--why-not", place)["whyNot"]["id"] == last
    nothing = ok("search", "zzxqj", "--db", "notes.db", "--why-not", last)
    assert f"Why not: '{last}' holds none of " in nothing
    assert "--why-not goes with --db FILE" in failed(2, "search", "x", "--why-not", last)


def test_explain_as_json() -> None:
    answer = as_json("search", "the hedge", "--db", "notes.db", "--explain")
    explanation = answer["explanation"]
    assert list(explanation) == ["text", "normalised", "filtered", "words", "fts", "match"]
    assert [word["outcome"] for word in explanation["words"]] == ["dropped", "kept"]
    assert all(hit["explanation"]["score"] == hit["score"] for hit in answer["results"])
    assert all(hit["why"] for hit in answer["results"])


def test_explain_shows_what_other_options_run() -> None:
    args = ["search", "hedge birds", "--db", "notes.db", "--explain"]
    assert 'executed    "hedge" AND "birds"' in ok(*args, "--operator", "AND")
    assert "extended matching of a bare query" in ok(*args, "--matching", "extended")


def test_no_results_says_what_was_searched_for() -> None:
    text = ok("search", "the unicorn", "--db", "notes.db", "--filter", "tag=garden")
    assert text.startswith("No results in notes.db (")
    assert 'Searched for: "unicorn"\n' in text
    assert "Only among: tag=garden\n" in text
    assert "Dropped: the: a stop word: function words of English\n" in text
    assert as_json("search", "unicorn", "--db", "notes.db")["results"] == []


def test_a_condition_on_a_key_that_no_chunk_has_is_named() -> None:
    for condition, said in [
        ("tagz = garden", "No chunk has the key tagz; did you mean tag?\n"),
        ("year >= 2024", "No chunk has the key year.\n"),
        ("author = ann", "No chunk has the key author.\n"),
    ]:
        assert said in ok("search", "hedge", "--db", "notes.db", "--filter", condition)
    kept = ok("search", "unicorn", "--db", "notes.db", "--filter", "tag=garden")
    assert "No chunk has the key" not in kept


@pytest.mark.parametrize("text", ["is it the", "", "!!!", '"'])
def test_nothing_searched_is_not_nothing_found(text: str) -> None:
    shown = ok("search", text, "--db", "notes.db", "--matching", "spec")
    assert shown.startswith("Nothing was searched for")
    assert "Put words in quotes" in shown


def test_a_trigram_index_says_what_it_can_find(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("味噌汁 at noon\n", encoding="utf-8")
    file = str(tmp_path / "tri.db")
    ok("index", str(tmp_path / "a.md"), "--db", file, "--tokenizer", "trigram")
    shown = ok("search", "味噌", "--db", file)
    assert "The index finds three characters in a row and more: search for longer words." in shown
    assert "quotes" not in shown
    assert "味噌汁" in ok("search", "味噌汁", "--db", file)


def test_searching_makes_no_file(tmp_path: Path) -> None:
    failed(1, "search", "x", "--db", str(tmp_path / "x.db"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--url", "notes"], "'notes' is not a URL with a name after it"),
        (["--url", "https://h/n", "--db", "notes.db"], "--db and --url exclude each other"),
        (["--url", "https://h/n", "--root", "."], "--root and --url exclude each other"),
        (["--url", "https://h/n", "--depth", "deep"], "--depth goes with --root DIR."),
        (["--db", "notes.db", "--user", "me"], "--user goes with --url URL/NAME."),
        (["--db", "notes.db", "--depth", "deep"], "--depth goes with --root DIR."),
        (["--root", ".", "--mode", "bm25"], "--mode goes with --db FILE or --url URL/NAME."),
    ],
)
def test_what_is_searched_decides_which_options_there_are(options, message) -> None:
    assert message in failed(2, "search", "oak", *options)


def test_a_collection_wins_over_the_default_of_db(monkeypatch) -> None:
    """If its package is missing, the error names the extra."""
    monkeypatch.setenv("HEDGEROW_DB", "notes.db")
    monkeypatch.setitem(sys.modules, "opensearchpy", None)
    error = failed(1, "search", "oak", "--url", "http://127.0.0.1:9/notes")
    assert 'pip install "hedgerow[opensearch]"' in error


def test_ages_count_on_request_and_are_explained(tmp_path: Path) -> None:
    db = str(tmp_path / "dated.db")
    for name, front in [("old", "date: 2026-01-01"), ("new", "date: 2026-04-01"), ("bare", "a: b")]:
        (tmp_path / f"{name}.md").write_text(f"---\n{front}\n---\n# Frost\n\nfrost on hedges\n")
    ok("index", str(tmp_path), "--db", db)
    args = ("search", "frost", "--db", db, "--recency", "30d", "--question-date", "2026-04-01")
    answer = as_json(*args, "--explain")
    parts = {Path(hit["path"]).stem: hit["explanation"]["recency"] for hit in answer["results"]}
    assert {name: (by["age"], by["weight"]) for name, by in parts.items()} == {
        "new": (0, 1.0), "bare": (None, 0.5), "old": (90, 0.125),
    }  # fmt: skip
    assert Path(answer["results"][0]["path"]).stem == "new"
    assert answer["trace"]["recency"] == "30d"
    text = ok(*args, "--explain")
    assert "halved every 30d" in text
    assert "90 d, weight 0.12" in text
    assert "no date, weight 0.50" in text


def test_a_wrong_age_says_what_one_is() -> None:
    error = failed(2, "search", "frost", "--db", "notes.db", "--recency", "month")
    assert "recency must be an age of one day or more, as in 30d or 2w, not 'month'" in error
    error = failed(2, "search", "frost", "--root", ".", "--recency", "30d")
    assert "--recency goes with --db FILE or --url URL/NAME" in error


def test_a_score_of_zero_is_explained(tmp_path: Path) -> None:
    for name, text in {"a": "oak beech", "b": "oak", "c": "oak elm"}.items():
        (tmp_path / f"{name}.txt").write_text(text)
    db = str(tmp_path / "notes.db")
    ok("index", str(tmp_path), "--db", db)
    told = "0.00: only words match that half of the texts or more have, which hardly count."
    assert told in ok("search", "oak beech", "--db", db)
    assert told not in ok("search", "beech", "--db", db)
