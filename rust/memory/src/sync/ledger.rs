//! The record of the files that an index or a store has read (spec/ingest.md, "The ledger").
//!
//! It is stored in the SQLite file that it describes and written in the same transactions. A
//! `Ledger` is a state of it; `refresh` applies later changes.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{self, AtomicBool};

use hedgerow_engine::chunks::Chunk;
use hedgerow_engine::index::{FileSync, Index};
use hedgerow_engine::sources::SourceFile;
use hedgerow_engine::{Error, ErrorCode, Result};
use serde_json::{Map, Value};

use crate::folder::source::read_bytes;
use crate::folder::{Listing, Signature, now};
use crate::skip::{Skip, is_still_read, skips_of};
use crate::sync::reading::digest_of;

/// The note about the subject of a ledger.
pub const SCOPE: &str = "scope";

/// The version of the readers in this crate. A higher one makes every index read its files again: raise it when
/// another output comes from the same file.
const READERS: u32 = 12;

/// The most files that are read and compared to check that a ledger is current.
const MOST_COMPARED: usize = 64;
/// The count of records in a new block of a ledger. A block that grows to twice as many is divided.
const BLOCK: usize = if cfg!(test) { 2 } else { 256 };
/// Chunks per read of an index without a ledger.
const PAGE: u32 = 256;

/// Records in the order of the paths of their files. Ledgers share a block if nothing in it has changed.
pub(crate) type Block = Arc<Vec<Arc<Record>>>;

/// The records of an index in the order of the paths of their files.
#[derive(Debug, Clone)]
pub struct Ledger {
    /// The file of the index; None in memory.
    path: Option<PathBuf>,
    generation: i64,
    /// The note of a ledger of the same scope and readers.
    expected: String,
    note: Option<String>,
    /// The records. No block is empty.
    blocks: Vec<Block>,
    len: usize,
    chunks: u64,
    has_facts: bool,
}

/// A file as last read.
#[derive(Debug)]
pub struct Record {
    path: Box<str>,
    /// The signature of the file; None if it must be read again.
    signature: Option<Signature>,
    /// Whether any later change of the file shows in the signature. Becomes true once the content was compared
    /// late enough.
    settled: AtomicBool,
    /// The hash of its content; empty if it could not be read.
    pub digest: Box<str>,
    /// The number of its chunks.
    pub chunks: u64,
    /// The skipped parts of the file, as JSON.
    pub skips: Box<str>,
    /// Other facts of the sync about the file, as JSON; empty in a ledger without facts.
    pub facts: Box<str>,
}

impl Record {
    /// When the file was last modified, in Unix seconds. None if it must be read again.
    pub(crate) fn modified_seconds(&self) -> Option<i64> {
        Some(self.signature?.modified_seconds())
    }

    pub(crate) fn of(source: SourceFile, has_facts: bool) -> Self {
        let facts = if has_facts {
            source.facts
        } else {
            String::new()
        };
        Self {
            path: source.path.into(),
            // The signature takes less memory as numbers.
            signature: source.signature.parse().ok(),
            settled: source.settled.into(),
            digest: source.digest.into(),
            chunks: source.chunks,
            skips: source.skips.into(),
            facts: facts.into(),
        }
    }

    /// Whether a file of this signature was certainly read in its present state.
    pub fn is_of(&self, signature: Signature) -> bool {
        self.is_settled() && self.signature == Some(signature)
    }

    /// The signature of the file; None for a file that has to be read again.
    pub fn signature(&self) -> Option<Signature> {
        self.signature
    }

    fn is_settled(&self) -> bool {
        self.settled.load(atomic::Ordering::Relaxed)
    }

    /// Whether the file has the content with which it was read.
    fn is_content_of(&self, folder: &Path) -> bool {
        let data = read_bytes(&folder.join(self.path()));
        data.is_ok_and(|data| *digest_of(&data) == *self.digest)
    }

