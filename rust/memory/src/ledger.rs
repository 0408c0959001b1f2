//! What an index or a store has read of each file (spec/ingest.md, "The ledger").
//!
//! It is kept in the SQLite file that it describes and written in the same transactions. A `Ledger`
//! is that of one moment; `refresh` takes in what has changed since.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use hedgerow_engine::Result;
use hedgerow_engine::chunks::Chunk;
use hedgerow_engine::index::{FileSync, Index};
use hedgerow_engine::sources::SourceFile;
use serde_json::Value;

use crate::folder::{Listing, Signature};

/// The note that says what a ledger is about.
pub const SCOPE: &str = "scope";

/// The count of chunks that are read at once from an index without a ledger.
const PAGE: u32 = 256;

/// The records of an index by the paths of their files.
#[derive(Debug, Clone)]
pub struct Ledger {
    generation: i64,
    /// What a ledger of the same scope and readers has noted.
    expected: String,
    note: Option<String>,
    files: HashMap<Arc<str>, Arc<Record>>,
    chunks: u64,
}

/// One file as it was when it was read.
#[derive(Debug, Clone)]
pub struct Record {
    /// The row of the file.
    pub source: SourceFile,
    /// Its signature; None for a file that has to be read again.
    signature: Option<Signature>,
}

impl Record {
    fn of(source: SourceFile) -> Self {
        let signature = source.signature.parse().ok();
        Self { source, signature }
    }

    /// Whether a file of this signature has certainly been read as it is.
    pub fn is_of(&self, signature: Signature) -> bool {
        self.source.settled && self.signature == Some(signature)
    }
}

impl Ledger {
    /// Read the ledger of an index. One that is about the same scope and made by the same readers has
    /// the note `expected`.
    pub fn load(index: &Index, expected: &str) -> Result<Self> {
        let mut ledger = Self {
            generation: -1,
            expected: expected.to_owned(),
            note: None,
            files: HashMap::new(),
            chunks: 0,
        };
        ledger.refresh(index)?;
        Ok(ledger)
    }

    /// Take in what has changed since; returns whether anything has.
    pub fn refresh(&mut self, index: &Index) -> Result<bool> {
        let changes = index.sources_since(self.generation)?;
        if changes.generation == self.generation {
            return Ok(false);
        }
        self.take(changes.changed);
        if self.files.len() == changes.files {
            self.generation = changes.generation;
        } else {
            // Some were forgotten.
            let all = index.sources_since(-1)?;
            self.files.clear();
            self.chunks = 0;
            self.take(all.changed);
            self.generation = all.generation;
        }
        self.note = index.sync_note(SCOPE)?;
        Ok(true)
    }

    fn take(&mut self, sources: Vec<SourceFile>) {
        for source in sources {
            let path = source.path.as_str().into();
            self.chunks += source.chunks;
            if let Some(before) = self.files.insert(path, Arc::new(Record::of(source))) {
                self.chunks -= before.source.chunks;
            }
        }
    }

    /// The number of the last change of the ledger that is known.
    pub fn generation(&self) -> i64 {
        self.generation
    }

    /// Whether it is about the scope and made by these readers; else all files are to be read again.
    pub fn is_current(&self) -> bool {
        self.note.as_deref() == Some(&self.expected)
    }

    /// What is noted in the ledger of an index or a store that is about the scope.
    pub fn current_note(&self) -> (String, Option<String>) {
        (SCOPE.to_owned(), Some(self.expected.clone()))
    }

    /// Whether nothing has been noted yet.
    pub fn is_new(&self) -> bool {
        self.note.is_none()
    }

    /// How many files there are.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Whether there is no file.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// How many chunks the files have.
    pub fn chunks(&self) -> u64 {
        self.chunks
    }

    /// What is known of a path.
    pub fn record(&self, path: &str) -> Option<&Record> {
        self.files.get(path).map(Arc::as_ref)
    }

    /// All records with their paths, in the order of these.
    pub fn sorted(&self) -> Vec<(&Arc<str>, &Arc<Record>)> {
        let mut records: Vec<_> = self.files.iter().collect();
        records.sort_unstable_by_key(|(path, _)| *path);
        records
    }

    /// All records, in the order of their paths.
    pub fn records(&self) -> impl Iterator<Item = &Record> {
        self.sorted().into_iter().map(|(_, record)| record.as_ref())
    }

    /// Whether a file of this signature has certainly been read as it is.
    pub fn is_read(&self, path: &str, signature: Signature) -> bool {
        self.is_current()
            && self
                .record(path)
                .is_some_and(|record| record.is_of(signature))
    }

    /// Those of the listed files that have to be read.
    pub fn changed<'l>(&self, listing: &'l Listing) -> Vec<&'l (String, Signature)> {
        let is_current = self.is_current();
        let is_read = |path: &str, signature| {
            is_current
                && self
                    .record(path)
                    .is_some_and(|record| record.is_of(signature))
        };
        (listing.files.iter())
            .filter(|(path, signature)| !is_read(path, *signature))
            .collect()
    }

    /// Whether the listed files are just these, and all are read as they are.
    pub fn has_read(&self, listing: &Listing) -> bool {
        let is_read = |(path, signature): &(String, Signature)| {
            self.record(path)
                .is_some_and(|record| record.is_of(*signature))
        };
        self.is_current() && listing.files.iter().all(is_read) && self.gone(listing).is_empty()
    }

    /// The paths that are not listed, but for those that could not be looked at, in their order.
    pub fn gone(&self, listing: &Listing) -> Vec<String> {
        let listed: HashSet<&str> = (listing.files.iter())
            .map(|(path, _)| path.as_str())
            .filter(|path| self.files.contains_key(*path))
            .collect();
        if listed.len() == self.files.len() {
            return Vec::new();
        }
        let is_unknown = |path: &str| {
            let unknown = listing.unknown.iter();
            unknown
                .map(|start| start.as_encoded_bytes())
                .any(|start| path.as_bytes().starts_with(start))
        };
        let mut gone: Vec<String> = (self.files.keys())
            .filter(|path| !listed.contains(path.as_ref()) && !is_unknown(path))
            .map(ToString::to_string)
            .collect();
        gone.sort_unstable();
        gone
    }
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

/// Prepare an index for a sync: of another scope or made by other readers, no file counts as read.
/// Chunks from before there was a ledger are those of their `owner`. Nothing but a sync writes into an
/// index whose chunks name their files by path: chunks of no file are deleted there. `ledger` is that of
/// the index.
pub fn prepare_index(index: &Index, ledger: &mut Ledger, owner: Owner) -> Result<()> {
    if !ledger.is_current() {
        adopt(index, ledger, owner)?;
    }
    if owner == Owner::Path && index.len()? != ledger.chunks() {
        index.delete(&index.chunks_without_source()?)?;
        ledger.refresh(index)?;
    }
    Ok(())
}

fn adopt(index: &Index, ledger: &mut Ledger, owner: Owner) -> Result<()> {
    let paths = ledger.files.keys().map(ToString::to_string);
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
