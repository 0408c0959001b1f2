"""Secrets, quotes of forgotten memories and conflicts of git: lines made by a seed, and the documents of all collections.

A figure counts right answers. The lines were made with the rules; the documents were not, and none of them has a secret.
"""

from __future__ import annotations

import gzip
import json
import random
import re
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from hedgerow._engine import _Documents, _find_secrets
from rule_data import Figure, Without, compared

sys.path.append(str(Path(__file__).parents[2] / "tests" / "support"))

from secret_lines import harmless_lines, secret_lines

SEED = 20260418
QUOTED = 200
"""The documents of which a line is quoted."""
SHORTEST = 40
"""The fewest characters of a quoted line or sentence."""
IN_FIELDS = "password"


def documents(data: Path) -> Iterator[tuple[str, str]]:
    """Yield the name of each collection and each of its documents."""
    for file in sorted([*data.glob("*/corpus.jsonl.gz"), *data.glob("lang/*/passages.jsonl.gz")]):
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            for line in lines:
                values = json.loads(line).values()
                yield file.parent.name, "\n".join(one for one in values if isinstance(one, str))


def measure_formats(data: Path, without: Without) -> list[Figure]:
    """Return the gain by the known formats of tokens: secrets found, and harmless documents left alone."""
    lines = [line.text for line in secret_lines(SEED, 400) if line.kind != IN_FIELDS]
    return _measure_secrets(data, without, "secret formats", lines)


def measure_fields(data: Path, without: Without) -> list[Figure]:
    """Return the gain by names of fields and entropy: secrets found, and harmless documents left alone."""
    lines = [line.text for line in secret_lines(SEED, 400) if line.kind == IN_FIELDS]
    return _measure_secrets(data, without, "secret fields", lines)


def _measure_secrets(data: Path, without: Without, rule: str, lines: Sequence[str]) -> list[Figure]:
    texts = [text for _, text in documents(data)]
    on, off = _found(lines), []
    quiet, quiet_off = _quiet(harmless_lines()), []
    untouched = _quiet(texts)
    with without(rule):
        off = _found(lines)
        quiet_off, untouched_off = _quiet(harmless_lines()), _quiet(texts)
    return [
        compared("made lines", "recall", on, off),
        compared("harmless lines", "left alone", quiet, quiet_off),
        compared("documents", "left alone", untouched, untouched_off),
    ]


def _found(texts: Sequence[str]) -> list[float]:
    return [float(bool(_find_secrets(text))) for text in texts]


def _quiet(texts: Sequence[str]) -> list[float]:
    return [1.0 - found for found in _found(texts)]


def measure_quotes(data: Path, without: Without) -> list[Figure]:
    """Return the share of quoted lines found in other texts, and of documents that seem to quote none."""
    chance = random.Random(SEED)
    texts = [
        text
        for name in ("jb-lme-seed", "locomo-session", "cacm", "scifact")
        for _, text in islice(((one, text) for one, text in documents(data) if one == name), 300)
    ]
    chosen = chance.sample([text for text in texts if _sentences(text)], QUOTED)
    parts = (_long_lines, _sentences)
    quoting = [
        f"He said: {_quoted(chance.choice(parts[at % 2](text)))}, I think."
        for at, text in enumerate(chosen)
    ]
    others = _Documents.of([(f"notes/{at}.md", text) for at, text in enumerate(texts)])

    def answers() -> tuple[list[float], list[float]]:
        found, alone = [], []
        for text, quote in zip(chosen, quoting, strict=True):
            with_quote = _Documents.of([("quote.md", quote)])
            found.append(float(bool(with_quote.quotes_and_traces("a.md", text, set())[0])))
            named = others.quotes_and_traces("a.md", text, set())[0]
            alone.append(1.0 - (len(named) - 1) / (len(texts) - 1) if named else 1.0)
        return found, alone

    on = answers()
    with without("quotes"):
        off = answers()
    return [
        compared("quoted lines and sentences", "recall", on[0], off[0]),
        compared("documents", "left alone", on[1], off[1]),
    ]


def _long_lines(text: str) -> list[str]:
    return [line for line in text.split("\n") if len(line) >= SHORTEST]


def _sentences(text: str) -> list[str]:
    """Return sentences, each of a line with several."""
    lines = [re.split(r"(?<=[.!?]) ", line) for line in _long_lines(text)]
    return [one for parts in lines if len(parts) > 1 for one in parts if len(one) >= SHORTEST]


def _quoted(line: str) -> str:
    """Return a line as somebody quotes it: a word in bold, a line end within, other case."""
    words = line.split()
    middle = len(words) // 2
    return (
        f"{' '.join(words[:middle])}\n> **{words[middle].upper()}** {' '.join(words[middle + 1 :])}"
    )


def measure_conflicts(data: Path, without: Without) -> list[Figure]:
    """Return whether conflicts in texts are told from those in fenced code, which are examples."""
    texts = [text for _, text in islice(documents(data), 200)]
    marks = "<<<<<<< HEAD\n{}\n=======\n{}\n>>>>>>> other\n"
    real = [f"{text}\n\n{marks.format(text[:40], text[40:80])}" for text in texts]
    shown = [f"{text}\n\n```\n{marks.format('make', 'make all')}```\n" for text in texts]

    def answers() -> tuple[list[float], list[float], list[float]]:
        given = (real, shown, texts)
        found = [[float(_in_conflict(one)) for one in group] for group in given]
        return found[0], [1 - one for one in found[1]], [1 - one for one in found[2]]

    on = answers()
    with without("git conflicts"):
        off = answers()
    names = (
        ("conflicts", "recall"),
        ("examples in code", "left alone"),
        ("documents", "left alone"),
    )
    return [compared(*name, one, other) for name, one, other in zip(names, on, off, strict=True)]


def _in_conflict(text: str) -> bool:
    problems = _Documents.of([("a.md", text)]).problems()
    return any(code == "git_conflict" for _, code, _, _ in problems)
