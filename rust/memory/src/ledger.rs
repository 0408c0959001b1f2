//! What an index or a store has read of each file (spec/ingest.md, "The ledger").
//!
//! It is kept in the SQLite file that it describes and written in the same transactions. A `Ledger`
//! is that of one moment; `refresh` takes in what has changed since.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use hedgerow_engine::Result;
use hedgerow_engine::index::Index;
use hedgerow_engine::sources::SourceFile;

use crate::folder::{Listing, Signature};

/// The note that says what a ledger is about.
pub const SCOPE: &str = "scope";

/// The records of an index by the paths of their files.
#[derive(Debug, Clone)]
pub struct Ledger {
    generation: i64,
    /// What a ledger of the same scope and readers has noted.
    expected: String,
    note: Option<String>,
    files: HashMap<Arc<str>, Arc<Record>>,
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
            self.take(all.changed);
            self.generation = all.generation;
        }
        self.note = index.sync_note(SCOPE)?;
        Ok(true)
    }

    fn take(&mut self, sources: Vec<SourceFile>) {
        for source in sources {
            let path = source.path.as_str().into();
            self.files.insert(path, Arc::new(Record::of(source)));
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
        self.files.values().map(|record| record.source.chunks).sum()
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
