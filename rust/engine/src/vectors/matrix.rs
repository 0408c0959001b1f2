//! The vectors of an index in memory, in blocks that versions share.

use std::sync::{Arc, OnceLock};

use rusqlite::{Connection, OptionalExtension};

use super::block::{BLOCK, Block, EncodedVector, Layout, Residency, Rows};
use super::center;
use super::kernels::TILE;
use super::path_sample::PathSample;
use super::rotation::Rotation;
use super::slots::{SlotSet, in_block, slot};
use super::spread;
use crate::chunks::RowSet;
use crate::interrupt::CancelTicker;
use crate::storage::Background;
use crate::storage::cache::RowVersion;
use crate::storage::generations::{self, RowRanges};
use crate::storage::parallel::{self, Table};
use crate::storage::row_blocks::{Cursor, RowBlock, RowBlocks};
use crate::storage::settings::{self, DIMENSIONS, GENERATION};
use crate::unit_vector::{NONE, damaged, read_blob};

/// Above this many dimensions the 32-bit sums could overflow, so codes are not used.
const CODED_DIMENSIONS: usize = 60_000;
/// With fewer numbers than this the signs of a vector say too little.
const SIGNED_DIMENSIONS: usize = 64;

/// Every vector of one generation of an index, by row.
#[derive(Debug, Clone)]
pub(crate) struct Matrix {
    generation: i64,
    layout: Arc<Layout>,
    /// The center as stored in the file.
    center: Option<Arc<str>>,
    blocks: RowBlocks<Block>,
    /// The length of the longest residual. It must be that of a present vector: otherwise the hits of a fast
    /// search would depend on deleted vectors.
    longest: f32,
    /// The slots of the sample of all vectors, computed on first use.
    sample: OnceLock<Option<Vec<usize>>>,
    /// The sample of all paths, computed on first use.
    pub(super) path_sample: OnceLock<PathSample>,
}

/// The codes that the first pass over the vectors reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CoarsePass {
    /// The high plane of its codes.
    HighPlane,
    /// The sign bit of each number.
    SignBits,
}

/// The data for a matrix in addition to the file.
pub(crate) struct MatrixSource {
    pub background: Background,
    pub kept: Residency,
}

impl RowVersion for Matrix {
    type Source = MatrixSource;
    const NAME: &'static str = "vectors";

    fn generation(&self) -> i64 {
        self.generation
    }

    fn rows(&self) -> usize {
        self.len()
    }

    fn load(source: &MatrixSource, connection: &Connection) -> rusqlite::Result<Self> {
        let mut matrix = Self::empty(source.kept, connection)?;
        let sql = "SELECT coalesce(max(row), 0) FROM embeddings";
        let last = connection.query_row(sql, [], |row| row.get(0))?;
        let generation = (GENERATION, matrix.generation);
        let read = |connection: &Connection, (after, last): &(i64, i64)| {
            let mut piece = Self::empty(source.kept, connection)?;
            piece.read(connection, *after, *last)?;
            Ok(piece)
        };
        let table = Table {
            background: &source.background,
            connection,
            generation,
        };
        for piece in table.read(&parallel::pieces(last), read)? {
            matrix.blocks.extend(piece.blocks);
            matrix.longest = matrix.longest.max(piece.longest);
        }
        Ok(matrix)
    }

    fn apply_changes(
        self: &Arc<Self>,
        _: &MatrixSource,
        connection: &Connection,
        generation: i64,
        changed: &RowRanges,
    ) -> rusqlite::Result<Option<Self>> {
        let dimensions: Option<usize> = settings::get(connection, DIMENSIONS)?;
        let same = dimensions.unwrap_or_default() == self.dimensions()
            && center::read(connection)?.as_deref() == self.center.as_deref();
        if !same {
            return Ok(None);
        }
        let mut next = Self {
            generation,
            sample: OnceLock::new(),
            path_sample: OnceLock::new(),
            ..Self::clone(self)
        };
        let mut find = connection.prepare_cached("SELECT vector FROM embeddings WHERE row = ?")?;
        let mut is_longest_gone = false;
        for row in changed.iter() {
            let blob: Option<Vec<u8>> = find.query_row([row], |found| found.get(0)).optional()?;
            if blob.as_ref().is_some_and(Vec::is_empty) {
                return Err(damaged(row));
            }
            is_longest_gone |= next.write(row, &blob.unwrap_or_default())?;
        }
        if is_longest_gone {
            next.find_longest();
        }
        Ok(Some(next))
    }
}

