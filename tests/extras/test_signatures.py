"""The doubles in the regular tests accept the arguments of the real libraries."""

from __future__ import annotations

import inspect
from typing import Any

import model2vec
import pytest
import sentence_transformers

import library_doubles


@pytest.mark.parametrize(
    ("double", "real"),
    [
        (library_doubles.SentenceTransformer, sentence_transformers.SentenceTransformer),
        (
            library_doubles.SentenceTransformer.encode,
            sentence_transformers.SentenceTransformer.encode,
        ),
        (
            library_doubles.PromptedTransformer.encode_query,
            sentence_transformers.SentenceTransformer.encode_query,
        ),
        (
            library_doubles.PromptedTransformer.encode_document,
            sentence_transformers.SentenceTransformer.encode_document,
        ),
        (library_doubles.CrossEncoder, sentence_transformers.CrossEncoder),
        (library_doubles.CrossEncoder.predict, sentence_transformers.CrossEncoder.predict),
        (library_doubles.StaticModel.from_pretrained, model2vec.StaticModel.from_pretrained),
        (library_doubles.StaticModel.encode, model2vec.StaticModel.encode),
    ],
)
def test_signatures(double: Any, real: Any) -> None:
    """Compare keyword arguments, except the first, which the library renames now and then."""
    parameters = inspect.signature(real).parameters
    first = next(name for name in parameters if name != "self")
    assert parameters[first].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    _, *by_keyword = [name for name in inspect.signature(double).parameters if name != "self"]
    assert set(by_keyword) <= set(parameters)
