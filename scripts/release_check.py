"""List what is missing for a release: see `make release-check`.

    python scripts/release_check.py WHEELHOUSE

Checks the tree, the version and its section in CHANGELOG.md, the newest wheel in the folder, and a
source distribution that it builds. Prints every problem, and fails if there is one.
"""

from __future__ import annotations

import email.message
import email.parser
import json
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
URLS = {"Homepage", "Documentation", "Source", "Changelog", "Issues"}
SDIST_NEEDS = {"Cargo.lock", "Cargo.toml", "LICENSE", "PKG-INFO", "README.md", "pyproject.toml"}
SDIST_FOLDERS = {"python", "rust"}


def main() -> int:
    """Print every problem of the tree, the wheel and the source distribution.

    Return 1 if there are any.
    """
    wheels = sorted(Path(sys.argv[1]).glob("hedgerow-*.whl"), key=lambda one: one.stat().st_mtime)
    if not wheels:
        print(f"there is no wheel in {sys.argv[1]}; make one with: make wheels")
        return 1
    version = workspace_version((ROOT / "Cargo.toml").read_text(encoding="utf-8"))
    tracked = git("ls-files", "python/hedgerow").split()
    with tempfile.TemporaryDirectory() as folder:
        sdist = made_sdist(Path(folder))
        problems = [
            *tree_problems(git("status", "--porcelain")),
            *changelog_problems((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), version),
            *wheel_problems(wheels[-1], version, tracked),
            *sdist_problems(sdist, version),
            *run_problems("twine", "check", "--strict", str(wheels[-1]), str(sdist)),
        ]
    problems += run_problems(str(ROOT / "scripts/third_party_licenses.py"), "--check")
    for problem in problems:
        print(f"- {problem}")
    print(f"{version}: {f'{len(problems)} problems' if problems else 'ready to be released'}")
    return int(bool(problems))


def workspace_version(manifest: str) -> str:
    """Return the version of the workspace, from which the wheel takes its own."""
    [version] = re.findall(r'^version = "(.*)"', manifest, re.MULTILINE)
    return str(version)


def git(*arguments: str) -> str:
    """Return the output of a git command."""
    done = subprocess.run(
        ["git", *arguments],  # noqa: S607 - the one in PATH
        cwd=ROOT, check=True, stdout=subprocess.PIPE, encoding="utf-8",
    )  # fmt: skip
    return done.stdout


def tree_problems(status: str) -> list[str]:
    """Return a problem for each uncommitted file."""
    return [f"not committed: {line[3:]}" for line in status.splitlines()]


def changelog_problems(text: str, version: str) -> list[str]:
    """Return the problems of the changelog: no dated section, or unreleased changes."""
    sections = changelog_sections(text)
    problems = []
    if not any(
        re.fullmatch(rf"\[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d", one) for one in sections
    ):
        problems.append(f"CHANGELOG.md has no section of the version: ## [{version}] - YYYY-MM-DD")
    if sections.get("[Unreleased]", "").strip():
        problems.append(f"CHANGELOG.md has unreleased changes; they belong to [{version}]")
    return problems


def changelog_sections(text: str) -> dict[str, str]:
    """Return the sections of a changelog by their headings, such as `[1.2.3] - 2026-04-18`."""
    return dict(re.findall(r"^## (\[.*)\n((?:(?!## ).*\n?)*)", text, re.MULTILINE))


def wheel_problems(wheel: Path, version: str, tracked: list[str]) -> list[str]:
    """Return the missing and unexpected files of the wheel, and the problems of its metadata."""
    with zipfile.ZipFile(wheel) as archive:
        names = {one for one in archive.namelist() if not one.endswith("/")}
        about = f"hedgerow-{version}.dist-info"
        if f"{about}/METADATA" not in names:
            return [f"{wheel.name} is not of version {version}; make it with: make wheels"]
        metadata = email.parser.Parser().parsestr(archive.read(f"{about}/METADATA").decode())
        sboms = [archive.read(one) for one in names if one.startswith(f"{about}/sboms/")]
        licenses = f"{about}/licenses/THIRD-PARTY-LICENSES"
        texts = archive.read(licenses).decode() if licenses in names else ""
    wanted = {one.removeprefix("python/") for one in tracked} | {
        f"{about}/licenses/LICENSE",
        licenses,
    }
    modules = {one for one in names if re.fullmatch(r"hedgerow/_engine\.(abi3\.so|pyd)", one)}
    more = {one for one in names - wanted - modules if not one.startswith(f"{about}/")}
    return [
        *(f"the wheel lacks {one}" for one in sorted(wanted - names)),
        *(f"the wheel has {one}, which is not in git" for one in sorted(more)),
        *([] if modules else ["the wheel lacks the compiled module, hedgerow/_engine"]),
        *metadata_problems(metadata),
        *sbom_problems(sboms, texts),
    ]


def metadata_problems(metadata: email.message.Message) -> list[str]:
    """Return a problem if `[project.urls]` in pyproject.toml lacks an address."""
    said = {one.split(",")[0] for one in metadata.get_all("Project-URL") or []}
    lacks = ", ".join(sorted(URLS - said))
    return [f"pyproject.toml says no address under [project.urls] for: {lacks}"] if lacks else []


def sbom_problems(sboms: list[bytes], texts: str) -> list[str]:
    """Check that the wheel has one SBOM, which names every crate in the license file.

    The SBOM also names build dependencies and crates that no platform links.
    """
    if len(sboms) != 1:
        return [f"the wheel has {len(sboms)} SBOMs, and not one"]
    sbom = json.loads(sboms[0])
    if sbom.get("bomFormat") != "CycloneDX":
        return ["the SBOM of the wheel is not of CycloneDX"]
    named = {f"{one['name']} {one['version']}" for one in sbom["components"]}
    linked = re.findall(r"^([\w-]+ \d\S*): ", texts, re.MULTILINE)
    return [f"the SBOM of the wheel lacks {one}" for one in linked if one not in named]


def made_sdist(folder: Path) -> Path:
    """Build a source distribution in the folder."""
    maturin = Path(sys.executable).with_name("maturin")
    command = [str(maturin), "sdist", "--manifest-path", "rust/python/Cargo.toml"]
    subprocess.run([*command, "--out", str(folder)], cwd=ROOT, check=True, capture_output=True)
    [made] = folder.glob("*.tar.gz")
    return made


def sdist_problems(sdist: Path, version: str) -> list[str]:
    """Return the missing files and the unexpected folders of the source distribution."""
    with tarfile.open(sdist) as archive:
        names = [one.name.split("/", 1) for one in archive if one.isfile()]
    if {first for first, _ in names} != {f"hedgerow-{version}"}:
        return [f"{sdist.name} is not of version {version}"]
    files = {rest for _, rest in names}
    wanted = SDIST_NEEDS | {"THIRD-PARTY-LICENSES"}
    folders = {one.split("/")[0] for one in files if "/" in one}
    return [
        *(f"the source distribution lacks {one}" for one in sorted(wanted - files)),
        *(f"the source distribution has {one}/" for one in sorted(folders - SDIST_FOLDERS)),
    ]


def run_problems(*command: str) -> list[str]:
    """Run a Python module or script.

    Return its output as one problem if it fails, else an empty list.
    """
    how = [] if command[0].endswith(".py") else ["-m"]
    done = subprocess.run(
        [sys.executable, *how, *command], cwd=ROOT, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8",
    )  # fmt: skip
    return [" ".join(done.stdout.split())] if done.returncode else []


if __name__ == "__main__":
    sys.exit(main())
