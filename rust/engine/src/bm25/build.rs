//! Making segments: of some chunks from their texts, and of several segments.

use rusqlite::{Connection, OptionalExtension, Row};

use super::load_error::{LoadError, NotLoadable};
use super::postings::PositionWriter;
use super::segment::{Builder, Segment};
use super::word_numbers::WordNumbers;
use crate::interrupt::CancelTicker;
use crate::text::tokenizer::{LONGEST_TOKEN, TokenizerKind};
use crate::text::words::{Mode, Token};

/// The segment of those of `rows`, ascending, that still exist, from their texts.
pub(super) fn from_texts(
    connection: &Connection,
    tokenizer: TokenizerKind,
    rows: impl IntoIterator<Item = i64>,
) -> Result<Segment, LoadError> {
    let mut find = connection.prepare_cached(
        "SELECT path, title, summary, tag_text, content FROM knowledge_chunks WHERE row = ?",
    )?;
    let mut words = ChunkWords {
        tokenizer,
        ..ChunkWords::default()
    };
    for row in rows {
        let read = |found: &Row<'_>| words.read(row, found);
        find.query_row([row], read).optional()?;
    }
    Ok(words.segment()?)
}

/// The words of some chunks, in the order of the texts.
#[derive(Default)]
struct ChunkWords {
    tokenizer: TokenizerKind,
    rows: Vec<i64>,
    lengths: Vec<u32>,
    numbers: WordNumbers,
    occurrences: Vec<Occurrence>,
}

/// A word in a text.
#[derive(Clone, Copy, Default)]
struct Occurrence {
    /// The number of the word.
    word: u32,
    chunk: u32,
    column: u32,
    offset: u32,
}

impl ChunkWords {
    /// Read the texts of a row; its columns are those of the full-text index.
    fn read(&mut self, row: i64, found: &Row<'_>) -> rusqlite::Result<()> {
        let tokenizer = self.tokenizer;
        let chunk = u32::try_from(self.rows.len()).unwrap_or(u32::MAX);
        let mut length = 0;
        for (index, column) in (0..5).zip(0..) {
            let text = found.get_ref(index)?.as_str()?;
            let mut count = 0_u32;
            let visit = |token: Token<'_>| {
                count += u32::from(!token.colocated);
                let occurrence = Occurrence {
                    word: self.numbers.number(cut(token.text)),
                    chunk,
                    column,
                    offset: count.saturating_sub(1),
                };
                self.occurrences.push(occurrence);
                true
            };
            tokenizer
                .tokenize(text, Mode::Document, visit)
                .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
            length += count;
        }
        self.rows.push(row);
        self.lengths.push(length);
        Ok(())
    }

    fn segment(self) -> Result<Segment, NotLoadable> {
        let by_word = grouped_by_word(&self.occurrences, self.numbers.len());
        let mut builder = Builder::new(self.rows.len(), self.tokenizer);
        let mut positions = Vec::new();
        for word in self.numbers.sorted() {
            word.with_bytes(|bytes| builder.begin(bytes))?;
            let of_word = by_word.of(word.number);
            for of_chunk in of_word.chunk_by(|one, other| one.chunk == other.chunk) {
                let mut writer = PositionWriter::default();
                positions.clear();
                for one in of_chunk {
                    writer.put(&mut positions, one.column, one.offset);
                }
                builder.push(of_chunk[0].chunk, &positions)?;
            }
        }
        builder.finish(self.rows, self.lengths)
    }
}

/// A token as FTS5 stores it.
fn cut(token: &[u8]) -> &[u8] {
    &token[..token.len().min(LONGEST_TOKEN)]
}

/// Occurrences by the numbers of their words, those of a word in the order of the texts.
struct ByWord {
    occurrences: Vec<Occurrence>,
    /// The end of each word's occurrences.
    ends: Vec<usize>,
}

impl ByWord {
    fn of(&self, word: u32) -> &[Occurrence] {
        let word = word as usize;
        let start = word.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.occurrences[start..self.ends[word]]
    }
}

/// Sort occurrences by counting, which takes time in proportion to their number.
fn grouped_by_word(occurrences: &[Occurrence], words: usize) -> ByWord {
    let mut ends = vec![0; words];
    for one in occurrences {
        ends[one.word as usize] += 1;
    }
    let mut start = 0;
    for end in &mut ends {
        start += std::mem::replace(end, start);
    }
    let mut sorted = vec![Occurrence::default(); occurrences.len()];
    for one in occurrences {
        // The start of the rest of a word; after the last one, the end.
        let next = &mut ends[one.word as usize];
        sorted[*next] = *one;
        *next += 1;
    }
    ByWord {
        occurrences: sorted,
        ends,
    }
}

/// Several segments in one, without the chunks that `is_deleted` says so of: part, then chunk.
pub(super) fn merge(
    parts: &[&Segment],
    is_deleted: impl Fn(usize, u32) -> bool,
) -> Result<Segment, LoadError> {
    let mut chunks: Vec<(i64, usize, u32)> = Vec::new();
    for (part, segment) in parts.iter().enumerate() {
        let alive = (0..).zip(0..segment.len()).map(|(chunk, _)| chunk);
        let alive = alive.filter(|chunk| !is_deleted(part, *chunk));
        chunks.extend(alive.map(|chunk| (segment.row(chunk), part, chunk)));
    }
    chunks.sort_unstable();
    // The number of each chunk in the merged segment.
    let mut renamed: Vec<Vec<Option<u32>>> = parts
        .iter()
        .map(|segment| vec![None; segment.len()])
        .collect();
    for ((_, part, chunk), name) in chunks.iter().zip(0..) {
        renamed[*part][*chunk as usize] = Some(name);
    }
    let rows: Vec<i64> = chunks.iter().map(|(row, ..)| *row).collect();
    let lengths = chunks
        .iter()
        .map(|(_, part, chunk)| parts[*part].lengths()[*chunk as usize]);
    let lengths = lengths.collect();
    let tokenizer = parts.first().map(|part| part.tokenizer());
    let mut builder = Builder::new(rows.len(), tokenizer.unwrap_or_default());
    let mut next = vec![0; parts.len()];
    let mut postings: Vec<(u32, usize, usize)> = Vec::new();
    let mut pace = CancelTicker::default();
    while let Some(term) = lowest(parts, &next) {
        postings.clear();
        for (part, segment) in parts.iter().enumerate() {
            if next[part] >= segment.terms() || segment.text(next[part]) != term {
                continue;
            }
            for posting in segment.postings(next[part]) {
                let chunk = segment.chunks()[posting];
                let name = renamed[part][chunk as usize];
                postings.extend(name.map(|name| (name, part, posting)));
            }
            next[part] += 1;
        }
        postings.sort_unstable();
        builder.begin(term)?;
        for (chunk, part, posting) in &postings {
            builder.push(*chunk, parts[*part].positions(*posting))?;
        }
        pace.read(postings.len())?;
    }
    Ok(builder.finish(rows, lengths)?)
}

/// The lowest of the terms that come next.
fn lowest<'a>(parts: &[&'a Segment], next: &[usize]) -> Option<&'a [u8]> {
    let ahead = parts
        .iter()
        .zip(next)
        .filter(|(part, next)| **next < part.terms());
    ahead.map(|(part, next)| part.text(*next)).min()
}
