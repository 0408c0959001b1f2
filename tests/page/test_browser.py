"""The page in a real browser: chromium, driven by playwright. `make test-page` has both."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import hedgerow as hr
from browsers import chromium
from command_line import as_json, ok
from hedgerow._page import page as made
from page_server import TOKEN, Answer, PageServer, problem
from waiting import LONGEST

NOT_RUN = "NOT RUN: the page was not tried in a browser, for want of {}; to try it: make test-page"

playwright = pytest.importorskip("playwright.sync_api", reason=NOT_RUN.format("playwright"))

FOUND = 'ol[aria-label="Results"] button'
QUERY = "when do I cut the hawthorn hedge"


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    program = chromium()
    if program is None:
        pytest.skip(NOT_RUN.format("chromium"))
    # Chromium's own sandbox does not run as root.
    options = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    with playwright.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=program, args=options)
        yield running
        running.close()


@pytest.fixture
def opened(browser: Any) -> Iterator[Callable[..., Any]]:
    """Opens addresses; in the end nothing was complained of, asked elsewhere or run from a note."""
    pages: list[tuple[Any, str, list[str]]] = []
    wrong: list[str] = []

    def open_page(url: str, *, refused: bool = False, **options: Any) -> Any:
        options.setdefault("viewport", {"width": 1280, "height": 900})
        page = browser.new_page(**options)
        page.set_default_timeout(1000 * LONGEST)
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        # A refused request is itself a line of the browser's.
        page.on(
            "console",
            lambda line: (
                None if refused and "Failed to load" in line.text else wrong.append(line.text)
            ),
        )
        page.on("dialog", lambda dialog: wrong.append(dialog.message))
        pages.append((page, url, asked))
        page.goto(url)
        return page

    yield open_page
    for page, url, asked in pages:
        assert page.evaluate("window.hacked") is None
        home = re.match(r"https?://[^/]+/|file:.*", url)
        assert home is not None
        assert [one for one in asked if not one.startswith((home[0], "data:"))] == []
        page.close()
    assert wrong == []


def report(folder: Path, *args: str) -> str:
    file = folder / "found.html"
    ok("search", *args, "--report", str(file))
    return file.as_uri()


def searched(
    server: PageServer, opened: Callable[..., Any], query: str = QUERY, **options: Any
) -> Any:
    page = opened(f"{server.url}#token={TOKEN}", **options)
    page.get_by_role("searchbox").fill(query)
    page.keyboard.press("Enter")
    page.wait_for_selector(".answer :is(.flow, .nothing .big, .memories, .problem)")
    return page


def overflow(page: Any) -> int:
    """By how many pixels the page is wider than the window."""
    return page.evaluate(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )


# Reports


def test_a_report_shows_the_hits_of_the_search_in_their_order(
    hedges: Path, tmp_path: Path, opened: Any
) -> None:
    page = opened(report(tmp_path, QUERY, "--db", str(hedges)))
    answer = as_json("search", QUERY, "--db", str(hedges))
    shown = [text.strip() for text in page.locator(f"{FOUND} .score").all_inner_texts()]
    assert shown == [f"{hit['score']:.2f}" for hit in answer["results"]]
    assert page.locator("h1").inner_text() == QUERY
    assert page.locator(".words .dropped .word").all_inner_texts() == ["when", "do", "I", "the"]
    assert page.get_by_text("Why is another one not there?").count() == 0


@pytest.mark.parametrize(
    "options", [(), ("--profile", "spec"), ("--mode", "semantic"), ("--mode", "bm25")]
)
def test_the_parts_of_every_score_add_up(
    hedges: Path, tmp_path: Path, opened: Any, options: tuple[str, ...]
) -> None:
    query = "which mug do I prefer for the winter"
    page = opened(report(tmp_path, query, "--db", str(hedges), "--limit", "30", *options))
    answer = as_json("search", query, "--db", str(hedges), "--limit", "30", "--explain", *options)
    for at, hit in enumerate(answer["results"]):
        parts = hit["score_parts"]
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
    hedges: Path, tmp_path: Path, opened: Any
) -> None:
    page = opened(report(tmp_path, QUERY, "--db", str(hedges)))
    hits = as_json("search", QUERY, "--db", str(hedges), "--explain")["results"]
    for leg in ("keywords", "meaning"):
        ranks = sorted(
            hit["score_parts"][leg]["rank"] + 1
            for hit in hits
            if (hit["score_parts"][leg] or {}).get("rank") is not None
        )
        page.wait_for_selector(f".lines path.{leg}", state="attached")
        assert page.locator(f".lines path.{leg}").count() == len(ranks)
        assert page.locator(f".leg.{leg} .rank").all_inner_texts() == [str(rank) for rank in ranks]
    page.locator(FOUND).nth(2).hover()
    followed = page.locator(".lines path.followed")
    assert {followed.nth(n).get_attribute("data-hit") for n in range(followed.count())} == {"2"}
    assert page.locator(".followed .row").count() == 1 + followed.count()


def test_a_passage_has_its_matches_marked(hedges: Path, tmp_path: Path, opened: Any) -> None:
    page = opened(report(tmp_path, '"изгородь" OR scripts', "--db", str(hedges), "--mode", "bm25"))
    page.locator(FOUND, has_text="Живая изгородь").click()
    assert page.locator(".passage mark").all_inner_texts() == ["scripts", "Изгородь"]
    assert page.locator(".drawer").get_by_text("ru.md", exact=True).count() == 1


def test_what_a_note_holds_is_text_and_nothing_else(
    hedges: Path, tmp_path: Path, opened: Any
) -> None:
    hostile = "<img src=x onerror=window.hacked=1></script> hostile"
    page = opened(report(tmp_path, hostile, "--db", str(hedges), "--mode", "bm25"))
    page.locator(FOUND).first.click()
    page.locator("details").last.locator("summary").click()
    assert page.locator("h1").inner_text() == hostile
    assert "<img src=x onerror=" in page.locator(".passage").inner_text()
    assert page.locator("img").count() == 0


def test_nothing_found_says_what_was_tried(hedges: Path, tmp_path: Path, opened: Any) -> None:
    page = opened(report(tmp_path, "qqqq wwww", "--db", str(hedges), "--mode", "bm25"))
    assert page.get_by_text("No results").is_visible()
    assert page.locator(".ladder li").count() == 5
    page = opened(report(tmp_path, "!!!", "--db", str(hedges), "--mode", "bm25"))
    assert page.get_by_text("No word of the query is left to search for.").is_visible()


HAWTHORN = "hawthorn-hedge.md#"


@pytest.mark.parametrize(
    ("query", "id_", "options", "said"),
    [
        ("hedge NOT birds", HAWTHORN + "1", (), 'It holds what the query excludes: "birds".'),
        ("hedge", HAWTHORN + "1", ("--filter", "path=other.md"), "It does not pass the filters."),
        (QUERY, HAWTHORN + "0", ("--group-by", "path"), "A better chunk stands for its path: "),
        ("hedge", "zh", (), 'It holds none of "hedge".'),
        ("hedge AND birds", "laying-a-hedge.md#0", (), 'It holds "hedge" and lacks "birds".'),
    ],
)
def test_a_report_has_the_answer_to_why_not(
    hedges: Path,
    tmp_path: Path,
    opened: Any,
    query: str,
    id_: str,
    options: tuple[str, ...],
    said: str,
) -> None:
    with hr.Index.open(hedges, read_only=True) as index:
        wanted = next(chunk.id for chunk in index.chunks() if chunk.id.endswith(id_))
    page = opened(
        report(
            tmp_path, query, "--db", str(hedges), "--mode", "bm25", "--why-not", wanted, *options
        )
    )
    page.get_by_text(said).wait_for()


def test_what_failed_or_was_reranked_is_said(hedges: Path, tmp_path: Path, opened: Any) -> None:
    answer = as_json("search", QUERY, "--db", str(hedges), "--explain", "--why-not", "zh")
    answer["notices"] = ["Searched by keywords alone: no model."]
    answer["trace"] |= {"reranked": True, "rerankProvider": "fake", "errorStage": "vector"}
    answer["trace"]["timings"]["rerank"] = 2.0
    answer["results"][0]["score_parts"]["rerank_score"] = 0.93
    answer["why_not"] |= {"cut": "reranker"}
    file = tmp_path / "altered.html"
    file.write_text(
        made({"about": {"hedgerow": "1", "kind": "index", "name": "n"}, "answer": answer}),
        encoding="utf-8",
    )
    page = opened(file.as_uri())
    assert page.locator(".warnings li").all_inner_texts() == [
        "Searched by keywords alone: no model.",
        "Search by meaning failed; these are the results without it.",
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
    hedges: Path, tmp_path: Path, opened: Any, query: str, limit: int, found: int, width: int
) -> None:
    size = {"width": width, "height": 740}
    page = opened(
        report(tmp_path, query, "--db", str(hedges), "--mode", "bm25", "--limit", str(limit)),
        viewport=size,
    )
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


def test_five_scripts_stand_in_their_own_direction(
    hedges: Path, tmp_path: Path, opened: Any
) -> None:
    page = opened(
        report(tmp_path, "scripts", "--db", str(hedges), "--mode", "bm25"),
        viewport={"width": 360, "height": 740},
    )
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


CONTRAST = """() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgb = (color) => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => [r, g, b].map((c) => c / 255)
    .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const color = rgb(getComputedStyle(e).backgroundColor);
      if (color[3] === 255) return color;
    }
    return [255, 255, 255];
  };
  const poor = [];
  for (const e of document.querySelectorAll("body *")) {
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
    if (!own || e.closest("svg, noscript, script, style") || !e.checkVisibility()) continue;
    const [a, b] = [light(rgb(getComputedStyle(e).color)), light(behind(e))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) poor.push(`${e.className}: ${ratio.toFixed(2)}`);
  }
  return poor;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_has_contrast_enough(
    hedges: Path, tmp_path: Path, opened: Any, scheme: str
) -> None:
    page = opened(
        report(tmp_path, QUERY, "--db", str(hedges)), color_scheme=scheme, reduced_motion="reduce"
    )
    assert page.evaluate(CONTRAST) == []
    page.locator(FOUND).first.click()
    assert page.evaluate(CONTRAST) == []


