"""A report in a real browser: content, appearance, and notes that stay text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import hedgerow as hr
from browsers import CONTRAST, FOUND, overflow
from command_line import as_json
from hedgerow._page import page as made

QUERY = "when do I cut the hawthorn hedge"


def test_a_report_shows_the_hits_of_the_search_in_their_order(hedges: Path, reported: Any) -> None:
    page = reported(QUERY)
    answer = as_json("search", QUERY, "--db", str(hedges))
    shown = [text.strip() for text in page.locator(f"{FOUND} .score").all_inner_texts()]
    assert shown == [f"{hit['score']:.2f}" for hit in answer["results"]]
    assert page.locator("h1").inner_text() == QUERY
    assert page.locator(".words .dropped .word").all_inner_texts() == ["when", "do", "I", "the"]
    assert page.get_by_text("Why is a chunk missing?").count() == 0


@pytest.mark.parametrize(
    "options", [(), ("--profile", "spec"), ("--mode", "semantic"), ("--mode", "bm25")]
)
def test_the_parts_of_every_score_add_up(
    hedges: Path, reported: Any, options: tuple[str, ...]
) -> None:
    query = "which mug do I prefer for the winter"
    page = reported(query, "--limit", "30", *options)
    answer = as_json("search", query, "--db", str(hedges), "--limit", "30", "--explain", *options)
    for at, hit in enumerate(answer["results"]):
        parts = hit["explanation"]
        page.locator(FOUND).nth(at).click()
        numbers = [
            float(text.replace("−", "-").replace("×", "").replace("÷", ""))
            for text in page.locator(".ledger .number").all_inner_texts()
        ]
        legs = [parts[leg] for leg in ("keywords", "meaning") if parts[leg]]
        given = [by["contribution"] for by in [*legs, *parts["neighbors"]]]
        for value in [*given, *(one["factor"] for one in parts["multipliers"]), hit["score"]]:
            assert any(abs(number - value) < 1e-4 for number in numbers), (value, numbers)
        page.keyboard.press("Escape")


def test_a_line_leads_from_each_place_in_a_leg_to_where_it_ended(
    hedges: Path, reported: Any
) -> None:
    page = reported(QUERY)
    hits = as_json("search", QUERY, "--db", str(hedges), "--explain")["results"]
    for leg in ("keywords", "meaning"):
        ranks = sorted(
            hit["explanation"][leg]["rank"] + 1
            for hit in hits
            if (hit["explanation"][leg] or {}).get("rank") is not None
        )
        page.wait_for_selector(f".lines path.{leg}", state="attached")
        assert page.locator(f".lines path.{leg}").count() == len(ranks)
        assert page.locator(f".leg.{leg} .rank").all_inner_texts() == [str(rank) for rank in ranks]
    page.locator(FOUND).nth(2).hover()
    followed = page.locator(".lines path.followed")
    assert {followed.nth(n).get_attribute("data-hit") for n in range(followed.count())} == {"2"}
    assert page.locator(".followed .row").count() == 1 + followed.count()


def test_a_result_shows_its_snippet_with_the_matches_marked(reported: Any) -> None:
    page = reported("hawthorn", "--mode", "bm25")
    snippet = page.locator(f"{FOUND} .snippet").first
    assert {text.lower() for text in snippet.locator("mark").all_inner_texts()} == {"hawthorn"}
    assert "<mark>" not in snippet.inner_text()


def test_a_passage_has_its_matches_marked(reported: Any) -> None:
    page = reported('"изгородь" OR scripts', "--mode", "bm25")
    page.locator(FOUND, has_text="Живая изгородь").click()
    assert page.locator(".passage mark").all_inner_texts() == ["scripts", "Изгородь"]
    assert page.locator(".drawer").get_by_text("ru.md", exact=True).count() == 1


def test_what_a_note_holds_is_text_and_nothing_else(reported: Any) -> None:
    hostile = "<img src=x onerror=window.hacked=1></script> hostile"
    page = reported(hostile, "--mode", "bm25")
    page.locator(FOUND).first.click()
    page.locator("details").last.locator("summary").click()
    assert page.locator("h1").inner_text() == hostile
    assert "<img src=x onerror=" in page.locator(".passage").inner_text()
    assert page.locator("img").count() == 0


def test_nothing_found_says_what_was_tried(reported: Any) -> None:
    page = reported("qqqq wwww", "--mode", "bm25")
    assert page.get_by_text("No results").is_visible()
    assert page.locator(".ladder li").count() == 5
    page = reported("!!!", "--mode", "bm25")
    assert page.get_by_text("No word of the query is left to search for.").is_visible()


HAWTHORN = "hawthorn-hedge.md#"


@pytest.mark.parametrize(
    "case",
    [
        ("hedge NOT birds", HAWTHORN + "1", (), 'It holds what the query excludes: "birds".'),
        ("hedge", HAWTHORN + "1", ("--filter", "path=other.md"), "It does not pass the filters."),
        (QUERY, HAWTHORN + "0", ("--group-by", "path"), "A better chunk stands for its path: "),
        ("hedge", "zh", (), 'It holds none of "hedge".'),
        ("hedge AND birds", "laying-a-hedge.md#0", (), 'It holds "hedge" and lacks "birds".'),
    ],
)
def test_a_report_has_the_answer_to_why_not(
    hedges: Path, reported: Any, case: tuple[str, str, tuple[str, ...], str]
) -> None:
    query, id_, options, said = case
    with hr.Index.open(hedges, read_only=True) as index:
        wanted = next(chunk.id for chunk in index.chunks() if chunk.id.endswith(id_))
    page = reported(query, "--mode", "bm25", "--why-not", wanted, *options)
    page.get_by_text(said).wait_for()


def test_what_failed_or_was_reranked_is_said(hedges: Path, tmp_path: Path, opened: Any) -> None:
    answer = as_json("search", QUERY, "--db", str(hedges), "--explain", "--why-not", "zh")
    failed = "Search by meaning failed; these are the results without it."
    answer["notices"] = [failed, "Searched by keywords alone: no model."]
    answer["trace"] |= {"reranked": True, "rerankProvider": "fake", "errorStage": "vector"}
    answer["trace"]["timings"]["rerank"] = 2.0
    answer["results"][0]["explanation"]["rerankScore"] = 0.93
    answer["whyNot"] |= {"cut": "reranker"}
    file = tmp_path / "altered.html"
    file.write_text(
        made({"about": {"hedgerow": "1", "kind": "index", "name": "n"}, "answer": answer}),
        encoding="utf-8",
    )
    page = opened(file.as_uri())
    assert page.locator(".warnings li").all_inner_texts() == [
        failed,
        "Searched by keywords alone: no model.",
    ]
    assert page.locator(".stages tr", has_text="by fake").count() == 1
    assert page.get_by_text("The reranker dropped it, or put it behind the first 10.").count() == 1
    page.locator(FOUND).first.click()
    assert (
        page.locator(".ledger tr", has_text="Reranker").locator(".number").inner_text() == "0.9300"
    )


@pytest.mark.parametrize(
    ("query", "limit", "found"), [("qqqq", 10, 0), ('"egel"', 1, 1), ("crowd", 100, 100)]
)
@pytest.mark.parametrize("width", [360, 1280])
def test_nothing_is_wider_than_the_window(
    reported: Any, query: str, limit: int, found: int, width: int
) -> None:
    size = {"width": width, "height": 740}
    page = reported(query, "--mode", "bm25", "--limit", str(limit), viewport=size)
    assert page.locator(FOUND).count() == found
    assert overflow(page) <= 0
    if found:
        page.locator(FOUND).first.click()
        page.locator("details").last.locator("summary").click()
        assert (
            page.evaluate(
                "(() => { const b = document.querySelector('.drawer-body'); return b.scrollWidth - b.clientWidth; })()"
            )
            <= 0
        )


def test_five_scripts_stand_in_their_own_direction(reported: Any) -> None:
    page = reported("scripts", "--mode", "bm25", viewport={"width": 360, "height": 740})
    for title, direction in [
        ("גדר חיה", "rtl"),
        ("السياج", "rtl"),
        ("树篱", "ltr"),
        ("बाड़", "ltr"),
        ("Живая изгородь", "ltr"),
    ]:
        name = page.locator(f"{FOUND} .name", has_text=title)
        assert name.evaluate("(e) => getComputedStyle(e).direction") == direction
    assert overflow(page) <= 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_has_contrast_enough(reported: Any, scheme: str) -> None:
    page = reported(QUERY, color_scheme=scheme, reduced_motion="reduce")
    assert page.evaluate(CONTRAST) == []
    page.locator(FOUND).first.click()
    assert page.evaluate(CONTRAST) == []


def test_light_and_dark_follow_the_system_until_they_are_switched(reported: Any) -> None:
    page = reported(QUERY, color_scheme="dark")
    paper = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(paper)
    page.emulate_media(color_scheme="light")
    light = page.evaluate(paper)
    assert (dark, light) == ("rgb(20, 22, 19)", "rgb(252, 251, 248)")
    page.get_by_role("button", name="Dark").click()
    assert page.evaluate(paper) == dark
    page.reload()
    assert page.evaluate(paper) == dark
    page.get_by_role("button", name="Light").click()
    assert page.evaluate(paper) == light


def test_nothing_moves_where_that_is_not_wanted(reported: Any) -> None:
    page = reported(QUERY, reduced_motion="reduce")
    page.locator(FOUND).first.click()
    assert page.locator(".drawer").evaluate("(e) => getComputedStyle(e).animationName") == "none"
    assert (
        page.locator(".lines path").first.evaluate("(e) => getComputedStyle(e).transitionDuration")
        == "0s"
    )
