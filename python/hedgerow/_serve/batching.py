"""Searches requested at about the same time, done as one batch."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")

_MOST = 64
"""The most searches of one batch: those behind it wait until all of it is done."""


@dataclass(slots=True)
class _Asked(Generic[T]):
    query: str
    found: list[T | BaseException] = field(default_factory=list)
    """Empty until there is a result, then that result alone."""


class Batching(Generic[T]):
    """Searches for queries with the same options together.

    A batch reads each vector once for all of its queries, and answers them faster
    together than one by one. No query waits for others to arrive: if no batch with its options is
    running, it is a batch of its own, and those that arrive meanwhile are the next one.
    """

    def __init__(self, search: Callable[[str, list[str]], Sequence[T | Exception]]) -> None:
        """`search` is called with options and queries, and returns a result or an error for each."""
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
        """Wait for the result, or for this thread's turn to do the next batch, which is returned."""
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
        except BaseException as error:  # noqa: BLE001 - raised again for each that waits
            for asked in batch:
                asked.found.append(error)
            return
        for asked, one in zip(batch, found, strict=True):
            asked.found.append(one)
