//! Looking for near vectors by their codes.
//!
//! A scan waits for memory, so it reads little of most vectors: the high plane of their codes, or one
//! bit a number. What seems near is looked at again with both planes and a finer query, and only
//! what could still be among the nearest is compared in full, elsewhere. With planes every bound is
//! proven, so nothing is lost; with sign bits the first is only probable.

use super::best::Best;
use super::block::Block;
use super::codes::CodeQuery;
use super::kernels::{Planes, TILE, code_dots, plane_dots, reach};
use super::matrix::Matrix;
use super::signs::SignQuery;
use super::slots::{Bits, Slots, in_block, slot};
use crate::interrupt::Pace;

/// Of a tile with fewer wanted vectors than this the first look is left out.
const FEW: u32 = 8;

/// What the first look at a vector reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::index) enum FirstLook {
    /// The high plane of its codes.
    HighPlane,
    /// One bit a number.
    Signs,
}

/// A vector that can be among the nearest, and the most that its similarity can be.
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
            let all = wanted.count_ones() >= FEW;
            if all && look == FirstLook::HighPlane {
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
                        let sums = &sums[nth * tile.len()..][..tile.len()];
                        let near = wanted & scan.by_plane(&tile, sums);
                        scan.add(&tile, near);
                    }
                    FirstLook::HighPlane => scan.add(&tile, wanted),
                }
                if scan.near.len() >= limit.max(TILE) {
                    scan.look_closer();
                }
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
    /// What was near at first look and was not looked at closer yet, and how near it probably is
    /// at most.
    near: Vec<(usize, f32)>,
    /// The best of those similarities that are certain.
    certain: Best,
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
            near: Vec::new(),
            certain: Best::new(limit),
            candidates: Vec::new(),
        }
    }

    /// Which rows of a tile can be near by the high plane, given the sums of products.
    fn by_plane(&self, tile: &Tile<'_>, sums: &[i32]) -> u64 {
        let mut counted = [0.0; TILE];
        self.query.high_sums(sums, &mut counted);
        let (codes, rows) = (&tile.block.codes, tile.from..tile.from + tile.len());
        let rows = (
            &counted[..tile.len()],
            &codes.steps[rows.clone()],
            &codes.high_errors[rows],
        );
        reach(self.query.line(), rows, self.certain.threshold())
    }

    /// Take in these rows of a tile.
    fn add(&mut self, tile: &Tile<'_>, near: u64) {
        let rows = Bits(near).map(|bit| (tile.slot(bit), f32::INFINITY));
        self.near.extend(rows);
    }

    /// Take in what is probably near by its sign bits.
    fn by_signs(&mut self, tile: &Tile<'_>, wanted: u64) {
        let (Some(query), Some(signs)) = (&self.signs, &tile.block.signs) else {
            return self.add(tile, wanted);
        };
        let mut products = [0.0; TILE];
        query.products(signs, tile.from, &mut products);
        let rows = tile.from..tile.from + tile.len();
        let (factors, deviations) = (&signs.factors[rows.clone()], &signs.deviations[rows]);
        let line = query.line();
        let near = (&products[..tile.len()], factors, deviations);
        let near = wanted & reach(line, near, self.certain.threshold());
        let highest = |bit| line.highest(products[bit], factors[bit], deviations[bit]);
        self.near
            .extend(Bits(near).map(|bit| (tile.slot(bit), highest(bit))));
    }

    /// Compare what is near with both planes.
    fn look_closer(&mut self) {
        let matrix = self.matrix;
        let planes = self.near.iter().map(|(slot, _)| {
            let (block, offset) = matrix.at(*slot);
            block.codes.planes(offset)
        });
        let planes: Vec<Planes<'_>> = planes.collect();
        let sums = code_dots(self.query.both(), &planes);
        for ((slot, probable), sums) in self.near.drain(..).zip(sums) {
            let (number, offset) = in_block(slot);
            let codes = &matrix.blocks()[number].codes;
            let bound = (self.query).bound(sums, codes.steps[offset], codes.errors[offset]);
            // No more than is probable: then what is found does not depend on when the threshold
            // rose, and so not on how vectors are shared out among blocks.
            let highest = bound.highest().min(probable);
            if highest >= self.certain.threshold() {
                self.certain.offer((slot, bound.lowest().min(probable)));
                self.candidates.push(Candidate { slot, highest });
            }
        }
        self.certain.cut();
    }

    fn finish(mut self) -> Vec<Candidate> {
        self.look_closer();
        let threshold = self.certain.threshold();
        self.candidates
            .retain(|candidate| candidate.highest >= threshold);
        self.candidates
    }
}
