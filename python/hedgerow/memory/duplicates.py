"""Memories that say the same: before a text is written, and in a root that is tidied."""

from __future__ import annotations

import logging
import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

from hedgerow._checks import shown
from hedgerow._engine import Index, _first_heading
from hedgerow.errors import HedgerowError, InvalidInputError
from hedgerow.ingest.source import Source, UnreadableSourceError, read_bytes
from hedgerow.typing import OnDuplicate, Progress

from . import note
from .derived import Derived, check_folder
from .documents import Document, parse_document
from .files import locked
from .marks import Marks
from .names import LONGEST_NORMALIZED
from .recall import filter_of, search
from .scope import Scope

LIKE = 0.8
"""From this share of common words on, two texts say nearly the same."""

_STEP = 1 / LIKE
"""Texts that are alike are of the same group of sizes, each `_STEP` times the last, or of the next."""

_SKETCH_BITS = 512
"""Bits of a sketch: with fewer, long texts that differ look alike."""

_ROUNDING = 1e-9
"""Added to a bound, so that no rounding loses a pair at the very bound."""

_HEADING = re.compile(r"\s*#[ \t][^\n]*\n?")
_MARKUP = re.compile(
    r"""^[ ]{0,3}(?:>[ ]?)+ | ^[ \t]*[-*+][ \t] | ^[ \t=*_|:-]+$
      | </?[A-Za-z][\w-]*(?:\s+[\w-]+\s*=\s*(?:"[^"<>]*"|'[^'<>]*'))*\s*/?> | <(?P<address>[A-Za-z]+:[^<>\s]*)>
      | ~~ | \|""",
    re.MULTILINE | re.VERBOSE,
)
"""The marks of Markdown that look like symbols: quotations, bullets, rules, tags, addresses, tables."""

_TOKEN = re.compile(
    r"""(?<=[^\W\d])(?:\+{2}|\#)            # C++, C#
      | (?<![\w)\]])[-+](?=\.?\d)          # -18
      | (?<=\d)[ ]*[-+*/^:](?=[ ]*[-+.]?\d)  # 3 - 18
      | [<>=!~]=+ | [-=]> | <- | [<>=%?$]
      | \w+n't\b | \w+
      | [^\w\s\x00-\x7f]""",
    re.VERBOSE,
)
_UNCOUNTED = "".join(
    chr(code)
    for first, last in (
        *((0xAD, 0xAD), (0x200B, 0x200D), (0xFEFF, 0xFEFF)),  # the soft hyphen and joiners
        *((0x591, 0x5BD), (0x5BF, 0x5BF), (0x5C1, 0x5C2), (0x5C4, 0x5C5), (0x5C7, 0x5C7)),
        *((0x640, 0x640), (0x64B, 0x652), (0x670, 0x670)),
    )
    for code in range(first, last + 1)
)
"""Characters without which a word is the same: the points of Hebrew and Arabic, and invisible ones."""

_PLAIN = str.maketrans("\u2212\u2013\u2019", "--'", _UNCOUNTED)
"""The minus sign, the en dash and the apostrophe that editors write, as keyboards have them."""

_NEGATIONS = frozenset(
    """not no never none nothing nobody nowhere nor neither cannot without unless except
    nicht nichts nie niemals kein keine keinen keinem keiner ohne
    pas jamais sans aucun aucune ni nunca jamás sin ninguno ninguna
    non mai senza nessuno não nunca sem nenhum niet geen nooit zonder
    inte aldrig utan ikke aldri nie nigdy bez не нет ни никогда без""".split()  # noqa: SIM905
)
"""Words that turn what is said into its opposite."""


def words_of(body: str) -> list[str]:
    """Return the words and the symbols of a text, to compare: without its title, markup and case.

    A sign before a number, an operator, a unit such as %, a question mark, and the ++ of C++ are
    symbols; commas, full stops and quotes are not.
    """
    heading = _HEADING.match(body)
    below = body[heading.end() :] if heading and _first_heading(heading[0]) else body
    return _words(below) or _words(body)


def _words(text: str) -> list[str]:
    if not text.isascii():
        # Word by word: normalizing takes the square of a run of accents.
        text = "\n".join(
            " ".join(
                one if len(one) > LONGEST_NORMALIZED else unicodedata.normalize("NFKC", one)
                for one in line.split(" ")
            )
            for line in text.split("\n")
        ).translate(_PLAIN)
    found = [one.strip() for one in _TOKEN.findall(_MARKUP.sub(r" \g<address> ", text).casefold())]
    words: list[str] = []
    for one in found:
        if words and unicodedata.category(one[0])[0] == "M":
            words[-1] += one  # the vowel signs of Thai and Hindi, which re takes for no letters
        elif one.isascii() or _counts(one):
            words.append(one)
    return words if any(_is_word(one) for one in words) else []


def _counts(token: str) -> bool:
    """Whether a token that is not ASCII is a word or a symbol, not a quote or a dash."""
    return _is_word(token) or unicodedata.category(token[0])[0] == "S"


