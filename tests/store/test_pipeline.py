"""The shared cases of the pipeline language, and details that only Python shows."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import hedgerow as hr
from spec_fixtures import jsonl

CASES = jsonl("pipeline/cases")
NODE_FIELDS = {
    "type": "type",
    "category": "category",
    "weight": "weight",
    "emotion": "emotion",
    "provenance": "provenance",
    "content": "content",
    "created": "created_at",
    "last_replayed": "last_replayed",
    "interval_days": "replay_interval",
    "vec": "embedding",
}


def store_of(case: dict[str, Any]) -> hr.Store:
    store = hr.Store.in_memory()
    nodes = [
        hr.Node(
            given["key"],
            updated_at=given.get("timestamp", case["now"]),
            **{name: given[key] for key, name in NODE_FIELDS.items() if key in given},
        )
        for given in case["nodes"]
    ]
    store.upsert(nodes)
    for edge in case["edges"]:
        store.link(edge["a"], edge["b"], edge["strength"])
    for visit in case["visits"]:
        outcome = visit.get("outcome", "processed")
        store.visit(visit["agent"], visit["key"], visit["ts"], outcome)
    store.delete([given["key"] for given in case["nodes"] if given.get("deleted")])
    return store


def answer(case: dict[str, Any]) -> dict[str, Any]:
    found = case.get("search")
    try:
        result = store_of(case).query(
            case["pipeline"],
            now=case["now"],
            terms=case.get("terms"),
            legs=found and (lambda query, leg: found.get(query, {}).get(leg, [])),
        )
    except hr.PipelineError as error:
        place = {"kind": error.kind, "stage": error.stage, "start": error.start, "end": error.end}
        return {"error": place | ({"suggestion": error.suggestion} if error.suggestion else {})}
    if result.count is not None:
        return {"count": result.count}
    if result.rows is not None:
        return {"columns": result.columns, "rows": result.rows}
    pairs = {"pairs": [list(pair) for pair in result.pairs]} if result.pairs else {}
    return {"keys": result.keys, "scores": result.scores} | pairs


def flat(value: Any) -> list[Any]:
    """Return every leaf with its position, so that numbers can be compared with a tolerance."""
    if isinstance(value, dict):
        return [leaf for key in sorted(value) for leaf in [key, *flat(value[key])]]
    if isinstance(value, list):
        return [len(value), *(leaf for item in value for leaf in flat(item))]
    return [value]


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_case(case):
    got, wanted = flat(answer(case)), flat(case["expected"])
    assert len(got) == len(wanted), got
    for ours, theirs in zip(got, wanted, strict=True):
        if isinstance(theirs, float):
            assert ours == pytest.approx(theirs, abs=case["tol"])
        else:
            assert ours == theirs


def test_the_message_shows_the_place():
    with pytest.raises(hr.PipelineError) as raised:
        hr.parse_pipeline("all | typ:episodic")
    error = raised.value
    assert str(error) == (
        'there is no stage "typ"; did you mean "type"?\n  all | typ:episodic\n        ^^^'
    )
    assert error.code == "invalid_pipeline"
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.kind, again.start) == (str(error), "UnknownStage", 6)
    assert (again.stage, again.end, again.suggestion) == (1, 9, "type")


@pytest.mark.parametrize(
    ("text", "message", "kind", "suggestion"),
    [
        (
            "all | sort:weight dsc",
            'the order must be asc or desc; did you mean "desc"?\n'
            "  all | sort:weight dsc\n"
            "                    ^^^",
            "BadSort",
            "desc",
        ),
        (
            "all | sort:weight backwards",
            "the order must be asc or desc\n"
            "  all | sort:weight backwards\n"
            "                    ^^^^^^^^^",
            "BadSort",
            None,
        ),
        (
            "all | key:x[z-a]*",
            "the range z-a of this pattern is reversed; write a-z\n"
            "  all | key:x[z-a]*\n"
            "            ^^^^^^^",
            "BadGlob",
            None,
        ),
    ],
)
def test_a_wrong_order_or_pattern(text, message, kind, suggestion):
    with pytest.raises(hr.PipelineError) as raised:
        hr.parse_pipeline(text)
    error = raised.value
    assert (str(error), error.kind, error.suggestion) == (message, kind, suggestion)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("sort weight|limit  3", "sort:weight | limit:3"),
        ("type:session", "type:episodic"),
        ('match:btree cache , "a b"', 'match:btree,cache,"a b"'),
        ("all | weight:=.5 | age:<604800", "all | weight:0.5 | age:<1w"),
        ("seed:a^1.0,b^.5 | spread,max_hops=3,mix=1", "seed:a,b^0.5 | spread"),
        ("all | sort:degree+weight*.5 desc", "all | sort:degree+weight*0.5"),
        (["all", "!key:a|!key:b"], "all | !key:a | !key:b"),
    ],
)
def test_a_pipeline_has_one_canonical_form(text, canonical):
    pipeline = hr.parse_pipeline(text)
    assert pipeline.to_string() == str(pipeline) == canonical
    assert hr.parse_pipeline(canonical) == pipeline
    assert pickle.loads(pickle.dumps(pipeline)) == pipeline
    assert repr(pipeline) == f"parse_pipeline({canonical!r})"


def test_terms_become_a_generator():
    pipeline = hr.parse_pipeline("spread", terms=["btree", "lock ordering"])
    assert pipeline.to_string() == 'match:btree,"lock ordering" | spread'
    with pytest.raises(hr.InvalidInputError) as raised:
        hr.Store.in_memory().query(pipeline, terms=["x"])
    assert raised.value.code == "incompatible_options"


@pytest.mark.parametrize(
    ("text", "kind", "span"),
    [
        (" \n", "EmptyPipeline", (0, 2)),
        ("all | " + "x" * 4096, "TooLong", (0, 4102)),
        ("all | type:episodc", "UnknownValue", (11, 18)),
        ("all | select:kee", "UnknownField", (13, 16)),
        ("count | limit:1", "NotTerminal", (0, 5)),
        ("all | spread:3", "BadSyntax", (12, 14)),
        ("é | all", "BadSyntax", (0, 1)),
        ("all | !!type:daily", "NotNegatable", (6, 18)),
    ],
)
def test_more_errors_and_their_places(text, kind, span):
    with pytest.raises(hr.PipelineError) as raised:
        hr.parse_pipeline(text)
    assert (raised.value.kind, (raised.value.start, raised.value.end)) == (kind, span)


def notes() -> hr.Store:
    store = hr.Store.in_memory()
    store.upsert(
        [
            hr.Node("btree", content="a btree node cache", weight=0.5, updated_at=100),
            hr.Node("log", type="episodic", content="the journal replays", updated_at=200),
            hr.Node("lock", content="restarting a transaction", weight=0.9, updated_at=300),
        ]
    )
    store.link("btree", "lock", 0.5)
    return store


def test_the_store_searches_by_words_and_says_what_it_lacks():
    store = notes()
    result = store.query('search:"cache of a btree",mode=bm25')
    assert (result.keys, result.warnings) == (["btree"], [])
    assert result.scores == [pytest.approx(1 / 61)]
    hybrid = store.query("all | weight:<0.8 | rank:transaction journal,mode=hybrid")
    assert hybrid.keys == ["log"]
    assert hybrid.warnings == ["search: mode=hybrid has no embedder and searches by words alone"]
    nothing = store.query("search:cache,mode=semantic")
    assert nothing.keys == []
    assert len(nothing.warnings) == 1
    # Chunks that are not nodes are not found, and do not count for k.
    store.index.upsert([hr.Chunk(f"c{n}", "btree cache", "btree cache") for n in range(9)])
    assert store.query("search:btree,k=1,mode=bm25").keys == ["btree"]


def test_legs_are_asked_once_and_may_fail():
    asked = []

    def legs(query: str, leg: str) -> list[str]:
        asked.append((query, leg))
        return ["lock", "gone", "btree"] if leg == "bm25" else ["btree"]

    store = notes()
    result = store.query("search:x | rank:x,mode=bm25", legs=legs)
    assert asked == [("x", "bm25"), ("x", "semantic")]
    assert result.keys == ["lock", "btree"]
    with pytest.raises(ZeroDivisionError):
        store.query("search:x", legs=lambda _query, _leg: 1 / 0)
    with pytest.raises(hr.InvalidInputError) as raised:
        store.query("search:x", legs=lambda _query, _leg: "lock")
    assert raised.value.code == "invalid_id"


def test_content_is_matched_word_for_word():
    store = notes()
    assert store.query("match:restarting").keys == ["lock"]
    assert store.query("match:restart").keys == [], "a stem is not the word"
    assert store.query('match:"btree node"').keys == ["btree"]
    assert store.query('match:"node btree"').keys == []


def test_what_is_missing_is_a_warning():
    store = notes()
    for pipeline, missing in [
        ("seed:btree,nobody", "seed: there is no node"),
        ("neighbors:nobody", "neighbors: there is no node"),
        ("community:7", "community: there is no community 7"),
        ("community:@nobody", "community: there is no node"),
        ("interference-pairs", "interference-pairs: no node has a vector"),
        ("seed:btree | manifold", "manifold: a line takes two seeds"),
    ]:
        [warning] = store.query(pipeline).warnings
        assert warning.startswith(missing)


def test_explain_says_what_each_stage_did():
    result = notes().query("all | type:semantic | sort:weight | limit:1", explain=True)
    seen = [(s.name, s.rows_in, s.rows_out, s.candidates) for s in result.stages]
    assert seen == [
        ("all", 0, 3, 3),
        ("type:semantic", 3, 2, 3),
        ("sort:weight", 2, 2, 2),
        ("limit:1", 2, 1, 2),
    ]
    assert all(stage.ms >= 0 for stage in result.stages)
    assert notes().query("all").stages == []


def test_results_pickle_compare_and_print():
    store = notes()
    for pipeline in ["all", "all | count", "all | select:key,weight,degree", "seed:nobody"]:
        result = store.query(pipeline, explain=True)
        assert pickle.loads(pickle.dumps(result)) == result
        assert store.query(pipeline, explain=True) == result
    result = store.query("all")
    assert repr(result) == "QueryResult(keys=['btree', 'lock', 'log'])"
    assert len(result) == 3
    rows = store.query("key:lock | select:key,weight,degree,timestamp").rows
    assert rows == [["lock", 0.9, 1, 300]]


class TestWithin:
    @pytest.fixture
    def store(self) -> hr.Store:
        """Four nodes in a chain, a to d."""
        store = hr.Store.in_memory()
        store.upsert([hr.Node(key) for key in "abcd"])
        for one, other in ("ab", "bc", "cd"):
            store.link(one, other)
        return store

    @pytest.mark.parametrize(
        ("pipeline", "within", "expected"),
        [
            ("all", "bd", ["b", "d"]),
            ("all", "", []),
            ("all | limit:1", "d", ["d"]),
            ("seed:a,b,x", "b", ["b"]),
            ("neighbors:b", "bc", ["c"]),
            ("neighbors:b", "c", []),
            ("seed:a | spread,max_hops=1", "ac", ["a"]),
        ],
    )
    def test_other_nodes_are_left_out(
        self, store: hr.Store, pipeline: str, within: str, expected: list[str]
    ) -> None:
        assert store.query(pipeline, within=list(within)).keys == expected

    @pytest.mark.parametrize(
        "pipeline",
        [
            "seed:a | spread",
            "all | degree:>0",
            "all | sort:cc | limit:2",
            "all | community:@a",
            "all | select:key,degree",
            "match:c",
            "all | sort:priority(spectral)",
            "seed:a,d | confluence",
        ],
    )
    def test_the_result_is_that_of_a_store_without_the_others(
        self, store: hr.Store, pipeline: str
    ) -> None:
        alone = hr.Store.in_memory()
        alone.upsert([hr.Node("a"), hr.Node("c"), hr.Node("d")])
        alone.link("c", "d")
        expected = alone.query(pipeline, now=1_800_000_000)
        assert store.query(pipeline, within=["a", "c", "d"], now=1_800_000_000) == expected

    def test_how_many_others_there_are_is_not_told(self, store: hr.Store) -> None:
        found = store.query("all | sort:weight", within=["a"], explain=True)
        assert [(one.candidates, one.rows_out) for one in found.stages] == [(1, 1), (1, 1)]

    def test_a_hidden_node_is_like_none(self, store: hr.Store) -> None:
        hidden = store.query("seed:b", within=["a"]).warnings
        assert hidden == [store.query("seed:x").warnings[0].replace("x", "b")]

    def test_keys_are_texts(self, store: hr.Store) -> None:
        with pytest.raises(hr.InvalidInputError, match=r"within\[1\]"):
            store.query("all", within=["a", 1])  # type: ignore[list-item]


def test_a_pipeline_with_long_terms_pickles():
    pipeline = hr.parse_pipeline("limit:1", terms=["x" * 5000])
    assert len(pipeline.to_string()) > 5000
    assert pickle.loads(pickle.dumps(pipeline)) == pipeline
    with pytest.raises(hr.PipelineError, match="and the limit is 4096; shorten it"):
        hr.parse_pipeline(pipeline.to_string())
