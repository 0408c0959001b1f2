"""The doubles of the everyday tests take what the real libraries take."""

from __future__ import annotations

import inspect
from typing import Any

import model2vec
import pytest
import sentence_transformers

import doubles


@pytest.mark.parametrize(
    ("double", "real"),
    [
        (doubles.SentenceTransformer, sentence_transformers.SentenceTransformer),
        (doubles.SentenceTransformer.encode, sentence_transformers.SentenceTransformer.encode),
        (doubles.CrossEncoder, sentence_transformers.CrossEncoder),
        (doubles.CrossEncoder.predict, sentence_transformers.CrossEncoder.predict),
        (doubles.StaticModel.from_pretrained, model2vec.StaticModel.from_pretrained),
        (doubles.StaticModel.encode, model2vec.StaticModel.encode),
    ],
)
def test_signatures(double: Any, real: Any) -> None:
    """By keyword all but the first, whose name the library changes now and then."""
    parameters = inspect.signature(real).parameters
    first = next(name for name in parameters if name != "self")
    assert parameters[first].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    _, *by_keyword = [name for name in inspect.signature(double).parameters if name != "self"]
    assert set(by_keyword) <= set(parameters)
