"""Small models in folders, ONNX and static tables, and packages that ship a model."""

from __future__ import annotations

import json
import struct
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

WORDS = ["[PAD]", "[UNK]", "oak", "elm", "hedge", "winter", "##s", "bird"]


class Tokenizer:
    """Like tokenizers.Tokenizer: each word is a token, between a start and an end token."""

    def __init__(self) -> None:
        self.most = 0

    @classmethod
    def from_file(cls, path: str) -> Tokenizer:
        json.loads(Path(path).read_text(encoding="utf-8"))
        return cls()

    def no_padding(self) -> None:
        """Do nothing: this tokenizer never pads."""

    def enable_truncation(self, max_length: int) -> None:
        self.most = max_length

    def encode(self, text: str, pair: str | None = None) -> Any:
        words = text.split() + ([] if pair is None else ["|", *pair.split()])
        ids = [1, *(2 + len(word) for word in words), 1]
        kept = ids[: self.most]
        return SimpleNamespace(
            ids=kept,
            attention_mask=[1] * len(kept),
            type_ids=[0] * len(kept),
            overflowing=[ids[self.most :]] if len(ids) > self.most else [],
        )


class Session:
    """Like onnxruntime.InferenceSession: the state of a token is (id, id squared, 1)."""

    def __init__(self, path: str, options: Any, *, providers: list[str]) -> None:
        assert providers == ["CPUExecutionProvider"]
        assert isinstance(options, SessionOptions)
        self.kind = Path(path).read_text(encoding="utf-8")
        if self.kind == "broken":
            raise ValueError("not a model")
        self.calls: list[dict[str, Any]] = []

    def get_inputs(self) -> list[Any]:
        return [SimpleNamespace(name=name) for name in ("input_ids", "attention_mask")]

    def run(self, names: None, given: dict[str, Any]) -> list[Any]:
        assert names is None
        assert set(given) == {"input_ids", "attention_mask"}
        self.calls.append(given)
        ids = given["input_ids"].astype(np.float32)
        states = np.stack([ids, ids**2, np.ones_like(ids)], axis=-1)
        if self.kind == "pooled":
            return [states.sum(axis=1)]
        if self.kind == "scores":
            return [ids.sum(axis=1, keepdims=True)]
        return [states]


class SessionOptions:
    log_severity_level = 2

    def add_session_config_entry(self, key: str, value: str) -> None:
        assert (key, value) == ("session.intra_op.allow_spinning", "0")


@pytest.fixture
def onnx_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace onnxruntime and tokenizers by the doubles above."""
    for name, attributes in [
        ("onnxruntime", {"InferenceSession": Session, "SessionOptions": SessionOptions}),
        ("tokenizers", {"Tokenizer": Tokenizer}),
    ]:
        module = ModuleType(name)
        vars(module).update(attributes)
        monkeypatch.setitem(sys.modules, name, module)


def onnx_folder(folder: Path, kind: str = "states", **settings: Any) -> Path:
    """Return a folder for `onnx:` with the doubles, with settings if given."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_text(kind, encoding="utf-8")
    (folder / "tokenizer.json").write_text("{}", encoding="utf-8")
    if settings:
        text = json.dumps(settings)
        (folder / "hedgerow-model.json").write_text(text, encoding="utf-8")
    return folder


def install_model(site: Path, name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate the installation of a package that ships this model."""
    module = "ships_" + name.replace("-", "_").replace(".", "_")
    info = site / f"{module}-1.0.dist-info"
    info.mkdir(parents=True)
    (site / f"{module}.py").write_text(f"def folder():\n    return {str(folder)!r}\n")
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[hedgerow.models]\n{name} = {module}:folder\n")
    sys.modules.pop(module, None)  # remove the module of another test
    monkeypatch.syspath_prepend(str(site))


def static_folder(folder: Path, *, kind: str = "I8") -> Path:
    """Return a table of `WORDS` in model2vec's format. The vector of word n is (n, 1, -n)."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [[n, 1, -n] for n in range(len(WORDS))]
    numbers = np.array(rows, {"I8": np.int8, "F16": np.float16, "F32": np.float32}[kind])
    data = numbers.tobytes()
    entry = {"dtype": kind, "shape": [len(WORDS), 3], "data_offsets": [0, len(data)]}
    header = json.dumps({"embeddings": entry}).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + data)
    tokenizer = {
        "normalizer": {"type": "BertNormalizer", "lowercase": True, "strip_accents": None},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "vocab": {word: position for position, word in enumerate(WORDS)},
        },
    }
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")
    return folder