    /// Whether the file, which still has the signature, has the content with which it was read. If so, later
    /// checks compare only the signature, unless a change just made may hide another.
    fn is_unchanged(&self, folder: &Path) -> bool {
        let read_at = now();
        let is_same = self.is_content_of(folder);
        if is_same && self.signature.is_some_and(|one| one.is_settled(read_at)) {
            self.settled.store(true, atomic::Ordering::Relaxed);
        }
        is_same
    }

    /// The reported problems of the file. Returns an error if the note is damaged.
    pub(crate) fn noted_skips(&self) -> Result<Vec<Skip>> {
        skips_of(&self.skips).ok_or_else(|| self.damaged())
    }

    /// The facts about the file, none without a note. Returns an error if the note is damaged.
    fn noted_facts(&self) -> Result<Map<String, Value>> {
        if self.facts.is_empty() {
            return Ok(Map::new());
        }
        serde_json::from_str(&self.facts).map_err(|_| self.damaged())
    }

    fn damaged(&self) -> Error {
        let path = &self.path;
        let message = format!(
            "the index is damaged (its notes on {path:?} are not JSON); rebuild it from the files"
        );
        Error::new(ErrorCode::IndexDamaged, message)
    }

    /// The problem for which the file could not be read; None for a readable file.
    fn failure(&self) -> Result<Option<Skip>> {
        if self.skips.is_empty() {
            return Ok(None);
        }
        let skips = self.noted_skips()?;
        Ok(if is_still_read(&skips) {
            None
        } else {
            skips.into_iter().next()
        })
    }

    /// The path of the file.
    pub fn path(&self) -> &str {
        &self.path
    }
}

/// A file: its path, the number of its chunks, and its facts.
pub type FactRow = (String, u64, Map<String, Value>);

/// A listed file: its path and its signature.
type Listed = (Arc<str>, Signature);

/// A file of a listing with the record of its path; one of the two may be missing.
type Pair<'p> = (Option<&'p Listed>, Option<&'p Record>);

/// Pair files with the records of their paths, in the order of the paths. The records are in this order.
fn merged<'p>(
    files: impl Iterator<Item = &'p Listed>,
    records: impl Iterator<Item = &'p Record>,
) -> Vec<Pair<'p>> {
    // A listing has a folder `a` before a file `a.md`.
    let mut files: Vec<&Listed> = files.collect();
    files.sort_by(|(one, _), (other, _)| one.cmp(other));
    let mut records = records.peekable();
    let mut pairs = Vec::with_capacity(files.len());
    for file in files {
        let path = &*file.0;
        while let Some(record) = records.next_if(|record| record.path() < path) {
            pairs.push((None, Some(record)));
        }
        pairs.push((Some(file), records.next_if(|record| record.path() == path)));
    }
    pairs.extend(records.map(|record| (None, Some(record))));
    pairs
}

/// The note in a ledger of a scope, made by these readers.
fn note_of(scope: &str) -> String {
    format!("{READERS} {scope}")
}

impl Ledger {
    /// Read the ledger of an index, to compare with the files of a scope. Records have the facts of their files,
    /// which take the most memory, only with `has_facts`.
    pub fn load(index: &Index, scope: &str, has_facts: bool) -> Result<Self> {
        let mut ledger = Self {
            path: index.path().cloned(),
            generation: -1,
            expected: note_of(scope),
            note: None,
            blocks: Vec::new(),
            len: 0,
            chunks: 0,
            has_facts,
        };
        ledger.refresh(index)?;
        Ok(ledger)
    }

    /// Read the ledger of an index for a run over files, whose scope is `files`: chunks from before the first ledger
    /// are those of the file that their metadata names.
    pub fn of_files(index: &Index) -> Result<Self> {
        let ledger = Self::load(index, "files", true)?;
        Ok(prepare_index(index, &ledger, Owner::SourceFile)?.unwrap_or(ledger))
    }

