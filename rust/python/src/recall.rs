//! Recall of a memory root: the facts of files, and the recall itself.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hedgerow_engine::calendar::Time;
use hedgerow_engine::retrieval::Request;
use hedgerow_memory::facts::{Visibility, session_id};
use hedgerow_memory::recall::{
    Bound as TimeBound, ColumnCache, Evidence, Recall, RecallFilter, RecallHit, RecallRequest,
    columns, recall, recall_terms,
};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::errors;
use crate::found::PyFound;
use crate::index::PyIndex;
use crate::interrupt;
use crate::json;
use crate::search_options::{DatedQuery, Embedded, PySearchOptions, embedded};
use crate::searcher::{PySearcher, PyStop};
use crate::text::{Text, texts};
use crate::view::{PyView, validity, visibility};

/// The distinct lower-case tokens of a query, without stop words and single letters.
#[pyfunction]
pub fn _recall_terms(query: Text) -> Vec<String> {
    recall_terms(&query)
}

/// The columns of the files of a root's index, cached for its recalls.
#[pyclass(name = "_FileColumns", module = "hedgerow._engine", frozen)]
pub struct PyFileColumns(Arc<ColumnCache>);

#[pymethods]
impl PyFileColumns {
    #[new]
    fn new() -> Self {
        Self(Arc::default())
    }

    /// Return the view of the memories of a scope, with those of no scope if they are `shared`; of all memories
    /// without a scope.
    fn view(
        &self,
        py: Python<'_>,
        index: &Bound<'_, PyIndex>,
        scope: [Option<Text>; 3],
        shared: bool,
    ) -> PyResult<PyView> {
        let (index, visible) = (&index.get().index, visibility(scope, shared));
        errors::call_detached(py, || columns(index, &self.0, &visible)).map(PyView)
    }

    /// Return a Searcher that finds memories of a scope alone, and takes other spellings from them alone.
    fn searcher(
        &self,
        searcher: &Bound<'_, PySearcher>,
        scope: [Option<Text>; 3],
        shared: bool,
    ) -> PyResult<PySearcher> {
        let visible = visibility(scope, shared);
        searcher.get().within(Arc::clone(&self.0), visible)
    }
}

fn bound((moment, local): BoundTuple) -> TimeBound {
    TimeBound { moment, local }
}

/// A recall, searched in the place of a Searcher.
#[pyclass(name = "_Recall", module = "hedgerow._engine", frozen)]
pub struct PyRecall {
    columns: Arc<ColumnCache>,
    searcher: Py<PySearcher>,
    query: String,
    limit: usize,
    visible: Visibility,
    filter: RecallFilter,
    depths: HashMap<String, f64>,
    other_depth: f64,
    half_life: Option<i64>,
    with_evidence: bool,
    asked: Time,
    done: Mutex<Option<Recall>>,
}

/// Counts by their names.
type NamedCounts = Vec<(&'static str, usize)>;
/// The path, the number of the first chunk, the score, the first line and the text of a passage.
type EvidenceTuple = (String, i64, f64, i64, String);
/// The folder, the file and the text of a description.
type AboutTuple = (String, String, String);
/// Results, counts of files left out, descriptions of folders, and passages.
type Results<'py> = (
    Vec<Bound<'py, PyTuple>>,
    NamedCounts,
    Vec<AboutTuple>,
    Vec<String>,
    Vec<EvidenceTuple>,
);
/// A moment, and the same as a local time, in microseconds since 1970.
type BoundTuple = (i64, i64);

