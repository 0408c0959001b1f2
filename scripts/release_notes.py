"""Print the section of CHANGELOG.md for the version of a tag, as the text of its release.

python scripts/release_notes.py v1.2.3
"""

from __future__ import annotations

import sys
from pathlib import Path

from release_check import changelog_sections, workspace_version

ROOT = Path(__file__).parents[1]


def main() -> int:
    """Print the notes. Return 1 if the tag, the version and the changelog disagree."""
    tag = sys.argv[1]
    version = workspace_version((ROOT / "Cargo.toml").read_text(encoding="utf-8"))
    if tag != f"v{version}":
        print(f"the tag is {tag}, and the version v{version}", file=sys.stderr)
        return 1
    notes = notes_of((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), version)
    if notes is None:
        print(f"CHANGELOG.md has no section of {version}", file=sys.stderr)
        return 1
    print(notes)
    return 0


def notes_of(changelog: str, version: str) -> str | None:
    """Return the section of a version without its heading.

    None if the changelog has no such section.
    """
    for heading, text in changelog_sections(changelog).items():
        if heading.startswith(f"[{version}] "):
            return text.strip()
    return None


if __name__ == "__main__":
    sys.exit(main())
