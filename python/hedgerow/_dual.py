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
    """Await asynchronous steps, and make other calls on a thread, which blocks no event loop."""
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


_NO_LOOP = ("no running event loop",)
"""The arguments of the error of `asyncio.get_running_loop` on a thread without a loop."""


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
        try:
            answer, error = await asyncio.to_thread(stop.run, partial(_called, function))
            if error is not None:
                return None, error
        except RuntimeError as error:
            if not _lacked_event_loop(error):
                raise
            # A function that makes a task or a future can only do so on the thread of the event loop.
            answer = function()
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


def _lacked_event_loop(error: RuntimeError) -> bool:
    """Whether asyncio raised the error, because no event loop runs on this thread.

    Its text does not decide: a library may raise one like it after it has done its work. asyncio
    raises this one from a call that looks for the loop, and no `raise` of another module does.
    """
    traceback = error.__traceback__
    if type(error) is not RuntimeError or traceback is None:
        return False
    import asyncio.events  # noqa: PLC0415 - see above
    import opcode  # noqa: PLC0415 - of this error alone

    while traceback.tb_next is not None:
        traceback = traceback.tb_next
    code = traceback.tb_frame.f_code
    if code.co_filename == asyncio.events.__file__:
        return code.co_name.endswith("get_event_loop")
    if code.co_code[traceback.tb_lasti] == opcode.opmap["RAISE_VARARGS"]:
        return False
    # A function in C has no frame, and so the frame of its caller ends the traceback.
    return error.args == _NO_LOOP
