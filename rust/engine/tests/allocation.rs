//! Allocations of SQLite, in a separate process: another test could use SQLite first.
#![allow(
    unsafe_code,
    clippy::unwrap_used,
    reason = "SQLite counts in C; a test fails by panicking"
)]

use hedgerow_engine::chunks::Chunk;
use hedgerow_engine::index::Index;
use hedgerow_engine::text::tokenizer::TokenizerKind;
use rusqlite::ffi;

#[test]
fn no_mutex_is_around_what_sqlite_allocates() {
    let index = Index::in_memory(TokenizerKind::Porter).unwrap();
    let chunk = Chunk {
        id: "a".to_owned(),
        content: "crème brûlée".to_owned(),
        ..Chunk::default()
    };
    index.upsert(&[&chunk]).unwrap();
    assert!(TokenizerKind::Trigram.finds_token("東京都").unwrap());
    let (mut now, mut most) = (-1, -1);
    // SAFETY: both pointers are valid. SQLite counts allocations under the mutex that it takes for
    // them, and where it takes none it counts none.
    let code = unsafe {
        ffi::sqlite3_status(
            ffi::SQLITE_STATUS_MALLOC_COUNT,
            &raw mut now,
            &raw mut most,
            0,
        )
    };
    assert_eq!((code, now, most), (ffi::SQLITE_OK, 0, 0));
}
