"""How long the query language takes: microseconds a query, the best of several rounds.

python benches/query.py [ROUNDS]
"""

from __future__ import annotations

import sys
import timeit

import hedgerow as hr

QUESTION = "What is the best way to deploy a Kubernetes cluster on bare metal servers?"
QUERIES = [
    QUESTION,
    "winter hedgehog NOT urban",
    '"hard pruning" AND kube*',
    "When did Caroline's TV show air on 2026-04-18?",
    "Hoeveel boeken heb ik in maart gekocht?",
] * 2000
ALIASES = hr.AliasTable({"kubernetes": ["k8s", "container orchestration"], "tv": ["television"]})
ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 7


def best(statement: object, calls: int) -> float:
    """Microseconds a call."""
    return min(timeit.repeat(statement, number=calls, repeat=ROUNDS)) / calls * 1e6  # type: ignore[arg-type]


def main() -> None:
    """Print one line for each function."""
    one_by_one = {
        "normalise": lambda: hr.normalise(QUESTION),
        "parse_query": lambda: hr.parse_query(QUESTION),
        "compile_fts": lambda: hr.compile_fts(QUESTION),
        "compile_fts, aliases": lambda: hr.compile_fts(QUESTION, ALIASES),
        "compile_match": lambda: hr.compile_match(QUESTION),
        "compile_match, extended": lambda: hr.compile_match(QUESTION, matching="extended"),
        "explain_query": lambda: hr.explain_query(QUESTION),
    }
    for name, call in one_by_one.items():
        print(f"{name:32}{best(call, 5000):8.2f} us")
    for target in ("fts", "match"):
        name = f"compile_many, target={target!r}"
        microseconds = best(lambda target=target: hr.compile_many(QUERIES, target=target), 1)
        print(f"{name:32}{microseconds / len(QUERIES):8.2f} us a query")


if __name__ == "__main__":
    main()
