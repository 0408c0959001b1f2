"""A memory as Markdown: its name, front matter and text (spec/memory.md, "Memories")."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

from hedgerow._checks import checked_text
from hedgerow._engine import _render_front_matter, _shorten
from hedgerow.errors import InvalidInputError

from .names import is_device

_LONGEST_TITLE = 60
_SLUG_LIMIT = 80
_SLUG_BYTES = 180
_LOOKED_AT = 1000
_RUNS = re.compile("[ .-]+")
_ACCENTS = re.compile("(?<=[a-z])[\u0300-\u036f]+")
_LETTERS = {
    "ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "ł": "l", "\u0131": "i",
    "ħ": "h", "ŧ": "t", "ŋ": "ng", "ĸ": "k", "ƒ": "f",
}  # fmt: skip
"""Latin letters that are no base letter with an accent, as ASCII writes them."""

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]+")
_LINE_END = re.compile(r"\r\n?")


def now() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(timezone.utc)


def iso_time(time: datetime) -> str:
    """Format a time in UTC with milliseconds: `2026-04-18T09:30:00.000Z`."""
    # Not `strftime`: some systems write the year 500 as three digits.
    return time.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def day(time: datetime) -> str:
    """Format the local day of a time, by which the writer looks for files: `2026-04-18`."""
    return time.astimezone().strftime("%Y-%m-%d")


def slug(title: str, fallback: str) -> str:
    """Return the part of a file's name that comes from its title, at most 80 characters.

    Lower-case letters and digits with `.`, `_` and `-`: Latin letters without their accents, those of
    other scripts as they are. A title without letters and digits is `fallback`. Of a long title, the
    first 1,000 characters count.
    """
    # Normalizing takes the square of a run of accents.
    lowered = unicodedata.normalize("NFC", title[:_LOOKED_AT]).lower()
    folded = _ACCENTS.sub("", "".join(map(_folded, lowered)))
    name = _cut("".join(one if _is_kept(one) else " " for one in folded))
    return name if any(character.isalnum() for character in name) else fallback


def _folded(letter: str) -> str:
    """Return a Latin letter without its accents, as ASCII; other characters are unchanged."""
    if letter.isascii():
        return letter
    base = _LETTERS.get(letter) or unicodedata.normalize("NFKD", letter)
    plain = "".join(one for one in base if not unicodedata.combining(one))
    return plain if plain.isascii() and plain.isalnum() else letter


def _is_kept(character: str) -> bool:
    """Whether a name keeps a character: letters, digits, their marks, and `._-`."""
    return (
        character.isalnum()
        or character in "._-"
        or (not character.isascii() and unicodedata.category(character)[0] == "M")
    )


def undated_name(title: str, kind: str, fallback: str) -> str:
    """Return the name of a file that does not begin with a day, without its suffix: a slug.

    Windows reserves the names of devices: the type of the memory is put before those.
    """
    name = slug(title, fallback)
    return f"{kind}-{name}" if is_device(name) else name


def _cut(name: str) -> str:
    name = _RUNS.sub(lambda run: "-" if " " in run[0] else run[0], name)
    name = name.strip(".-")[:_SLUG_LIMIT]
    # File systems limit names in bytes. A full stop at the beginning hides a file, and is lost before the suffix.
    return name.encode()[:_SLUG_BYTES].decode(errors="ignore").strip(".-")


def title_of(text: str) -> str:
    """Return how a text begins, for a title: its first line, without the marks of a heading."""
    first = text.strip().partition("\n")[0]
    return _shorten(first.lstrip("# ").strip(), _LONGEST_TITLE)


def checked_title(title: str, fallback: str) -> str:
    """Return a title as one line without control characters; `fallback` for a blank one."""
    return one_line(checked_text(title, "title")) or fallback


def one_line(text: str) -> str:
    """Return a text as one line without control characters."""
    return " ".join(_CONTROL.sub(" ", text).split())


def checked_body(body: str) -> str:
    """Return a text trimmed, with newlines as line ends; InvalidInputError for a blank one."""
    text = _LINE_END.sub("\n", checked_text(body, "text")).strip()
    if not text:
        raise InvalidInputError(
            "there is nothing to remember: the text is blank",
            code="invalid_note",
        )
    if "\0" in text:
        raise InvalidInputError(
            "the text holds a NUL character, which Markdown does not; remove it",
            code="invalid_note",
        )
    return text


def with_heading(title: str, body: str) -> str:
    """Put the title above a text as its heading, unless it is there already."""
    heading = f"# {title}"
    first, _, rest = body.partition("\n")
    if first.rstrip() == heading:
        body = rest.strip("\n")
    return f"{heading}\n\n{body}" if body else heading


def render_note(fields: Mapping[str, Any], title: str, body: str) -> str:
    """Return a whole file: front matter, the title as heading, the text."""
    return f"{_render_front_matter(fields)}\n{with_heading(title, body)}\n"
