"""Patterns of paths by the rules of gitignore (spec/ingest.md, "Which files")."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple


class Pattern(NamedTuple):
    """One pattern: its text, the paths that it matches, and whether it takes them back (`!`).

    A path is compared with a slash before it, that of a folder also with one after it.
    """

    text: str
    paths: re.Pattern[str]
    is_negated: bool


class Patterns:
    """Patterns of which the last that matches a path decides.

    `unused` are those that have matched nothing so far.
    """

    def __init__(self, patterns: Iterable[str]) -> None:
        parsed = [_parsed(pattern) for pattern in dict.fromkeys(patterns)]
        self._patterns = [one for one in parsed if one is not None]
        self.unused = [one.text for one in self._patterns]

    def match(self, path: str, *, is_folder: bool) -> bool:
        """Whether the patterns match a path; a file below a folder that is matched is not looked at."""
        if not self._patterns:
            return False
        text = f"/{path}/" if is_folder else f"/{path}"
        found = False
        for one in self._patterns:
            if one.paths.match(text):
                found = not one.is_negated
                if one.text in self.unused:
                    self.unused.remove(one.text)
        return found


def plain_paths(patterns: Iterable[str]) -> list[str] | None:
    """Return the paths that patterns name; None if one may match several paths, or folders alone."""
    found = []
    for pattern in patterns:
        text = _stripped(pattern)
        has_signs = any(sign in text for sign in "*?[\\") or text.startswith(("!", "#"))
        if "/" not in text or text.endswith("/") or has_signs:
            return None
        found.append(text.strip("/"))
    return found


def _stripped(pattern: str) -> str:
    """Return a pattern without spaces at its end, and with `/` for `./` at its beginning."""
    text = pattern.rstrip(" ")
    if text.endswith("\\") and text != pattern:
        text += " "  # a backslash keeps the first space
    return text[1:] if text.startswith("./") else text


def _parsed(pattern: str) -> Pattern | None:
    """Return a pattern; None for a comment and for one without a name."""
    text = _stripped(pattern)
    is_negated = text.startswith("!")
    if is_negated:
        text = _stripped(text[1:])
    if not text.strip("/") or text.startswith("#"):
        return None
    end = "/\\Z" if text.endswith("/") else "/?\\Z"
    body = text.strip("/")
    is_anchored = text.startswith("/") or "/" in body
    start = "/" if is_anchored else "/(?:.*/)?"
    return Pattern(pattern, re.compile(f"{start}{_regex(body)}{end}", re.DOTALL), is_negated)


def _regex(body: str) -> str:
    """Translate a pattern without slashes at its ends."""
    parts = body.split("/")
    done = ""
    for at, part in enumerate(parts):
        is_last = at == len(parts) - 1
        if part == "**":
            # Any number of folders, also none; at the end, all that is inside.
            done += "[^/].*" if is_last else "(?:[^/]+/)*"
        else:
            done += _name_regex(part) + ("" if is_last else "/")
    return done


def _name_regex(name: str) -> str:
    done, at = "", 0
    while at < len(name):
        sign = name[at]
        at += 1
        if sign == "*":
            while name[at : at + 1] == "*":
                at += 1
            done += "[^/]*"
        elif sign == "?":
            done += "[^/]"
        elif sign == "\\" and at < len(name):
            done += re.escape(name[at])
            at += 1
        elif sign == "[" and (end := _class_end(name, at)) is not None:
            done += _class_regex(name[at:end])
            at = end + 1
        else:
            done += re.escape(sign)
    return done


def _class_end(name: str, at: int) -> int | None:
    """Return where a class that begins at an offset ends; None if it does not."""
    start = at + (name[at : at + 1] in {"!", "^"})
    end = name.find("]", start + 1)
    return None if end < 0 else end


def _class_regex(text: str) -> str:
    is_negated = text[0] in "!^"
    inside = text[1:] if is_negated else text
    escaped = re.sub(r"[\\\[\]^&~|]", lambda found: f"\\{found[0]}", inside)
    pattern = f"[{'^/' if is_negated else ''}{escaped}]"
    try:
        re.compile(pattern)
    except re.error:  # a range that ends before it begins matches nothing
        return "(?!)"
    return pattern if is_negated else f"(?!/){pattern}"
