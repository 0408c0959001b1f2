"""One implementation for synchronous and asynchronous callers.

A search embeds, calls the engine and reranks. Written as a generator that yields each such
`Call`, it is written once; `run` makes the calls directly and `arun` awaits them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, TypeVar

from ._checks import shown
from ._engine import Stop
from .errors import InvalidInputError

T = TypeVar("T")


# Not frozen, as the request of a search is not: each search makes them, and frozen ones take three
# times as long to make.
@dataclass(slots=True)
class Call:
    """A function to call with these arguments; `stop`, if any, ends it early.

    `awaited`, if any, is called in its place where the answer can be awaited.
    """

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    stop: Stop | None = None
    awaited: Callable[..., Any] | None = None


Steps: TypeAlias = Generator[Call, Any, T]


def is_async(function: object) -> bool:
    """Tell whether a call gives a coroutine, as far as that can be known without calling.

    True for coroutine functions, objects whose `__call__` is one, and partials of both.
    """
    while isinstance(function, partial):
        function = function.func
    return any(map(inspect.iscoroutinefunction, (function, getattr(function, "__call__", None))))  # noqa: B004


def run(steps: Steps[T]) -> T:
    """Make every call directly.

    Raises InvalidInputError when one answers with something to be awaited.
    """
    with closing(steps):
        try:
            call = next(steps)
            while True:
                call = _go_on(steps, _done(call))
        except StopIteration as done:
            result: T = done.value
            return result


async def arun(steps: Steps[T]) -> T:
    """Await what is asynchronous, and make other calls on a thread, which blocks no event loop."""
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
        answer = call.function(*call.arguments)
    except Exception as error:  # noqa: BLE001 - see _go_on
        return _Raised(error)
    if inspect.isawaitable(answer):
        if inspect.iscoroutine(answer):
            answer.close()
        # Not an error of the function, which the steps might handle.
        raise InvalidInputError(
            f"{shown(call.function)} is asynchronous: its answer has to be awaited; await the "
            "method of this name with an a before it, as in await asearch(...)",
            code="incompatible_options",
        )
    return answer


async def _awaited(call: Call) -> Any:
    import asyncio  # noqa: PLC0415 - a third of the time that importing hedgerow would take

    stop = call.stop or Stop()
    try:
        function = call.awaited or call.function
        if is_async(function):
            return await function(*call.arguments)
        try:
            answer = await asyncio.to_thread(stop.run, function, *call.arguments)
        except RuntimeError as error:
            if "event loop" not in str(error):
                raise
            # A function that makes a task or a future can only do so on the thread of the event loop.
            answer = function(*call.arguments)
        return await answer if inspect.isawaitable(answer) else answer
    except asyncio.CancelledError:
        stop.set()
        raise
    except Exception as error:  # noqa: BLE001 - see _go_on
        return _Raised(error)
