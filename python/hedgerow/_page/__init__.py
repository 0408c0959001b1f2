"""The page that shows searches: one HTML document with its styles, scripts and data inside.

The server answers with it, and `--report` writes it as a file. It loads nothing from elsewhere.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from functools import cache
from importlib.resources import files

from hedgerow._engine import __version__

GENERATOR = '<meta name="generator" content="hedgerow '
"""Stands near the beginning of every page, and tells it from other documents."""

_SCRIPTS = (
    "dom.js",
    "words.js",
    "markdown_inline.js",
    "markdown.js",
    "score.js",
    "legs.js",
    "trace.js",
    "graph.js",
    "server.js",
    "detail.js",
    "index_view.js",
    "state.js",
    "root_view.js",
    "memories.js",
    "changes.js",
    "memory.js",
    "page.js",
)
"""In the order in which they need each other."""

_PLACE = re.compile(r"\{\{(\w+)\}\}")
# What would end the element, or break a parser of JavaScript or UTF-8. All of these occur only in
# strings, where an escape means the same.
_UNSAFE = re.compile("[<>&\u2028\u2029\ud800-\udfff]")


def page(data: object | None) -> str:
    """Return the page: for a server with None, or as a report that has its data inside.

    `data` is what JSON can hold: `about` with `hedgerow`, `kind` and `name`, the `answer` that
    `hedgerow search --json --explain` writes, and for a root optionally `links` by file, each as
    `hedgerow graph KEY --json` writes them.
    """
    script, style = _script(), _text("page.css")
    connect = "'self'" if data is None else "'none'"
    places = {
        "generator": f'{GENERATOR}{__version__}">',
        "policy": (
            f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
            f"connect-src {connect}; img-src data:; base-uri 'none'; form-action 'none'"
        ),
        "style": style,
        "script": script,
        "data": _embedded(data),
    }
    # In one pass, so that what looks like a placeholder in the data stays as it is.
    return _PLACE.sub(lambda found: places[found[1]], _text("page.html"))


def _embedded(data: object | None) -> str:
    """Encode JSON so that no text in it ends the element around it."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


@cache
def _script() -> str:
    return "\n".join(map(_text, _SCRIPTS))


@cache
def _text(name: str) -> str:
    return files(__name__).joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """Return the source expression by which a policy allows one inline element."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
