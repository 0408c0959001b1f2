"""Addresses of servers: valid ones, and those rejected before any request."""

from __future__ import annotations

import pickle

import pytest

import hedgerow as hr
from hedgerow.opensearch import Collection
from hedgerow.opensearch._address import Address


def credentials() -> tuple[str, str]:
    return ("me", "s3cret")


@pytest.mark.parametrize(
    ("url", "options", "code", "message"),
    [
        ("localhost:9200", {}, "invalid_endpoint", "must begin with"),
        ("ftp://a", {}, "invalid_endpoint", "must begin with"),
        ("http://a:0", {}, "invalid_endpoint", "must begin with"),
        ("http://a:99999", {}, "invalid_endpoint", "must begin with"),
        ("https://a/?x=1", {}, "invalid_endpoint", "without a query"),
        ("https://me:s3cret@a", {}, "invalid_endpoint", "leave them out and pass auth"),
        ("http://a", {"auth": ("me", "s3cret")}, "invalid_endpoint", "use https, or pass insecure_http"),
        ("http://10.0.0.1", {"auth": credentials}, "invalid_endpoint", "for everybody to read"),
        ("http://a", {"ca": "ca.pem"}, "incompatible_options", "ca is for https"),
    ],
)  # fmt: skip
def test_what_is_refused(url, options, code, message):
    for make in (Collection.open, Collection.create):
        with pytest.raises(hr.InvalidInputError, match=message) as caught:
            make(url, "notes", **options)
        assert caught.value.code == code
        assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "options"),
    [
        ("http://127.0.0.1:9200", {"auth": credentials}),
        ("http://[::1]:9200", {"auth": credentials}),
        ("http://localhost", {"auth": credentials}),
        ("http://search.example", {}),
        ("http://search.example", {"auth": credentials, "insecure_http": True}),
        ("https://search.example/prefix", {"auth": credentials, "ca": "ca.pem"}),
    ],
)
def test_what_is_used(url, options):
    address = Address(url, **{"auth": None, "ca": None, "insecure_http": False, **options})
    assert address.parts().hostname in url
    assert repr(address) == f"<{url}>"


def test_a_password_is_not_pickled():
    given = Address("https://a", credentials, None, insecure_http=False)
    assert pickle.loads(pickle.dumps(given)) == given
    given = Address("https://a", ("me", "s3cret"), None, insecure_http=False)
    with pytest.raises(hr.InvalidInputError, match="pass auth a function") as caught:
        pickle.dumps(given)
    assert caught.value.code == "not_picklable"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tokenizer": "english"}, 'tokenizer must be "porter unicode61", "unicode61" or "trigram"'),
        ({"stopwords": "de"}, '"nl" or "none", not'),
        ({"vectors": "hnsw"}, 'vectors must be "exact" or "fast"'),
        ({"dimensions": 0}, "dimensions must be an integer of at least 1"),
        ({"shards": 0}, "shards must be an integer of at least 1"),
        ({"replicas": -1}, "replicas must be an integer of at least 0"),
        ({"timeout": 0}, "timeout must be a number of seconds above 0"),
    ],
)  # fmt: skip
def test_options(options, message):
    with pytest.raises(hr.InvalidInputError, match=message) as caught:
        Collection.create("http://localhost", "notes", **options)
    assert caught.value.code == "invalid_option"


def test_names_and_urls_are_texts():
    with pytest.raises(TypeError, match="url must be a str, not int"):
        Collection.open(1, "notes")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="name must be a str, not int"):
        Collection.open("http://localhost", 1)  # type: ignore[arg-type]


def test_the_tokenizer_of_an_index_is_refused():
    with pytest.raises(hr.InvalidInputError, match="whose tokens share positions") as caught:
        Collection.create("http://localhost", "notes", tokenizer="words")
    assert caught.value.code == "unsupported_by_backend"
