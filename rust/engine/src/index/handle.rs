//! A handle on an index: opening, parts, closing.

use std::path::{Path, PathBuf};

use roaring::RoaringTreemap;

use crate::bm25::{BM25, Ranking, SnapshotManager};
use crate::chunks::{
    self, CHUNKS, FilterCache, GroupField, Neighbors, Paths, TOKENIZER, TextCache, Turns,
};
use crate::error::Result;
use crate::fuzzy::Slugs;
use crate::query::StopWords;
use crate::sources::SOURCES;
use crate::storage::cache::Cache;
use crate::storage::settings::{self, STOPWORDS};
use crate::storage::{Database, Location, Notice, Reading, Subjects};
use crate::sync::atomic::AtomicUsize;
use crate::sync::{Arc, Mutex, lock};
use crate::text::tokenizer::TokenizerKind;
use crate::vectors::{Matrix, MatrixSource, Residency, Resident, VECTORS, Vectors};

/// The subjects that an index keeps in its file. A handle that keeps more in the file names these
/// first.
pub const SUBJECTS: Subjects = &[&CHUNKS, &BM25, &VECTORS, &SOURCES];

/// A handle on an index. Safe to call from several threads.
///
/// Searches run in parallel, each on a separate read connection; writes take turns. The handle
/// belongs to the process that opened it.
pub struct Index {
    pub(crate) database: Database,
    /// The tokenizer at the last read, by its position among all.
    pub(super) tokenizer: AtomicUsize,
    pub(crate) stopwords: StopWords,
    pub(crate) methods: Methods,
    /// The vectors, from their first search on.
    pub(crate) matrices: Cache<Matrix>,
    /// The ranking in memory.
    pub(crate) ranker: SnapshotManager,
    /// The chunks of each path, from the first search that groups by path.
    pub(crate) paths: Arc<Cache<Paths>>,
    /// The chunks of each value of a declared key, from the first search that groups by the key.
    pub(super) key_groups: Mutex<Vec<Arc<Cache<Paths>>>>,
    /// The neighbors of each chunk, from the first search that counts them.
    pub(crate) neighbors: Cache<Neighbors>,
    /// The speaker of each chunk.
    pub(crate) turns: Cache<Turns>,
    /// The rows that pass the filters of recent searches.
    pub(crate) filters: FilterCache,
    /// The texts of recent hits.
    pub(crate) texts: Cache<TextCache>,
    /// The slugs that misspelt words are compared with, from the first search that needs them on.
    pub(crate) slugs: Arc<Cache<Slugs>>,
    /// A generation, and its number of chunks.
    pub(crate) counted: Mutex<Option<(i64, u64)>>,
    /// The last counts of `stats`.
    pub(super) counts: Mutex<Option<GenerationCounts>>,
    /// The last generation at which every chunk was known to be embedded.
    pub(super) embedded_at: Mutex<Option<i64>>,
}

/// How a handle searches, where there is a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Methods {
    /// Who ranks by BM25.
    pub ranking: Ranking,
    /// How the nearest vectors are found.
    pub vectors: Vectors,
    /// The part of the vectors to keep in memory.
    pub resident: Resident,
}

/// The counts of one generation.
#[derive(Debug, Clone)]
pub(super) struct GenerationCounts {
    pub(super) generation: i64,
    /// The number of distinct paths.
    pub(super) paths: u64,
    /// The rows of chunks that have a vector: about 12 KB for 100,000 of them.
    pub(super) with_vector: Arc<RoaringTreemap>,
}

impl From<Ranking> for Methods {
    fn from(ranking: Ranking) -> Self {
        Self {
            ranking,
            ..Self::default()
        }
    }
}

impl Index {
    /// Open an index file, made first when there is none.
    ///
    /// A file keeps the tokenizer it was made with; the default asks for none in particular.
    pub fn open(path: &Path, tokenizer: TokenizerKind, read_only: bool) -> Result<Self> {
        Self::open_with(path, tokenizer, read_only, Methods::default())
    }

    /// Like `open`, with options of searches.
    pub fn open_with(
        path: &Path,
        tokenizer: TokenizerKind,
        read_only: bool,
        methods: impl Into<Methods>,
    ) -> Result<Self> {
        let location = Location::file(path, read_only, SUBJECTS)?;
        Self::open_at(location, tokenizer, read_only, methods.into())
    }

    /// Make an index in memory, gone with the handle.
    pub fn in_memory(tokenizer: TokenizerKind) -> Result<Self> {
        Self::in_memory_with(tokenizer, Methods::default())
    }

