"""The steps of a search as lines of text, for `--explain`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .output import plural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hedgerow import Trace


def ways(trace: Trace) -> str:
    """Name the profile, or the options that replace it."""
    ways = [f"mode {trace.mode}"]
    if trace.profile is not None:
        ways.append(f"profile {trace.profile}")
    ways += [f"matching {trace.matching}", f"fusion {trace.fusion}"]
    ways.append("with neighbors" if trace.neighbors else "without neighbors")
    if trace.speakers:
        ways.append("with speakers")
    if trace.dates:
        ways.append("with dates")
    if trace.recency is not None:
        ways.append(f"halved every {trace.recency}")
    ways.append("reweighted" if trace.reweight else "not reweighted")
    if trace.backend is not None:
        ways.append(f"on {trace.backend}")
    if trace.shards is not None:
        ways.append(f"{trace.shards['successful']} of {trace.shards['total']} shards")
    if trace.approximate:
        ways.append("approximate")
    return ", ".join(ways)


def steps(trace: Trace) -> Iterator[tuple[str, str]]:
    """Each step with its time and its result."""
    timed: set[str] = set()
    for name, done in _done(trace):
        # The rungs of the ladder have one time together.
        time = " " * 11 if name in timed else f"{trace.timings[name]:8.2f} ms"
        timed.add(name)
        yield f"  {name:<9}{time}  ", done


def _done(trace: Trace) -> list[tuple[str, str]]:
    steps = []
    if trace.embedder_used:
        steps.append(("embed", "the query"))
    if trace.attempts:
        hits = plural(trace.attempts[0].hits, "hit")
        steps.append(("bm25", f"{hits} for {trace.match_query or 'nothing: no word is left'}"))
    steps.extend(
        ("ladder", f"{attempt.strategy} {attempt.query}: {plural(attempt.hits, 'hit')}")
        for attempt in trace.attempts[1:]
    )
    if trace.embedder_used:
        steps.append(("vector", plural(trace.vector_count, "hit")))
    if trace.sparse_count is not None:
        steps.append(("sparse", plural(trace.sparse_count, "hit")))
    steps.append(("fuse", f"{plural(trace.fused_count, 'hit')} in one ranking"))
    if trace.reranked:
        steps.append(("rerank", f"by {trace.rerank_provider}"))
    elif trace.rerank_skipped_reason == "unanimity":
        steps.append(("rerank", "left out: keywords and meaning agree on the best"))
    return steps
