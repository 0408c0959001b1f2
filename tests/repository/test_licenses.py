"""The licenses of hedgerow's build and test dependencies, checked offline.

deny.toml lists the licenses allowed for crates. A Python package states its license in one of three
ways.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import Distribution, distributions

import pytest

from places import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ENVIRONMENT = dict(os.environ)  # includes the user's home, where cargo keeps the crates

pytestmark = pytest.mark.skipif(not (ROOT / "deny.toml").exists(), reason="a source distribution")

# Licenses of tools and their dependencies. These are not shipped, so file-level copyleft has no
# effect.
FOR_TOOLS = {"0BSD", "CC0-1.0", "MIT-0", "MIT-CMU", "MPL-2.0", "PSF-2.0", "Python-2.0"}
CLASSIFIERS = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}
# Their metadata state no license, but their sources do.
BY_HAND = {"cargo-zigbuild": "MIT", "railroad-diagrams": "MIT"}


def allowed_for_crates() -> set[str]:
    return set(tomllib.loads((ROOT / "deny.toml").read_text())["licenses"]["allow"])


def is_allowed(expression: str, allowed: set[str]) -> bool:
    """Whether an SPDX expression can be met with these licenses. `/` is an old notation for OR."""
    words = re.findall(r"[()]|[^()\s]+(?: WITH \S+?(?=[()\s]|$))?", expression.replace("/", " OR "))
    steps = {"AND": " and ", "OR": " or ", "(": "(", ")": ")"}
    # Only the structure of the expression is evaluated.
    return bool(eval("".join(steps.get(word) or str(word in allowed) for word in words)))  # noqa: S307


@pytest.mark.parametrize(
    ("expression", "answer"),
    [
        ("MIT", True),
        ("GPL-3.0", False),
        ("MIT OR GPL-3.0", True),
        ("MIT AND GPL-3.0", False),
        ("Unlicense/MIT", True),
        ("(MIT OR GPL-3.0) AND Unicode-3.0", True),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("Apache-2.0 WITH Something", False),
    ],
)
def test_expressions_are_read(expression: str, answer: bool) -> None:
    assert is_allowed(expression, allowed_for_crates()) == answer


def test_every_crate_has_a_licence_that_is_allowed() -> None:
    cargo = shutil.which("cargo")
    if cargo is None:
        pytest.skip("no cargo here")
    command = [cargo, "metadata", "--format-version", "1", "--locked", "--offline"]
    done = subprocess.run(
        command, cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        pytest.skip(f"cargo has not fetched the crates: {done.stderr[-200:]}")
    packages = json.loads(done.stdout)["packages"]
    assert len(packages) > 10
    allowed = allowed_for_crates()
    wrong = {
        package["name"]: package["license"]
        for package in packages
        if not is_allowed(package["license"] or "none", allowed)
    }
    assert wrong == {}


def license_of(package: Distribution) -> str:
    """Return an SPDX expression from the metadata of a package."""
    if package.name in BY_HAND:
        return BY_HAND[package.name]
    metadata = package.metadata
    if expression := metadata.get("License-Expression"):
        return str(expression)
    said = [one.rpartition(" :: ")[2] for one in metadata.get_all("Classifier") or []]
    found = [CLASSIFIERS[one] for one in said if one in CLASSIFIERS]
    # The old field has a name, or the full text.
    return " AND ".join(found) or str(metadata.get("License") or "none").splitlines()[0]


def test_every_package_has_a_licence_that_is_allowed() -> None:
    allowed = allowed_for_crates() | FOR_TOOLS
    found = {package.name: license_of(package) for package in distributions()}
    assert "hedgerow" in found
    wrong = {
        name: expression
        for name, expression in found.items()
        if not is_allowed(expression, allowed)
    }
    assert wrong == {}
