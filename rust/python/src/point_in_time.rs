//! A state of a collection that a Python object reads from a server.

use std::sync::{Mutex, PoisonError};

use hedgerow_engine::bm25::Counts;
use hedgerow_engine::chunks::Chunk;
use hedgerow_engine::vectors::CosineStats;
use hedgerow_engine::{Error, ErrorCode, Result};
use hedgerow_opensearch::{
    KeywordHit, KeywordQuery, PathEntry, PointInTime, Preselection, ServerSpread, SpreadOf,
    TokenPhrase, VectorHit,
};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::calling;
use crate::chunk::PyChunk;

/// An object with the methods of `hedgerow.opensearch`'s point in time.
pub struct PyPointInTime {
    object: Py<PyAny>,
    /// The first exception that is not an error of hedgerow's; it ends the search.
    raised: Mutex<Option<PyErr>>,
}

type Hit = (String, String, u32, Vec<u32>);
/// Id, path and vector of each chunk, the floor, and the number, mean and deviation of all cosines.
type NearestAnswer = (
    Vec<(String, String, Vec<u8>)>,
    Option<f64>,
    Option<(u64, f64, f64)>,
);

impl PyPointInTime {
    pub fn new(object: &Bound<'_, PyAny>) -> Self {
        Self {
            object: object.clone().unbind(),
            raised: Mutex::default(),
        }
    }

    /// The exception that was raised and is not an error of hedgerow's.
    pub fn raised(&self) -> Option<PyErr> {
        let mut raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner);
        raised.take()
    }

    /// Call a method, and read its answer.
    fn ask<T>(
        &self,
        method: &str,
        arguments: impl for<'py> FnOnce(Python<'py>) -> PyResult<Bound<'py, PyTuple>>,
        read: impl FnOnce(Bound<'_, PyAny>) -> PyResult<T>,
    ) -> Result<T> {
        Python::attach(|py| {
            let method = self.object.bind(py).getattr(method)?;
            read(calling::call(&method, arguments(py)?, None)?)
        })
        .map_err(|error| self.engine_error(error))
    }

    fn ask_attribute(&self, name: &str) -> Result<bool> {
        Python::attach(|py| self.object.bind(py).getattr(name)?.extract())
            .map_err(|error| self.engine_error(error))
    }

    fn engine_error(&self, error: PyErr) -> Error {
        Python::attach(|py| {
            let known = || -> PyResult<Error> {
                let value = error.value(py);
                let class = py.import("hedgerow.errors")?.getattr("HedgerowError")?;
                if !value.is_instance(&class)? {
                    return Err(error.clone_ref(py));
                }
                let code: String = value.getattr("code")?.extract()?;
                let code = ErrorCode::ALL.iter().find(|one| one.as_str() == code);
                let code = code.ok_or_else(|| error.clone_ref(py))?;
                Ok(Error::new(
                    *code,
                    value.getattr("message")?.extract::<String>()?,
                ))
            };
            known().unwrap_or_else(|other| {
                let mut raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner);
                raised.get_or_insert(other);
                Error::new(ErrorCode::Interrupted, "the collection raised an exception")
            })
        })
    }
}

#[allow(clippy::unnecessary_wraps, reason = "as arguments that are converted")]
fn none(py: Python<'_>) -> PyResult<Bound<'_, PyTuple>> {
    Ok(PyTuple::empty(py))
}

/// Phrases as they are passed to Python.
fn phrases(phrases: &[TokenPhrase]) -> Vec<(&[String], bool)> {
    phrases
        .iter()
        .map(|phrase| (phrase.tokens.as_slice(), phrase.prefix))
        .collect()
}

/// Return a keyword query for Python.
fn keyword_query<'py>(py: Python<'py>, query: &KeywordQuery) -> PyResult<Bound<'py, PyDict>> {
    let order = query.scoring_order();
    let addends = order.map(|(scored, repeats)| (scored.conjunction, scored.phrase, repeats));
    let fields = PyDict::new(py);
    fields.set_item("phrases", phrases(&query.phrases()))?;
    fields.set_item("idf", query.idf())?;
    let (base, by_length) = query.length_norm_line();
    fields.set_item("norm", (base, by_length))?;
    fields.set_item("any", query.conjunctions().to_vec())?;
    fields.set_item("none", query.excluded().to_vec())?;
    fields.set_item("addends", addends.collect::<Vec<_>>())?;
    Ok(fields)
}