def test_light_and_dark_follow_the_system_until_they_are_switched(
    hedges: Path, tmp_path: Path, opened: Any
) -> None:
    page = opened(report(tmp_path, QUERY, "--db", str(hedges)), color_scheme="dark")
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


def test_nothing_moves_where_that_is_not_wanted(hedges: Path, tmp_path: Path, opened: Any) -> None:
    page = opened(report(tmp_path, QUERY, "--db", str(hedges)), reduced_motion="reduce")
    page.locator(FOUND).first.click()
    assert page.locator(".drawer").evaluate("(e) => getComputedStyle(e).animationName") == "none"
    assert (
        page.locator(".lines path").first.evaluate("(e) => getComputedStyle(e).transitionDuration")
        == "0s"
    )


# On a server


def test_the_token_leaves_the_address_at_once_and_stays_in_the_tab(
    serve_index: PageServer, opened: Any
) -> None:
    page = searched(serve_index, opened)
    assert TOKEN not in page.url
    assert page.evaluate("Object.values(sessionStorage)") == [TOKEN]
    assert page.evaluate("Object.values(localStorage)") == []
    assert TOKEN not in page.content()
    assert {asked[3]["authorization"] for asked in serve_index.asked} == {f"Bearer {TOKEN}"}


def test_a_token_is_asked_for_until_it_is_right(serve_index: PageServer, opened: Any) -> None:
    page = opened(serve_index.url, refused=True)
    page.get_by_label("Token").fill("wrong")
    page.get_by_role("button", name="Go on").click()
    page.get_by_text("The server does not know this token.").wait_for()
    page.get_by_label("Token").fill(TOKEN)
    page.keyboard.press("Enter")
    page.get_by_role("searchbox").wait_for()
    assert page.locator(".brand").inner_text().split() == ["hedgerow", "hedges.db"]


