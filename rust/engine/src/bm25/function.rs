//! FTS5's `bm25`, reimplemented as a function that FTS5 calls: `hedgerow_bm25`.
//!
//! FTS5's own takes time that grows with the square of the number of phrases, and does not know that phrases
//! are repeated. Also, both ways of ranking then share one compiled formula, so that they agree on every
//! processor. SQLite hands out its interface as C function pointers
//! (<https://sqlite.org/fts5.html#custom_auxiliary_functions>).
#![allow(unsafe_code)] // FTS5 is called through pointers

use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use rusqlite::{Connection, ffi};

use super::counts::{Counts, term_score};
use super::phrase::VARIANT_WEIGHT;
use super::plan::VARIANT;
use super::postings::WEIGHTS;
use crate::interrupt;
use crate::query::Matching;
use crate::text::tokenizer::fts5_api;

/// From this number of phrases on, a list says which phrases each row may have, instead of asking FTS5
/// for every phrase in every row, which takes time with the square of the query's length. Below it, to
/// ask is faster.
const LISTED_PHRASES: usize = if cfg!(test) { 3 } else { 24 };

/// The most entries of that list, of 16 bytes each. If the phrases occur more often, FTS5 is asked.
const MAX_LISTED: usize = if cfg!(test) { 200 } else { 1 << 21 };

/// Give a connection the function. It is called with the table, the phrases to be added up (their numbers
/// in the expression, in order, four bytes each, little-endian, with [`VARIANT`]), and whether lengths
/// count as in extended matching.
pub(crate) fn register(connection: &Connection) -> rusqlite::Result<()> {
    // SAFETY: the interface is used while the connection is open, and the function needs no data.
    let code = unsafe {
        let api = fts5_api(connection).map_err(|_| failure(ffi::SQLITE_ERROR))?;
        let create = (*api)
            .xCreateFunction
            .ok_or_else(|| failure(ffi::SQLITE_ERROR))?;
        let name = c"hedgerow_bm25".as_ptr();
        create(api, name, ptr::null_mut(), Some(hedgerow_bm25), None)
    };
    match code {
        ffi::SQLITE_OK => Ok(()),
        code => Err(failure(code)),
    }
}

fn failure(code: c_int) -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(ffi::Error::new(code), None)
}

/// Called by FTS5 for each row.
///
/// # Safety
/// The pointers are those that FTS5 passes, and are valid for this call.
unsafe extern "C" fn hedgerow_bm25(
    api: *const ffi::Fts5ExtensionApi,
    fts: *mut ffi::Fts5Context,
    context: *mut ffi::sqlite3_context,
    count: c_int,
    values: *mut *mut ffi::sqlite3_value,
) {
    // SAFETY: as of the caller.
    let score = guarded(|| unsafe {
        let row = Row { api: &*api, fts };
        row.query(count, values).and_then(|query| row.score(query))
    });
    // SAFETY: as of the caller.
    unsafe {
        match score {
            Ok(score) => ffi::sqlite3_result_double(context, -score),
            Err(code) => ffi::sqlite3_result_error_code(context, code),
        }
    }
}

/// The result of a function that C called: a panic must not unwind through SQLite, and is an error.
fn guarded<T>(call: impl FnOnce() -> Result<T, c_int>) -> Result<T, c_int> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or(Err(ffi::SQLITE_INTERNAL))
}

/// The state shared by all rows of a query.
struct FunctionState {
    counts: Counts,
    /// How lengths count.
    matching: Matching,
    /// The phrases to be added up, in order, and the inverse document frequency of each by its
    /// number.
    order: Vec<u32>,
    idfs: Vec<f64>,
    /// The gain of each phrase in the current row.
    gains: Vec<f64>,
    /// The phrases that each row may have, if listed.
    listed: Option<ListedPhrases>,
}

/// The phrases of each row, independent of the expression.
struct ListedPhrases {
    /// A row and the number of a phrase, ascending.
    entries: Vec<(i64, u32)>,
    /// The positions of each phrase in the order of additions.
    positions: Vec<Vec<usize>>,
    /// The positions of the row at hand.
    of_row: Vec<usize>,
}