def _is_word(token: str) -> bool:
    return token[0].isalnum() or token[0] == "_"


def likeness(one: Counter[str], other: Counter[str]) -> float:
    """Return the share of words that two texts have in common, each as often as it occurs.

    0 if the texts differ in a symbol or a negation: they do not say the same then, however many
    words they share.
    """
    if decisive(one) != decisive(other):
        return 0.0
    total = one.total() + other.total()
    if not total:
        return 0.0
    common = (one & other).total()
    return common / (total - common)


def decisive(words: Mapping[str, int]) -> frozenset[tuple[str, int]]:
    """Return the symbols and negations of a text, each with its count."""
    return frozenset(
        (word, count)
        for word, count in words.items()
        if word in _NEGATIONS or not _is_word(word) or word.endswith("n't")
    )


class Alike(NamedTuple):
    """Two memories that say nearly the same, the first of them first, and their likeness."""

    first: str
    second: str
    likeness: float


def same(texts: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Return the groups of memories that say the same words in the same order."""
    groups: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for path, words in texts.items():
        if words:
            groups[tuple(words)].append(path)
    return [group for group in groups.values() if len(group) > 1]


def nearly_same(
    texts: Mapping[str, Sequence[str]], progress: Progress | None = None
) -> Iterator[Alike]:
    """Yield each memory that says nearly the same as an earlier one, with the most similar of these.

    Of equally similar ones the first counts. `progress(done, total)` counts memories.
    """
    known = [_Text.of(path, words) for path, words in texts.items() if words]
    earlier = _Earlier(known)
    for at, text in enumerate(known):
        best = earlier.most_alike(text)
        if best is not None:
            yield best
        if progress is not None:
            progress(at + 1, len(known))


class _Text(NamedTuple):
    """A text to compare. A word that occurs n times is n elements: (word, 0) to (word, n - 1)."""

    path: str
    elements: frozenset[tuple[str, int]]
    decisive: frozenset[tuple[str, int]]

    @classmethod
    def of(cls, path: str, words: Sequence[str]) -> _Text:
        counts = Counter(words)
        elements = ((word, repeat) for word, count in counts.items() for repeat in range(count))
        return cls(path, frozenset(elements), decisive(counts))


class _Earlier:
    """The texts before one, by two keys of which a similar text shares at least one of each kind.

    - Its rarest elements: two texts with a likeness of `LIKE` share one of their rarest fifth.
    - Its buckets: such texts of n and m elements differ in at most (n + m) / 9 of them. If the
      elements are dealt by hash into one more bucket than that, a whole bucket is equal.

    The kind with fewer candidates is used, so neither common words nor a common frame make all texts
    candidates of each other. A sketch excludes most candidates: each element flips one of its bits,
    so two texts differ in at least as many elements as bits. No pair is missed.
    """

    def __init__(self, texts: Sequence[_Text]) -> None:
        self._texts: list[_Text] = []
        self._sketches: list[int] = []
        self._by_element: defaultdict[int, list[int]] = defaultdict(list)
        self._by_bucket: defaultdict[_Bucket, list[int]] = defaultdict(list)
        counts = Counter(element for text in texts for element in text.elements)
        rarest = sorted(counts, key=lambda element: (counts[element], element))
        self._ranks = {element: rank for rank, element in enumerate(rarest)}
        self._mixed = [_mixed(rank) for rank in range(len(rarest))]

    def most_alike(self, text: _Text) -> Alike | None:
        """Return the pair of a text and the most similar of the earlier ones; None if none is.

        The text counts as an earlier one from then on.
        """
        ranks = sorted(map(self._ranks.__getitem__, text.elements))
        mixed = [self._mixed[rank] for rank in ranks]
        sketch, size = _sketch(mixed), len(ranks)
        rare, buckets = _rarest(ranks), _buckets(mixed, text.decisive)
        found = self._similar(text, size, sketch, rare, buckets)
        at = len(self._texts)
        for rank in rare:
            self._by_element[rank].append(at)
        for bucket in buckets:
            self._by_bucket[bucket].append(at)
        self._texts.append(text)
        self._sketches.append(sketch)
        return found

    def _similar(
        self,
        text: _Text,
        size: int,
        sketch: int,
        rare: Sequence[int],
        buckets: Sequence[_Bucket],
    ) -> Alike | None:
        sketches, texts = self._sketches, self._texts
        by_element = [self._by_element.get(rank, []) for rank in rare]
        by_bucket = [self._by_bucket.get(bucket, []) for bucket in buckets]
        lists = min(by_element, by_bucket, key=lambda found: sum(map(len, found)))
        most = _most_different(size + math.ceil(size * _STEP))
        candidates: set[int] = set().union(*lists)
        near = [at for at in candidates if (sketch ^ sketches[at]).bit_count() <= most]
        best = (0.0, 0)
        for at in near:
            other = texts[at]
            if other.decisive == text.decisive:
                common = len(text.elements & other.elements)
                found = common / (size + len(other.elements) - common)
                best = max(best, (found, -at))
        return Alike(texts[-best[1]].path, text.path, best[0]) if best[0] >= LIKE else None


class _Bucket(NamedTuple):
    """The content of a bucket, as the sum of its mixed numbers, in texts of a group of sizes."""

    group: int
    at: int
    total: int
    decisive: frozenset[tuple[str, int]]


def _rarest(ranks: Sequence[int]) -> Sequence[int]:
    """Return the elements of which similar texts share at least one."""
    return ranks[: len(ranks) - math.ceil(LIKE * len(ranks) - _ROUNDING) + 1]


def _buckets(mixed: Sequence[int], decisive: frozenset[tuple[str, int]]) -> list[_Bucket]:
    """Return the content of each bucket, for texts of this group of sizes and of the next."""
    group = int(math.log(len(mixed)) / math.log(_STEP))
    found = []
    for one in (group, group + 1):
        count = int(_most_different(2 * math.ceil(_STEP ** (one + 1)))) + 1
        sums = [0] * count
        for number in mixed:
            sums[number % count] += number
        found += [_Bucket(one, at, total, decisive) for at, total in enumerate(sums)]
    return found


def _most_different(total: int) -> float:
    """Return a bound on the elements in which two similar texts of `total` elements may differ."""
    return total * (1 - LIKE) / (1 + LIKE) + _ROUNDING


def _sketch(mixed: Iterable[int]) -> int:
    sketch = 0
    for number in mixed:
        sketch ^= 1 << (number % _SKETCH_BITS)
    return sketch


def _mixed(number: int) -> int:
    """Scatter a number, so that neighbors do not share a bucket."""
    number = (number + 1) * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF
    number ^= number >> 29
    number = number * 0xBF58476D1CE4E5B9 & 0xFFFFFFFFFFFFFFFF
    return number ^ number >> 32


_logger = logging.getLogger("hedgerow.memory")

CHOICES: tuple[OnDuplicate, ...] = ("error", "keep", "supersede")

_CANDIDATES = 20
_LOOKED_UP = 64
"""The most distinct words of a text that the index is searched for."""


class Duplicate(NamedTuple):
    """A memory that says the same as a text, or nearly: the file, and its likeness."""

    file: str
    likeness: float

    def __str__(self) -> str:
        if self.likeness == 1:
            return f"{self.file} says the same"
        return f"{self.file} says nearly the same ({self.likeness:.0%} of the words)"


def checked_choice(choice: str) -> None:
    """Raise InvalidInputError for a word that says nothing about duplicates."""
    if choice not in CHOICES:
        raise InvalidInputError(
            f"on_duplicate must be one of {', '.join(CHOICES)}, not {shown(choice)}",
            code="invalid_option",
        )


@contextmanager
def one_writer(derived: Derived) -> Iterator[None]:
    """Let one thread of one process at a time look for a duplicate and write, until it is indexed.

    A separate lock from the one of the index, which writing and indexing take. No embedder runs
    meanwhile. Where nothing can be locked, writers do not wait for each other.
    """
    with ExitStack() as held:
        try:
            check_folder(derived)
            held.enter_context(locked(derived.remember_lock))
        except HedgerowError as error:
            if error.code == "index_busy":
                raise
            _logger.info("%s is written to without a lock: %s", derived.root, error.message)
        yield


def duplicate_of(
    derived: Derived, index: Index, marks: Callable[[], Marks], text: str, scope: Scope
) -> Duplicate | None:
    """Return the memory of a scope that holds and says the same as a text, or most nearly so."""
    words = words_of(text)
    if not words:
        return None
    wanted, present = Counter(words), note.now()
    searched = [word for word in wanted if word[0].isalnum()]
    query, where = " ".join(searched[:_LOOKED_UP]), filter_of(scope)
    found = search(index, None, query, _CANDIDATES, whole=True, where=where)
    alike = []
    for hit in found.hits:
        document = _read(derived, hit.path)
        is_one = document is not None and scope.has(Scope.stated(document.metadata))
        share = (
            0.0
            if document is None or not is_one
            else likeness(wanted, Counter(words_of(document.body)))
        )
        if share >= LIKE:
            alike.append(Duplicate(hit.path, share))
    alike.sort(key=lambda one: -one.likeness)
    return next((one for one in alike if marks().holds(one.file, present)), None)


def error_of(found: Duplicate) -> HedgerowError:
    """Return the error of a text that is remembered already."""
    return HedgerowError(
        f'nothing was written: {found}; keep both with on_duplicate="keep" (--force), or put the '
        'new one in its place with on_duplicate="supersede" (--supersede)',
        code="duplicate_memory",
    )


def _read(derived: Derived, path: str) -> Document | None:
    """Read a file as it is now; None where the index knows more than there is."""
    try:
        return parse_document(path, read_bytes(Source(path, str(derived.source_root / path))))
    except UnreadableSourceError:
        return None
