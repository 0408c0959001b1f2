"""How pydantic, and with it FastAPI, reads and writes results: as their `to_dict` has them.

pydantic is not a dependency. It calls `schema_of` where a result is the type of a field or of a response.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from ._engine import Hit

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class PydanticType:
    """A result that pydantic can read and write."""

    __slots__ = ()

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, handler: Any, /) -> Any:
        """Return the schema of `to_dict`."""
        return schema_of(cls, handler)

    def _to_json(self) -> Any:
        """Return `to_dict`, for records that have this result in a field."""
        return self.to_dict()  # type: ignore[attr-defined] # of every such class

    @classmethod
    def _from_json(cls, keys: Any) -> Any:
        return cls._from_dict(keys)  # type: ignore[attr-defined] # of every such class


def schema_of(kind: type[Any], handler: Any) -> Any:
    """The schema of a class of results, made by pydantic's `handler`."""
    from pydantic_core import core_schema  # noqa: PLC0415 - not a dependency

    from . import _shapes  # noqa: PLC0415 - needs what pydantic brings

    shape = handler.generate_schema(getattr(_shapes, kind.__name__))
    read: Callable[[Mapping[str, Any]], Any] = hit_of
    if kind is not Hit:
        read = kind._from_dict  # noqa: SLF001 - of this package

    def checked(value: Mapping[str, Any]) -> Any:
        try:
            return read(value)
        except (KeyError, TypeError, AttributeError, OverflowError) as error:
            raise ValueError(f"not what {kind.__name__}.to_dict() returns: {error!r}") from error

    def of_python(value: Any, check: Callable[[Any], Any]) -> Any:
        if isinstance(value, kind):
            return value
        if not isinstance(value, Mapping):
            return check(value)
        found = checked(value)
        check(found.to_dict())
        return found

    return core_schema.json_or_python_schema(
        json_schema=core_schema.no_info_after_validator_function(checked, shape),
        python_schema=core_schema.no_info_wrap_validator_function(of_python, shape),
        serialization=core_schema.plain_serializer_function_ser_schema(
            lambda value: value.to_dict(), return_schema=shape
        ),
    )


def snake_case(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values with keys in snake_case."""
    return {_HUMP.sub("_", key).lower(): value for key, value in keys.items()}


def hit_of(fields: Mapping[str, Any]) -> Hit:
    """The hit that its `to_dict` describes."""
    if fields["ordinal"] < 0:
        raise ValueError("ordinal must be an int from 0")
    explanation = fields.get("explanation")
    return Hit._restore(  # noqa: SLF001 - of this package
        [fields[name] for name in ("id", "path", "title", "summary", "content")],
        fields["ordinal"],
        fields["tags"],
        fields["metadata"],
        fields["score"],
        fields["bm25_rank"],
        fields["vector_similarity"],
        fields["rerank_score"],
        None if explanation is None else json.dumps(explanation),
    )
