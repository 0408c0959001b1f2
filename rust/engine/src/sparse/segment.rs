//! Inverted lists of some rows: for each token the rows that have it, with their weights.

use std::collections::HashMap;
use std::ops::Range;

use hashlink::DefaultHashBuilder;

use crate::error::Result;
use crate::interrupt::CancelTicker;
use crate::sparse_vector::SparseVector;

/// The approximate overhead of a token in a hash table.
const TOKEN_BYTES: usize = 48;

/// The inverted lists of some rows. They never change, so threads share them freely.
#[derive(Debug, Default)]
pub(super) struct SparseSegment {
    /// The rows, ascending. Lists have positions in here.
    rows: Vec<i64>,
    /// The number of the list of each token.
    tokens: HashMap<Box<str>, u32, DefaultHashBuilder>,
    /// Where each list begins in the two arrays that follow, and the end of the last one.
    starts: Vec<usize>,
    /// The slots of each list, ascending.
    slots: Vec<u32>,
    weights: Vec<f32>,
}

/// Collects the vectors of ascending rows for a segment.
#[derive(Default)]
pub(super) struct SegmentBuilder {
    rows: Vec<i64>,
    tokens: HashMap<Box<str>, u32, DefaultHashBuilder>,
    lengths: Vec<usize>,
    /// The list, the slot and the weight of each token of each row.
    entries: Vec<(u32, u32, f32)>,
}

impl SegmentBuilder {
    /// Begin the vector of the next row.
    pub fn begin(&mut self, row: i64) {
        self.rows.push(row);
    }

    /// Add a token to the vector of the last row.
    pub fn add(&mut self, token: &str, weight: f32) {
        let known = self.tokens.get(token).copied();
        let list = known.unwrap_or_else(|| {
            let next = number(self.lengths.len());
            self.tokens.insert(token.into(), next);
            self.lengths.push(0);
            next
        });
        self.lengths[list as usize] += 1;
        self.entries
            .push((list, number(self.rows.len().saturating_sub(1)), weight));
    }

    /// The segment. Entries of a list stay in the order in which they came, which is that of rows.
    pub fn finish(self) -> Result<SparseSegment> {
        let mut pace = CancelTicker::default();
        let mut starts = Vec::with_capacity(self.lengths.len() + 1);
        let mut end = 0;
        for length in &self.lengths {
            starts.push(end);
            end += length;
        }
        let mut next = starts.clone();
        starts.push(end);
        let (mut slots, mut weights) = (vec![0; end], vec![0.0; end]);
        for (list, slot, weight) in self.entries {
            pace.step(1)?;
            let at = &mut next[list as usize];
            (slots[*at], weights[*at]) = (slot, weight);
            *at += 1;
        }
        Ok(SparseSegment {
            rows: self.rows,
            tokens: self.tokens,
            starts,
            slots,
            weights,
        })
    }
}

/// A number of rows or tokens; there are fewer than 2^32 of either.
fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

impl SparseSegment {
    /// The rows, ascending.
    pub fn rows(&self) -> &[i64] {
        &self.rows
    }

    /// The slot of a row.
    pub fn slot(&self, row: i64) -> Option<usize> {
        self.rows.binary_search(&row).ok()
    }

    /// The score of every slot: the products of equal tokens, added in the order of the tokens of `query`.
    pub fn scores(&self, query: &SparseVector) -> Result<Vec<f64>> {
        let mut pace = CancelTicker::default();
        let mut scores = vec![0.0; self.rows.len()];
        for (token, weight) in query.entries() {
            let Some(list) = self.tokens.get(token.as_str()) else {
                continue;
            };
            let list = self.list(*list as usize);
            pace.step(list.len())?;
            let weight = f64::from(*weight);
            let (slots, weights) = (&self.slots[list.clone()], &self.weights[list]);
            for (slot, other) in slots.iter().zip(weights) {
                // Exact: 48 bits are enough for the product of two `f32`.
                scores[*slot as usize] += weight * f64::from(*other);
            }
        }
        Ok(scores)
    }

    /// Each token with the slots that have it and their weights.
    pub fn lists(&self) -> impl Iterator<Item = (&str, &[u32], &[f32])> {
        self.tokens.iter().map(|(token, list)| {
            let list = self.list(*list as usize);
            let (slots, weights) = (&self.slots[list.clone()], &self.weights[list]);
            (&**token, slots, weights)
        })
    }

    fn list(&self, number: usize) -> Range<usize> {
        self.starts[number]..self.starts[number + 1]
    }

    /// The approximate bytes of memory.
    pub fn bytes(&self) -> usize {
        let texts: usize = self.tokens.keys().map(|token| token.len()).sum();
        self.rows.capacity() * size_of::<i64>()
            + self.starts.capacity() * size_of::<usize>()
            + self.slots.capacity() * size_of::<u32>()
            + self.weights.capacity() * size_of::<f32>()
            + self.tokens.len() * TOKEN_BYTES
            + texts
    }
}
