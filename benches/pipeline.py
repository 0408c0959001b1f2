"""Time the pipeline language over stores of synthetic nodes: milliseconds per query, warm and cold.

python benches/pipeline.py [NODES ...]
"""

from __future__ import annotations

import random
import sys
import tempfile
import timeit
from pathlib import Path
from time import perf_counter

import hedgerow as hr

NOW = 1_800_000_000
DAY = 86_400
TYPES = ["episodic", "daily", "weekly", "monthly", "semantic"]
SHARES = [35, 5, 2, 1, 57]
SELECTION = "all | type:episodic | not-visited:linker,7d | sort:priority | limit:20"
BATCH = 20_000
WIDTH = 80


def make_nodes(count: int, dice: random.Random) -> list[hr.Node]:
    """Return nodes of every type. A third of them were replayed before."""
    return [
        hr.Node(
            f"{kind}/{number}",
            type=kind,
            content=f"word{dice.randrange(30_000)} word{dice.randrange(300)}",
            weight=round(dice.random(), 3),
            emotion=dice.randrange(11),
            updated_at=NOW - dice.randrange(365 * DAY),
            last_replayed=dice.choice([0, 0, NOW - dice.randrange(1, 60 * DAY)]),
            replay_interval=dice.choice([1, 3, 7, 14, 30]),
        )
        for number, kind in enumerate(dice.choices(TYPES, SHARES, k=count))
    ]


def make_edges(keys: list[str], dice: random.Random) -> list[tuple[str, str, float]]:
    """Return about four edges per node, with a few hubs.

    Half of the edges lead to a nearby node.
    """
    edges = []
    for place, key in enumerate(keys):
        for _ in range(min(int(dice.paretovariate(1.5) * 4 / 3), len(keys) // 10)):
            near = (place + dice.randrange(1, 50)) % len(keys)
            other = keys[dice.choice([near, dice.randrange(len(keys))])]
            if other != key:
                edges.append((key, other, round(1 - dice.random() * 0.9, 3)))
    return edges


def fill(store: hr.Store, count: int) -> list[str]:
    """Write the same nodes, edges and visits on every run. Return the keys."""
    dice = random.Random(7)
    nodes = make_nodes(count, dice)
    for start in range(0, count, BATCH):
        store.upsert(nodes[start : start + BATCH])
    keys = [node.key for node in nodes]
    edges = make_edges(keys, dice)
    for start in range(0, len(edges), BATCH):
        store.link_many(edges[start : start + BATCH])
    visits = [
        ("linker", key, NOW - dice.randrange(30 * DAY)) for key in keys if dice.random() < 1 / 3
    ]
    store.visit_many(visits)
    return keys


def milliseconds(store: hr.Store, pipeline: str, repeat: int) -> list[float]:
    """Return the milliseconds of `repeat` runs in ascending order."""
    parsed = hr.parse_pipeline(pipeline)
    run = lambda: store.query(parsed, now=NOW)  # noqa: E731
    return sorted(seconds * 1e3 for seconds in timeit.repeat(run, number=1, repeat=repeat))


def linked(store: hr.Store, one: str, other: str, pipeline: hr.Pipeline) -> float:
    """Return the milliseconds of linking two nodes and then running a pipeline."""
    start = perf_counter()
    store.link(one, other)
    store.query(pipeline, now=NOW)
    return (perf_counter() - start) * 1e3


def shortened(pipeline: str) -> str:
    """Return a pipeline on one line, with the middle of a long one elided."""
    return pipeline if len(pipeline) < WIDTH else f"{pipeline[:36]} … {pipeline[-40:]}"


def measure(count: int) -> None:
    """Print a line for each pipeline over a store of `count` nodes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.db"
        start = perf_counter()
        with hr.Store.open(path) as store:
            keys = fill(store, count)
        print(f"{count} nodes, made in {perf_counter() - start:.1f} s")
        store = hr.Store.open(path)
        for name, pipeline in [("nodes", "all | count"), ("edges", "degree:>0 | count")]:
            start = perf_counter()
            store.query(pipeline, now=NOW)
            print(f"  cold load of the {name:40} {(perf_counter() - start) * 1e3:10.1f} ms")
        dice = random.Random(11)
        seeds = {n: ",".join(dice.sample(keys, n)) for n in (1, 10, 100)}
        pipelines = [
            SELECTION,
            "all | count",
            "all | type:episodic | weight:>0.5 | age:<30d | count",
            "all | key:episodic/*7 | count",
            "all | sort:weight | limit:20",
            "all | not-visited:linker,7d | sort:isolation*0.7+recency(linker)*0.3 | limit:5",
            *(f"seed:{seeds[n]} | spread | limit:20" for n in seeds),
            *(f"seed:{seeds[n]} | confluence | limit:20" for n in seeds),
            "search:word7 word77,mode=bm25 | spread,max_hops=2,mix=0.3 | limit:10",
            "match:word77 | limit:10",
        ]
        for pipeline in pipelines:
            first, *_ = milliseconds(store, pipeline, 1)
            times = milliseconds(store, pipeline, 30)
            name = shortened(pipeline)
            median, last = times[len(times) // 2], times[-1]
            print(f"  {name:82} first {first:9.2f}  p50 {median:8.2f}  p97 {last:8.2f} ms")
        spread = hr.parse_pipeline(f"seed:{seeds[10]} | spread | limit:20")
        times = sorted(linked(store, *dice.sample(keys, 2), spread) for _ in range(30))
        name = "a link, and a spread from 10 seeds that sees it"
        print(f"  {name:97} p50 {times[15]:8.2f}  p97 {times[-1]:8.2f} ms")
        store.close()


def main() -> None:
    """Time the parser, then measure every size."""
    calls = 20_000
    parsing = min(timeit.repeat(lambda: hr.parse_pipeline(SELECTION), number=calls, repeat=5))
    print(f"parse_pipeline: {parsing / calls * 1e6:.2f} us")
    for count in [int(argument) for argument in sys.argv[1:]] or [13_000, 100_000]:
        measure(count)


if __name__ == "__main__":
    main()
