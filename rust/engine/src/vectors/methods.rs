//! How vectors are searched and what of them is kept in memory, where there is a choice.

use crate::error::{Error, ErrorCode, Result};
use crate::named_enum;

named_enum! {
    /// How the nearest vectors are found.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    pub enum Vectors {
        /// All vectors, at any cost.
        #[default]
        Exact = "exact",
        /// By one bit a number first, which may miss some.
        Fast = "fast",
    }
}

impl Vectors {
    /// The way of that name; a name that was removed has an error that says what to use.
    pub fn parse(name: &str) -> Result<Self> {
        if name == "hnsw" {
            return Err(Error::new(
                ErrorCode::InvalidOption,
                "vectors=\"hnsw\" was removed, since every write made its graph useless; \
                 use vectors=\"fast\"",
            ));
        }
        Self::from_option("vectors", name)
    }
}

named_enum! {
    /// The part of the vectors that is kept in memory.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    pub enum Resident {
        /// The vectors and their codes.
        #[default]
        All = "all",
        /// The codes alone: vectors that are compared in full are read from the file.
        Codes = "codes",
    }
}