def test_everything_is_done_by_keyboard(serve_index: PageServer, opened: Any) -> None:
    page = searched(serve_index, opened)
    focused = "document.activeElement"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert page.evaluate(f"{focused}.closest('li').dataset.hit") == "1"
    assert page.evaluate(f"getComputedStyle({focused}).outlineStyle") == "solid"
    assert page.locator(".followed .result").count() == 1
    name = page.evaluate(f"{focused}.querySelector('.name').textContent")
    page.keyboard.press("Enter")
    assert re.sub(
        r"\W", "", page.get_by_role("dialog").get_by_role("heading", level=2).inner_text()
    ) == re.sub(r"\W", "", name)
    page.keyboard.press("Escape")
    page.locator("dialog").wait_for(state="detached")
    assert page.evaluate(f"{focused}.closest('li').dataset.hit") == "1"
    page.keyboard.press("End")
    assert page.evaluate(f"{focused}.closest('li').dataset.hit") == "9"
    page.keyboard.press("/")
    assert page.evaluate(f"{focused}.type") == "search"
    page.keyboard.type("compost/")
    assert page.get_by_role("searchbox").input_value() == "compost/"


def test_options_are_asked_for_and_the_address_keeps_the_query(
    serve_index: PageServer, opened: Any
) -> None:
    page = searched(serve_index, opened)
    page.get_by_label("Mode").select_option("keywords")
    page.locator(".flow.legs-1").wait_for()
    assert serve_index.asked[-1][2] == {"mode": "bm25", "limit": 10}
    page.get_by_role("searchbox").fill("compost")
    page.keyboard.press("Enter")
    page.locator(FOUND, has_text="Compost").first.wait_for()
    page.go_back()
    page.locator(FOUND, has_text="When to cut").first.wait_for()
    assert page.get_by_role("searchbox").input_value() == QUERY


