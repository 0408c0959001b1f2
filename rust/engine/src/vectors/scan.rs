//! Looking for near vectors by their codes.
//!
//! A scan waits for memory, so it reads little of most vectors: the high plane of their codes, or one
//! bit a number. What seems near is looked at again with both planes and a finer query, and only
//! what could still be among the nearest is compared in full, elsewhere. With planes every bound is
//! proven, so nothing is lost; with sign bits the first is only probable.

use std::{mem, slice};

use super::best_slots::{BestSlots, NearSlot};
use super::block::{Block, Patch, Rows};
use super::codes::CodeQuery;
use super::kernels::{
    BoundCoefficients, Planes, TILE, above_threshold_mask, code_dots, plane_dots, prefetch,
};
use super::matrix::{CoarsePass, Matrix};
use super::signs::SignQuery;
use super::slots::{Bits, NEAREST, Slots, slot};
use crate::chunks::{PathCursor, Paths};
use crate::interrupt::CancelTicker;
use crate::top_k::TopGroups;

/// A tile with fewer wanted vectors than this is not given a first look, unless it has no others.
const FEW: u32 = 8;
/// Above this number of near vectors they are refined: with few paths the threshold is low, and a near vector
/// has to be compared with others of its path.
const NEAR: usize = 4096;
/// How many times as many vectors must be near for the next comparison by paths after one that did not pay.
const RARER: usize = 8;

/// For each query all of these vectors that can be among its `limit` nearest, or as near as the last
/// of them; with `paths` those that can be the nearest of their path in the `limit` nearest paths. All
/// queries share one pass.
pub(super) fn candidates(
    matrix: &Matrix,
    look: CoarsePass,
    queries: &[&[f32]],
    limit: usize,
    slots: Slots<'_>,
    paths: Option<&Paths>,
) -> rusqlite::Result<Vec<Vec<NearSlot>>> {
    let scans = (queries.iter()).map(|query| Scan::new(matrix, look, query, limit, paths));
    let scans: Vec<Scan<'_>> = scans.collect();
    let codes = scans.iter().map(|scan| scan.query.codes().to_vec());
    let codes: Vec<Vec<i8>> = codes.collect();
    let codes: Vec<&[i8]> = codes.iter().map(Vec::as_slice).collect();
    let mut first = First {
        look,
        codes: &codes,
        scans,
        sums: Vec::new(),
        pace: CancelTicker::default(),
    };
    for (number, block) in matrix.blocks().iter().enumerate() {
        let next = matrix.blocks().get(number + 1).map(|next| next.base());
        // Each has the address of the data that the next line prefetches one block later.
        if let Some(after) = matrix.blocks().get(number + 3) {
            prefetch(slice::from_ref(&**after));
        }
        if let Some(after) = matrix.blocks().get(number + 2) {
            prefetch(slice::from_ref(after.base()));
        }
        if let Some(signs) = next.and_then(|next| next.signs.as_ref()) {
            signs.prefetch();
        }
        for tile in tiles(block, number) {
            let wanted = tile.wanted(slots);
            if wanted != 0 {
                first.look_at(&tile, wanted, next)?;
            }
        }
    }
    first.scans.into_iter().map(Scan::finish).collect()
}

/// The first look at all vectors, for all queries.
struct First<'m> {
    look: CoarsePass,
    /// The codes of each query.
    codes: &'m [&'m [i8]],
    scans: Vec<Scan<'m>>,
    /// Reused from tile to tile.
    sums: Vec<i32>,
    pace: CancelTicker,
}

impl First<'_> {
    /// Look at the wanted rows of a tile; `next` are the rows of the next block.
    fn look_at(
        &mut self,
        tile: &Tile<'_>,
        wanted: u64,
        next: Option<&Rows>,
    ) -> rusqlite::Result<()> {
        self.pace.read(TILE * self.scans.len())?;
        let is_worth = tile.is_patch || wanted.count_ones() >= FEW;
        let all = self.look == CoarsePass::HighPlane && is_worth;
        if all {
            let high = tile.rows.codes.high_from(tile.from);
            plane_dots(
                self.codes,
                high,
                tile.len(),
                tile.ahead(next),
                &mut self.sums,
            );
        }
        for (nth, scan) in self.scans.iter_mut().enumerate() {
            match self.look {
                CoarsePass::SignBits => scan.by_signs(tile, wanted),
                CoarsePass::HighPlane if all => {
                    let sums = &self.sums[nth * tile.len()..][..tile.len()];
                    scan.by_plane(tile, wanted, sums);
                }
                CoarsePass::HighPlane => scan.without_look(tile, wanted),
            }
            scan.count(wanted.count_ones())?;
        }
        Ok(())
    }
}

