"""Work in steps, of which some may take a while: done on the spot, or awaited.

A search embeds, calls the engine and reranks. Written as a generator that yields each such
`Call`, it stands in the code once, and `run` and `arun` do it in either world.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from ._engine import Stop

T = TypeVar("T")


# Not frozen, like the request of a search: made for each, and that would take three times as long.
@dataclass(slots=True)
class Call:
    """A function to call with these arguments; `stop` ends it early, where it is given one."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    stop: Stop | None = None


Steps: TypeAlias = Generator[Call, Any, T]


def run(steps: Steps[T]) -> T:
    """Do every call on the spot."""
    with closing(steps):
        try:
            call = next(steps)
            while True:
                call = _go_on(steps, _done(call))
        except StopIteration as done:
            result: T = done.value
            return result


async def arun(steps: Steps[T]) -> T:
    """Await what is a coroutine, and do the rest on another thread, so that the loop is free."""
    with closing(steps):
        try:
            call = next(steps)
            while True:
                call = _go_on(steps, await _awaited(call))
        except StopIteration as done:
            result: T = done.value
            return result


@dataclass(frozen=True, slots=True)
class _Raised:
    error: Exception


def _go_on(steps: Steps[T], answer: Any) -> Call:
    """Hand the answer back; the steps decide what to do about an error."""
    return steps.throw(answer.error) if isinstance(answer, _Raised) else steps.send(answer)


def _done(call: Call) -> Any:
    try:
        return call.function(*call.arguments)
    except Exception as error:  # noqa: BLE001 - see _go_on
        return _Raised(error)


async def _awaited(call: Call) -> Any:
    import asyncio  # noqa: PLC0415 - a third of the time that importing hedgerow would take

    stop = call.stop or Stop()
    try:
        if inspect.iscoroutinefunction(call.function):
            return await call.function(*call.arguments)
        return await asyncio.to_thread(stop.run, call.function, *call.arguments)
    except asyncio.CancelledError:
        stop.set()
        raise
    except Exception as error:  # noqa: BLE001 - see _go_on
        return _Raised(error)
