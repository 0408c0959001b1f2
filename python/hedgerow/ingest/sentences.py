"""The first sentence of a text, for summaries."""

from __future__ import annotations

import re

SUMMARY_LIMIT = 280
"""The most characters of a summary taken from running text; longer ones end in an ellipsis."""

_END = re.compile(r"(?:(?<!\s)[.!?…]+[\"'”’)\]]*(?=\s|$))|[。！？]+[」』”’）]*")  # noqa: RUF001

# A full stop after these, or after one letter (initials, "e.g."), ends no sentence.
_ABBREVIATION = re.compile(
    r"(?:\b(?:dr|mr|mrs|ms|prof|st|vs|etc|approx|ca|cf|no|nr|bijv|enz|dhr|mevr)|\b\w)\.$",
    re.IGNORECASE,
)


def first_sentence(text: str) -> str:
    """Give the first sentence of the first paragraph, at most SUMMARY_LIMIT characters."""
    paragraph = re.split(r"\n\s*\n", text.strip(), maxsplit=1)[0]
    # Nothing past this can be part of the answer, so long lines cost no more than short ones.
    flat = " ".join(paragraph[: 4 * SUMMARY_LIMIT].split())
    for match in _END.finditer(flat):
        sentence = flat[: match.end()]
        if match.end() > SUMMARY_LIMIT:
            break
        if match.end() == len(flat) or not _ABBREVIATION.search(sentence):
            return sentence
    return shorten(flat, SUMMARY_LIMIT)


def shorten(text: str, limit: int) -> str:
    """Cut a text at a space so that it has at most `limit` characters with its ellipsis."""
    if len(text) <= limit:
        return text
    head = text[: limit - 1]
    space = head.rfind(" ")
    return (head[:space] if space > limit // 2 else head).rstrip() + "…"
