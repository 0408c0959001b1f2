"""Write the licenses of the crates and data that are compiled into the wheel: THIRD-PARTY-LICENSES.

python scripts/third_party_licenses.py [--check]

`make licenses` runs it. The texts are those that the crates ship; equal texts are written once.
--check changes nothing, and fails if the file is out of date.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
FILE = ROOT / "THIRD-PARTY-LICENSES"
LICENSE_FILES = ("copying", "copyright", "licence", "license", "notice", "unlicense")
RULE = "-" * 80

ABOUT = """\
The compiled module of hedgerow contains the crates below, SQLite, which is bundled by libsqlite3-sys
and in the public domain, the standard library of Rust, which is licensed under MIT or Apache-2.0, and
names of months, weekdays and periods from the CLDR, which is named like a crate.
Each license text below is preceded by the names of its crates.
"""


def main() -> int:
    """Write or compare the file. Return 1 if --check finds a difference."""
    written = document([*crates(), names_of_the_calendar()])
    if sys.argv[1:] == ["--check"]:
        if FILE.exists() and FILE.read_text(encoding="utf-8") == written:
            return 0
        print(f"{FILE.name} is not that of Cargo.lock; write it with: make licenses")
        return 1
    FILE.write_text(written, encoding="utf-8", newline="\n")
    return 0


def crates() -> list[dict[str, str]]:
    """Return each crate that is linked on any platform: its name, version, license and manifest."""
    tree = cargo(
        "tree", "--package", "hedgerow-python", "--edges", "normal", "--target", "all",
        "--prefix", "none", "--no-dedupe", "--format", "{p}",
    )  # fmt: skip
    linked = {tuple(line.split()[:2]) for line in tree.splitlines()}
    packages = json.loads(cargo("metadata", "--format-version", "1"))["packages"]
    found = [
        one
        for one in packages
        if (one["name"], f"v{one['version']}") in linked and one["source"] is not None
    ]
    return sorted(found, key=lambda one: (one["name"], one["version"]))


def names_of_the_calendar() -> dict[str, str]:
    """Return the table of names from the CLDR as a crate. Its license is in its folder."""
    table = ROOT / "rust/engine/src/calendar/names.txt"
    _, name, version, license_, *_ = table.read_text(encoding="utf-8").split(maxsplit=4)
    return {
        "name": name,
        "version": version,
        "license": license_.strip("(),"),
        "manifest_path": str(table),
    }


def cargo(*arguments: str) -> str:
    """Return the output of a cargo command that must not change Cargo.lock."""
    command = ["cargo", *arguments, "--locked"]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, encoding="utf-8")
    return done.stdout


def document(found: list[dict[str, str]]) -> str:
    """Return the whole file: the list of crates, then each license text with its crates."""
    texts: dict[str, list[str]] = {}
    for crate in found:
        for text in license_texts(crate):
            texts.setdefault(text, []).append(f"{crate['name']} {crate['version']}")
    parts = [ABOUT, *(f"{one['name']} {one['version']}: {one['license']}\n" for one in found)]
    for text, users in texts.items():
        parts.append(f"\n{RULE}\n{', '.join(users)}\n{RULE}\n\n{text}\n")
    return "".join(parts)


def license_texts(crate: dict[str, str]) -> list[str]:
    """Return the license texts of a crate.

    If it ships none and allows Apache-2.0, return that text.
    """
    folder = Path(crate["manifest_path"]).parent
    files = sorted(one for one in folder.iterdir() if one.name.lower().startswith(LICENSE_FILES))
    texts = [one.read_text(encoding="utf-8") for one in files if one.is_file()]
    if not texts and "Apache-2.0" in crate["license"].split():
        texts = [(ROOT / "LICENSE").read_text(encoding="utf-8")]
    if not texts:
        sys.exit(f"{crate['name']} {crate['version']} brings no licence: {folder}")
    return ["\n".join(line.rstrip() for line in text.strip().splitlines()) for text in texts]


if __name__ == "__main__":
    sys.exit(main())
