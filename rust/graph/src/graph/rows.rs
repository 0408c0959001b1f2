//! Rows of the graph in blocks, and making them of a list of edges.

use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::edges::Edge;
use hedgerow_engine::interrupt::{self, Pace};
use hedgerow_engine::storage::parallel;

/// Up to how many edges the rows are made on one thread.
pub(super) const SMALL: usize = 200_000;
/// How many places have their rows together.
pub(super) const BLOCK: usize = if cfg!(test) { 4 } else { 256 };
/// After so many edges somebody is asked whether to go on.
const PART: usize = 1 << 12;

/// The rows of some places.
#[derive(Debug, Clone)]
pub(super) struct Block {
    /// Where the neighbours of each place begin, and where those of the last end.
    pub starts: [u32; BLOCK + 1],
    pub targets: Vec<u32>,
    pub strengths: Vec<f64>,
}

impl Block {
    pub fn empty() -> Self {
        Self {
            starts: [0; BLOCK + 1],
            targets: Vec::new(),
            strengths: Vec::new(),
        }
    }

    pub fn row(&self, local: usize) -> Range<usize> {
        self.starts[local] as usize..self.starts[local + 1] as usize
    }

    /// Add the row behind that of the place before, of parallel edges the strongest.
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

/// The rows of all places of a graph that has `count` of them.
pub(super) fn blocks(count: usize, lists: &[&[Edge]]) -> rusqlite::Result<Vec<Block>> {
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
        let help = |places| {
            let stopped = Arc::clone(&stop);
            let is_unwanted = move || stopped.load(Ordering::Relaxed);
            move || interrupt::watched(is_unwanted, || rows(places, lists))
        };
        let shares = shares.into_iter();
        let others: Vec<_> = shares.map(|places| scope.spawn(help(places))).collect();
        let first = rows(first, lists);
        stop.store(first.is_err(), Ordering::Relaxed);
        let mut blocks = first?;
        for other in others {
            // A panic goes on to whoever called, as it would on one thread.
            blocks.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic))?);
        }
        Ok(blocks)
    })
}

/// The rows of some places, which begin with a block.
pub(super) fn rows(places: Range<usize>, lists: &[&[Edge]]) -> rusqlite::Result<Vec<Block>> {
    let mut pace = Pace::default();
    let parts = || lists.iter().flat_map(|list| list.chunks(PART));
    let both_ways = |(source, target, strength): &Edge| {
        [(*source, *target, *strength), (*target, *source, *strength)]
    };
    let inside = |place: u32| {
        let inside = places.contains(&(place as usize));
        inside.then(|| place as usize - places.start)
    };
    let mut starts = vec![0; places.len() + 1];
    for part in parts() {
        pace.read(part.len())?;
        let ends = part.iter().flat_map(both_ways);
        for place in ends.filter_map(|(from, _, _)| inside(from)) {
            starts[place + 1] += 1;
        }
    }
    for place in 0..places.len() {
        starts[place + 1] += starts[place];
    }
    let mut parallel = vec![(0, 0.0); starts[places.len()]];
    let mut filled = starts.clone();
    for part in parts() {
        pace.read(part.len())?;
        for (from, to, strength) in part.iter().flat_map(both_ways) {
            if let Some(place) = inside(from) {
                parallel[filled[place]] = (to, strength);
                filled[place] += 1;
            }
        }
    }
    let mut blocks = Vec::with_capacity(places.len().div_ceil(BLOCK));
    for place in 0..places.len() {
        let row = starts[place]..starts[place + 1];
        pace.read(1 + row.len())?;
        if place % BLOCK == 0 {
            blocks.push(Block::empty());
        }
        if let Some(block) = blocks.last_mut() {
            block.push_row(place % BLOCK, &mut parallel[row]);
        }
    }
    // Places that are not there yet have no neighbours.
    if let Some(last) = blocks.last_mut() {
        let used = (places.len() - 1) % BLOCK + 1;
        last.starts[used..].fill(last.targets.len() as u32);
    }
    Ok(blocks)
}
