//! Giving vectors to chunks that are stored already, and the space those vectors are in.

use rusqlite::{CachedStatement, Connection, OptionalExtension, Row};

use super::handle::Index;
use crate::chunks::{Chunk, Page};
use crate::error::{Error, ErrorCode, Fix, Result};
use crate::storage::{WorkError, generations};
use crate::unit_vector;
use crate::vectors::{Embedder, Space, VectorWriter, settle};

/// The condition that no vector was computed or refused for a chunk yet.
pub(super) const UNEMBEDDED: &str =
    "NOT EXISTS (SELECT 1 FROM embeddings WHERE embeddings.row = knowledge_chunks.row)";

impl Index {
    /// Return up to `limit` chunks that have no vector, and whose row is greater than `after`.
    /// Begin with 0.
    ///
    /// A chunk stored with an empty vector has none, and is not returned again.
    pub fn unembedded_page(&self, after: i64, limit: u32) -> Result<Page> {
        self.database
            .read(|connection| Page::read(connection, UNEMBEDDED, after, limit))
    }

    /// The positions of those chunks that would have no vector once they are upserted: they bring
    /// none, and there is none stored for their texts.
    pub fn unembedded(&self, chunks: &[&Chunk]) -> Result<Vec<usize>> {
        self.database.read(|connection| {
            let mut meant = StoredTextLookup::prepare(connection)?;
            let mut positions = Vec::new();
            for (position, chunk) in chunks.iter().enumerate() {
                if chunk.embedding.is_none() && !meant.is_embedded(chunk)? {
                    positions.push(position);
                }
            }
            Ok(positions)
        })
    }

    /// Store vectors of existing chunks, in one transaction. Returns the number of chunks that took
    /// their vector.
    ///
    /// A chunk that was deleted or changed since is skipped: the vector would not belong to its
    /// texts.
    pub fn set_embeddings<V: AsRef<[f32]>>(
        &self,
        chunks: &[&Chunk],
        vectors: &[V],
        embedder: Option<Embedder<'_>>,
    ) -> Result<usize> {
        check_vectors(chunks, vectors)?;
        self.database
            .try_write(|connection| self.store(connection, chunks, vectors, embedder))
    }

    fn store<V: AsRef<[f32]>>(
        &self,
        connection: &Connection,
        chunks: &[&Chunk],
        vectors: &[V],
        embedder: Option<Embedder<'_>>,
    ) -> std::result::Result<usize, WorkError> {
        let given = vectors.iter().map(|vector| Some(vector.as_ref()));
        self.admit(connection, given, embedder, |position| {
            format!("vectors[{position}]")
        })?;
        let mut meant = StoredTextLookup::prepare(connection)?;
        let mut statements = VectorWriter::prepare(connection)?;
        let (mut stored, mut changed) = (0, Vec::new());
        for (chunk, vector) in chunks.iter().zip(vectors) {
            if let Some((row, _)) = meant.find(chunk)? {
                stored += 1;
                if statements.set(row, vector.as_ref())? {
                    changed.push(row);
                }
            }
        }
        generations::record(connection, &changed)?;
        settle(connection)?;
        Ok(stored)
    }
}

impl Index {
    /// Return the current dimension and embedder of the vectors.
    pub fn space(&self) -> Result<Space> {
        self.database.read(Space::read)
    }

    /// Refuse another embedder than the one the vectors are of, where that is known.
    pub fn check_embedder(&self, embedder: &str) -> Result<()> {
        self.space()?
            .check_embedder(embedder, self.database.location())
    }

