"""Statistics and hits from a collection, compared with values computed from all tokens."""

from __future__ import annotations

import random
import threading
import uuid
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import hedgerow as hr
from hedgerow import _engine
from hedgerow.opensearch import Collection, _point_in_time
from hedgerow.opensearch._address import Address
from hedgerow.opensearch._client import Client, Deadline
from opensearch_server import Node
from phrase_oracle import Counted, Phrase, counted, score

WORDS = [
    "ash",
    "ashes",
    "ashen",
    "oak",
    "oaks",
    "elm",
    "a.b",
    "x_y",
    "50%",
    "Überfluß",
    "日本語",
    "yew",
]
LONG = "w" * 300
TOKENIZERS = ["porter unicode61", "unicode61", "trigram"]


def chunks(count: int, seed: int) -> list[hr.Chunk]:
    drawn = random.Random(seed)

    def text(most: int) -> str:
        return " ".join(
            drawn.choices([*WORDS, LONG] if most > 10 else WORDS, k=drawn.randint(0, most))
        )

    return [
        hr.Chunk(
            f"id {number}",
            f"{drawn.choice(WORDS)}/{drawn.randint(0, 9)}",
            text(40),
            title=text(3),
            summary=text(8),
            tags=[text(2) for _ in range(drawn.randint(0, 2))],
            metadata={"half": number % 2},
            ordinal=number % 7,
            embedding=[drawn.gauss(0, 1) for _ in range(8)] if number % 5 else None,
        )
        for number in range(count)
    ]


def phrases(tokenizer: str, seed: int) -> list[Phrase]:
    drawn = random.Random(seed)
    texts = [" ".join(drawn.choices(WORDS, k=drawn.randint(1, 3))) for _ in range(5)]
    found: list[Phrase] = [(tokens, False) for tokens in _engine._tokenize(texts, tokenizer)]
    found += [
        (["ash"], True),
        (["oak", "a"], True),
        (["oak", "oak"], False),
        ([], False),
        (["o"], True),
    ]
    found += [(["w" * 80], True), ([LONG], False), (["oak", "ash", "o"], True)]
    return found


def expression(found: list[Phrase], mean: float, drawn: random.Random) -> dict[str, Any]:
    numbers = range(len(found))
    conjunctions = [
        [
            drawn.sample(numbers, drawn.choice([1, 1, 1, 2, 3]))
            for _ in range(drawn.choice([1, 1, 2, 3]))
        ]
        for _ in range(drawn.randint(1, 4))
    ]
    addends = [
        (number, phrase, drawn.randint(1, 3))
        for number, groups in enumerate(conjunctions)
        for group in groups
        for phrase in group
    ]
    addends += [(drawn.randrange(len(conjunctions)), drawn.choice(numbers), 1) for _ in range(2)]
    none = drawn.sample(numbers, drawn.choice([0, 0, 1]))
    return {
        "phrases": found,
        "idf": [drawn.uniform(1e-6, 8.0) for _ in found],
        "norm": (0.3, 0.9 / mean),
        "any": conjunctions,
        "none": none,
        "addends": addends,
    }


@pytest.fixture(
    scope="module", params=[(1, TOKENIZERS[0]), (2, TOKENIZERS[1]), (5, TOKENIZERS[0]), (2, TOKENIZERS[2])],
    ids=lambda parameter: f"{parameter[0]} shards, {parameter[1]}",
)  # fmt: skip
def filled(node: Node, request) -> Iterator[tuple[Collection, dict[str, Counted]]]:
    """A collection with deletions and replacements, and its expected content."""
    shards, tokenizer = request.param
    with Collection.create(
        node.url, f"t-{uuid.uuid4().hex}", replicas=0, shards=shards, tokenizer=tokenizer
    ) as made:
        first, drawn = chunks(300, shards), random.Random(shards)
        made.upsert(first)
        kept = {chunk.id: chunk for chunk in first}
        kept.update({chunk.id: chunk for chunk in chunks(60, 99)})
        made.upsert([kept[f"id {number}"] for number in range(60)])
        gone = drawn.sample(sorted(kept), 80)
        assert made.delete(gone) == 80
        for id in gone:  # noqa: A001
            del kept[id]
        yield made, counted(list(kept.values()), tokenizer)