    /// Apply later changes; returns whether there were changes.
    pub fn refresh(&mut self, index: &Index) -> Result<bool> {
        let changes = index.sources_since(self.generation)?;
        if changes.generation == self.generation {
            return Ok(false);
        }
        self.take(changes.changed);
        if self.len == changes.files {
            self.generation = changes.generation;
        } else {
            // Some were forgotten.
            let all = index.sources_since(-1)?;
            self.set(&[]);
            self.take(all.changed);
            self.generation = all.generation;
        }
        self.note = index.sync_note(SCOPE)?;
        Ok(true)
    }

    /// Return the ledger with later changes; None without changes.
    pub fn refreshed(&self, index: &Index) -> Result<Option<Self>> {
        if index.sources_generation()? == self.generation {
            return Ok(None);
        }
        let mut ledger = self.clone();
        ledger.refresh(index)?;
        Ok(Some(ledger))
    }

    /// The reported problems of the files, in path order. Returns an error if the notes of a file are damaged.
    pub fn skips(&self) -> Result<Vec<Skip>> {
        let noted = self.records().filter(|record| !record.skips.is_empty());
        let skips = noted.map(|record| record.noted_skips());
        let skips = skips.collect::<Result<Vec<_>>>();
        Ok(skips.map_err(|error| self.of_file(error))?.concat())
    }

    /// The path, the number of chunks and the facts of each file, in path order. Returns an error if the notes of a
    /// file are damaged.
    pub fn facts(&self) -> Result<Vec<FactRow>> {
        let facts = self.records().map(|record| {
            let facts = record.noted_facts()?;
            Ok((record.path().to_owned(), record.chunks, facts))
        });
        let facts = facts.collect::<Result<Vec<_>>>();
        facts.map_err(|error| self.of_file(error))
    }

    /// The problem for which a file could not be read; None for a readable file. Returns an error if the notes of
    /// the file are damaged.
    pub fn failure(&self, path: &str) -> Result<Option<Skip>> {
        let record = self.record(path);
        let failure = record.map_or(Ok(None), Record::failure);
        failure.map_err(|error| self.of_file(error))
    }

    /// The number of readable files. Returns an error if the notes of a file are damaged.
    pub fn documents(&self) -> Result<usize> {
        let mut documents = self.len;
        for record in self.records() {
            let failure = record.failure().map_err(|error| self.of_file(error))?;
            documents -= usize::from(failure.is_some());
        }
        Ok(documents)
    }

    /// Return an error with the path of the index.
    fn of_file(&self, error: Error) -> Error {
        match &self.path {
            Some(path) => error.with_path(path),
            None => error,
        }
    }

    /// Take in files, which are in the order of their paths.
    fn take(&mut self, sources: Vec<SourceFile>) {
        let has_facts = self.has_facts;
        let news = sources
            .into_iter()
            .map(|source| Arc::new(Record::of(source, has_facts)));
        if news.len() < self.blocks.len() {
            news.for_each(|new| self.put(new));
            return;
        }
        let mut files = Vec::with_capacity(self.len + news.len());
        let mut known = self.records().cloned().peekable();
        for new in news {
            while let Some(before) = known.next_if(|one| one.path() < new.path()) {
                files.push(before);
            }
            known.next_if(|one| one.path() == new.path());
            files.push(new);
        }
        files.extend(known);
        self.set(&files);
    }

    /// Insert one record into a ledger that is not empty.
    fn put(&mut self, new: Arc<Record>) {
        let is_before = |block: &Block| block.last().is_some_and(|last| last.path() < new.path());
        let at = self.blocks.partition_point(is_before);
        let at = at.min(self.blocks.len().saturating_sub(1));
        let Some(block) = self.blocks.get_mut(at).map(Arc::make_mut) else {
            return;
        };
        self.chunks += new.chunks;
        match block.binary_search_by(|record| record.path().cmp(new.path())) {
            Ok(place) => {
                self.chunks -= block[place].chunks;
                block[place] = new;
            }
            Err(place) => {
                block.insert(place, new);
                self.len += 1;
            }
        }
        if block.len() > 2 * BLOCK {
            let rest = block.split_off(BLOCK);
            self.blocks.insert(at + 1, Arc::new(rest));
        }
    }