impl ListedPhrases {
    fn new(mut entries: Vec<(i64, u32)>, order: &[u32], phrases: usize) -> Self {
        entries.sort_unstable();
        let mut positions = vec![Vec::new(); phrases];
        for (position, phrase) in order.iter().enumerate() {
            positions[*phrase as usize].push(position);
        }
        Self {
            entries,
            positions,
            of_row: Vec::new(),
        }
    }

    /// The phrases that a row may have, ascending.
    fn of(&self, row: i64) -> impl Iterator<Item = u32> {
        let start = self.entries.partition_point(|(at, _)| *at < row);
        let found = self.entries[start..].iter();
        let found = found.take_while(move |(at, _)| *at == row);
        found.map(|(_, phrase)| *phrase)
    }
}

/// The rows of the phrase that is counted, and those of the phrases before it.
struct CountedRows {
    count: u64,
    phrase: u32,
    /// None if the rows are not listed.
    entries: Option<Vec<(i64, u32)>>,
}

/// FTS5 at one row.
struct Row<'a> {
    api: &'a ffi::Fts5ExtensionApi,
    fts: *mut ffi::Fts5Context,
}

/// Call a function of FTS5's interface that answers with a code.
macro_rules! ask {
    ($row:expr, $function:ident $(, $argument:expr)*) => {
        match $row.api.$function.map(|function| function($row.fts $(, $argument)*)) {
            Some(ffi::SQLITE_OK) => Ok(()),
            Some(code) => Err(code),
            None => Err(ffi::SQLITE_ERROR),
        }
    };
}

