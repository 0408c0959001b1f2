//! The tokenizers of an index: FTS5's own, called through its C interface, and [`super::words`].
//!
//! SQLite hands its tokenizers out as C function pointers
//! (<https://sqlite.org/fts5.html#extending_fts5>).
#![allow(unsafe_code)] // they are called through pointers

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;
use std::sync::OnceLock;

use rusqlite::{Connection, ffi};

use super::words::{self, Mode, Porter, Token, Visitor};
use crate::error::{Error, ErrorCode, Result};
use crate::named_enum;

/// FTS5 cuts tokens off after this many bytes.
pub(crate) const LONGEST_TOKEN: usize = 32_768;

named_enum! {
    /// The tokenizers an index can be made with.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    pub enum TokenizerKind {
        /// Words of every script ([`super::words`]).
        #[default]
        Words = "words",
        /// Words, folded to their English stems.
        Porter = "porter unicode61",
        /// Words as they stand.
        Unicode61 = "unicode61",
        /// Every window of three characters, for text without word spaces.
        Trigram = "trigram",
    }
}

impl TokenizerKind {
    /// The tokenizer of that name, as `tokenize=` takes it.
    pub fn parse(name: &str) -> Result<Self> {
        Self::from_option("tokenizer", name)
            .map_err(|error| Error::new(ErrorCode::UnknownTokenizer, error.message()))
    }

    /// The tokenizer as FTS5's option `tokenize` names it.
    pub fn fts5_name(self) -> &'static str {
        match self {
            Self::Words => "hedgerow_words 3",
            kind => kind.as_str(),
        }
    }

    /// Whether a token is one that stands at the position of another.
    pub(crate) fn is_colocated(self, token: &[u8]) -> bool {
        let marked = |byte: Option<&u8>| byte == Some(&(words::COLOCATED as u8));
        self == Self::Words && (marked(token.first()) || marked(token.last()))
    }

    /// Whether this tokenizer finds at least one token in `text`.
    ///
    /// A quoted text without tokens is an empty phrase to FTS5, which turns an AND around it
    /// into no hits at all.
    pub fn finds_token(self, text: &str) -> Result<bool> {
        if self != Self::Trigram && text.bytes().any(|byte| byte.is_ascii_alphanumeric()) {
            return Ok(true);
        }
        let mut found = false;
        self.tokenize(text, Mode::Document, |_| {
            found = true;
            false
        })?;
        Ok(found)
    }

    /// Return the tokens of `text` that have separate positions, cut as by an index.
    pub fn tokens(self, text: &str) -> Result<Vec<String>> {
        let mut tokens = Vec::new();
        self.tokenize(text, Mode::Document, |token| {
            if !token.colocated {
                let bytes = &token.text[..token.text.len().min(LONGEST_TOKEN)];
                tokens.push(String::from_utf8_lossy(bytes).into_owned());
            }
            true
        })?;
        Ok(tokens)
    }

    /// Call `visit` with each token of `text` in order, until it returns false.
    pub fn tokenize(
        self,
        text: &str,
        mode: Mode,
        mut visit: impl FnMut(Token<'_>) -> bool,
    ) -> Result<()> {
        thread_local! {
            // unicode61 folds into a buffer of the instance, so that an instance serves one thread.
            static INSTANCES: RefCell<[Option<Tokenizer>; 3]> = const { RefCell::new([const { None }; 3]) };
        }
        let slot = match self {
            Self::Words | Self::Porter => 0,
            Self::Unicode61 => 1,
            Self::Trigram => 2,
        };
        INSTANCES.with_borrow_mut(|instances| {
            let slot = &mut instances[slot];
            let tokenizer = match slot {
                Some(tokenizer) => tokenizer,
                None => slot.insert(Tokenizer::create(self)?),
            };
            match self {
                Self::Words => words::tokenize(text, mode, tokenizer, &mut visit),
                _ => tokenizer.run(text, &mut visit),
            }
        })
    }
}

