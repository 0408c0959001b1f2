//! A segment of FTS5's index, read a few pages at a time.

use std::collections::VecDeque;
use std::ops::Range;

use rusqlite::Connection;

use super::load_error::{LoadError, NotLoadable};
use super::postings::take_number;

/// The bits of a page number that are its offset in the run; the bits above are the run.
const PAGE_BITS: u32 = 37;
/// The first byte of every term of the main index; prefix indexes use other bytes.
pub(super) const MAIN: u8 = b'0';
/// Bytes of the header of a page: the offsets of its first row and of its footer.
const HEADER: usize = 4;
/// Pages per read.
const READ_PAGES: i64 = 64;

/// A run's position among the pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LeafRange {
    pub run: i64,
    pub first: i64,
    pub last: i64,
}

/// A segment, and the position in it. Bytes before the current term are dropped.
#[derive(Debug)]
pub(super) struct Fts5Segment {
    /// The pages still to be read.
    pages: LeafRange,
    /// The concatenated content of the pages.
    bytes: Vec<u8>,
    /// The offset of each of the next terms, and whether it is the first of its page. The first is stored
    /// whole; the others without the prefix that they share with the previous term.
    terms: VecDeque<(usize, bool)>,
    /// Offsets of rows stored whole although they are not the first of their term. All other rows are
    /// stored as differences.
    rows: VecDeque<usize>,
    term: Vec<u8>,
    /// The range of the entries of the term in `bytes`.
    entries: Range<usize>,
    is_at_end: bool,
}

impl Fts5Segment {
    pub fn new(pages: LeafRange) -> Self {
        Self {
            pages,
            bytes: Vec::new(),
            terms: VecDeque::new(),
            rows: VecDeque::new(),
            term: Vec::new(),
            entries: 0..0,
            is_at_end: false,
        }
    }

    /// The term read last.
    pub fn term(&self) -> &[u8] {
        &self.term
    }

    /// Whether all terms were read.
    pub fn is_at_end(&self) -> bool {
        self.is_at_end
    }

    /// Append the entries of the term to `bytes` and the offsets of rows stored whole to `rows`. Return
    /// the two ranges that were appended.
    pub fn copy_list(
        &mut self,
        bytes: &mut Vec<u8>,
        rows: &mut Vec<usize>,
    ) -> (Range<usize>, Range<usize>) {
        let (start, first) = (bytes.len(), rows.len());
        bytes.extend_from_slice(&self.bytes[self.entries.clone()]);
        while let Some(row) = self.rows.front().filter(|row| **row < self.entries.end) {
            if let Some(within) = row.checked_sub(self.entries.start) {
                rows.push(start + within);
            }
            self.rows.pop_front();
        }
        (start..bytes.len(), first..rows.len())
    }

    /// Read the next term; false at the end.
    pub fn advance(&mut self, connection: &Connection) -> Result<bool, LoadError> {
        // A term ends where the next one begins.
        while self.terms.len() < 2 && self.pages.first <= self.pages.last {
            self.read_pages(connection)?;
        }
        let Some((start, first)) = self.terms.pop_front() else {
            self.is_at_end = true;
            return Ok(false);
        };
        let end = self.terms.front().map_or(self.bytes.len(), |(end, _)| *end);
        let mut rest = self.bytes.get(start..end).ok_or(NotLoadable::Damaged)?;
        let mut next = || {
            let number = take_number(&mut rest).ok_or(NotLoadable::Damaged)?;
            usize::try_from(number).map_err(|_| NotLoadable::Damaged)
        };
        let kept = if first { 0 } else { next()? };
        let new = next()?;
        let added = rest.get(..new).ok_or(NotLoadable::Damaged)?;
        // The byte of the main index is not part of the term, but counts for the shared prefix.
        let (kept, added) = match added.split_first() {
            Some((&MAIN, added)) if kept == 0 => (0, added),
            Some(_) if kept > 0 => (kept - 1, added),
            _ => return Err(NotLoadable::Damaged.into()),
        };
        // A search needs ascending terms, so others are damage.
        if self.term.get(kept..).is_none_or(|before| added <= before) {
            return Err(NotLoadable::Damaged.into());
        }
        self.term.truncate(kept);
        self.term.extend_from_slice(added);
        self.entries = end - (rest.len() - new)..end;
        Ok(true)
    }

