//! The embedded index: one SQLite file (spec/index.md).

pub(crate) mod background;
mod backup;
pub(crate) mod cache;
mod catalogue;
mod changes;
mod check;
mod checkpoint;
mod chunk;
mod connections;
mod embed;
mod encoded;
mod filters;
mod fork;
mod hit;
mod location;
mod migrations;
mod paths;
mod phrase;
mod phrase_counts;
mod pieces;
mod pool;
mod ranking;
pub(crate) mod read;
mod row_blocks;
mod schema;
pub(crate) mod search;
pub(crate) mod search_vector;
mod selection;
pub(crate) mod session;
pub(crate) mod settings;
pub(crate) mod slugs;
pub(crate) mod sources;
mod space;
mod staging;
mod texts;
pub(crate) mod vector;
pub(crate) mod vectors;
pub(crate) mod write;

use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Arc, PoisonError, RwLock};

use crate::error::Result;
use crate::text::tokenizer::TokenizerKind;

pub use chunk::Chunk;
pub(crate) use connections::Failure;
pub use filters::Filters;
pub use fork::{after_fork, before_fork, is_forking};
pub use hit::Hit;
pub use phrase::phrase_words;
pub use phrase_counts::PhraseCounts;
pub use ranking::Ranking;
pub use read::{IndexStats, Page};
pub use selection::{GroupBy, Selection};
pub use sources::{FileSync, SourceFile, Synced};
pub use space::Space;
pub use texts::Texts;
pub(crate) use vectors::Spread;
pub use vectors::{Resident, Vectors};

use background::Background;
pub use background::{Level, Notice};
use cache::Cache;
use checkpoint::Checkpoints;
use location::Location;
use migrations::MIGRATIONS;
use paths::Paths;
use pool::Pool;
use ranking::Ranker;
use slugs::Slugs;
use texts::KeptTexts;
use vectors::{Kept, Matrix, Source};

/// A handle on an index, for use from many threads at once.
///
/// Searches run side by side, each on a read connection of its own; writes take turns. The
/// handle belongs to the process that opened it.
pub struct Index {
    process: u32,
    location: Location,
    tokenizer: TokenizerKind,
    read_only: bool,
    /// None once closed. Every operation holds the lock shared, so that closing waits for it.
    pool: fork::Shared,
    /// The vectors, from their first search on.
    vectors: Cache<Matrix>,
    methods: Methods,
    /// Work that no caller waits for, or that many wait for.
    background: Background,
    checkpoints: Checkpoints,
    /// What ranks in memory.
    ranker: Ranker,
    /// Which chunks share a path, from the first search that groups by it on.
    paths: Cache<Paths>,
    /// What the last searches found.
    texts: Cache<KeptTexts>,
    /// What words are compared with that are nearly right, from the first search on that needs it.
    slugs: Arc<Cache<Slugs>>,
}

/// How a handle searches, where there is a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Methods {
    /// Who ranks by BM25.
    pub ranking: Ranking,
    /// How the nearest vectors are found.
    pub vectors: Vectors,
    /// What of the vectors is kept in memory.
    pub resident: Resident,
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

    /// The same with a say in how it is searched.
    pub fn open_with(
        path: &Path,
        tokenizer: TokenizerKind,
        read_only: bool,
        methods: impl Into<Methods>,
    ) -> Result<Self> {
        let location = Location::file(path, read_only)?;
        Self::open_at(location, tokenizer, read_only, methods.into())
    }

    /// Make an index in memory, gone with the handle.
    pub fn in_memory(tokenizer: TokenizerKind) -> Result<Self> {
        Self::in_memory_with(tokenizer, Methods::default())
    }

    /// The same with a say in how it is searched.
    pub fn in_memory_with(tokenizer: TokenizerKind, methods: impl Into<Methods>) -> Result<Self> {
        Self::open_at(Location::memory(), tokenizer, false, methods.into())
    }

    fn open_at(
        location: Location,
        asked: TokenizerKind,
        read_only: bool,
        methods: Methods,
    ) -> Result<Self> {
        let _gate = fork::enter();
        let mut connection = location.first_connection(read_only)?;
        let tokenizer = schema::prepare(&mut connection, &location, asked, read_only, MIGRATIONS)?;
        let checkpoints = Checkpoints::default();
        if !read_only && location.path().is_some() {
            let watched = checkpoints.watch(&mut connection);
            watched.map_err(|error| location.error(&error))?;
        }
        let pool = Pool::new(connection, read_only, location.path().is_none());
        let pool = Arc::new(RwLock::new(Some(pool)));
        fork::register(&pool);
        let background = Background::new(location.clone(), Arc::clone(&pool));
        let matrix = Source {
            background: background.clone(),
            kept: Kept {
                values: methods.resident == Resident::All,
                signs: methods.vectors == Vectors::Fast,
            },
        };
        let ranker = Ranker::new(methods.ranking, tokenizer, background.clone());
        Ok(Self {
            process: process::id(),
            location,
            tokenizer,
            read_only,
            pool,
            vectors: Cache::new(background.clone(), matrix),
            methods,
            paths: Cache::new(background.clone(), ()),
            texts: Cache::new(background.clone(), ()),
            slugs: Arc::new(Cache::new(background.clone(), ())),
            background,
            checkpoints,
            ranker,
        })
    }

    /// The absolute path of the file; none for an index in memory.
    pub fn path(&self) -> Option<&PathBuf> {
        self.location.path()
    }

    /// The tokenizer the index was made with.
    pub fn tokenizer(&self) -> TokenizerKind {
        self.tokenizer
    }

    /// Whether this handle refuses to write.
    pub fn read_only(&self) -> bool {
        self.read_only
    }

    /// Work beside the callers.
    pub(crate) fn background(&self) -> &Background {
        &self.background
    }

    /// Who ranks by BM25.
    pub fn ranking(&self) -> Ranking {
        self.ranker.ranking()
    }

    /// How the nearest vectors are found.
    pub fn vectors(&self) -> Vectors {
        self.methods.vectors
    }

    /// What of the vectors is kept in memory.
    pub fn resident(&self) -> Resident {
        self.methods.resident
    }

    /// What happened since the last time that no caller waits for: each notice is given once.
    pub fn take_notices(&self) -> Vec<Notice> {
        self.background.notices().take()
    }

    /// Close the connections once running operations are through; closing again does nothing.
    pub fn close(&self) -> Result<()> {
        self.check_process()?;
        self.background.stop();
        let _gate = fork::enter();
        let pool = self
            .pool
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        drop(pool);
        self.vectors.clear();
        self.ranker.clear();
        self.paths.clear();
        self.texts.clear();
        self.slugs.clear();
        Ok(())
    }
}

impl Drop for Index {
    fn drop(&mut self) {
        self.background.stop();
        // Closing inherited connections could undo what the parent process is doing: keep them.
        if process::id() != self.process {
            std::mem::forget(Arc::clone(&self.pool));
        }
    }
}
