//! New vectors for all chunks, collected in the file until they replace the old ones.
//!
//! Vectors of another embedder are staged block by block, so that they need no memory and paid embeddings are
//! not lost on a failure. Until [`Index::replace_by_staged`], searches use the old vectors. A chunk that is
//! written or removed loses its staged vector.

use super::embed::{StoredTextLookup, check_vectors};
use super::handle::Index;
use crate::chunks::{Chunk, Page};
use crate::error::{Error, ErrorCode, Result};
use crate::storage::generations;
use crate::storage::settings::{
    self, CENTER, STAGED_DIMENSIONS, STAGED_EMBEDDER, STAGED_EMBEDDER_DETAILS,
};
use crate::unit_vector;
use crate::vectors::{Embedder, Space, clear_staged, settle};

const UNSTAGED: &str = "NOT EXISTS (SELECT 1 FROM staged_embeddings WHERE staged_embeddings.row = knowledge_chunks.row)";

impl Index {
    /// Begin to stage the vectors of an embedder, or continue an earlier attempt with the same
    /// embedder: then the result is the number of staged vectors. Without a name, staging starts
    /// again.
    pub fn begin_staging(&self, embedder: Option<Embedder<'_>>) -> Result<u64> {
        let name = embedder.map(|embedder| embedder.name);
        let details = embedder.and_then(|embedder| embedder.details);
        self.database.write(|connection| {
            let staged: Option<String> = settings::get(connection, STAGED_EMBEDDER)?;
            if name.is_none() || staged.as_deref() != name {
                clear_staged(connection)?;
                settings::set(connection, STAGED_EMBEDDER, name)?;
            }
            settings::set(connection, STAGED_EMBEDDER_DETAILS, details)?;
            connection.query_row("SELECT count(*) FROM staged_embeddings", [], |row| {
                row.get(0)
            })
        })
    }

    /// Up to `limit` chunks without a staged vector, whose row comes after `after`; begin with 0.
    pub fn unstaged_page(&self, after: i64, limit: u32) -> Result<Page> {
        self.database
            .read(|connection| Page::read(connection, UNSTAGED, after, limit))
    }

    /// Stage vectors of stored chunks, in one transaction. Returns the number of chunks that took
    /// their vector.
    ///
    /// A chunk that was deleted or changed since is skipped.
    pub fn stage_embeddings<V: AsRef<[f32]>>(
        &self,
        chunks: &[&Chunk],
        vectors: &[V],
    ) -> Result<usize> {
        check_vectors(chunks, vectors)?;
        self.database.try_write(|connection| {
            let mut dimensions: Option<usize> = settings::get(connection, STAGED_DIMENSIONS)?;
            let mut meant = StoredTextLookup::prepare(connection)?;
            let mut put = connection
                .prepare_cached("INSERT OR REPLACE INTO staged_embeddings VALUES (?, ?)")?;
            let mut staged = 0;
            for (at, (chunk, given)) in chunks.iter().zip(vectors).enumerate() {
                let given = given.as_ref();
                if !given.is_empty() && dimensions != Some(given.len()) {
                    if let Some(known) = dimensions {
                        return Err(mixed(at, given.len(), known).into());
                    }
                    dimensions = Some(given.len());
                    let text = given.len().to_string();
                    settings::set(connection, STAGED_DIMENSIONS, Some(&text))?;
                }
                if let Some((row, _)) = meant.find(chunk)? {
                    put.execute((row, unit_vector::to_blob(&unit_vector::unit(given))))?;
                    staged += 1;
                }
            }
            Ok(staged)
        })
    }

    /// Replace all vectors by the staged vectors. Returns the number of staged vectors.
    pub fn replace_by_staged(&self) -> Result<usize> {
        self.database.write(|connection| {
            let mut known = connection
                .prepare("SELECT row FROM embeddings UNION SELECT row FROM staged_embeddings")?;
            let rows: Vec<i64> = known
                .query_map([], |row| row.get(0))?
                .collect::<rusqlite::Result<_>>()?;
            connection.execute("DELETE FROM embeddings", [])?;
            let stored = connection.execute(
                "INSERT INTO embeddings SELECT row, vector FROM staged_embeddings ORDER BY row",
                [],
            )?;
            generations::record(connection, &rows)?;
            Space {
                dimensions: settings::get(connection, STAGED_DIMENSIONS)?,
                embedder: settings::get(connection, STAGED_EMBEDDER)?,
                details: settings::get(connection, STAGED_EMBEDDER_DETAILS)?,
            }
            .write(connection)?;
            settings::set(connection, CENTER, None)?;
            settle(connection)?;
            clear_staged(connection)?;
            Ok(stored)
        })
    }
}

