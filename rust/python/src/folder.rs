//! The files below a folder, and their records in a ledger.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use hedgerow_memory::day_format::DayFormat;
use hedgerow_memory::folder::{self, Listing, Reason, Rules, Signature, Watch};
use hedgerow_memory::format::{FolderKind, Vault};
use hedgerow_memory::skip::Skip;
use hedgerow_memory::sync::{FileCheck, Ledger};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors;
use crate::index::PyIndex;
use crate::json;
use crate::text::{Text, texts};

/// The path, the code, the reason and the line.
pub type SkipTuple = (String, String, String, Option<u64>);

/// The tool of a vault, and the formats of the names and the titles of its daily notes.
pub type KindTuple = (Option<String>, Option<String>, Option<String>);

/// Return how the files of a folder are read. A format that cannot be read counts as none.
pub fn folder_kind((vault, day, title): KindTuple) -> FolderKind {
    let parsed = |format: Option<String>| DayFormat::parse(&format?).ok();
    FolderKind {
        vault: vault.and_then(|name| Vault::named(&name)),
        day_format: parsed(day),
        title_format: parsed(title),
    }
}

/// The rules for reading a folder, shared by every listing of it.
#[pyclass(frozen, module = "hedgerow._engine", name = "_Rules")]
pub struct PyRules(Arc<Rules>);

#[pymethods]
impl PyRules {
    #[new]
    fn new(
        suffixes: Vec<String>,
        exclude: Vec<Text>,
        include: Vec<Text>,
        temporary: Option<(String, String)>,
    ) -> PyResult<Self> {
        let (exclude, include) = (texts(&exclude), texts(&include));
        errors::call(|| Rules::new(suffixes, exclude, include, temporary))
            .map(|rules| Self(Arc::new(rules)))
    }

    /// List the files below a folder; `named` also lists skipped files.
    fn list(&self, py: Python<'_>, folder: PathBuf, named: bool) -> PyResult<PyListing> {
        let list = || Ok(Arc::new(folder::list(&folder, &self.0, named)));
        errors::call_detached(py, list).map(PyListing)
    }

    /// Return the reason to skip a file below a folder; None if it is read.
    fn pass_by(&self, path: Text) -> Option<&'static str> {
        self.0.pass_by(&path).map(Reason::as_str)
    }
}

/// A watch over a folder for changes of what rules take of it.
#[pyclass(frozen, module = "hedgerow._engine", name = "_Watch")]
pub struct PyWatch(Watch);

#[pymethods]
impl PyWatch {
    /// Begin a watch; OSError says in a sentence why there can be none.
    #[new]
    fn new(py: Python<'_>, folder: PathBuf, rules: &Bound<'_, PyRules>) -> PyResult<Self> {
        let rules = Arc::clone(&rules.get().0);
        let begun = errors::call_detached(py, || Ok(Watch::begin(&folder, rules)))?;
        begun.map(Self).map_err(PyOSError::new_err)
    }

    /// Return the number of changes; None once some may have been missed.
    #[getter]
    fn changes(&self) -> Option<u64> {
        self.0.changes()
    }
}

/// A check of the files of a root against one state of its index.
#[pyclass(frozen, module = "hedgerow._engine", name = "_FileCheck")]
pub struct PyFileCheck(FileCheck);

#[pymethods]
impl PyFileCheck {
    /// Check the files below `folder` that the rules take, against the ledger of an index.
    #[new]
    fn new(ledger: &Bound<'_, PyLedger>, folder: PathBuf, rules: &Bound<'_, PyRules>) -> Self {
        let (ledger, rules) = (ledger.get().0.clone(), Arc::clone(&rules.get().0));
        Self(FileCheck::new(ledger, folder, rules))
    }

    /// Whether the index still has the ledger of this check, and that is about the root.
    fn is_same(&self, py: Python<'_>, index: &Bound<'_, PyIndex>) -> PyResult<bool> {
        let index = &index.get().index;
        errors::call_detached(py, || self.0.is_same(index))
    }

    /// The number of looks begun.
    #[getter]
    fn looks(&self) -> u64 {
        self.0.looks()
    }

    /// Return what could not be listed, if the index has read all files as they are; else None, and the
    /// files. With a watch, the last result holds while the watch has seen no change.
    #[pyo3(signature = (watch=None))]
    fn look(
        &self,
        py: Python<'_>,
        watch: Option<&Bound<'_, PyWatch>>,
    ) -> PyResult<(Option<Vec<SkipTuple>>, Option<PyListing>)> {
        let watch = watch.map(|watch| &watch.get().0);
        let looked = errors::call_detached(py, || Ok(self.0.look(watch)))?;
        let skips = looked.skips.iter().map(tuple_of).collect();
        Ok((
            looked.is_current.then_some(skips),
            looked.listing.map(PyListing),
        ))
    }
}

/// The files below a folder.
#[pyclass(frozen, module = "hedgerow._engine", name = "_Listing")]
pub struct PyListing(pub Arc<Listing>);

