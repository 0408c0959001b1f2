"""The operations of a memory root, as a server carries them out."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

from hedgerow import parse_pipeline
from hedgerow._json.query import QueryAnswer, with_columns
from hedgerow._operations.operation import Request as Operation
from hedgerow._times import checked_time
from hedgerow.errors import HedgerowError
from hedgerow.memory import MemoryRoot
from hedgerow.memory.operations import OPERATIONS, EditRequest, QueryRequest, ShowRequest

from .operations import Answer
from .problems import Problem, problem_of
from .tokens import Grant


class RootService:
    """Answers for one memory root; everything here blocks."""

    kind = "root"
    operations = tuple(OPERATIONS.values())

    def __init__(self, root: MemoryRoot) -> None:
        self.root = root
        self.name = root.name

    def check(self) -> None:
        """Raise HedgerowError where the root cannot be read."""
        self.root.index_state()

    def view(self, grant: Grant) -> MemoryRoot:
        """Return the root, or the part of it that a token may use; both share open files."""
        scope = grant.scope
        if not scope:
            return self.root
        return self.root.scoped(user=scope.user, agent=scope.agent, session=scope.session)

    def perform(self, request: Operation[Any], grant: Grant) -> Answer:
        """Carry out an operation; the answer is the JSON of its result."""
        if isinstance(request, QueryRequest):
            return self._query(request, grant)
        try:
            done = self.view(grant)._perform(request)  # noqa: SLF001 - of the same package
        except HedgerowError as error:
            if error.code == "file_changed" and isinstance(request, EditRequest):
                raise self._changed(request, grant, error) from error
            raise
        answer: Answer = done.to_dict(explain=getattr(request, "explain", False))
        return answer

    def _changed(self, request: EditRequest, grant: Grant, error: HedgerowError) -> Problem:
        """Return the problem of an edit that came too late, and the present text unless the memory is gone."""
        problem = problem_of(error)
        # The memory may be gone by now, and a key with a heading may name a section that is.
        with suppress(HedgerowError):
            problem.fields |= self.perform(ShowRequest(request.key), grant)
        return problem

    def _query(self, request: QueryRequest, grant: Grant) -> Answer:
        """Return the nodes that a pipeline selects, as `hedgerow query --json` does."""
        now = int(time.time()) if request.now is None else checked_time(request.now, "now")
        root = self.view(grant)
        types = root._node_types()  # noqa: SLF001 - of the same package
        pipeline = parse_pipeline(str(request.pipeline), terms=request.terms, types=types)
        wanted, shown = with_columns(pipeline, types)
        result = root.query(wanted, now=now, explain=request.explain)
        answer = QueryAnswer.of(
            pipeline, result, root=str(root.path), now=now, shown=shown, explain=request.explain
        )
        return answer.to_dict()
