"""Asking a model without waiting for ever, and without holding up who wants to stop."""

from __future__ import annotations

import queue
import threading
import time
from contextvars import copy_context
from typing import TYPE_CHECKING

from .models import ModelTransient

if TYPE_CHECKING:
    from .models import ModelClient, ModelReply, ModelRequest

__all__ = ["CALL_MARGIN_S", "STOP_GRACE_S", "RunStopped", "ask"]

CALL_MARGIN_S = 10.0
"""How much longer than its timeout a client may take before it is given up."""

STOP_GRACE_S = 5.0
"""How long a call may still take once somebody wants to stop."""

_MOMENT_S = 0.05


class RunStopped(Exception):  # noqa: N818 - it is no error
    """A run was given up since somebody wants to stop."""


def ask(client: ModelClient, request: ModelRequest, stop: threading.Event) -> ModelReply:
    """Have a model answer; the call is on a thread of its own, so that it can be given up.

    Raises what the client raises; ModelTransient when it takes longer than it was given,
    RunStopped when `stop` was set and it took STOP_GRACE_S more.
    """
    answers: queue.SimpleQueue[ModelReply | BaseException] = queue.SimpleQueue()

    def call() -> None:
        try:
            answers.put(client.complete(request))
        except BaseException as error:  # noqa: BLE001 - raised again by who asked
            answers.put(error)

    # Whoever gives the call up must be able to leave the process.
    threading.Thread(
        target=copy_context().run, args=(call,), name="hedgerow-model", daemon=True
    ).start()
    answer = _wait(answers, request.timeout_s + CALL_MARGIN_S, stop)
    if isinstance(answer, BaseException):
        raise answer
    return answer


def _wait(
    answers: queue.SimpleQueue[ModelReply | BaseException], limit_s: float, stop: threading.Event
) -> ModelReply | BaseException:
    end = time.monotonic() + limit_s
    stopping = False
    while True:
        try:
            return answers.get(timeout=_MOMENT_S)
        except queue.Empty:
            now = time.monotonic()
        if stop.is_set() and not stopping:
            stopping = True
            end = min(end, now + STOP_GRACE_S)
        if now >= end:
            if stopping:
                raise RunStopped
            raise ModelTransient(f"the model gave no answer within {limit_s:g} s")
