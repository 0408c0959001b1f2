//! Making segments: all chunks from FTS5's index, some from their texts, several into one.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, Row};

use super::failure::{Failure, Unfit};
use super::postings::{LONGEST_TOKEN, PositionWriter};
use super::segment::{Builder, Segment};
use super::stored::{self, Entry, Run};
use crate::interrupt::Pace;
use crate::text::tokenizer::TokenizerKind;

/// All chunks, from what FTS5 stored of them. What it says of chunks and what it says of terms
/// must agree, else the file is damaged.
pub(super) fn from_stored(connection: &Connection) -> Result<Segment, Failure> {
    let totals = stored::totals(connection)?;
    let (rows, lengths) = stored::lengths(connection)?;
    let tokens: u64 = lengths.iter().copied().map(u64::from).sum();
    if (rows.len() as u64, tokens) != (totals.rows, totals.tokens) {
        return Err(Unfit::Damaged.into());
    }
    let mut runs = stored::runs(connection)?;
    let mut builder = Builder::new(rows, lengths);
    builder.reserve(tokens);
    let mut live: Vec<usize> = Vec::new();
    for (place, run) in runs.iter_mut().enumerate() {
        if run.advance()? {
            live.push(place);
        }
    }
    let mut entries = Vec::new();
    let mut pace = Pace::default();
    while let Some(term) = live.iter().map(|place| runs[*place].term()).min() {
        let term = term.to_vec();
        let holders = live
            .iter()
            .copied()
            .filter(|place| runs[*place].term() == term);
        let holders: Vec<usize> = holders.collect();
        entries.clear();
        // The oldest first: where chunks were only added, rows are in order then.
        for place in holders.iter().rev() {
            runs[*place].entries(*place, &mut entries)?;
        }
        if !entries.is_sorted_by(|one, next| one.row < next.row) {
            // Not the unstable sort, which knows nothing of what is in order already.
            entries.sort();
            entries.dedup_by_key(|entry| entry.row);
        }
        builder.begin(&term)?;
        push_all(&mut builder, &runs, &entries)?;
        for place in holders {
            if !runs[place].advance()? {
                live.retain(|live| *live != place);
            }
        }
        pace.read(entries.len())?;
    }
    Ok(builder.finish()?)
}

fn push_all(builder: &mut Builder, runs: &[Run], entries: &[Entry]) -> Result<(), Unfit> {
    let mut near = 0;
    for entry in entries {
        // An empty entry says that the row does not hold the term any more.
        if entry.end > entry.start {
            near = builder.chunk(entry.row, near)?;
            builder.push(near, runs[entry.run].positions(entry))?;
        }
    }
    Ok(())
}

/// Those of these rows that there still are, ascending, from their texts.
pub(super) fn from_texts(
    connection: &Connection,
    tokenizer: TokenizerKind,
    rows: &[i64],
) -> Result<Segment, Failure> {
    let mut find = connection.prepare_cached(
        "SELECT path, title, summary, tag_text, content FROM knowledge_chunks WHERE row = ?",
    )?;
    let mut words = Words::default();
    for row in rows {
        let read = |found: &Row<'_>| words.read(*row, tokenizer, found);
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
        for (place, column) in (0..5).zip(0..) {
            let text = found.get_ref(place)?.as_str()?;
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
        let mut builder = Builder::new(self.rows, self.lengths);
        for (token, postings) in self.postings {
            builder.begin(&token)?;
            for Occurrences {
                chunk, positions, ..
            } in postings
            {
                builder.push(chunk, &positions)?;
            }
        }
        builder.finish()
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
    let rows = chunks.iter().map(|(row, ..)| *row).collect();
    let lengths = chunks
        .iter()
        .map(|(_, part, chunk)| parts[*part].lengths()[*chunk as usize]);
    let mut builder = Builder::new(rows, lengths.collect());
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
    Ok(builder.finish()?)
}

/// The lowest of the terms that come next.
fn lowest<'a>(parts: &[&'a Segment], next: &[usize]) -> Option<&'a [u8]> {
    let ahead = parts
        .iter()
        .zip(next)
        .filter(|(part, next)| **next < part.terms());
    ahead.map(|(part, next)| part.text(*next)).min()
}