/// Some rows of a block, read from memory once for all queries.
struct Tile<'a> {
    rows: &'a Rows,
    /// The index of the first in `rows`.
    from: usize,
    /// The number of the block.
    number: usize,
    /// The patch of the block.
    patch: Option<&'a Patch>,
    /// Whether the rows are those of the patch.
    is_patch: bool,
}

/// The tiles of a block: those of its base, then that of its patch.
fn tiles(block: &Block, number: usize) -> impl Iterator<Item = Tile<'_>> {
    let patch = block.patch();
    let of_base = (0..block.len()).step_by(TILE).map(move |from| Tile {
        rows: block.base(),
        from,
        number,
        patch,
        is_patch: false,
    });
    let of_patch = patch.map(|changed| Tile {
        rows: changed.rows(),
        from: 0,
        number,
        patch,
        is_patch: true,
    });
    of_base.chain(of_patch)
}

impl Tile<'_> {
    fn len(&self) -> usize {
        (self.rows.len() - self.from).min(TILE)
    }

    /// The wanted rows of the tile: a bit for each.
    fn wanted(&self, slots: Slots<'_>) -> u64 {
        let there = u64::MAX >> (TILE - self.len());
        if self.is_patch {
            let is_wanted = |row: &usize| slots.contains(self.slot(*row));
            let wanted = (0..self.len()).filter(is_wanted);
            return wanted.fold(0, |bits, row| bits | 1 << row);
        }
        let there = there & !self.patch.map_or(0, |patch| patch.of_tile(self.from));
        match slots {
            Slots::All => there,
            Slots::These(set) => there & set.tile(slot(self.number, self.from) / TILE),
        }
    }

    /// The slot of one of its rows.
    fn slot(&self, row: usize) -> usize {
        let replaced = self.patch.filter(|_| self.is_patch);
        let offset = replaced.map_or(self.from + row, |patch| patch.offset(row));
        slot(self.number, offset)
    }

    /// Where the high plane of the next tile is.
    fn ahead<'n>(&'n self, next: Option<&'n Rows>) -> &'n [u8] {
        let from = self.from + TILE;
        if from < self.rows.len() {
            return self.rows.codes.high_from(from);
        }
        next.map_or(&[], |next| next.codes.high_from(0))
    }
}

/// A vector that seemed near at the first look.
#[derive(Debug, Clone, Copy)]
struct Near {
    slot: usize,
    /// The upper bounds of its similarity, see [`NearSlot`].
    highest: f32,
    widest: f32,
}

/// The intermediate result of one query.
struct Scan<'m> {
    matrix: &'m Matrix,
    query: CodeQuery,
    signs: Option<SignQuery>,
    limit: usize,
    paths: Option<PathCursor<'m>>,
    /// The vectors that are not refined yet.
    near: Vec<Near>,
    /// The number of vectors that were looked at, and the numbers of these and of near ones at which the
    /// next closer look is due.
    looked: usize,
    due: usize,
    near_due: usize,
    /// The number of near vectors above which they are compared with others of their paths.
    by_path_due: usize,
    /// The best of those similarities that are certain.
    certain: BestSlots,
    candidates: Vec<NearSlot>,
}

