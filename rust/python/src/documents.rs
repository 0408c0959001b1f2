//! All memories of a folder, and what looks at each of them; texts that say the same; secrets.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hedgerow_engine::{Error, ErrorCode, Result};
use hedgerow_graph::graph::EdgeInput;
use hedgerow_memory::format::FolderKind;
use hedgerow_memory::review::{
    self, Documents, Fingerprint, SearchLimits, Selection, StoredDocument, audit, conflict_copies,
    duplicates, files_with, lint, topic_words,
};
use hedgerow_memory::skip::why_unreadable;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::errors;
use crate::folder::{KindTuple, PyListing, SkipTuple, folder_kind, tuple_of};
use crate::text::Text;
use crate::view::{PyView, validity, visibility};

/// The least time between two calls of `progress`.
const PROGRESS: Duration = Duration::from_millis(100);

/// The rule and the sentence of a finding.
type FindingTuple = (&'static str, String);
/// The rule, the file, the sentence, the line and the command of a finding.
type AuditTuple<'py> = (
    &'static str,
    String,
    String,
    Option<usize>,
    Option<Bound<'py, PyAny>>,
);
/// The topic, the earliest time in microseconds, and the limit of a selection.
type SelectionTuple = (Option<Text>, Option<i64>, usize);
/// A memory, the original that it is like, their likeness, and the oldest memory with the same text.
type CopyTuple<'d> = (&'d str, &'d str, f64, Option<&'d str>);
/// The number of a new file, and the rest of a [`CopyTuple`].
type NewCopyTuple = (usize, String, f64, Option<String>);
/// The source, the target, the relation and the strength of an edge.
type EdgeTuple = (String, String, String, f64);
/// A memory and its validity.
type Ended<'d, 'py> = (&'d str, Option<Bound<'py, PyTuple>>);

/// The visible memories of a folder, read at once, in the order of their paths.
#[pyclass(frozen, module = "hedgerow._engine", name = "_Documents")]
pub struct PyDocuments {
    documents: Documents,
    kind: FolderKind,
}

#[pymethods]
impl PyDocuments {
    /// Read the files of a listing of a folder.
    #[new]
    fn new(
        py: Python<'_>,
        folder: PathBuf,
        listing: &Bound<'_, PyListing>,
        kind: KindTuple,
        scope: [Option<Text>; 3],
        shared: bool,
    ) -> PyResult<Self> {
        let listing = &listing.get().0;
        let kind = folder_kind(kind);
        let visible = visibility(scope, shared);
        let read = || Ok(Documents::read(&folder, listing, &kind).within(&visible));
        let documents = errors::call_detached(py, read)?;
        Ok(Self { documents, kind })
    }

    /// Documents that are in no files, each as its path and its text.
    #[staticmethod]
    fn of(texts: Vec<(Text, Text)>) -> Self {
        let kind = FolderKind::default();
        let parse = |(path, text): &(Text, Text)| {
            StoredDocument::parse(path.to_string(), text.to_string(), &kind)
        };
        Self {
            documents: Documents::of(texts.iter().map(parse).collect()),
            kind: FolderKind::default(),
        }
    }

    fn __len__(&self) -> usize {
        self.documents.files.len()
    }

    /// The files and folders that could not be read.
    #[getter]
    fn skips(&self) -> Vec<SkipTuple> {
        self.documents.skips.iter().map(tuple_of).collect()
    }

    /// The paths of all memories.
    #[getter]
    fn paths(&self) -> Vec<&str> {
        let files = self.documents.files.iter();
        files.map(|one| one.path.as_str()).collect()
    }

    /// The paths of the pages.
    #[getter]
    fn pages(&self) -> Vec<&str> {
        let pages = self.documents.files.iter().filter(|one| one.is_page);
        pages.map(|one| one.path.as_str()).collect()
    }

    /// The memories whose front matter has a text under a key, each as its path, that text and its whole text.
    fn with_field(&self, key: Text) -> Vec<(&str, &str, &str)> {
        let files = self.documents.files.iter();
        let found = files.filter_map(|one| {
            let value = one.front_matter.get(&*key)?.as_str()?;
            Some((one.path.as_str(), value, one.text.as_str()))
        });
        found.collect()
    }

    /// Return the problems of the front matter and the text of each file.
    fn problems(&self, py: Python<'_>) -> PyResult<Vec<SkipTuple>> {
        let problems = errors::call_detached(py, || Ok(self.documents.problems()))?;
        Ok(problems.iter().map(tuple_of).collect())
    }

    /// Return the files whose name may mean two days.
    fn ambiguous_days(&self) -> Vec<SkipTuple> {
        let found = self.documents.ambiguous_days(self.kind.day_format.as_ref());
        found.iter().map(tuple_of).collect()
    }

    /// Return the memories that are superseded by several that hold, at a time in microseconds since 1970.
    fn several_successors(&self, now: i64) -> Vec<SkipTuple> {
        let found = self.documents.several_successors(now);
        found.iter().map(tuple_of).collect()
    }