    /// Replace all records.
    fn set(&mut self, files: &[Arc<Record>]) {
        self.len = files.len();
        self.chunks = files.iter().map(|record| record.chunks).sum();
        let blocks = files.chunks(BLOCK);
        self.blocks = blocks.map(|block| Arc::new(block.to_vec())).collect();
    }

    /// The number of the last change of the ledger that is known.
    pub fn generation(&self) -> i64 {
        self.generation
    }

    /// Whether it is about the scope and made by these readers; else all files are to be read again.
    pub fn is_current(&self) -> bool {
        self.note.as_deref() == Some(&self.expected)
    }

    /// Return the note in the ledger of an index or a store about the scope.
    pub fn current_note(&self) -> (String, Option<String>) {
        (SCOPE.to_owned(), Some(self.expected.clone()))
    }

    /// Whether nothing has been noted yet.
    pub fn is_new(&self) -> bool {
        self.note.is_none()
    }

    /// Return the number of files.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the ledger is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Return the number of chunks of the files.
    pub fn chunks(&self) -> u64 {
        self.chunks
    }

    /// Return the record of a path.
    pub fn record(&self, path: &str) -> Option<&Record> {
        let is_before = |block: &Block| block.last().is_some_and(|last| last.path() < path);
        let block = self.blocks.get(self.blocks.partition_point(is_before))?;
        let found = block.binary_search_by(|record| record.path().cmp(path));
        found.ok().map(|at| &*block[at])
    }

    /// The blocks of records, in the order of the paths.
    pub(crate) fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// All records, in the order of their paths.
    pub fn records(&self) -> impl Iterator<Item = &Arc<Record>> {
        self.blocks.iter().flat_map(|block| block.iter())
    }

    /// Whether a file of this signature was certainly read in its present state.
    pub fn is_read(&self, path: &str, signature: Signature) -> bool {
        self.is_current()
            && self
                .record(path)
                .is_some_and(|record| record.is_of(signature))
    }

    /// Whether a condition holds of each file of a listing with the record of its path. Stops at the first pair of
    /// which it does not.
    fn all_pairs<'p>(
        &'p self,
        listing: &'p Listing,
        mut condition: impl FnMut(Pair<'p>) -> bool,
    ) -> bool {
        let mut files = listing.files.iter();
        let mut records = self.records().map(Arc::as_ref);
        // Most often each file has its record in its place.
        let ended = records.try_for_each(|record| match files.next() {
            Some(file) if *file.0 == *record.path => {
                if condition((Some(file), Some(record))) {
                    ControlFlow::Continue(())
                } else {
                    ControlFlow::Break(None)
                }
            }
            file => ControlFlow::Break(Some((file, record))),
        });
        let (file, record) = match ended {
            ControlFlow::Continue(()) => (None, None),
            ControlFlow::Break(Some((file, record))) => (file, Some(record)),
            ControlFlow::Break(None) => return false,
        };
        let files = file.into_iter().chain(files);
        let records = record.into_iter().chain(records);
        merged(files, records).into_iter().all(condition)
    }

