"""The CI workflows: they are complete, have few permissions, and call existing targets."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from places import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))

pytestmark = pytest.mark.skipif(not WORKFLOWS, reason="a source distribution")


def read(file: Path) -> dict[str, Any]:
    return dict(YAML(typ="safe", pure=True).load(file.read_text(encoding="utf-8")))


def steps(workflow: dict[str, Any]) -> list[dict[str, Any]]:
    return [step for job in workflow["jobs"].values() for step in job.get("steps", [])]


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.stem)
def test_a_workflow_may_read_and_no_more_unless_a_job_says_so(file: Path) -> None:
    assert read(file)["permissions"] == {"contents": "read"}


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.stem)
def test_a_job_waits_for_jobs_that_there_are(file: Path) -> None:
    jobs = read(file)["jobs"]
    for job in jobs.values():
        needs = job.get("needs", [])
        assert set([needs] if isinstance(needs, str) else needs) <= set(jobs)


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.stem)
def test_what_a_workflow_calls_is_there(file: Path) -> None:
    workflow = read(file)
    for job in workflow["jobs"].values():
        if called := job.get("uses"):
            assert (ROOT / called).is_file()
            assert "workflow_call" in read(ROOT / called)["on"]
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for step in steps(workflow):
        command = step.get("run", "")
        assert set(re.findall(r"\bmake ([a-z-]+)", command)) <= targets
        for script in re.findall(r"\bscripts/\w+\.\w+", command):
            assert (ROOT / script).is_file()


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.stem)
def test_no_command_is_made_of_what_somebody_else_wrote(file: Path) -> None:
    """In `${{ }}` the shell would execute a tag name or a title. In `env` it is only text."""
    for step in steps(read(file)):
        assert not re.search(r"\$\{\{ *github\.(event|ref|head)", step.get("run", ""))


def test_only_the_job_that_publishes_may_sign_and_write() -> None:
    jobs = read(ROOT / ".github" / "workflows" / "release.yml")["jobs"]
    assert [name for name, job in jobs.items() if "permissions" in job] == ["publish"]
    assert jobs["publish"]["environment"] == "release"
    assert set(jobs["publish"]["needs"]) == {"wheels", "sdist"}


def test_no_wheel_takes_the_place_of_another() -> None:
    """Each wheel has a unique artifact name with its system, libc and interpreter."""
    wheel = read(ROOT / ".github" / "workflows" / "wheels.yml")["jobs"]["wheel"]
    [name] = [
        step["with"]["name"] for step in wheel["steps"] if "upload-artifact" in step.get("uses", "")
    ]
    keys = re.findall(r"matrix\.(\w+)", name)
    assert keys == ["os", "libc", "python"]
    kept = [tuple(map(one.get, keys)) for one in wheel["strategy"]["matrix"]["include"]]
    assert len(kept) == len(set(kept))


def test_every_template_of_an_issue_asks_for_something() -> None:
    forms = [
        read(file)
        for file in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")
        if file.stem != "config"
    ]
    assert forms
    for form in forms:
        assert form["name"]
        assert form["description"]
        asked = [one for one in form["body"] if one["type"] != "markdown"]
        assert any(one["validations"]["required"] for one in asked if "validations" in one)
