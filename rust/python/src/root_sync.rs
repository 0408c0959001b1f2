//! The sync of a root: its files into its index and its store.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use hedgerow_engine::{Error, ErrorCode};
use hedgerow_memory::folder::Signature;
use hedgerow_memory::folder_kind::FolderKind;
use hedgerow_memory::ledger::{Owner, prepare_index};
use hedgerow_memory::root_store;
use hedgerow_memory::root_sync::{Changes, Folder, Target, Targets, sync_files};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors;
use crate::folder::{KindTuple, PyLedger, PyListing, SkipTuple, folder_kind, tuple_of};
use crate::index::PyIndex;
use crate::linked::PyNodes;
use crate::node;
use crate::store::PyStore;

/// The bytes that are written for a byte of a file, at most about: texts, postings and nodes.
const WRITTEN: usize = 4;
/// The least time between two calls of `progress`.
const PROGRESS: Duration = Duration::from_millis(100);

/// The files that a sync reads, and those that it drops.
#[pyclass(frozen, module = "hedgerow._engine", name = "_Changes")]
pub struct PyChanges(Changes);

#[pymethods]
impl PyChanges {
    /// Compare a listing with the ledgers of the index and the store.
    #[new]
    fn new(
        py: Python<'_>,
        listing: &Bound<'_, PyListing>,
        index: &Bound<'_, PyLedger>,
        store: Option<&Bound<'_, PyLedger>>,
    ) -> PyResult<Self> {
        let (listing, index) = (&listing.get().0, &index.get().0);
        let store = store.map(|store| &store.get().0);
        errors::call_detached(py, || Ok(Changes::of(listing, index, store))).map(Self)
    }

    /// Read files, each as (path, signature), and drop none.
    #[staticmethod]
    fn written(files: Vec<(String, String)>) -> PyResult<Self> {
        let signed = |(path, text): (String, String)| match text.parse() {
            Ok(signature) => Ok((path, signature)),
            Err(_) => Err(PyValueError::new_err(format!(
                "{path} has no signature: {text:?}"
            ))),
        };
        let mut read = files
            .into_iter()
            .map(signed)
            .collect::<PyResult<Vec<(String, Signature)>>>()?;
        read.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        Ok(Self(Changes {
            read,
            ..Changes::default()
        }))
    }

    /// The count of files that are gone from the index.
    #[getter]
    fn gone(&self) -> usize {
        self.0.gone.len()
    }

    /// Return the number of files that are gone from the index or the store, the larger of the two.
    #[getter]
    fn most_gone(&self) -> usize {
        self.0.gone.len().max(self.0.gone_nodes.len())
    }

    fn __bool__(&self) -> bool {
        !self.0.is_empty()
    }
}

/// Files added and changed, and problems of the written nodes.
type SyncedTuple = (usize, usize, Vec<SkipTuple>);

/// Read the files that changed into the index of a root, and into its store if it has one.
///
/// `progress(done, total)` counts files.
#[pyfunction]
#[pyo3(signature = (index, ledger, store, store_ledger, folder, kinds, changes, progress=None))]
#[allow(clippy::too_many_arguments, reason = "two files, each with its ledger")]
pub fn _sync_root(
    py: Python<'_>,
    index: &Bound<'_, PyIndex>,
    ledger: &Bound<'_, PyLedger>,
    store: Option<&Bound<'_, PyStore>>,
    store_ledger: Option<&Bound<'_, PyLedger>>,
    folder: PathBuf,
    kinds: Vec<(String, KindTuple)>,
    changes: &Bound<'_, PyChanges>,
    progress: Option<Py<PyAny>>,
) -> PyResult<SyncedTuple> {
    let targets = Targets {
        index: Target {
            into: &*index.get().index,
            ledger: &ledger.get().0,
        },
        store: (store.zip(store_ledger)).map(|(store, ledger)| Target {
            into: &*store.get().store,
            ledger: &ledger.get().0,
        }),
    };
    let changes = &changes.get().0;
    let (mut raised, mut reported) = (None, None::<Instant>);
    let mut report = |done, total| {
        let is_due = reported.is_none_or(|at| at.elapsed() >= PROGRESS);
        let Some(callback) = progress.as_ref().filter(|_| done == total || is_due) else {
            return Ok(());
        };
        reported = Some(Instant::now());
        raised = Python::attach(|py| callback.call1(py, (done, total)).err());
        match raised {
            Some(_) => Err(Error::new(ErrorCode::Interrupted, "progress raised")),
            None => Ok(()),
        }
    };
    let now = node::now();
    let bytes = changes.size().saturating_mul(WRITTEN) + changes.count() * errors::ITEM;
    let kinds: Vec<(String, FolderKind)> = kinds
        .into_iter()
        .map(|(prefix, kind)| (prefix, folder_kind(kind)))
        .collect();
    let synced = errors::call_writing(py, Some(bytes), || {
        let folder = Folder {
            path: &folder,
            kinds: &kinds,
        };
        sync_files(&targets, &folder, changes, now, &mut report)
    });
    if let Some(error) = raised {
        return Err(error);
    }
    let synced = synced?;
    let skips = synced.skips.iter().map(tuple_of).collect();
    Ok((synced.added, synced.changed, skips))
}

/// Prepare an index for a sync, and return its changed ledger; None if it is unchanged.
///
/// In an index of another scope no file counts as read. Chunks from before the first ledger are those of
/// their path, or of `source_file` in their metadata.
#[pyfunction]
pub fn _prepared_index(
    py: Python<'_>,
    index: &Bound<'_, PyIndex>,
    ledger: &Bound<'_, PyLedger>,
    by_source_file: bool,
) -> PyResult<Option<PyLedger>> {
    let (index, ledger) = (&index.get().index, &ledger.get().0);
    let owner = if by_source_file {
        Owner::SourceFile
    } else {
        Owner::Path
    };
    let prepared = errors::call_writing(py, None, || prepare_index(index, ledger, owner))?;
    Ok(prepared.map(PyLedger))
}

/// Prepare a store for a sync, and return its changed ledger; None if it is unchanged.
///
/// In a store of another scope no file counts as read. Nodes of no file are marked as deleted.
#[pyfunction]
pub fn _prepared_store(
    py: Python<'_>,
    store: &Bound<'_, PyStore>,
    ledger: &Bound<'_, PyLedger>,
) -> PyResult<Option<PyLedger>> {
    let (store, ledger) = (&store.get().store, &ledger.get().0);
    let now = node::now();
    let prepared = errors::call_writing(py, None, || root_store::prepare(store, ledger, now))?;
    Ok(prepared.map(PyLedger))
}

/// Whether the edges of a store are those of the links of its files.
#[pyfunction]
pub fn _is_linked(py: Python<'_>, store: &Bound<'_, PyStore>) -> PyResult<bool> {
    let store = &store.get().store;
    errors::call_detached(py, || store.is_linked())
}

/// Make the edges of a store those of the links of its files.
///
/// If the store says that its edges were those of the state `before`, only links that changed since, or
/// that lead elsewhere, are compared. Otherwise all are.
#[pyfunction]
pub fn _relink(
    py: Python<'_>,
    store: &Bound<'_, PyStore>,
    before: Option<&Bound<'_, PyNodes>>,
    after: &Bound<'_, PyNodes>,
) -> PyResult<()> {
    let store = &store.get().store;
    let (before, after) = (before.map(|before| &before.get().0), &after.get().0);
    errors::call_writing(py, None, || root_store::relink(store, before, after))
}
