"""One implementation for synchronous and asynchronous callers.

A search embeds, calls the engine and reranks. Written as a generator that yields each such
`Call`, it is written once; `run` makes the calls directly and `arun` awaits them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from ._engine import Stop

T = TypeVar("T")


# Not frozen, like the request of a search: made for each, and frozen ones take three times longer to make.
@dataclass(slots=True)
class Call:
    """A function to call with these arguments; `stop`, if any, ends it early."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    stop: Stop | None = None


Steps: TypeAlias = Generator[Call, Any, T]


def run(steps: Steps[T]) -> T:
    """Make every call directly."""
    with closing(steps):
        try:
            call = next(steps)
            while True:
                call = _go_on(steps, _done(call))
        except StopIteration as done:
            result: T = done.value
            return result


async def arun(steps: Steps[T]) -> T:
    """Await coroutines, and make other calls on a thread, so that the event loop is not blocked."""
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
    """Return the answer to the generator, which handles errors."""
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