#[pymethods]
impl PyListing {
    /// The signature of each file by its path, in the order of names.
    #[getter]
    fn files<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let files = PyDict::new(py);
        for (path, signature) in &self.0.files {
            files.set_item(&**path, signature.to_string())?;
        }
        Ok(files)
    }

    fn __len__(&self) -> usize {
        self.0.files.len()
    }

    /// The listings of several folders as one: the paths of each begin with its name and `/`.
    #[staticmethod]
    fn joined(parts: Vec<(String, Bound<'_, Self>)>) -> Self {
        let parts = parts.iter().map(|(name, part)| (&**name, &*part.get().0));
        Self(Arc::new(Listing::joined(parts)))
    }

    #[getter]
    fn skips(&self) -> Vec<SkipTuple> {
        self.0.skips.iter().map(tuple_of).collect()
    }

    #[getter]
    fn unknown(&self) -> Vec<OsString> {
        self.0.unknown.clone()
    }

    /// Return the nonzero counts of skipped files, by reason.
    #[getter]
    fn passed_by(&self) -> Vec<(&'static str, u64)> {
        let counts = Reason::ALL.iter().zip(self.0.passed_by);
        let some = counts.filter(|(_, count)| *count > 0);
        some.map(|(reason, count)| (reason.as_str(), count))
            .collect()
    }

    #[getter]
    fn named(&self) -> Vec<(String, &'static str)> {
        let named = self.0.named.iter();
        named
            .map(|one| (one.path.clone(), one.reason.as_str()))
            .collect()
    }

    #[getter]
    fn leftovers(&self) -> Vec<PathBuf> {
        self.0.leftovers.clone()
    }

    #[getter]
    fn unused(&self) -> Vec<String> {
        self.0.unused.clone()
    }
}

/// The record of the files that an index or a store has read, as of the load.
#[pyclass(frozen, module = "hedgerow._engine", name = "_Ledger")]
pub struct PyLedger(pub Ledger);

#[pymethods]
impl PyLedger {
    /// Read the ledger of an index, to compare with the files of a scope. Rows have facts only with `has_facts`.
    #[new]
    fn new(
        py: Python<'_>,
        index: &Bound<'_, PyIndex>,
        scope: Text,
        has_facts: bool,
    ) -> PyResult<Self> {
        let index = &index.get().index;
        errors::call_detached(py, || Ledger::load(index, &scope, has_facts)).map(Self)
    }

    /// Read the ledger of an index for a run over files.
    #[staticmethod]
    fn of_files(py: Python<'_>, index: &Bound<'_, PyIndex>) -> PyResult<Self> {
        let index = &index.get().index;
        errors::call_writing(py, None, || Ledger::of_files(index)).map(Self)
    }

    /// Return the ledger with later changes, itself without changes.
    fn refreshed<'py>(
        slf: Bound<'py, Self>,
        index: &Bound<'py, PyIndex>,
    ) -> PyResult<Bound<'py, Self>> {
        let (py, ledger, index) = (slf.py(), &slf.get().0, &index.get().index);
        match errors::call_detached(py, || ledger.refreshed(index))? {
            Some(ledger) => Bound::new(py, Self(ledger)),
            None => Ok(slf),
        }
    }

    /// The number of the last change that is known.
    #[getter]
    fn generation(&self) -> i64 {
        self.0.generation()
    }

    #[getter]
    fn is_current(&self) -> bool {
        self.0.is_current()
    }

    #[getter]
    fn chunks(&self) -> u64 {
        self.0.chunks()
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// The path, the number of chunks and the facts of each file, in path order.
    fn facts<'py>(&self, py: Python<'py>) -> PyResult<Vec<(String, u64, Bound<'py, PyDict>)>> {
        let facts = errors::call(|| self.0.facts())?.into_iter();
        facts
            .map(|(path, chunks, facts)| Ok((path, chunks, json::dict(py, &facts)?)))
            .collect()
    }

    /// The reported problems of the files, in path order.
    #[getter]
    fn skips(&self) -> PyResult<Vec<SkipTuple>> {
        let skips = errors::call(|| self.0.skips())?;
        Ok(skips.iter().map(tuple_of).collect())
    }

    /// The problem for which a file could not be read; None for a readable file.
    fn failure(&self, path: Text) -> PyResult<Option<SkipTuple>> {
        let failure = errors::call(|| self.0.failure(&path))?;
        Ok(failure.as_ref().map(tuple_of))
    }

    /// The number of readable files.
    #[getter]
    fn documents(&self) -> PyResult<usize> {
        errors::call(|| self.0.documents())
    }

    fn paths(&self) -> Vec<String> {
        let records = self.0.records();
        records.map(|record| record.path().to_owned()).collect()
    }

    /// Whether the listed files below a folder are just these, and all are read as they are.
    fn has_read(
        &self,
        py: Python<'_>,
        listing: &Bound<'_, PyListing>,
        folder: PathBuf,
    ) -> PyResult<bool> {
        let listing = &listing.get().0;
        errors::call_detached(py, || Ok(self.0.has_read(listing, &folder)))
    }

    /// Return the number of listed files below a folder that changed since they were read, or are gone.
    fn stale(
        &self,
        py: Python<'_>,
        listing: &Bound<'_, PyListing>,
        folder: PathBuf,
    ) -> PyResult<usize> {
        let listing = &listing.get().0;
        errors::call_detached(py, || Ok(self.0.stale(listing, &folder)))
    }
}

/// Return a text that changes with the content of a file; OSError if the system refuses.
#[pyfunction]
pub fn _signature(file: PathBuf) -> PyResult<String> {
    Ok(Signature::of(&fs::metadata(file)?).to_string())
}

/// Return a text for each file that changes with its content, None for a missing file; None instead of
/// all if a change just made may hide another.
#[pyfunction]
pub fn _settled_signatures(files: Vec<PathBuf>) -> Option<Vec<Option<String>>> {
    let now = folder::now();
    let signature = |file: &PathBuf| match fs::metadata(file) {
        Ok(status) => {
            let signature = Signature::of(&status);
            signature
                .is_settled(now)
                .then(|| Some(signature.to_string()))
        }
        Err(_) => Some(None),
    };
    files.iter().map(signature).collect()
}

pub fn tuple_of(skip: &Skip) -> SkipTuple {
    let Skip {
        path,
        code,
        reason,
        line,
    } = skip.clone();
    (path, code, reason, line)
}