/// Open the connection that all tokenizers come from. To be called before SQLite is used for anything
/// else, and before a fork.
///
/// A fork leaves out the threads that hold SQLite's mutexes, and the child would wait for them
/// forever. Tokenizing is not held off while a process forks, so it takes none: this is the only
/// connection, and a fork waits for it to be open; what an instance allocates comes from the C
/// library, whose locks survive a fork, with no mutex of SQLite around it.
pub fn prepare() {
    // A failure is stored, and returned by the next call of a tokenizer.
    let _ = fts5();
}

/// The FTS5 interface of a connection that is never closed, as a static is never dropped.
struct Fts5 {
    api: *mut ffi::fts5_api,
    _connection: Connection,
}

// SAFETY: no tokenizer is added once it is made: the list of them is only read. Nothing is asked of the
// connection any more.
unsafe impl Send for Fts5 {}
// SAFETY: as above.
unsafe impl Sync for Fts5 {}

fn fts5() -> Result<&'static Fts5> {
    static FTS5: OnceLock<Result<Fts5>> = OnceLock::new();
    FTS5.get_or_init(|| {
        // SAFETY: the option takes an int. Where SQLite is in use already this is refused, and
        // changes nothing.
        unsafe { ffi::sqlite3_config(ffi::SQLITE_CONFIG_MEMSTATUS, c_int::from(false)) };
        let connection = Connection::open_in_memory().map_err(|error| fault(&error.to_string()))?;
        // SAFETY: the connection stays open.
        let api = unsafe { fts5_api(&connection)? };
        Ok(Fts5 {
            api,
            _connection: connection,
        })
    })
    .as_ref()
    .map_err(Clone::clone)
}

/// An instance of a tokenizer of FTS5.
pub(super) struct Tokenizer {
    methods: ffi::fts5_tokenizer,
    instance: *mut ffi::Fts5Tokenizer,
}

/// Called by FTS5 for each token: with the context, flags, the token and its length, and the offsets of its
/// start and end in the text.
pub(super) type TokenCallback =
    unsafe extern "C" fn(*mut c_void, c_int, *const c_char, c_int, c_int, c_int) -> c_int;

/// The data that `run` passes to `on_token`, and its result.
struct Visit<'a> {
    visitor: Visitor<'a>,
    /// The panic of the visitor: it must not unwind through SQLite.
    panic: Option<Box<dyn Any + Send>>,
}

impl Tokenizer {
    /// An instance of the tokenizer of FTS5 that a kind is or is made of.
    pub fn create(kind: TokenizerKind) -> Result<Self> {
        let api = fts5()?.api;
        let (name, arguments): (&CStr, &[&CStr]) = match kind {
            TokenizerKind::Words | TokenizerKind::Porter => (c"porter", &[c"unicode61"]),
            TokenizerKind::Unicode61 => (c"unicode61", &[]),
            TokenizerKind::Trigram => (c"trigram", &[]),
        };
        let mut arguments: Vec<*const c_char> =
            arguments.iter().map(|argument| argument.as_ptr()).collect();
        let mut methods = ffi::fts5_tokenizer {
            xCreate: None,
            xDelete: None,
            xTokenize: None,
        };
        let mut context: *mut c_void = ptr::null_mut();
        let mut instance: *mut ffi::Fts5Tokenizer = ptr::null_mut();
        // SAFETY: `api` lives as long as its connection, which is never closed; SQLite copies names
        // and arguments before the calls return.
        let code = unsafe {
            let find = (*api)
                .xFindTokenizer
                .ok_or_else(|| fault("no xFindTokenizer"))?;
            let code = find(api, name.as_ptr(), &raw mut context, &raw mut methods);
            if code != ffi::SQLITE_OK {
                return Err(fault(&format!(
                    "tokenizer {} not found: {code}",
                    kind.as_str()
                )));
            }
            let create = methods.xCreate.ok_or_else(|| fault("no xCreate"))?;
            let count = c_int::try_from(arguments.len()).unwrap_or(0);
            create(context, arguments.as_mut_ptr(), count, &raw mut instance)
        };
        if code != ffi::SQLITE_OK {
            return Err(fault(&format!(
                "tokenizer {} not made: {code}",
                kind.as_str()
            )));
        }
        Ok(Self { methods, instance })
    }