    /// Return the listed files that must be read, and the paths that are no longer listed, except paths that
    /// could not be examined. The paths are in order, the files in none.
    pub fn difference<'l>(&'l self, listing: &'l Listing) -> (Vec<&'l Listed>, Vec<String>) {
        let is_current = self.is_current();
        let (mut changed, mut gone) = (Vec::new(), Vec::new());
        self.all_pairs(listing, |pair| {
            match pair {
                (Some((_, signature)), Some(record)) if is_current && record.is_of(*signature) => {}
                (Some(file), _) => changed.push(file),
                (None, Some(record)) if !is_unknown(listing, record.path()) => {
                    gone.push(record.path().to_owned());
                }
                (None, _) => {}
            }
            true
        });
        (changed, gone)
    }

    /// Whether the files below `folder` are just these, and all are read as they are.
    ///
    /// Files that were read so soon after a change that another may not show are read and compared, if
    /// they are few.
    pub fn has_read(&self, listing: &Listing, folder: &Path) -> bool {
        if !self.is_current() {
            return false;
        }
        let mut unsettled = Vec::new();
        let is_listed = self.all_pairs(listing, |pair| match pair {
            (Some((_, signature)), Some(record)) if record.is_of(*signature) => true,
            (Some((_, signature)), Some(record)) => {
                unsettled.push(record);
                record.signature == Some(*signature)
            }
            (None, Some(record)) => is_unknown(listing, record.path()),
            (listed, None) => listed.is_none(),
        });
        is_listed
            && unsettled.len() <= MOST_COMPARED
            && unsettled.iter().all(|record| record.is_unchanged(folder))
    }

    /// Return the number of files below `folder` that changed since they were read, or are gone.
    pub fn stale(&self, listing: &Listing, folder: &Path) -> usize {
        let mut stale = 0;
        let is_stale = |pair: Pair<'_>| match pair {
            (Some((_, signature)), Some(record)) => {
                !record.is_of(*signature) && !record.is_content_of(folder)
            }
            (None, Some(record)) => !is_unknown(listing, record.path()),
            (listed, None) => listed.is_some(),
        };
        self.all_pairs(listing, |pair| {
            stale += usize::from(is_stale(pair));
            true
        });
        stale
    }
}

/// Whether a file could not be looked at, or a folder above it.
fn is_unknown(listing: &Listing, path: &str) -> bool {
    let unknown = listing.unknown.iter();
    unknown
        .map(|start| start.as_encoded_bytes())
        .any(|start| path.as_bytes().starts_with(start))
}

/// How a chunk from before there was a ledger names its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// By its path.
    Path,
    /// By `source_file` in its metadata.
    SourceFile,
}

impl Owner {
    fn of(self, chunk: &Chunk) -> Option<&str> {
        let name = match self {
            Self::Path => Some(chunk.path.as_str()),
            Self::SourceFile => chunk.metadata.get("source_file").and_then(Value::as_str),
        };
        name.filter(|name| !name.is_empty())
    }
}

/// Prepare an index for a sync: of another scope or made by other readers, no file counts as read. Chunks
/// from before the first ledger are those of their `owner`. Only syncs write into an index whose chunks name
/// their files by path: chunks of no file are deleted there. `ledger` is that of the index.
///
/// Returns the changed ledger; None if it is unchanged.
pub(crate) fn prepare_index(
    index: &Index,
    ledger: &Ledger,
    owner: Owner,
) -> Result<Option<Ledger>> {
    let mut prepared = None;
    if !ledger.is_current() {
        let mut adopted = ledger.clone();
        adopt(index, &mut adopted, owner)?;
        prepared = Some(adopted);
    }
    let chunks = prepared.as_ref().unwrap_or(ledger).chunks();
    if owner == Owner::Path && index.len()? != chunks {
        index.delete(&index.chunks_without_source()?)?;
        let mut cleaned = prepared.unwrap_or_else(|| ledger.clone());
        cleaned.refresh(index)?;
        prepared = Some(cleaned);
    }
    Ok(prepared)
}

