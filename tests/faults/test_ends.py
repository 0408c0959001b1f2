"""The interpreter exits while daemon threads are in the engine."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from faults import Rounds
from waiting import LONGEST

ENDS = 14
"""The number of interpreter exits per round."""

PROGRAM = """
import sys, threading, time, warnings
warnings.simplefilter("ignore")
import hedgerow as hr

index = hr.Index.in_memory()
index.upsert(
    hr.Chunk(f"c{n}", "p", "winter garden été " * 5, embedding=[n % 7 + 1.0, 1.0]) for n in range(300)
)
retriever = hr.Retriever(index)

def search():
    index.search_bm25("winter garden")
    index.search_vector([1.0, 2.0])
    index.stats()

def retrieve():
    retriever.search("what is a winter garden").trace.attempts

def fail():
    try:
        index.search_bm25("winter", 0)
    except hr.InvalidInputError as error:
        assert error.code == "invalid_limit"
    try:
        hr.parse_pipeline("nonsense:")
    except hr.PipelineError as error:
        assert error.stage == 0

work = {"search": search, "retrieve": retrieve, "fail": fail}[sys.argv[1]]
work()

def repeat():
    while True:
        work()

for _ in range(6):
    threading.Thread(target=repeat, daemon=True).start()
time.sleep(float(sys.argv[2]))
"""


def end(work: str, seconds: float) -> tuple[int, str]:
    command = [sys.executable, "-c", PROGRAM, work, str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LONGEST)
    return done.returncode, done.stderr


@pytest.mark.parametrize("work", ["search", "retrieve", "fail"])
def test_threads_that_are_left_behind_do_no_harm(work: str, rounds: Rounds) -> None:
    with ThreadPoolExecutor(2) as pool:
        for chance in rounds.at_least(1):
            waits = [chance.uniform(0, 0.1) for _ in range(ENDS)]
            outcomes = Counter(pool.map(end, [work] * ENDS, waits))
            assert outcomes == {(0, ""): ENDS}
