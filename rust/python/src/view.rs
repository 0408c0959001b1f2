//! The validity of a root's memories, by their marks.

use std::sync::Arc;

use hedgerow_engine::calendar::Time;
use hedgerow_memory::columns::FileColumns;
use hedgerow_memory::facts::FileFacts;
use hedgerow_memory::marks::{Validity, Why};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::text::Text;

/// The memories of a root that hold at a time, and the reasons of the others.
#[pyclass(frozen, module = "hedgerow._engine", name = "_Marks")]
pub struct PyMarks(Arc<FileColumns>);

impl PyMarks {
    pub fn of(columns: Arc<FileColumns>) -> Self {
        Self(columns)
    }
}

#[pymethods]
impl PyMarks {
    /// The validity of a memory at a time, in microseconds since 1970; None if it holds without a mark.
    ///
    /// With `was_known`, a memory without `valid_from` holds from its own time on.
    fn at<'py>(
        &self,
        py: Python<'py>,
        path: Text,
        time: i64,
        was_known: bool,
    ) -> PyResult<Option<Bound<'py, PyTuple>>> {
        match self.0.number_of(&path) {
            Some(number) => validity(py, &self.0.validity_at(number, time, was_known)),
            None => Ok(None),
        }
    }

    /// Whether a memory holds at a time, in microseconds since 1970.
    fn holds(&self, path: Text, time: i64) -> bool {
        let number = self.0.number_of(&path);
        number.is_none_or(|number| self.0.holds(number, time))
    }

    /// Return the memories that supersede one, by path or by a name that leads to no file. Cycles
    /// do not count.
    fn superseding(&self, path: Text) -> Vec<&str> {
        let number = self.0.number_of(&path);
        number.map_or_else(Vec::new, |number| {
            self.0.marks().superseding(number as usize)
        })
    }

    /// The pairs (old, new) of memories that supersede each other, in the order of paths.
    #[getter]
    fn cycles(&self) -> Vec<(&str, &str)> {
        let cycles = self.0.marks().cycles().iter();
        cycles
            .filter_map(|(old, new)| Some((self.path(*old)?, self.path(*new)?)))
            .collect()
    }

    /// The user, the agent and the session that a memory states.
    fn scope(&self, path: Text) -> [Option<&str>; 3] {
        match self.facts(&path) {
            Some(facts) => facts.scope.ids(),
            None => [None; 3],
        }
    }
}

impl PyMarks {
    fn facts(&self, path: &str) -> Option<&FileFacts> {
        self.0.file(self.0.number_of(path)?)
    }

    fn path(&self, number: usize) -> Option<&str> {
        let file = self.0.file(u32::try_from(number).ok()?)?;
        Some(&file.path)
    }
}

/// A validity as the arguments of `Validity`, with times as ISO texts. None if it holds without a mark.
pub fn validity<'py>(
    py: Python<'py>,
    validity: &Validity,
) -> PyResult<Option<Bound<'py, PyTuple>>> {
    if *validity == Validity::default() {
        return Ok(None);
    }
    let arguments = (
        validity.why.map(Why::as_str),
        validity.since.map(Time::to_iso),
        PyTuple::new(py, &validity.by)?,
        &validity.reason,
        PyTuple::new(py, &validity.doubtful)?,
        validity.stale_since.map(Time::to_iso),
    );
    arguments.into_pyobject(py).map(Some)
}
