"""A collection of chunks in OpenSearch."""

# A `Replacement` uses the private parts of two collections.
# ruff: noqa: SLF001
from __future__ import annotations

import sys
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, cast

from hedgerow._checks import (
    checked_count,
    checked_list,
    checked_seconds,
    checked_text,
    checked_texts,
    listed,
)
from hedgerow._engine import Chunk, Filters, SearchOptions, _chunks
from hedgerow._extras import imports_of
from hedgerow.errors import BackendError, InvalidInputError
from hedgerow.typing import (
    ChunkLike,
    FiltersLike,
    KeywordSearch,
    StopWords,
    Tokenizer,
    VectorSearch,
)

from ._address import Address, Auth
from ._documents import BLOCK, blocks, chunk_of, document_name
from ._filters import ALL, translated
from ._mapping import EXACT, SCHEMA, Fast, MappedCollection, Settings, body, described, index_name
from .stats import CollectionStats, problems, stats_of

if TYPE_CHECKING:
    from ._client import Client
    from ._point_in_time import PointInTime

if sys.version_info >= (3, 11):
    from typing import Self
else:
    from typing_extensions import Self

_TOKENIZERS = ("porter unicode61", "unicode61", "trigram")


class Collection:
    """Chunks in OpenSearch, written and searched as in an `Index` (spec/opensearch.md).

    Made by `Collection.create` and `Collection.open`. Threads may share one, and a forked child may
    go on with it. It pickles, unless it was given a password.
    """

    def __init__(
        self,
        client: Client,
        found: MappedCollection,
        *,
        fast: Fast = EXACT,
        allow_partial: bool = False,
    ) -> None:
        """Private: call `Collection.create` or `Collection.open`."""
        self._client = client
        self._found = found
        self._fast = fast
        self._allow_partial = allow_partial

    @staticmethod
    def create(  # noqa: PLR0913 - each has its default
        url: str,
        name: str,
        *,
        auth: Auth | None = None,
        ca: str | None = None,
        timeout: float = 30.0,
        insecure_http: bool = False,
        allow_partial: bool = False,
        dimensions: int | None = None,
        tokenizer: Tokenizer = "porter unicode61",
        stopwords: StopWords = "en+nl",
        vectors: VectorSearch = "exact",
        keywords: KeywordSearch = "exact",
        shards: int = 1,
        replicas: int = 1,
    ) -> Collection:
        """Make a collection of this name at the server, and open it.

        `auth` is a user and a password, or a function that returns them, `ca` a file with the
        certificates of authorities to trust, `timeout` the seconds for a call: a whole search, or
        each request of a write. Certificates are always checked, and a password is sent without TLS
        only to this machine, or with `insecure_http`. With `allow_partial` searches leave out
        shards that do not answer, and their traces name them. `tokenizer` and `stopwords` are those
        of `Index.open`, and cannot be changed later. With `vectors="fast"` the server keeps a
        graph, with which it finds most of the nearest sooner; `keywords="fast"` lets it leave out,
        by its own BM25, most chunks that hold common words alone. The hits of both are scored
        exactly. With `replicas=0` a server that is lost takes its part of the collection with it.

        Raises BackendError with the code `collection_exists` if the name is taken,
        InvalidInputError for options that cannot be used, and MissingExtraError without
        opensearch-py.
        """
        chosen = Settings(
            tokenizer=_checked_tokenizer(tokenizer),
            stopwords=_stopwords(stopwords),
            vectors=_way(vectors, "vectors"),
            keywords=_way(keywords, "keywords"),
        )
        if dimensions is not None:
            checked_count(dimensions, "dimensions")
        checked_count(shards, "shards")
        checked_count(replicas, "replicas", least=0)
        client = _client(Address(url, auth, ca, insecure_http), name, timeout)
        wanted = body(chosen, dimensions, shards, replicas)
        wanted["aliases"] = {name: {}}
        if client.call("HEAD", client.path(), ignore=(404,)):
            raise client.exists_already()
        client.call("PUT", client.path(of=index_name(name)), wanted)
        return Collection._found_at(client, None, None, allow_partial=allow_partial)

    @staticmethod
    def open(  # noqa: PLR0913 - each has its default
        url: str,
        name: str,
        *,
        auth: Auth | None = None,
        ca: str | None = None,
        timeout: float = 30.0,
        insecure_http: bool = False,
        allow_partial: bool = False,
        vectors: VectorSearch | None = None,
        keywords: KeywordSearch | None = None,
    ) -> Collection:
        """Open the collection of this name; the arguments are those of `create`.

        `vectors="exact"` compares a query with every vector, and `keywords="exact"` with every chunk
        that matches, even if the collection was made for "fast". A collection of an earlier version of
        hedgerow is copied into a new index first, and cannot be written to meanwhile.

        Raises BackendError with the code `collection_missing` where there is none of this name,
        `schema_newer` where a newer hedgerow made it, and InvalidInputError for "fast" where it was
        not made for that.
        """
        ways = [
            None if way is None else _way(way, option)
            for way, option in ((vectors, "vectors"), (keywords, "keywords"))
        ]
        client = _client(Address(url, auth, ca, insecure_http), name, timeout)
        return Collection._found_at(client, *ways, allow_partial=allow_partial)

    @staticmethod
    def _found_at(
        client: Client,
        vectors: VectorSearch | None,
        keywords: KeywordSearch | None,
        *,
        allow_partial: bool,
    ) -> Collection:
        found = described(client.name, client.call("GET", client.path("/_mapping")))
        if found.settings.schema < SCHEMA:
            from ._replacing import migrated  # noqa: PLC0415 - needs the extra

            found = migrated(client, found)
        fast = found.settings.fast
        for option, way, possible in (
            ("vectors", vectors, fast.vectors),
            ("keywords", keywords, fast.keywords),
        ):
            if way == "fast" and not possible:
                raise InvalidInputError(
                    f'{option}="fast" is for a collection that was made with it; make one, and copy this',
                    code="incompatible_options",
                )
        fast = Fast(fast.vectors and vectors != "exact", fast.keywords and keywords != "exact")
        return Collection(client, found, fast=fast, allow_partial=allow_partial)

    @property
    def name(self) -> str:
        """The name under which the collection was opened."""
        return self._client.name

    @property
    def url(self) -> str:
        """Where its server is."""
        return self._client.address.url

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of the texts."""
        return cast("Tokenizer", self._found.settings.tokenizer)

    @property
    def stopwords(self) -> Literal["en+nl", "en", "nl", "none"] | frozenset[str]:
        """The stop words of queries without operators."""
        kept = self._found.settings.stopwords
        if kept in _STOPWORDS:
            return kept  # type: ignore[return-value] # one of the four
        return frozenset(kept.split("\n")) - {""}

    @property
    def dimensions(self) -> int | None:
        """The number of dimensions of the vectors; None before the first."""
        return self._found.dimensions

    def upsert(self, chunks: Iterable[ChunkLike], *, refresh: bool = True) -> int:
        """Write chunks, each in the place of the one of its id.

        Returns the number of different ids.

        When this returns, the chunks are on disk at every copy of their shard, and searches find
        them; with `refresh=False` they do within a second, which is faster for many small calls. A
        chunk without an embedding keeps the vector stored for it, as in an `Index`.

        Unlike in an `Index`, a failure keeps earlier writes: writing all again is safe. Raises
        BackendError with the code `bulk_refused` and the ids in its `refused` when chunks could not
        be written, InvalidInputError for anything that is not a chunk.
        """
        return self._upsert_from(_chunks(listed(chunks)), refresh=refresh)

    def delete(
        self,
        ids: Iterable[str] | None = None,
        *,
        where: FiltersLike | None = None,
        refresh: bool = True,
    ) -> int:
        """Remove the chunks of these ids, or those that pass `where`, a filter; returns the number of removed chunks.

        As in an `Index`, but not in one transaction: of a filter, it removes the chunks that passed when
        it began, and a failure leaves some of them removed.
        """
        if (ids is None) == (where is None):
            raise InvalidInputError("delete takes ids or where, one of them", code="invalid_option")
        if ids is None:
            with self._passing(where, "delete") as moment:
                ids = moment.ids()
        names = dict.fromkeys(checked_list(ids, "ids", "invalid_id"))
        from ._writing import Bulk, Item  # noqa: PLC0415 - needs the extra

        items = [Item(id, {"delete": {"_id": document_name(id)}}) for id in names]  # noqa: A001
        done = Bulk(self._client, self.name, require_alias=True).write(items).done
        if refresh and items:
            self._refresh()
        return done

    def delete_path(self, path: str) -> int:
        """Remove every chunk of a path; return the number of removed chunks."""
        checked_text(path, "path")
        self._refresh()
        with self._point_in_time(Filters(paths=[path])) as moment:
            return self.delete([found for found, _, _ in moment.in_paths([path])])

    def get(self, id: str) -> Chunk | None:  # noqa: A002 - it is what it is called
        """The chunk of an id, with its vector; None where there is none."""
        checked_text(id, "id")
        self._refresh()
        with self._point_in_time() as moment:
            return next(moment.whole_chunks({"term": {"id": id}}), None)

    def update(
        self,
        where: FiltersLike,
        *,
        metadata: Mapping[str, Any] | None = None,
        tags: Sequence[str] | None = None,
    ) -> int:
        """Change metadata and tags of the chunks that pass a filter; returns the number that passed.

        As in an `Index`, but not in one transaction: a failure leaves some of them changed, and a chunk
        that is written at the same time is overwritten.
        """
        if not metadata and tags is None:
            raise InvalidInputError(
                "update changes nothing: name metadata or tags", code="invalid_option"
            )
        changed = 0
        with self._passing(where, "update") as moment:
            for block in blocks(moment.whole_chunks()):
                changed += len(block)
                self._upsert_from([_updated(one, metadata or {}, tags) for one in block])
        return changed

    def get_many(self, ids: Iterable[str]) -> list[Chunk | None]:
        """The chunks of these ids, with their vectors, in their order; None for an id without a chunk."""
        names = checked_list(ids, "ids", "invalid_id")
        self._refresh()
        found: dict[str, Chunk] = {}
        with self._point_in_time() as moment:
            for block in blocks(dict.fromkeys(names)):
                query = {"terms": {"id": block}}
                found |= {chunk.id: chunk for chunk in moment.whole_chunks(query)}
        return [found.get(name) for name in names]

    def peek(self, limit: int = 10) -> list[Chunk]:
        """The first `limit` chunks in the order of ids, with their vectors."""
        checked_count(limit, "limit")
        return list(islice(self.chunks(), limit))

    def count(self, where: FiltersLike | None = None) -> int:
        """How many chunks pass `where`, a filter; all without one."""
        self._refresh()
        with self._point_in_time(_filters(where)) as moment:
            return moment.chunk_count()

    def chunks(self, where: FiltersLike | None = None) -> Iterator[Chunk]:
        """The chunks that pass `where`, a filter, in the order of ids, with their vectors.

        The iteration shows the collection as it was when it began.
        """
        filters = _filters(where)
        self._refresh()
        with self._point_in_time(filters) as moment:
            yield from moment.whole_chunks()

    def __iter__(self) -> Iterator[Chunk]:
        return self.chunks()

    def __contains__(self, id: object) -> bool:  # noqa: A002 - it is what it is called
        return isinstance(id, str) and self.get(id) is not None

    def __len__(self) -> int:
        self._refresh()
        return int(self._client.call("GET", self._client.path("/_count"))["count"])

    def differing(self, chunks: Sequence[Chunk]) -> list[Chunk]:
        """The chunks that searches do not find here as they are given, vectors included."""
        ids = [chunk.id for chunk in chunks]
        with self._point_in_time() as moment:
            there = {chunk.id: chunk for chunk in moment.whole_chunks({"terms": {"id": ids}})}
        return [chunk for chunk in chunks if there.get(chunk.id) != chunk]

    def stats(self) -> CollectionStats:
        """Return counts of the collection, and the state of its server."""
        self._refresh()
        return stats_of(self._client, self._current())

    def check(self) -> list[str]:
        """Read everything, and return a sentence for each problem; an empty list if all is well."""
        stats = self.stats()
        with self._point_in_time() as moment:
            return problems(self._found, self._mappings(), stats, moment)

    def optimize(self) -> None:
        """Merge each shard into one segment, which searches read in less time.

        For a collection that was filled and is now rarely written to. The server takes minutes for
        a large one, and continues if this call is interrupted.
        """
        self._client.merge()

    def close(self) -> None:
        """Close the connections; `with` does it too. Closing again does nothing."""
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Collection {self.name!r} at {self.url}>"

    def _passing(self, where: FiltersLike | None, verb: str) -> PointInTime:
        """What a write by filter reads; InvalidInputError for a filter that every chunk passes."""
        filters = _filters(where)
        if translated(filters).query in (None, ALL):
            raise InvalidInputError(
                f"where has no condition, so every chunk passes; name the chunks to {verb}, or all of them as "
                '{"id": {"$exists": true}}',
                code="invalid_filter",
            )
        self._refresh()
        return self._point_in_time(filters)

    def _point_in_time(
        self,
        filters: Filters | None = None,
        timeout: float | None = None,
        *,
        allow_partial: bool | None = None,
    ) -> PointInTime:
        """Return the state that a search reads, as of now."""
        from ._point_in_time import PointInTime  # noqa: PLC0415 - needs the extra

        if self._found.dimensions is None:
            self._current()
        partial = self._allow_partial if allow_partial is None else allow_partial
        while True:
            known = self._found
            try:
                return PointInTime(
                    self._client, known, filters, timeout, allow_partial=partial, fast=self._fast
                )
            except BackendError as error:
                # Another process put an index with new vectors in the place of the known one.
                if error.code != "collection_missing" or self._current().index == known.index:
                    raise

    def _upsert_from(
        self,
        chunks: Sequence[Chunk],
        embedder: str | None = None,
        details: str | None = None,
        *,
        refresh: bool = True,
    ) -> int:
        """`upsert`, of vectors that an embedder of this name made."""
        from ._writing import Writer  # noqa: PLC0415 - needs the extra

        last = {chunk.id: chunk for chunk in chunks}
        self._current()
        writer = Writer(self._client, self._found, embedder, details)
        try:
            writer.write(list(last.values()))
        finally:
            self._found = writer.collection
        if refresh and last:
            self._refresh()
        return len(last)

    def _unembedded(self, chunks: Sequence[Chunk]) -> list[int]:
        """The positions of the chunks that have no vector, and whose stored one is not of their texts."""
        from ._writing import Writer  # noqa: PLC0415 - needs the extra

        self._current()
        return Writer(self._client, self._found, None, None).unembedded(chunks)

    def _replacement(self, embedder: str | None, details: str | None) -> Replacement:
        """A copy of the collection for vectors of another embedder."""
        return Replacement(self, embedder, details)

    def _embedder_of(self) -> tuple[str | None, str | None, int | None]:
        """The embedder's name, its details, and the dimension of the vectors, each None if not known."""
        settings = self._current().settings
        return settings.embedder, settings.embedder_details, self._found.dimensions

    def _current(self) -> MappedCollection:
        """The collection as its mapping describes it now."""
        self._found = described(self.name, self._client.call("GET", self._client.path("/_mapping")))
        return self._found

    def _mappings(self) -> dict[str, Any]:
        """The mappings of the index behind the name."""
        (found,) = self._client.call("GET", self._client.path("/_mapping")).values()
        mappings: dict[str, Any] = found["mappings"]
        return mappings

    def _refresh(self) -> None:
        """Make written chunks visible to searches."""
        self._client.refresh()

    def __reduce__(self) -> tuple[Any, ...]:
        return (_reopened, (self._client, self._found, self._fast, self._allow_partial))


