//! Counts of an index, and the memory that its handle uses.

use super::handle::Index;
use super::session::Needs;
use crate::chunks::{FullText, declared};
use crate::error::Result;
use crate::storage::FORMAT;
use crate::text::tokenizer::TokenizerKind;
use crate::vectors::{Space, Vectors};

/// Counts of an index.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexStats {
    /// The number of chunks.
    pub chunks: u64,
    /// The number of distinct paths.
    pub paths: u64,
    /// The size of the database, without its write-ahead log.
    pub size_bytes: u64,
    /// The tokenizer it was made with.
    pub tokenizer: TokenizerKind,
    /// The format of the file.
    pub schema_version: u32,
    /// The SQLite that reads it.
    pub sqlite_version: &'static str,
    /// The number of dimensions of the vectors; None before the first vector.
    pub dimensions: Option<usize>,
    /// The name of the embedder, if known.
    pub embedder: Option<String>,
    /// The number of chunks with a vector.
    pub vectors: u64,
    /// The memory that this handle keeps the vectors in: none before they are first searched.
    pub vector_bytes: usize,
    /// The share of nearest vectors that an approximate search found for a sample; None while
    /// searches are exact.
    pub vector_recall: Option<f64>,
    /// The memory that this handle ranks with: none before that is made.
    pub ranking_bytes: usize,
    /// Who ranks by BM25 in this handle, and why.
    pub ranking_reason: String,
    /// The memory that this handle keeps the texts of the last hits in, by estimate.
    pub text_bytes: usize,
    /// The keys that filters find by an index, as they were declared.
    pub metadata_index: Vec<String>,
    /// The memory of the columns that filters test and of the rows that passed, in bytes, by estimate.
    pub filter_bytes: usize,
    /// The memory that this handle keeps slugs in, by estimate: none before the fuzzy rung is first
    /// reached.
    pub fuzzy_bytes: usize,
}

impl Index {
    /// Return the bytes of memory that the vectors take now: 0 before they are first searched.
    pub fn vector_bytes(&self) -> usize {
        let newest = self.matrices.newest();
        newest.map_or(0, |matrix| matrix.bytes())
    }

    /// Return the approximate bytes of memory of the cached texts of recent hits.
    pub fn text_bytes(&self) -> usize {
        self.texts.newest().map_or(0, |texts| texts.bytes())
    }

    /// Return the share of nearest vectors that a fast search finds, for a sample of the vectors.
    /// None before vectors are first searched, and if searches are exact.
    fn vector_recall(&self) -> Result<Option<f64>> {
        if self.methods.vectors == Vectors::Exact || self.matrices.newest().is_none() {
            return Ok(None);
        }
        let needs = Needs {
            vectors: true,
            ..Needs::default()
        };
        #[allow(
            clippy::redundant_closure_for_method_calls,
            reason = "the method itself is of sessions of one lifetime"
        )]
        self.session(needs, |session| session.recall())
    }

    /// Counts and versions, all of one moment.
    pub fn stats(&self) -> Result<IndexStats> {
        let stats = self.database.read(|connection| {
            let Space {
                dimensions,
                embedder,
                ..
            } = Space::read(connection)?;
            let (paths, vectors) = self.counts(connection)?;
            let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, u64>(0));
            Ok(IndexStats {
                chunks: self.chunk_count(connection)?,
                paths,
                size_bytes: number("PRAGMA page_count")? * number("PRAGMA page_size")?,
                tokenizer: FullText::read(connection)?.tokenizer,
                schema_version: FORMAT,
                sqlite_version: rusqlite::version(),
                dimensions,
                embedder,
                vectors,
                vector_bytes: 0,
                vector_recall: None,
                ranking_bytes: 0,
                ranking_reason: String::new(),
                text_bytes: 0,
                metadata_index: declared(connection)?
                    .into_iter()
                    .map(|key| key.name)
                    .collect(),
                filter_bytes: 0,
                fuzzy_bytes: 0,
            })
        })?;
        Ok(IndexStats {
            vector_bytes: self.vector_bytes(),
            vector_recall: self.vector_recall()?,
            ranking_bytes: self.ranker.bytes(),
            ranking_reason: self.ranker.reason(),
            text_bytes: self.text_bytes(),
            filter_bytes: self.filters.bytes(),
            fuzzy_bytes: self.slugs.newest().map_or(0, |slugs| slugs.bytes()),
            ..stats
        })
    }
}