impl Matrix {
    /// A matrix of what `connection` sees, without its vectors.
    fn empty(kept: Residency, connection: &Connection) -> rusqlite::Result<Self> {
        let dimensions: Option<usize> = settings::get(connection, DIMENSIONS)?;
        let dimensions = dimensions.unwrap_or_default();
        let center = center::read(connection)?;
        let numbers = center::numbers(center.as_deref(), dimensions);
        Ok(Self {
            generation: generations::generation(connection)?,
            layout: Arc::new(Layout {
                rotation: Rotation::new(dimensions, numbers),
                kept,
            }),
            center: center.map(Arc::from),
            blocks: RowBlocks::default(),
            longest: 0.0,
            sample: OnceLock::new(),
            path_sample: OnceLock::new(),
        })
    }

    /// Read the vectors of the rows above one, up to another.
    fn read(&mut self, connection: &Connection, after: i64, last: i64) -> rusqlite::Result<()> {
        let mut statement = connection.prepare_cached(
            "SELECT row, vector FROM embeddings WHERE row > ? AND row <= ? ORDER BY row",
        )?;
        let mut found = statement.query([after, last])?;
        let mut pace = CancelTicker::default();
        let mut before = after;
        while let Some(found) = found.next()? {
            // As many steps as a row of a scan has codes, or so.
            pace.read(self.dimensions())?;
            let row = found.get(0)?;
            // The rows of a damaged tree need not be in order.
            if row <= before {
                return Err(damaged(row));
            }
            before = row;
            let blob = found.get_ref(1)?.as_blob()?;
            if blob.is_empty() {
                return Err(damaged(row));
            }
            self.put(row, blob)?;
        }
        Ok(())
    }

    /// Keep the vector of a row; [`NONE`] and an empty one are none.
    pub(super) fn put(&mut self, row: i64, blob: &[u8]) -> rusqlite::Result<()> {
        if self.write(row, blob)? {
            self.find_longest();
        }
        Ok(())
    }

    /// [`Self::put`]; true when the longest residual may be gone, and is to be found again.
    fn write(&mut self, row: i64, blob: &[u8]) -> rusqlite::Result<bool> {
        let was_longest = self.length(row) >= Some(self.longest);
        if blob.is_empty() || blob == NONE {
            self.blocks.remove(row, &self.layout);
            return Ok(was_longest);
        }
        let mut vector = Vec::new();
        if !read_blob(blob, &mut vector) || vector.len() != self.dimensions() {
            return Err(damaged(row));
        }
        let encoded = EncodedVector::new(&vector, &self.layout);
        let layout = &*self.layout;
        self.blocks.put(row, layout, |block, found| {
            block.put(row, &encoded, found, layout);
        });
        self.longest = self.longest.max(encoded.length);
        Ok(was_longest)
    }

    /// The length of a row's residual.
    fn length(&self, row: i64) -> Option<f32> {
        let (number, offset) = self.blocks.find(row)?;
        let (rows, at) = self.blocks()[number].at(offset);
        Some(rows.lengths[at])
    }

    fn find_longest(&mut self) {
        let lengths = self.slots().map(|slot| {
            let (rows, at) = self.at(slot);
            rows.lengths[at]
        });
        self.longest = lengths.fold(0.0, f32::max);
    }

    /// The bytes of memory of the matrix.
    pub fn bytes(&self) -> usize {
        let blocks = self.blocks().iter().map(|block| block.bytes());
        blocks.sum::<usize>() + self.blocks.bytes()
    }

    /// The dimensions of a vector.
    pub fn dimensions(&self) -> usize {
        self.layout.rotation.dimensions()
    }