class Replacement:
    """A copy of a collection, with new vectors, that takes its place (spec/opensearch.md, "Re-embedding").

    Searches and writes continue in the collection while the copy is filled. Only for the last
    comparison of both, writes are refused. Call `store` with each of `pages` before the next one,
    then `finish`, and `close` in any case.
    """

    def __init__(self, collection: Collection, embedder: str | None, details: str | None) -> None:
        """Begin a copy, or continue an earlier one with vectors of an embedder of the same name."""
        from ._replacing import begun  # noqa: PLC0415 - needs the extra

        self._collection = collection
        self._client = collection._client
        self._old = collection._current()
        self._is_blocked = False
        self._copy = Collection(*begun(self._client, self._old, embedder, details))
        self.stored = len(self._copy)
        self.waiting = len(collection)

    def pages(self, limit: int) -> Iterator[list[Chunk]]:
        """The chunks that the copy lacks, or has otherwise, in lists of at most `limit`, without vectors."""
        changed = yield from self._differing(limit)
        while changed > BLOCK:
            before = changed
            changed = yield from self._differing(limit)
            if changed > before // 2:
                break
        self._is_blocked = True
        self._client.block_writes(self._old.index)
        yield from self._differing(limit)

    def store(self, chunks: Sequence[Chunk], rows: Sequence[Any]) -> int:
        """Write chunks with their new vectors into the copy; returns the number of chunks."""
        given = [chunk._with_embedding(row) for chunk, row in zip(chunks, rows, strict=True)]
        settings = self._copy._found.settings
        return self._copy._upsert_from(
            given, settings.embedder, settings.embedder_details, refresh=False
        )

    def finish(self) -> int:
        """Put the copy in the place of the collection; returns the number of chunks.

        Raises BackendError if the copy does not have all of its chunks.
        """
        from ._replacing import check_complete, put_in_place  # noqa: PLC0415 - needs the extra

        with self._collection._point_in_time(allow_partial=False) as moment:
            kept = set(moment.ids())
        with self._copy._point_in_time() as moment:
            gone = [name for name in moment.ids() if name not in kept]
        self._copy.delete(gone)
        target = self._copy._found.index
        check_complete(target, len(self._copy), self._old.index, len(kept), "re-embed again")
        replacing = {"remove": {"index": target, "alias": self._copy.name}}
        self._collection._found = put_in_place(self._client, self._old.index, target, replacing)
        self._is_blocked = False
        return len(kept)

    def close(self) -> None:
        """Let the collection be written to again, unless it was replaced."""
        self._copy.close()
        if self._is_blocked:
            self._client.block_writes(self._old.index, is_blocked=False)

    def _differing(self, limit: int) -> Generator[list[Chunk], None, int]:
        """The chunks of one comparison of both; returns their number."""
        self._collection._refresh()
        self._copy._refresh()
        after, count = "", 0
        while True:
            # A state of its own for each block: an embedder may take longer than a server keeps one.
            with self._collection._point_in_time(allow_partial=False) as moment:
                hits = moment.everything(["id"], {"range": {"id": {"gt": after}}})
                block = [_own(hit) for hit in islice(hits, BLOCK)]
            if not block:
                return count
            after = block[-1]["id"]
            with self._copy._point_in_time() as moment:
                same = {"terms": {"id": [one["id"] for one in block]}}
                there = {hit["_source"]["id"]: _own(hit) for hit in moment.everything(["id"], same)}
            lacking = [chunk_of(one) for one in block if there.get(one["id"]) != one]
            count += len(lacking)
            for start in range(0, len(lacking), limit):
                yield lacking[start : start + limit]


