//! Who is served by what: loads are shared, go on without their caller, and hold nobody up.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

use crate::bm25::score::Filter;
use crate::bm25::search::rank_by_fts5;
use crate::bm25::{Backend, Ranking};
use crate::chunks::{Chunk, Filters};
use crate::error::ErrorCode;
use crate::index::Index;
use crate::index::session::Needs;
use crate::interrupt;
use crate::query::{MatchExpression, MatchOptions, Matching, Phrase, parse};
use crate::storage::generations;
use crate::text::tokenizer::TokenizerKind;

const KEYWORDS: Needs = Needs {
    neighbors: false,
    turns: false,
    keywords: true,
    vectors: false,
    group_by: None,
    slugs: false,
};

pub(super) fn chunk(id: usize, content: &str) -> Chunk {
    Chunk {
        id: id.to_string(),
        content: content.to_owned(),
        ..Chunk::default()
    }
}

fn filled(index: Index, count: usize) -> Index {
    let chunks: Vec<Chunk> = (0..count).map(|n| chunk(n, "oak elm")).collect();
    index.upsert(&chunks.iter().collect::<Vec<_>>()).unwrap();
    index
}

pub(super) fn in_file(folder: &Path, ranking: Ranking) -> Index {
    let path = folder.join("index.db");
    let index = Index::open_with(&path, TokenizerKind::Porter, false, ranking).unwrap();
    filled(index, 100)
}

/// Whether a new search is served from memory.
pub(super) fn from_memory(index: &Index) -> bool {
    let served = index.session(KEYWORDS, |session| Ok(session.keywords.is_some()));
    served.unwrap()
}

pub(super) fn hits(index: &Index) -> usize {
    let query = parse("oak").unwrap();
    let options = MatchOptions::default();
    let hits = index.search_bm25(&query, 1000, &Filters::default(), &options);
    hits.unwrap().len()
}

/// Observes the loads of an index: counts them, reports their start, and blocks them until
/// released.
pub(super) struct Loads {
    pub count: Arc<AtomicUsize>,
    began: Receiver<()>,
    pub go_on: Sender<()>,
}

impl Loads {
    pub fn of(index: &Index) -> Self {
        let count = Arc::new(AtomicUsize::new(0));
        let (begins, began) = channel();
        let (go_on, goes_on) = channel::<()>();
        let (counted, goes_on) = (Arc::clone(&count), Mutex::new(goes_on));
        index.ranker.on_load(move || {
            counted.fetch_add(1, Ordering::SeqCst);
            // A test that is through waits for nothing more.
            let _ = begins.send(());
            let _ = goes_on.lock().unwrap().recv();
        });
        Self {
            count,
            began,
            go_on,
        }
    }

    pub fn wait(&self) {
        self.began.recv_timeout(Duration::from_mins(1)).unwrap();
    }
}

