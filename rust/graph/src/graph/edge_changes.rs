//! The edges that the last transactions changed, listed in the file: a cache of edges follows the
//! writes of every handle and process without reading all edges again.

use rusqlite::{Connection, OptionalExtension};

use super::adjacency::Adjacency;
use super::nodes::Nodes;
use crate::schema::{EDGE_CHANGES_AFTER, EDGES_GENERATION, LINKED_GENERATION, next_generation};
use hedgerow_engine::storage::settings;

/// The most entries of the table `edge_changes`; about 250 KB of the file. More would seldom be read:
/// a cache that more than one edge in a hundred is new to reads all edges.
const MAX_ENTRIES: i64 = if cfg!(test) { 100 } else { 1 << 14 };

/// The ids of the two ends of an edge. Two equal ids mean all edges of a deleted node; an edge
/// never joins a node to itself.
pub(crate) type Ends = (i64, i64);

/// The strength between two slots; None if the edge was removed.
pub(super) type Change = (u32, u32, Option<f64>);

/// The number of transactions that changed an edge, or which nodes are live. Equal numbers mean equal
/// edges.
pub(super) fn generation(connection: &Connection) -> rusqlite::Result<i64> {
    Ok(settings::get(connection, EDGES_GENERATION)?.unwrap_or_default())
}

/// Count a transaction that wrote or removed these edges, and list them. One without an edge is not
/// counted. The edges no longer count as those of files; a sync, which makes them so, notes it afterwards.
pub(crate) fn record(connection: &Connection, ends: &[Ends]) -> rusqlite::Result<()> {
    if ends.is_empty() {
        return Ok(());
    }
    settings::set(connection, LINKED_GENERATION, None)?;
    list(connection, ends)
}

/// Count a transaction that deleted the nodes of these ids, and list them. Their edges stay in the file.
pub(crate) fn record_deleted(connection: &Connection, nodes: &[i64]) -> rusqlite::Result<()> {
    if nodes.is_empty() {
        return Ok(());
    }
    let ends: Vec<Ends> = nodes.iter().map(|node| (*node, *node)).collect();
    list(connection, &ends)
}

fn list(connection: &Connection, ends: &[Ends]) -> rusqlite::Result<()> {
    let generation = next_generation(connection, EDGES_GENERATION)?;
    if ends.len() as u64 > MAX_ENTRIES.unsigned_abs() {
        return begin_after(connection, generation);
    }
    let sql = "INSERT INTO edge_changes (generation, source, target) VALUES (?, ?, ?)";
    let mut insert = connection.prepare_cached(sql)?;
    for (source, target) in ends {
        insert.execute([generation, *source, *target])?;
    }
    // As many entries go as came, so that no write pays for others.
    let oldest = connection.last_insert_rowid().saturating_sub(MAX_ENTRIES);
    connection
        .prepare_cached("DELETE FROM edge_changes WHERE entry <= ?")?
        .execute([oldest])?;
    Ok(())
}

/// Count a change that no list has, after which caches read all edges.
pub(crate) fn record_all(connection: &Connection) -> rusqlite::Result<()> {
    let generation = next_generation(connection, EDGES_GENERATION)?;
    begin_after(connection, generation)
}

/// Empty the list: it is complete after this generation.
fn begin_after(connection: &Connection, generation: i64) -> rusqlite::Result<()> {
    connection.execute("DELETE FROM edge_changes", [])?;
    settings::set(
        connection,
        EDGE_CHANGES_AFTER,
        Some(&generation.to_string()),
    )
}

/// The edges that changed after the generation `known`. None if the list does not go back that far or
/// has more than `most` of them.
pub(super) fn since(
    connection: &Connection,
    known: i64,
    most: usize,
) -> rusqlite::Result<Option<Vec<Ends>>> {
    if known > generation(connection)? || known < complete_after(connection)? {
        return Ok(None);
    }
    // Entries ascend with generations, and those asked for are the last.
    let sql = "SELECT generation, source, target FROM edge_changes ORDER BY entry DESC";
    let mut statement = connection.prepare_cached(sql)?;
    let mut found = statement.query([])?;
    let mut ends = Vec::new();
    while let Some(entry) = found.next()? {
        if entry.get::<_, i64>(0)? <= known {
            break;
        }
        if ends.len() == most {
            return Ok(None);
        }
        ends.push((entry.get(1)?, entry.get(2)?));
    }
    Ok(Some(ends))
}

