//! The slugs of all chunks by their trigrams, in memory for the fuzzy rung.
//!
//! A version is a few [`SlugSegment`]s that never change, the first by far the largest, with the set of deleted
//! entries of each. The next version adds a segment of changed entries. Small segments are merged
//! immediately, and all segments in the background once much of the first is out of date.

use std::collections::HashMap;
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, Row};

use super::segment::{SlugEntry, SlugSegment};
use crate::error::Result;
use crate::interrupt;
use crate::storage::cache::RowVersion;
use crate::storage::generations::{self, RowRanges};

/// Up to this number of entries, a merge is immediate.
pub(super) const SMALL: usize = if cfg!(test) { 8 } else { 4096 };
/// Up to 1 entry in this number may be out of date.
pub(super) const ONE_IN: usize = 8;
/// The most parts that a search looks into.
pub(super) const MOST_PARTS: usize = 24;

/// The slugs of one generation of an index.
#[derive(Debug, Clone)]
pub(crate) struct Slugs {
    pub(super) generation: i64,
    /// The oldest first. A row is live in one of them at most.
    pub(super) parts: Vec<SlugPart>,
    /// While all parts are being merged: the rows that changed since that began.
    pub(super) changed: Option<Vec<i64>>,
}

/// A part of the slugs.
#[derive(Debug, Clone)]
pub(super) struct SlugPart {
    pub(super) segment: Arc<SlugSegment>,
    /// The slot of each row in the segment.
    pub(super) slots: Arc<HashMap<i64, usize>>,
    pub(super) deleted: Arc<DeletedSlots>,
}

/// The deleted slots of a segment.
#[derive(Debug, Clone, Default)]
pub(super) struct DeletedSlots {
    bits: Vec<u64>,
    count: usize,
}

impl RowVersion for Slugs {
    type Source = ();
    const NAME: &'static str = "slugs";

    fn generation(&self) -> i64 {
        self.generation
    }

    fn rows(&self) -> usize {
        self.parts.iter().map(SlugPart::live).sum()
    }

    fn load((): &(), connection: &Connection) -> rusqlite::Result<Self> {
        let generation = generations::generation(connection)?;
        let entries = connection
            .prepare_cached("SELECT row, id, path FROM knowledge_chunks")?
            .query_map([], entry)?
            .collect::<rusqlite::Result<_>>()?;
        Ok(Self {
            generation,
            parts: vec![interrupt::among_statements(SlugPart::of(entries))?],
            changed: None,
        })
    }

    fn apply_changes(
        self: &Arc<Self>,
        (): &(),
        connection: &Connection,
        generation: i64,
        changed: &RowRanges,
    ) -> rusqlite::Result<Option<Self>> {
        let mut of_row = connection
            .prepare_cached("SELECT row, id, path FROM knowledge_chunks WHERE row = ?")?;
        let mut next = Self::clone(self);
        next.generation = generation;
        let mut added = Vec::new();
        for row in changed.iter() {
            let now = of_row.query_row([row], entry).optional()?;
            let known = next.find(row);
            if known.map(|(part, slot)| next.entry(part, slot)) == now.as_ref() {
                continue;
            }
            if let Some((part, slot)) = known {
                next.parts[part].delete(slot);
            }
            added.extend(now);
            if let Some(changed) = &mut next.changed {
                changed.push(row);
            }
        }
        interrupt::among_statements(next.add(added))?;
        Ok(Some(next))
    }
}

fn entry(found: &Row<'_>) -> rusqlite::Result<SlugEntry> {
    Ok(SlugEntry {
        row: found.get(0)?,
        id: found.get(1)?,
        path: found.get(2)?,
    })
}

impl Slugs {
    /// About how much memory they take.
    pub fn bytes(&self) -> usize {
        self.parts.iter().map(SlugPart::bytes).sum()
    }

