//! Memory that runs out, as an allocator reports it. In a separate test program, because every call
//! of the process ends then.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use hedgerow_engine::chunks::Chunk;
use hedgerow_engine::index::Index;
use hedgerow_engine::text::tokenizer::TokenizerKind;
use hedgerow_engine::{ErrorCode, interrupt, memory};

#[test]
fn every_call_ends_and_changes_nothing_until_there_is_enough_again() {
    let index = Index::in_memory(TokenizerKind::Porter).unwrap();
    let chunks: Vec<Chunk> = (0..3000)
        .map(|number| Chunk {
            id: number.to_string(),
            content: "oak elm ash".repeat(20),
            ..Chunk::default()
        })
        .collect();
    let chunks: Vec<&Chunk> = chunks.iter().collect();
    index.upsert(&chunks[..1]).unwrap();
    assert_eq!((memory::is_short(), memory::shortages()), (false, 0));

    memory::note_shortage();
    assert!(interrupt::is_due());
    for error in [
        interrupt::check().unwrap_err(),
        index.upsert(&chunks).unwrap_err(),
    ] {
        assert_eq!(error.code(), ErrorCode::OutOfMemory, "{error}");
        assert_eq!(
            error.message(),
            "memory ran out, and nothing of this call was kept; call again with less at once, or \
             where this process may have more memory"
        );
    }
    assert_eq!((memory::is_short(), memory::shortages()), (true, 1));

    memory::note_enough();
    interrupt::check().unwrap();
    assert_eq!(index.stats().unwrap().chunks, 1);
    index.upsert(&chunks).unwrap();
    assert_eq!(index.stats().unwrap().chunks, 3000);
}
