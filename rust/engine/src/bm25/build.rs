//! Making segments: of some chunks from their texts, and of several segments.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, Row};

use super::failure::{Failure, Unfit};
use super::postings::PositionWriter;
use super::segment::{Builder, Segment};
use crate::interrupt::Pace;
use crate::text::tokenizer::{LONGEST_TOKEN, TokenizerKind};

/// The segment of those of `rows`, ascending, that still exist, from their texts.
pub(super) fn from_texts(
    connection: &Connection,
    tokenizer: TokenizerKind,
    rows: impl IntoIterator<Item = i64>,
) -> Result<Segment, Failure> {
    let mut find = connection.prepare_cached(
        "SELECT path, title, summary, tag_text, content FROM knowledge_chunks WHERE row = ?",
    )?;
    let mut words = Words::default();
    for row in rows {
        let read = |found: &Row<'_>| words.read(row, tokenizer, found);
        find.query_row([row], read).optional()?;
    }
    Ok(words.segment()?)
}

/// What stands in some chunks, word by word.
#[derive(Default)]
struct Words {
    rows: Vec<i64>,
    lengths: Vec<u32>,
    /// For each word the chunks that hold it, and where.
    postings: BTreeMap<Vec<u8>, Vec<Occurrences>>,
}

/// Where a word stands in one chunk.
struct Occurrences {
    chunk: u32,
    positions: Vec<u8>,
    writer: PositionWriter,
}

impl Words {
    /// Read the texts of a row; its columns are those of the full-text index.
    fn read(
        &mut self,
        row: i64,
        tokenizer: TokenizerKind,
        found: &Row<'_>,
    ) -> rusqlite::Result<()> {
        let chunk = u32::try_from(self.rows.len()).unwrap_or(u32::MAX);
        let mut length = 0;
        for (index, column) in (0..5).zip(0..) {
            let text = found.get_ref(index)?.as_str()?;
            let mut offset = 0;
            let visit = |token: &[u8]| {
                self.put(token, chunk, column, offset);
                offset += 1;
                true
            };
            tokenizer
                .tokenize(text, visit)
                .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
            length += offset;
        }
        self.rows.push(row);
        self.lengths.push(length);
        Ok(())
    }

    fn put(&mut self, token: &[u8], chunk: u32, column: u32, offset: u32) {
        let token = &token[..token.len().min(LONGEST_TOKEN)];
        if !self.postings.contains_key(token) {
            self.postings.insert(token.to_vec(), Vec::new());
        }
        let Some(postings) = self.postings.get_mut(token) else {
            return;
        };
        if postings.last().is_none_or(|last| last.chunk != chunk) {
            postings.push(Occurrences {
                chunk,
                positions: Vec::new(),
                writer: PositionWriter::default(),
            });
        }
        if let Some(last) = postings.last_mut() {
            last.writer.put(&mut last.positions, column, offset);
        }
    }

    fn segment(self) -> Result<Segment, Unfit> {
        let mut builder = Builder::new(self.rows.len());
        for (token, postings) in self.postings {
            builder.begin(&token)?;
            for Occurrences {
                chunk, positions, ..
            } in postings
            {
                builder.push(chunk, &positions)?;
            }
        }
        builder.finish(self.rows, self.lengths)
    }
}

/// Several segments in one, without the chunks that `is_deleted` says so of: part, then chunk.
pub(super) fn merge(
    parts: &[&Segment],
    is_deleted: impl Fn(usize, u32) -> bool,
) -> Result<Segment, Failure> {
    let mut chunks: Vec<(i64, usize, u32)> = Vec::new();
    for (part, segment) in parts.iter().enumerate() {
        let alive = (0..).zip(0..segment.len()).map(|(chunk, _)| chunk);
        let alive = alive.filter(|chunk| !is_deleted(part, *chunk));
        chunks.extend(alive.map(|chunk| (segment.row(chunk), part, chunk)));
    }
    chunks.sort_unstable();
    // What each chunk is called in the whole.
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
    let mut builder = Builder::new(rows.len());
    let mut next = vec![0; parts.len()];
    let mut postings: Vec<(u32, usize, usize)> = Vec::new();
    let mut pace = Pace::default();
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