fn adopt(index: &Index, ledger: &mut Ledger, owner: Owner) -> Result<()> {
    let paths = ledger.records().map(|record| record.path().to_owned());
    let mut known: BTreeMap<String, Vec<String>> = paths.map(|path| (path, Vec::new())).collect();
    if ledger.is_new() {
        let mut after = 0;
        loop {
            let page = index.page(after, PAGE)?;
            if page.chunks.is_empty() {
                break;
            }
            for chunk in &page.chunks {
                if let Some(path) = owner.of(chunk) {
                    let ids = known.entry(path.to_owned()).or_default();
                    ids.push(chunk.id.clone());
                }
            }
            after = page.after;
        }
    }
    let sync = FileSync {
        adopted: known.into_iter().collect(),
        notes: vec![ledger.current_note()],
        ..FileSync::default()
    };
    index.sync(&sync)?;
    ledger.refresh(index)?;
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use hedgerow_engine::text::tokenizer::TokenizerKind;
    use proptest::prelude::*;

    use super::*;

    /// Paths, each with a size, in the order of names as in a listing: a folder `a` before a file `a.md`.
    fn files() -> impl Strategy<Value = BTreeMap<Vec<&'static str>, u8>> {
        let path =
            prop::collection::vec(prop::sample::select(vec!["a", "a.md", "b", "c.md"]), 1..3);
        prop::collection::btree_map(path, 0_u8..2, 0..9)
    }

    fn signature(size: u8) -> Signature {
        format!("{size}.1.1.1").parse().unwrap()
    }

    fn ledger(files: &BTreeMap<Vec<&str>, u8>) -> Ledger {
        let index = Index::in_memory(TokenizerKind::Porter).unwrap();
        let row = |(path, size): (&Vec<&str>, &u8)| SourceFile {
            path: path.join("/"),
            signature: signature(*size).to_string(),
            settled: true,
            ..SourceFile::default()
        };
        let sync = FileSync {
            read: files.iter().map(|file| (row(file), Vec::new())).collect(),
            notes: vec![(SCOPE.to_owned(), Some(note_of("x")))],
            ..FileSync::default()
        };
        index.sync(&sync).unwrap();
        Ledger::load(&index, "x", false).unwrap()
    }

    #[test]
    fn content_is_compared_until_a_change_of_it_shows() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.md"), "x").unwrap();
        let (settled, fresh) = ("1.1.1.1".to_owned(), format!("1.1.{}.1", now()));
        for (signature, is_compared_again) in [(settled, false), (fresh, true)] {
            let index = Index::in_memory(TokenizerKind::Porter).unwrap();
            let row = SourceFile {
                path: "a.md".to_owned(),
                signature: signature.clone(),
                digest: digest_of(b"x"),
                ..SourceFile::default()
            };
            let sync = FileSync {
                read: vec![(row, Vec::new())],
                notes: vec![(SCOPE.to_owned(), Some(note_of("x")))],
                ..FileSync::default()
            };
            index.sync(&sync).unwrap();
            let ledger = Ledger::load(&index, "x", false).unwrap();
            let listing = Listing {
                files: vec![("a.md".into(), signature.parse().unwrap())],
                ..Listing::default()
            };
            let elsewhere = Path::new("/none");
            assert!(!ledger.has_read(&listing, elsewhere));
            assert!(ledger.has_read(&listing, folder.path()));
            assert_eq!(!ledger.has_read(&listing, elsewhere), is_compared_again);
        }
    }

    proptest! {
        #[test]
        fn a_listing_differs_from_a_ledger_by_the_files_that_changed(read in files(), present in files()) {
            let ledger = ledger(&read);
            let listed = present.iter();
            let listing = Listing {
                files: listed.map(|(path, size)| (path.join("/").into(), signature(*size))).collect(),
                unknown: vec!["b/".into()],
                ..Listing::default()
            };
            let (changed, gone) = ledger.difference(&listing);
            let mut changed: Vec<String> =
                changed.into_iter().map(|(path, _)| path.to_string()).collect();
            changed.sort();
            let is_changed = |path: &&Vec<&str>| read.get(*path) != present.get(*path);
            let mut expected: Vec<String> =
                present.keys().filter(is_changed).map(|path| path.join("/")).collect();
            expected.sort();
            prop_assert_eq!(&changed, &expected);
            let missing = read.keys().filter(|path| !present.contains_key(*path));
            let missing = missing.map(|path| path.join("/"));
            let mut left: Vec<String> = missing.filter(|path| !path.starts_with("b/")).collect();
            left.sort();
            prop_assert_eq!(&gone, &left);
            let is_same = expected.is_empty() && gone.is_empty();
            prop_assert_eq!(ledger.has_read(&listing, Path::new("/none")), is_same);
        }
    }
}
