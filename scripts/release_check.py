"""Say what a release still lacks: see `make release-check`.

    python scripts/release_check.py WHEELHOUSE

Looks at the tree, at the version and its section of CHANGELOG.md, at the newest wheel in the folder, and at a
source distribution that it makes. Names everything that is wrong, and fails if there is anything.
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
    """Print every problem of the tree, the wheel and the source distribution; 1 if there is one."""
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
    """The one version there is; the wheel takes it from here."""
    [version] = re.findall(r'^version = "(.*)"', manifest, re.MULTILINE)
    return str(version)


def git(*arguments: str) -> str:
    """What git prints."""
    done = subprocess.run(
        ["git", *arguments],  # noqa: S607 - the one in PATH
        cwd=ROOT, check=True, stdout=subprocess.PIPE, encoding="utf-8",
    )  # fmt: skip
    return done.stdout


def tree_problems(status: str) -> list[str]:
    """What is not committed."""
    return [f"not committed: {line[3:]}" for line in status.splitlines()]


def changelog_problems(text: str, version: str) -> list[str]:
    """What the changelog lacks: a section of this version with its day, and nothing left unreleased."""
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
    """The sections of a changelog by their headings, such as `[1.2.3] - 2026-04-18`."""
    return dict(re.findall(r"^## (\[.*)\n((?:(?!## ).*\n?)*)", text, re.MULTILINE))


def wheel_problems(wheel: Path, version: str, tracked: list[str]) -> list[str]:
    """What the wheel lacks, what it has too much of, and what its metadata do not say."""
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
    """Which addresses are missing: `[project.urls]` of pyproject.toml."""
    said = {one.split(",")[0] for one in metadata.get_all("Project-URL") or []}
    lacks = ", ".join(sorted(URLS - said))
    return [f"pyproject.toml says no address under [project.urls] for: {lacks}"] if lacks else []


def sbom_problems(sboms: list[bytes], texts: str) -> list[str]:
    """Whether there is one SBOM, and whether it names every crate whose licence is in the wheel.

    It names more: what builds, and what no platform takes.
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
    """Make a source distribution in the folder."""
    maturin = Path(sys.executable).with_name("maturin")
    command = [str(maturin), "sdist", "--manifest-path", "rust/python/Cargo.toml"]
    subprocess.run([*command, "--out", str(folder)], cwd=ROOT, check=True, capture_output=True)
    [made] = folder.glob("*.tar.gz")
    return made


def sdist_problems(sdist: Path, version: str) -> list[str]:
    """What it lacks, and which folders it has beside those that it is built from."""
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
    """Run a module or a script of Python's; what it prints where it fails."""
    how = [] if command[0].endswith(".py") else ["-m"]
    done = subprocess.run(
        [sys.executable, *how, *command], cwd=ROOT, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8",
    )  # fmt: skip
    return [" ".join(done.stdout.split())] if done.returncode else []


if __name__ == "__main__":
    sys.exit(main())
