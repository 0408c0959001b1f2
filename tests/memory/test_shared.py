"""Work that is shared by those who ask for it at the same time."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from hedgerow.memory.freshness import Shared
from waiting import LONGEST, until


class Work:
    """Counts how often it was begun, and goes on when it is told to."""

    def __init__(self) -> None:
        self.begun = 0
        self.go_on = threading.Semaphore(0)

    def __call__(self) -> int:
        self.begun += 1
        number = self.begun
        assert self.go_on.acquire(timeout=LONGEST)
        return number


def test_who_asks_meanwhile_shares_the_next_one() -> None:
    shared: Shared[int] = Shared()
    work = Work()
    with ThreadPoolExecutor(9) as pool:
        first = pool.submit(shared.result, "a", work)
        until(lambda: work.begun == 1, "the first")
        others = [pool.submit(shared.result, "a", work) for _ in range(8)]
        until(lambda: len(shared._changed._waiters) == 8, "the others")
        work.go_on.release()
        assert first.result(LONGEST) == 1
        until(lambda: work.begun == 2, "the second")
        # This one asks after the second began.
        last = pool.submit(shared.result, "a", work)
        until(lambda: len(shared._changed._waiters) == 8, "the last")
        work.go_on.release()
        assert [other.result(LONGEST) for other in others] == [2] * 8
        work.go_on.release()
        assert last.result(LONGEST) == 3
    assert work.begun == 3


def test_results_of_others_and_errors_are_not_shared() -> None:
    shared: Shared[int] = Shared()
    assert shared.result("a", lambda: 1) == 1
    assert shared.result("b", lambda: 2) == 2
    with pytest.raises(ZeroDivisionError):
        shared.result("a", lambda: 1 // 0)
    work = Work()
    failing = Work()

    def fail() -> int:
        failing()
        raise OSError("gone")

    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(shared.result, "a", fail)
        until(lambda: failing.begun == 1, "the one that fails")
        others = [pool.submit(shared.result, key, work) for key in ("a", "b")]
        until(lambda: len(shared._changed._waiters) == 2, "the others")
        failing.go_on.release()
        work.go_on.release(2)
        with pytest.raises(OSError, match="gone"):
            first.result(LONGEST)
        assert sorted(other.result(LONGEST) for other in others) == [1, 2]
