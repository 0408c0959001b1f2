//! Edges that changed since they were read: a few are changed in memory, instead of reading all.

use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;

use super::edges::Edges;
use super::nodes::Nodes;

/// How many changes are remembered at most.
const MOST: usize = 100_000;
/// Up to which share of the edges, one in so many, may change in memory.
const ONE_IN: usize = 100;

/// The ids of both ends of edges.
type Ends = Vec<(i64, i64)>;

/// The edges that this handle changed, by the generation that each transaction made.
#[derive(Default)]
pub(super) struct Links(Mutex<Vec<(i64, Ends)>>);

impl Links {
    /// Note what a transaction changed.
    pub fn note(&self, generation: i64, ends: Ends) {
        let mut noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        noted.push((generation, ends));
        if noted.iter().map(|(_, ends)| ends.len()).sum::<usize>() > MOST {
            noted.clear();
        }
    }

    /// What changed after one generation, up to another; None where somebody else did it.
    fn between(&self, before: i64, now: i64) -> Option<Ends> {
        let mut noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        noted.retain(|(generation, _)| *generation > before);
        noted.sort_unstable_by_key(|(generation, _)| *generation);
        let known = noted
            .iter()
            .take_while(|(generation, _)| *generation <= now);
        let known: Vec<_> = known.collect();
        let all = known
            .iter()
            .map(|(generation, _)| *generation)
            .eq(before + 1..=now);
        all.then(|| {
            known
                .into_iter()
                .flat_map(|(_, ends)| ends.iter().copied())
                .collect()
        })
    }

    /// Bring edges up to date where a few changed; None where they are to be read again.
    pub fn bring_up(
        &self,
        mut edges: Arc<Edges>,
        connection: &Connection,
        generation: i64,
        nodes: &Nodes,
    ) -> rusqlite::Result<Option<Arc<Edges>>> {
        let Some(ends) = self.between(edges.generation, generation) else {
            return Ok(None);
        };
        let (size, left) = edges.size();
        if (left + 2 * ends.len()) * ONE_IN > size {
            return Ok(None);
        }
        let mut strongest = connection.prepare_cached(
            "SELECT max(strength) FROM (
                 SELECT strength FROM edges WHERE source = ?1 AND target = ?2
                 UNION ALL
                 SELECT strength FROM edges WHERE source = ?2 AND target = ?1)",
        )?;
        let mut changes = Vec::new();
        for (one, other) in ends {
            let places = (nodes.place_of(one), nodes.place_of(other));
            if let (Some(from), Some(to)) = places
                && nodes.live[from as usize]
                && nodes.live[to as usize]
            {
                let strength = strongest.query_row([one, other], |row| row.get(0))?;
                changes.push((from, to, strength));
            }
        }
        // Copied when somebody still reads the older ones.
        let current = Arc::make_mut(&mut edges);
        current.change(nodes.len(), &changes);
        current.generation = generation;
        Ok(Some(edges))
    }
}
