"""The problems that `make release-check` finds in a tree, a wheel and a changelog."""

from __future__ import annotations

import importlib.util
import io
import json
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

from places import ROOT

pytestmark = pytest.mark.skipif(not (ROOT / "scripts").exists(), reason="a source distribution")

ABOUT = "hedgerow-1.2.3.dist-info"
TEXTS = "What the module is made of: see below.\nmemchr 2.8.3: Unlicense OR MIT\n"
SBOM = {"bomFormat": "CycloneDX", "components": [{"name": "memchr", "version": "2.8.3"}]}
METADATA = "".join(
    f"Project-URL: {label}, https://example.org/\n"
    for label in ("Homepage", "Documentation", "Source", "Changelog", "Issues")
)
WHOLE = {
    "hedgerow/__init__.py": "",
    "hedgerow/py.typed": "",
    "hedgerow/_engine.abi3.so": "",
    f"{ABOUT}/METADATA": METADATA,
    f"{ABOUT}/licenses/LICENSE": "",
    f"{ABOUT}/licenses/THIRD-PARTY-LICENSES": TEXTS,
    f"{ABOUT}/sboms/hedgerow.cyclonedx.json": json.dumps(SBOM),
}
TRACKED = ["python/hedgerow/__init__.py", "python/hedgerow/py.typed"]


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def check() -> ModuleType:
    return script("release_check")


def wheel_of(folder: Path, files: dict[str, str]) -> Path:
    path = folder / "hedgerow-1.2.3-cp310-abi3-linux_x86_64.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


def sdist_of(folder: Path, names: list[str]) -> Path:
    path = folder / "hedgerow-1.2.3.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name in names:
            archive.addfile(tarfile.TarInfo(name), io.BytesIO())
    return path


def test_a_whole_wheel_is_let_through(check: ModuleType, tmp_path: Path) -> None:
    assert check.wheel_problems(wheel_of(tmp_path, WHOLE), "1.2.3", TRACKED) == []


@pytest.mark.parametrize(
    ("without", "problem"),
    [
        ("hedgerow/py.typed", "the wheel lacks hedgerow/py.typed"),
        ("hedgerow/_engine.abi3.so", "the wheel lacks the compiled module, hedgerow/_engine"),
        (f"{ABOUT}/licenses/LICENSE", f"the wheel lacks {ABOUT}/licenses/LICENSE"),
        (f"{ABOUT}/sboms/hedgerow.cyclonedx.json", "the wheel has 0 SBOMs, and not one"),
        (
            f"{ABOUT}/METADATA",
            "hedgerow-1.2.3-cp310-abi3-linux_x86_64.whl is not of version 1.2.3; make it with: make wheels",
        ),
    ],
)
def test_what_a_wheel_lacks_is_named(
    check: ModuleType, tmp_path: Path, without: str, problem: str
) -> None:
    files = {name: text for name, text in WHOLE.items() if name != without}
    assert check.wheel_problems(wheel_of(tmp_path, files), "1.2.3", TRACKED) == [problem]


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"hedgerow/notes.txt": ""}, "the wheel has hedgerow/notes.txt, which is not in git"),
        (
            {f"{ABOUT}/METADATA": METADATA.replace("Issues", "Chat")},
            "pyproject.toml says no address under [project.urls] for: Issues",
        ),
        (
            {f"{ABOUT}/sboms/hedgerow.cyclonedx.json": '{"bomFormat": "SPDX"}'},
            "the SBOM of the wheel is not of CycloneDX",
        ),
        (
            {f"{ABOUT}/licenses/THIRD-PARTY-LICENSES": TEXTS + "itoa 1.0.18: MIT OR Apache-2.0\n"},
            "the SBOM of the wheel lacks itoa 1.0.18",
        ),
    ],
)
def test_what_is_wrong_in_a_wheel_is_named(
    check: ModuleType, tmp_path: Path, changed: dict[str, str], problem: str
) -> None:
    wheel = wheel_of(tmp_path, WHOLE | changed)
    assert check.wheel_problems(wheel, "1.2.3", TRACKED) == [problem]


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("# Changelog\n\n## [Unreleased]\n\n## [1.2.3] - 2026-01-02\n\n### Added\n\n- All.\n", []),
        (
            "## [Unreleased]\n\n## [1.2.3]\n\n- All.\n",
            ["CHANGELOG.md has no section of the version: ## [1.2.3] - YYYY-MM-DD"],
        ),
        (
            "## [Unreleased]\n\n### Added\n\n- More.\n\n## [1.2.3] - 2026-01-02\n",
            ["CHANGELOG.md has unreleased changes; they belong to [1.2.3]"],
        ),
    ],
)
def test_the_changelog(check: ModuleType, text: str, problems: list[str]) -> None:
    assert check.changelog_problems(text, "1.2.3") == problems


