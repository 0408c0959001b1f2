"""JSON Schema of requests and results, for OpenAPI and for the Model Context Protocol."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, is_dataclass
from datetime import date, datetime
from inspect import getdoc
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from .fields import FieldSpec, declared, has_none, properties, without_none
from .shapes import is_list, to_json

Schema = dict[str, Any]

_SIMPLE: Mapping[Any, Schema] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    datetime: {"type": "string", "format": "date-time"},
    date: {"type": "string"},
}


class Definitions:
    """The schemas of records, by name; `others` has those of types that describe themselves."""

    def __init__(self, others: Mapping[Any, Schema] | None = None) -> None:
        self.schemas: dict[str, Schema] = {}
        self._others = others or {}

    def reference(self, record: Any) -> Schema:
        """Return the reference to a record, whose schema is added."""
        name = record.__name__
        if name not in self.schemas:
            self.schemas[name] = {}  # A record may contain itself.
            self.schemas[name] = self._result(record)
        return {"$ref": f"#/components/schemas/{name}"}

    def _result(self, record: Any) -> Schema:
        found: dict[str, Schema] = {}
        required = []
        for one in declared(record):
            field = one.field
            if field.local:
                continue
            for key in filter(None, (one.key, field.also)):
                found[key] = self._described(one)
                optional = field.omit_default or field.explained or (has_none(one.type))
                if not optional or field.null:
                    required.append(key)
        for key, (_, of) in properties(record).items():
            found[key] = self.of(of)
            required.append(key)
        return _object(found, required, summary_of(record))

    def _described(self, one: FieldSpec) -> Schema:
        inner = self.of(one.type if one.field.null else without_none(one.type))
        doc = {"description": one.field.doc} if one.field.doc else {}
        return {**inner, **doc} if "$ref" not in inner else inner

    def of(self, of: Any) -> Schema:  # noqa: PLR0911 - one for each kind of type
        """Return the schema of a type."""
        if of in self._others:
            return self._others[of]
        if is_dataclass(of):
            return self.reference(of)
        origin, arguments = get_origin(of), get_args(of)
        if origin in (Union, UnionType):
            return _any_of([self.of(one) for one in arguments])
        if origin is Literal:
            return {"type": "string", "enum": list(arguments)}
        if origin is tuple and arguments[1:] != (...,):
            items = [self.of(one) for one in arguments]
            return {
                "type": "array",
                "prefixItems": items,
                "minItems": len(items),
                "maxItems": len(items),
            }
        if is_list(of) or origin is Iterable:
            return {"type": "array", "items": self.of(arguments[0])}
        if isinstance(origin, type) and issubclass(origin, Mapping):
            return {"type": "object", "additionalProperties": self.of(arguments[1])}
        if of is NoneType:
            return {"type": "null"}
        return dict(_SIMPLE.get(of, {}))

    def arguments(self, request: Any, names: tuple[str, ...] | None = None) -> Schema:
        """Return the schema of the arguments of a request, or of some of them."""
        found: dict[str, Schema] = {}
        required = []
        for one in declared(request):
            if one.field.local or (names is not None and one.name not in names):
                continue
            found[one.name] = self._argument(one)
            if one.is_required:
                required.append(one.name)
        return _object(found, required, None) | {"additionalProperties": False}

    def _argument(self, one: FieldSpec) -> Schema:
        field, schema = one.field, self.of(one.type)
        kinds = [schema, *schema.get("anyOf", ())]
        for kind in kinds:
            most = field.most if field.served_most is None else field.served_most
            if kind.get("type") in ("integer", "number"):
                bounds = {"minimum": field.least, "exclusiveMinimum": field.above, "maximum": most}
            elif kind.get("type") == "array":
                bounds = {"minItems": field.least, "maxItems": most}
            else:
                continue
            kind.update({key: value for key, value in bounds.items() if value is not None})
        if field.doc:
            schema["description"] = field.doc
        if one.default is not MISSING and one.default is not None:
            schema["default"] = to_json(one.default)
        return schema


def _object(found: Mapping[str, Schema], required: list[str], doc: str | None) -> Schema:
    schema: Schema = {"type": "object", "properties": dict(found)}
    if required:
        schema["required"] = required
    return schema | ({"description": doc} if doc else {})


def _any_of(schemas: list[Schema]) -> Schema:
    """Return the schema of any of some types, without repetitions."""
    found: list[Schema] = []
    for one in schemas:
        if one not in found:
            found.append(one)
    return found[0] if len(found) == 1 else {"anyOf": found}


def summary_of(record: Any) -> str | None:
    """Return the first sentence of a docstring."""
    doc = getdoc(record)
    return None if doc is None else doc.partition("\n\n")[0].replace("\n", " ")
