//! Segments counted after writes of every kind, with and without the thread.

use std::thread;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use rusqlite::{Transaction, TransactionBehavior};

use super::*;
use crate::chunks::{Chunk, ChunkWriter};
use crate::index::Index;
use crate::text::tokenizer::TokenizerKind;

/// Words of which each text has some, so that most terms are in most segments.
const WORDS: [&str; 8] = ["oak", "elm", "ash", "fir", "yew", "bay", "box", "may"];

fn chunk(number: usize, words: usize) -> Chunk {
    let text = (0..words).map(|n| {
        let word = WORDS[(number * 7 + n * n) % WORDS.len()];
        format!("{word}{} ", (number * 31 + n) % 997)
    });
    Chunk {
        id: number.to_string(),
        content: text.collect(),
        ..Chunk::default()
    }
}

fn structure(index: &Index) -> Structure {
    index.database().read(Structure::read).unwrap()
}

/// Write without the thread, and with the merges of writers if `merges`.
fn write(index: &Index, chunks: &[Chunk], merges: bool) {
    let write = |connection: &Connection| -> rusqlite::Result<()> {
        let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
        let mut writer = ChunkWriter::prepare(&transaction)?;
        for chunk in chunks {
            writer.put(chunk)?;
        }
        drop(writer);
        if merges {
            (MAINTENANCE.after_write)(&transaction)?;
        }
        transaction.commit()
    };
    index.database().on_writer(write).unwrap();
}

/// FTS5's check, which reads all segments.
fn check(index: &Index) {
    let check = "INSERT INTO knowledge_fts (knowledge_fts) VALUES ('integrity-check')";
    let run = |connection: &Connection| connection.execute_batch(check);
    index.database().write(run).unwrap();
}