    /// The codes that a search reads first.
    pub fn coarse_pass(&self) -> CoarsePass {
        if self.layout.kept.signs && self.dimensions() >= SIGNED_DIMENSIONS {
            CoarsePass::SignBits
        } else {
            CoarsePass::HighPlane
        }
    }

    /// Whether codes tell anything of vectors: with more numbers a sum of products could leave 32
    /// bits.
    pub(super) fn has_codes(&self) -> bool {
        self.dimensions() <= CODED_DIMENSIONS
    }

    /// The vector at a slot; None where vectors are not kept.
    pub(super) fn vector(&self, slot: usize) -> Option<&[f32]> {
        let (rows, at) = self.at(slot);
        rows.vector(at)
    }

    pub(super) fn rotation(&self) -> &Rotation {
        &self.layout.rotation
    }

    pub(super) fn blocks(&self) -> &[Arc<Block>] {
        self.blocks.blocks()
    }

    pub(super) fn longest(&self) -> f32 {
        self.longest
    }

    /// Where the vector of a slot is.
    pub(super) fn at(&self, slot: usize) -> (&Rows, usize) {
        let (number, offset) = in_block(slot);
        self.blocks()[number].at(offset)
    }

    /// The number of vectors.
    pub fn len(&self) -> usize {
        self.blocks.len()
    }

    /// The row of a vector.
    pub fn row(&self, slot: usize) -> i64 {
        let (number, offset) = in_block(slot);
        self.blocks()[number].rows()[offset]
    }

    /// The slot of a row's vector.
    pub fn slot(&self, row: i64) -> Option<usize> {
        let (number, offset) = self.blocks.find(row)?;
        Some(slot(number, offset))
    }

    /// A cursor over the slots of rows that mostly ascend.
    pub(super) fn cursor(&self) -> SlotCursor<'_> {
        SlotCursor(self.blocks.cursor())
    }

    /// Every slot, in the order of rows.
    pub fn slots(&self) -> impl Iterator<Item = usize> + '_ {
        let blocks = self.blocks().iter().enumerate();
        blocks.flat_map(|(number, block)| (0..block.len()).map(move |at| slot(number, at)))
    }

    /// The slots of those of these rows that have a vector.
    pub fn slots_of(&self, rows: &RowSet) -> SlotSet {
        let tiles = self.blocks().iter().flat_map(|block| {
            let of_block = block.rows();
            (0..BLOCK).step_by(TILE).map(move |from| {
                let tile = of_block.get(from..of_block.len().min(from + TILE));
                rows.bits_of(tile.unwrap_or_default())
            })
        });
        SlotSet::of_tiles(tiles.collect())
    }

    /// The slots of the sample of all vectors. None if there are so few vectors that all of them
    /// count.
    pub fn sample(&self) -> Option<&[usize]> {
        let sampled = || {
            let mut slots = self.slots().enumerate();
            let sample = spread::sample(self.len())?;
            // Both ascend, so one pass finds all.
            let find = |wanted| slots.find_map(|(nth, slot)| (nth == wanted).then_some(slot));
            Some(sample.filter_map(find).collect())
        };
        self.sample.get_or_init(sampled).as_deref()
    }
}

/// The slots of rows, in constant time for a row that follows the last.
pub(super) struct SlotCursor<'m>(Cursor<'m, Block>);

impl SlotCursor<'_> {
    /// The slot of a row's vector.
    pub fn get(&mut self, row: i64) -> Option<usize> {
        let (number, offset) = self.0.find(row)?;
        Some(slot(number, offset))
    }
}

#[cfg(test)]
impl Matrix {
    /// An empty matrix.
    pub(super) fn of(layout: Layout) -> Self {
        Self {
            generation: 1,
            layout: Arc::new(layout),
            center: None,
            blocks: RowBlocks::default(),
            longest: 0.0,
            sample: OnceLock::new(),
            path_sample: OnceLock::new(),
        }
    }

    /// A matrix with the settings of this one and no vectors.
    pub fn emptied(&self) -> Self {
        Self {
            blocks: RowBlocks::default(),
            longest: 0.0,
            ..self.clone()
        }
    }
}