def test_it_says_why_another_one_is_not_there(serve_index: PageServer, opened: Any) -> None:
    page = searched(serve_index, opened)
    field = page.get_by_label("Id of a chunk")
    for id_, said in [
        ("many3", "It is number 69, with a score of 0.0208; the last result has 0.7219."),
        ("zh", "It was no candidate: each leg keeps the best 60."),
        ("nowhere", "The index has no chunk of this id."),
        (
            as_json("search", QUERY, "--db", str(serve_index.db))["results"][0]["id"],
            "It is among the results: number 1.",
        ),
    ]:
        field.fill(id_)
        field.press("Enter")
        page.get_by_text(said).wait_for()
    assert serve_index.asked[-1][1] == "/v1/why_not"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (
            problem(400, "invalid_filter", "the filter has an <b>unknown</b> operator"),
            "the filter has an <b>unknown</b> operator",
        ),
        (
            Answer({"detail": "busy"}, 429, {"Retry-After": "3"}),
            "The server is busy; try again in 3 seconds.",
        ),
        (Answer("no object", 500), "The server answered 500."),
    ],
)
def test_what_the_server_refuses_is_said(
    serve_index: PageServer, opened: Any, answer: Answer, said: str
) -> None:
    serve_index.next_answer = answer
    page = searched(serve_index, opened, refused=True)
    assert page.get_by_role("alert").inner_text() == said


def test_a_server_that_is_gone_is_told(serve_index: PageServer, opened: Any) -> None:
    page = opened(f"{serve_index.url}#token={TOKEN}", refused=True)
    page.route("**/v1/search", lambda route: route.abort())
    page.get_by_role("searchbox").fill(QUERY)
    page.keyboard.press("Enter")
    page.get_by_text("The server does not answer. Is `hedgerow serve` still running?").wait_for()


# A root