    fn run(&mut self, text: &str, visitor: Visitor<'_>) -> Result<()> {
        let mut visit = Visit {
            visitor,
            panic: None,
        };
        // SAFETY: `visit` outlives the call, and `on_token` gets it back as the type it is.
        let code = unsafe { self.call(text.as_bytes(), (&raw mut visit).cast(), on_token) }?;
        if let Some(panic) = visit.panic {
            resume_unwind(panic);
        }
        match code {
            ffi::SQLITE_OK | ffi::SQLITE_DONE => Ok(()),
            code => Err(fault(&format!("tokenizing failed with code {code}"))),
        }
    }

    /// Have `callback` called with each token of a stored text, and return the code of FTS5.
    ///
    /// # Safety
    /// `callback` can be called with `context` until the call returns.
    pub unsafe fn call(
        &mut self,
        text: &[u8],
        context: *mut c_void,
        callback: TokenCallback,
    ) -> Result<c_int> {
        let length = c_int::try_from(text.len())
            .map_err(|_| fault("a text over 2 GiB cannot be tokenized"))?;
        let tokenize = self
            .methods
            .xTokenize
            .ok_or_else(|| fault("no xTokenize"))?;
        // SAFETY: `instance` came from this tokenizer's xCreate; the text outlives the call; the rest as
        // of the caller.
        Ok(unsafe {
            tokenize(
                self.instance,
                context,
                ffi::FTS5_TOKENIZE_DOCUMENT,
                text.as_ptr().cast(),
                length,
                Some(callback),
            )
        })
    }
}

impl Porter for Tokenizer {
    fn tokenize(&mut self, text: &str, visit: Visitor<'_>) -> Result<()> {
        self.run(text, visit)
    }
}

impl Drop for Tokenizer {
    fn drop(&mut self) {
        if let Some(delete) = self.methods.xDelete {
            // SAFETY: the instance is deleted once.
            unsafe { delete(self.instance) }
        }
    }
}

