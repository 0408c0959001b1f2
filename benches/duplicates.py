"""Measure how well `remember` recognizes near-duplicates: python benches/duplicates.py DATA.

DATA is a collection in BEIR's format (queries.jsonl.gz, corpus.jsonl.gz). Its queries are short
texts, many of which differ from another query in one word. The long texts are the first three
sentences of its documents. For 300 texts of each, the bench prints the share of near-duplicates at
each threshold: among modified copies, which should be high, and among the most similar texts of the
collection, which should be low.
"""

from __future__ import annotations

import gzip
import json
import random
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import hedgerow as hr
from hedgerow import EN_STOPWORDS
from hedgerow._engine import LIKE, _likeness, _words_of

SEED = 20260418
SAMPLE = 300
THRESHOLDS = (0.6, 0.7, 0.75, LIKE, 0.85, 0.9)
SENTENCE = re.compile(r"(?<=[.!?]) ")


def main() -> None:
    """Measure short texts and long texts."""
    folder = Path(sys.argv[1])
    queries = [one["text"] for one in rows(folder / "queries.jsonl.gz")]
    documents = [
        " ".join(SENTENCE.split(one["content"])[:3]) for one in rows(folder / "corpus.jsonl.gz")
    ]
    chance = random.Random(SEED)
    words = [word for text in documents[:300] for word in _words_of(text)]
    for name, texts in (("queries", queries), ("documents", documents)):
        sample = chance.sample(texts, min(SAMPLE, len(texts)))
        print(f"\n{name} ({len(sample)} of {len(texts)})")
        print(f"{'at least':<28}" + "".join(f"{one:>7.0%}" for one in THRESHOLDS))
        for change, changed in changes(chance, words).items():
            report(change, [alike(text, changed(text)) for text in sample])
        report("another text, most alike", most_alike(texts, sample))


def rows(file: Path) -> list[dict[str, str]]:
    """Return the objects of a compressed JSON Lines file."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def changes(chance: random.Random, words: Sequence[str]) -> dict[str, Callable[[str], str]]:
    """Return functions that modify a text, by name."""

    def replaced(share: float) -> Callable[[str], str]:
        def change(text: str) -> str:
            kept = text.split()
            for at in chance.sample(range(len(kept)), max(1, int(len(kept) * share))):
                kept[at] = chance.choice(words)
            return " ".join(kept)

        return change

    def without_one(text: str) -> str:
        kept = text.split()
        kept.pop(chance.randrange(len(kept)))
        return " ".join(kept)

    def with_one(text: str) -> str:
        kept = text.split()
        kept.insert(chance.randrange(len(kept)), chance.choice(words))
        return " ".join(kept)

    return {
        "case, marks and lines": lambda text: "# T\n\n- **{}**\n".format(
            text.upper().replace(" ", "\n")
        ),
        "other order of sentences": lambda text: " ".join(reversed(SENTENCE.split(text))),
        "a word more": with_one,
        "a word less": without_one,
        "1 word in 20 replaced": replaced(0.05),
        "1 word in 10 replaced": replaced(0.1),
        "1 word in 5 replaced": replaced(0.2),
        "no stop words": lambda text: " ".join(
            one for one in text.split() if one.lower() not in EN_STOPWORDS
        ),
    }


def most_alike(texts: Sequence[str], sample: Sequence[str]) -> list[float]:
    """Return for each text its highest similarity to another text, among 20 search results."""
    index = hr.Index.in_memory()
    index.upsert(hr.Chunk(str(at), str(at), text) for at, text in enumerate(texts))
    retriever = hr.Retriever(index)
    found = []
    for text in sample:
        query = " ".join(list(dict.fromkeys(_words_of(text)))[:64])
        hits = retriever.search(query, mode="bm25", limit=20).results
        others = (texts[int(hit.id)] for hit in hits)
        found.append(
            max(
                (alike(text, one) for one in others if _words_of(one) != _words_of(text)), default=0
            )
        )
    return found


def alike(one: str, other: str) -> float:
    """Return the similarity of two texts."""
    return _likeness(one, [other])[0]


def report(name: str, found: Sequence[float]) -> None:
    """Print the share of values at or above each threshold."""
    shares = (sum(one >= threshold for one in found) / len(found) for threshold in THRESHOLDS)
    print(f"{name:<28}" + "".join(f"{share:>7.0%}" for share in shares))


if __name__ == "__main__":
    main()
