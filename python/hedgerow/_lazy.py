"""Names of a package that are imported when they are first asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def imported_when_asked_for(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """A `__getattr__` for a package, by the module of it in which each name is at home.

    A module is at home in itself. A package hides this `__getattr__` from type checkers, for which
    every name would be there otherwise.
    """

    def find(name: str) -> Any:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(f".{home}", package)
        value = module if name == home else getattr(module, name)
        # The next time Python finds it without asking here.
        setattr(sys.modules[package], name, value)
        return value

    return find
