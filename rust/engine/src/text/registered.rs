//! The registration of the tokenizer [`super::words`] with FTS5: `tokenize = 'hedgerow_words 3'`.
//!
//! FTS5 takes tokenizers as C function pointers (<https://sqlite.org/fts5.html#custom_tokenizers>).
#![allow(unsafe_code)] // FTS5 calls through pointers

use std::ffi::{CStr, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::{ptr, slice};

use rusqlite::{Connection, ffi};

use super::tokenizer::{TokenCallback, Tokenizer, TokenizerKind, fts5_api};
use super::words::{self, Mode, Token};

const NAME: &CStr = c"hedgerow_words";

/// Give a connection the tokenizer. Without it the connection cannot read the full-text index of a file
/// that names it.
pub fn register(connection: &Connection) -> rusqlite::Result<()> {
    // SAFETY: the interface is used while the connection is open; SQLite copies the name and the
    // methods, which need no data.
    let code = unsafe {
        let api = fts5_api(connection).map_err(|_| failure(ffi::SQLITE_ERROR))?;
        let register = (*api)
            .xCreateTokenizer
            .ok_or_else(|| failure(ffi::SQLITE_ERROR))?;
        let mut methods = ffi::fts5_tokenizer {
            xCreate: Some(create),
            xDelete: Some(delete),
            xTokenize: Some(tokenize),
        };
        register(api, NAME.as_ptr(), ptr::null_mut(), &raw mut methods, None)
    };
    match code {
        ffi::SQLITE_OK => Ok(()),
        code => Err(failure(code)),
    }
}

fn failure(code: c_int) -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(ffi::Error::new(code), None)
}

/// Called by FTS5 for a table: make an instance, unless the version is unknown. A table of an earlier version
/// gets the tokens of this one: it is only read, or dropped.
///
/// # Safety The pointers are those that FTS5 passes: `arguments` has `count` texts.
unsafe extern "C" fn create(
    _context: *mut c_void,
    arguments: *mut *const c_char,
    count: c_int,
    instance: *mut *mut ffi::Fts5Tokenizer,
) -> c_int {
    // SAFETY: as of the caller.
    let version = (count == 1).then(|| unsafe { CStr::from_ptr(*arguments) }.to_str());
    let is_known = matches!(version, Some(Ok(name)) if words::READABLE.contains(&name));
    if !is_known {
        return ffi::SQLITE_ERROR;
    }
    let made = catch_unwind(|| Tokenizer::create(TokenizerKind::Words));
    let Ok(Ok(tokenizer)) = made else {
        return ffi::SQLITE_ERROR;
    };
    // SAFETY: as of the caller; FTS5 gives the box back to `delete`.
    unsafe { *instance = Box::into_raw(Box::new(tokenizer)).cast() };
    ffi::SQLITE_OK
}

/// Called by FTS5 when a table is closed.
///
/// # Safety
/// `instance` came from `create`, and is not used afterwards.
unsafe extern "C" fn delete(instance: *mut ffi::Fts5Tokenizer) {
    // SAFETY: as of the caller, which calls once for each instance.
    drop(unsafe { Box::from_raw(instance.cast::<Tokenizer>()) });
}

/// Called by FTS5 for a text: `callback` gets its tokens.
///
/// # Safety
/// `instance` came from `create` and is used by one thread at a time; `text` has `length` bytes;
/// `callback` can be called with `context`.
unsafe extern "C" fn tokenize(
    instance: *mut ffi::Fts5Tokenizer,
    context: *mut c_void,
    flags: c_int,
    text: *const c_char,
    length: c_int,
    callback: Option<TokenCallback>,
) -> c_int {
    let (Ok(length), Some(callback)) = (usize::try_from(length), callback) else {
        return ffi::SQLITE_MISUSE;
    };
    if text.is_null() || length == 0 {
        return ffi::SQLITE_OK;
    }
    // SAFETY: as of the caller.
    let (porter, text) = unsafe {
        let text = slice::from_raw_parts(text.cast::<u8>(), length);
        (&mut *instance.cast::<Tokenizer>(), text)
    };
    let mode = match flags {
        _ if flags & ffi::FTS5_TOKENIZE_PREFIX != 0 => Mode::Prefix,
        _ if flags & ffi::FTS5_TOKENIZE_QUERY != 0 => Mode::Query,
        _ => Mode::Document,
    };
    if mode == Mode::Document && text.is_ascii() && !words::may_have_signs(text) {
        // Porter's tokens are these, and go where they are wanted without a detour.
        // SAFETY: as of the caller.
        return unsafe { porter.call(text, context, callback) }.unwrap_or(ffi::SQLITE_ERROR);
    }
    let visit = |token: Token<'_>, offset: usize| {
        let signed = |number: usize| c_int::try_from(number).unwrap_or(c_int::MAX);
        let flags = if token.colocated {
            ffi::FTS5_TOKEN_COLOCATED
        } else {
            0
        };
        let bytes = token.text.as_ptr().cast();
        let [start, end] = [token.range.start, token.range.end].map(|at| signed(at + offset));
        // SAFETY: as of the caller; FTS5 copies the token.
        unsafe { callback(context, flags, bytes, signed(token.text.len()), start, end) }
    };
    catch_unwind(AssertUnwindSafe(|| tokens(text, mode, porter, visit)))
        .unwrap_or(ffi::SQLITE_INTERNAL)
}

