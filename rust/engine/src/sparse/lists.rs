//! The inverted lists of one generation of an index.
//!
//! A version is a few [`SparseSegment`]s, the first by far the largest, with the deleted slots of each. The
//! next version adds a segment of changed rows, and joins the small segments. After many changes all rows are
//! loaded again as one segment.

use std::sync::Arc;

use roaring::RoaringBitmap;
use rusqlite::{Connection, OptionalExtension};

use super::segment::{SegmentBuilder, SparseSegment};
use crate::chunks::has_sparse_vectors;
use crate::error::Result;
use crate::interrupt::{self, CancelTicker};
use crate::sparse_vector::{StoredEntries, damaged};
use crate::storage::cache::RowVersion;
use crate::storage::generations::{self, RowRanges, max_incremental_rows};

/// The sparse vectors of one generation of an index.
#[derive(Debug, Clone, Default)]
pub(crate) struct SparseLists {
    generation: i64,
    /// The oldest first. A row is live in one of them at most.
    parts: Vec<SparsePart>,
}

/// A segment, and the rows that are no longer in it.
#[derive(Debug, Clone)]
pub(super) struct SparsePart {
    pub segment: Arc<SparseSegment>,
    /// The deleted slots.
    pub deleted: Arc<RoaringBitmap>,
}

impl RowVersion for SparseLists {
    type Source = ();
    const NAME: &'static str = "sparse vectors";

    fn generation(&self) -> i64 {
        self.generation
    }

    fn rows(&self) -> usize {
        self.parts.iter().map(SparsePart::len).sum()
    }

    fn load((): &(), connection: &Connection) -> rusqlite::Result<Self> {
        let generation = generations::generation(connection)?;
        let mut builder = SegmentBuilder::default();
        if has_sparse_vectors(connection)? {
            let sql = "SELECT row, vector FROM sparse_vectors ORDER BY row";
            let mut statement = connection.prepare_cached(sql)?;
            let mut found = statement.query([])?;
            let mut pace = CancelTicker::default();
            while let Some(found) = found.next()? {
                pace.read(1)?;
                read(&mut builder, found.get(0)?, found.get_ref(1)?.as_blob()?)?;
            }
        }
        let segment = interrupt::among_statements(builder.finish())?;
        Ok(Self {
            generation,
            parts: vec![SparsePart::of(segment)],
        })
    }

    fn apply_changes(
        self: &Arc<Self>,
        (): &(),
        connection: &Connection,
        generation: i64,
        changed: &RowRanges,
    ) -> rusqlite::Result<Option<Self>> {
        let mut next = Self::clone(self);
        next.generation = generation;
        let mut builder = SegmentBuilder::default();
        let mut of_row = if has_sparse_vectors(connection)? {
            let sql = "SELECT vector FROM sparse_vectors WHERE row = ?";
            Some(connection.prepare_cached(sql)?)
        } else {
            None
        };
        for row in changed.iter() {
            next.delete(row);
            let Some(statement) = &mut of_row else {
                continue;
            };
            let read =
                |found: &rusqlite::Row<'_>| read(&mut builder, row, found.get_ref(0)?.as_blob()?);
            statement.query_row([row], read).optional()?;
        }
        let added = interrupt::among_statements(builder.finish())?;
        if !added.rows().is_empty() {
            next.parts.push(SparsePart::of(added));
        }
        interrupt::among_statements(next.join_small())?;
        Ok((!next.is_worn()).then_some(next))
    }
}

/// Add a stored vector to a segment, unless it has no tokens.
fn read(builder: &mut SegmentBuilder, row: i64, blob: &[u8]) -> rusqlite::Result<()> {
    let mut entries = StoredEntries::of(blob).peekable();
    if entries.peek().is_none() {
        return if blob.is_empty() {
            Err(damaged(row))
        } else {
            Ok(())
        };
    }
    builder.begin(row);
    for entry in entries {
        let (token, weight) = entry.ok_or_else(|| damaged(row))?;
        builder.add(token, weight);
    }
    Ok(())
}