    /// Check vectors before they are stored: the first fixes the dimension and the embedder, and vectors of
    /// another dimension or embedder are rejected. `name` returns the caller's name for the vector of a
    /// position.
    pub(super) fn admit<'v>(
        &self,
        connection: &Connection,
        vectors: impl Iterator<Item = Option<&'v [f32]>>,
        embedder: Option<Embedder<'_>>,
        name: impl Fn(usize) -> String,
    ) -> std::result::Result<(), WorkError> {
        let known = Space::read(connection)?;
        let mut space = known.clone();
        if let Some(embedder) = embedder {
            known.check_embedder(embedder.name, self.database.location())?;
        }
        for (position, vector) in vectors.enumerate() {
            let Some(vector) = vector.filter(|vector| !vector.is_empty()) else {
                continue;
            };
            if space.dimensions != Some(vector.len()) {
                space.check(vector, &name(position))?;
                space.dimensions = Some(vector.len());
            }
            if space.embedder.is_none() {
                space.embedder = embedder.map(|embedder| embedder.name.to_owned());
                space.details = embedder.and_then(|it| it.details).map(ToOwned::to_owned);
            }
        }
        if space != known {
            space.write(connection)?;
        }
        Ok(())
    }

    /// Have vectors of this dimension only: an index that has none yet is given it, and one of
    /// another dimension is refused.
    pub fn expect_dimensions(&self, dimensions: usize) -> Result<()> {
        let space = self.space()?;
        if space.dimensions.is_none() && !self.database.read_only() {
            return self.database.try_write(|connection| {
                // Another process may have been first.
                let mut space = Space::read(connection)?;
                self.agree(&space, dimensions)?;
                space.dimensions = Some(dimensions);
                Ok::<_, WorkError>(space.write(connection)?)
            });
        }
        self.agree(&space, dimensions)
    }

    fn agree(&self, space: &Space, dimensions: usize) -> Result<()> {
        match space.dimensions {
            Some(known) if known != dimensions => Err(Error::new(
                ErrorCode::DimensionMismatch,
                format!(
                    "{} has vectors of {known} dimensions, not {dimensions}; leave the dimensions out",
                    self.database.location()
                ),
            )
            .with_fix(Fix::reembed())),
            _ => Ok(()),
        }
    }
}

/// Looks up the stored row of a chunk whose embedded texts are the same.
pub(super) struct StoredTextLookup<'c>(CachedStatement<'c>);

impl<'c> StoredTextLookup<'c> {
    pub fn prepare(connection: &'c Connection) -> rusqlite::Result<Self> {
        let sql = format!(
            "SELECT row, title, summary, content, {UNEMBEDDED} FROM knowledge_chunks WHERE id = ?"
        );
        connection.prepare_cached(&sql).map(Self)
    }

    /// Return the row of the chunk, and whether its vector is still to be computed.
    pub fn find(&mut self, chunk: &Chunk) -> rusqlite::Result<Option<(i64, bool)>> {
        let meaning = [&chunk.title, &chunk.summary, &chunk.content];
        let found = |row: &Row<'_>| {
            // Compared in SQLite's memory, and not decoded.
            for (column, text) in (1..).zip(meaning) {
                if row.get_ref(column)?.as_bytes()? != text.as_bytes() {
                    return Ok(None);
                }
            }
            Ok(Some((row.get(0)?, row.get(4)?)))
        };
        Ok(self.0.query_row([&chunk.id], found).optional()?.flatten())
    }

    /// Whether the chunk is stored with the same texts and what its vector is.
    fn is_embedded(&mut self, chunk: &Chunk) -> rusqlite::Result<bool> {
        Ok(self.find(chunk)?.is_some_and(|(_, unembedded)| !unembedded))
    }
}