def _own(hit: dict[str, Any]) -> dict[str, Any]:
    """The document of a hit, without what depends on its vector."""
    return {key: value for key, value in hit["_source"].items() if key != "vectorless"}


def _filters(where: FiltersLike | None) -> Filters | None:
    """Return a filter as `Filters`, which a search makes of it too."""
    if where is None or isinstance(where, Filters):
        return where
    return SearchOptions("auto", 1, 1, None, False, where, None, None, None).filters


def _updated(chunk: Chunk, metadata: Mapping[str, Any], tags: Sequence[str] | None) -> Chunk:
    """Return a chunk with other metadata and tags; keys whose value is None are removed."""
    removed = {key for key, value in metadata.items() if value is None}
    kept = {
        key: value for key, value in {**chunk.metadata, **metadata}.items() if key not in removed
    }
    return Chunk.from_dict(
        {
            **chunk.to_dict(),
            "metadata": kept,
            "tags": chunk.tags if tags is None else list(tags),
        }
    )


_STOPWORDS = ("en+nl", "en", "nl", "none")


def _stopwords(given: StopWords) -> str:
    """Stop words as they are kept: the name of a list, or the words, a line each."""
    if isinstance(given, str):
        return _checked_of(given, "stopwords", _STOPWORDS)
    return "\n".join(["", *sorted(set(checked_texts(listed(given), "stopwords")))])