def test_the_notes_of_a_release_are_its_section_of_the_changelog(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(ROOT / "scripts")
    notes = script("release_notes")
    text = "## [Unreleased]\n\n## [1.2.3] - 2026-01-02\n\n### Added\n\n- All.\n\n## [1.2.2] - 2026-01-01\n\n- Less.\n"
    assert notes.notes_of(text, "1.2.3") == "### Added\n\n- All."
    assert notes.notes_of(text, "1.2") is None
    monkeypatch.setattr(sys, "argv", ["release_notes.py", "v9.9.9"])
    assert notes.main() == 1
    assert capsys.readouterr().err.startswith("the tag is v9.9.9, and the version v")


def test_the_links_of_the_readme_lead_to_the_tag(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.syspath_prepend(ROOT / "scripts")
    package = script("package_readme")
    text = "[![a](docs/a.svg)](docs/b.md#c) [d](https://example.org/d.md) [e](#e)"
    at = "https://example.org/hedgerow"
    assert package.absolute(text, at, "v1.2.3") == (
        f"[![a]({at}/raw/v1.2.3/docs/a.svg)]({at}/blob/v1.2.3/docs/b.md#c) "
        "[d](https://example.org/d.md) [e](#e)"
    )
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert not re.search(r"\]\((?!https:)", package.absolute(readme, at, "v1.2.3"))

    for name, content in {
        "README.md": "[a](b.md)\n",
        "Cargo.toml": 'version = "1.2.3"\n',
        "pyproject.toml": "",
    }.items():
        (tmp_path / name).write_text(content)
    monkeypatch.setattr(package, "ROOT", tmp_path)
    assert package.main() == 1
    assert capsys.readouterr().err == "pyproject.toml has no Source under [project.urls]\n"
    (tmp_path / "pyproject.toml").write_text(f'[project.urls]\nSource = "{at}/"\n')
    assert package.main() == 0
    assert (tmp_path / "README.md").read_text() == f"[a]({at}/blob/v1.2.3/b.md)\n"


def test_what_is_not_committed_is_named(check: ModuleType) -> None:
    assert check.tree_problems("") == []
    assert check.tree_problems(" M README.md\n?? new.py\n") == [
        "not committed: README.md",
        "not committed: new.py",
    ]


def test_a_source_distribution(check: ModuleType, tmp_path: Path) -> None:
    needed = [*check.SDIST_NEEDS, "THIRD-PARTY-LICENSES", "rust/engine/src/lib.rs"]
    whole = [f"hedgerow-1.2.3/{one}" for one in needed]
    assert check.sdist_problems(sdist_of(tmp_path, whole), "1.2.3") == []
    assert check.sdist_problems(sdist_of(tmp_path, whole), "1.2.4") == [
        "hedgerow-1.2.3.tar.gz is not of version 1.2.4"
    ]
    other = [one for one in whole if "Cargo.lock" not in one] + ["hedgerow-1.2.3/target/a"]
    assert check.sdist_problems(sdist_of(tmp_path, other), "1.2.3") == [
        "the source distribution lacks Cargo.lock",
        "the source distribution has target/",
    ]


def test_the_version_is_that_of_the_workspace(check: ModuleType) -> None:
    text = (ROOT / "Cargo.toml").read_text(encoding="utf-8")
    assert re.fullmatch(r"\d+\.\d+\.\d+", check.workspace_version(text))


def test_without_a_wheel_it_says_how_to_make_one(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "scripts/release_check.py"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (
        1,
        f"there is no wheel in {tmp_path}; make one with: make wheels\n",
    )


def test_the_licences_are_of_the_crates_in_cargo_lock() -> None:
    text = (ROOT / "THIRD-PARTY-LICENSES").read_text(encoding="utf-8")
    named = set(re.findall(r"^([\w-]+ \d\S*): ", text, re.MULTILINE))
    lock = (ROOT / "Cargo.lock").read_text(encoding="utf-8")
    locked = set(re.findall(r'^name = "(.*)"\nversion = "(.*)"$', lock, re.MULTILINE))
    assert len(named) > 40
    [data] = {one for one in named if one.startswith("CLDR ")}
    crates = {f"{name} {version}" for name, version in locked}
    assert named - {data} <= crates, "run: make licenses"
