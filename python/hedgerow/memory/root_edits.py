"""The methods of a root that edit memories: their text, links, marks and paths; and agents."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from hedgerow._checks import checked_flag
from hedgerow.errors import InvalidInputError
from hedgerow.typing import QuestionDate

from .asked import checked_recall
from .derived import Derived
from .names import AGENTS
from .root_nodes import RootNodes
from .validity import HOLDS, Validity

if TYPE_CHECKING:
    from hedgerow.agents import AgentDefinition, Agents, ModelClient

    from .forget import Forgotten
    from .marking import Marked
    from .rename import Renamed
    from .texts import Memory


class RootEdits(RootNodes):
    """The part of `MemoryRoot` that edits files which people write."""

    def read(self, name: str) -> Memory:
        """Read the memory that a path, a name or a title means, as in `[[name]]`.

        Raises InvalidInputError as `resolve` does, and for a file that is not text.
        """
        from .texts import read  # noqa: PLC0415 - slow to import

        return read(self._derived(), self.resolve(name))

    def edit(self, memory: Memory, text: str) -> Memory:
        """Replace the text of a memory that was read, and return it with the new text.

        Raises HedgerowError (`file_changed`) if the file has changed since it was read: read it
        again; and InvalidInputError for a text that is blank, has a NUL character, is longer than
        2,000,000 characters, or would move the memory out of the scope of the root.
        """
        from .texts import edit  # noqa: PLC0415 - slow to import

        done = edit(self._derived(), self._own(memory.file), text, memory.digest, self._scope.own)
        self._nodes.written(self._config(), [memory.file])
        return done

    def link(self, a: str, b: str, strength: float = 1.0, rel: str = "related") -> str:
        """Link memory `a` to `b` in the front matter of `a`; returns the path of the changed file.

        Both are paths, names or titles, as in `[[name]]`. `rel` is the key of front matter;
        `strength` is above 0, up to 1. A link of the same relation is replaced. The rest of the
        file stays as it is.

        Raises InvalidInputError as `resolve` does, and HedgerowError for front matter that has to
        be edited by hand (`invalid_front_matter`) or a file that was edited at the same time
        (`file_changed`); nothing is written then.
        """
        from .linking import link  # noqa: PLC0415 - slow to import

        found = self._config()
        ends = self._own(a), self.resolve(b, sync=False)
        state = self._nodes.state(found, sync=False)
        file = link(Derived.of(found), state, *ends, strength=strength, relation=rel)
        self._nodes.written(found, [file])
        return file

    def unlink(self, a: str, b: str, rel: str = "related") -> bool:
        """Remove the links of a relation from `a` to `b` in the front matter of `a`.

        Returns whether there were any. Raises as `link` does; a link in the text has to be
        removed by hand.
        """
        from .linking import unlink  # noqa: PLC0415 - slow to import

        found = self._config()
        ends = self._own(a), self.resolve(b, sync=False)
        state = self._nodes.state(found, sync=False)
        removed = unlink(Derived.of(found), state, *ends, relation=rel)
        self._nodes.written(found, [ends[0]])
        return removed

    def supersede(  # noqa: PLR0913 - what takes the place
        self,
        old: str,
        by: str | None = None,
        *,
        text: str | None = None,
        title: str | None = None,
        type: str | None = None,  # noqa: A002 - what it is called in the file
        tags: Sequence[str] | None = None,
    ) -> Marked:
        """Mark memory `old` as superseded by `by`, in both files.

        Both are paths, names or titles, as in `[[name]]`. With `text` instead of `by` a new memory
        is written first; unless they are given, its title is the beginning of the text, and type and
        tags are those of `old`. Raises as `link` does, and InvalidInputError unless exactly one of `by` and `text` is given.
        """
        from . import marking, remembering  # noqa: PLC0415 - slow to import

        if (by is None) == (text is None):
            raise InvalidInputError(
                "give what takes its place: a memory that is there (by), or a text",
                code="invalid_option",
            )
        derived = self._derived()
        path = self._own(old)
        if by is not None:
            return self._marked(path, marking.supersede(derived, path, self._own(by)))
        new, changed = remembering.remember_instead(
            derived, path, text or "", title=title, kind=type, tags=tags, scope=self._scope
        )
        return self._marked(path, changed, new)

    def retract(self, key: str, reason: str | None = None) -> Marked:
        """Mark a memory as retracted, with the reason, in one line; the file stays.

        `key` is a path, a name or a title. Raises as `link` does.
        """
        from .marking import retract  # noqa: PLC0415 - slow to import

        path = self._own(key)
        return self._marked(path, retract(self._derived(), path, reason))

    def restore(self, key: str) -> Marked:
        """Remove the marks by which a memory is retracted or superseded, from all files with one.

        `key` is a path, a name or a title. The `validity` of the result says whether it holds now:
        it may still have a `valid_until` of its own. Raises as `link` does.
        """
        from .marking import restore  # noqa: PLC0415 - slow to import

        found = self._config()
        path = self._own(key, ended=True)
        marks = self._opened.marks(found, sync=True)
        news = [
            one for one in marks.said_to_supersede(path) if self._scope.own.has(marks.scope(one))
        ]
        state = self._nodes.state(found, sync=False)
        return self._marked(path, restore(Derived.of(found), state, path, news))

    def rename(self, key: str, to: str) -> Renamed:
        """Return a memory another path, and change the links to it in all files.

        `key` is a path, a name or a title; `to` is a path below the indexed folder, or the name of
        a file in the same folder, with or without `.md`. Names that still mean the memory stay.
        Files whose links have to be changed by hand are in `by_hand`. Visits stay with the old path.

        Raises InvalidInputError for a path that is taken, or that no memory can have, and
        HedgerowError for one that the system refuses; nothing is changed then (spec/memory.md,
        "Renaming").
        """
        from . import rename as renaming  # noqa: PLC0415 - slow to import

        found = self._config()
        derived, path = Derived.of(found), self._own(key)
        new = renaming.new_path(derived, path, to)
        visible = self._opened.visible(found, self._scope.own, sync=False)
        changed, by_hand = renaming.rename(
            derived, self._nodes.state(found, sync=False), path, new, visible
        )
        self._nodes.state(found, sync=True)
        return renaming.Renamed(str(self._root), path, new, tuple(changed), tuple(by_hand))

    def forget(self, key: str, *, purge: bool = False) -> Forgotten:
        """Delete a memory, and all that was derived from it: in index, store, manifest, reports, pages.

        `key` is a path, a name or a title. The result names the memories that quote it and other
        copies of its text, which stay, and what was not searched. It cannot be undone, so it needs
        `purge=True`; `retract` keeps the file. Raises InvalidInputError without `purge`, and HedgerowError
        (`not_forgotten`), which names the files, if parts of the memory were found afterwards: it
        is deleted by then (spec/memory.md, "Forgetting").
        """
        from .forget import forget  # noqa: PLC0415 - slow to import

        if not checked_flag(purge, "purge"):
            raise InvalidInputError(
                "forget deletes the file for good: say purge=True (--purge), or retract it, which "
                "keeps the file",
                code="invalid_option",
            )
        path = self._own(key)
        edges = self.graph(sync=False).edges
        named_by = sorted({source for source, target, _, _ in edges if target == path})
        return forget(self._derived(), path, named_by, self._visible(sync=False))

    def validity(
        self, key: str, *, as_of: QuestionDate | None = None, sync: bool = True
    ) -> Validity:
        """Return whether a memory holds, now or at `as_of`, and why not.

        `key` is a path, a name or a title. Raises InvalidInputError as `resolve` does.
        """
        asked = checked_recall(key, as_of=as_of, scope=self._scope)
        path = self.resolve(key, sync=sync)
        return asked.validity(self._opened.marks(self._config(), sync=sync), path)

    def validities(
        self, keys: Iterable[str], *, as_of: QuestionDate | None = None, sync: bool = True
    ) -> dict[str, Validity]:
        """Return the validity, now or at `as_of`, of each memory with marks that count, by path.

        `keys` are paths as in results; those that mean no memory are ignored.
        """
        asked = checked_recall(".", as_of=as_of, scope=self._scope)
        marks = self._opened.marks(self._config(), sync=sync)
        seen = (key for key in keys if self._scope.has(marks.scope(key)))
        found = {key: asked.validity(marks, key) for key in seen}
        return {key: validity for key, validity in found.items() if validity != HOLDS}

    def agents(
        self,
        model: ModelClient | None = None,
        folder: str | os.PathLike[str] | None = None,
        *,
        refuses: Callable[[AgentDefinition], str | None] | None = None,
    ) -> Agents:
        """Put agents to work on the memories (spec/memory.md, "Agents").

        `folder` has their definitions, by default `agents` in the root; `model` answers their
        prompts. `refuses` is that of `Agents`. Close the root when they are done.
        """
        self._check_whole("agents")
        from hedgerow.agents import Agents  # noqa: PLC0415 - slow to import

        from .agents import RootWorkspace  # noqa: PLC0415 - slow to import

        definitions = self._root / AGENTS if folder is None else folder
        return Agents(RootWorkspace(self), definitions, model, refuses=refuses)

    def refuses_model(self, definition: AgentDefinition) -> str | None:
        """Return why an agent may not use its model at OpenAI, as a sentence; None if it may.

        The agents of a root choose a model and what is sent to it, so the user has to allow each
        model (spec/memory.md, "Trust").
        """
        from .requests import agent_model  # noqa: PLC0415 - slow to import

        refused = self._choices.refused([agent_model(self._root, definition.model)])
        return refused[0].notice if refused else None

    def _marked(self, path: str, changed: list[str], written: str | None = None) -> Marked:
        """Sync, and return the result for a memory that was marked."""
        from .marking import Marked  # noqa: PLC0415 - slow to import

        found, written_too = self._config(), [] if written is None else [written]
        self._nodes.written(found, [*changed, *written_too])
        asked = checked_recall(path, scope=self._scope)
        validity = asked.validity(self._opened.marks(found, sync=False), path)
        return Marked(str(self._root), path, tuple(changed), validity, written)