def test_a_recall_shows_parts_and_opens_the_memory_with_its_links(
    serve_root: PageServer, opened: Any
) -> None:
    page = searched(serve_root, opened, "slugs and hedgehogs")
    row = page.locator(".memory", has_text="garden/slugs.md").first
    row.click()
    page.locator(".passage.whole .inside").first.wait_for()
    page.locator(".links .hop-1").first.wait_for()
    names = page.locator(".links .node.hop-1 text").all_inner_texts()
    assert {"hedgehogs", "compost"} <= set(
        page.locator(".links text").evaluate_all("(all) => all.map((e) => e.textContent)")
    ), names
    page.locator(".link-list button", has_text="compost").click()
    page.locator(".drawer h2", has_text="compost").wait_for()
    page.locator(".links .hop-2").first.wait_for(state="attached")
    page.keyboard.press("Escape")
    page.locator("dialog").wait_for(state="detached")


def test_tabs_list_memories_by_date_by_type_and_lint(serve_root: PageServer, opened: Any) -> None:
    page = opened(f"{serve_root.url}#token={TOKEN}")
    page.get_by_role("tab", name="Recall").focus()
    page.keyboard.press("ArrowRight")
    page.get_by_role("button", name="More").click()
    page.locator(".listed").nth(9).wait_for()
    page.get_by_role("tab", name="By type").click()
    page.get_by_role("combobox").select_option("decision")
    page.locator(".listed", has_text="2025-02-no-pellets").wait_for()
    page.get_by_role("combobox").select_option("preference")
    page.get_by_text("There are none.").wait_for()
    page.get_by_role("tab", name="Lint").click()
    page.locator(".lint li").first.wait_for()
    assert serve_root.asked[-1][1:3] == ("/v1/process", {"mode": "lint"})
    page.get_by_role("tab", name="Recall").click()
    assert page.get_by_role("searchbox").is_visible()
    assert overflow(page) <= 0


def edited(page: Any, text: str) -> None:
    page.locator(".memory", has_text="garden/compost.md").first.click()
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Text of the memory").fill(text)


def test_a_memory_is_edited_where_the_server_lets_one(serve_root: PageServer, opened: Any) -> None:
    page = searched(serve_root, opened, "compost")
    edited(page, "# Compost\n\nTurned in March.\n")
    page.get_by_role("button", name="Save", exact=True).click()
    page.locator(".passage.whole", has_text="Turned in March.").wait_for()
    assert (serve_root.root / "garden/compost.md").read_text() == "# Compost\n\nTurned in March.\n"


def test_a_memory_that_somebody_changed_meanwhile_is_not_overwritten(
    serve_root: PageServer, opened: Any
) -> None:
    page = searched(serve_root, opened, "compost", refused=True)
    edited(page, "mine")
    file = serve_root.root / "garden/compost.md"
    file.write_text("theirs")
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_text("Somebody changed this memory meanwhile; nothing was saved.").wait_for()
    assert file.read_text() == "theirs"
    assert page.locator(".conflict .passage").inner_text() == "theirs"
    page.get_by_role("button", name="Take what the file holds").click()
    assert page.get_by_label("Text of the memory").input_value() == "theirs"
    page.get_by_label("Text of the memory").fill("both")
    page.get_by_role("button", name="Save mine over it").click()
    page.locator(".passage.whole", has_text="both").wait_for()
    assert file.read_text() == "both"


def test_nothing_can_be_edited_where_the_server_does_not_say_so(
    serve_root: PageServer, opened: Any
) -> None:
    serve_root.edit = False
    page = searched(serve_root, opened, "compost", viewport={"width": 360, "height": 740})
    page.locator(".memory", has_text="garden/compost.md").first.click()
    page.locator(".passage.whole").wait_for()
    assert page.get_by_role("button", name="Edit").count() == 0
    assert overflow(page) <= 0


@pytest.mark.usefixtures("serve_root")
def test_a_report_of_a_root_has_its_links_inside(garden: Path, tmp_path: Path, opened: Any) -> None:
    page = opened(report(tmp_path, "slugs and hedgehogs", "--root", str(garden)))
    page.locator(".memory", has_text="garden/slugs.md").first.click()
    assert page.locator(".links .hop-1").count() >= 2
    assert page.locator(".ledger .sum .number").inner_text() == page.evaluate(
        "JSON.parse(document.getElementById('data').textContent).answer.results.find((one) => one.provenance.file.endsWith('slugs.md')).score.toFixed(4)"
    )