pub(super) fn wait_for_memory(index: &Index) {
    for _ in 0..6000 {
        if from_memory(index) {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("not in memory after a minute");
}

#[test]
fn fts5_answers_while_another_search_loads() {
    let folder = tempfile::tempdir().unwrap();
    let index = in_file(folder.path(), Ranking::Memory);
    let loads = Loads::of(&index);
    thread::scope(|scope| {
        let first = scope.spawn(|| from_memory(&index));
        loads.wait();
        assert!(!from_memory(&index));
        assert_eq!(hits(&index), 100);
        assert!(!first.is_finished());
        loads.go_on.send(()).unwrap();
        assert!(first.join().unwrap());
    });
    assert!(from_memory(&index));
    assert_eq!(loads.count.load(Ordering::SeqCst), 1);
}

#[test]
fn whoever_waits_shares_one_load() {
    let folder = tempfile::tempdir().unwrap();
    let index = in_file(folder.path(), Ranking::Memory);
    let loads = Loads::of(&index);
    thread::scope(|scope| {
        let load = || index.ranker.wait_for_load();
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(load)).collect();
        loads.wait();
        loads.go_on.send(()).unwrap();
        for thread in threads {
            thread.join().unwrap().unwrap();
        }
    });
    assert!(from_memory(&index));
    assert_eq!(loads.count.load(Ordering::SeqCst), 1);
}

#[test]
fn a_load_goes_on_when_its_caller_gives_up() {
    let folder = tempfile::tempdir().unwrap();
    let index = in_file(folder.path(), Ranking::Memory);
    let loads = Loads::of(&index);
    let began = AtomicBool::new(false);
    thread::scope(|scope| {
        let search = || {
            let is_unwanted = Arc::new(AtomicBool::new(false));
            let asked = Arc::clone(&is_unwanted);
            let search = || index.session(KEYWORDS, |_| Ok(()));
            interrupt::with_cancellation(
                move || asked.swap(true, Ordering::SeqCst),
                || {
                    began.store(true, Ordering::SeqCst);
                    search()
                },
            )
        };
        let first = scope.spawn(search);
        loads.wait();
        let error = first.join().unwrap().unwrap_err();
        assert_eq!(error.code(), ErrorCode::Interrupted, "{error}");
    });
    assert!(!from_memory(&index), "it is being read still");
    loads.go_on.send(()).unwrap();
    wait_for_memory(&index);
    assert_eq!(loads.count.load(Ordering::SeqCst), 1);
}

#[test]
fn auto_loads_from_the_second_search_on_and_nobody_waits() {
    let folder = tempfile::tempdir().unwrap();
    let index = in_file(folder.path(), Ranking::Auto);
    let loads = Loads::of(&index);
    assert!(!from_memory(&index));
    assert_eq!(loads.count.load(Ordering::SeqCst), 0);
    assert!(!from_memory(&index));
    loads.wait();
    assert!(!from_memory(&index));
    loads.go_on.send(()).unwrap();
    wait_for_memory(&index);
    assert_eq!(loads.count.load(Ordering::SeqCst), 1);
}

#[test]
fn what_is_out_of_date_is_read_again_in_the_background() {
    let folder = tempfile::tempdir().unwrap();
    for ranking in [Ranking::Memory, Ranking::Auto] {
        let index = in_file(folder.path(), ranking);
        wait_for_memory(&index);
        let loads = Loads::of(&index);
        let chunks: Vec<Chunk> = (100..500)
            .map(|n| chunk(n, &format!("oak {ranking:?}")))
            .collect();
        index.upsert(&chunks.iter().collect::<Vec<_>>()).unwrap();
        index.database().write(generations::create).unwrap();
        assert!(!from_memory(&index));
        loads.wait();
        assert_eq!(hits(&index), 500);
        loads.go_on.send(()).unwrap();
        wait_for_memory(&index);
        assert_eq!(hits(&index), 500);
        assert_eq!(loads.count.load(Ordering::SeqCst), 1);
    }
}

#[test]
fn fts5_alone_loads_nothing() {
    let index = Index::in_memory_with(TokenizerKind::Porter, Ranking::Fts5).unwrap();
    let index = filled(index, 10);
    let loads = Loads::of(&index);
    for _ in 0..3 {
        assert!(!from_memory(&index));
        assert_eq!(hits(&index), 10);
    }
    assert_eq!(loads.count.load(Ordering::SeqCst), 0);
}

#[test]
fn an_older_search_gets_its_own_generation() {
    let folder = tempfile::tempdir().unwrap();
    let index = in_file(folder.path(), Ranking::Memory);
    assert!(from_memory(&index));
    let number = |index: &Index| {
        let generation = index
            .database()
            .read(crate::storage::generations::generation);
        generation.unwrap()
    };
    index
        .database()
        .read(|connection| {
            let generation = crate::storage::generations::generation(connection)?;
            // Others write and search, and this transaction stays where it is.
            thread::scope(|scope| {
                let others = scope.spawn(|| {
                    index.upsert(&[&chunk(7, "oak ash")]).unwrap();
                    assert!(from_memory(&index));
                });
                others.join().unwrap();
            });
            let acquired = index.ranker.acquire(connection, generation, true)?;
            assert!(matches!(acquired, Backend::Snapshot(_)));
            Ok(())
        })
        .unwrap();
    // A generation that is gone from the cache: start again, or leave it to FTS5.
    let newest = number(&index);
    index
        .database()
        .read(|connection| {
            let acquire = |waits| index.ranker.acquire(connection, newest - 2, waits);
            assert!(matches!(acquire(true)?, Backend::Later));
            assert!(matches!(acquire(false)?, Backend::Fts5));
            Ok(())
        })
        .unwrap();
}

fn expression(phrases: &[(&str, bool)]) -> MatchExpression {
    let phrase = |(text, prefix): &(&str, bool)| Phrase {
        text: (*text).to_owned(),
        prefix: *prefix,
        ..Phrase::default()
    };
    MatchExpression {
        any: phrases.iter().map(|p| vec![vec![phrase(p)]]).collect(),
        none: Vec::new(),
    }
}

#[test]
fn concurrent_searches_are_of_their_own_generation() {
    let folder = tempfile::tempdir().unwrap();
    let index = in_file(folder.path(), Ranking::Memory);
    assert!(from_memory(&index));
    let done = AtomicBool::new(false);
    let from_memory = AtomicUsize::new(0);
    let search = || {
        let expressions = [
            expression(&[("oak", false), ("elm", false), ("ash", false)]),
            expression(&[("oak ash", false), ("w1", true)]),
        ];
        let tokenizer = TokenizerKind::Porter;
        while !done.load(Ordering::SeqCst) {
            for expression in &expressions {
                let plan = crate::bm25::plan::Plan::of(expression, tokenizer).unwrap();
                let compare = |session: &crate::index::session::Session<'_>| {
                    let filters = Filters::default();
                    session.read(|connection| -> rusqlite::Result<()> {
                        let Some(snapshot) = &session.keywords else {
                            return Ok(());
                        };
                        from_memory.fetch_add(1, Ordering::SeqCst);
                        let (ours, _) =
                            snapshot.rank(&plan, usize::MAX, Filter::None, None, Matching::Spec)?;
                        let theirs = rank_by_fts5(
                            connection,
                            &plan,
                            expression,
                            None,
                            &filters,
                            Matching::Spec,
                        )?;
                        assert_eq!(ours, theirs, "{expression}");
                        Ok(())
                    })
                };
                index.session(KEYWORDS, compare).unwrap();
            }
        }
    };
    thread::scope(|scope| {
        let searching: Vec<_> = (0..3).map(|_| scope.spawn(search)).collect();
        for step in 0..300 {
            if step % 7 == 3 {
                index.delete(&[(step % 110).to_string()]).unwrap();
            }
            let changed = chunk(step * 13 % 120, &format!("oak ash w{step} elm"));
            index.upsert(&[&changed]).unwrap();
            if searching.iter().any(ScopedJoinHandle::is_finished) {
                break;
            }
        }
        done.store(true, Ordering::SeqCst);
    });
    assert!(from_memory.into_inner() > 0);
}
