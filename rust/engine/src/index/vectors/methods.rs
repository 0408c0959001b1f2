//! How vectors are searched and what of them is kept in memory, where there is a choice.

use crate::error::{Error, ErrorCode, Result};

/// How the nearest vectors are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Vectors {
    /// All of them, whatever it takes.
    #[default]
    Exact,
    /// By one bit a number first, which may miss some.
    Fast,
}

impl Vectors {
    /// The word users see.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Fast => "fast",
        }
    }

    /// The way of that name.
    pub fn from_name(name: &str) -> Result<Self> {
        if name == "hnsw" {
            return Err(Error::new(
                ErrorCode::InvalidOption,
                "vectors=\"hnsw\" was removed, since every write made its graph useless; \
                 use vectors=\"fast\"",
            ));
        }
        let all = [Self::Exact, Self::Fast];
        let named = all.into_iter().find(|vectors| vectors.as_str() == name);
        named.ok_or_else(|| Error::invalid_option("vectors", &all.map(Self::as_str), name))
    }
}

/// What of the vectors is kept in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Resident {
    /// The vectors and their codes.
    #[default]
    All,
    /// Their codes alone: what is compared in full is read from the file.
    Codes,
}

impl Resident {
    /// The word users see.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Codes => "codes",
        }
    }

    /// The choice of that name.
    pub fn from_name(name: &str) -> Result<Self> {
        let all = [Self::All, Self::Codes];
        let named = all.into_iter().find(|resident| resident.as_str() == name);
        named.ok_or_else(|| Error::invalid_option("resident", &all.map(Self::as_str), name))
    }
}
