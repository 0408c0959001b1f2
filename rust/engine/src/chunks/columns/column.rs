//! A column: segments of which a newer one replaces the rows of older ones.

use std::sync::Arc;

use super::marks::Marks;
use super::segment::ColumnSegment;
use crate::chunks::row_set::RowSet;

/// A segment is merged with the one before it unless that is at least this number of times as large. A row is
/// copied about once for each power of it; a condition examines one segment for each.
const GROWTH: usize = 4;

/// The rows of a column by their values, in one generation. A version shares segments with the next.
#[derive(Debug, Clone, Default)]
pub(super) struct Column {
    layers: Vec<Layer>,
}

#[derive(Debug, Clone)]
struct Layer {
    segment: Arc<ColumnSegment>,
    /// The rows that count here and not in older layers, whether or not they have a value. Empty for the
    /// oldest layer.
    rows: Arc<RowSet>,
}

impl Layer {
    fn size(&self) -> usize {
        self.segment.pairs().max(self.rows.len())
    }
}

impl Column {
    /// The column of a segment that has all rows.
    pub fn new(segment: ColumnSegment) -> Self {
        let layer = Layer {
            segment: Arc::new(segment),
            rows: Arc::default(),
        };
        Self {
            layers: vec![layer],
        }
    }

    /// The column after `rows` changed: those that have values have them in `segment`.
    pub fn changed(&self, segment: ColumnSegment, rows: &Arc<RowSet>) -> Self {
        let mut layers = self.layers.clone();
        layers.push(Layer {
            segment: Arc::new(segment),
            rows: Arc::clone(rows),
        });
        while let [.., older, newer] = layers.as_slice()
            && older.size() < newer.size() * GROWTH
        {
            let mut rows = (*older.rows).clone();
            // The oldest layer has all rows without a list of them.
            if layers.len() > 2 {
                rows.union(&newer.rows);
            }
            let merged = Layer {
                segment: Arc::new(ColumnSegment::merged(
                    &older.segment,
                    &newer.rows,
                    &newer.segment,
                )),
                rows: Arc::new(rows),
            };
            layers.truncate(layers.len() - 2);
            layers.push(merged);
        }
        Self { layers }
    }

    /// The rows that have one of the keys that `mark` marks.
    pub fn rows(&self, mark: impl Fn(&ColumnSegment, &mut Marks)) -> RowSet {
        let mut all = RowSet::default();
        let mut covered = RowSet::default();
        for (age, layer) in self.layers.iter().rev().enumerate() {
            let mut marks = Marks::new(layer.segment.len());
            mark(&layer.segment, &mut marks);
            let mut rows = layer.segment.rows_of(&marks);
            if age == 0 {
                all = rows;
            } else {
                rows.subtract(&covered);
                all.union(&rows);
            }
            covered.union(&layer.rows);
        }
        all
    }

    /// Whether no row has several keys.
    pub fn has_single_keys(&self) -> bool {
        self.layers
            .iter()
            .all(|layer| layer.segment.has_single_keys())
    }

    /// The memory of the column in bytes, by estimate.
    pub fn bytes(&self) -> usize {
        let layers = self.layers.iter();
        layers
            .map(|layer| layer.segment.bytes() + layer.rows.bytes())
            .sum()
    }
}