/// Visit the tokens of a text, of which bytes that are not UTF-8 separate words; the code of the visitor
/// that ended it.
fn tokens(
    text: &[u8],
    mode: Mode,
    porter: &mut Tokenizer,
    visit: impl Fn(Token<'_>, usize) -> c_int,
) -> c_int {
    let mut code = ffi::SQLITE_OK;
    let mut offset = 0;
    for chunk in text.utf8_chunks() {
        let mut visit = |token: Token<'_>| {
            code = visit(token, offset);
            code == ffi::SQLITE_OK
        };
        if words::tokenize(chunk.valid(), mode, porter, &mut visit).is_err() {
            return ffi::SQLITE_ERROR;
        }
        if code != ffi::SQLITE_OK {
            break;
        }
        offset += chunk.valid().len() + chunk.invalid().len();
    }
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(tokenize: &str) -> rusqlite::Result<Connection> {
        let connection = Connection::open_in_memory()?;
        register(&connection)?;
        connection.execute_batch(&format!(
            "CREATE VIRTUAL TABLE texts USING fts5(text, tokenize = '{tokenize}')"
        ))?;
        Ok(connection)
    }

    #[test]
    fn fts5_finds_what_the_tokens_say() {
        let table = table(TokenizerKind::Words.fts5_name()).unwrap();
        for text in ["東京都庁に行く", "Ежи спят под кустами", "plain hedges", ""]
        {
            table
                .execute("INSERT INTO texts VALUES (?)", [text])
                .unwrap();
        }
        // Bytes that are not UTF-8 separate.
        table
            .execute_batch("INSERT INTO texts VALUES (CAST(x'6f616bff656c6de69d' AS TEXT))")
            .unwrap();
        for (expression, expected) in [
            ("\"東京\"", vec![1]),
            ("\"京都庁\"", vec![1]),
            ("\"行\" *", vec![1]),
            ("\"кустарник\"", vec![2]),
            ("\"\u{2}кустарник\"", vec![]),
            ("\"hedge\"", vec![3]),
            ("\"oak elm\"", vec![5]),
        ] {
            let found: Vec<i64> = table
                .prepare("SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY rowid")
                .unwrap()
                .query_map([expression], |row| row.get(0))
                .unwrap()
                .collect::<rusqlite::Result<_>>()
                .unwrap();
            assert_eq!(found, expected, "{expression}");
        }
    }

    #[test]
    fn words_with_symbols_and_emoji_are_found() {
        let table = table(TokenizerKind::Words.fts5_name()).unwrap();
        for text in [
            "the C++ parser",
            "the C# parser",
            "größe in C++",
            "oak 🦔👍🏽",
        ] {
            table
                .execute("INSERT INTO texts VALUES (?)", [text])
                .unwrap();
        }
        for (expression, expected) in [
            ("\"C++\"", vec![1, 2, 3]),
            ("\"\u{4}C++\"", vec![1, 3]),
            ("\"\u{4}c#\"", vec![2]),
            ("\"C parser\"", vec![1, 2]),
            ("\"🦔\" *", vec![4]),
            ("\"👍\" *", vec![4]),
            ("\"🦔👍\"", vec![4]),
        ] {
            let found: Vec<i64> = table
                .prepare("SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY rowid")
                .unwrap()
                .query_map([expression], |row| row.get(0))
                .unwrap()
                .collect::<rusqlite::Result<_>>()
                .unwrap();
            assert_eq!(found, expected, "{expression:?}");
        }
    }

    #[test]
    fn a_former_version_can_be_read_and_dropped() {
        let table = table("hedgerow_words 1").unwrap();
        table.execute_batch("DROP TABLE texts").unwrap();
    }

    #[test]
    fn an_unknown_version_is_refused() {
        for name in ["hedgerow_words 4", "hedgerow_words", "hedgerow_words 1 x"] {
            let error = table(name).unwrap_err().to_string();
            assert!(error.contains("error in tokenizer constructor"), "{error}");
        }
    }
}