impl SparseLists {
    /// The segments with their deleted slots.
    pub(super) fn parts(&self) -> &[SparsePart] {
        &self.parts
    }

    /// The part and the slot of a row.
    pub(super) fn find(&self, row: i64) -> Option<(usize, usize)> {
        let parts = self.parts.iter().enumerate();
        parts
            .rev()
            .find_map(|(number, part)| Some((number, part.find(row)?)))
    }

    /// The approximate bytes of memory.
    pub fn bytes(&self) -> usize {
        let of_part = |part: &SparsePart| part.segment.bytes() + part.deleted.serialized_size();
        self.parts.iter().map(of_part).sum()
    }

    fn delete(&mut self, row: i64) {
        if let Some((part, slot)) = self.find(row) {
            let deleted = Arc::make_mut(&mut self.parts[part].deleted);
            deleted.insert(slot_number(slot));
        }
    }

    /// Join the last parts, except the first of all, until each is more than twice as large as the next. A row
    /// is then joined a few times at most.
    fn join_small(&mut self) -> Result<()> {
        while let [_, .., before, last] = &self.parts[..]
            && before.len() <= 2 * last.len()
        {
            let joined = SparsePart::joined(&[before, last])?;
            self.parts.truncate(self.parts.len() - 2);
            self.parts.push(joined);
        }
        self.parts.retain(|part| part.len() > 0);
        Ok(())
    }

    /// Whether so much is out of date that loading is better.
    fn is_worn(&self) -> bool {
        let Some((first, others)) = self.parts.split_first() else {
            return false;
        };
        let later: usize = others.iter().map(|part| part.segment.rows().len()).sum();
        let worn = later + first.segment.rows().len() - first.len();
        worn > max_incremental_rows(first.segment.rows().len())
    }
}

impl SparsePart {
    fn of(segment: SparseSegment) -> Self {
        Self {
            segment: Arc::new(segment),
            deleted: Arc::default(),
        }
    }

    /// The number of live rows.
    pub fn len(&self) -> usize {
        let deleted = usize::try_from(self.deleted.len()).unwrap_or(usize::MAX);
        self.segment.rows().len().saturating_sub(deleted)
    }

    /// Whether a slot is live.
    pub fn is_live(&self, slot: usize) -> bool {
        !self.deleted.contains(slot_number(slot))
    }

    fn find(&self, row: i64) -> Option<usize> {
        let slot = self.segment.slot(row);
        slot.filter(|slot| self.is_live(*slot))
    }

    /// The live rows of some parts as one part.
    fn joined(parts: &[&Self]) -> Result<Self> {
        let mut pace = CancelTicker::default();
        let mut vectors = Vec::new();
        for part in parts {
            let rows = part.segment.rows().iter();
            let mut of_part: Vec<(i64, Vec<(&str, f32)>)> =
                rows.map(|row| (*row, Vec::new())).collect();
            for (token, slots, weights) in part.segment.lists() {
                pace.step(slots.len())?;
                for (slot, weight) in slots.iter().zip(weights) {
                    of_part[*slot as usize].1.push((token, *weight));
                }
            }
            let live = of_part.into_iter().enumerate();
            let live = live.filter(|(slot, _)| part.is_live(*slot));
            vectors.extend(live.map(|(_, vector)| vector));
        }
        vectors.sort_unstable_by_key(|(row, _)| *row);
        let mut builder = SegmentBuilder::default();
        for (row, entries) in vectors {
            pace.step(entries.len())?;
            builder.begin(row);
            for (token, weight) in entries {
                builder.add(token, weight);
            }
        }
        Ok(Self::of(builder.finish()?))
    }
}

/// A slot as a number of a bitmap; a segment has fewer than 2^32.
fn slot_number(slot: usize) -> u32 {
    u32::try_from(slot).unwrap_or(u32::MAX)
}
