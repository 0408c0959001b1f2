"""Damage by disks and other programs, in a file in which every part has content."""

from __future__ import annotations

import random
from pathlib import Path

import hedgerow as hr
from ingest_runs import run

PAGE = 4096
NUMBERS = 16
_WORDS = ["oak", "elm", "ash", "hedge", "hedgehog", "winter", "slug", "garden", "beer", "compost"]


def make_sound(path: Path, notes: Path) -> None:
    """Make a file with chunks, vectors, tags, metadata, nodes, edges, visits and files."""
    random_words = random.Random(7)  # noqa: S311 - the same damage each time

    def words(count: int) -> str:
        return " ".join(random_words.choices(_WORDS, k=count))

    def chunk(number: int) -> hr.Chunk:
        return hr.Chunk(
            f"c{number}",
            f"notes/{number // 3}.md",
            words(random_words.choice([3, 30, 200])),
            ordinal=number % 3,
            title=words(3),
            summary=words(4),
            tags=random_words.sample(_WORDS, 2),
            metadata={"n": number, "s": words(1), "l": [1, 2.5, None, True]},
            embedding=[random_words.uniform(-1, 1) for _ in range(NUMBERS)],
        )

    notes.mkdir()
    for number in range(5):
        (notes / f"{number}.md").write_text(f"# {words(2)}\n\n{words(40)}\n")
    with hr.Store.open(path) as store:
        store.upsert(hr.Node(f"n{number}", content=words(9)) for number in range(20))
        store.link_many([(f"n{number}", f"n{number + 1}", 0.5) for number in range(19)])
        store.visit("agent", "n3", 1_700_000_000)
    with hr.Index.open(path) as index:
        run(index, notes)
        for first in range(0, 60, 20):
            index.upsert([chunk(number) for number in range(first, first + 20)])
        index.delete([f"c{number}" for number in range(0, 60, 9)])
        index.upsert([chunk(number) for number in range(1, 60, 11)])
        assert index.check() == []


def damaged(sound: bytes, seed: int) -> bytes:
    """Flip, zero, overwrite or cut off bytes, or replace a page by another one."""
    draw = random.Random(seed)  # noqa: S311 - the same damage each time
    data = bytearray(sound)
    place = draw.randrange(len(data) if draw.random() < 0.8 else 2 * PAGE)
    match seed % 6:
        case 0:
            data[place] ^= 1 << draw.randrange(8)
        case 1:
            length = min(draw.choice([1, 8, 64, 512]), len(data) - place)
            data[place : place + length] = bytes(length)
        case 2:
            length = min(draw.choice([1, 4, 16]), len(data) - place)
            data[place : place + length] = draw.randbytes(length)
        case 3:
            for _ in range(20):
                data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        case 4:
            one, other = (draw.randrange(len(data) // PAGE) * PAGE for _ in range(2))
            data[one : one + PAGE] = data[other : other + PAGE]
        case 5:
            del data[place:]
    return bytes(data)
