//! Giving sparse vectors to chunks that are stored already.

use super::embed::StoredTextLookup;
use super::handle::Index;
use crate::chunks::{Chunk, has_sparse_vectors};
use crate::error::{Error, ErrorCode, Result};
use crate::sparse::SparseWriter;
use crate::sparse_vector::SparseVector;
use crate::storage::generations;

impl Index {
    /// Return the positions of the chunks that would have no sparse vector after an upsert: they bring none, and
    /// none is stored for their texts.
    pub fn without_sparse(&self, chunks: &[&Chunk]) -> Result<Vec<usize>> {
        self.database.read(|connection| {
            let mut stored = StoredTextLookup::prepare(connection)?;
            let mut find = if has_sparse_vectors(connection)? {
                let sql = "SELECT 1 FROM sparse_vectors WHERE row = ?";
                Some(connection.prepare_cached(sql)?)
            } else {
                None
            };
            let mut positions = Vec::new();
            for (position, chunk) in chunks.iter().enumerate() {
                let known = match (&mut find, stored.find(chunk)?) {
                    (Some(find), Some((row, _))) => find.exists([row])?,
                    _ => false,
                };
                if chunk.sparse.is_none() && !known {
                    positions.push(position);
                }
            }
            Ok(positions)
        })
    }

    /// Store sparse vectors of existing chunks, in one transaction. Returns the number of chunks that took
    /// their vector.
    ///
    /// A chunk that was deleted or changed since is skipped: the vector would not belong to its texts.
    pub fn set_sparse(&self, chunks: &[&Chunk], vectors: &[SparseVector]) -> Result<usize> {
        if chunks.len() != vectors.len() {
            let (vectors, chunks) = (vectors.len(), chunks.len());
            return Err(Error::new(
                ErrorCode::InvalidVector,
                format!("there are {vectors} sparse vectors for {chunks} chunks; give one to each"),
            ));
        }
        self.database.write(|connection| {
            let mut lookup = StoredTextLookup::prepare(connection)?;
            let mut writer = SparseWriter::prepare(connection)?;
            let (mut stored, mut changed) = (0, Vec::new());
            for (chunk, vector) in chunks.iter().zip(vectors) {
                if let Some((row, _)) = lookup.find(chunk)? {
                    stored += 1;
                    if writer.set(row, vector)? {
                        changed.push(row);
                    }
                }
            }
            generations::record(connection, &changed)?;
            Ok(stored)
        })
    }
}