def test_counts_after_deletions(filled):
    collection, there = filled
    asked = phrases(collection.tokenizer, 1)
    with collection._point_in_time(hr.Filters(metadata={"half": 1})) as moment:
        chunks_there, tokens, held = moment.counts(asked)
        assert moment.counts([]) == (chunks_there, tokens, [])
    assert chunks_there == len(there) == len(collection)
    assert tokens == sum(one.length for one in there.values())
    assert held == [sum(one.frequency(phrase) > 0 for one in there.values()) for phrase in asked]


@pytest.mark.parametrize("seed", range(25))
def test_hits_of_random_expressions(filled, seed):
    collection, there = filled
    drawn = random.Random(seed)
    asked = phrases(collection.tokenizer, seed)
    mean = sum(one.length for one in there.values()) / len(there)
    search = expression(asked, mean, drawn)
    filters = drawn.choice([None, hr.Filters(metadata={"half": 1})])
    expected = {
        id: points
        for id, one in there.items()  # noqa: A001
        if (filters is None or one.chunk.metadata["half"] == 1)
        and (points := score(one, search)) is not None
    }
    with collection._point_in_time(filters) as moment:
        hits, last = moment.keyword_hits(search, 1000)
        assert last is None
        few, cut = moment.keyword_hits(search, 5)
    assert {hit[0] for hit in hits} == expected.keys()
    for id, path, length, frequencies in hits:  # noqa: A001
        one = there[id]
        assert (path, length) == (one.chunk.path, one.length)
        assert frequencies == [one.frequency(phrase) for phrase in asked]
    scores = [expected[hit[0]] for hit in hits]
    assert scores == pytest.approx(sorted(scores, reverse=True), rel=1e-6)
    if len(expected) < 5:
        assert cut is None
    else:
        assert cut == pytest.approx(expected[few[-1][0]], rel=1e-6)


def test_vectors_are_those_of_the_embedded_index(filled):
    collection, there = filled
    with hr.Index.in_memory() as index:
        index.upsert(one.chunk for one in there.values())
        query = _engine._unit_vector([0.3, -1.0, 0.2, 0.5, 0.1, 0.9, -0.4, 0.7])
        numbers = memoryview(query).cast("f").tolist()
        expected = index.search_vector(numbers, 20)
        stored = {id: index.get(id).embedding for id in there}  # noqa: A001
    with collection._point_in_time() as moment:
        hits, last, _ = moment.vector_hits(numbers, 20)
        # The server adds in another order.
        cosines = [np.dot(np.frombuffer(unit, "f4"), numbers) for _, _, unit in hits]
        assert cosines == pytest.approx([hit.score for hit in expected], abs=1e-6)
        assert last == pytest.approx(expected[-1].score, abs=1e-6)
        for id, path, unit in hits:  # noqa: A001
            assert path == there[id].chunk.path
            assert unit == stored[id].tobytes()
        everything, end, _ = moment.vector_hits(numbers, 1000)
        with_vector = [id for id in there if stored[id] is not None]  # noqa: A001
        assert end is None
        assert {hit[0] for hit in everything} == set(with_vector)
        assert moment.vector_count() == len(with_vector)
        assert sorted(moment.all_vectors()) == sorted(stored[id].tobytes() for id in with_vector)  # noqa: A001
        asked = [*there, "none"]
        assert moment.vectors(asked) == [
            stored[id].tobytes() if stored.get(id) is not None else None
            for id in asked  # noqa: A001
        ]


def test_texts_and_paths(filled):
    collection, there = filled
    paths = {one.chunk.path for one in there.values()}
    with collection._point_in_time() as moment:
        assert sorted(moment.paths()) == sorted(paths)
        some = sorted(paths)[:3]
        assert sorted(moment.in_paths(some)) == sorted(
            (id, one.chunk.path, one.chunk.ordinal)
            for id, one in there.items()  # noqa: A001
            if one.chunk.path in some
        )
        found = moment.chunks(["none", *there])
        assert found[0] is None
        assert [chunk.to_dict() | {"embedding": None} for chunk in found[1:]] == [
            one.chunk.to_dict() | {"embedding": None} for one in there.values()
        ]
    with collection._point_in_time(hr.Filters(metadata={"half": 1})) as moment:
        assert sorted(moment.paths()) == sorted(
            {one.chunk.path for one in there.values() if one.chunk.metadata["half"]}
        )
        report = moment.report()
        assert report["shards"]["total"] == report["shards"]["successful"] > 0
        assert (report["backend"], report["approximate"], report["missing"]) == (
            "opensearch",
            False,
            [],
        )