    /// The accepted entries most similar to any of `tokens`, best first and at most `limit`.
    pub fn similar<S: AsRef<str>>(
        &self,
        tokens: &[S],
        limit: usize,
        accept: impl Fn(&SlugEntry) -> bool,
    ) -> Result<Vec<(&SlugEntry, f64)>> {
        let mut found = Vec::new();
        for part in &self.parts {
            let is_accepted =
                |slot: usize, entry: &SlugEntry| !part.deleted.contains(slot) && accept(entry);
            let best = part.segment.similar(tokens, limit, is_accepted)?;
            let entries = part.segment.entries();
            found.extend(
                best.into_iter()
                    .map(|(slot, similarity)| (&entries[slot], similarity)),
            );
        }
        interrupt::sort(&mut found, |(one, left), (other, right)| {
            right.total_cmp(left).then_with(|| one.compare(other))
        })?;
        found.truncate(limit);
        Ok(found)
    }

    /// The part and the slot where a row is live.
    pub(super) fn find(&self, row: i64) -> Option<(usize, usize)> {
        let parts = self.parts.iter().enumerate();
        parts
            .rev()
            .find_map(|(number, part)| Some((number, part.find(row)?)))
    }

    pub(super) fn entry(&self, part: usize, slot: usize) -> &SlugEntry {
        &self.parts[part].segment.entries()[slot]
    }

    /// Add entries, and merge small parts.
    pub(super) fn add(&mut self, added: Vec<SlugEntry>) -> Result<()> {
        if !added.is_empty() {
            self.parts.push(SlugPart::of(added)?);
        }
        self.parts.retain(|part| part.live() > 0);
        while let [.., before, last] = &self.parts[..]
            && before.live() <= 2 * last.live()
            && before.live() + last.live() <= SMALL
        {
            let merged = SlugPart::of(
                [before, last]
                    .into_iter()
                    .flat_map(SlugPart::entries)
                    .collect(),
            )?;
            self.parts.truncate(self.parts.len() - 2);
            self.parts.push(merged);
        }
        Ok(())
    }

    /// Whether so much is out of date that all of it should be merged.
    pub(super) fn is_worn(&self) -> bool {
        let Some((first, others)) = self.parts.split_first() else {
            return false;
        };
        let later: usize = others.iter().map(|part| part.segment.entries().len()).sum();
        let worn = later + first.deleted.count;
        self.parts.len() > MOST_PARTS || worn > SMALL.max(first.segment.entries().len() / ONE_IN)
    }
}

impl SlugPart {
    pub(super) fn of(entries: Vec<SlugEntry>) -> Result<Self> {
        let segment = SlugSegment::of(entries)?;
        let rows = segment.entries().iter().map(|entry| entry.row);
        Ok(Self {
            slots: Arc::new(rows.zip(0..).collect()),
            segment: Arc::new(segment),
            deleted: Arc::default(),
        })
    }

    pub(super) fn find(&self, row: i64) -> Option<usize> {
        let slot = self.slots.get(&row).copied();
        slot.filter(|slot| !self.deleted.contains(*slot))
    }

    pub(super) fn delete(&mut self, slot: usize) {
        Arc::make_mut(&mut self.deleted).insert(slot);
    }

    fn live(&self) -> usize {
        self.segment.entries().len() - self.deleted.count
    }

    /// The live entries.
    pub(super) fn entries(&self) -> impl Iterator<Item = SlugEntry> {
        let entries = self.segment.entries().iter().enumerate();
        let live = entries.filter(|(slot, _)| !self.deleted.contains(*slot));
        live.map(|(_, entry)| entry.clone())
    }

    fn bytes(&self) -> usize {
        // A slot takes two words and its share of the empty slots of a table.
        self.segment.bytes() + self.slots.capacity() * 18 + self.deleted.bits.capacity() * 8
    }
}

impl DeletedSlots {
    fn contains(&self, slot: usize) -> bool {
        let word = self.bits.get(slot / 64);
        word.is_some_and(|word| word >> (slot % 64) & 1 == 1)
    }

    fn insert(&mut self, slot: usize) {
        if self.contains(slot) {
            return;
        }
        if self.bits.len() <= slot / 64 {
            self.bits.resize(slot / 64 + 1, 0);
        }
        self.bits[slot / 64] |= 1 << (slot % 64);
        self.count += 1;
    }
}
