"""Collections on servers, as options of the command line name them."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import click

from .options import TEXT, option

if TYPE_CHECKING:
    from hedgerow.opensearch import Collection

_PASSWORD = "HEDGEROW_OPENSEARCH_PASSWORD"  # noqa: S105 - the name of the variable

F = TypeVar("F", bound=Callable[..., Any])


class CollectionUrl(click.ParamType):  # type: ignore[type-arg]  # not generic before click 8.2
    """A URL and, after its last slash, the name of a collection."""

    name = "text"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        """Split it; wrong usage where it is not one."""
        url, _, name = str(value).rpartition("/")
        if not name or url.endswith(("/", ":")) or "://" not in url:
            self.fail(
                f"{value!r} is not a URL with a name after it, as in https://search.example:9200/notes",
                param,
                ctx,
            )
        return url, name


def server_options(command: F) -> F:
    """Add `--user`, `--ca` and `--insecure-http`."""
    of_server = partial(option, section="OpenSearch server")
    for add in (
        of_server(
            "--insecure-http",
            is_flag=True,
            help="Send the password over plain HTTP to another machine.",
        ),
        of_server("--ca", type=TEXT, metavar="FILE", help="Certificates of authorities to trust."),
        of_server(
            "--user", type=TEXT, metavar="NAME", help=f"Its password is read from {_PASSWORD}."
        ),
    ):
        command = add(command)
    return command


def opened_collection(place: tuple[str, str], server: dict[str, Any]) -> Collection:
    """The collection of a URL and a name, by the options of `server_options`."""
    from hedgerow.opensearch import Collection  # noqa: PLC0415 - slow to import

    return Collection.open(*place, **connection(server))


def connection(server: dict[str, Any]) -> dict[str, Any]:
    """How to connect, by the options of `server_options`."""
    auth = None
    if server["user"] is not None:
        password = os.environ.get(_PASSWORD, "")
        if not password:
            raise click.UsageError(
                f"--user needs a password in the environment variable {_PASSWORD}."
            )
        auth = (server["user"], password)
    return {"auth": auth, "ca": server["ca"], "insecure_http": server["insecure_http"]}
