//! The neighbors of each slot, as compressed rows in blocks that copies share.

use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use hedgerow_engine::interrupt::{self, CancelTicker};
use hedgerow_engine::storage::parallel;

/// Up to this number of edges, the rows are built on one thread.
pub(super) const SMALL: usize = 200_000;
/// Slots per block of rows.
const BLOCK: usize = if cfg!(test) { 4 } else { 256 };
/// Edges read between two checks for cancellation.
const PART: usize = 1 << 12;

/// Two slots and the strength between them.
pub type Edge = (u32, u32, f64);

/// The neighbors of every slot, from both ends of each edge.
#[derive(Debug, Clone, Default)]
pub struct Adjacency {
    /// The number of slots.
    len: usize,
    /// The number of neighbors of all slots together.
    targets: usize,
    /// The rows of `BLOCK` slots each. Copies share them until one of them changes.
    blocks: Vec<Arc<SlotBlock>>,
}

/// The rows of some slots.
#[derive(Debug, Clone)]
struct SlotBlock {
    /// Where the neighbors of each slot begin; the last entry is where those of the last slot end.
    starts: [u32; BLOCK + 1],
    targets: Vec<u32>,
    strengths: Vec<f64>,
}

impl SlotBlock {
    fn empty() -> Self {
        Self {
            starts: [0; BLOCK + 1],
            targets: Vec::new(),
            strengths: Vec::new(),
        }
    }

    fn row(&self, local: usize) -> Range<usize> {
        self.starts[local] as usize..self.starts[local + 1] as usize
    }

    /// Add the row of the next slot, with the strongest of parallel edges.
    fn push_row(&mut self, local: usize, row: &mut [(u32, f64)]) {
        let start = self.targets.len();
        row.sort_unstable_by_key(|(target, _)| *target);
        for (target, strength) in row {
            match self.strengths.last_mut() {
                Some(known)
                    if self.targets.len() > start && self.targets.last() == Some(target) =>
                {
                    *known = known.max(*strength);
                }
                _ => {
                    self.targets.push(*target);
                    self.strengths.push(*strength);
                }
            }
        }
        self.starts[local + 1] = self.targets.len() as u32;
    }
}

impl Adjacency {
    /// The graph of `count` slots with these edges.
    pub(super) fn of(count: usize, lists: &[&[Edge]]) -> rusqlite::Result<Self> {
        Ok(Self::made(count, blocks(count, lists)?))
    }

    /// Like `new`, on one thread for any number of edges.
    #[cfg(test)]
    pub(super) fn on_one_thread(count: usize, lists: &[&[Edge]]) -> Self {
        Self::made(count, rows(0..count, lists).expect("nobody interrupts"))
    }

    fn made(count: usize, blocks: Vec<SlotBlock>) -> Self {
        Self {
            len: count,
            targets: blocks.iter().map(|block| block.targets.len()).sum(),
            blocks: blocks.into_iter().map(Arc::new).collect(),
        }
    }

    /// Grow to `count` slots.
    pub(super) fn grow(&mut self, count: usize) {
        self.len = count;
        let blocks = count.div_ceil(BLOCK);
        self.blocks
            .resize_with(blocks, || Arc::new(SlotBlock::empty()));
    }

    /// Return the number of neighbors of all slots together.
    pub(super) fn targets(&self) -> usize {
        self.targets
    }

    /// Change one end of an edge.
    pub(super) fn put(&mut self, from: u32, to: u32, strength: Option<f64>) {
        let (number, local) = (from as usize / BLOCK, from as usize % BLOCK);
        let Some(block) = self.blocks.get_mut(number) else {
            return;
        };
        let row = block.row(local);
        match (block.targets[row.clone()].binary_search(&to), strength) {
            (Ok(at), Some(strength)) => Arc::make_mut(block).strengths[row.start + at] = strength,
            (Ok(at), None) => {
                let block = Arc::make_mut(block);
                block.targets.remove(row.start + at);
                block.strengths.remove(row.start + at);
                block.starts[local + 1..]
                    .iter_mut()
                    .for_each(|start| *start -= 1);
                self.targets -= 1;
            }
            (Err(at), Some(strength)) => {
                let block = Arc::make_mut(block);
                block.targets.insert(row.start + at, to);
                block.strengths.insert(row.start + at, strength);
                block.starts[local + 1..]
                    .iter_mut()
                    .for_each(|start| *start += 1);
                self.targets += 1;
            }
            (Err(_), None) => {}
        }
    }

    /// The neighbors that two slots have in common.
    pub(super) fn shared(&self, one: u32, other: u32) -> Vec<u32> {
        let (few, many) = (self.neighbors(one), self.neighbors(other));
        let (few, many) = if few.len() > many.len() {
            (many, few)
        } else {
            (few, many)
        };
        let shared = few.iter().filter(|slot| many.binary_search(slot).is_ok());
        shared.copied().collect()
    }

    /// The number of blocks that two graphs share.
    #[cfg(test)]
    pub(super) fn shared_blocks(&self, other: &Self) -> usize {
        let pairs = self.blocks.iter().zip(&other.blocks);
        pairs.filter(|(one, other)| Arc::ptr_eq(one, other)).count()
    }