    /// Return the edges of the links between the memories: source, target, relation and strength, in order.
    fn edges(&self, py: Python<'_>) -> PyResult<Vec<EdgeTuple>> {
        let edges = errors::call_detached(py, || Ok(self.documents.edges(&self.kind)))?;
        let tuple = |edge: EdgeInput| (edge.source, edge.target, edge.relation, edge.strength);
        Ok(edges.into_iter().map(tuple).collect())
    }

    /// Return the links that lead to no memory, as (file, target), each once.
    fn unresolved_links(&self, py: Python<'_>) -> PyResult<Vec<(&str, String)>> {
        errors::call_detached(py, || Ok(self.documents.unresolved_links()))
    }

    /// Lint a selection at a time in microseconds since 1970. Returns the findings, the number of memories
    /// that were looked at, and of those that were selected.
    fn lint(
        &self,
        py: Python<'_>,
        selection: SelectionTuple,
        now: i64,
    ) -> PyResult<(Vec<FindingTuple>, usize, usize)> {
        let selection = selection_of(selection);
        let done = errors::call_detached(py, || lint(&self.documents, &selection, now))?;
        let findings = done.findings.into_iter().map(|one| (one.rule, one.text()));
        Ok((findings.collect(), done.examined, done.about))
    }

    /// Audit all memories at a time in microseconds since 1970.
    fn audit<'py>(&self, py: Python<'py>, now: i64) -> PyResult<Vec<AuditTuple<'py>>> {
        let found = errors::call_detached(py, || audit(&self.documents, now))?;
        let tuples = found.into_iter().map(|one| {
            let fix = one.fix.map(|fix| errors::fix(py, &fix)).transpose()?;
            Ok((one.rule, one.file, one.text, one.line, fix))
        });
        tuples.collect()
    }

    /// Return the copies among the memories of a selection that hold, by original.
    ///
    /// A copy has a likeness of `least` or more. `progress(done, total)` counts memories.
    #[pyo3(signature = (selection, now, least=None, progress=None))]
    fn copies(
        &self,
        py: Python<'_>,
        selection: SelectionTuple,
        now: i64,
        least: Option<f64>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Vec<CopyTuple<'_>>> {
        let selection = selection_of(selection);
        let found = reporting(py, progress.as_ref(), |report| {
            self.documents.copies(&selection, now, least, report)
        })?;
        let copies = found.into_iter();
        Ok(copies
            .map(|one| (one.path, one.original, one.likeness, one.same_as))
            .collect())
    }

    /// Return which of some new files, as path and text, would be copies of memories that hold, or of new files
    /// before them, each with its number.
    fn copies_in(
        &self,
        py: Python<'_>,
        new: Vec<(Text, Text)>,
        now: i64,
    ) -> PyResult<Vec<NewCopyTuple>> {
        errors::call_detached(py, || {
            let new: Vec<_> = new
                .iter()
                .map(|(path, text)| self.parse(path, text))
                .collect();
            let found = self.documents.copies_in(&new, now)?;
            let copies = found.into_iter().map(|(number, one)| {
                let same_as = one.same_as.map(str::to_owned);
                (number, one.original.to_owned(), one.likeness, same_as)
            });
            Ok(copies.collect())
        })
    }

    /// Return the sources of a page about the topic of a selection, the newest first, and the memories about it
    /// that no longer hold, each with its validity. Memories that were `found` fill up the limit.
    fn sources<'py>(
        &self,
        py: Python<'py>,
        selection: SelectionTuple,
        found: Vec<Text>,
        now: i64,
    ) -> PyResult<(Vec<&str>, Vec<Ended<'_, 'py>>)> {
        let selection = selection_of(selection);
        let found: Vec<String> = found.iter().map(|path| path.to_string()).collect();
        let choose = || Ok(self.documents.sources(&selection, &found, now));
        let chosen = errors::call_detached(py, choose)?;
        let ended = chosen.ended.into_iter();
        let ended = ended.map(|(path, of)| Ok((path, validity(py, &of)?)));
        Ok((chosen.sources, ended.collect::<PyResult<_>>()?))
    }

    /// The view of the memories, with their marks.
    fn view(&self, py: Python<'_>) -> PyResult<PyView> {
        let columns = errors::call_detached(py, || Ok(Arc::clone(self.documents.columns())))?;
        Ok(PyView(columns))
    }

    /// Return the text of a memory; None without it.
    fn text_of(&self, path: Text) -> Option<&str> {
        let files = &self.documents.files;
        let at = files.binary_search_by(|one| one.path.as_str().cmp(&path));
        Some(&files[at.ok()?].text)
    }

    /// Return the memories that quote the text of a file, and texts that only this file had.
    /// `own_fields` are the fields of front matter with a special meaning.
    fn quotes_and_traces(
        &self,
        py: Python<'_>,
        path: Text,
        text: Text,
        own_fields: HashSet<String>,
    ) -> PyResult<(Vec<&str>, Vec<String>)> {
        let document = self.parse(&path, &text);
        errors::call_detached(py, || {
            Ok(self.documents.quotes_and_traces(&document, &own_fields))
        })
    }
}

