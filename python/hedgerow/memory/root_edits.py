"""The verbs of a root that edit memories: their text, their links, the marks of what holds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hedgerow.errors import InvalidInputError
from hedgerow.typing import QuestionDate

from .asked import checked_recall
from .config import Config
from .derived import Derived
from .node_store import NodeStore, key_of
from .opened import OpenedIndex
from .validity import HOLDS, Validity

if TYPE_CHECKING:
    from .marking import Marked
    from .sync import SyncReport
    from .texts import Memory


class RootEdits:
    """What `MemoryRoot` does to files that people write."""

    _root: Path
    _opened: OpenedIndex
    _nodes: NodeStore

    def read(self, name: str) -> Memory:
        """Read the memory that a path, a name or a title means, as in `[[name]]`.

        Raises InvalidInputError as `resolve` does, and for a file that is no text.
        """
        from .texts import read  # noqa: PLC0415 - slow to import

        return read(self._derived(), self.resolve(name))

    def edit(self, memory: Memory, text: str) -> Memory:
        """Write another text into a memory that was read; returns it with that text.

        Raises HedgerowError (`file_changed`) where somebody changed it since: read it again.
        """
        from .texts import edit  # noqa: PLC0415 - slow to import

        done = edit(self._derived(), self.resolve(memory.file), text, memory.digest)
        self.sync()
        return done

    def link(self, a: str, b: str, strength: float = 1.0, rel: str = "related") -> str:
        """Link memory `a` to `b` in the front matter of `a`; returns the path of the changed file.

        Both are paths, names or titles, as in `[[name]]`. `rel` is the key of front matter;
        `strength` is above 0, up to 1. A link of the same relation is replaced. The rest of the
        file stays as it is.

        Raises InvalidInputError for what is no memory of the root, or several, and HedgerowError
        for front matter that has to be edited by hand or a file that was edited at the same time;
        nothing is written then.
        """
        from .linking import link  # noqa: PLC0415 - slow to import

        found = self._config()
        state = self._nodes.state(found, sync=True)
        ends = key_of(state, a), key_of(state, b)
        file = link(Derived.of(found), state, *ends, strength=strength, relation=rel)
        self._nodes.state(found, sync=True)
        return file

    def unlink(self, a: str, b: str, rel: str = "related") -> bool:
        """Remove the links of a relation from `a` to `b` in the front matter of `a`.

        Returns whether there were any. Raises as `link` does; a link in the text has to be
        removed by hand.
        """
        from .linking import unlink  # noqa: PLC0415 - slow to import

        found = self._config()
        state = self._nodes.state(found, sync=True)
        ends = key_of(state, a), key_of(state, b)
        removed = unlink(Derived.of(found), state, *ends, relation=rel)
        self._nodes.state(found, sync=True)
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
        """Note in both files that memory `by` takes the place of `old`.

        Both are paths, names or titles, as in `[[name]]`. With `text` the new memory is written
        first; title, type and tags are then those of `old` unless they are given. Raises as `link`
        does, and InvalidInputError unless one of `by` and `text` is given.
        """
        from . import marking, remembering  # noqa: PLC0415 - slow to import

        if (by is None) == (text is None):
            raise InvalidInputError(
                "give what takes its place: a memory that is there (by), or a text",
                code="invalid_option",
            )
        derived = self._derived()
        path = self.resolve(old)
        if by is not None:
            return self._marked(path, marking.supersede(derived, path, self.resolve(by)))
        new, changed = remembering.remember_instead(
            derived, path, text or "", title=title, kind=type, tags=tags
        )
        return self._marked(path, changed, new)

    def retract(self, key: str, reason: str | None = None) -> Marked:
        """Note in a memory that it no longer holds, and why; the file stays.

        `key` is a path, a name or a title. Raises as `link` does.
        """
        from .marking import retract  # noqa: PLC0415 - slow to import

        path = self.resolve(key)
        return self._marked(path, retract(self._derived(), path, reason))

    def restore(self, key: str) -> Marked:
        """Take back that a memory was retracted or superseded, in all files that say so.

        `key` is a path, a name or a title. The `validity` of the result says what else keeps it
        from holding, such as a `valid_until` of its own. Raises as `link` does.
        """
        from .marking import restore  # noqa: PLC0415 - slow to import

        found = self._config()
        path = self.resolve(key)
        news = self._opened.marks(found, sync=True).said_to_supersede(path)
        state = self._nodes.state(found, sync=False)
        return self._marked(path, restore(Derived.of(found), state, path, news))

    def validity(
        self, key: str, *, as_of: QuestionDate | None = None, sync: bool = True
    ) -> Validity:
        """Return whether a memory holds, now or at a time, and why not.

        `key` is a path, a name or a title.
        """
        asked = checked_recall(key, as_of=as_of)
        path = self.resolve(key, sync=sync)
        return asked.validity(self._opened.marks(self._config(), sync=sync), path)

    def resolve(self, name: str, *, sync: bool = True) -> str:
        """Return the path of the memory that a path, a name or a title means, as in `[[name]]`.

        Raises InvalidInputError, with the code `unknown_node` where there is none, and
        `ambiguous_node` where there are several.
        """
        return key_of(self._nodes.state(self._config(), sync=sync), name)

    def validities(
        self, keys: Iterable[str], *, as_of: QuestionDate | None = None, sync: bool = True
    ) -> dict[str, Validity]:
        """Return the validity, now or at a time, of those memories of which there is one to tell.

        `keys` are paths as in results; any other name is left out.
        """
        asked = checked_recall(".", as_of=as_of)
        marks = self._opened.marks(self._config(), sync=sync)
        found = {key: asked.validity(marks, key) for key in keys}
        return {key: validity for key, validity in found.items() if validity != HOLDS}

    def sync(self) -> SyncReport:
        """Bring the index up to date with the files."""
        raise NotImplementedError

    def _config(self) -> Config:
        raise NotImplementedError

    def _marked(self, path: str, changed: list[str], written: str | None = None) -> Marked:
        """Tell of a memory that was marked, after a sync."""
        from .marking import Marked  # noqa: PLC0415 - slow to import

        self._nodes.state(self._config(), sync=True)
        validity = self.validity(path)
        return Marked(str(self._root), path, tuple(changed), validity, written)

    def _derived(self) -> Derived:
        return Derived.of(self._config())