/// Called by FTS5 for each token; a non-zero answer ends the tokenizing.
///
/// # Safety
/// `context` is a `Visit` without other users, and `token` has `length` bytes.
unsafe extern "C" fn on_token(
    context: *mut c_void,
    flags: c_int,
    token: *const c_char,
    length: c_int,
    start: c_int,
    end: c_int,
) -> c_int {
    // SAFETY: as of the caller, which is FTS5: it hands on what `run` passed.
    let visit = unsafe { &mut *context.cast::<Visit<'_>>() };
    let unsigned = |number: c_int| usize::try_from(number).unwrap_or(0);
    // SAFETY: as of the caller; FTS5 keeps the token for the time of the call.
    let text = unsafe { std::slice::from_raw_parts(token.cast::<u8>(), unsigned(length)) };
    let token = Token {
        text,
        range: unsigned(start)..unsigned(end),
        colocated: flags & ffi::FTS5_TOKEN_COLOCATED != 0,
    };
    match catch_unwind(AssertUnwindSafe(|| (visit.visitor)(token))) {
        Ok(true) => ffi::SQLITE_OK,
        Ok(false) => ffi::SQLITE_DONE,
        Err(panic) => {
            visit.panic = Some(panic);
            ffi::SQLITE_ABORT
        }
    }
}

/// The FTS5 interface of a connection, which SQLite hands out through a bound pointer.
///
/// # Safety
/// The pointer is valid only while `connection` is open.
pub(crate) unsafe fn fts5_api(connection: &Connection) -> Result<*mut ffi::fts5_api> {
    let mut api: *mut ffi::fts5_api = ptr::null_mut();
    let mut statement: *mut ffi::sqlite3_stmt = ptr::null_mut();
    // SAFETY: the connection is open; the statement is finalised before `api`, which it writes
    // through, goes away, and SQLite takes a statement that could not be made for none.
    unsafe {
        let database = connection.handle();
        ffi::sqlite3_prepare_v2(
            database,
            c"SELECT fts5(?1)".as_ptr(),
            -1,
            &raw mut statement,
            ptr::null_mut(),
        );
        ffi::sqlite3_bind_pointer(
            statement,
            1,
            (&raw mut api).cast(),
            c"fts5_api_ptr".as_ptr(),
            None,
        );
        ffi::sqlite3_step(statement);
        ffi::sqlite3_finalize(statement);
    }
    if api.is_null() {
        Err(fault("SQLite was built without FTS5"))
    } else {
        Ok(api)
    }
}

pub(super) fn fault(message: &str) -> Error {
    Error::new(
        ErrorCode::EngineFault,
        format!("FTS5 tokenizer: {message}; please report this"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(kind: TokenizerKind, text: &str) -> Vec<String> {
        let mut found = Vec::new();
        kind.tokenize(text, Mode::Document, |token| {
            found.push(String::from_utf8(token.text.to_vec()).unwrap());
            true
        })
        .unwrap();
        found
    }

    #[test]
    fn tokens_are_ftss() {
        assert_eq!(
            tokens(TokenizerKind::Porter, "Running, crème brûlée!"),
            ["run", "creme", "brule"]
        );
        assert_eq!(
            tokens(TokenizerKind::Unicode61, "Running T-cells"),
            ["running", "t", "cells"]
        );
        assert_eq!(
            tokens(TokenizerKind::Trigram, "東京都庁"),
            ["東京都", "京都庁"]
        );
    }

    #[test]
    fn a_panic_of_the_visitor_arrives_and_the_tokenizer_goes_on() {
        let mut seen = 0;
        let panic = catch_unwind(AssertUnwindSafe(|| {
            TokenizerKind::Porter.tokenize("oak elm ash", Mode::Document, |_| {
                seen += 1;
                assert!(seen < 2, "on purpose");
                true
            })
        }))
        .unwrap_err();
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"on purpose"));
        assert_eq!(seen, 2);
        assert_eq!(tokens(TokenizerKind::Porter, "oak elm"), ["oak", "elm"]);
    }

    #[test]
    fn every_short_text_has_its_tokens_in_order_at_their_place() {
        let alphabet = [
            "a", "B", "1", " ", "-", "'", "+", "é", "\u{301}", "東", "キ", "ж", "😀", "\0",
        ];
        let mut texts = vec![String::new()];
        let mut from = 0;
        for _ in 0..4 {
            let end = texts.len();
            for at in from..end {
                let longer: Vec<_> = alphabet
                    .iter()
                    .map(|one| format!("{}{one}", texts[at]))
                    .collect();
                texts.extend(longer);
            }
            from = end;
        }
        for kind in TokenizerKind::ALL {
            for text in &texts {
                for mode in [Mode::Document, Mode::Query, Mode::Prefix] {
                    let (mut last, mut count) = (0..0, 0);
                    kind.tokenize(text, mode, |token| {
                        let range = token.range;
                        assert!(
                            text.get(range.clone()).is_some(),
                            "{kind:?} {text:?} {range:?}"
                        );
                        assert!(range.start < range.end, "{kind:?} {text:?} {range:?}");
                        assert!(!token.text.is_empty(), "{kind:?} {text:?}");
                        assert!(!token.colocated || count > 0, "{kind:?} {text:?}");
                        assert!(
                            token.colocated || range.start >= last.start,
                            "{kind:?} {text:?}: {range:?} after {last:?}"
                        );
                        (last, count) = (range, count + 1);
                        true
                    })
                    .unwrap();
                    if mode == Mode::Document {
                        assert_eq!(
                            kind.finds_token(text).unwrap(),
                            count > 0,
                            "{kind:?} {text:?}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn a_text_without_tokens_is_seen() {
        for (kind, text, expected) in [
            (TokenizerKind::Porter, "…", false),
            (TokenizerKind::Porter, "\u{301}", false),
            (TokenizerKind::Porter, "😀", false),
            (TokenizerKind::Porter, "東", true),
            (TokenizerKind::Unicode61, "_", false),
            (TokenizerKind::Unicode61, "a_", true),
            (TokenizerKind::Trigram, "ab", false),
            (TokenizerKind::Trigram, "東京都", true),
        ] {
            assert_eq!(kind.finds_token(text).unwrap(), expected, "{kind:?} {text}");
        }
    }

    #[test]
    fn an_unknown_name_is_refused() {
        let error = TokenizerKind::parse("snowball").unwrap_err();
        assert_eq!(error.code(), ErrorCode::UnknownTokenizer);
    }
}
