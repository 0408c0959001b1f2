"""Functions that can be used separately: the intent step, and fuzzy matching of slugs."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.util import find_spec
from typing import Any

import hedgerow as hr
from suite.bench import LARGE, Bench
from suite.results import Row, agreement, at_most
from suite.timing import by_turns

_HITS = 90
_PREFERENCE = "What would you recommend, which of them do I prefer and like best?"
_FOUND = 10
_LEAST = 0.3
_ASKED = 100


def measure(bench: Bench) -> Iterator[Row]:
    """Measure intents and trigrams."""
    yield _intent(bench)
    yield _trigrams(bench)


def _intent(bench: Bench) -> Row:
    """Measure hits of the corpus with a question that has an intent, so all patterns are tried."""
    texts = bench.corpus.texts[:_HITS]
    candidates = [
        hr.Candidate(str(text.row), text.path, text.title, text.summary, text.content)
        for text in texts
    ]
    hits = hr.reciprocal_rank_fusion([candidates])
    if not hr.detect_intent(_PREFERENCE).preference:
        raise RuntimeError(f"no intent is seen in {_PREFERENCE!r}")
    calls = {"hedgerow": lambda query: hr.reweight(query, hits)}
    figures = by_turns(calls, [_PREFERENCE] * 200, bench.budget)
    aims = (at_most(60, "us", figures["hedgerow"].p50),) if bench.large else ()
    return bench.row("intent", f"`reweight`, {len(hits)} hits", "us", figures, targets=aims)


def _trigrams(bench: Bench) -> Row:
    """Measure a search for slugs of two words, one of which is misspelled."""
    dice = random.Random(13)
    slugs = [
        f"notes/{'-'.join(re.findall('[a-z]{4,}', text.title.lower())[:2]) or text.row}.md"
        for text in bench.corpus.texts
    ]
    chunks = [hr.Candidate(str(row), slug) for row, slug in enumerate(slugs, 1)]
    index = hr.TrigramIndex(chunks)
    tokens = list(filter(None, (hr.query_tokens(hr.slug_text(slug)) for slug in slugs)))
    asked = [_misspelt(dice, dice.choice(tokens)) for _ in range(_ASKED)]
    calls: dict[str, Callable[[list[str]], Any]] = {
        "hedgerow": lambda words: index.search(words, _FOUND),
    }
    absent = {}
    sets: list[frozenset[str]] = []
    if len(slugs) <= LARGE:
        sets += _sets(slugs)
        calls["sets in Python"] = lambda words: _by_sets(sets, words)
    else:
        absent["sets in Python"] = f"not kept of more than {LARGE:,} slugs, for they take GBs"
    if find_spec("rapidfuzz"):
        from rapidfuzz import fuzz, process  # noqa: PLC0415 - may not be installed

        texts = [hr.slug_text(slug) for slug in slugs]
        calls["rapidfuzz"] = lambda words: process.extract(
            " ".join(words), texts, scorer=fuzz.ratio, limit=_FOUND
        )
    else:
        absent["rapidfuzz"] = "not installed (rapidfuzz)"
    figures = by_turns(calls, asked, bench.budget)

    def agrees(place: int) -> bool:
        ours = index.search(asked[place], _FOUND)
        theirs = _by_sets(sets or _sets(slugs), asked[place])
        return [hit.similarity for hit in ours] == theirs

    check = agreement("similarities as by sets", 20 if sets else 3, agrees)
    there = bench.large and not bench.million
    aims = (at_most(0.5, "ms", figures["hedgerow"].p50),) if there else ()
    what = f"trigrams, {len(slugs):,} slugs, top {_FOUND}"
    return bench.row("trigrams", what, "ms", figures, targets=aims, checks=(check,), absent=absent)


def _misspelt(dice: random.Random, words: Sequence[str]) -> list[str]:
    longest = max(words, key=len)
    cut = dice.randrange(1, len(longest))
    return [word if word != longest else word[:cut] + word[cut + 1 :] for word in words]


def _sets(slugs: Sequence[str]) -> Iterator[frozenset[str]]:
    return (hr.trigrams(hr.slug_text(slug)) for slug in slugs)


def _by_sets(sets: Iterable[frozenset[str]], words: list[str]) -> list[float]:
    """Return the best similarities by brute force: for each slug, its highest one to any word."""
    wanted = [hr.trigrams(word) for word in words]
    likeness = (max(len(word & one) / len(word | one) for word in wanted) for one in sets)
    return sorted((one for one in likeness if one >= _LEAST), reverse=True)[:_FOUND]