    /// Like `in_memory`, with options of searches.
    pub fn in_memory_with(tokenizer: TokenizerKind, methods: impl Into<Methods>) -> Result<Self> {
        let location = Location::memory(SUBJECTS);
        Self::open_at(location, tokenizer, false, methods.into())
    }

    /// Choose what bare queries lose as stop words, and keep it in the file. A read-only handle has it
    /// for itself alone.
    pub fn choose_stopwords(&mut self, stopwords: StopWords) -> Result<()> {
        if stopwords != self.stopwords && !self.read_only() {
            let text = stopwords.to_string();
            self.database
                .write(|connection| settings::set(connection, STOPWORDS, Some(&text)))?;
        }
        self.stopwords = stopwords;
        Ok(())
    }

    /// Return the stop words that bare queries lose.
    pub fn stopwords(&self) -> &StopWords {
        &self.stopwords
    }

    /// Open an index in a file that may hold more subjects than [`SUBJECTS`].
    pub fn open_at(
        location: Location,
        tokenizer: TokenizerKind,
        read_only: bool,
        methods: Methods,
    ) -> Result<Self> {
        let initial = [(TOKENIZER, tokenizer.as_str())];
        let database = Database::open(location, read_only, &initial)?;
        let location = database.location();
        let tokenizer =
            database.on_first(|connection| chunks::tokenizer(connection, location, tokenizer))?;
        let stopwords = database.on_first(|connection| {
            let kept = settings::get(connection, STOPWORDS);
            kept.map_err(|error| database.location().error(&error))
        })?;
        let background = database.background();
        let matrices = MatrixSource {
            background: background.clone(),
            kept: Residency {
                values: methods.resident == Resident::All,
                signs: methods.vectors == Vectors::Fast,
            },
        };
        Ok(Self {
            tokenizer: AtomicUsize::new(tokenizer as usize),
            stopwords: stopwords.unwrap_or_default(),
            methods,
            matrices: Cache::new(background.clone(), matrices),
            ranker: SnapshotManager::new(methods.ranking, background.clone()),
            paths: Arc::new(Cache::new(background.clone(), GroupField::Path)),
            key_groups: Mutex::default(),
            neighbors: Cache::new(background.clone(), ()),
            turns: Cache::new(background.clone(), ()),
            filters: FilterCache::new(background.clone()),
            texts: Cache::new(background.clone(), ()),
            slugs: Arc::new(Cache::new(background.clone(), ())),
            counted: Mutex::default(),
            counts: Mutex::default(),
            embedded_at: Mutex::default(),
            database,
        })
    }

    /// The file, for those who keep more in it.
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// The absolute path of the file; none for an index in memory.
    pub fn path(&self) -> Option<&PathBuf> {
        self.database.path()
    }

    /// Whether this handle refuses to write.
    pub fn read_only(&self) -> bool {
        self.database.read_only()
    }

    /// Who ranks by BM25.
    pub fn ranking(&self) -> Ranking {
        self.ranker.ranking()
    }

    /// How the nearest vectors are found.
    pub fn vectors(&self) -> Vectors {
        self.methods.vectors
    }

    /// Return the part of the vectors that is kept in memory.
    pub fn resident(&self) -> Resident {
        self.methods.resident
    }

    /// Return the notices since the last call that belong to no search. Each notice is returned once.
    pub fn take_notices(&self) -> Vec<Notice> {
        self.database.background().notices().take()
    }

    /// Return the background reads since the last call.
    pub fn take_readings(&self) -> Vec<Reading> {
        self.database.background().notices().take_readings()
    }

    /// Copy the index into a new file, in one consistent state.
    ///
    /// Searches continue meanwhile, and so do writes to a file. The copy is made under another name
    /// in the same folder. After it is complete and synced, it is moved into place.
    pub fn backup(&self, target: &Path) -> Result<()> {
        self.database.backup(target)
    }

    /// Look for damage: in the file, in the full-text index, and between it and the chunks.
    ///
    /// The answer is one sentence for each problem. A read-only handle cannot have FTS5
    /// compare its index with the texts, and compares the rows alone.
    pub fn check(&self) -> Result<Vec<String>> {
        self.database.check()
    }

    /// Close the connections once running operations are through; closing again does nothing.
    pub fn close(&self) -> Result<()> {
        self.database.close()?;
        self.matrices.clear();
        self.ranker.clear();
        self.paths.clear();
        lock(&self.key_groups).clear();
        self.neighbors.clear();
        self.turns.clear();
        self.filters.clear();
        self.texts.clear();
        self.slugs.clear();
        Ok(())
    }
}