impl<'m> Scan<'m> {
    fn new(
        matrix: &'m Matrix,
        look: CoarsePass,
        query: &[f32],
        limit: usize,
        paths: Option<&'m Paths>,
    ) -> Self {
        let rotation = matrix.rotation();
        let rotated = rotation.rotated(query);
        let query = CodeQuery::new(query, &rotated, rotation, matrix.longest());
        let signs = || SignQuery::new(&rotated, query.line().base);
        Self {
            matrix,
            signs: (look == CoarsePass::SignBits).then(signs),
            query,
            limit,
            near: Vec::new(),
            looked: 0,
            due: limit.max(TILE).saturating_mul(2),
            near_due: NEAR.max(limit.saturating_mul(2)),
            by_path_due: NEAR / 2,
            certain: BestSlots::new(limit, paths.is_some()),
            paths: paths.map(Paths::cursor),
            candidates: Vec::new(),
        }
    }

    /// Take in the rows that can be near by the high plane, given the sums of products.
    fn by_plane(&mut self, tile: &Tile<'_>, wanted: u64, sums: &[i32]) {
        let mut counted = [0.0; TILE];
        self.query.high_sums(sums, &mut counted);
        let (codes, rows) = (&tile.rows.codes, tile.from..tile.from + tile.len());
        let (steps, errors) = (&codes.steps[rows.clone()], &codes.high_errors[rows]);
        let line = self.query.line();
        self.add(tile, wanted, line, 0.0, (&counted, steps, errors));
    }

    /// Take in the rows that are probably near by their sign bits.
    fn by_signs(&mut self, tile: &Tile<'_>, wanted: u64) {
        let (Some(query), Some(signs)) = (&self.signs, &tile.rows.signs) else {
            return;
        };
        let mut products = [0.0; TILE];
        query.products(signs, tile.from, &mut products);
        let rows = tile.from..tile.from + tile.len();
        let (factors, deviations) = (&signs.factors[rows.clone()], &signs.deviations[rows]);
        let line = query.line();
        // Twice as many deviations as decide without paths.
        self.add(
            tile,
            wanted,
            line,
            line.margin,
            (&products, factors, deviations),
        );
    }

    /// Take in wanted rows of a tile without a look at their codes.
    fn without_look(&mut self, tile: &Tile<'_>, wanted: u64) {
        let near = Bits(wanted).map(|bit| Near {
            slot: tile.slot(bit),
            highest: f32::INFINITY,
            widest: f32::INFINITY,
        });
        self.near.extend(near);
    }

    /// Take in those of the wanted rows of a tile that are within reach. `wider` times its error is added
    /// to a row's upper bound where it is compared with others of its path.
    fn add(
        &mut self,
        tile: &Tile<'_>,
        wanted: u64,
        line: BoundCoefficients,
        wider: f32,
        (sums, factors, errors): (&[f32; TILE], &[f32], &[f32]),
    ) {
        let rows = (&sums[..tile.len()], factors, errors);
        let near = wanted & above_threshold_mask(line, rows, self.certain.threshold());
        let near = Bits(near).map(|bit| {
            let highest = line.upper_bound(sums[bit], factors[bit], errors[bit]);
            let widest = highest + wider * errors[bit];
            let slot = tile.slot(bit);
            Near {
                slot,
                highest,
                widest,
            }
        });
        self.near.extend(near);
    }

    /// Count vectors that were looked at. Whenever their number has doubled, or that of near ones has, the
    /// most promising are looked at more closely, which raises the threshold below which others are left
    /// out.
    fn count(&mut self, looked: u32) -> rusqlite::Result<()> {
        self.looked += looked as usize;
        if self.looked >= self.due || self.near.len() >= self.near_due {
            self.due = self.looked.saturating_mul(2);
            self.raise_threshold()?;
            let near = self.near.len().max(self.limit);
            self.near_due = near.saturating_mul(2).max(NEAR);
        }
        Ok(())
    }

    fn raise_threshold(&mut self) -> rusqlite::Result<()> {
        if self.near.len() > self.limit {
            let promising = self.promising();
            self.refine(promising)?;
            let threshold = self.certain.threshold();
            self.near.retain(|near| near.highest >= threshold);
        }
        if self.paths.is_some() && self.near.len() > self.by_path_due {
            let near = self.near.len();
            self.compare_by_path()?;
            // A comparison costs about half of refining.
            let has_paid = self.near.len() < near / 2;
            self.by_path_due = if has_paid { NEAR / 2 } else { near * RARER };
        }
        Ok(())
    }

