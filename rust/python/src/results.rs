//! The dataclasses of `hedgerow.results`, made from results of the engine.

use hedgerow_engine::retrieval::{Intent, SkippedReason, Stage, Trace, TrigramHit, Unanimity};
use hedgerow_graph::pipeline::{Cell, Outcome, Report};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString, PyTuple, PyType};

use crate::calling::{self, Arguments};

/// A class of `hedgerow.results`, imported when it is first needed.
struct ResultClass {
    name: &'static str,
    imported: PyOnceLock<Py<PyType>>,
}

impl ResultClass {
    const fn new(name: &'static str) -> Self {
        let imported = PyOnceLock::new();
        Self { name, imported }
    }

    fn new_instance<'py>(
        &self,
        py: Python<'py>,
        fields: impl Arguments<'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let class = self.imported.import(py, "hedgerow.results", self.name)?;
        calling::call(class, fields, None)
    }
}

static ATTEMPT: ResultClass = ResultClass::new("Attempt");
static INTENT: ResultClass = ResultClass::new("Intent");
static QUERY_RESULT: ResultClass = ResultClass::new("QueryResult");
static QUERY_STAGE: ResultClass = ResultClass::new("QueryStage");
static TRACE: ResultClass = ResultClass::new("Trace");
static TRIGRAM_HIT: ResultClass = ResultClass::new("TrigramHit");
static UNANIMITY: ResultClass = ResultClass::new("Unanimity");

pub fn intent(py: Python<'_>, intent: Intent) -> PyResult<Bound<'_, PyAny>> {
    INTENT.new_instance(py, (intent.preference, intent.concrete_fact))
}

pub fn unanimity<'py>(py: Python<'py>, found: &Unanimity) -> PyResult<Bound<'py, PyAny>> {
    UNANIMITY.new_instance(py, (PyTuple::new(py, &found.ids)?, found.agreements))
}

pub fn trigram_hit<'py>(py: Python<'py>, hit: &TrigramHit) -> PyResult<Bound<'py, PyAny>> {
    TRIGRAM_HIT.new_instance(py, (&hit.id, &hit.path, hit.similarity))
}

pub fn trace<'py>(py: Python<'py>, trace: &Trace) -> PyResult<Bound<'py, PyAny>> {
    let attempts = trace.attempts.iter().map(|attempt| {
        ATTEMPT.new_instance(
            py,
            (attempt.strategy.as_str(), &attempt.query, attempt.hits),
        )
    });
    let timings = PyDict::new(py);
    for (stage, milliseconds) in trace.timings.milliseconds() {
        timings.set_item(stage, milliseconds)?;
    }
    // More fields than Rust converts as one tuple.
    let fields: [Bound<'py, PyAny>; 31] = [
        trace.mode.as_str().into_pyobject(py)?.into_any(),
        trace.matching.as_str().into_pyobject(py)?.into_any(),
        trace.fusion.as_str().into_pyobject(py)?.into_any(),
        bool_object(py, trace.neighbors),
        bool_object(py, trace.speakers),
        bool_object(py, trace.dates),
        bool_object(py, trace.reweight),
        trace.group_by.as_deref().into_pyobject(py)?,
        (&trace.original_query).into_pyobject(py)?.into_any(),
        (trace.augmented_query.as_deref()).into_pyobject(py)?,
        (&trace.date_hints).into_pyobject(py)?.into_any(),
        (&trace.compiled_query).into_pyobject(py)?.into_any(),
        (&trace.match_query).into_pyobject(py)?.into_any(),
        (&trace.not_searched_for).into_pyobject(py)?.into_any(),
        (&trace.notices).into_pyobject(py)?.into_any(),
        trace.candidate_k.into_pyobject(py)?.into_any(),
        trace.rrf_k.into_pyobject(py)?.into_any(),
        (attempts.collect::<PyResult<Vec<_>>>()?).into_pyobject(py)?,
        trace.bm25_count.into_pyobject(py)?.into_any(),
        trace.vector_count.into_pyobject(py)?.into_any(),
        trace.fused_count.into_pyobject(py)?.into_any(),
        bool_object(py, trace.fell_back_to_bm25),
        bool_object(py, trace.embedder_used),
        bool_object(py, trace.reranked),
        (trace.rerank_provider.as_deref()).into_pyobject(py)?,
        trace.rerank_weight.into_pyobject(py)?,
        trace.unanimity.into_pyobject(py)?,
        (trace.rerank_skipped_reason.map(SkippedReason::as_str)).into_pyobject(py)?,
        (trace.error_stage.map(Stage::as_str)).into_pyobject(py)?,
        timings.into_any(),
        (trace.recency.map(|days| format!("{days}d"))).into_pyobject(py)?,
    ];
    TRACE.new_instance(py, PyTuple::new(py, fields)?)
}

fn bool_object(py: Python<'_>, flag: bool) -> Bound<'_, PyAny> {
    pyo3::types::PyBool::new(py, flag).to_owned().into_any()
}

pub fn query_result(py: Python<'_>, outcome: Outcome) -> PyResult<Bound<'_, PyAny>> {
    let row = |row: &Vec<Cell>| row.iter().map(|cell| value(py, cell)).collect();
    let rows: Option<Vec<Vec<Bound<'_, PyAny>>>> = outcome
        .rows
        .map(|rows| rows.iter().map(row).collect::<PyResult<_>>())
        .transpose()?;
    let stages = outcome.stages.iter().map(|stage| query_stage(py, stage));
    QUERY_RESULT.new_instance(
        py,
        (
            outcome.keys,
            outcome.scores,
            outcome.count,
            outcome.columns,
            rows,
            outcome.pairs,
            outcome.warnings,
            outcome.stale,
            stages.collect::<PyResult<Vec<_>>>()?,
        ),
    )
}

fn query_stage<'py>(py: Python<'py>, stage: &Report) -> PyResult<Bound<'py, PyAny>> {
    let milliseconds = stage.time.as_secs_f64() * 1e3;
    let (rows, candidates) = ((stage.rows_in, stage.rows_out), stage.candidates);
    QUERY_STAGE.new_instance(py, (&stage.name, rows.0, rows.1, candidates, milliseconds))
}

fn value<'py>(py: Python<'py>, cell: &Cell) -> PyResult<Bound<'py, PyAny>> {
    Ok(match cell {
        Cell::Text(text) => PyString::new(py, text).into_any(),
        Cell::Integer(number) => number.into_pyobject(py)?.into_any(),
        Cell::Real(number) => number.into_pyobject(py)?.into_any(),
    })
}