    fn read_pages(&mut self, connection: &Connection) -> Result<(), LoadError> {
        self.forget();
        let mut statement = connection.prepare_cached(
            "SELECT id, block FROM knowledge_fts_data WHERE id BETWEEN ? AND ? ORDER BY id",
        )?;
        let id = |page: i64| (self.pages.run << PAGE_BITS) + page;
        let last = self.pages.last.min(self.pages.first + READ_PAGES - 1);
        let mut found = statement.query([id(self.pages.first), id(last)])?;
        let (mut expected, end) = (id(self.pages.first), id(last) + 1);
        while let Some(found) = found.next()? {
            if found.get::<_, i64>(0)? != expected {
                return Err(NotLoadable::Damaged.into());
            }
            let page = found
                .get_ref(1)?
                .as_blob()
                .map_err(|_| NotLoadable::Damaged)?;
            self.add_page(page).ok_or(NotLoadable::Damaged)?;
            expected += 1;
        }
        if expected != end {
            return Err(NotLoadable::Damaged.into());
        }
        self.pages.first = last + 1;
        Ok(())
    }

    /// Drop the bytes before the next term.
    fn forget(&mut self) {
        let done = self
            .terms
            .front()
            .map_or(self.bytes.len(), |(start, _)| *start);
        self.bytes.drain(..done);
        for (start, _) in &mut self.terms {
            *start -= done;
        }
        while self.rows.front().is_some_and(|row| *row < done) {
            self.rows.pop_front();
        }
        for row in &mut self.rows {
            *row -= done;
        }
    }

    /// Add a page. Its parts in order: the offsets of the first row stored whole and of the footer, the rest
    /// of the entries of the previous term, terms with their entries, and the footer with the offsets of
    /// terms.
    fn add_page(&mut self, page: &[u8]) -> Option<()> {
        let two = |at: usize| Some(u16::from_be_bytes([*page.get(at)?, *page.get(at + 1)?]).into());
        let (first_row, end): (usize, usize) = (two(0)?, two(2)?);
        let content = page.get(HEADER..end)?;
        let mut footer = page.get(end..)?;
        let start = self.bytes.len();
        // Offsets in a page count its header.
        let offset = |at: usize| (at >= HEADER && at <= end).then(|| start + at - HEADER);
        if first_row > 0 {
            self.rows.push_back(offset(first_row)?);
        }
        let (mut at, mut first) = (0, true);
        while !footer.is_empty() {
            at = usize::try_from(take_number(&mut footer)?)
                .ok()?
                .checked_add(at)?;
            self.terms.push_back((offset(at)?, first));
            first = false;
        }
        self.bytes.extend_from_slice(content);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_outside_a_page_are_damage() {
        let add = |page: &[u8]| {
            let mut run = Fts5Segment::new(LeafRange {
                run: 1,
                first: 1,
                last: 1,
            });
            run.add_page(page).map(|()| run.terms)
        };
        // The header, five bytes of content, and where terms begin.
        let page = |footer: &[u8]| [&[0, 0, 0, 9, 7, 7, 7, 7, 7], footer].concat();
        assert_eq!(
            add(&page(&[4, 2])),
            Some([(0, true), (2, false)].into_iter().collect())
        );
        assert_eq!(add(&page(&[3])), None);
        assert_eq!(add(&page(&[10])), None);
        assert_eq!(add(&page(&[&[4][..], &[0xff; 9]].concat())), None);
        assert_eq!(add(&[0, 0, 0, 99, 7]), None);
        assert_eq!(add(&[0, 9, 0, 4]), None);
        assert_eq!(add(&[0, 0]), None);
    }
}