pub(super) fn check_vectors<V: AsRef<[f32]>>(chunks: &[&Chunk], vectors: &[V]) -> Result<()> {
    if chunks.len() != vectors.len() {
        return Err(Error::new(
            ErrorCode::InvalidVector,
            format!(
                "there are {} vectors for {} chunks; give one to each",
                vectors.len(),
                chunks.len()
            ),
        ));
    }
    for (position, vector) in vectors.iter().enumerate() {
        let name = format!("vectors[{position}]");
        unit_vector::check(vector.as_ref(), &name, ErrorCode::InvalidVector)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::tokenizer::TokenizerKind;

    fn chunk(id: &str, content: &str) -> Chunk {
        Chunk {
            id: id.to_owned(),
            content: content.to_owned(),
            ..Chunk::default()
        }
    }

    fn without_vector(index: &Index) -> Vec<String> {
        let page = index.unembedded_page(0, 100).unwrap();
        page.chunks.into_iter().map(|chunk| chunk.id).collect()
    }

    #[test]
    fn chunks_are_given_their_vectors_once() {
        let index = Index::in_memory(TokenizerKind::Porter).unwrap();
        let chunks = ["a", "b", "c", "d"].map(|id| chunk(id, "old"));
        let [a, b, c, d] = chunks.each_ref();
        index.upsert(&[a, b, c, d]).unwrap();
        assert_eq!(without_vector(&index), ["a", "b", "c", "d"]);
        assert_eq!(index.unembedded_page(1, 2).unwrap().after, 3);
        // Meanwhile one is deleted and one rewritten.
        index.delete(&["b"]).unwrap();
        index.upsert(&[&chunk("c", "new")]).unwrap();
        let vectors = [vec![3.0, 4.0], vec![1.0, 0.0], vec![1.0, 0.0], vec![]];
        let given = index.set_embeddings(&[a, b, c, d], &vectors, Some("one".into()));
        assert_eq!(given.unwrap(), 2);
        assert_eq!(without_vector(&index), ["c"], "d has none to be had");
        let new = chunk("e", "new");
        assert_eq!(index.unembedded(&[a, c, d, &new]).unwrap(), [1, 3]);
        assert_eq!(
            index.get("a").unwrap().unwrap().embedding,
            Some(vec![0.6, 0.8])
        );
        assert_eq!(index.get("d").unwrap().unwrap().embedding, None);
        let stats = index.stats().unwrap();
        assert_eq!((stats.vectors, stats.dimensions), (1, Some(2)));
        assert_eq!(stats.embedder.as_deref(), Some("one"));
    }

    #[test]
    fn another_embedder_is_refused_until_all_is_replaced() {
        let index = Index::in_memory(TokenizerKind::Porter).unwrap();
        let [a, b] = ["a", "b"].map(|id| chunk(id, "text"));
        index.upsert(&[&a, &b]).unwrap();
        index
            .set_embeddings(&[&a, &b], &[[1.0, 0.0]; 2], Some("one".into()))
            .unwrap();
        let errors = [
            index.set_embeddings(&[&a], &[[1.0, 0.0]], Some("two".into())),
            index.upsert_from(&[&a], Some("two".into())),
            index.check_embedder("two").map(|()| 0),
        ];
        for error in errors {
            let error = error.unwrap_err();
            assert_eq!(error.code(), ErrorCode::EmbedderMismatch);
            assert!(
                error.message().starts_with(
                    "the index in memory has vectors of the embedder \"one\", not \"two\"; use"
                ),
                "{error}"
            );
        }
        let error = index.set_embeddings(&[&b, &a], &[vec![1.0, 0.0], vec![1.0]], None);
        assert_eq!(error.unwrap_err().code(), ErrorCode::DimensionMismatch);
        let error = index
            .set_embeddings(&[&b], &[[f32::INFINITY, 0.0]], None)
            .unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidVector);
        assert!(index.set_embeddings(&[&b], &[[1.0, 0.0]; 2], None).is_err());

        let query = [0.0, 0.0, 1.0];
        let filters = crate::chunks::Filters::default();
        assert!(index.search_vector(&query, 5, &filters).is_err());
        index.begin_staging(Some("two".into())).unwrap();
        index.stage_embeddings(&[&b], &[query]).unwrap();
        assert_eq!(index.replace_by_staged().unwrap(), 1);
        let hits = index.search_vector(&query, 5, &filters).unwrap();
        assert_eq!(hits.len(), 1);
        assert_eq!(without_vector(&index), ["a"]);
        assert!(index.check_embedder("two").is_ok());
        assert!(index.check_embedder("one").is_err());
        assert_eq!(index.check().unwrap(), [] as [&str; 0]);
    }

    #[test]
    fn what_fails_changes_nothing() {
        let index = Index::in_memory(TokenizerKind::Porter).unwrap();
        let a = chunk("a", "text");
        let embedded = Chunk {
            embedding: Some(vec![1.0, 0.0]),
            ..a.clone()
        };
        let wrong = Chunk {
            embedding: Some(vec![1.0]),
            ..chunk("b", "text")
        };
        let error = index
            .upsert_from(&[&embedded, &wrong], Some("one".into()))
            .unwrap_err();
        assert!(
            error
                .message()
                .starts_with("chunks[1]: the embedding has 1 dimensions and the index has 2;"),
            "{error}"
        );
        assert_eq!(index.space().unwrap(), Space::default());
        assert_eq!(index.len().unwrap(), 0);
        index.upsert_from(&[&embedded], Some("one".into())).unwrap();
        let before = index.space().unwrap();
        index.begin_staging(Some("two".into())).unwrap();
        let failed = index.stage_embeddings(&[&a, &a], &[vec![1.0], vec![1.0, 1.0]]);
        assert!(failed.is_err());
        assert_eq!(index.space().unwrap(), before);
        assert_eq!(index.replace_by_staged().unwrap(), 0);
        assert_eq!(index.space().unwrap().dimensions, None);
    }

    #[test]
    fn a_dimension_can_be_expected() {
        let index = Index::in_memory(TokenizerKind::Porter).unwrap();
        index.expect_dimensions(3).unwrap();
        index.expect_dimensions(3).unwrap();
        let error = index.expect_dimensions(4).unwrap_err();
        assert_eq!(
            error.message(),
            "the index in memory has vectors of 3 dimensions, not 4; leave the dimensions out"
        );
        assert_eq!(error.fixes(), [Fix::reembed()]);
    }
}
