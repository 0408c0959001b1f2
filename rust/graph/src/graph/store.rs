//! A handle on the nodes, edges and visits in the file of an index.

use std::path::Path;

use hedgerow_engine::bm25::BM25;
use hedgerow_engine::chunks::CHUNKS;
use hedgerow_engine::error::Result;
use hedgerow_engine::index::session::{self, Session};
use hedgerow_engine::index::{Index, Methods};
use hedgerow_engine::retrieval::FuzzyChunks;
use hedgerow_engine::sources::SOURCES;
use hedgerow_engine::storage::settings;
use hedgerow_engine::storage::{Durability, Location, Subjects};
use hedgerow_engine::sync::{Arc, Mutex, lock};
use hedgerow_engine::text::tokenizer::TokenizerKind;
use hedgerow_engine::vectors::VECTORS;

use super::snapshot::{CachedState, Needs, Snapshot};
use super::types::{self, TYPES};
use crate::schema::{AGENTS, NODES};

/// The subjects that a store keeps in its file.
const SUBJECTS: Subjects = &[&CHUNKS, &BM25, &VECTORS, &SOURCES, &NODES, &AGENTS];

/// Nodes, edges and visits in the file of an index. Safe to call from several threads.
pub struct Store {
    pub(super) index: Arc<Index>,
    pub(super) kept: CachedState,
    fuzzy: FuzzyChunks,
    types: Mutex<Vec<String>>,
}

impl Store {
    /// Open the file of an index; it is made when there is none.
    pub fn open(path: &Path) -> Result<Self> {
        Self::open_with(path, Durability::default())
    }

    /// Like `open`, with the durability of writes.
    pub fn open_with(path: &Path, durability: Durability) -> Result<Self> {
        let location = Location::file(path, false, SUBJECTS)?;
        Self::open_at(location.with_durability(durability), false)
    }

    /// Open a file for reading alone; it must have been opened as a store before.
    pub fn open_to_read(path: &Path) -> Result<Self> {
        Self::open_at(Location::file(path, true, SUBJECTS)?, true)
    }

    /// Make a store in memory, which is gone when the handle is.
    pub fn in_memory() -> Result<Self> {
        Self::open_at(Location::memory(SUBJECTS), false)
    }

    fn open_at(location: Location, read_only: bool) -> Result<Self> {
        let (tokenizer, methods) = (TokenizerKind::default(), Methods::default());
        Index::open_at(location, tokenizer, read_only, methods).map(Self::of)
    }

    fn of(index: Index) -> Self {
        Self {
            kept: CachedState::new(index.database().background()),
            index: Arc::new(index),
            fuzzy: FuzzyChunks::Own,
            types: Mutex::default(),
        }
    }

    /// The index of the same file, in which each live node is a chunk with its key for id and path.
    pub fn index(&self) -> &Arc<Index> {
        &self.index
    }

    /// Return the chunks that the fuzzy rung of searches compares with.
    pub fn fuzzy(&self) -> &FuzzyChunks {
        &self.fuzzy
    }

    /// Register types of nodes in the file, for good.
    pub fn register<T: AsRef<str>>(&self, types: &[T]) -> Result<()> {
        for name in types {
            types::check(name.as_ref())?;
        }
        let mut known = self.read_types()?;
        let is_known = |known: &[String], name: &str| {
            TYPES.contains(&name) || known.iter().any(|other| other == name)
        };
        if types.iter().all(|name| is_known(&known, name.as_ref())) {
            return Ok(());
        }
        known = self.index.database().try_write(|connection| {
            // Another process may have registered some meanwhile.
            let mut known = types::read(connection)?;
            for name in types {
                if !is_known(&known, name.as_ref()) {
                    known.push(name.as_ref().to_owned());
                }
            }
            known.sort_unstable();
            settings::set(
                connection,
                crate::schema::NODE_TYPES,
                Some(&known.join(" ")),
            )?;
            Ok(known)
        })?;
        self.remember_types(known);
        Ok(())
    }

    /// The registered types, by name, as the file has them now.
    pub fn read_types(&self) -> Result<Vec<String>> {
        let types = self.index.database().on_reader(types::read)?;
        self.remember_types(types.clone());
        Ok(types)
    }

    /// The registered types as they were when they were last read; there may be more now.
    pub fn known_types(&self) -> Vec<String> {
        lock(&self.types).clone()
    }

    fn remember_types(&self, known: Vec<String>) {
        *lock(&self.types) = known;
    }

    /// The present state.
    pub fn snapshot(&self, needs: &Needs) -> Result<Snapshot> {
        self.kept.snapshot(&self.index, needs)
    }

    /// Let `work` read the present state, and the index in the same transaction.
    ///
    /// Meanwhile the thread must not use the store or its index: in memory it could wait for a
    /// writer that waits for it.
    pub(crate) fn in_session<T>(
        &self,
        needs: &Needs,
        searched: session::Needs<'_>,
        work: impl FnMut(&Snapshot, &Session<'_>) -> Result<T>,
    ) -> Result<T> {
        self.kept.in_session(&self.index, needs, searched, work)
    }
}
