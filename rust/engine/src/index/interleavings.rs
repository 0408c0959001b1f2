//! A whole index in memory, in many interleavings of its threads: `make interleavings`.
//!
//! In memory readers and the writer take turns outside SQLite, so that no thread waits inside it.

use crate::bm25::Ranking;
use crate::chunks::{Chunk, Filters};
use crate::error::ErrorCode;
use crate::index::Index;
use crate::query::{MatchOptions, parse};
use crate::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use crate::sync::explore::explore;
use crate::sync::{Arc, thread};
use crate::text::tokenizer::TokenizerKind;

fn index(ranking: Ranking) -> Arc<Index> {
    Arc::new(Index::in_memory_with(TokenizerKind::Porter, ranking).unwrap())
}

fn write(index: &Index, number: usize) -> crate::Result<()> {
    let chunk = Chunk {
        id: number.to_string(),
        content: format!("oak number{number}"),
        ..Chunk::default()
    };
    index.upsert(&[&chunk]).map(drop)
}

fn found(index: &Index) -> crate::Result<usize> {
    let query = parse("oak").unwrap();
    let found = index.search_bm25(&query, 10, &Filters::default(), &MatchOptions::default());
    found.map(|hits| hits.len())
}

/// Two threads search while one writes. A search finds every chunk of the writes before it.
fn searches_beside_writes(ranking: Ranking) {
    let (index, written) = (index(ranking), Arc::new(AtomicUsize::new(0)));
    let search = |_| {
        let (index, written) = (Arc::clone(&index), Arc::clone(&written));
        thread::spawn(move || {
            let mut seen = 0;
            for _ in 0..2 {
                let least = written.load(SeqCst).max(seen);
                seen = found(&index).unwrap();
                assert!(seen >= least, "{seen} chunks after {least}");
            }
        })
    };
    let mut threads: Vec<_> = (0..2).map(search).collect();
    let writing = Arc::clone(&index);
    threads.push(thread::spawn(move || {
        for number in 1..=3 {
            write(&writing, number).unwrap();
            written.store(number, SeqCst);
        }
    }));
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(found(&index).unwrap(), 3);
    index.close().unwrap();
}

#[test]
fn searches_in_memory_find_every_chunk_of_the_writes_before_them() {
    explore(|| searches_beside_writes(Ranking::Memory));
}

#[test]
fn searches_of_fts5_find_every_chunk_of_the_writes_before_them() {
    explore(|| searches_beside_writes(Ranking::Auto));
}

#[test]
fn an_index_closes_while_threads_search_and_write() {
    explore(|| {
        let index = index(Ranking::Memory);
        write(&index, 0).unwrap();
        let (searching, writing) = (Arc::clone(&index), Arc::clone(&index));
        let check = |result: crate::Result<()>| {
            if let Err(error) = result {
                assert_eq!(error.code(), ErrorCode::IndexClosed, "{error}");
            }
        };
        let threads = [
            thread::spawn(move || (0..3).for_each(|_| check(found(&searching).map(drop)))),
            thread::spawn(move || (1..4).for_each(|number| check(write(&writing, number)))),
        ];
        index.close().unwrap();
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(found(&index).unwrap_err().code(), ErrorCode::IndexClosed);
    });
}
