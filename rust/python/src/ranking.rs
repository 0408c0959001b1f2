//! Parts of ranking that are plain functions.

use hedgerow_engine::ErrorCode;
use hedgerow_engine::retrieval::unanimity::DEFAULT_AGREE_MIN;
use hedgerow_engine::retrieval::{self, Intent, fuse, retry};
use hedgerow_engine::text::{slug, trigram};
use pyo3::prelude::*;
use pyo3::types::PyFrozenSet;

use crate::errors;
use crate::hit::PyHit;
use crate::name;
use crate::results;
use crate::source::Source;
use crate::text::Text;
use crate::value::Argument;

/// Fuse several rankings into one list of Hit, best first (spec/retrieval.md, "Fusion").
///
/// `lists` holds lists of Candidate, Hit or mappings with their keys, each best first. A document,
/// known by its id, gets 1 / (k + position) from each list that has it, positions counted from 1;
/// `k` is any real number, and 60 where it is not above 0. The fields of the first list are kept;
/// later lists fill in missing ones. Ties go by path, then id, in UTF-16 order.
///
/// Raises InvalidInputError, naming the position, for lists or a `k` of another shape.
#[pyfunction]
#[pyo3(signature = (lists, k=None), text_signature = "(lists, k=60)")]
pub fn reciprocal_rank_fusion(
    py: Python<'_>,
    lists: &Bound<'_, PyAny>,
    k: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<PyHit>> {
    let lists = Source::lists("lists", lists)?;
    let argument = Argument {
        name: "k",
        code: ErrorCode::InvalidNumber,
    };
    let k = k.map_or(Ok(fuse::DEFAULT_K), |k| argument.real(k))?;
    let fused = errors::call_detached(py, || {
        let lists = lists.iter().map(|list| list.iter().map(Source::hit));
        retrieval::reciprocal_rank_fusion(lists, k)
    })?;
    Ok(fused.into_iter().map(PyHit::from).collect())
}

/// Whether two legs agree on the head: a Unanimity, or None (spec/retrieval.md, "Unanimity").
///
/// The first three of each leg's ids, best first, are compared position by position; at least
/// `agree_min` of them must agree, any real number. None also if a leg has fewer than three.
///
/// Raises InvalidInputError for ids that are not a list or tuple of str, and for an `agree_min`
/// that is not a number.
#[pyfunction]
#[pyo3(
    signature = (bm25_ids, vector_ids, agree_min=None),
    text_signature = "(bm25_ids, vector_ids, agree_min=2)"
)]
pub fn unanimity<'py>(
    py: Python<'py>,
    bm25_ids: &Bound<'py, PyAny>,
    vector_ids: &Bound<'py, PyAny>,
    agree_min: Option<&Bound<'py, PyAny>>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let ids = |name, ids| {
        let code = ErrorCode::InvalidId;
        Argument { name, code }.texts(ids)
    };
    let (bm25, vector) = (ids("bm25_ids", bm25_ids)?, ids("vector_ids", vector_ids)?);
    let argument = Argument {
        name: "agree_min",
        code: ErrorCode::InvalidNumber,
    };
    let agree_min = agree_min.map_or(Ok(DEFAULT_AGREE_MIN), |number| argument.real(number))?;
    let found = errors::call(|| Ok(retrieval::unanimity(&bm25, &vector, agree_min)))?;
    found
        .map(|found| results::unanimity(py, &found))
        .transpose()
}

/// The intent of a query, an Intent (spec/retrieval.md, "Intents").
///
/// The patterns are English; a query in another language has no intent.
#[pyfunction]
pub fn detect_intent(py: Python<'_>, query: Text<name::Query>) -> PyResult<Bound<'_, PyAny>> {
    results::intent(py, errors::call(|| Intent::detect(&query))?)
}

/// Return the hits with their scores multiplied by the intent of the query, best first
/// (spec/retrieval.md, "Multipliers").
///
/// `hits` are Hit, or mappings with their keys and a score. Equal scores keep their order. Without
/// an intent the hits are returned unchanged, sorted or not.
///
/// Raises InvalidInputError, naming the position, for hits of another shape.
#[pyfunction]
pub fn reweight(
    py: Python<'_>,
    query: Text<name::Query>,
    hits: &Bound<'_, PyAny>,
) -> PyResult<Vec<PyHit>> {
    let hits = Source::many("hits", hits, Source::with_score)?;
    let reweighted = errors::call_detached(py, || {
        let hits = hits.iter().map(|hit| hit.hit().clone()).collect();
        retrieval::reweight(Intent::detect(&query)?, hits)
    })?;
    Ok(reweighted
        .into_iter()
        .map(|one| PyHit::from(one.hit))
        .collect())
}

/// Return the text of a hit for a reranker (spec/retrieval.md, "Rerank text").
///
/// Its title and its summary, on a line each; the one of them it has; or its content on one line,
/// cut after 280 UTF-16 units. `hit` is a Hit, a Candidate or a mapping with their keys.
///
/// Raises InvalidInputError for anything else.
#[pyfunction]
pub fn rerank_text(hit: &Bound<'_, PyAny>) -> PyResult<String> {
    let source = Source::new("hit", hit)?;
    errors::call(|| Ok(retrieval::rerank_text(source.hit())))
}

/// The text with punctuation and symbols as spaces (spec/retrieval.md, "Retry ladder").
#[pyfunction]
pub fn sanitise_query(text: Text) -> PyResult<String> {
    errors::call(|| Ok(retry::sanitise_query(&text)))
}

/// The longest word the retry ladder would search for, or None (spec/retrieval.md).
#[pyfunction]
pub fn strongest_term(text: Text) -> PyResult<Option<String>> {
    errors::call(|| Ok(retry::strongest_term(&text)))
}

/// The distinct words the fuzzy rung compares with slugs (spec/retrieval.md).
#[pyfunction]
pub fn query_tokens(text: Text) -> PyResult<Vec<String>> {
    errors::call(|| Ok(retry::query_tokens(&text)))
}

/// The `$`-padded trigrams of every word, three UTF-16 units each (spec/retrieval.md).
///
/// A trigram that cuts a surrogate pair is not a text, and is left out.
#[pyfunction]
pub fn trigrams(py: Python<'_>, text: Text) -> PyResult<Bound<'_, PyFrozenSet>> {
    PyFrozenSet::new(py, errors::call(|| Ok(trigram::printable_grams(&text)))?)
}

/// The words of the last segment of a path, without `.md` (spec/retrieval.md).
#[pyfunction]
pub fn slug_text(path: Text<name::Path>) -> PyResult<String> {
    errors::call(|| Ok(slug::slug_text(&path)))
}
