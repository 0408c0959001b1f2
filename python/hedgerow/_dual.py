"""One implementation for synchronous and asynchronous callers.

A search embeds, calls the engine and reranks. Written as a generator that yields each such
`Call`, it is written once; `run` makes the calls directly and `arun` awaits them. `Together` runs
several generators at the same time.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Generator, Sequence
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeVar

from ._checks import shown
from ._engine import Stop
from .errors import InvalidInputError

P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T")


class Call(partial[Any]):
    """A function to call with these arguments.

    `stop`, if any, ends the call early. `awaited`, if any, is called in its place where the answer can
    be awaited. Making one costs no call of Python.
    """

    stop: Stop | None = None
    awaited: Callable[[], Any] | None = None


@dataclass(slots=True)
class Together:
    """Generators of steps that may run at the same time, at most `threads` of them.

    The answer is the list of their results, in their order. The first error ends those not begun.
    """

    steps: Sequence[Generator[Any, Any, Any]]
    threads: int


Steps: TypeAlias = Generator[Call | Together, Any, T]


def is_async(function: object) -> bool:
    """Return whether a call gives a coroutine, as far as that can be known without calling.

    True for coroutine functions, objects whose `__call__` is one, and partials of both.
    """
    while isinstance(function, partial):
        function = function.func
    return any(map(inspect.iscoroutinefunction, (function, getattr(function, "__call__", None))))  # noqa: B004


def run(steps: Steps[T]) -> T:
    """Make every call directly.

    Raises InvalidInputError when one answers with something to be awaited.
    """
    try:
        call = next(steps)
        while True:
            if isinstance(call, Together):
                answer, error = _on_threads(call)
            else:
                answer, error = None, None
                try:
                    answer = call()
                except Exception as raised:  # noqa: BLE001 - the generator handles errors
                    error = raised
                if inspect.isawaitable(answer):
                    _refuse(call, answer)
            call = steps.send(answer) if error is None else steps.throw(error)
    except StopIteration as done:
        result: T = done.value
        return result
    finally:
        steps.close()


async def arun(steps: Steps[T]) -> T:
    """Await coroutine functions, and make each other call once, on a thread.

    The thread blocks no event loop, and has none. An awaitable that a call returns there is awaited.
    """
    try:
        call = next(steps)
        while True:
            answer, error = await _awaited(call)
            call = steps.send(answer) if error is None else steps.throw(error)
    except StopIteration as done:
        result: T = done.value
        return result
    finally:
        steps.close()


async def on_thread(function: Callable[P, T], *args: P.args, **options: P.kwargs) -> T:
    """Call a function on a thread, which blocks no event loop."""

    def steps() -> Steps[T]:
        done: T = yield Call(function, *args, **options)
        return done

    return await arun(steps())


def asynchronous(
    method: Callable[Concatenate[S, P], T],
) -> Callable[Concatenate[S, P], Coroutine[Any, Any, T]]:
    """Return a method that makes the call of another on a thread."""

    @wraps(method)
    async def call(self: S, /, *args: P.args, **options: P.kwargs) -> T:
        return await on_thread(method, self, *args, **options)

    call.__doc__ = f"Like `{method.__name__}`, but asynchronous."
    call.__name__ = call.__qualname__ = f"a{method.__name__}"
    return call


_Answer: TypeAlias = tuple[Any, Exception | None]
"""The answer of a call, or the error that it raised."""


def _refuse(call: Call, answer: Any) -> None:
    """Raise InvalidInputError for an answer to be awaited.

    It is not an error of the function, which the steps might handle.
    """
    if inspect.iscoroutine(answer):
        answer.close()
    raise InvalidInputError(
        f"{shown(call.func)} is asynchronous: its answer has to be awaited; await the method of this "
        "name with an a before it, as in await asearch(...)",
        code="incompatible_options",
    )


def _on_threads(together: Together) -> _Answer:
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - of batches alone

    workers = min(together.threads, len(together.steps))
    try:
        if workers <= 1:
            return [run(steps) for steps in together.steps], None
        with ThreadPoolExecutor(workers, "hedgerow") as pool:
            # Each thread sees the caller's context variables, as tracing wants.
            tasks = [pool.submit(copy_context().run, run, steps) for steps in together.steps]
            try:
                return [task.result() for task in tasks], None
            finally:
                for task in tasks:
                    task.cancel()
    except Exception as error:  # noqa: BLE001 - the generator handles errors
        return None, error


async def _awaited(call: Call | Together) -> _Answer:
    import asyncio  # noqa: PLC0415 - a third of the time that importing hedgerow would take

    if isinstance(call, Together):
        return await _at_once(call)
    stop = call.stop or Stop()
    try:
        function = call.awaited or call
        if is_async(function):
            return await function(), None
        answer, error = await asyncio.to_thread(stop.run, partial(_called, function))
        if error is not None:
            return None, error
        return (await answer if inspect.isawaitable(answer) else answer), None
    except asyncio.CancelledError:
        stop.set()
        raise
    except Exception as error:  # noqa: BLE001 - the generator handles errors
        return None, error


def _called(function: Callable[[], Any]) -> _Answer:
    """Call a function on a thread, from which a future cannot carry StopIteration: it never ends."""
    try:
        return function(), None
    except StopIteration as error:
        return None, error


async def _at_once(together: Together) -> _Answer:
    import asyncio  # noqa: PLC0415 - see above

    turns = asyncio.Semaphore(max(1, together.threads))

    async def one(steps: Steps[Any]) -> Any:
        async with turns:
            return await arun(steps)

    tasks = [asyncio.ensure_future(one(steps)) for steps in together.steps]
    try:
        return await asyncio.gather(*tasks), None
    except Exception as error:  # noqa: BLE001 - the generator handles errors
        return None, error
    finally:
        for task in tasks:
            task.cancel()
