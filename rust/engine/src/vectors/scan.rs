//! Looking for near vectors by their codes.
//!
//! A scan waits for memory, so it reads little of most vectors: the high plane of their codes, or one
//! bit a number. What seems near is looked at again with both planes and a finer query, and only
//! what could still be among the nearest is compared in full, elsewhere. With planes every bound is
//! proven, so nothing is lost; with sign bits the first is only probable.

use std::slice;

use super::block::Block;
use super::codes::CodeQuery;
use super::kernels::{Line, Planes, TILE, code_dots, plane_dots, prefetch, reach};
use super::matrix::{FirstLook, Matrix};
use super::signs::SignQuery;
use super::slots::{Bits, ScoredSlot, Slots, slot};
use crate::interrupt::Pace;
use crate::top_k::TopK;

/// A tile with fewer wanted vectors than this is not given a first look.
const FEW: u32 = 8;

/// A vector that can be among the nearest, and the upper bound of its similarity.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate {
    pub slot: usize,
    pub highest: f32,
}

/// For each query all of these vectors that can be among its `limit` nearest, or as near as the last
/// of them. All queries share one pass.
pub(super) fn candidates(
    matrix: &Matrix,
    look: FirstLook,
    queries: &[&[f32]],
    limit: usize,
    slots: Slots<'_>,
) -> rusqlite::Result<Vec<Vec<Candidate>>> {
    let mut scans: Vec<Scan<'_>> = (queries.iter())
        .map(|query| Scan::new(matrix, look, query, limit))
        .collect();
    let codes: Vec<Vec<i8>> = scans
        .iter()
        .map(|scan| scan.query.codes().to_vec())
        .collect();
    let codes: Vec<&[i8]> = codes.iter().map(Vec::as_slice).collect();
    let mut sums = Vec::new();
    let mut pace = Pace::default();
    for (number, block) in matrix.blocks().iter().enumerate() {
        let next = matrix.blocks().get(number + 1).map(|next| &**next);
        if let Some(after) = matrix.blocks().get(number + 2) {
            prefetch(slice::from_ref(&**after));
        }
        if let Some(signs) = next.and_then(|next| next.signs.as_ref()) {
            signs.prefetch();
        }
        for from in (0..block.len()).step_by(TILE) {
            let tile = Tile {
                block,
                number,
                from,
            };
            let wanted = tile.wanted(slots);
            if wanted == 0 {
                continue;
            }
            pace.read(TILE * queries.len())?;
            let all = look == FirstLook::HighPlane && wanted.count_ones() >= FEW;
            if all {
                let ahead = tile.ahead(next);
                plane_dots(
                    &codes,
                    block.codes.high_from(from),
                    tile.len(),
                    ahead,
                    &mut sums,
                );
            }
            for (nth, scan) in scans.iter_mut().enumerate() {
                match look {
                    FirstLook::Signs => scan.by_signs(&tile, wanted),
                    FirstLook::HighPlane if all => {
                        scan.by_plane(&tile, wanted, &sums[nth * tile.len()..][..tile.len()]);
                    }
                    FirstLook::HighPlane => {
                        let rows = Bits(wanted).map(|bit| (tile.slot(bit), f32::INFINITY));
                        scan.near.extend(rows);
                    }
                }
                scan.count(wanted.count_ones());
            }
        }
    }
    Ok(scans.into_iter().map(Scan::finish).collect())
}

/// Some rows of a block, read from memory once for all queries.
struct Tile<'a> {
    block: &'a Block,
    number: usize,
    /// The offset of the first.
    from: usize,
}

impl<'a> Tile<'a> {
    fn len(&self) -> usize {
        (self.block.len() - self.from).min(TILE)
    }

    /// Which of its rows are wanted: a bit for each.
    fn wanted(&self, slots: Slots<'_>) -> u64 {
        let there = u64::MAX >> (TILE - self.len());
        match slots {
            Slots::All => there,
            Slots::These(set) => there & set.tile(slot(self.number, self.from) / TILE),
        }
    }

    /// The slot of one of its rows.
    fn slot(&self, row: usize) -> usize {
        slot(self.number, self.from + row)
    }

    /// Where the high plane of the next tile is.
    fn ahead(&self, next: Option<&'a Block>) -> &'a [u8] {
        let from = self.from + TILE;
        if from < self.block.len() {
            return self.block.codes.high_from(from);
        }
        next.map_or(&[], |next| next.codes.high_from(0))
    }
}

/// What one query has found so far.
struct Scan<'m> {
    matrix: &'m Matrix,
    query: CodeQuery,
    signs: Option<SignQuery>,
    limit: usize,
    /// What seemed near at the first look and still awaits a closer one, with its upper bound.
    near: Vec<(usize, f32)>,
    /// How many vectors were looked at, and after how many the next closer look is due.
    looked: usize,
    due: usize,
    /// The best of those similarities that are certain.
    certain: TopK<ScoredSlot>,
    candidates: Vec<Candidate>,
}

