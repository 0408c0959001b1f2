"""The part of a passage that is shown: at most 500 characters around what was searched for."""

from __future__ import annotations

from collections.abc import Sequence

LIMIT = 500
_LEAD = 60
_STEM = 4
_MOST = 50


def cut_snippet(content: str, tokens: Sequence[str]) -> str:
    """Put a passage on one line, cut to where most of the words are."""
    text = " ".join(content.split())
    if len(text) <= LIMIT:
        return text
    start = _best_start(text.lower(), tokens)
    if start + LIMIT >= len(text):
        start = len(text) - LIMIT + 1
    lead = "…" if start else ""
    end = start + LIMIT - len(lead)
    return f"{lead}{text[start:end].strip()}{'…' if end < len(text) else ''}"


def _best_start(text: str, tokens: Sequence[str]) -> int:
    """Find the window that holds the most different words, the first of equals."""
    places = sorted(
        (place, token)
        for token in tokens
        for place in _places(text, token[: max(_STEM, len(token) - 3)])
    )
    best, most = 0, 0
    for index, (place, _) in enumerate(places):
        within = {token for at, token in places[index:] if at < place + LIMIT - _LEAD}
        if len(within) > most:
            best, most = place, len(within)
    if best < _LEAD:
        return 0
    space = text.find(" ", best - _LEAD, best)
    return space + 1 if space >= 0 else best


def _places(text: str, part: str) -> list[int]:
    found: list[int] = []
    place = text.find(part)
    while place >= 0 and len(found) < _MOST:
        found.append(place)
        place = text.find(part, place + 1)
    return found
