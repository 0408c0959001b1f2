"""Make the links of README.md absolute, as a package index needs them: python scripts/package_readme.py.

A release runs it before the build: the package index shows the README, but has none of the linked
files. Links lead to the tag of the version, at the Source address in pyproject.toml.
"""

from __future__ import annotations

import re
import sys

from release_check import ROOT, workspace_version

_TARGET = re.compile(r"\]\((?![a-z]+:|#)([^)\s]+)\)")


def main() -> int:
    """Rewrite README.md. Return 1 if pyproject.toml has no Source address."""
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    source = re.search(r'^Source = "(.*)"', project, re.MULTILINE)
    if source is None:
        print("pyproject.toml has no Source under [project.urls]", file=sys.stderr)
        return 1
    version = workspace_version((ROOT / "Cargo.toml").read_text(encoding="utf-8"))
    readme = ROOT / "README.md"
    text = absolute(readme.read_text(encoding="utf-8"), source[1].rstrip("/"), f"v{version}")
    readme.write_text(text, encoding="utf-8")
    return 0


def absolute(text: str, source: str, tag: str) -> str:
    """Return a page whose relative links and pictures lead to the files of a tag."""

    def link(found: re.Match[str]) -> str:
        kind = "raw" if found[1].endswith(".svg") else "blob"
        return f"]({source}/{kind}/{tag}/{found[1]})"

    return _TARGET.sub(link, text)


if __name__ == "__main__":
    sys.exit(main())