    /// Return the number of slots. Nodes added later have no edges.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the graph has zero slots.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The neighbors of a slot, ascending.
    pub fn neighbors(&self, slot: u32) -> &[u32] {
        self.row(slot).0
    }

    /// Neighbors and strengths of a slot.
    pub fn joined(&self, slot: u32) -> impl Iterator<Item = (u32, f64)> + '_ {
        let (targets, strengths) = self.row(slot);
        targets.iter().copied().zip(strengths.iter().copied())
    }

    /// Return the number of neighbors of a slot.
    pub fn degree(&self, slot: u32) -> usize {
        let slot = slot as usize;
        let block = self.blocks.get(slot / BLOCK);
        block.map_or(0, |block| block.row(slot % BLOCK).len())
    }

    /// The strength of the edge between two slots.
    pub fn strength(&self, source: u32, target: u32) -> Option<f64> {
        let (targets, strengths) = self.row(source);
        let found = targets.binary_search(&target).ok()?;
        Some(strengths[found])
    }

    fn row(&self, slot: u32) -> (&[u32], &[f64]) {
        let slot = slot as usize;
        let Some(block) = self.blocks.get(slot / BLOCK) else {
            return (&[], &[]);
        };
        let row = block.row(slot % BLOCK);
        (&block.targets[row.clone()], &block.strengths[row])
    }
}

/// The rows of all slots of a graph that has `count` of them.
fn blocks(count: usize, lists: &[&[Edge]]) -> rusqlite::Result<Vec<SlotBlock>> {
    let edges: usize = lists.iter().map(|list| list.len()).sum();
    let threads = if edges > SMALL {
        parallel::threads()
    } else {
        1
    };
    let share = count.div_ceil(threads).next_multiple_of(BLOCK).max(BLOCK);
    let mut shares: Vec<Range<usize>> = (0..count)
        .step_by(share)
        .map(|start| start..count.min(start + share))
        .collect();
    let Some(first) = (!shares.is_empty()).then(|| shares.remove(0)) else {
        return Ok(Vec::new());
    };
    let stop = Arc::new(AtomicBool::new(false));
    thread::scope(|scope| {
        let spawn = |slots: Range<usize>| {
            let stopped = Arc::clone(&stop);
            let is_unwanted = move || stopped.load(Ordering::Relaxed);
            let share = slots.clone();
            let help = move || interrupt::with_cancellation(is_unwanted, || rows(share, lists));
            (slots, thread::Builder::new().spawn_scoped(scope, help).ok())
        };
        let others: Vec<_> = shares.into_iter().map(spawn).collect();
        let first = rows(first, lists);
        stop.store(first.is_err(), Ordering::Relaxed);
        let mut blocks = first?;
        for (slots, other) in others {
            blocks.extend(match other {
                // A panic is raised again in the caller, as on one thread.
                Some(other) => other.join().unwrap_or_else(|panic| resume_unwind(panic))?,
                // The system refused a thread.
                None => rows(slots, lists)?,
            });
        }
        Ok(blocks)
    })
}

/// The rows of some slots, which begin with a block.
fn rows(slots: Range<usize>, lists: &[&[Edge]]) -> rusqlite::Result<Vec<SlotBlock>> {
    let mut pace = CancelTicker::default();
    let parts = || lists.iter().flat_map(|list| list.chunks(PART));
    let both_ways = |(source, target, strength): &Edge| {
        [(*source, *target, *strength), (*target, *source, *strength)]
    };
    let inside = |slot: u32| {
        let inside = slots.contains(&(slot as usize));
        inside.then(|| slot as usize - slots.start)
    };
    let mut starts = vec![0; slots.len() + 1];
    for part in parts() {
        pace.read(part.len())?;
        let ends = part.iter().flat_map(both_ways);
        for slot in ends.filter_map(|(from, _, _)| inside(from)) {
            starts[slot + 1] += 1;
        }
    }
    for slot in 0..slots.len() {
        starts[slot + 1] += starts[slot];
    }
    let mut parallel = vec![(0, 0.0); starts[slots.len()]];
    let mut filled = starts.clone();
    for part in parts() {
        pace.read(part.len())?;
        for (from, to, strength) in part.iter().flat_map(both_ways) {
            if let Some(slot) = inside(from) {
                parallel[filled[slot]] = (to, strength);
                filled[slot] += 1;
            }
        }
    }
    let mut blocks = Vec::with_capacity(slots.len().div_ceil(BLOCK));
    for slot in 0..slots.len() {
        let row = starts[slot]..starts[slot + 1];
        pace.read(1 + row.len())?;
        if slot % BLOCK == 0 {
            blocks.push(SlotBlock::empty());
        }
        if let Some(block) = blocks.last_mut() {
            block.push_row(slot % BLOCK, &mut parallel[row]);
        }
    }
    // Slots that do not exist yet have no neighbors.
    if let Some(last) = blocks.last_mut() {
        let used = (slots.len() - 1) % BLOCK + 1;
        last.starts[used..].fill(last.targets.len() as u32);
    }
    Ok(blocks)
}
