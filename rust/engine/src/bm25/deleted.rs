//! Deleted chunks of a segment, in blocks that versions share.

use std::sync::Arc;

use super::phrase::gallop;

/// log2 of the number of chunks in a block.
const BITS: u32 = 14;
const CHUNKS: u32 = 1 << BITS;
const WORDS: usize = CHUNKS as usize / 64;
/// With at least this ratio of postings to deleted chunks, each deleted chunk is searched among the
/// postings; otherwise each posting is looked up.
const FEW: usize = 32;

/// The deleted chunks of a segment. A clone shares all blocks, and adding to it copies one.
#[derive(Debug, Clone, Default)]
pub(super) struct DeletedChunks {
    blocks: Vec<Option<Arc<DeletedBlock>>>,
}

#[derive(Debug, Clone)]
struct DeletedBlock {
    /// A bit for each chunk.
    words: [u64; WORDS],
    /// The deleted chunks as numbers within the block, ascending.
    chunks: Vec<u16>,
}

impl DeletedBlock {
    fn is_deleted(&self, chunk: u32) -> bool {
        self.words[(chunk % CHUNKS / 64) as usize] >> (chunk % 64) & 1 == 1
    }

    /// Return the number of deleted chunks among these, all of this block.
    fn count_in(&self, chunks: &[u32], first: u32) -> usize {
        if self.chunks.len() * FEW > chunks.len() {
            let deleted = chunks
                .iter()
                .map(|chunk| usize::from(self.is_deleted(*chunk)));
            return deleted.sum();
        }
        let mut at = 0;
        let deleted = self.chunks.iter().map(|chunk| first + u32::from(*chunk));
        let deleted = deleted.filter(|chunk| {
            at = gallop(chunks, at, *chunk);
            chunks.get(at) == Some(chunk)
        });
        deleted.count()
    }
}

impl DeletedChunks {
    /// Whether a chunk is deleted.
    pub fn contains(&self, chunk: u32) -> bool {
        match self.blocks.get((chunk >> BITS) as usize) {
            Some(Some(block)) => block.is_deleted(chunk),
            _ => false,
        }
    }

    /// Delete a chunk; whether it was not before.
    pub fn insert(&mut self, chunk: u32) -> bool {
        if self.contains(chunk) {
            return false;
        }
        let number = (chunk >> BITS) as usize;
        if self.blocks.len() <= number {
            self.blocks.resize(number + 1, None);
        }
        let block = self.blocks[number].get_or_insert_with(|| {
            Arc::new(DeletedBlock {
                words: [0; WORDS],
                chunks: Vec::new(),
            })
        });
        let block = Arc::make_mut(block);
        let within = chunk % CHUNKS;
        block.words[(within / 64) as usize] |= 1 << (within % 64);
        #[allow(clippy::cast_possible_truncation, reason = "below 2^14")]
        let within = within as u16;
        let at = block.chunks.partition_point(|known| *known < within);
        block.chunks.insert(at, within);
        true
    }

    /// Return the number of deleted chunks among these, which ascend.
    pub fn count_in(&self, chunks: &[u32]) -> usize {
        let (mut count, mut at) = (0, 0);
        for (block, number) in self.blocks.iter().zip(0..) {
            let Some(block) = block else {
                continue;
            };
            let first: u32 = number << BITS;
            let start = gallop(chunks, at, first);
            at = gallop(chunks, start, first.saturating_add(CHUNKS));
            count += block.count_in(&chunks[start..at], first);
        }
        count
    }

    /// Return the chunks deleted since `earlier`, in ascending order.
    pub fn since<'d>(&'d self, earlier: &'d Self) -> impl Iterator<Item = u32> + 'd {
        let blocks = self
            .blocks
            .iter()
            .enumerate()
            .filter_map(|(number, block)| {
                let block = block.as_ref()?;
                let before = earlier.blocks.get(number).and_then(Option::as_ref);
                let same = before.is_some_and(|before| Arc::ptr_eq(before, block));
                (!same).then_some((block, u32::try_from(number).ok()? << BITS))
            });
        let chunks = blocks.flat_map(|(block, first)| {
            let chunks = block.chunks.iter();
            chunks.map(move |chunk| first + u32::from(*chunk))
        });
        chunks.filter(|chunk| !earlier.contains(*chunk))
    }

    /// Return the bytes of memory in use.
    pub fn bytes(&self) -> usize {
        let blocks = self.blocks.iter().flatten();
        let blocks = blocks
            .map(|block| size_of::<DeletedBlock>() + block.chunks.capacity() * size_of::<u16>());
        self.blocks.capacity() * size_of::<Option<Arc<DeletedBlock>>>() + blocks.sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// Near each other and far apart.
    fn chunk() -> impl Strategy<Value = u32> {
        prop_oneof![0..200_u32, CHUNKS - 100..CHUNKS + 100, 0..5 * CHUNKS]
    }

    proptest! {
        #[test]
        fn it_is_a_set_of_which_versions_stay_as_they_were(
            first in prop::collection::vec(chunk(), 0..400),
            second in prop::collection::vec(chunk(), 0..100),
            postings in prop::collection::btree_set(chunk(), 0..2000),
        ) {
            let mut deleted = DeletedChunks::default();
            let mut expected = BTreeSet::new();
            for chunk in first {
                prop_assert_eq!(deleted.insert(chunk), expected.insert(chunk));
            }
            let (earlier, before) = (deleted.clone(), expected.clone());
            for chunk in second {
                prop_assert_eq!(deleted.insert(chunk), expected.insert(chunk));
            }
            let postings: Vec<u32> = postings.into_iter().collect();
            for (deleted, expected) in [(&deleted, &expected), (&earlier, &before)] {
                let held = postings.iter().filter(|chunk| expected.contains(chunk));
                prop_assert_eq!(deleted.count_in(&postings), held.count());
                let all: Vec<u32> = expected.iter().copied().collect();
                prop_assert_eq!(deleted.count_in(&all), all.len());
                let same = |chunk| deleted.contains(chunk) == expected.contains(&chunk);
                prop_assert!(postings.iter().copied().all(same));
            }
            let new: Vec<u32> = expected.difference(&before).copied().collect();
            prop_assert_eq!(deleted.since(&earlier).collect::<Vec<_>>(), new);
            let known: Vec<u32> = before.iter().copied().collect();
            prop_assert_eq!(earlier.since(&DeletedChunks::default()).collect::<Vec<_>>(), known);
        }
    }
}
