//! How much memory ranking takes, before it does.

use rusqlite::Connection;

use super::load::MAX_THREADS;
use super::load_error::LoadError;
use super::stored;

/// The most memory that `auto` takes.
const AUTO_BYTES: u64 = 1 << 30;
/// Approximate bytes of a token, and of a chunk.
const TOKEN_BYTES: u64 = 7;
const CHUNK_BYTES: u64 = 64;
/// Bytes of a token while a segment is built, and of a chunk, which every thread counts separately.
const BUILT_TOKEN_BYTES: u64 = 9;
const BUILT_CHUNK_BYTES: u64 = CHUNK_BYTES + 4 * (MAX_THREADS as u64 + 1);

/// The bytes of a snapshot, and the bytes needed while it is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Estimate {
    pub kept: u64,
    pub building: u64,
}

impl Estimate {
    pub fn read(connection: &Connection) -> Result<Self, LoadError> {
        let totals = stored::totals(connection)?;
        Ok(Self::of(totals.rows, totals.tokens))
    }

    /// Whether `auto` may take that.
    pub fn is_small_enough(&self) -> bool {
        self.building <= AUTO_BYTES
    }

    /// Return the estimate for these numbers of chunks and tokens. The tables of FTS5 are read piece by
    /// piece, and do not count.
    fn of(rows: u64, tokens: u64) -> Self {
        let of = |token_bytes: u64, chunk_bytes: u64| {
            let chunks = rows.saturating_mul(chunk_bytes);
            tokens.saturating_mul(token_bytes).saturating_add(chunks)
        };
        Self {
            kept: of(TOKEN_BYTES, CHUNK_BYTES),
            building: of(BUILT_TOKEN_BYTES, BUILT_CHUNK_BYTES),
        }
    }
}

/// A number of bytes as people write it.
pub(super) fn size(bytes: u64) -> String {
    if bytes < AUTO_BYTES {
        return format!("{} MB", bytes.div_ceil(1_000_000));
    }
    let tenths = bytes % AUTO_BYTES * 10 / AUTO_BYTES;
    format!("{}.{tenths} GiB", bytes / AUTO_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_for_people() {
        for (bytes, expected) in [
            (0, "0 MB"),
            (1, "1 MB"),
            (80_000_000, "80 MB"),
            (AUTO_BYTES - 1, "1074 MB"),
            (AUTO_BYTES, "1.0 GiB"),
            (AUTO_BYTES * 21 / 10 + 1, "2.1 GiB"),
            (u64::MAX, "17179869183.9 GiB"),
        ] {
            assert_eq!(size(bytes), expected);
        }
    }

    #[test]
    fn building_counts_what_is_reserved() {
        let estimate = Estimate::of(100_000, 10_000_000);
        assert_eq!(estimate.kept, 76_400_000);
        assert_eq!(estimate.building, 100_000_000);
        assert!(estimate.is_small_enough());
        // The finished snapshot would be small enough.
        let large = Estimate::of(1_000_000, 120_000_000);
        assert!(large.kept < AUTO_BYTES && !large.is_small_enough());
        let most = Estimate::of(u64::MAX, 1);
        assert_eq!((most.kept, most.building), (u64::MAX, u64::MAX));
    }
}