def test_a_point_in_time_does_not_move(node, name):
    with Collection.create(node.url, name, replicas=0, shards=2) as collection:
        collection.upsert({"id": str(n), "content": "oak"} for n in range(10))
        with collection._point_in_time() as moment:
            collection.upsert([{"id": "new", "content": "oak elm"}])
            collection.delete(["1"])
            assert moment.counts([(["oak"], False), (["elm"], False)]) == (10, 20, [10, 0])
            assert moment.chunks(["new", "1"])[0] is None
        with collection._point_in_time() as moment:
            assert moment.counts([(["elm"], False)])[2] == [1]


def test_a_prefix_of_too_many_words_is_refused(node, name):
    with Collection.create(node.url, name, replicas=0, tokenizer="unicode61") as collection:
        words = " ".join(f"w{number}x" for number in range(1100))
        collection.upsert([{"id": "a", "path": "p", "content": f"oak {words}"}])
        search = {
            "idf": [1.0],
            "norm": (0.3, 0.3),
            "any": [[[0]]],
            "none": [],
            "addends": [(0, 0, 1)],
        }
        with collection._point_in_time() as moment:
            assert moment.counts([(["w"], True)])[2] == [1]
            for phrase in [(["w"], True), (["oak", "w"], True)]:
                with pytest.raises(hr.InvalidInputError, match="begins more of them") as caught:
                    moment.keyword_hits({**search, "phrases": [phrase]}, 10)
                assert caught.value.code == "unsupported_by_backend"
            for phrase, frequency in [((["w10"], True), 111), ((["w9x", "w10"], True), 1)]:
                found = moment.keyword_hits({**search, "phrases": [phrase]}, 10)
                assert found == ([("a", "p", 1102, [frequency])], None)
            with pytest.raises(hr.InvalidInputError, match="write fewer") as caught:
                moment.counts([(["w" * 81], True)])
            assert caught.value.code == "unsupported_by_backend"


def test_more_hits_than_the_server_gives_at_once(filled, monkeypatch):
    collection, _ = filled
    monkeypatch.setattr(_point_in_time, "MOST_HITS", 5)
    with collection._point_in_time() as moment:
        search = {
            "phrases": [(["oak"], False)],
            "idf": [1.0],
            "norm": (0.3, 0.09),
            "any": [[[0]]],
            "none": [],
            "addends": [(0, 0, 1)],
        }
        hits, floor = moment.keyword_hits(search, 5)
        assert (len(hits), floor is None) == (5, False)
        for ask in (
            lambda: moment.keyword_hits(search, 6),
            lambda: moment.vector_hits([1.0] * 8, 6),
        ):
            with pytest.raises(hr.InvalidInputError, match="more than 5 chunks") as raised:
                ask()
            assert raised.value.code == "unsupported_by_backend"


def test_a_state_is_forgotten_that_comes_while_another_thread_forgets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client = Client(Address("http://127.0.0.1:1", None, None, insecure_http=False), "notes", 1.0)
    forgotten: list[str] = []

    def call(_method: str, _path: str, body: dict[str, list[str]], **_: object) -> None:
        forgotten.extend(body["pit_id"])

    class Unwanted(list[str]):
        def append(self, name: str) -> None:
            other.start()
            other.join(0.2)  # the other thread must not have to wait for this one
            super().append(name)

    monkeypatch.setattr(client, "call", call)
    other = threading.Thread(target=client._forget_all, args=[Deadline(None)])
    client._unwanted = Unwanted(["one"])
    client.forget("another", Deadline(None))
    other.join()
    client.close()
    assert forgotten == ["one", "another"]
