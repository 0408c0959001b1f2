//! Edges that changed since they were read: if they are few they are changed in memory, and not all
//! are read again.

use std::sync::{Mutex, PoisonError};

use rusqlite::Connection;

use super::nodes::Nodes;

/// How many changes are remembered at most.
const MOST: usize = 100_000;

/// The edges that one transaction changed.
#[derive(Debug)]
pub(crate) struct Changed {
    /// The generation of edges that it made.
    pub generation: i64,
    /// The ids of their ends.
    pub ends: Vec<(i64, i64)>,
}

/// The edges that this handle changed.
#[derive(Default)]
pub(crate) struct ChangedEdges(Mutex<Vec<Changed>>);

impl ChangedEdges {
    /// Remember what a transaction changed.
    pub fn note(&self, changed: Changed) {
        let mut noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        noted.push(changed);
        if noted.iter().map(|one| one.ends.len()).sum::<usize>() > MOST {
            noted.clear();
        }
    }

    /// The ends of the edges that changed after one generation and up to another; None if another
    /// handle changed any of them.
    pub fn between(&self, before: i64, now: i64) -> Option<Vec<(i64, i64)>> {
        let mut noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        noted.retain(|one| one.generation > before);
        noted.sort_unstable_by_key(|one| one.generation);
        let known = noted.iter().take_while(|one| one.generation <= now);
        let known: Vec<_> = known.collect();
        let generations = known.iter().map(|one| one.generation);
        let all = generations.eq(before + 1..=now);
        all.then(|| {
            let ends = known.into_iter().flat_map(|one| &one.ends);
            ends.copied().collect()
        })
    }
}

/// The present strengths between these ids, by slot; None for no edge.
pub(super) fn changes(
    connection: &Connection,
    ends: &[(i64, i64)],
    nodes: &Nodes,
) -> rusqlite::Result<Vec<(u32, u32, Option<f64>)>> {
    let mut strongest = connection.prepare_cached(
        "SELECT max(strength) FROM (
             SELECT strength FROM edges WHERE source = ?1 AND target = ?2
             UNION ALL
             SELECT strength FROM edges WHERE source = ?2 AND target = ?1)",
    )?;
    let mut changes = Vec::new();
    for (one, other) in ends {
        let slots = (nodes.slot_of(*one), nodes.slot_of(*other));
        if let (Some(from), Some(to)) = slots
            && nodes.live[from as usize]
            && nodes.live[to as usize]
        {
            let strength = strongest.query_row([one, other], |row| row.get(0))?;
            changes.push((from, to, strength));
        }
    }
    Ok(changes)
}