def _way(given: Any, option: str) -> Literal["exact", "fast"]:
    return "fast" if _checked_of(given, option, ("exact", "fast")) == "fast" else "exact"


def _checked_tokenizer(tokenizer: Any) -> str:
    if tokenizer == "words":
        raise InvalidInputError(
            'a collection cannot have the tokenizer "words", whose tokens share positions, which the '
            'server does not take; use "porter unicode61" for languages with spaces between words, or '
            '"trigram"',
            code="unsupported_by_backend",
        )
    return _checked_of(tokenizer, "tokenizer", _TOKENIZERS)


def _checked_of(value: Any, option: str, values: Sequence[str]) -> str:
    if value not in values:
        *others, last = (f'"{each}"' for each in values)
        raise InvalidInputError(
            f"{option} must be {', '.join(others)} or {last}, not {value!r}", code="invalid_option"
        )
    return str(value)


def _client(address: Address, name: str, timeout: float) -> Client:
    checked_text(name, "name")
    seconds = checked_seconds(timeout, "timeout")
    address.parts()
    with imports_of("opensearch", needed_by="hedgerow.opensearch"):
        from ._client import Client  # noqa: PLC0415 - needs the extra
    return Client(address, name, seconds)


def _reopened(client: Client, found: MappedCollection, fast: Fast, partial: bool) -> Collection:
    return Collection(client, found, fast=fast, allow_partial=partial)
