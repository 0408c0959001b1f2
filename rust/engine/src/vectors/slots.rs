//! The selection of vectors that a search compares.
//!
//! A slot is the position of a vector: the number of its block times [`BLOCK`], plus its offset in
//! the block. Slots ascend with rows; some are empty if blocks are not full.

use std::cmp::Ordering;

use super::block::BLOCK;
use super::kernels::TILE;
use crate::top_k::Scored;

/// The name of a vector's row in messages, if no chunk has that row.
pub(crate) const NEAREST: &str = "a vector";

/// A vector's slot and its similarity to the query.
pub(crate) type ScoredSlot = (usize, f32);

impl Scored for ScoredSlot {
    type Score = f32;
    const LOWEST: f32 = f32::NEG_INFINITY;

    fn score(&self) -> f32 {
        self.1
    }

    /// All ties are kept: paths and ids, which are not known here, decide.
    fn order(&self, other: &Self) -> Ordering {
        other.1.total_cmp(&self.1)
    }
}

/// Some slots, in the order of rows.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Slots<'a> {
    /// Every vector there is.
    All,
    /// A set of slots.
    These(&'a SlotSet),
}

impl Slots<'_> {
    /// Whether a vector's slot is one of them.
    pub fn contains(self, slot: usize) -> bool {
        match self {
            Self::All => true,
            Self::These(set) => set.tile(slot / TILE) >> (slot % TILE) & 1 == 1,
        }
    }
}

/// A bit for each slot.
#[derive(Debug, Clone, Default)]
pub(crate) struct SlotSet {
    /// A word for each tile.
    tiles: Vec<u64>,
    count: usize,
}

impl SlotSet {
    /// A set of slots, without repetitions.
    #[cfg(test)]
    pub fn new(slots: impl IntoIterator<Item = usize>) -> Self {
        let mut set = Self::default();
        for slot in slots {
            let tile = slot / TILE;
            if set.tiles.len() <= tile {
                set.tiles.resize(tile + 1, 0);
            }
            set.tiles[tile] |= 1 << (slot % TILE);
            set.count += 1;
        }
        set
    }

    /// A set of slots, with a word for each tile.
    pub fn of_tiles(tiles: Vec<u64>) -> Self {
        let count = tiles.iter().map(|tile| tile.count_ones() as usize).sum();
        Self { tiles, count }
    }

    /// The number of slots.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Each, in order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        let tiles = self.tiles.iter().enumerate();
        tiles.flat_map(|(tile, bits)| Bits(*bits).map(move |bit| tile * TILE + bit))
    }

    /// The slots of a tile: a bit for each.
    pub fn tile(&self, tile: usize) -> u64 {
        self.tiles.get(tile).copied().unwrap_or_default()
    }
}

/// The numbers of the bits of a word that are set, the lowest first.
pub(super) struct Bits(pub u64);

impl Iterator for Bits {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let bit = (self.0 != 0).then(|| self.0.trailing_zeros() as usize);
        self.0 &= self.0.wrapping_sub(1);
        bit
    }
}

/// The slot of an offset in a block.
pub(super) fn slot(block: usize, offset: usize) -> usize {
    block * BLOCK + offset
}

/// The block of a slot, and the offset there.
pub(super) fn in_block(slot: usize) -> (usize, usize) {
    (slot / BLOCK, slot % BLOCK)
}
