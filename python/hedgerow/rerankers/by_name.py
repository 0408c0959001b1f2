"""Rerankers by name, for configuration files and command lines."""

from __future__ import annotations

from collections.abc import Callable

from hedgerow._adapters.local import is_onnx_folder
from hedgerow._checks import AdapterName, checked_adapter_name

from .base import Reranker


def _cross_encoder(named: AdapterName) -> Reranker:
    if is_onnx_folder(named.model):
        from .local import OnnxCrossEncoderReranker  # noqa: PLC0415 - needs its extra

        return OnnxCrossEncoderReranker(named.without_url())
    from .local import CrossEncoderReranker  # noqa: PLC0415 - needs its extra

    return CrossEncoderReranker(named.without_url())


def _tei(named: AdapterName) -> Reranker:
    from .inference_server import TEIReranker  # noqa: PLC0415 - needs its extra

    return TEIReranker(named.model)


_ADAPTERS: dict[str, Callable[[AdapterName], Reranker]] = {
    "cross-encoder": _cross_encoder,
    "tei": _tei,
}


def reranker_named(name: str) -> Reranker:
    """Return the reranker of a name: `cross-encoder:MODEL`, or `tei:URL` for a server.

    A folder with an ONNX file and without another library's weights is run with onnxruntime. Raises
    InvalidInputError for another name, and the errors of the adapter.
    """
    named = checked_adapter_name(name, "reranker", _ADAPTERS, example="tei:http://localhost:8080")
    return _ADAPTERS[named.adapter](named)
