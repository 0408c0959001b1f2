"""Work whose result serves all who asked before it began."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class Shared(Generic[T]):
    """Does the same work once for all threads that ask for it at about the same time.

    A result is always of work that began after it was asked for: threads that ask while work is
    going on wait until it ends; then one of them does it again for all of them.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._is_working = False
        self._begun = 0
        self._done: tuple[int, Hashable, T] | None = None

    def result(self, key: Hashable, work: Callable[[], T]) -> T:
        """The result of the work that the key stands for; raises what it raises."""
        with self._changed:
            wanted = self._begun + 1
            while True:
                if self._done is not None and self._done[0] >= wanted and self._done[1] == key:
                    return self._done[2]
                if not self._is_working:
                    break
                self._changed.wait()
            self._is_working = True
            self._begun += 1
            number = self._begun
        try:
            result = work()
        except BaseException:
            self._end(None)
            raise
        self._end((number, key, result))
        return result

    def _end(self, done: tuple[int, Hashable, T] | None) -> None:
        with self._changed:
            self._is_working = False
            self._done = done
            self._changed.notify_all()