fn mixed(at: usize, dimensions: usize, known: usize) -> Error {
    Error::new(
        ErrorCode::DimensionMismatch,
        format!(
            "vectors[{at}] has {dimensions} dimensions and those before it have {known}; give all \
             chunks vectors of one embedder"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunks::Filters;
    use crate::text::tokenizer::TokenizerKind;

    fn chunk(id: &str, content: &str) -> Chunk {
        Chunk {
            id: id.to_owned(),
            content: content.to_owned(),
            ..Chunk::default()
        }
    }

    fn unstaged(index: &Index) -> Vec<String> {
        let page = index.unstaged_page(0, 100).unwrap();
        page.chunks.into_iter().map(|chunk| chunk.id).collect()
    }

    fn index_of(chunks: &[&Chunk]) -> Index {
        let index = Index::in_memory(TokenizerKind::Porter).unwrap();
        index.upsert(chunks).unwrap();
        index
            .set_embeddings(chunks, &vec![[1.0, 0.0]; chunks.len()], Some("one".into()))
            .unwrap();
        index
    }

    #[test]
    fn the_old_vectors_answer_until_all_new_ones_are_there() {
        let chunks = ["a", "b", "c"].map(|id| chunk(id, "text"));
        let [a, b, c] = chunks.each_ref();
        let index = index_of(&[a, b, c]);
        assert_eq!(index.begin_staging(Some("two".into())).unwrap(), 0);
        let vectors = [[0.0, 0.0, 2.0], [0.0, 1.0, 0.0]];
        assert_eq!(index.stage_embeddings(&[a, b], &vectors).unwrap(), 2);
        assert_eq!(unstaged(&index), ["c"]);
        let filters = Filters::default();
        assert_eq!(
            index.search_vector(&[1.0, 0.0], 9, &filters).unwrap().len(),
            3
        );
        // As after a failure: the same embedder continues, another starts again.
        assert_eq!(index.begin_staging(Some("two".into())).unwrap(), 2);
        index.upsert(&[&chunk("a", "new")]).unwrap();
        index.delete(&["b"]).unwrap();
        assert_eq!(unstaged(&index), ["a", "c"]);
        let late = index.stage_embeddings(&[a, c], &[[0.0, 1.0, 0.0]; 2]);
        assert_eq!(late.unwrap(), 1, "a reads differently by now");
        assert_eq!(index.replace_by_staged().unwrap(), 1);
        let found = index.search_vector(&[0.0, 1.0, 0.0], 9, &filters).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(index.unembedded_page(0, 9).unwrap().chunks[0].id, "a");
        let space = index.space().unwrap();
        assert_eq!(
            (space.dimensions, space.embedder.as_deref()),
            (Some(3), Some("two"))
        );
        assert_eq!(index.begin_staging(Some("two".into())).unwrap(), 0);
        assert_eq!(index.check().unwrap(), [] as [&str; 0]);
    }

    #[test]
    fn details_go_where_the_name_goes() {
        let asked = |name, details| {
            Some(Embedder {
                name,
                details: Some(details),
            })
        };
        let a = chunk("a", "text");
        let index = Index::in_memory(TokenizerKind::Porter).unwrap();
        index.upsert(&[&a]).unwrap();
        let details = || index.space().unwrap().details;
        index
            .set_embeddings(&[&a], &[[1.0, 0.0]], asked("one", "first"))
            .unwrap();
        index.upsert_from(&[&a], asked("one", "later")).unwrap();
        assert_eq!(details().as_deref(), Some("first"));
        index.begin_staging(asked("two", "failed")).unwrap();
        index.begin_staging(asked("two", "second")).unwrap();
        index.stage_embeddings(&[&a], &[[0.0, 1.0]]).unwrap();
        assert_eq!(details().as_deref(), Some("first"));
        index.replace_by_staged().unwrap();
        assert_eq!(details().as_deref(), Some("second"));
        index.begin_staging(Some("three".into())).unwrap();
        index.replace_by_staged().unwrap();
        assert_eq!(details(), None);
    }

    #[test]
    fn what_is_not_of_one_embedder_is_not_mixed() {
        let a = chunk("a", "text");
        let index = index_of(&[&a]);
        index.begin_staging(Some("two".into())).unwrap();
        index.stage_embeddings(&[&a], &[[1.0, 0.0, 0.0]]).unwrap();
        let error = index.stage_embeddings(&[&a], &[[1.0]]).unwrap_err();
        assert_eq!(error.code(), ErrorCode::DimensionMismatch);
        assert_eq!(
            error.message(),
            "vectors[0] has 1 dimensions and those before it have 3; give all chunks vectors of one \
             embedder"
        );
        for embedder in [Some("three".into()), None, None] {
            assert_eq!(index.begin_staging(embedder).unwrap(), 0);
            assert_eq!(unstaged(&index), ["a"]);
            index.stage_embeddings(&[&a], &[[1.0]]).unwrap();
        }
    }
}
