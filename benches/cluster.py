"""Compare a collection in OpenSearch with the embedded index: latency, throughput and CPU time.

python benches/cluster.py [--data DIR] [--sizes N ...] [--shards N ...] [--queries N]

It starts a real server from jars, which Maven downloads on the first run, and stops it afterwards.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

for library in ("MKL", "OMP", "OPENBLAS"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")
sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))

import hedgerow as hr  # noqa: E402
import opensearch_server  # noqa: E402
from hedgerow._extras import imports_of  # noqa: E402
from hedgerow.evaluation import ReadyVectors  # noqa: E402
from hedgerow.typing import Mode, VectorSearch  # noqa: E402
from scaling import measures, tables  # noqa: E402
from scaling.corpora import Corpus, grown, without_texts  # noqa: E402
from scaling.figures import counted  # noqa: E402
from suite.machine import machine  # noqa: E402

if TYPE_CHECKING:
    from hedgerow.opensearch import Collection

EMBEDDED = "embedded index"
_STARTED = monotonic()
_FEWEST = 200
_HEAP = "2g"
_TIMEOUT = 300.0
_WRITERS = (1, 2)
_THREADS = (1, 2, 4)
_FAST: dict[str, dict[str, VectorSearch]] = {
    "fast vectors": {"keywords": "exact"},
    "fast keywords": {"vectors": "exact"},
    "both fast": {},
}
_MODES: tuple[Mode, ...] = ("bm25", "hybrid")
_NOTHING = measures.Latency(measures.Times(0, 0, 0), {})
_FILES = ("corpus.jsonl.gz", "queries.jsonl.gz", "qrels.tsv.gz", "emb_docs.npy", "emb_queries.npy")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print. Return 2 if the tools that start the server are missing."""
    asked = _parser().parse_args(arguments)
    if missing := opensearch_server.missing_tools():
        _tell(
            f"benches/cluster.py needs {' and '.join(missing)}; on Debian and Ubuntu: "
            "sudo apt install maven default-jre-headless"
        )
        return 2
    try:
        with imports_of("opensearch", needed_by="benches/cluster.py"):
            import opensearchpy  # noqa: F401, PLC0415 - says early that it is missing
    except hr.MissingExtraError as error:
        _tell(str(error))
        return 2
    bench = Bench(asked.shards, _tell)
    _tell("starting the server")
    try:
        with opensearch_server.cluster(heap=_HEAP) as (node,):
            for size in asked.sizes:
                _tell(f"making {size:,} chunks")
                if asked.data:
                    corpus = grown(asked.data, size, asked.queries)
                else:
                    corpus = without_texts(size, asked.queries)
                bench.measure(corpus, node)
    finally:
        bench.show()  # also after Ctrl-C: print the results so far
    return 0