impl<'m> Scan<'m> {
    fn new(matrix: &'m Matrix, look: FirstLook, query: &[f32], limit: usize) -> Self {
        let rotation = matrix.rotation();
        let rotated = rotation.rotated(query);
        let query = CodeQuery::new(query, &rotated, rotation, matrix.longest());
        let signs = || SignQuery::new(&rotated, rotation.codes(), query.line().base);
        Self {
            matrix,
            signs: (look == FirstLook::Signs).then(signs),
            query,
            limit,
            near: Vec::new(),
            looked: 0,
            due: limit.max(TILE).saturating_mul(2),
            certain: TopK::new(limit),
            candidates: Vec::new(),
        }
    }

    /// Take in what can be near by the high plane, given the sums of products.
    fn by_plane(&mut self, tile: &Tile<'_>, wanted: u64, sums: &[i32]) {
        let mut counted = [0.0; TILE];
        self.query.high_sums(sums, &mut counted);
        let (codes, rows) = (&tile.block.codes, tile.from..tile.from + tile.len());
        let (steps, errors) = (&codes.steps[rows.clone()], &codes.high_errors[rows]);
        self.add(tile, wanted, self.query.line(), (&counted, steps, errors));
    }

    /// Take in what is probably near by its sign bits.
    fn by_signs(&mut self, tile: &Tile<'_>, wanted: u64) {
        let (Some(query), Some(signs)) = (&self.signs, &tile.block.signs) else {
            return;
        };
        let mut products = [0.0; TILE];
        query.products(signs, tile.from, &mut products);
        let rows = tile.from..tile.from + tile.len();
        let (factors, deviations) = (&signs.factors[rows.clone()], &signs.deviations[rows]);
        self.add(tile, wanted, query.line(), (&products, factors, deviations));
    }

    /// Take in those of the wanted rows of a tile that are within reach.
    fn add(
        &mut self,
        tile: &Tile<'_>,
        wanted: u64,
        line: Line,
        (sums, factors, errors): (&[f32; TILE], &[f32], &[f32]),
    ) {
        let rows = (&sums[..tile.len()], factors, errors);
        let near = wanted & reach(line, rows, self.certain.threshold());
        let highest = |bit| line.highest(sums[bit], factors[bit], errors[bit]);
        let near = Bits(near).map(|bit| (tile.slot(bit), highest(bit)));
        self.near.extend(near);
    }

    /// Count vectors that were looked at. Whenever their number has doubled, the most promising are
    /// looked at more closely, which raises the threshold below which others are left out.
    fn count(&mut self, looked: u32) {
        self.looked += looked as usize;
        if self.looked >= self.due {
            self.due = self.looked.saturating_mul(2);
            self.raise_threshold();
        }
    }

    fn raise_threshold(&mut self) {
        let Some(last) = self
            .limit
            .checked_sub(1)
            .filter(|last| *last < self.near.len())
        else {
            return;
        };
        (self.near).select_nth_unstable_by(last, |left, right| right.1.total_cmp(&left.1));
        let rest = self.near.split_off(self.limit);
        self.look_closer();
        let threshold = self.certain.threshold();
        let possible = rest
            .into_iter()
            .filter(|(_, highest)| *highest >= threshold);
        self.near.extend(possible);
    }

    /// Compare what is near with both planes.
    fn look_closer(&mut self) {
        let matrix = self.matrix;
        // In the order of memory.
        self.near.sort_unstable_by_key(|(slot, _)| *slot);
        let planes = self.near.iter().map(|(slot, _)| {
            let (block, offset) = matrix.at(*slot);
            block.codes.planes(offset)
        });
        let planes: Vec<Planes<'_>> = planes.collect();
        let sums = code_dots(self.query.both(), &planes);
        for ((slot, highest), sums) in self.near.drain(..).zip(sums) {
            let (block, offset) = matrix.at(slot);
            let (step, error) = (block.codes.steps[offset], block.codes.errors[offset]);
            let bound = self.query.bound(sums, step, error);
            // No more than at first look: then what a fast search finds does not depend on when
            // the threshold rose, nor on which blocks the vectors are in.
            let (lowest, highest) = (bound.lowest().min(highest), bound.highest().min(highest));
            if highest >= self.certain.threshold() {
                self.certain.offer((slot, lowest));
                self.candidates.push(Candidate { slot, highest });
            }
        }
        self.certain.cut();
    }

    fn finish(mut self) -> Vec<Candidate> {
        self.raise_threshold();
        self.look_closer();
        let threshold = self.certain.threshold();
        self.candidates
            .retain(|candidate| candidate.highest >= threshold);
        self.candidates
    }
}
