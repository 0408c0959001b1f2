//! The reasons and notices that say which of the two ranks.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use super::serving::{Loads, chunk, from_memory, hits, in_file, wait_for_memory};
use crate::bm25::Ranking;
use crate::index::Index;
use crate::storage::NoticeLevel;

fn reason(index: &Index) -> String {
    index.stats().unwrap().ranking_reason
}

#[test]
fn it_says_which_way_it_went_and_why() {
    let folder = tempfile::tempdir().unwrap();
    let index = in_file(folder.path(), Ranking::Auto);
    assert_eq!(reason(&index), "fts5: no search yet");
    assert!(!from_memory(&index));
    assert_eq!(
        reason(&index),
        "fts5: one search so far; memory takes over after the second"
    );
    let loads = Loads::of(&index);
    assert!(!from_memory(&index));
    loads.wait();
    assert_eq!(
        reason(&index),
        "fts5: memory is being filled, with 1 MB of at most 1 GiB, 1 MB while it is built"
    );
    assert_eq!(index.take_notices(), []);
    loads.go_on.send(()).unwrap();
    wait_for_memory(&index);
    let expected = "memory: 1 MB, 1 MB while it is built, of at most 1 GiB";
    assert_eq!(reason(&index), expected);
    let notices = index.take_notices();
    assert_eq!(notices.len(), 1);
    assert_eq!(notices[0].level, NoticeLevel::Info);
    assert_eq!(notices[0].message, format!("BM25 is ranked by {expected}"));
    assert!(from_memory(&index));
    assert_eq!(index.take_notices(), []);
}

#[test]
fn damage_is_reported_once_and_fts5_ranks() {
    for ranking in [Ranking::Memory, Ranking::Auto] {
        let folder = tempfile::tempdir().unwrap();
        let index = in_file(folder.path(), ranking);
        let damage = "UPDATE knowledge_fts_docsize SET sz = x'0101010150' WHERE id = 5";
        index
            .database()
            .write(|connection| connection.execute_batch(damage))
            .unwrap();
        let loads = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&loads);
        index.ranker.on_load(move || {
            counted.fetch_add(1, Ordering::SeqCst);
        });
        let expected = "fts5: the index is damaged: what it says of chunks and of words does not \
                        agree; look at check()";
        for _ in 0..6_000 {
            assert!(!from_memory(&index));
            if reason(&index) == expected {
                break;
            }
            thread::sleep(Duration::from_millis(10));
        }
        for _ in 0..3 {
            assert!(!from_memory(&index));
            assert_eq!(hits(&index), 100);
        }
        assert_eq!(reason(&index), expected);
        let notices = index.take_notices();
        assert_eq!(notices.len(), 1, "{notices:?}");
        assert_eq!(notices[0].level, NoticeLevel::Warning);
        assert_eq!(notices[0].message, format!("BM25 is ranked by {expected}"));
        assert_eq!(loads.load(Ordering::SeqCst), 1, "not tried again");
        assert_eq!(index.ranker.bytes(), 0);
    }
}

#[test]
fn what_sqlite_cannot_read_is_reported_once() {
    let folder = tempfile::tempdir().unwrap();
    let index = in_file(folder.path(), Ranking::Memory);
    index
        .database()
        .write(|connection| connection.execute_batch("DROP TABLE knowledge_fts_docsize"))
        .unwrap();
    for _ in 0..3 {
        assert!(!from_memory(&index));
    }
    let expected = "fts5: the index cannot be read: no such table: knowledge_fts_docsize";
    assert!(reason(&index).starts_with(expected), "{}", reason(&index));
    let notices = index.take_notices();
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert_eq!(notices[0].level, NoticeLevel::Warning);
}

#[test]
fn a_load_that_fails_leaves_ranking_to_fts5_until_something_is_written() {
    for ranking in [Ranking::Memory, Ranking::Auto] {
        let folder = tempfile::tempdir().unwrap();
        let index = in_file(folder.path(), ranking);
        let loads = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&loads);
        index.ranker.on_load(move || {
            let before = counted.fetch_add(1, Ordering::SeqCst);
            assert!(before > 0, "on purpose");
        });
        let message = "reading the ranking panicked; please report this";
        for _ in 0..6_000 {
            assert!(!from_memory(&index));
            if reason(&index) == format!("fts5: {message}") {
                break;
            }
            thread::sleep(Duration::from_millis(10));
        }
        for _ in 0..3 {
            assert!(!from_memory(&index));
            assert_eq!(hits(&index), 100);
        }
        assert_eq!(loads.load(Ordering::SeqCst), 1);
        let notices = index.take_notices();
        assert_eq!(notices.len(), 1, "{notices:?}");
        assert_eq!(
            notices[0].message,
            format!("BM25 is ranked by fts5: {message}")
        );
        index.upsert(&[&chunk(7, "oak ash")]).unwrap();
        wait_for_memory(&index);
        assert_eq!(loads.load(Ordering::SeqCst), 2);
    }
}
