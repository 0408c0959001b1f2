//! The sync of a root: its files into its index and its store.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hedgerow_engine::{Error, ErrorCode, Result};
use hedgerow_memory::folder::Signature;
use hedgerow_memory::format::FolderKind;
use hedgerow_memory::sync::{Folder, RootSync, written_files};
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

/// Files added, changed and gone, problems of the written nodes, and what index and store have read.
pub type Synced = (
    usize,
    usize,
    usize,
    Vec<SkipTuple>,
    PyLedger,
    Option<PyNodes>,
);

/// The files of a sync.
#[derive(FromPyObject)]
pub enum Files<'py> {
    /// All files of a root.
    Listed(Bound<'py, PyListing>),
    /// Files that were just written, each with its signature.
    Written(Vec<(String, String)>),
}

/// The result of a sync.
#[derive(IntoPyObject)]
pub enum Outcome {
    /// The sync is done.
    Done(Synced),
    /// Nothing was done: so many files are gone.
    Gone(usize),
}

/// Bring the index of a root, and its store if it has one, up to date with files. With `relinks`, the edges of the
/// store become those of the links of its files.
///
/// `nodes` is the state of the store, and `linked` the last state that was seen with the edges of its links. Of a
/// listing, all other files are dropped; if these are more than `most_gone`, their count is returned and nothing is
/// changed. Written files are read only into an index and a store that have read files before: else None is returned.
/// `progress(done, total)` counts files.
#[pyfunction]
#[pyo3(signature = (
    index, ledger, store, nodes, linked, files, folder, kinds, *, most_gone=None, relinks=false,
    progress=None
))]
#[allow(clippy::too_many_arguments, reason = "two files, each with its ledger")]
pub fn _sync_root(
    py: Python<'_>,
    index: &Bound<'_, PyIndex>,
    ledger: &Bound<'_, PyLedger>,
    store: Option<&Bound<'_, PyStore>>,
    nodes: Option<&Bound<'_, PyNodes>>,
    linked: Option<&Bound<'_, PyNodes>>,
    files: Files<'_>,
    folder: PathBuf,
    kinds: Vec<(String, KindTuple)>,
    most_gone: Option<usize>,
    relinks: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<Option<Outcome>> {
    let state = |nodes: &Bound<'_, PyNodes>| Arc::clone(&nodes.get().state);
    let (index, ledger, now) = (&*index.get().index, &ledger.get().0, node::now());
    let store = store
        .zip(nodes)
        .map(|(store, nodes)| (&*store.get().store, state(nodes)));
    let linked = linked.map(state);
    let mut sync = errors::call_writing(py, None, || {
        RootSync::prepare(index, ledger, store, linked, now)
    })?;
    let changes = match files {
        Files::Listed(listing) => {
            let listing = &listing.get().0;
            errors::call_detached(py, || Ok(sync.changes(listing)))?
        }
        Files::Written(_) if !sync.has_read() => return Ok(None),
        Files::Written(files) => written_files(signed(files)?),
    };
    let gone = changes.gone.len().max(changes.gone_nodes.len());
    if most_gone.is_some_and(|most| gone > most) {
        return Ok(Some(Outcome::Gone(gone)));
    }
    let mut progress = Progress::new(progress);
    let bytes = changes.size().saturating_mul(WRITTEN) + changes.count() * errors::ITEM;
    let kinds: Vec<(String, FolderKind)> = kinds
        .into_iter()
        .map(|(prefix, kind)| (prefix, folder_kind(kind)))
        .collect();
    let folder = Folder {
        path: &folder,
        kinds: &kinds,
    };
    let synced = errors::call_writing(py, Some(bytes), || {
        sync.read(&folder, &changes, now, |done, total| {
            progress.report(done, total)
        })
    });
    if let Some(error) = progress.raised {
        return Err(error);
    }
    let synced = synced?;
    let (ledger, state) = errors::call_writing(py, None, || sync.finish(relinks))?;
    let skips = synced.skips.iter().map(tuple_of).collect();
    let nodes = state.map(|state| PyNodes::new(py, state)).transpose()?;
    let gone = changes.gone.len();
    Ok(Some(Outcome::Done((
        synced.added,
        synced.changed,
        gone,
        skips,
        PyLedger(ledger),
        nodes,
    ))))
}

/// Read the signatures of files.
fn signed(files: Vec<(String, String)>) -> PyResult<Vec<(String, Signature)>> {
    let signed = |(path, text): (String, String)| match text.parse() {
        Ok(signature) => Ok((path, signature)),
        Err(_) => Err(PyValueError::new_err(format!(
            "{path} has no signature: {text:?}"
        ))),
    };
    files.into_iter().map(signed).collect()
}

/// Calls `progress` now and then, and at the end.
struct Progress {
    callback: Option<Py<PyAny>>,
    called: Option<Instant>,
    raised: Option<PyErr>,
}

impl Progress {
    fn new(callback: Option<Py<PyAny>>) -> Self {
        Self {
            callback,
            called: None,
            raised: None,
        }
    }

    fn report(&mut self, done: usize, total: usize) -> Result<()> {
        let is_due = self.called.is_none_or(|at| at.elapsed() >= PROGRESS);
        let Some(callback) = self.callback.as_ref().filter(|_| done == total || is_due) else {
            return Ok(());
        };
        self.called = Some(Instant::now());
        self.raised = Python::attach(|py| callback.call1(py, (done, total)).err());
        match self.raised {
            Some(_) => Err(Error::new(ErrorCode::Interrupted, "progress raised")),
            None => Ok(()),
        }
    }
}

/// Whether the edges of a store are those of the links of its files.
#[pyfunction]
pub fn _is_linked(py: Python<'_>, store: &Bound<'_, PyStore>) -> PyResult<bool> {
    let store = &store.get().store;
    errors::call_detached(py, || store.is_linked())
}
