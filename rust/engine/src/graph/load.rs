//! Reading the tables of a store, those of a large one on several threads.

use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::index::background::Background;
use crate::index::settings;
use crate::interrupt;

/// Up to how many ids a table is read in one piece.
const SMALL: i64 = if cfg!(test) { 50 } else { 50_000 };
/// In how many pieces a larger one is read.
const PIECES: i64 = 16;
/// More threads than this find nothing to do.
const MOST_THREADS: usize = 8;

/// A table in one state.
pub(super) struct Table<'s> {
    pub background: &'s Background,
    /// A connection that reads this state.
    pub connection: &'s Connection,
    /// The setting that counts the table's changes, and what it says in this state.
    pub generation: (&'static str, i64),
}

impl Table<'_> {
    /// Read every piece, on this thread and on others; the answers stand as the pieces do.
    ///
    /// The others have connections of their own, and leave the work to the rest where these see
    /// another state.
    pub fn read<P: Sync, T: Send>(
        &self,
        pieces: &[P],
        read: impl Fn(&Connection, &P) -> rusqlite::Result<T> + Sync,
    ) -> rusqlite::Result<Vec<T>> {
        let next = AtomicUsize::new(0);
        let stop = Arc::new(AtomicBool::new(false));
        let work = |connection: &Connection| {
            let mut answers = Vec::new();
            while !stop.load(Ordering::Relaxed) {
                let place = next.fetch_add(1, Ordering::Relaxed);
                let Some(piece) = pieces.get(place) else {
                    break;
                };
                let answer = read(connection, piece);
                stop.fetch_or(answer.is_err(), Ordering::Relaxed);
                answers.push((place, answer?));
            }
            Ok(answers)
        };
        let (background, generation) = (self.background, self.generation);
        let help = || {
            let stopped = Arc::clone(&stop);
            let is_unwanted = move || stopped.load(Ordering::Relaxed);
            interrupt::watched(is_unwanted, || in_state(background, generation, work))
        };
        let mut answers = thread::scope(|scope| {
            let helpers: Vec<_> = (1..threads().min(pieces.len()))
                .filter_map(|_| thread::Builder::new().spawn_scoped(scope, help).ok())
                .collect();
            let mut answers = work(self.connection)?;
            for helper in helpers {
                answers.extend(helper.join().unwrap_or_else(|panic| resume_unwind(panic))?);
            }
            Ok::<_, rusqlite::Error>(answers)
        })?;
        answers.sort_unstable_by_key(|(place, _)| *place);
        Ok(answers.into_iter().map(|(_, answer)| answer).collect())
    }
}

/// Do work on a connection of its own if that sees this state; without one there is none.
fn in_state<T>(
    background: &Background,
    (name, generation): (&str, i64),
    work: impl Fn(&Connection) -> rusqlite::Result<Vec<T>>,
) -> rusqlite::Result<Vec<T>> {
    let Ok(connection) = background.connection() else {
        return Ok(Vec::new());
    };
    let transaction = Transaction::new_unchecked(&connection, TransactionBehavior::Deferred)?;
    if settings::get(&transaction, name)? == Some(generation) {
        work(&transaction)
    } else {
        Ok(Vec::new())
    }
}

/// How many threads there is work for.
pub(super) fn threads() -> usize {
    thread::available_parallelism()
        .map_or(1, NonZeroUsize::get)
        .min(MOST_THREADS)
}

/// The ids from 1 to the last, in pieces: above the first of each, up to the second.
pub(super) fn pieces(last: i64) -> Vec<(i64, i64)> {
    if last <= SMALL {
        return vec![(0, last)];
    }
    let end = |piece: i64| (i128::from(last) * i128::from(piece) / i128::from(PIECES)) as i64;
    (0..PIECES)
        .map(|piece| (end(piece), end(piece + 1)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Edge, Needs, Node, Store};
    use super::*;
    use crate::index::settings::NODES_GENERATION;

    fn node(number: i64) -> Node {
        Node {
            // Another order than that of ids.
            key: format!("n{}", number * 7919 % 10_007),
            provenance: format!("from {}", number * number % 11),
            weight: number as f64 / 1000.0,
            ..Node::default()
        }
    }

    fn filled(store: &Store) -> Vec<Node> {
        let nodes: Vec<Node> = (0..500).map(node).collect();
        store.upsert(&nodes.iter().collect::<Vec<_>>(), 1).unwrap();
        let edge = |(source, target): (&Node, &Node)| Edge {
            source: source.key.clone(),
            target: target.key.clone(),
            relation: "link".to_owned(),
            strength: 0.5,
        };
        let ring = nodes.iter().zip(nodes.iter().cycle().skip(1));
        store.link(&ring.map(edge).collect::<Vec<_>>()).unwrap();
        store.delete(&[&nodes[77].key]).unwrap();
        nodes
    }

    #[test]
    fn a_store_read_in_pieces_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        let nodes = filled(&Store::open(&path).unwrap());
        let store = Store::open(&path).unwrap();
        let needs = Needs {
            edges: true,
            agents: Vec::new(),
        };
        let snapshot = store.snapshot(&needs).unwrap();
        let read = &snapshot.nodes;
        assert_eq!(
            (read.len(), read.order.len(), snapshot.edges.len()),
            (500, 499, 500)
        );
        assert!(read.order.is_sorted_by_key(|place| read.key(*place)));
        for (place, node) in (0..).zip(&nodes) {
            assert_eq!(
                (read.key(place), read.provenance(place)),
                (&*node.key, &*node.provenance)
            );
            assert_eq!(
                read.weights[place as usize].to_bits(),
                node.weight.to_bits()
            );
            assert_eq!(read.find(&node.key), (place != 77).then_some(place));
            let degree = match place {
                76 | 78 => 1,
                77 => 0,
                _ => 2,
            };
            assert_eq!(snapshot.edges.degree(place), degree, "{place}");
        }
    }

    #[test]
    fn pieces_are_read_though_others_see_another_state_and_an_error_ends_all() {
        let store = Store::in_memory().unwrap();
        filled(&store);
        let pieces: Vec<i64> = (0..40).collect();
        for generation in [2, 99] {
            let read = |fails: i64| {
                store.index.on_reader(|connection| {
                    let table = Table {
                        background: store.index.background(),
                        connection,
                        generation: (NODES_GENERATION, generation),
                    };
                    table.read(&pieces, |connection, piece| match *piece {
                        piece if piece == fails => Err(rusqlite::Error::QueryReturnedNoRows),
                        piece => {
                            connection.query_row("SELECT ?", [piece], |row| row.get::<_, i64>(0))
                        }
                    })
                })
            };
            assert_eq!(read(-1).unwrap(), pieces);
            let error = read(17).unwrap_err();
            assert!(
                error.message().contains("Query returned no rows"),
                "{error}"
            );
        }
    }

    #[test]
    fn pieces_have_every_id_once() {
        for last in [0, 1, SMALL, SMALL + 1, 1_000_003, i64::MAX] {
            let pieces = pieces(last);
            assert_eq!((pieces[0].0, pieces[pieces.len() - 1].1), (0, last));
            assert!(
                pieces.windows(2).all(|pair| pair[0].1 == pair[1].0),
                "{last}"
            );
        }
    }
}