/// The generation after which every change is listed.
fn complete_after(connection: &Connection) -> rusqlite::Result<i64> {
    let after = settings::get(connection, EDGE_CHANGES_AFTER)?.unwrap_or(i64::MAX);
    let sql = "SELECT entry, generation FROM edge_changes ORDER BY entry LIMIT 1";
    let oldest: Option<(i64, i64)> = connection
        .prepare_cached(sql)?
        .query_row([], |found| Ok((found.get(0)?, found.get(1)?)))
        .optional()?;
    Ok(match oldest {
        // Earlier entries are gone, perhaps including entries of the same generation.
        Some((entry, generation)) if entry > 1 => after.max(generation),
        _ => after,
    })
}

/// Return the current strengths, by slot, of edges that changed after `adjacency` was read.
pub(super) fn changes(
    connection: &Connection,
    ends: &[Ends],
    nodes: &Nodes,
    adjacency: &Adjacency,
) -> rusqlite::Result<Vec<Change>> {
    let mut strongest = connection.prepare_cached(
        "SELECT max(strength) FROM (
             SELECT strength FROM edges WHERE source = ?1 AND target = ?2
             UNION ALL
             SELECT strength FROM edges WHERE source = ?2 AND target = ?1)",
    )?;
    let live = |slot: u32| nodes.live[slot as usize];
    let mut changes = Vec::new();
    for (one, other) in ends {
        let (Some(from), Some(to)) = (nodes.slot_of(*one), nodes.slot_of(*other)) else {
            continue;
        };
        if from == to && !live(from) {
            let neighbors = adjacency.neighbors(from).iter();
            changes.extend(neighbors.map(|neighbor| (from, *neighbor, None)));
        } else if from != to && live(from) && live(to) {
            let strength = strongest.query_row([one, other], |row| row.get(0))?;
            changes.push((from, to, strength));
        }
    }
    Ok(changes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Store;

    #[test]
    fn the_list_goes_back_as_far_as_it_says() {
        let store = Store::in_memory().unwrap();
        let write = |connection: &Connection| {
            let all = |known| since(connection, known, usize::MAX);
            assert_eq!(all(0)?, Some(vec![]));
            record(connection, &[(1, 2), (3, 4)])?;
            record(connection, &[(5, 5)])?;
            assert_eq!(all(0)?, Some(vec![(5, 5), (3, 4), (1, 2)]));
            assert_eq!(all(1)?, Some(vec![(5, 5)]));
            assert_eq!(all(2)?, Some(vec![]));
            assert_eq!(all(3)?, None, "of another file");
            assert_eq!(since(connection, 0, 2)?, None, "more than were asked for");
            assert_eq!(since(connection, 0, 3)?.map(|ends| ends.len()), Some(3));
            record_all(connection)?;
            assert_eq!((all(2)?, all(3)?), (None, Some(vec![])));
            let many: Vec<Ends> = (0..=MAX_ENTRIES).map(|id| (id, id + 1)).collect();
            record(connection, &many)?;
            assert_eq!((all(3)?, all(4)?), (None, Some(vec![])));
            for _ in 0..MAX_ENTRIES {
                record(connection, &[(1, 2), (2, 3)])?;
            }
            let half = generation(connection)? - MAX_ENTRIES / 2;
            assert_eq!(all(half)?, None, "part of it is gone");
            assert_eq!(all(half + 1)?.map(|ends| ends.len()), Some(98));
            let count = "SELECT count(*) FROM edge_changes";
            let entries: i64 = connection.query_row(count, [], |row| row.get(0))?;
            assert_eq!(entries, MAX_ENTRIES);
            Ok(())
        };
        store.index().database().write(write).unwrap();
    }
}
