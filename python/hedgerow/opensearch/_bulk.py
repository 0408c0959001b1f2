"""Bulk writes: idempotent, and tried again item by item."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from random import random
from time import sleep
from typing import Any

from hedgerow.errors import BackendError

from ._client import BUSY, Client, reason_of

MOST_BYTES = 8 << 20
"""About how large one request is; servers refuse more than 100 MB."""

TRIES = 8
FIRST_WAIT = 0.1
"""Seconds before the second try; each later wait is twice as long, and half of it is random."""
LONGEST_WAIT = 10.0

_SHOWN = 3


@dataclass
class Item:
    """A write: its chunk's id, the action, and the document, None for deleting."""

    id: str
    action: dict[str, Any]
    source: str | None = None

    def lines(self) -> str:
        action = json.dumps(self.action, ensure_ascii=False)
        return f"{action}\n" if self.source is None else f"{action}\n{self.source}\n"


@dataclass
class BulkOutcome:
    """The outcome of the items."""

    done: int = 0
    """How many changed something: of deletions those that found their chunk."""
    conflicts: list[Item] = field(default_factory=list)
    """Those whose chunk was changed by somebody else in between."""


class Bulk:
    """Writes items in requests of a few megabytes; of equal ids only the last may be among them.

    The order of requests is that of the items, and one is done with before the next begins, so
    that trying again never puts an older chunk in the place of a newer one.
    """

    def __init__(self, client: Client, index: str, *, require_alias: bool) -> None:
        """Set up writing. With `require_alias`, writing into a deleted collection fails."""
        self._client = client
        self._path = client.path("/_bulk", of=index)
        self._params = {
            "require_alias": str(require_alias).lower(),
            "filter_path": "items.*.status,items.*.error",
        }

    def write(self, items: Sequence[Item]) -> BulkOutcome:
        """Raises BackendError with all that the server refused for good, or was too busy for."""
        written = BulkOutcome()
        refused: dict[str, str] = {}
        for block in _blocks(items):
            waiting, wait = block, FIRST_WAIT
            for attempt in range(1, TRIES + 1):
                waiting, reasons = self._once(waiting, written, refused)
                if not waiting:
                    break
                if attempt == TRIES:
                    refused.update(reasons)
                else:
                    sleep(wait * (0.5 + random() / 2))  # noqa: S311 - so that writers do not meet again
                    wait = min(2 * wait, LONGEST_WAIT)
        if refused:
            raise _refusal(refused, len(items))
        return written

    def _once(
        self, items: list[Item], written: BulkOutcome, refused: dict[str, str]
    ) -> tuple[list[Item], dict[str, str]]:
        """Try once; return the items that may succeed later, each with the reason."""
        body = "".join([item.lines() for item in items])
        try:
            answer = self._client.call("POST", self._path, body, params=self._params)
        except BackendError as error:
            if error.code not in ("backend_unavailable", "backend_timeout"):
                raise
            return items, dict.fromkeys([item.id for item in items], str(error))
        later, reasons = [], {}
        for item, result in zip(items, answer["items"], strict=True):
            (outcome,) = result.values()
            status = outcome["status"]
            if status in BUSY:
                later.append(item)
                reasons[item.id] = reason_of(outcome.get("error"))
            elif status == HTTPStatus.CONFLICT:
                written.conflicts.append(item)
            elif status < HTTPStatus.BAD_REQUEST:
                written.done += 1
            elif status != HTTPStatus.NOT_FOUND or "error" in outcome:
                refused[item.id] = reason_of(outcome.get("error"))
        return later, reasons


def _blocks(items: Sequence[Item]) -> list[list[Item]]:
    """The items in blocks of about `MOST_BYTES`."""
    blocks: list[list[Item]] = []
    room = 0
    for item in items:
        size = len(item.source or "") + 200
        if size > room:
            blocks.append([])
            room = MOST_BYTES
        blocks[-1].append(item)
        room -= size
    return blocks


def _refusal(refused: dict[str, str], total: int) -> BackendError:
    shown = "; ".join(f"{id!r}: {reason}" for id, reason in list(refused.items())[:_SHOWN])  # noqa: A001
    more = f"; and {len(refused) - _SHOWN} more" if len(refused) > _SHOWN else ""
    return BackendError(
        f"{len(refused):,} of {total:,} chunks were not written ({shown}{more}); the others were, so write "
        "these again once the cause is gone",
        code="bulk_refused",
        refused=refused,
    )
