"""Questions in other spellings, made by rule from those of collections: with typos, joined, split, folded."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import hedgerow as hr
from hedgerow import evaluation
from hedgerow._judged import JudgedQuery
from hedgerow.typing import Tokenizer
from quality_suite import MEASURE, Scoped
from rule_data import SEED, Figure, Without, compared
from rule_data.ranking import KINDS, scopes_of

WORD = re.compile(r"[^\W\d_]+")
TWO_WORDS = re.compile(r"([^\W\d_]{4,}) ([^\W\d_]{4,})")
LETTERS = "abcdefghijklmnopqrstuvwxyz", "абвгдежзийклмнопрстуфхцчшщыьэюя"
ARABIC = str.maketrans(LETTERS[0], "ابتثجحخدذرزسشصضطظعغفقكلمنه")
VOWELS = "\u064b\u064c\u064d\u064e\u064f\u0650\u0651\u0652"
FOLDINGS = Path(__file__).parents[2] / "rust/engine/src/text/words/foldings.txt"
INFLECTED = ("de", "ru")

Rewriting = Callable[[str, Counter[str], random.Random], str]
"""Returns a question in another spelling; the same if it has none. Given the words of the texts, with their counts."""


def typo(text: str, words: Counter[str], chance: random.Random, last: int = 40) -> str:
    """Change one letter of a word of the texts: neither its first nor, with `last`, one before its last ones."""
    found = [one for one in WORD.finditer(text) if len(one[0]) > 4 and one[0].lower() in words]
    if not found:
        return text
    match = chance.choice(found)
    word = match[0]
    at = chance.randrange(max(1, len(word) - last), len(word))
    letter = chance.choice(next((one for one in LETTERS if word[at].lower() in one), LETTERS[0]))
    edits = (
        word[:at] + letter + word[at:],
        word[:at] + word[at + 1 :],
        word[:at] + letter + word[at + 1 :],
    )
    swapped = word[: at - 1] + word[at] + word[at - 1] + word[at + 1 :]
    wrong = chance.choice([*edits, swapped] if at > 1 else edits)
    return text[: match.start()] + wrong + text[match.end() :]


def typo_at_the_end(text: str, words: Counter[str], chance: random.Random) -> str:
    """Change one of the last three letters of a word."""
    return typo(text, words, chance, last=3)


def joined(text: str, words: Counter[str], chance: random.Random) -> str:
    """Write two neighboring words of the texts as one."""
    found = [
        one
        for one in TWO_WORDS.finditer(text)
        if all(part.lower() in words for part in one.groups())
    ]
    if not found:
        return text
    match = chance.choice(found)
    return text[: match.start()] + match[1] + match[2] + text[match.end() :]


def hyphenated(text: str, words: Counter[str], chance: random.Random) -> str:
    """Write a word of the texts with a hyphen between two others."""
    parts = [
        (one, at)
        for one in WORD.finditer(text)
        for at in range(3, len(one[0]) - 2)
        if {one[0].lower(), one[0][:at].lower(), one[0][at:].lower()} <= words.keys()
    ]
    if not parts:
        return text
    match, at = chance.choice(parts)
    return f"{text[: match.start() + at]}-{text[match.start() + at :]}"


def rarest(text: str, words: Counter[str], _: random.Random) -> str:
    """Leave the rarest word alone, as somebody types it."""
    return min(WORD.findall(text), key=lambda word: (words[word.lower()] or 1, word), default=text)


def unfolded(text: str, _: Counter[str], chance: random.Random) -> str:
    """Write other characters for those that foldings make of them."""
    return "".join(chance.choice(UNFOLDED.get(c, [c])) for c in text.replace("ss", "ß"))


def unfoldings() -> Mapping[str, Sequence[str]]:
    """Return the Han characters and digits with those that are folded to them."""
    found: dict[str, list[str]] = {}
    for line in FOLDINGS.read_text(encoding="utf-8").splitlines():
        kind, code, text = line.split(" ", 2)
        if kind == "H" or (kind == "F" and text.isdigit() and len(text) == 1):
            found.setdefault(text, []).append(chr(int(code, 16)))
    return found


UNFOLDED = unfoldings()


@dataclass(frozen=True, slots=True)
class Questions:
    """Questions in another spelling: their name, the collections they are made of, and how."""

    name: str
    collections: Sequence[str]
    rewritten: Rewriting | None = None


DOCUMENTS, CONVERSATIONS, LANGUAGES = KINDS.values()
WITH_SPACES = (*DOCUMENTS, *CONVERSATIONS, *INFLECTED)
CLEAN = tuple(Questions(kind, names) for kind, names in KINDS.items())
MADE: dict[str, Sequence[Questions]] = {
    "edits": [Questions("with a typo", WITH_SPACES, typo), *CLEAN],
    "endings": [
        Questions("with a typo at the end of a word", WITH_SPACES, typo_at_the_end),
        *CLEAN,
    ],
    "splits": [Questions("two words joined", WITH_SPACES, joined), *CLEAN],
    "joins": [Questions("a word with a hyphen", WITH_SPACES, hyphenated), *CLEAN],
    "beginnings": [Questions("one word of German and Russian", INFLECTED, rarest), *CLEAN],
    "stems": CLEAN,
    "foldings": [
        Questions("characters of other forms", (*DOCUMENTS, *LANGUAGES), unfolded),
        *CLEAN,
    ],
}
"""The questions that each rule is measured on."""


def measure(data: Path, without: Without, rule: str) -> list[Figure]:
    """Return the gain of a rule on each of its kinds of questions, and on the collection that it costs most."""
    found, each = [], []
    for questions in MADE[rule]:
        on, off = [], []
        for name in questions.collections:
            with_rule = searched(asked(data, name, questions.rewritten))
            with without(rule):
                # Foldings and stems act on texts too, so the index is made again.
                without_rule = searched(asked(data, name, questions.rewritten))
            on += with_rule
            off += without_rule
            each.append(compared(name, f"{MEASURE} keywords", with_rule, without_rule))
        found.append(compared(questions.name, f"{MEASURE} keywords", on, off))
    return [*found, min(each, key=lambda figure: figure.gain)]


def measure_vowel_marks(data: Path, without: Without) -> list[Figure]:
    """Return the gain of cutting words at vowel marks: German in Arabic letters, with marks in the texts alone."""
    chance = random.Random(SEED)

    def pointed(text: str) -> str:
        letters = text.lower().translate(ARABIC)
        return re.sub(
            r"(?<=[\u0627-\u064a])(?=[\u0627-\u064a])", lambda _: chance.choice(VOWELS), letters
        )

    [scoped] = scopes_of(data, "de")
    chunks = [replace_content(one, pointed(one.content)) for one in scoped.index.chunks()]
    index = indexed(chunks, "unicode61")
    queries = [one._replace(text=one.text.lower().translate(ARABIC)) for one in scoped.task.queries]
    task = evaluation.make_task(index, queries, scoped.task.judgements, "id")
    on = searched([Scoped(index, task, None)])
    with without("vowel marks"):
        off = searched([Scoped(index, task, None)])
    return [compared("texts with vowel marks, unicode61", f"{MEASURE} keywords", on, off)]


def replace_content(chunk: hr.Chunk, content: str) -> hr.Chunk:
    """Return a chunk with another content."""
    return hr.Chunk(**{**chunk.to_dict(), "content": content})


def indexed(chunks: Iterable[hr.Chunk], tokenizer: Tokenizer) -> hr.Index:
    """Return an index in memory of some chunks."""
    index = hr.Index.in_memory(tokenizer=tokenizer)
    index.upsert(chunks)
    return index


def asked(data: Path, name: str, rewritten: Rewriting | None) -> Iterator[Scoped]:
    """Yield the indexes of a collection with their questions; of rewritten ones those that changed."""
    for scoped in scopes_of(data, name):
        if rewritten is None:
            yield scoped
            continue
        words = Counter[str]()
        for chunk in scoped.index.chunks():
            words.update(set(WORD.findall(f"{chunk.title} {chunk.content}".lower())))
        queries: list[JudgedQuery] = []
        for query in scoped.task.queries:
            text = rewritten(query.text, words, random.Random(f"{SEED} {query.id}"))
            if text != query.text:
                queries.append(query._replace(text=text))
        if queries:
            judged = {query.id: scoped.task.judgements[query.id] for query in queries}
            yield replace(
                scoped, task=evaluation.make_task(scoped.index, queries, judged, scoped.task.by)
            )


def searched(found: Iterable[Scoped]) -> list[float]:
    """Return the measure of each question."""
    [way] = evaluation.best_profile(["bm25"])
    return [
        outcome[MEASURE]
        for scoped in found
        for outcome in evaluation.outcome_of(scoped.index, scoped.task, way).per_query.values()
    ]


SPELLINGS: Mapping[str, Callable[[Path, Without], list[Figure]]] = {
    **{rule: partial(measure, rule=rule) for rule in MADE},
    "vowel marks": measure_vowel_marks,
}
"""The measurement of each rule of spelling."""
