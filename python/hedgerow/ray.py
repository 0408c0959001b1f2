"""Ray Data: thousands of queries and more, searched by actors on one machine or many (docs/ray.md).

    import ray
    from hedgerow.ray import search_many

    questions = ray.data.read_parquet("questions/")
    answered = search_many("memory.db", questions, query_column="question", ranking=Ranking("best"))
    answered.write_parquet("answers/")

It needs the extra `ray`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Literal

from ._checks import checked_count, checked_text, shown
from ._extras import imports_of
from ._ray.plan import (
    Columns,
    Makers,
    Plan,
    RetrieverKeywords,
    checked_column,
    checked_fields,
    plan_of,
)
from .embedders.base import AnyEmbedder
from .errors import InvalidInputError
from .rerankers.base import Reranker
from .retriever import Retriever
from .typing import QuestionDate, Searchable, SearchKeywords

if sys.version_info >= (3, 11):
    from typing import Unpack
else:
    from typing_extensions import Unpack

with imports_of("ray", needed_by="hedgerow.ray"):
    import ray
    import ray.cloudpickle
    from ray.data import ActorPoolStrategy, Dataset

    from ._ray.actor import SearchActor

__all__ = ["BatchKeywords", "search_many"]
__dir__ = partial(sorted, __all__)


_CPUS = 0.9
_FIELDS = ("id", "path", "score", "bm25_rank", "vector_similarity", "rerank_score")


class BatchKeywords(RetrieverKeywords, SearchKeywords, total=False):
    """The options of `Retriever` and of its searches, which `search_many` hands on."""


def search_many(  # noqa: PLR0913 - each has its default
    index: Searchable | Retriever | str | os.PathLike[str],
    dataset: Dataset,
    *,
    query_column: str = "query",
    vector_column: str | None = None,
    date_column: str | None = None,
    question_date: QuestionDate | None = None,
    embedder: AnyEmbedder | None = None,
    make_embedder: Callable[[], AnyEmbedder] | None = None,
    reranker: Reranker | None = None,
    make_reranker: Callable[[], Reranker] | None = None,
    fields: Iterable[str] | Literal["all"] = _FIELDS,
    trace: bool = False,
    prefix: str = "",
    on_error: Literal["raise", "return"] = "raise",
    checkpoint_path: str | os.PathLike[str] | None = None,
    batch_size: int = 256,
    threads: int = 1,
    actors: int | tuple[int, int] | None = None,
    num_cpus: float = _CPUS,
    actor_options: Mapping[str, Any] | None = None,
    **options: Unpack[BatchKeywords],
) -> Dataset:
    """Return the rows of a dataset, each with the answer of `Retriever.search_many` to its query.

    `index` is the path of an index file or an open index, of which each actor opens the file for
    itself and only to read; a `Retriever`, with its options; or a collection, which pickles as its
    address. Every node must have the file at the same path, and nobody may write to it meanwhile.
    `options` are those of `Retriever` and of its `search`.

    `query_column` has the texts. `vector_column` has their vectors, null for keywords alone, in
    place of an embedder; `date_column` has their question dates, or `question_date` is one for all.
    `embedder` and `reranker` are pickled into each actor; `make_embedder` and `make_reranker` make
    them there, which suits models.

    The rows keep their columns and get, each with `prefix` before its name:

    - `results`: a list of hits, best first, with these `fields`, "all" for those of `Hit.to_dict`;
      `metadata` and `explanation` are texts of JSON;
    - `error`: null, or the `code` and the `message` of the failure: of the query, whose `results`
      are then null, or a leg without which it was answered;
    - `trace`, if it is true: `Trace.to_dict` without its timings, as a text of JSON.

    As all of Ray Data it is lazy: searches run, with Ray Data's progress bars, when the dataset
    that is returned is used. Rows keep their order within a block; blocks keep theirs with Ray's
    `execution_options.preserve_order`. `on_error` "raise" ends the run with Ray's error, whose text
    has ours as its cause; "return" puts the error of a query into its row.

    Complete answers are kept in the folder `checkpoint_path`, if given, which all nodes must see:
    after a run was killed, the same call finds them there.

    `batch_size` queries at a time are searched on `threads` threads in each actor. `actors` is how
    many there are, or the least and the most; if not given, from one to the number of CPUs. Each
    reserves `num_cpus`, and `actor_options` are further arguments of `Dataset.map_batches`, such as
    `{"num_gpus": 1}`. An actor that dies is started again, and its blocks are searched again.

    Raises InvalidInputError for wrong arguments, such as parts that do not pickle,
    and what `Index.open` and `Retriever` raise; all of that before anything runs. Importing this
    module raises MissingExtraError without the extra `ray`.
    """
    if not isinstance(dataset, Dataset):
        raise InvalidInputError(
            f"dataset must be a ray.data.Dataset, not {type(dataset).__name__}",
            code="invalid_option",
        )
    columns = Columns(
        checked_text(query_column, "query_column"),
        checked_column(vector_column, "vector_column"),
        checked_column(date_column, "date_column"),
        checked_fields(fields),
        trace,
        checked_text(prefix, "prefix"),
    )
    plan = plan_of(
        index,
        columns=columns,
        embedder=embedder,
        reranker=reranker,
        makers=Makers(make_embedder, make_reranker),
        question_date=question_date,
        threads=threads,
        on_error=on_error,
        batch_size=batch_size,
        checkpoint_path=checkpoint_path,
        options=options,
    )
    known = dataset.columns(fetch_if_missing=False)
    if known is not None:
        columns.check(known)
    further = dict(actor_options or {})
    # Whole blocks come to an actor, cut as they are: cut in the same way, they are in the checkpoint.
    # For actors with GPUs Ray Data insists on a number.
    size = {"batch_size": batch_size if further.get("num_gpus") else None}
    return dataset.map_batches(
        SearchActor,
        fn_constructor_args=(_pickled(plan),),
        batch_format="pyarrow",
        compute=_pool(actors, num_cpus),
        num_cpus=num_cpus,
        **{**size, **further},
    )


def _pool(actors: int | tuple[int, int] | None, num_cpus: float) -> ActorPoolStrategy:
    """The number of actors that Ray Data keeps."""
    if actors is None:
        # A pool begins with one actor. Making the blocks needs CPUs too, and a pool that reserves
        # all CPUs would wait for those blocks forever.
        known = ray.cluster_resources().get("CPU") if ray.is_initialized() else os.cpu_count()
        most = int((known or 1) / max(num_cpus, 1))
        return ActorPoolStrategy(min_size=1, max_size=max(1, most))
    if isinstance(actors, tuple):
        least, most = (checked_count(one, "actors") for one in actors)
        if least > most:
            raise InvalidInputError(
                f"actors must be the least and the most of them, not {shown(actors)}",
                code="invalid_option",
            )
        return ActorPoolStrategy(min_size=least, max_size=most)
    return ActorPoolStrategy(size=checked_count(actors, "actors"))


def _pickled(plan: Plan) -> bytes:
    """The plan as actors receive it; raises InvalidInputError for what cannot be sent."""
    try:
        pickled: bytes = ray.cloudpickle.dumps(plan)
    except InvalidInputError:
        raise
    except Exception as error:
        raise InvalidInputError(
            f"what actors are to search with cannot be pickled: {error}; have what does not pickle made "
            "in each actor, with make_embedder= or make_reranker=",
            code="not_picklable",
        ) from error
    return pickled
