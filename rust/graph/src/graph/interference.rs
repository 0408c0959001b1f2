//! Pairs of nodes with similar vectors in different communities (spec/pipeline.md,
//! "interference-pairs").

use super::community::Communities;
use super::nodes::Nodes;
use super::ranking::SlotScore;
use hedgerow_engine::error::Result;
use hedgerow_engine::index::session::Session;
use hedgerow_engine::interrupt::{self, CancelTicker};
use hedgerow_engine::top_k;
use hedgerow_engine::unit_vector;
use hedgerow_engine::vectors::kernels;

/// Up to this number of vectors, every pair is compared.
const ALL_PAIRS: usize = 2000;
/// With more vectors, each node is compared with this number of its nearest vectors.
const NEAREST: usize = 10;

/// Two slots, the one with the smaller key first, and the cosine of their vectors.
pub type Pair = (u32, u32, f64);

/// The nodes that have a vector, and their vectors.
pub struct Vectors {
    slots: Vec<u32>,
    /// All vectors, concatenated; all have the same length.
    values: Vec<f32>,
}

impl Vectors {
    /// Read the vectors of these nodes in the session of the same state.
    pub(crate) fn read(session: &Session<'_>, nodes: &Nodes) -> Result<Self> {
        session.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT nodes.id, embeddings.row, vector
                   FROM nodes
                   JOIN knowledge_chunks ON knowledge_chunks.id = nodes.key
                   JOIN embeddings ON embeddings.row = knowledge_chunks.row
                  WHERE NOT deleted AND vector <> x'01' ORDER BY nodes.id",
            )?;
            let mut rows = statement.query([])?;
            let (mut slots, mut values) = (Vec::new(), Vec::new());
            let mut length = None;
            while let Some(row) = rows.next()? {
                let slot = nodes.slot_of(row.get(0)?);
                let Some(slot) = slot.filter(|slot| nodes.live[*slot as usize]) else {
                    continue;
                };
                let start = values.len();
                let sound = unit_vector::read_blob(row.get_ref(2)?.as_blob()?, &mut values);
                let read = values.len() - start;
                if !sound || read != *length.get_or_insert(read) {
                    return Err(unit_vector::damaged(row.get(1)?));
                }
                slots.push(slot);
            }
            Ok(Self { slots, values })
        })
    }

    /// Return the number of vectors.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The pairs of at least this similarity, the most similar first.
    pub fn interfering(
        &self,
        nodes: &Nodes,
        communities: &Communities,
        min_similarity: f64,
        max_pairs: usize,
    ) -> Result<Vec<Pair>> {
        let candidates = if self.slots.len() <= ALL_PAIRS {
            self.all_pairs()
        } else {
            self.nearest_pairs()?
        };
        let mut pairs: Vec<Pair> = Vec::new();
        let mut pace = CancelTicker::default();
        for (left, right) in candidates {
            let (one, other) = (self.slots[left], self.slots[right]);
            pace.step(1 + self.vector(left).len())?;
            if communities.label(one) == communities.label(other) {
                continue;
            }
            let similarity = cosine(self.vector(left), self.vector(right));
            if similarity < min_similarity {
                continue;
            }
            if nodes.by_key(one, other).is_lt() {
                pairs.push((one, other, similarity));
            } else {
                pairs.push((other, one, similarity));
            }
        }
        let rounded = |similarity: f64| (similarity * 1e12).round();
        interrupt::sort(&mut pairs, |left, right| {
            rounded(right.2)
                .total_cmp(&rounded(left.2))
                .then_with(|| nodes.by_key(left.0, right.0))
                .then_with(|| nodes.by_key(left.1, right.1))
        })?;
        pairs.truncate(max_pairs);
        Ok(pairs)
    }

    fn vector(&self, number: usize) -> &[f32] {
        let length = self.values.len() / self.slots.len();
        &self.values[number * length..][..length]
    }

    fn all_pairs(&self) -> Vec<(usize, usize)> {
        let count = self.slots.len();
        (0..count)
            .flat_map(|left| (left + 1..count).map(move |right| (left, right)))
            .collect()
    }

    /// Each node with its nearest ones, every pair once.
    fn nearest_pairs(&self) -> Result<Vec<(usize, usize)>> {
        let mut pairs = Vec::new();
        let mut nearest: Vec<(f32, usize)> = Vec::new();
        let mut pace = CancelTicker::default();
        let all: Vec<&[f32]> = (0..self.slots.len()).map(|n| self.vector(n)).collect();
        for left in 0..self.slots.len() {
            pace.step(self.values.len())?;
            let similarities = kernels::dots(self.vector(left), &all);
            nearest.clear();
            nearest.extend(similarities.into_iter().zip(0..));
            nearest.swap_remove(left);
            let by_similarity = |one: &(f32, usize), other: &(f32, usize)| {
                other.0.total_cmp(&one.0).then(one.1.cmp(&other.1))
            };
            top_k::select(&mut nearest, NEAREST, by_similarity);
            let found = nearest.iter();
            pairs.extend(found.map(|(_, right)| (left.min(*right), left.max(*right))));
        }
        interrupt::sort(&mut pairs, Ord::cmp)?;
        pairs.dedup();
        Ok(pairs)
    }
}

/// Both ends of each pair, each with its highest similarity.
pub fn ends(nodes: &Nodes, pairs: &[Pair]) -> Result<Vec<SlotScore>> {
    let mut ends: Vec<SlotScore> = pairs
        .iter()
        .flat_map(|(left, right, similarity)| [(*left, *similarity), (*right, *similarity)])
        .collect();
    interrupt::sort(&mut ends, |left, right| {
        left.0.cmp(&right.0).then(right.1.total_cmp(&left.1))
    })?;
    ends.dedup_by_key(|(slot, _)| *slot);
    super::ranking::sort(nodes, &mut ends)?;
    Ok(ends)
}

/// The cosine in 64 bits: stored vectors have length 1 to the precision of 32 bits alone.
fn cosine(left: &[f32], right: &[f32]) -> f64 {
    let sum = |left: &[f32], right: &[f32]| -> f64 {
        let products = left.iter().zip(right);
        products.map(|(l, r)| f64::from(*l) * f64::from(*r)).sum()
    };
    let lengths = (sum(left, left) * sum(right, right)).sqrt();
    sum(left, right) / lengths
}

#[cfg(test)]
mod tests {
    use crate::graph::{Node, Store};
    use crate::pipeline::{Options, parse, run};
    use hedgerow_engine::error::ErrorCode;
    use rusqlite::Connection;

    #[test]
    fn a_vector_of_another_length_is_damage() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        let store = Store::open(&path).unwrap();
        let node = |key: &str| Node {
            key: key.to_owned(),
            embedding: Some(vec![0.6, 0.8]),
            ..Node::default()
        };
        let nodes = ["a", "b", "c"].map(node);
        store.upsert(&nodes.each_ref(), 1).unwrap();
        let damage = "UPDATE embeddings SET vector = x'0000803f' WHERE row = 2";
        Connection::open(&path)
            .unwrap()
            .execute(damage, [])
            .unwrap();
        let pipeline = parse("interference-pairs", &[], &[]).unwrap();
        let error = run(&store, &pipeline, &Options::default()).unwrap_err();
        assert_eq!(error.code(), ErrorCode::IndexDamaged, "{error}");
    }
}
