"""A server's page in a real browser: token, keyboard, requests and edits."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from browsers import CONTRAST, FOUND, overflow
from command_line import as_json, ok
from page_server import TOKEN, Answer, PageServer, problem, serving_root
from waiting import until

QUERY = "when do I cut the hawthorn hedge"


def searched(
    server: PageServer, opened: Callable[..., Any], query: str = QUERY, **options: Any
) -> Any:
    page = opened(f"{server.url}#token={TOKEN}", **options)
    page.get_by_role("searchbox").fill(query)
    page.keyboard.press("Enter")
    page.wait_for_selector('.answer :is(.flow, .nothing .big, ol[aria-label="Memories"], .problem)')
    return page


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
    page.get_by_role("button", name="Continue").click()
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
    body = {"query": QUERY, "mode": "bm25", "limit": 10, "explain": True}
    # Wait for the request, because the response may look like the first one.
    until(lambda: serve_index.asked[-1][2] == body, "the search with another mode")
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
        # Paths are searched too, and their prefix depends on the checkout.
        (
            "many3",
            re.compile(r"It is number \d+, with a score of 0\.\d+; the last result has \d\.\d+"),
        ),
        ("zh", "It was no candidate: each leg keeps the best 100."),
        ("nowhere", "The index has no chunk of this id."),
        (
            as_json("search", QUERY, "--db", str(serve_index.place))["results"][0]["id"],
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
    page.locator(".markdown .inside").first.wait_for()
    page.locator(".links .hop-1").first.wait_for()
    names = page.locator(".links text").evaluate_all("(all) => all.map((e) => e.textContent)")
    assert {"Hedgehogs in the ga…", "Compost"} <= set(names), names
    page.locator(".link-list button", has_text="Compost").click()
    page.locator(".drawer h2", has_text="Compost").wait_for()
    page.locator(".links .hop-2").first.wait_for(state="attached")
    page.keyboard.press("Escape")
    page.locator("dialog").wait_for(state="detached")


def test_the_start_page_has_recent_memories_with_titles(
    serve_root: PageServer, opened: Any
) -> None:
    ok("remember", "--title", "Peas on hazel", "--root", str(serve_root.place), stdin=b"In March.")
    page = opened(f"{serve_root.url}#token={TOKEN}")
    recent = page.get_by_role("list", name="Recent memories").locator(".listed")
    recent.nth(7).wait_for()
    assert recent.count() == 8
    # Times have whole seconds, so memories of the same second are ordered by name.
    recent.locator(".name", has_text="Peas on hazel").click()
    page.locator(".markdown", has_text="In March.").wait_for()


def test_memories_are_listed_by_type_and_state(serve_root: PageServer, opened: Any) -> None:
    for number in range(30):
        (serve_root.place / "garden" / f"row-{number}.md").write_text(f"# Row {number}\n\nPeas.\n")
    ok("link", "row-1", "row-0", "--rel", "supersedes", "--root", str(serve_root.place))
    page = opened(f"{serve_root.url}#token={TOKEN}")
    page.get_by_role("tab", name="Recall").focus()
    page.keyboard.press("ArrowRight")
    page.get_by_role("button", name="13 more").click()
    page.locator(".listed").nth(62).wait_for()
    page.get_by_label("Type").select_option("decision")
    page.locator(".listed", has_text="No slug pellets, no sprays").wait_for()
    page.get_by_label("Type").select_option("preference")
    page.get_by_text("No memories.").wait_for()
    page.get_by_label("Type").select_option("any")
    page.get_by_label("State").select_option("superseded")
    row = page.locator(".listed", has_text="Row 0")
    row.wait_for()
    assert page.locator(".listed").count() == 1
    assert row.locator(".validity").inner_text().startswith("Superseded by Row 1")
    page.get_by_role("tab", name="Lint").click()
    page.locator(".lint li").first.wait_for()
    assert serve_root.asked[-1][1:3] == ("/v1/process", {"mode": "lint"})
    page.get_by_role("tab", name="Recall").click()
    assert page.get_by_role("searchbox").is_visible()
    assert overflow(page) <= 0


def test_a_recall_is_filtered_and_the_address_keeps_the_filters(
    serve_root: PageServer, opened: Any
) -> None:
    page = searched(serve_root, opened, "slugs")
    page.locator("summary", has_text="Filters").click()
    page.get_by_label("Type").select_option("decision")
    page.get_by_label("Tags").fill("garden, decision")
    page.get_by_label("After").fill("2025-01-01")
    page.get_by_label("Before").fill("2026-01-01")
    page.get_by_label("Superseded, retracted and expired too").check()

    def body() -> Any:
        return serve_root.asked[-1][2] or {}

    until(lambda: body().get("include_superseded"), "the recall with filters")
    wanted = {"types": ["decision"], "tags": ["garden", "decision"], "after": "2025-01-01"}
    assert body().items() >= {**wanted, "before": "2026-01-01"}.items()
    assert page.locator("summary", has_text="Filters (5)").count() == 1
    page.get_by_text("Filtered out:").wait_for()
    page.reload()
    page.locator(".memory", has_text="No slug pellets").wait_for()
    assert page.get_by_label("Tags").input_value() == "garden, decision"
    assert page.locator(".memory").count() == 1


def test_a_result_without_a_title_in_its_front_matter_has_its_heading(
    serve_root: PageServer, opened: Any
) -> None:
    (serve_root.place / "dye.md").write_text("# Dyeing wool\n\nMadder.\n\n## Red\n\nMadder root.\n")
    page = searched(serve_root, opened, "madder root")
    assert page.locator(".memory .name").first.inner_text() == "Dyeing wool"


def test_a_token_of_a_scope_is_said(serve_root: PageServer, opened: Any) -> None:
    page = opened(serve_root.url, refused=True)
    about = {"hedgerow": "1", "kind": "root", "name": "n", "edit": False, "scope": {"user": "ana"}}
    page.route("**/v1/about", lambda route: route.fulfill(json=about))
    page.get_by_label("Token").fill(TOKEN)
    page.keyboard.press("Enter")
    page.locator(".state", has_text="read only · only user=ana").wait_for()


def edited(page: Any, text: str) -> None:
    page.locator(".memory", has_text="garden/compost.md").first.click()
    page.get_by_role("button", name="Edit", exact=True).click()
    page.get_by_label("Text of the memory").fill(text)


def test_a_memory_is_edited_where_the_server_lets_one(serve_root: PageServer, opened: Any) -> None:
    page = searched(serve_root, opened, "compost")
    edited(page, "# Compost\n\nTurned in March.\n")
    page.get_by_role("button", name="Save", exact=True).click()
    page.locator(".markdown", has_text="Turned in March.").wait_for()
    assert (serve_root.place / "garden/compost.md").read_text() == "# Compost\n\nTurned in March.\n"


def test_a_memory_that_somebody_changed_meanwhile_is_not_overwritten(
    serve_root: PageServer, opened: Any
) -> None:
    page = searched(serve_root, opened, "compost", refused=True)
    edited(page, "mine")
    file = serve_root.place / "garden/compost.md"
    file.write_text("theirs")
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_text("This memory changed since you read it, so nothing was saved.").wait_for()
    assert file.read_text() == "theirs"
    assert page.locator(".conflict .passage").inner_text() == "theirs"
    page.get_by_role("button", name="Use this text").click()
    assert page.get_by_label("Text of the memory").input_value() == "theirs"
    page.get_by_label("Text of the memory").fill("both")
    page.get_by_role("button", name="Overwrite").click()
    page.locator(".markdown", has_text="both").wait_for()
    assert file.read_text() == "both"


def test_nothing_can_be_edited_where_the_server_does_not_say_so(garden: Path, opened: Any) -> None:
    with serving_root(garden, edit=False) as server:
        page = searched(server, opened, "compost", viewport={"width": 360, "height": 740})
        page.locator(".memory", has_text="garden/compost.md").first.click()
        page.locator(".markdown").wait_for()
        for name in ("Edit", "Supersede", "Retract"):
            assert page.get_by_role("button", name=name, exact=True).count() == 0
        page.get_by_role("button", name="Source", exact=True).click()
        assert "title: Compost" in page.locator(".source").inner_text()
        assert overflow(page) <= 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_a_memory_can_be_read_in_any_window(
    serve_root: PageServer, opened: Any, scheme: str, width: int
) -> None:
    file = serve_root.place / "garden" / "wide.md"
    file.write_text(
        "---\nretracted: 2026-01-01\nretraction_reason: Too wide\n---\n# Wide\n\n"
        f"`{'w' * 300}` [x](https://example.org/{'x' * 300})\n\n> Quote\n\n"
        f"|a|b|\n|-|-|\n|{'c' * 90} {'d' * 90}|e|\n\n```\n{'f ' * 200}\n```\n"
    )
    size = {"width": width, "height": 740}
    page = opened(
        f"{serve_root.url}#token={TOKEN}",
        viewport=size,
        color_scheme=scheme,
        reduced_motion="reduce",
    )
    page.locator(".listed", has_text="Wide").wait_for()
    page.locator("summary", has_text="Filters").click()
    assert (page.evaluate(CONTRAST), overflow(page)) == ([], 0)
    page.locator(".listed", has_text="Wide").click()
    page.locator(".links, .quiet", has_text="It is linked to no other memory.").wait_for()
    assert page.evaluate(CONTRAST) == []
    assert page.locator(".drawer-body").evaluate("(e) => e.scrollWidth - e.clientWidth") <= 0


def test_a_report_of_a_root_has_its_links_inside(garden: Path, tmp_path: Path, opened: Any) -> None:
    file = tmp_path / "recalled.html"
    ok("recall", "--topic", "slugs and hedgehogs", "--root", str(garden), "--report", str(file))
    page = opened(file.as_uri())
    page.locator(".memory", has_text="garden/slugs.md").first.click()
    assert page.locator(".links .hop-1").count() >= 2
    assert page.locator(".ledger .sum .number").inner_text() == page.evaluate(
        "JSON.parse(document.getElementById('data').textContent).answer.results.find((one) => one.provenance.file.endsWith('slugs.md')).score.toFixed(4)"
    )