#[pymethods]
impl PyRecall {
    #[new]
    #[pyo3(signature = (columns, searcher, query, limit, *, types, tags, writers, after, before, scope, shared, at, was_known, include_superseded, depths, other_depth, half_life, with_evidence, asked))]
    #[allow(
        clippy::too_many_arguments,
        clippy::fn_params_excessive_bools,
        reason = "as many as a recall has"
    )]
    fn new(
        columns: &Bound<'_, PyFileColumns>,
        searcher: Py<PySearcher>,
        query: Text,
        limit: usize,
        types: Vec<Text>,
        tags: Vec<Text>,
        writers: Vec<Text>,
        after: Option<BoundTuple>,
        before: Option<BoundTuple>,
        scope: [Option<Text>; 3],
        shared: bool,
        at: i64,
        was_known: bool,
        include_superseded: bool,
        depths: HashMap<String, f64>,
        other_depth: f64,
        half_life: Option<i64>,
        with_evidence: bool,
        asked: (i64, i32),
    ) -> Self {
        Self {
            columns: Arc::clone(&columns.get().0),
            searcher,
            query: query.to_string(),
            limit,
            visible: visibility(scope, shared),
            filter: RecallFilter {
                types: texts(&types),
                tags: texts(&tags),
                writers: texts(&writers),
                after: after.map(bound),
                before: before.map(bound),
                at,
                was_known,
                include_superseded,
            },
            depths,
            other_depth,
            half_life,
            with_evidence,
            asked: Time {
                micros: asked.0,
                offset: asked.1,
            },
            done: Mutex::default(),
        }
    }

    /// Search as `Searcher.search` does, for one query. The Found has no hits: they are `results`.
    #[allow(clippy::too_many_arguments, reason = "those of Searcher.search")]
    fn search<'py>(
        &self,
        py: Python<'py>,
        queries: Vec<Text>,
        dated: Vec<Option<DatedQuery>>,
        vectors: &Bound<'py, PyAny>,
        embedder: Option<Text>,
        embed_seconds: f64,
        options: &Bound<'py, PySearchOptions>,
        _threads: NonZeroUsize,
        stop: &Bound<'py, PyStop>,
        _point_in_time: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let Some(query) = queries.first() else {
            return Ok(Vec::new());
        };
        let vector = embedded(vectors, 1)?.pop().unwrap_or(Embedded::Absent);
        if let Some(error) = vector.error(py) {
            return Ok(vec![error.into_value(py).into_bound(py).into_any()]);
        }
        let searcher = self.searcher.get();
        let index = searcher.index()?;
        let setup = searcher.setup(embedder.as_deref(), None)?;
        let dated = dated.first().and_then(Option::as_ref);
        let search = Request {
            today: Some(self.asked.day()),
            ..options.get().request(query, dated, &vector)
        };
        let request = RecallRequest {
            search,
            query: &self.query,
            limit: self.limit,
            visible: &self.visible,
            filter: &self.filter,
            depths: &self.depths,
            other_depth: self.other_depth,
            half_life: self.half_life,
            with_evidence: self.with_evidence,
            asked: self.asked,
        };
        let work = || {
            let done = errors::call_detached(py, || recall(index, &self.columns, &setup, &request));
            searcher.log(py);
            done
        };
        let mut done = match interrupt::stoppable(&stop.get().0, work) {
            Ok(done) => done,
            Err(error) => return Ok(vec![error.into_value(py).into_bound(py).into_any()]),
        };
        done.found.trace.timings.embed =
            Duration::try_from_secs_f64(embed_seconds).unwrap_or_default();
        let found = Bound::new(py, PyFound(done.found.clone()))?.into_any();
        *self.done.lock().unwrap_or_else(PoisonError::into_inner) = Some(done);
        Ok(vec![found])
    }

    /// Return the results of the search, each as a tuple; the number of files left out, by reason; what
    /// the folders of the results are about; the sentences about memories with several successors; and the passages of the
    /// files, if requested.
    fn results<'py>(&self, py: Python<'py>) -> PyResult<Results<'py>> {
        let done = self
            .done
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let Some(done) = done else {
            return Ok((Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new()));
        };
        let results = done
            .results
            .iter()
            .map(|one| result(py, one))
            .collect::<PyResult<_>>()?;
        let left_out = done
            .left_out
            .iter()
            .map(|(why, count)| (why.as_str(), *count));
        let evidence = done.evidence.into_iter().map(|one| {
            let Evidence {
                path,
                ordinal,
                score,
                line_start,
                text,
            } = one;
            (path, ordinal, score, line_start, text)
        });
        let about = (done.about.into_iter()).map(|one| (one.folder, one.file, one.text));
        Ok((
            results,
            left_out.collect(),
            about.collect(),
            done.divided,
            evidence.collect(),
        ))
    }
}

/// The id, snippet, file, lines, session, front matter, parts of the score, bucket and validity of a result.
fn result<'py>(py: Python<'py>, one: &RecallHit) -> PyResult<Bound<'py, PyTuple>> {
    let parts = &one.parts;
    let parts = (
        parts.retrieval,
        parts.exact_match,
        parts.metadata,
        parts.temporal,
        parts.strength,
        parts.provenance,
        parts.depth,
        parts.recency,
        one.weight,
    );
    let front_matter = one.front_matter().cloned().unwrap_or_default();
    (
        &one.id,
        &one.snippet,
        &one.texts.path,
        one.lines,
        session_id(&front_matter),
        json::dict(py, &front_matter)?,
        parts,
        &one.bucket,
        validity(py, &one.validity)?,
    )
        .into_pyobject(py)
}
