"""Superseding, retracting and restoring a memory on the page of a server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from page_server import TOKEN, PageServer


@pytest.fixture
def compost(serve_root: PageServer) -> Path:
    file = serve_root.place / "garden" / "compost.md"
    file.write_text("---\ntitle: Compost\n---\n\nTurned in March.\n")
    return file


def opened_memory(server: PageServer, opened: Any, **options: Any) -> Any:
    page = opened(f"{server.url}#memory=garden/compost.md&token={TOKEN}", **options)
    page.locator(".drawer .markdown").wait_for()
    return page


def press(page: Any, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def test_a_memory_is_superseded_with_a_text(
    serve_root: PageServer, compost: Path, opened: Any
) -> None:
    page = opened_memory(serve_root, opened)
    assert page.get_by_role("list", name="State").inner_text() == "Holds"
    press(page, "Supersede")
    page.get_by_label("What is true now").fill("Turned in April.")
    page.get_by_label("Title (optional)").fill("Compost in April")
    press(page, "Continue")
    page.locator(".validity.ended", has_text="Superseded by Compost in April").first.wait_for()
    assert "superseded_by" in compost.read_text()
    page.get_by_role("list", name="State").get_by_role("link").click()
    page.locator(".drawer h2", has_text="Compost in April").wait_for()
    page.locator(".markdown", has_text="Turned in April.").wait_for()
    page.keyboard.press("Escape")
    row = page.locator(".listed", has_text="garden/compost.md")
    assert row.locator(".validity").inner_text().startswith("Superseded by Compost in April")


def test_a_memory_is_retracted_with_a_reason_and_restored(
    serve_root: PageServer, compost: Path, opened: Any
) -> None:
    page = opened_memory(serve_root, opened)
    press(page, "Retract")
    page.get_by_label("Reason").fill("It was <b>sand</b>")
    page.keyboard.press("Enter")
    states = page.get_by_role("list", name="State")
    states.get_by_text("It was <b>sand</b>").wait_for()
    assert page.get_by_role("button", name="Retract", exact=True).count() == 0
    assert "retraction_reason" in compost.read_text()
    press(page, "Restore")
    states.get_by_text("Holds").wait_for()
    assert compost.read_text() == "---\ntitle: Compost\n---\n\nTurned in March.\n"


@pytest.mark.parametrize(
    ("button", "field"), [("Supersede", "What is true now"), ("Retract", "Reason")]
)
def test_a_memory_that_changed_since_it_was_read_is_not_marked(
    serve_root: PageServer, compost: Path, opened: Any, button: str, field: str
) -> None:
    page = opened_memory(serve_root, opened)
    press(page, button)
    page.get_by_label(field).fill("Another text")
    compost.write_text("theirs\n")
    press(page, "Continue")
    page.get_by_text("This memory changed since you read it, so nothing was saved.").wait_for()
    assert page.locator(".conflict .passage").inner_text().strip() == "theirs"
    assert compost.read_text() == "theirs\n"
    page.locator(".conflict").get_by_role("button", name="Continue").click()
    page.locator(".states .validity.ended").wait_for()
    assert "theirs" in compost.read_text()


def test_what_the_server_refuses_is_said_and_cancel_shows_the_memory_again(
    serve_root: PageServer, compost: Path, opened: Any
) -> None:
    page = opened_memory(serve_root, opened, refused=True)
    press(page, "Supersede")
    page.get_by_label("What is true now").fill("Turned in March.")
    page.route(
        "**/v1/supersede",
        lambda route: route.fulfill(
            status=409, json={"code": "duplicate_memory", "detail": "it is a copy"}
        ),
    )
    press(page, "Continue")
    assert page.get_by_role("alert").inner_text() == "it is a copy"
    press(page, "Cancel")
    page.locator(".markdown", has_text="Turned in March.").wait_for()
    assert "superseded_by" not in compost.read_text()
