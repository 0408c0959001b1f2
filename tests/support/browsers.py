"""The installed browser, and checks of every page in it."""

from __future__ import annotations

import os
import re
import shutil
from typing import Any

from waiting import LONGEST

FOUND = 'ol[aria-label="Results"] button'
"""The selector of the results of an index."""

NOT_RUN = "NOT RUN: the page was not tried in a browser, for want of {}; to try it: make test-page"

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
"""Returns texts whose contrast with their background is below 4.5."""


def chromium() -> str | None:
    """Return the path of the browser. `CHROMIUM` overrides the programs on the PATH."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


def overflow(page: Any) -> int:
    """Return the number of pixels by which the page is wider than the window."""
    return page.evaluate(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )


class Pages:
    """Opens pages. At the end there must be no errors, foreign requests or code run from notes."""

    def __init__(self, browser: Any) -> None:
        self.browser = browser
        self.opened: list[tuple[Any, str, list[str]]] = []
        self.wrong: list[str] = []

    def __call__(self, url: str, *, refused: bool = False, **options: Any) -> Any:
        options.setdefault("viewport", {"width": 1280, "height": 900})
        page = self.browser.new_page(**options)
        page.set_default_timeout(1000 * LONGEST)
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on("dialog", lambda dialog: self.wrong.append(dialog.message))
        page.on("console", lambda line: self.note(line.text, refused=refused))
        self.opened.append((page, url, asked))
        page.goto(url)
        return page

    def note(self, line: str, *, refused: bool) -> None:
        """Record a message of the browser, except its own message about a refused request."""
        if not (refused and "Failed to load" in line):
            self.wrong.append(line)

    def check(self) -> None:
        """Close all pages, and fail if something went wrong."""
        for page, url, asked in self.opened:
            home = re.match(r"https?://[^/]+/|file:.*", url)
            assert home is not None
            assert [one for one in asked if not one.startswith((home[0], "data:"))] == []
            assert page.evaluate("window.hacked") is None
            page.close()
        assert self.wrong == []