    /// Take out the `limit` near vectors with the highest bounds. The order stays that of memory.
    fn promising(&mut self) -> Vec<Near> {
        let mut bounds: Vec<f32> = self.near.iter().map(|near| near.highest).collect();
        let descending = |left: &f32, right: &f32| right.total_cmp(left);
        let (above, last, _) = bounds.select_nth_unstable_by(self.limit - 1, descending);
        let above = above
            .iter()
            .filter(|bound| bound.total_cmp(last).is_gt())
            .count();
        let (last, mut equals) = (*last, self.limit - above);
        let is_promising = |near: &mut Near| {
            let order = near.highest.total_cmp(&last);
            let is_equal = order.is_eq() && equals > 0;
            equals -= usize::from(is_equal);
            order.is_gt() || is_equal
        };
        self.near.extract_if(.., is_promising).collect()
    }

    /// Refine the most promising vector of each path, and drop worse ones of the same path: with few paths
    /// the threshold alone drops little.
    fn compare_by_path(&mut self) -> rusqlite::Result<()> {
        let near = mem::take(&mut self.near);
        let paths = near.iter().map(|near| self.path(near.slot));
        let paths: Vec<u32> = paths.collect::<rusqlite::Result<_>>()?;
        let mut best = TopGroups::new(self.limit);
        for (index, (near, path)) in near.iter().zip(&paths).enumerate() {
            best.offer(*path, (index, near.highest));
        }
        let mut is_done = vec![false; near.len()];
        let best = best.finish().into_iter().map(|(index, _)| {
            is_done[index] = true;
            near[index]
        });
        let best = best.collect();
        self.refine(best)?;
        let certain = &self.certain;
        let others = near.into_iter().zip(paths).zip(is_done);
        let possible = others.filter(|((near, path), is_done)| {
            let is_near = near.highest >= certain.threshold();
            !is_done && is_near && near.widest >= certain.of_path(*path)
        });
        self.near = possible.map(|((near, _), _)| near).collect();
        Ok(())
    }

    /// The number of the path of a vector; 0 if vectors are not grouped.
    fn path(&mut self, slot: usize) -> rusqlite::Result<u32> {
        let row = self.matrix.row(slot);
        let paths = self.paths.as_mut();
        paths.map_or(Ok(0), |paths| paths.number(row, NEAREST))
    }

    /// Compare vectors with both planes.
    fn refine(&mut self, mut near: Vec<Near>) -> rusqlite::Result<()> {
        let matrix = self.matrix;
        // In the order of memory.
        near.sort_unstable_by_key(|near| near.slot);
        let planes = near.iter().map(|near| {
            let (rows, at) = matrix.at(near.slot);
            rows.codes.planes(at)
        });
        let planes: Vec<Planes<'_>> = planes.collect();
        let sums = code_dots(self.query.both(), &planes);
        for (near, sums) in near.into_iter().zip(sums) {
            let (rows, at) = matrix.at(near.slot);
            let (step, error) = (rows.codes.steps[at], rows.codes.errors[at]);
            let bound = self.query.bound(sums, step, error);
            // At most the bound of the coarse pass: so the hits of a fast search do not depend on
            // when the threshold rose, nor on which blocks the vectors are in.
            let lowest = bound.lowest().min(near.highest);
            let highest = bound.highest().min(near.highest);
            if highest < self.certain.threshold() {
                continue;
            }
            let closer = NearSlot {
                slot: near.slot,
                path: self.path(near.slot)?,
                highest,
                widest: bound.highest().min(near.widest),
            };
            if self.certain.can_be_best(&closer) {
                self.certain.offer(closer.path, (closer.slot, lowest));
                self.candidates.push(closer);
            }
        }
        self.certain.cut();
        Ok(())
    }

    fn finish(mut self) -> rusqlite::Result<Vec<NearSlot>> {
        self.raise_threshold()?;
        let near = mem::take(&mut self.near);
        self.refine(near)?;
        let certain = &self.certain;
        self.candidates
            .retain(|candidate| certain.can_be_best(candidate));
        Ok(self.candidates)
    }
}
