"""The command line of the suite."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from .bench import LARGE, PROCESSES, Bench
from .charts import draw
from .contenders.ours import Hedgerow
from .corpus import Corpus, made_up, real
from .machine import machine
from .publish import publish
from .report import as_json, lines, tables
from .results import Row
from .rows import ALONE, EACH, Part, parts
from .timing import count_processor_time

_SIZES = [1_000, 10_000, 100_000, 1_000_000]
_FEWEST = 200


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and write the requested files. Return 1 if a contender failed."""
    parser = _parser()
    asked = parser.parse_args(arguments)
    if asked.publish and asked.only:
        parser.error("--publish wants all lines: leave --only out")
    if asked.publish and asked.processor_time:
        parser.error("--publish wants elapsed time: leave --processor-time out")
    if asked.processor_time:
        count_processor_time()
    rows: list[Row] = []
    failures: list[str] = []
    for row in _measured(asked, failures):
        rows.append(row)
        print(*lines(row), "", sep="\n", flush=True)
    where = machine()
    if asked.json:
        asked.json.write_text(as_json(rows, where), encoding="utf-8")
    if asked.markdown:
        asked.markdown.write_text(f"{tables(rows, where)}\n", encoding="utf-8")
    if asked.charts:
        draw(rows, asked.charts)
    if asked.publish:
        print("written:", *publish(rows, where), file=sys.stderr)
    for failure in failures:
        print(failure, file=sys.stderr)
    return 1 if failures else 0


def _measured(asked: argparse.Namespace, failures: list[str]) -> Iterator[Row]:
    for name, alone in ALONE.items():
        if not asked.only or name in asked.only:
            yield from alone(asked.budget)
    if asked.only and EACH.keys().isdisjoint(asked.only):
        return
    for corpus in _corpora(asked):
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            bench = Bench(
                corpus,
                Path(folder),
                asked.budget,
                asked.data,
                _tell,
                asked.processes,
                failures=failures,
            )
            yield from _over(bench, parts(asked.only, len(corpus)))


def _over(bench: Bench, chosen: Sequence[Part]) -> Iterator[Row]:
    """Run the parts in order. Parts that need the memory of the contenders run last."""
    bench.make(None if any(part.peers for part in chosen) else [Hedgerow])
    for part in (part for part in chosen if not part.apart):
        yield from part.measure(bench)
    bench.release()
    for part in (part for part in chosen if part.apart):
        yield from part.measure(bench)
    bench.close()


def _corpora(asked: argparse.Namespace) -> Iterator[Corpus]:
    """Yield the corpora one at a time, so that only one is in memory."""
    if asked.data:
        yield real(asked.data)
    for size in asked.sizes:
        _tell(f"making up {size:,} chunks")
        yield made_up(size)


def _tell(what: str) -> None:
    print(f"... {what}", file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    *some, last = (name for name, part in EACH.items() if part.least)
    late = f"{', '.join(some)} and {last}"
    parser = argparse.ArgumentParser(
        "compare.py", description="hedgerow and its peers (benches/README.md)"
    )
    parser.add_argument(
        "--sizes", type=_size, nargs="*", default=_SIZES, metavar="N", help="chunks to make up"
    )
    parser.add_argument("--data", type=_folder, metavar="DIR", help="real texts to search as well")
    parser.add_argument(
        "--budget", type=float, default=6, metavar="SECONDS", help="for one line (default: 6)"
    )
    parser.add_argument(
        "--only",
        nargs="+",
        default=[],
        choices=[*ALONE, *EACH],
        metavar="NAME",
        help=f"measure these lines alone: {', '.join([*ALONE, *EACH])} (default: all; {late} "
        f"from {LARGE:,} chunks on)",
    )
    parser.add_argument(
        "--processes",
        type=_positive,
        default=PROCESSES,
        metavar="N",
        help="processes with one write each, for at most 20 times --budget (default: %(default)s)",
    )
    parser.add_argument(
        "--processor-time",
        action="store_true",
        help="count what this process computes, and not what it waits for: on a busy machine",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the tables")
    parser.add_argument("--charts", type=Path, metavar="DIR", help="draw the charts")
    parser.add_argument(
        "--publish", action="store_true", help="write figures and charts into the repository"
    )
    return parser


def _size(text: str) -> int:
    size = int(text)
    if size < _FEWEST:
        raise argparse.ArgumentTypeError(f"{size} is too few: at least {_FEWEST}")
    return size


def _positive(text: str) -> int:
    count = int(text)
    if count < 1:
        raise argparse.ArgumentTypeError(f"{count} is too few: at least 1")
    return count


def _folder(text: str) -> Path:
    folder = Path(text)
    needed = ["corpus.jsonl.gz", "queries.jsonl.gz", "emb_docs.npy", "emb_queries.npy"]
    missing = [name for name in needed if not (folder / name).is_file()]
    if missing:
        raise argparse.ArgumentTypeError(f"{folder} has no {', '.join(missing)}")
    return folder
