"""A server with users and certificates: access, and no passwords in errors."""

from __future__ import annotations

import logging
import os
import pickle
import traceback
from collections.abc import Iterator

import pytest
import trustme

import hedgerow as hr
import opensearch_server
from hedgerow.opensearch import Collection
from opensearch_security import USER, Users
from opensearch_server import Node

PASSWORD = "Wrd-8f2k!Zq"  # noqa: S105 - of a server that lives as long as the test


def password_from_the_environment() -> tuple[str, str]:
    return USER, os.environ["HEDGEROW_TEST_PASSWORD"]


@pytest.fixture(scope="module")
def users(tmp_path_factory: pytest.TempPathFactory) -> Users:
    return Users(tmp_path_factory.mktemp("authority"), PASSWORD)


@pytest.fixture(scope="module")
def secure(users: Users) -> Iterator[Node]:
    with opensearch_server.cluster(security=users) as (node,):
        yield node


def test_a_password_over_a_connection_that_is_trusted(secure, users, name, monkeypatch):
    ca = str(users.ca)
    with Collection.create(
        secure.url, name, auth=(USER, PASSWORD), ca=ca, replicas=0
    ) as collection:
        collection.upsert([{"id": "a", "content": "oak", "embedding": [3, 4]}])
        assert collection.check() == []
    monkeypatch.setenv("HEDGEROW_TEST_PASSWORD", PASSWORD)
    with Collection.open(secure.url, name, auth=password_from_the_environment, ca=ca) as collection:
        pickled = pickle.dumps(collection)
        assert PASSWORD.encode() not in pickled
        with pickle.loads(pickled) as copy:
            assert len(copy) == 1


@pytest.mark.parametrize("auth", [None, (USER, "wrong"), ("nobody", PASSWORD)])
def test_others_are_refused(secure, users, name, auth):
    with pytest.raises(
        hr.BackendError, match="answered 401; check auth and what that user may do"
    ) as caught:
        Collection.create(secure.url, name, auth=auth, ca=str(users.ca))
    assert caught.value.code == "backend_refused"


def test_an_unknown_authority_is_not_trusted(secure, tmp_path, name):
    other = tmp_path / "other.pem"
    trustme.CA().cert_pem.write_to_path(other)
    for ca in [None, str(other)]:
        with pytest.raises(
            hr.BackendError, match="has a certificate that is not trusted"
        ) as caught:
            Collection.open(secure.url, name, auth=(USER, PASSWORD), ca=ca)
        assert caught.value.code == "backend_unavailable"


def test_another_host_name_is_not_trusted(tmp_path, name, monkeypatch):
    """The certificate of a server is valid only for its own name."""
    elsewhere = Users(tmp_path, PASSWORD)
    issued = elsewhere.authority.issue_cert("search.example")
    monkeypatch.setattr(elsewhere.authority, "issue_cert", lambda *_: issued)
    elsewhere.context.check_hostname = False
    with (
        opensearch_server.cluster(security=elsewhere) as (node,),
        pytest.raises(hr.BackendError, match="has a certificate that is not trusted"),
    ):
        Collection.open(node.url, name, auth=(USER, PASSWORD), ca=str(elsewhere.ca))


def test_no_password_is_shown(secure, users, name, caplog):
    caplog.set_level(logging.DEBUG)
    ca = str(users.ca)
    shown = []
    with Collection.create(
        secure.url, name, auth=(USER, PASSWORD), ca=ca, replicas=0
    ) as collection:
        collection.upsert([{"id": "a", "content": "oak"}])
        shown += [repr(collection), repr(vars(collection)), repr(collection.stats())]
        for wrong in [
            lambda: Collection.create(secure.url, name, auth=(USER, PASSWORD), ca=ca),
            lambda: Collection.open(secure.url, name, auth=(USER, PASSWORD)),
            lambda: Collection.open(secure.url, "none", auth=(USER, PASSWORD), ca=ca),
            lambda: Collection.open(secure.url, name, auth=("nobody", PASSWORD), ca=ca),
            lambda: collection._client.call("GET", "/_no/such/thing"),
            lambda: pickle.dumps(collection),
        ]:
            with pytest.raises(hr.HedgerowError) as caught:
                wrong()
            assert caught.value.__context__ is None
            shown += [str(caught.value), *traceback.format_exception(caught.value)]
        with collection._point_in_time() as moment:
            shown.append(repr(moment.report()))
    shown.append(caplog.text)
    secrets = [PASSWORD, users.header.removeprefix("Basic ").rstrip("=")]
    assert not [text for text in shown for secret in secrets if secret in text]
