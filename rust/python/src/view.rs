//! The memories that a session may see, and everything derived from them: what holds, types, and searches for a text.

use std::path::PathBuf;
use std::sync::Arc;

use hedgerow_engine::calendar::Time;
use hedgerow_memory::facts::{Scope, Validity, Visibility, Why};
use hedgerow_memory::recall::{FileColumns, Pattern, RecallFilter, grep};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::errors;
use crate::folder::{SkipTuple, tuple_of};
use crate::text::{Text, texts};

/// The file, the number and the text of a line, and the lines before and after it.
type LineTuple = (String, usize, String, Vec<String>, Vec<String>);

/// The visible memories of a root in one state, as if there were no others.
#[pyclass(frozen, module = "hedgerow._engine", name = "_View")]
pub struct PyView(pub Arc<FileColumns>);

#[pymethods]
impl PyView {
    /// The paths of the files, in their order.
    #[getter]
    fn paths(&self) -> Vec<&str> {
        self.0.paths().collect()
    }

    /// The words of the types of the files, each once.
    #[getter]
    fn types(&self) -> Vec<&str> {
        self.0.types().into_iter().collect()
    }

    /// The buckets of the files, each once.
    #[getter]
    fn buckets(&self) -> Vec<&str> {
        self.0.buckets()
    }

    /// The paths of the files that have one of `types`, all `tags` and one of `writers`.
    #[pyo3(signature = (*, types, tags, writers))]
    fn paths_passing(&self, types: Vec<Text>, tags: Vec<Text>, writers: Vec<Text>) -> Vec<&str> {
        self.0.paths_passing(&RecallFilter {
            types: texts(&types),
            tags: texts(&tags),
            writers: texts(&writers),
            ..RecallFilter::default()
        })
    }

    /// Search the files below `folder` that have one of `types` and all `tags`.
    ///
    /// Returns the first `limit` lines that match, each as file, line, text, lines before and after; how
    /// many match, in how many files; and the files that could not be read.
    #[allow(clippy::too_many_arguments, reason = "as many as a grep has")]
    #[pyo3(signature = (folder, pattern, *, regex, ignore_case, types, tags, limit, context))]
    fn grep(
        &self,
        py: Python<'_>,
        folder: PathBuf,
        pattern: Text,
        regex: bool,
        ignore_case: bool,
        types: Vec<Text>,
        tags: Vec<Text>,
        limit: usize,
        context: usize,
    ) -> PyResult<(Vec<LineTuple>, usize, usize, Vec<SkipTuple>)> {
        let filter = RecallFilter {
            types: texts(&types),
            tags: texts(&tags),
            ..RecallFilter::default()
        };
        let found = errors::call_detached(py, || {
            let pattern = Pattern::new(&pattern, regex, ignore_case)?;
            let files = self.0.paths_passing(&filter);
            grep(&folder, files, &pattern, limit, context)
        })?;
        let lines = found.lines.into_iter();
        let lines = lines.map(|one| (one.file, one.line, one.text, one.before, one.after));
        let skips = found.skips.iter().map(tuple_of).collect();
        Ok((lines.collect(), found.count, found.files, skips))
    }

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
}

impl PyView {
    fn path(&self, number: usize) -> Option<&str> {
        let file = self.0.file(u32::try_from(number).ok()?)?;
        Some(&file.path)
    }
}

/// The memories of a scope as Python has it: the user, the agent and the session.
pub fn visibility(ids: [Option<Text>; 3], shared: bool) -> Visibility {
    let scope = Scope::new(ids.map(|id| id.map(|id| id.to_string())));
    Visibility { scope, shared }
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