impl PyDocuments {
    /// Parse a file as those of the folder.
    fn parse(&self, path: &str, text: &str) -> StoredDocument {
        StoredDocument::parse(path.to_owned(), text.to_owned(), &self.kind)
    }
}

fn selection_of((topic, since, limit): SelectionTuple) -> Selection {
    Selection {
        topic: topic.map(|topic| topic.to_string()),
        since,
        limit,
    }
}

/// Do work that reports its progress, at most ten times a second and at its end. An exception of `progress`
/// ends it.
fn reporting<T: Send>(
    py: Python<'_>,
    progress: Option<&Py<PyAny>>,
    work: impl FnOnce(&mut dyn FnMut(usize, usize) -> Result<()>) -> Result<T> + Send,
) -> PyResult<T> {
    let mut raised = None;
    let done = errors::call_detached(py, || {
        let mut reported = None::<Instant>;
        work(&mut |done, total| {
            let is_due = reported.is_none_or(|at| at.elapsed() >= PROGRESS);
            let Some(callback) = progress.filter(|_| done == total || is_due) else {
                return Ok(());
            };
            reported = Some(Instant::now());
            raised = Python::attach(|py| callback.call1(py, (done, total)).err());
            match raised {
                Some(_) => Err(Error::new(ErrorCode::Interrupted, "progress raised")),
                None => Ok(()),
            }
        })
    });
    match raised {
        Some(raised) => Err(raised),
        None => done,
    }
}

/// The number of a file that cannot be read, and the reason.
type Unread = (usize, String);

/// Return the conflict copies of sync programs among files, in the given order. `is_there` says whether the original
/// with a path is there.
#[pyfunction]
pub fn _conflict_copies(paths: Vec<Text>, is_there: &Bound<'_, PyAny>) -> PyResult<Vec<SkipTuple>> {
    let paths: Vec<&str> = paths.iter().map(|path| &**path).collect();
    let mut raised = None;
    let found = conflict_copies(&paths, |path| {
        let answer = is_there
            .call1((path,))
            .and_then(|answer| answer.is_truthy());
        answer.unwrap_or_else(|error| {
            raised = Some(error);
            false
        })
    });
    match raised {
        Some(error) => Err(error),
        None => Ok(found.iter().map(tuple_of).collect()),
    }
}

/// Return the numbers of the files that have any of the texts, of those that cannot be read, with the reason, and of those
/// that are not read. With `limits`, these are files of more bytes than the first limit, and the largest ones if all files
/// together have more bytes than the second.
#[pyfunction]
#[pyo3(signature = (files, texts, limits=None))]
pub fn _files_with(
    py: Python<'_>,
    files: Vec<PathBuf>,
    texts: Vec<String>,
    limits: Option<(u64, u64)>,
) -> PyResult<(Vec<usize>, Vec<Unread>, Vec<usize>)> {
    let limits = limits.map(|(one, all)| SearchLimits { one, all });
    let searched = errors::call_detached(py, || Ok(files_with(&files, &texts, limits)))?;
    let unread = searched.unread.into_iter();
    let unread = unread.map(|(at, error)| (at, why_unreadable(&error)));
    Ok((searched.with, unread.collect(), searched.too_large))
}

/// Return the words of a topic: a memory about it has all of them.
#[pyfunction]
pub fn _topic_words(topic: Text) -> Vec<String> {
    topic_words(&topic)
}

/// Compare a text with each of some others: whether it is the same text, and the likeness. Titles do not count.
#[pyfunction]
pub fn _compare(py: Python<'_>, text: Text, others: Vec<Text>) -> PyResult<Vec<(bool, f64)>> {
    let own = Fingerprint::of(&text);
    let of = |other: &Text| match (&own, Fingerprint::of(other)) {
        (Some(own), Some(other)) => duplicates::compare(own, &other),
        _ => (false, 0.0),
    };
    errors::call_detached(py, || Ok(others.iter().map(of).collect()))
}

/// Return the numbers of the texts that are the same as an earlier one that is no repeat, or like it.
#[pyfunction]
pub fn _repeats(py: Python<'_>, texts: Vec<Text>) -> PyResult<Vec<usize>> {
    errors::call_detached(py, || {
        let texts: Vec<_> = texts.iter().map(|text| Fingerprint::of(text)).collect();
        let copies = duplicates::copies(texts, duplicates::LIKE, |_, _| Ok(()))?;
        Ok(copies.into_iter().map(|one| one.text).collect())
    })
}

/// Return the likely secrets of a text, each as its kind, its line and its first characters.
#[pyfunction]
pub fn _find_secrets(py: Python<'_>, text: Text) -> PyResult<Vec<(&'static str, usize, String)>> {
    let found = errors::call_detached(py, || Ok(review::find_secrets(&text)))?;
    let found = found.into_iter();
    Ok(found.map(|one| (one.kind, one.line, one.start)).collect())
}

/// Return a text with `[secret]` in the place of each secret.
#[pyfunction]
pub fn _without_secrets(py: Python<'_>, text: Text) -> PyResult<String> {
    errors::call_detached(py, || Ok(review::without_secrets(&text)))
}