impl Row<'_> {
    /// Return the state that the first row of the query stored, or store it now.
    ///
    /// # Safety
    /// FTS5 is at this row, and `values` are the `count` arguments of the function.
    #[allow(
        clippy::mut_from_ref,
        reason = "FTS5 keeps it, and calls for one row at a time"
    )]
    unsafe fn query(
        &self,
        count: c_int,
        values: *mut *mut ffi::sqlite3_value,
    ) -> Result<&mut FunctionState, c_int> {
        // SAFETY: as of the caller; what FTS5 keeps for this function is a `Query` of ours, which
        // lives until the query ends and nobody else has.
        unsafe {
            let kept = self.api.xGetAuxdata.ok_or(ffi::SQLITE_ERROR)?(self.fts, 0);
            if let Some(query) = kept.cast::<FunctionState>().as_mut() {
                return Ok(query);
            }
            if count != 2 {
                return Err(ffi::SQLITE_MISUSE);
            }
            let query = Box::into_raw(Box::new(self.read_query(*values, *values.add(1))?));
            // FTS5 forgets it by itself when it cannot keep it.
            ask!(self, xSetAuxdata, query.cast(), Some(forget))?;
            query.as_mut().ok_or(ffi::SQLITE_NOMEM)
        }
    }

    /// Return the state of all rows, as FTS5 reports it.
    ///
    /// # Safety
    /// FTS5 is at this row, and `order` and `is_extended` are arguments of the function.
    unsafe fn read_query(
        &self,
        order: *mut ffi::sqlite3_value,
        is_extended: *mut ffi::sqlite3_value,
    ) -> Result<FunctionState, c_int> {
        let (mut rows, mut tokens) = (0_i64, 0_i64);
        // SAFETY: as of the caller; the blob is read before the value can change.
        let (order, phrases, is_extended) = unsafe {
            ask!(self, xRowCount, &raw mut rows)?;
            ask!(self, xColumnTotalSize, -1, &raw mut tokens)?;
            // First the blob: asking for it may convert the value, and change its length.
            let blob = ffi::sqlite3_value_blob(order).cast::<u8>();
            let length = usize::try_from(ffi::sqlite3_value_bytes(order)).unwrap_or(0);
            let bytes: &[u8] = if blob.is_null() {
                &[]
            } else {
                std::slice::from_raw_parts(blob, length)
            };
            let order = bytes
                .as_chunks()
                .0
                .iter()
                .map(|number| u32::from_le_bytes(*number));
            let order: Vec<u32> = order.collect();
            let phrases = self.api.xPhraseCount.ok_or(ffi::SQLITE_ERROR)?(self.fts);
            let is_extended = ffi::sqlite3_value_int(is_extended) != 0;
            (order, usize::try_from(phrases).unwrap_or(0), is_extended)
        };
        let unsigned = |number: i64| u64::try_from(number).map_err(|_| ffi::SQLITE_CORRUPT);
        let mut query = FunctionState {
            counts: Counts {
                rows: unsigned(rows)?,
                tokens: unsigned(tokens)?,
                document_frequencies: Vec::new(),
            },
            matching: if is_extended {
                Matching::Extended
            } else {
                Matching::Spec
            },
            order,
            idfs: vec![0.0; phrases],
            gains: vec![0.0; phrases],
            listed: None,
        };
        let mut entries = (phrases >= LISTED_PHRASES).then(Vec::new);
        for phrase in &mut query.order {
            let weight = if *phrase & VARIANT == 0 {
                1.0
            } else {
                VARIANT_WEIGHT
            };
            *phrase &= !VARIANT;
            let idf = query.idfs.get_mut(*phrase as usize);
            let idf = idf.ok_or(ffi::SQLITE_MISUSE)?;
            if *idf == 0.0 {
                if interrupt::is_due() {
                    return Err(ffi::SQLITE_INTERRUPT);
                }
                // SAFETY: as of the caller.
                let frequency = unsafe { self.document_frequency(*phrase, &mut entries)? };
                *idf = query.counts.idf(frequency) * weight;
            }
        }
        query.listed = entries.map(|entries| ListedPhrases::new(entries, &query.order, phrases));
        Ok(query)
    }

    /// Return the number of rows with a phrase. The rows are added to `entries`, which is None if there are
    /// too many.
    ///
    /// # Safety
    /// FTS5 is at this row.
    unsafe fn document_frequency(
        &self,
        phrase: u32,
        entries: &mut Option<Vec<(i64, u32)>>,
    ) -> Result<u64, c_int> {
        let number = c_int::try_from(phrase).map_err(|_| ffi::SQLITE_MISUSE)?;
        let mut rows = CountedRows {
            count: 0,
            phrase,
            entries: entries.take(),
        };
        // SAFETY: as of the caller; `count_row` gets the rows as the type they are.
        unsafe {
            let rows = (&raw mut rows).cast();
            ask!(self, xQueryPhrase, number, rows, Some(count_row))?;
        }
        *entries = rows.entries;
        Ok(rows.count)
    }

    /// The score of this row.
    ///
    /// # Safety
    /// FTS5 is at this row.
    unsafe fn score(&self, query: &mut FunctionState) -> Result<f64, c_int> {
        let mut length = 0;
        // SAFETY: as of the caller.
        unsafe { ask!(self, xColumnSize, -1, &raw mut length)? };
        let length = u32::try_from(length).map_err(|_| ffi::SQLITE_CORRUPT)?;
        let norm = query.counts.length_norm(length, query.matching);
        if query.listed.is_some() {
            // SAFETY: as of the caller.
            return unsafe { self.listed_score(query, norm) };
        }
        let phrases = (0..).zip(query.idfs.iter().zip(&mut query.gains));
        for (phrase, (idf, added)) in phrases.filter(|(_, (idf, _))| **idf > 0.0) {
            // SAFETY: as of the caller.
            *added = term_score(*idf, unsafe { self.weight(phrase)? }, norm);
        }
        let gains = query
            .order
            .iter()
            .map(|phrase| query.gains.get(*phrase as usize));
        Ok(gains.flatten().fold(0.0, |score, gain| score + gain))
    }

    /// The score of this row, for which only the phrases that it may have are looked at. The others
    /// would add 0.
    ///
    /// # Safety
    /// FTS5 is at this row.
    unsafe fn listed_score(&self, query: &mut FunctionState, norm: f64) -> Result<f64, c_int> {
        let Some(mut listed) = query.listed.take() else {
            return Err(ffi::SQLITE_INTERNAL);
        };
        let mut of_row = std::mem::take(&mut listed.of_row);
        of_row.clear();
        // SAFETY: as of the caller.
        let row = unsafe { self.api.xRowid.ok_or(ffi::SQLITE_ERROR)?(self.fts) };
        for phrase in listed.of(row) {
            let number = phrase as usize;
            // SAFETY: as of the caller.
            let weight = unsafe { self.weight(c_int::try_from(phrase).unwrap_or(c_int::MAX))? };
            query.gains[number] = term_score(query.idfs[number], weight, norm);
            of_row.extend(&listed.positions[number]);
        }
        of_row.sort_unstable();
        let gains = of_row.iter().map(|position| query.order[*position]);
        let score = gains.fold(0.0, |score, phrase| score + query.gains[phrase as usize]);
        listed.of_row = of_row;
        query.listed = Some(listed);
        Ok(score)
    }

    /// Return the total weight of the occurrences of a phrase.
    ///
    /// # Safety
    /// FTS5 is at this row.
    unsafe fn weight(&self, phrase: c_int) -> Result<f64, c_int> {
        let mut at = ffi::Fts5PhraseIter {
            a: ptr::null(),
            b: ptr::null(),
        };
        let (mut column, mut offset) = (0, 0);
        let mut weight = 0.0;
        // SAFETY: as of the caller; FTS5 fills `at` in before it reads it.
        unsafe {
            let (column, offset) = (&raw mut column, &raw mut offset);
            ask!(self, xPhraseFirst, phrase, &raw mut at, column, offset)?;
            let next = self.api.xPhraseNext.ok_or(ffi::SQLITE_ERROR)?;
            while let Ok(place) = usize::try_from(*column) {
                weight += WEIGHTS.get(place).copied().map_or(1.0, f64::from);
                next(self.fts, &raw mut at, column, offset);
            }
        }
        Ok(weight)
    }
}

