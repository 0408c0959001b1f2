//! Chunks: storage, filters, and caches (spec/index.md).

mod check;
mod chunk;
mod chunk_row;
mod columns;
mod filter_cache;
mod filter_lru;
mod filters;
mod merge;
mod metadata_index;
mod neighbors;
mod paths;
mod read;
mod row_list;
mod row_set;
mod schema;
mod selection;
mod text_cache;
mod texts;
mod turns;
mod write;

pub use chunk::Chunk;
pub use filters::{Filters, Period, Where};
pub use neighbors::Side;
pub use read::{Page, chunk_of};
pub use row_set::RowSet;
pub use schema::{CHUNKS, FullText};
pub use selection::{GroupBy, RankedRow, Selection, check_limit};
pub use texts::Texts;
pub(crate) use turns::SPEAKER_NAMES;
pub use turns::Turn;

pub(crate) use filter_cache::FilterCache;
pub(crate) use filters::{Field, text_array};
pub(crate) use metadata_index::{check_name, declare, declared};
pub(crate) use neighbors::Neighbors;
pub(crate) use paths::{GroupField, PathCursor, Paths, group_key};
pub(crate) use read::{chunks_of_rows, count_chunks, name_of, row_of, without_chunk};
pub(crate) use schema::{TOKENIZER, retokenize, tokenizer};
pub(crate) use text_cache::TextCache;
pub(crate) use turns::Turns;
pub(crate) use write::{Change, ChunkWriter, StoredChunk, chunks_where};