class Bench:
    """Measures corpora one after the other, and shows all figures at the end."""

    def __init__(self, shards: Sequence[int], tell: Callable[[str], None]) -> None:
        self._shards = shards
        self._tell = tell
        self._rows: list[tables.Row] = []
        self._quality: dict[tuple[int, str], measures.Quality] = {}
        self._load: list[float] = []

    def measure(self, corpus: Corpus, node: opensearch_server.Node) -> None:
        """Measure the embedded index, and a collection for each number of shards."""
        count = len(corpus.chunks)
        embedder = ReadyVectors(corpus.questions, corpus.vectors)
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            path = Path(folder) / "index.db"
            with hr.Index.open(path) as index:
                self._tell(f"{count:,} chunks: filling the embedded index")
                written = measures.stored(index, corpus)
                size = index.stats().size_bytes / count
                matches = measures.matches(index, corpus.questions)
                places = {EMBEDDED: hr.Retriever(index, embedder=embedder)}
                rows = {EMBEDDED: tables.Row(count, EMBEDDED, _NOTHING, {}, written, size)}
                rows.update(self._collections(corpus, node, places, embedder))
                found = measures.latencies(places, node, corpus.questions, self._tell)
                for name, retriever in places.items():
                    row = rows[name]
                    row.latency = found[name]
                    self._complete(row, retriever, node, matches)
                if hasattr(os, "getloadavg"):  # not on Windows
                    self._load.append(os.getloadavg()[0])
                self._compare(corpus, places[_name(self._shards[0])], node, embedder)
                for name, retriever in places.items():
                    if name != EMBEDDED:
                        retriever.index.close()

    def _compare(
        self,
        corpus: Corpus,
        exact: hr.Retriever,
        node: opensearch_server.Node,
        embedder: ReadyVectors,
    ) -> None:
        """Compare the ranking of each approximate search with that of the exact search."""
        name = _collection_name(corpus, self._shards[0], fast=True)
        for way, options in _FAST.items():
            with _opened(node.url, name, options) as collection:
                retriever = hr.Retriever(collection, embedder=embedder, on_leg_failure="raise")
                found = measures.quality(exact, retriever, corpus, self._tell)
            self._quality[len(corpus.chunks), way] = found

    def _complete(
        self,
        row: tables.Row,
        retriever: hr.Retriever,
        node: opensearch_server.Node,
        matches: dict[str, int],
    ) -> None:
        """Measure throughput, and the processor time of a server."""
        self._tell(f"{row.chunks:,} chunks, {row.place}: throughput and processor time")
        for threads in _THREADS:
            row.pace[threads] = measures.pace(retriever, list(matches), threads)
        if row.place != EMBEDDED:
            for mode in _MODES:
                row.costs[mode] = measures.costs(retriever, node, matches, row.chunks, mode)
        self._rows.append(row)
        self._tell(f"{row.chunks:,} chunks, {row.place}: {tables.summary(row)}")

    def _collections(
        self,
        corpus: Corpus,
        node: opensearch_server.Node,
        places: dict[str, hr.Retriever],
        embedder: ReadyVectors,
    ) -> dict[str, tables.Row]:
        """Fill a collection for each number of shards, and one with fast vectors."""
        rows = {}
        count = len(corpus.chunks)
        kinds = [(shards, False) for shards in self._shards] + [(self._shards[0], True)]
        for shards, fast in kinds:
            name = _name(shards, fast=fast)
            self._tell(f"{count:,} chunks: filling a collection of {name}")
            collection = _collection(node.url, corpus, shards, fast=fast)
            written = measures.filled(collection, corpus, node, _WRITERS, self._tell)
            self._tell("merging its segments")
            collection.optimize()
            size = collection.stats().size_bytes / count
            rows[name] = tables.Row(count, name, _NOTHING, {}, written, size)
            places[name] = hr.Retriever(collection, embedder=embedder, on_leg_failure="raise")
        return rows

    def show(self) -> None:
        """Print the results. Does nothing without results."""
        if not self._rows:
            return
        where = machine()
        del where["peers"]
        for key, value in where.items():
            print(f"- {key}: {value}")
        loads = ", ".join(f"{load:.1f}" for load in self._load)
        print(f"- load of the machine after each size, this bench included: {loads}")
        print("\nHybrid searches, top 10, one at a time:\n")
        print(tables.latency_table(self._rows))
        print("\nRequests:\n")
        print(tables.request_table(self._rows))
        print("\nThroughput:\n")
        print(tables.throughput_table(self._rows))
        print("\nProcessor time of the server, a search:\n")
        print(tables.cost_table(self._rows))
        print("\nFast searches, hybrid:\n")
        print(tables.quality_table(self._quality))


def _collection(url: str, corpus: Corpus, shards: int, *, fast: bool) -> Collection:
    from hedgerow.opensearch import Collection  # noqa: PLC0415 - needs the extra

    way: VectorSearch = "fast" if fast else "exact"
    return Collection.create(
        url,
        _collection_name(corpus, shards, fast=fast),
        dimensions=corpus.dimensions,
        vectors=way,
        keywords=way,
        shards=shards,
        replicas=0,
        timeout=_TIMEOUT,
    )


def _opened(url: str, name: str, options: dict[str, VectorSearch]) -> Collection:
    from hedgerow.opensearch import Collection  # noqa: PLC0415 - needs the extra

    return Collection.open(url, name, timeout=_TIMEOUT, **options)


def _collection_name(corpus: Corpus, shards: int, *, fast: bool) -> str:
    return f"bench-{len(corpus.chunks)}-{shards}-{'fast' if fast else 'exact'}"


def _name(shards: int, *, fast: bool = False) -> str:
    return counted(shards, "shard") + (", fast" if fast else "")


def _tell(what: str) -> None:
    print(f"{monotonic() - _STARTED:6.0f} s  {what}", file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "cluster.py", description="collections in OpenSearch (benches/README.md)"
    )
    parser.add_argument(
        "--sizes",
        type=_at_least(_FEWEST),
        nargs="+",
        default=[5_000, 20_000],
        metavar="N",
        help="chunks to search (default: 5000 20000)",
    )
    parser.add_argument(
        "--shards",
        type=_at_least(1),
        nargs="+",
        default=[1, 2, 4],
        metavar="N",
        help="shards of the collections (default: 1 2 4)",
    )
    parser.add_argument(
        "--queries",
        type=_at_least(20),
        default=100,
        metavar="N",
        help="questions to ask (default: 100)",
    )
    parser.add_argument(
        "--data",
        type=_folder,
        metavar="DIR",
        help="real texts with judgements, as benches/quality.py takes them (default: made up)",
    )
    return parser


def _at_least(least: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        try:
            found = int(text)
        except ValueError:
            found = None
        if found is None or found < least:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least {least}")
        return found

    return number


def _folder(text: str) -> Path:
    folder = Path(text)
    missing = [name for name in _FILES if not (folder / name).is_file()]
    if missing:
        raise argparse.ArgumentTypeError(f"{folder} has no {', '.join(missing)}")
    return folder


if __name__ == "__main__":
    sys.exit(main())