#[test]
fn a_structure_lists_its_levels() {
    // Segments 3 and 4 with pages 1 to 2 and 1; segment 1, merged completely, and 2 with pages 1 to 5.
    let record = [
        0, 0, 0, 9, 2, 4, 7, 0, 2, 3, 1, 2, 4, 1, 1, 1, 2, 1, 0, 0, 2, 1, 5,
    ];
    let level = |segments, merging, pages, newest| SegmentLevel {
        segments,
        merging,
        pages,
        newest,
    };
    let expected = vec![level(2, 0, 3, 1), level(2, 1, 5, 5)];
    assert_eq!(levels(&record), Some(expected));
    let large = [0, 0, 0, 9, 1, 1, 0, 0, 1, 1, 1, 0x81, 0x80, 0];
    assert_eq!(levels(&large), Some(vec![level(1, 0, 1 << 14, 1 << 14)]));
    for damaged in [
        &record[..record.len() - 1],
        &[record.as_slice(), &[0]].concat(),
        &[],
        &[0, 0, 0, 9, 0xff, 0xff, 0xff, 0xff, 0xff],
        &[0, 0, 0, 9, 1, 1, 0, 0, 1, 1, 5, 3],
    ] {
        assert_eq!(levels(damaged), None, "{damaged:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// The level is FTS5's choice: it has a number exactly if a merge changes something.
    #[test]
    fn the_next_level_is_the_one_that_fts5_merges(
        steps in prop::collection::vec((1..40_usize, 0..6_usize, 1..9_usize), 1..60),
    ) {
        let index = Index::in_memory(TokenizerKind::Porter).unwrap();
        for (next, (words, merges, pages)) in steps.into_iter().enumerate() {
            // Many small segments, and now and then a large one.
            let words = if words > 36 { words * 500 } else { words };
            write(&index, &[chunk(next, words)], false);
            for _ in 0..merges {
                let before = structure(&index);
                let step = |connection: &Connection| merge(connection, pages);
                index.database().on_writer(step).unwrap();
                let after = structure(&index);
                prop_assert_eq!(before != after, before.next_level().is_some(), "{:?}", before);
                if let Some(level) = before.next_level() {
                    let left = |level: &SegmentLevel| level.segments - level.merging;
                    let changed = (before.0.iter().zip(&after.0))
                        .position(|(before, after)| left(before) != left(after) || before.pages != after.pages);
                    prop_assert_eq!(changed, Some(level), "{:?} {:?}", before, after);
                }
            }
        }
        check(&index);
    }
}

#[test]
fn single_writes_keep_the_segments_few_without_the_thread() {
    let index = Index::in_memory(TokenizerKind::Porter).unwrap();
    let mut most = 0;
    for number in 0..4000 {
        write(&index, &[chunk(number, 20)], true);
        most = most.max(structure(&index).segments());
    }
    assert!((MANY_SEGMENTS..2 * MANY_SEGMENTS).contains(&most), "{most}");
    check(&index);
}

#[test]
fn a_handle_for_each_write_keeps_the_segments_few() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index.db");
    let mut most = 0;
    for number in 0..300 {
        let index = Index::open(&path, TokenizerKind::Porter, false).unwrap();
        index.upsert(&[&chunk(number, 20)]).unwrap();
        most = most.max(structure(&index).segments());
    }
    assert!(most < 2 * MANY_SEGMENTS, "{most}");
}

#[test]
fn an_incomplete_merge_of_large_segments_holds_up_few_small_ones() {
    let index = Index::in_memory(TokenizerKind::Porter).unwrap();
    // Not divided, as a transaction of another build left them.
    for number in 0..FAN_OUT {
        write(&index, &[chunk(number, 60_000)], false);
    }
    let large = structure(&index);
    assert_eq!(large.segments(), FAN_OUT);
    let (mut most, mut number) = (0, FAN_OUT);
    while number < 3000 {
        write(&index, &[chunk(number, 20)], true);
        number += 1;
        most = most.max(structure(&index).segments());
    }
    // The root of 4 P, and those of every index.
    let pages = large.0[0].pages;
    let bound = 2 * MANY_SEGMENTS + (4 * pages).isqrt();
    assert!(most <= bound, "{most} segments, {pages} pages");
    assert!(structure(&index).segments() < 2 * MANY_SEGMENTS);
    check(&index);
}

#[test]
fn bulk_writes_merge_the_segments_of_bulk_writes() {
    let index = Index::in_memory(TokenizerKind::Porter).unwrap();
    let mut next = 0;
    let mut bulk = |index: &Index, count: usize| {
        let chunks: Vec<Chunk> = (next..next + count).map(|n| chunk(n, 150)).collect();
        next += count;
        write(index, &chunks, true);
    };
    for number in 1..=40 {
        bulk(&index, 200);
        let structure = structure(&index);
        let newest = structure.0[0];
        assert_eq!(newest.segments, number % FAN_OUT, "{structure:?}");
        assert_eq!(newest.merging, 0, "{structure:?}");
        assert!(structure.segments() < 2 * FAN_OUT, "{structure:?}");
    }
    for _ in 1..FAN_OUT {
        bulk(&index, 200);
    }
    // A single write is not the one that pays for them.
    let before = structure(&index);
    assert_eq!(before.0[0].segments, FAN_OUT - 1);
    write(&index, &[chunk(1_000_000, 20)], true);
    let after = structure(&index);
    assert_eq!(after.0[0].segments, FAN_OUT);
    assert_eq!(after.0[1..], before.0[1..]);
    bulk(&index, 200);
    assert_eq!(structure(&index).0[0].segments, 0);
    let ids: Vec<String> = (1000..3000).map(|id: usize| id.to_string()).collect();
    assert_eq!(index.delete(&ids).unwrap(), 2000);
    check(&index);
}

#[test]
fn the_thread_merges_what_writes_leave() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index.db");
    for index in [
        Index::open(&path, TokenizerKind::Porter, false).unwrap(),
        Index::in_memory(TokenizerKind::Porter).unwrap(),
    ] {
        for number in 0..200 {
            index.upsert(&[&chunk(number, 20)]).unwrap();
        }
        let start = Instant::now();
        while structure(&index).segments() > 3 * FAN_OUT {
            assert!(start.elapsed() < Duration::from_secs(60));
            thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(index.take_notices(), []);
        assert_eq!(index.check().unwrap(), [] as [&str; 0]);
    }
}

#[test]
fn optimizing_ends_merges_that_are_incomplete() {
    let index = Index::in_memory(TokenizerKind::Porter).unwrap();
    for number in 0..3 * FAN_OUT {
        write(&index, &[chunk(number, 2000)], false);
    }
    let step = |connection: &Connection| merge(connection, 1);
    index.database().on_writer(step).unwrap();
    assert!(structure(&index).0[0].merging > 0);
    index.optimize().unwrap();
    assert_eq!(structure(&index).segments(), 1);
    index.vacuum().unwrap();
    assert_eq!(index.check().unwrap(), [] as [&str; 0]);
}

#[test]
fn a_damaged_structure_is_left_to_fts5() {
    let index = Index::in_memory(TokenizerKind::Porter).unwrap();
    write(&index, &[chunk(0, 20)], true);
    let damage = "UPDATE knowledge_fts_data SET block = x'00' WHERE id = 10";
    index
        .database()
        .on_writer(|connection| {
            connection.execute_batch(damage)?;
            assert_eq!(Structure::read(connection)?, Structure(Vec::new()));
            assert!(!(MAINTENANCE.after_write)(connection)?);
            Ok::<_, rusqlite::Error>(())
        })
        .unwrap();
}
