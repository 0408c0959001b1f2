//! `QueryResult`: what a pipeline comes to.

use std::time::Duration;

use hedgerow_graph::pipeline::{Cell, Outcome, Report};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyInt, PyString};

/// What a pipeline came to (spec/pipeline.md, "Results").
///
/// `keys` and `scores` are the nodes in order, each list new. After `count` there are none, and
/// `count` is how many there are; after `select` there are `columns` and `rows` besides, which are
/// None otherwise. `pairs` holds (key, key, similarity) after interference-pairs. `warnings` says
/// what was missing, `stale` whether communities or coordinates are of earlier edges. `stages`,
/// a list of QueryStage, is empty without explain=True.
#[pyclass(name = "QueryResult", module = "hedgerow", frozen, eq)]
#[derive(PartialEq)]
pub struct PyQueryResult(pub Outcome);

type State<'py> = (
    (Vec<String>, Vec<f64>, Option<usize>),
    (Option<Vec<String>>, Option<Vec<Vec<Bound<'py, PyAny>>>>),
    (Vec<(String, String, f64)>, Vec<String>, bool),
    Vec<(String, usize, usize, usize, f64)>,
);

#[pymethods]
impl PyQueryResult {
    /// The keys of the nodes, in order.
    #[getter]
    fn keys(&self) -> Vec<&str> {
        self.0.keys.iter().map(String::as_str).collect()
    }

    /// The score of each node.
    #[getter]
    fn scores(&self) -> Vec<f64> {
        self.0.scores.clone()
    }

    /// How many nodes there are, after `count`; else None.
    #[getter]
    fn count(&self) -> Option<usize> {
        self.0.count
    }

    /// The names of the columns, after `select`; else None.
    #[getter]
    fn columns(&self) -> Option<Vec<String>> {
        self.0.columns.clone()
    }

    /// A list of values for each node, after `select`; else None.
    #[getter]
    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Option<Vec<Vec<Bound<'py, PyAny>>>>> {
        let row = |row: &Vec<Cell>| row.iter().map(|cell| to_python(py, cell)).collect();
        let rows = self.0.rows.as_ref();
        rows.map(|rows| rows.iter().map(row).collect()).transpose()
    }

    /// (key, key, similarity), most similar first, as far as both are in the set.
    #[getter]
    fn pairs(&self) -> Vec<(String, String, f64)> {
        self.0.pairs.clone()
    }

    /// What was missing, one sentence each.
    #[getter]
    fn warnings(&self) -> Vec<&str> {
        self.0.warnings.iter().map(String::as_str).collect()
    }

    /// Whether communities or coordinates are of earlier edges.
    #[getter]
    fn stale(&self) -> bool {
        self.0.stale
    }

    /// What each stage did, as a list of QueryStage; empty without explain=True.
    #[getter]
    fn stages<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let class = py.import("hedgerow.results")?.getattr("QueryStage")?;
        let stage = |report: &Report| {
            let fields = PyDict::new(py);
            fields.set_item("name", &report.name)?;
            fields.set_item("rows_in", report.rows_in)?;
            fields.set_item("rows_out", report.rows_out)?;
            fields.set_item("candidates", report.candidates)?;
            fields.set_item("ms", report.time.as_secs_f64() * 1e3)?;
            class.call((), Some(&fields))
        };
        self.0.stages.iter().map(stage).collect()
    }

    /// How many nodes there are in `keys`.
    fn __len__(&self) -> usize {
        self.0.keys.len()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        const SHOWN: usize = 5;
        if let Some(count) = self.0.count {
            return Ok(format!("QueryResult(count={count})"));
        }
        let keys: Vec<&str> = self.keys().into_iter().take(SHOWN).collect();
        let more = match self.0.keys.len().saturating_sub(SHOWN) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        Ok(format!(
            "QueryResult(keys={}{more})",
            keys.into_pyobject(py)?.repr()?
        ))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, State<'py>)> {
        let result = slf.get();
        let Outcome {
            keys,
            scores,
            count,
            columns,
            pairs,
            warnings,
            stale,
            stages,
            ..
        } = &result.0;
        let told = |report: &Report| {
            let Report {
                name,
                rows_in,
                rows_out,
                candidates,
                time,
            } = report;
            (
                name.clone(),
                *rows_in,
                *rows_out,
                *candidates,
                time.as_secs_f64(),
            )
        };
        let state = (
            (keys.clone(), scores.clone(), *count),
            (columns.clone(), result.rows(slf.py())?),
            (pairs.clone(), warnings.clone(), *stale),
            stages.iter().map(told).collect(),
        );
        Ok((slf.get_type().getattr("_restore")?, state))
    }

    /// Make a result again from what pickle kept of it.
    #[staticmethod]
    #[allow(clippy::type_complexity, reason = "the state as __reduce__ gives it")]
    fn _restore(
        found: (Vec<String>, Vec<f64>, Option<usize>),
        shown: (Option<Vec<String>>, Option<Vec<Vec<Bound<'_, PyAny>>>>),
        noted: (Vec<(String, String, f64)>, Vec<String>, bool),
        stages: Vec<(String, usize, usize, usize, f64)>,
    ) -> PyResult<Self> {
        let rows = shown.1.map(|rows| {
            let row = |row: Vec<Bound<'_, PyAny>>| row.iter().map(from_python).collect();
            rows.into_iter().map(row).collect::<PyResult<_>>()
        });
        let stage = |(name, rows_in, rows_out, candidates, seconds)| Report {
            name,
            rows_in,
            rows_out,
            candidates,
            time: Duration::try_from_secs_f64(seconds).unwrap_or_default(),
        };
        Ok(Self(Outcome {
            keys: found.0,
            scores: found.1,
            count: found.2,
            columns: shown.0,
            rows: rows.transpose()?,
            pairs: noted.0,
            warnings: noted.1,
            stale: noted.2,
            stages: stages.into_iter().map(stage).collect(),
        }))
    }
}

fn to_python<'py>(py: Python<'py>, cell: &Cell) -> PyResult<Bound<'py, PyAny>> {
    Ok(match cell {
        Cell::Text(text) => PyString::new(py, text).into_any(),
        Cell::Integer(number) => number.into_pyobject(py)?.into_any(),
        Cell::Real(number) => number.into_pyobject(py)?.into_any(),
    })
}

fn from_python(object: &Bound<'_, PyAny>) -> PyResult<Cell> {
    if object.is_instance_of::<PyInt>() {
        return object.extract().map(Cell::Integer);
    }
    if object.is_instance_of::<PyFloat>() {
        return object.extract().map(Cell::Real);
    }
    match object.cast::<PyString>() {
        Ok(text) => Ok(Cell::Text(text.extract()?)),
        Err(_) => Err(PyTypeError::new_err("a row holds texts and numbers")),
    }
}
