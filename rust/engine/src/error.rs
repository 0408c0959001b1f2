//! The closed list of errors (spec/errors.md): a code, the kind a caller acts on, a sentence, and
//! as data what the error is about and how to fix it.

use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// The kind of an error, for deciding how to react. Each kind is one Python exception class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// An argument cannot be used as given.
    InvalidInput,
    /// A query is over one of the limits.
    QueryTooLarge,
    /// The index file cannot be opened, read or written.
    IndexFile,
    /// A collection on a server cannot be reached, read or written.
    Backend,
    /// A fault of the engine itself.
    Fault,
}

macro_rules! error_codes {
    ($($kind:ident { $($(#[$doc:meta])* $code:ident = $name:literal,)* })*) => {
        /// A word for each error.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum ErrorCode { $($($(#[$doc])* $code,)*)* }

        impl ErrorCode {
            /// Every code, in the order of spec/errors.md.
            pub const ALL: &'static [ErrorCode] = &[$($(ErrorCode::$code,)*)*];

            /// The word users see.
            pub fn as_str(self) -> &'static str {
                match self { $($(ErrorCode::$code => $name,)*)* }
            }

            /// The kind, which decides the exception class.
            pub fn kind(self) -> ErrorKind {
                match self { $($(ErrorCode::$code => ErrorKind::$kind,)*)* }
            }
        }
    };
}

error_codes! {
    InvalidInput {
        /// A Python string holds half of a surrogate pair.
        LoneSurrogate = "lone_surrogate",
        /// An option has a value outside its closed set.
        InvalidOption = "invalid_option",
        /// Two options exclude each other.
        IncompatibleOptions = "incompatible_options",
        /// A token of unknown kind or operator, or tokens that are not a sequence of texts.
        InvalidToken = "invalid_token",
        /// An alias table of another shape than text to texts.
        InvalidAliases = "invalid_aliases",
        /// A query whose aliases are expanded already.
        AlreadyExpanded = "already_expanded",
        /// A chunk that cannot be stored.
        InvalidChunk = "invalid_chunk",
        /// Ids of another shape than a sequence of texts.
        InvalidId = "invalid_id",
        /// A filter that cannot be applied.
        InvalidFilter = "invalid_filter",
        /// A candidate or a hit that cannot be ranked.
        InvalidCandidate = "invalid_candidate",
        /// Something other than a number where one is needed.
        InvalidNumber = "invalid_number",
        /// A limit below 1.
        InvalidLimit = "invalid_limit",
        /// A tokenizer that hedgerow does not offer.
        UnknownTokenizer = "unknown_tokenizer",
        /// Another tokenizer than the one the file was made with.
        TokenizerMismatch = "tokenizer_mismatch",
        /// Something that is not a vector, or cannot be searched with.
        InvalidVector = "invalid_vector",
        /// A vector of another dimension than the index's.
        DimensionMismatch = "dimension_mismatch",
        /// Vectors of another embedder than the index's.
        EmbedderMismatch = "embedder_mismatch",
        /// A node that cannot be stored.
        InvalidNode = "invalid_node",
        /// A key that no node has.
        UnknownNode = "unknown_node",
        /// An edge that cannot be stored.
        InvalidEdge = "invalid_edge",
        /// A handle that cannot be pickled.
        NotPicklable = "not_picklable",
        /// A collection on a server cannot answer the search exactly.
        UnsupportedByBackend = "unsupported_by_backend",
    }
    QueryTooLarge {
        /// Over 64 KiB of UTF-8.
        QueryTextTooLarge = "query_text_too_large",
        /// Over 4,096 tokens.
        TooManyTokens = "too_many_tokens",
        /// Over 8,192 tokens after aliases.
        TooManyAliasTokens = "too_many_alias_tokens",
    }
    IndexFile {
        /// No file where one must exist.
        IndexNotFound = "index_not_found",
        /// A file, but not one of ours.
        NotAnIndex = "not_an_index",
        /// Written by a newer version.
        IndexTooNew = "index_too_new",
        /// The file's content is damaged.
        IndexDamaged = "index_damaged",
        /// Another writer held the file for too long.
        IndexBusy = "index_busy",
        /// A write through a read-only handle or to a read-only file.
        IndexReadOnly = "index_read_only",
        /// Another file was put in the place of this one.
        IndexReplaced = "index_replaced",
        /// The handle was closed.
        IndexClosed = "index_closed",
        /// The handle was made in the parent process.
        IndexForked = "index_forked",
        /// The caller stopped waiting.
        Interrupted = "interrupted",
        /// Memory ran out.
        OutOfMemory = "out_of_memory",
        /// A backup would overwrite a file.
        BackupExists = "backup_exists",
        /// The operating system refused to read or write.
        IndexIo = "index_io",
    }
    Backend {
        /// Nobody answers at the address.
        BackendUnavailable = "backend_unavailable",
        /// The server did not answer in time.
        BackendTimeout = "backend_timeout",
        /// The server refused the credentials or the request.
        BackendRefused = "backend_refused",
        /// The server answered for only a part of the chunks.
        PartialResults = "partial_results",
        /// The server stored some chunks and refused others.
        BulkRefused = "bulk_refused",
        /// No collection of that name.
        CollectionMissing = "collection_missing",
        /// A collection of that name is there already.
        CollectionExists = "collection_exists",
        /// An index of that name, but not one of ours.
        NotACollection = "not_a_collection",
        /// Made by a newer version.
        SchemaNewer = "schema_newer",
        /// The collection is damaged.
        CollectionDamaged = "collection_damaged",
    }
    Fault {
        /// A panic was caught.
        EnginePanic = "engine_panic",
        /// SQLite refused a statement of ours.
        EngineFault = "engine_fault",
    }
}

/// A way out of an error, as data. The command line, Python and the servers each have words for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fix {
    /// What the fix does, in the infinitive: "keep both".
    pub does: &'static str,
    /// The name of the operation to call. None repeats the call that failed.
    pub operation: Option<&'static str>,
    /// The arguments of the operation.
    pub arguments: Vec<(&'static str, Value)>,
}

impl Fix {
    /// The fix of vectors that do not fit the embedder.
    pub fn reembed() -> Self {
        Self {
            does: "embed all chunks again",
            operation: Some("reembed"),
            arguments: Vec::new(),
        }
    }
}

/// An error: one sentence. Most errors have no details, which are therefore in one pointer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    code: ErrorCode,
    message: String,
    details: Option<Box<Details>>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Details {
    path: Option<PathBuf>,
    fixes: Vec<Fix>,
}

/// The engine's result.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error with its code and sentence.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            details: None,
        }
    }

    /// Return the error with the path of the file that it is about.
    #[must_use]
    pub fn with_path(mut self, path: &Path) -> Self {
        self.details.get_or_insert_default().path = Some(path.to_owned());
        self
    }

    /// Return the error with one more fix.
    #[must_use]
    pub fn with_fix(mut self, fix: Fix) -> Self {
        self.details.get_or_insert_default().fixes.push(fix);
        self
    }

    /// The error of a name that is not one of the values of an option.
    pub fn invalid_option(option: &str, values: &[&str], given: &str) -> Self {
        let quoted: Vec<String> = values.iter().map(|value| format!("\"{value}\"")).collect();
        let choice = match quoted.split_last() {
            Some((last, others)) if !others.is_empty() => {
                format!("{} or {last}", others.join(", "))
            }
            _ => quoted.concat(),
        };
        Self::new(
            ErrorCode::InvalidOption,
            format!("{option} must be {choice}, not {given:?}"),
        )
    }

    /// The error of a call for which there was not enough memory.
    pub fn out_of_memory() -> Self {
        Self::new(
            ErrorCode::OutOfMemory,
            "memory ran out, and nothing of this call was kept; call again with less at once, or \
             where this process may have more memory",
        )
    }

    /// The code, of the closed list.
    pub fn code(&self) -> ErrorCode {
        self.code
    }

    /// The sentence.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The path of the file that the error is about. None if it is about no file, or about one in memory.
    pub fn path(&self) -> Option<&Path> {
        self.details.as_ref()?.path.as_deref()
    }

    /// The ways out of the error, the best first.
    pub fn fixes(&self) -> &[Fix] {
        self.details.as_ref().map_or(&[], |details| &details.fixes)
    }

    /// Return the error with its position before the sentence (`texts[3]: …`).
    #[must_use]
    pub fn at(mut self, context: &str) -> Self {
        self.message = format!("{context}: {}", self.message);
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