/// Called by FTS5 for each row that has a phrase.
///
/// # Safety
/// The pointers are those that FTS5 passes, and `rows` are [`CountedRows`] used only here
/// meanwhile.
unsafe extern "C" fn count_row(
    api: *const ffi::Fts5ExtensionApi,
    fts: *mut ffi::Fts5Context,
    rows: *mut c_void,
) -> c_int {
    // SAFETY: `document_frequency` passed the rows.
    let rows = unsafe { &mut *rows.cast::<CountedRows>() };
    rows.count = rows.count.saturating_add(1); // which cannot panic
    if rows.entries.is_none() {
        return ffi::SQLITE_OK;
    }
    // SAFETY: as of the caller.
    let row = unsafe { (*api).xRowid.map(|row_of| row_of(fts)) };
    let listed = guarded(|| {
        let row = row.ok_or(ffi::SQLITE_ERROR)?;
        if let Some(entries) = &mut rows.entries {
            if entries.try_reserve(1).is_err() || entries.len() == MAX_LISTED {
                rows.entries = None;
            } else {
                entries.push((row, rows.phrase));
            }
        }
        Ok(())
    });
    listed.err().unwrap_or(ffi::SQLITE_OK)
}

/// Called by FTS5 at the end of a query.
///
/// # Safety
/// `query` is a boxed `Query` without other users.
unsafe extern "C" fn forget(query: *mut c_void) {
    // SAFETY: `query` gave it away, and FTS5 calls this once.
    drop(unsafe { Box::from_raw(query.cast::<FunctionState>()) });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_for_sqlite() {
        assert_eq!(guarded(|| Ok(1.5)), Ok(1.5));
        assert_eq!(
            guarded::<f64>(|| panic!("on purpose")),
            Err(ffi::SQLITE_INTERNAL)
        );
    }
}
