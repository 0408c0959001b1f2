"""A process that searches or serves: python -m sessions.worker ROLE PLACE QUESTIONS [VECTORS].

ROLE is `session` (one search after the other), `batch-N` (search_many of N at a time) or `server`.
PLACE is an index file or a root. The process prints a line when it is ready. For each number of
seconds that it reads, it searches for that long and prints its counts.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from itertools import cycle, islice
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import hedgerow as hr
from hedgerow._serve.app import Access, Limits, build
from hedgerow._serve.index_routes import IndexService
from hedgerow._serve.root_routes import RootService
from hedgerow._serve.running import Address, run
from hedgerow._serve.tokens import Grant, Tokens
from hedgerow.evaluation import ReadyVectors

TOKEN = "bench" * 8


def main() -> None:
    """Play the role until standard input ends."""
    role, place, questions, *vectors = sys.argv[1:]
    texts = Path(questions).read_text(encoding="utf-8").splitlines()
    embedder = ReadyVectors(texts, np.load(vectors[0])) if vectors else None
    if Path(place).is_dir():
        # A server watches the files, as `hedgerow serve` does.
        with hr.MemoryRoot.open(place, watch=role == "server") as root:
            root.recall(texts[0])
            _play(role, root, texts, root.recall)
    else:
        with hr.Retriever(place, embedder=embedder, ranking=hr.Ranking("best")) as retriever:
            retriever.search(texts[0])
            _play(role, retriever, texts, retriever.search)


def _play(role: str, place: Any, texts: list[str], ask: Callable[[str], object]) -> None:
    if role == "server":
        _serve(place)
        return
    print("ready", flush=True)
    questions = cycle(texts)
    size = int(role.removeprefix("batch-")) if role.startswith("batch-") else 0
    for line in sys.stdin:
        end = perf_counter() + float(line)
        taken: list[float] = []
        count = 0
        while (began := perf_counter()) < end:
            if size:
                count += len(place.search_many(list(islice(questions, size))))
            else:
                ask(next(questions))
                count += 1
                taken.append(perf_counter() - began)
        print(json.dumps({"count": count, "seconds": taken}), flush=True)


def _serve(place: Any) -> None:
    service = (RootService if isinstance(place, hr.MemoryRoot) else IndexService)(place)
    address = Address("127.0.0.1", 0)
    listening = address.bound()
    app = build(service, Access(Tokens({TOKEN: Grant("write")}), address.names), Limits(running=16))
    run(app, address, listening, lambda: print(address.url(listening), flush=True))


if __name__ == "__main__":
    main()
