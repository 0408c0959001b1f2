"""Searches that are asked for at about the same time, done as one batch."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")

_MOST = 64
"""Searches of one batch: those that wait behind it wait for all of it."""


@dataclass(slots=True)
class _Asked(Generic[T]):
    query: str
    found: list[T | BaseException] = field(default_factory=list)
    """One, once it is found."""


class Batching(Generic[T]):
    """Hands queries with the same options on together.

    A batch reads each vector once for all of its queries, so that many sessions are answered faster
    together than each by itself. Nobody waits for others to come: a query that finds none of its
    options at work is a batch of its own, and those that come meanwhile are the next.
    """

    def __init__(self, search: Callable[[str, list[str]], Sequence[T | Exception]]) -> None:
        """`search` is called with options and queries, and gives for each its result or an error."""
        self._search = search
        self._changed = threading.Condition()
        self._working: set[str] = set()
        self._waiting: defaultdict[str, list[_Asked[T]]] = defaultdict(list)

    def result(self, options: str, query: str) -> T:
        """The result of a query; raises its error. Queries with equal `options` are done together."""
        asked: _Asked[T] = _Asked(query)
        with self._changed:
            self._waiting[options].append(asked)
        while batch := self._turn(options, asked):
            try:
                self._do(options, batch)
            finally:
                with self._changed:
                    self._working.discard(options)
                    self._changed.notify_all()
        [found] = asked.found
        if isinstance(found, BaseException):
            raise found
        return found

    def _turn(self, options: str, asked: _Asked[T]) -> list[_Asked[T]]:
        """Wait until what was asked is found, or it is this thread's turn to do the next batch."""
        with self._changed:
            while not asked.found:
                if options not in self._working:
                    self._working.add(options)
                    waiting = self._waiting.pop(options)
                    if rest := waiting[_MOST:]:
                        self._waiting[options] = rest
                    return waiting[:_MOST]
                self._changed.wait()
        return []

    def _do(self, options: str, batch: list[_Asked[T]]) -> None:
        try:
            found = self._search(options, [asked.query for asked in batch])
        except BaseException as error:  # noqa: BLE001 - each of those who wait is told
            for asked in batch:
                asked.found.append(error)
            return
        for asked, one in zip(batch, found, strict=True):
            asked.found.append(one)