/// The numbers that little-endian bytes hold.
fn numbers(bytes: &[u8]) -> Vec<f32> {
    let (numbers, _) = bytes.as_chunks::<4>();
    numbers
        .iter()
        .map(|bytes| f32::from_le_bytes(*bytes))
        .collect()
}

impl PointInTime for PyPointInTime {
    fn check_embedder(&self, embedder: &str) -> Result<()> {
        self.ask(
            "check_embedder",
            |py| (embedder,).into_pyobject(py),
            |_| Ok(()),
        )
    }

    fn dimensions(&self) -> Result<Option<usize>> {
        self.ask("dimensions", none, |answer| answer.extract())
    }

    fn counts(&self, given: &[TokenPhrase]) -> Result<Counts> {
        self.ask(
            "counts",
            |py| (phrases(given),).into_pyobject(py),
            |answer| {
                let (rows, tokens, document_frequencies) = answer.extract()?;
                Ok(Counts {
                    rows,
                    tokens,
                    document_frequencies,
                })
            },
        )
    }

    fn keyword_hits(&self, query: &KeywordQuery, limit: usize) -> Result<Preselection<KeywordHit>> {
        self.ask(
            "keyword_hits",
            |py| (keyword_query(py, query)?, limit).into_pyobject(py),
            |answer| {
                let (hits, floor): (Vec<Hit>, Option<f64>) = answer.extract()?;
                let hit = |(id, path, length, frequencies)| KeywordHit {
                    id,
                    path,
                    length,
                    frequencies,
                };
                Ok(Preselection {
                    hits: hits.into_iter().map(hit).collect(),
                    floor,
                    approximate: false,
                })
            },
        )
    }

    fn vector_hits(
        &self,
        vector: &[f32],
        limit: usize,
        spread: Option<SpreadOf>,
        expected: &[TokenPhrase],
    ) -> Result<(Preselection<VectorHit>, Option<ServerSpread>)> {
        let of = spread.map(|of| match of {
            SpreadOf::Chunks => "chunks",
            SpreadOf::Paths => "paths",
        });
        let approximate = self.ask_attribute("approximate")?;
        self.ask(
            "vector_hits",
            |py| (vector.to_vec(), limit, phrases(expected), of).into_pyobject(py),
            |answer| {
                let (hits, floor, spread): NearestAnswer = answer.extract()?;
                let spread = spread.map(|(chunks, mean, deviation)| ServerSpread {
                    chunks,
                    stats: CosineStats { mean, deviation },
                });
                let hit = |(id, path, bytes): (_, _, Vec<u8>)| VectorHit {
                    id,
                    path,
                    vector: numbers(&bytes),
                };
                let preselection = Preselection {
                    hits: hits.into_iter().map(hit).collect(),
                    floor,
                    approximate,
                };
                Ok((preselection, spread))
            },
        )
    }

    fn vectors(&self, ids: &[String]) -> Result<Vec<Option<Vec<f32>>>> {
        self.ask(
            "vectors",
            |py| (ids.to_vec(),).into_pyobject(py),
            |answer| {
                let found: Vec<Option<Vec<u8>>> = answer.extract()?;
                let vector = |bytes: Option<Vec<u8>>| bytes.map(|bytes| numbers(&bytes));
                Ok(found.into_iter().map(vector).collect())
            },
        )
    }

    fn chunks(&self, ids: &[String]) -> Result<Vec<Option<Chunk>>> {
        self.ask(
            "chunks",
            |py| (ids.to_vec(),).into_pyobject(py),
            |answer| {
                let found: Vec<Option<Bound<'_, PyChunk>>> = answer.extract()?;
                let chunk = |found: Bound<'_, PyChunk>| found.get().0.clone();
                Ok(found.into_iter().map(|found| found.map(chunk)).collect())
            },
        )
    }

    fn in_paths(&self, paths: &[String]) -> Result<Vec<PathEntry>> {
        self.ask(
            "in_paths",
            |py| (paths.to_vec(),).into_pyobject(py),
            |answer| {
                let found: Vec<(String, String, i64)> = answer.extract()?;
                let entry = |(id, path, ordinal)| PathEntry { id, path, ordinal };
                Ok(found.into_iter().map(entry).collect())
            },
        )
    }

    fn paths(&self) -> Result<Vec<String>> {
        self.ask("paths", none, |answer| answer.extract())
    }
}
