//! The ledger of a sync, for the Python side of it.

use hedgerow_engine::index::{FileSync, Synced};
use hedgerow_engine::sources::SourceFile;
use pyo3::prelude::*;

use crate::chunk::{self, PyChunk};
use crate::errors;
use crate::index::PyIndex;
use crate::text::Text;

/// The path, the signature and whether it is settled, the digest, skips and facts.
type GivenSource = (Text, Text, bool, Text, Text, Text);
type Note = (Text, Option<Text>);

/// The number of the last change of the ledger.
#[pyfunction]
pub fn _sources_generation(py: Python<'_>, index: &Bound<'_, PyIndex>) -> PyResult<i64> {
    let index = &index.get().index;
    errors::call_detached(py, || index.sources_generation())
}

/// Rewrite the file, so that no byte of what was removed is left in it.
#[pyfunction]
pub fn _vacuum(py: Python<'_>, index: &Bound<'_, PyIndex>) -> PyResult<()> {
    let index = &index.get().index;
    errors::call_writing(py, None, || index.vacuum())
}

/// What was noted about the sync under a name.
#[pyfunction]
pub fn _sync_note(
    py: Python<'_>,
    index: &Bound<'_, PyIndex>,
    name: Text,
) -> PyResult<Option<String>> {
    let index = &index.get().index;
    errors::call_detached(py, || index.sync_note(&name))
}

/// The ids of the chunks of a file.
#[pyfunction]
pub fn _source_chunks(
    py: Python<'_>,
    index: &Bound<'_, PyIndex>,
    path: Text,
) -> PyResult<Vec<String>> {
    let index = &index.get().index;
    errors::call_detached(py, || index.source_chunks(&path))
}

/// Which of these ids are stored, each with the `source_file` of its metadata.
#[pyfunction]
pub fn _source_files(
    py: Python<'_>,
    index: &Bound<'_, PyIndex>,
    ids: Vec<Text>,
) -> PyResult<Vec<(String, Option<String>)>> {
    let index = &index.get().index;
    let ids: Vec<String> = ids.iter().map(|id| id.to_string()).collect();
    errors::call_detached(py, || index.source_files(&ids))
}

/// Write what a sync read, in one transaction; returns how many chunks were added, changed,
/// unchanged and removed.
#[pyfunction]
#[pyo3(signature = (index, read, *, adopted=Vec::new(), removed=Vec::new(), gone=Vec::new(), notes=Vec::new()))]
pub fn _sync_index(
    py: Python<'_>,
    index: &Bound<'_, PyIndex>,
    read: Vec<(GivenSource, Bound<'_, PyAny>)>,
    adopted: Vec<(Text, Vec<Text>)>,
    removed: Vec<Text>,
    gone: Vec<Text>,
    notes: Vec<Note>,
) -> PyResult<(usize, usize, usize, usize)> {
    let read = read
        .into_iter()
        .map(|(source, chunks)| Ok((given(&source), chunk::chunks(&chunks)?)))
        .collect::<PyResult<Vec<(SourceFile, Vec<Py<PyChunk>>)>>>()?;
    let bytes: usize = read.iter().map(|(_, chunks)| chunk::bytes(chunks)).sum();
    let items = read.len() + removed.len() + gone.len() + adopted.len();
    let sync = FileSync {
        read: read
            .iter()
            .map(|(source, chunks)| (source.clone(), chunk::inner(chunks)))
            .collect(),
        adopted: adopted
            .into_iter()
            .map(|(path, ids)| (path.to_string(), texts(&ids)))
            .collect(),
        removed: texts(&removed),
        gone: texts(&gone),
        notes: noted(notes),
    };
    let index = &index.get().index;
    let Synced {
        added,
        changed,
        unchanged,
        removed,
    } = errors::call_writing(py, Some(bytes + items * errors::ITEM), || index.sync(&sync))?;
    Ok((added, changed, unchanged, removed))
}

fn given((path, signature, settled, digest, skips, facts): &GivenSource) -> SourceFile {
    SourceFile {
        path: path.to_string(),
        signature: signature.to_string(),
        settled: *settled,
        digest: digest.to_string(),
        chunks: 0,
        skips: skips.to_string(),
        facts: facts.to_string(),
    }
}

fn texts(given: &[Text]) -> Vec<String> {
    given.iter().map(|text| text.to_string()).collect()
}

fn noted(notes: Vec<Note>) -> Vec<(String, Option<String>)> {
    notes
        .into_iter()
        .map(|(name, text)| (name.to_string(), text.map(|text| text.to_string())))
        .collect()
}
