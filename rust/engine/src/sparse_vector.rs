//! Sparse vectors: tokens with weights, as they are checked and stored (spec/index.md, "Sparse vectors").

use std::str;

use rusqlite::types::{FromSqlError, Type};

use crate::error::{Error, ErrorCode, Result};

/// The most tokens of a vector. The vocabularies of models in use have about as many.
pub const MAX_TOKENS: usize = 1 << 15;
/// The most bytes of a token. Its length is stored in one byte.
pub const MAX_TOKEN_BYTES: usize = u8::MAX as usize;

/// The stored bytes for a chunk that can have no vector: a token without a length.
const NONE: [u8; 1] = [0];

/// Distinct tokens with their weights, in the order of code points.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SparseVector(Vec<(String, f32)>);

impl SparseVector {
    /// The vector of distinct tokens in any order. Rejects empty and long tokens, too many tokens, and weights
    /// that are not finite and above 0; `name` is the name of the vector in the message.
    pub fn new(mut entries: Vec<(String, f32)>, name: &str, code: ErrorCode) -> Result<Self> {
        let error = |what: String| Err(Error::new(code, format!("{name} {what}")));
        if entries.len() > MAX_TOKENS {
            let count = entries.len();
            return error(format!(
                "has {count} tokens, and at most {MAX_TOKENS} are stored; keep those with the largest weights"
            ));
        }
        for (token, weight) in &entries {
            if token.is_empty() {
                return error("has an empty token; leave it out".to_owned());
            }
            if token.len() > MAX_TOKEN_BYTES {
                let size = token.len();
                return error(format!(
                    "has a token of {size} bytes, and at most {MAX_TOKEN_BYTES} are stored; leave it out"
                ));
            }
            if !is_weight(*weight) {
                return error(format!(
                    "has the weight {weight} for {token:?}; a weight is a finite float32 above 0, and a \
                     token without one is left out"
                ));
            }
        }
        entries.sort_unstable_by(|(left, _), (right, _)| left.cmp(right));
        match entries.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            Some(pair) => error(format!(
                "has the token {:?} twice; add its weights",
                pair[0].0
            )),
            None => Ok(Self(entries)),
        }
    }

    /// The tokens with their weights, in the order of code points.
    pub fn entries(&self) -> &[(String, f32)] {
        &self.0
    }

    /// Whether the vector has zero tokens. Nothing is similar to such a vector.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The bytes a vector is stored as: for each token its length, its UTF-8, and the weight as `f32`,
    /// little-endian; a zero for a vector without tokens.
    pub fn to_blob(&self) -> Vec<u8> {
        if self.is_empty() {
            return NONE.to_vec();
        }
        let mut blob = Vec::new();
        for (token, weight) in &self.0 {
            // Longer tokens are rejected.
            blob.push(u8::try_from(token.len()).unwrap_or(u8::MAX));
            blob.extend_from_slice(token.as_bytes());
            blob.extend_from_slice(&weight.to_le_bytes());
        }
        blob
    }

    /// The vector of a blob. None if the blob is damaged.
    pub fn from_blob(blob: &[u8]) -> Option<Self> {
        if blob.is_empty() {
            return None;
        }
        let entries = StoredEntries::of(blob).map(|entry| {
            let (token, weight) = entry?;
            Some((token.to_owned(), weight))
        });
        entries.collect::<Option<_>>().map(Self)
    }
}

/// The error that a row of `sparse_vectors` does not hold a vector: the file is damaged.
pub fn damaged(row: i64) -> rusqlite::Error {
    let message = format!("the sparse vector of row {row} is not one");
    rusqlite::Error::FromSqlConversionFailure(
        0,
        Type::Blob,
        Box::new(FromSqlError::Other(message.into())),
    )
}

fn is_weight(weight: f32) -> bool {
    weight.is_finite() && weight > 0.0
}

/// The tokens and weights of a stored vector in their order. A None ends a damaged blob.
pub(crate) struct StoredEntries<'b> {
    rest: &'b [u8],
    last: &'b str,
}

impl<'b> StoredEntries<'b> {
    pub fn of(blob: &'b [u8]) -> Self {
        let rest = if blob == NONE { &[] } else { blob };
        Self { rest, last: "" }
    }

    fn take(&mut self) -> Option<(&'b str, f32)> {
        let (length, rest) = self.rest.split_first()?;
        let (token, rest) = rest.split_at_checked(usize::from(*length))?;
        let (weight, rest) = rest.split_first_chunk::<4>()?;
        let token = str::from_utf8(token).ok()?;
        let weight = f32::from_le_bytes(*weight);
        if token <= self.last || !is_weight(weight) {
            return None;
        }
        (self.rest, self.last) = (rest, token);
        Some((token, weight))
    }
}

impl<'b> Iterator for StoredEntries<'b> {
    type Item = Option<(&'b str, f32)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let entry = self.take();
        if entry.is_none() {
            self.rest = &[];
        }
        Some(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(entries: &[(&str, f32)]) -> Result<SparseVector> {
        let entries = entries
            .iter()
            .map(|(token, weight)| ((*token).to_owned(), *weight));
        SparseVector::new(entries.collect(), "the vector", ErrorCode::InvalidVector)
    }

    #[test]
    fn blobs_keep_every_bit() {
        let entries = [
            ("b", 1e-45),
            ("a", 0.5),
            ("\u{ff5e}", 3.0),
            ("😀", f32::MAX),
        ];
        let known = vector(&entries).unwrap();
        let tokens: Vec<&str> = known.entries().iter().map(|(token, _)| &**token).collect();
        assert_eq!(tokens, ["a", "b", "\u{ff5e}", "😀"], "by code points");
        assert_eq!(SparseVector::from_blob(&known.to_blob()), Some(known));
        let none = SparseVector::default();
        assert_eq!(SparseVector::from_blob(&none.to_blob()), Some(none));
        let one = vector(&[("ab", 1.0)]).unwrap().to_blob();
        assert_eq!(one, [2, b'a', b'b', 0, 0, 0x80, 0x3f]);
    }

    #[test]
    fn damaged_blobs_are_no_vectors() {
        let weight = 1_f32.to_le_bytes();
        let entry = |token: &[u8], weight: [u8; 4]| {
            [&[u8::try_from(token.len()).unwrap()], token, &weight].concat()
        };
        let twice = [entry(b"a", weight), entry(b"a", weight)].concat();
        let descending = [entry(b"b", weight), entry(b"a", weight)].concat();
        let wrong = [
            vec![],
            vec![0, 0],
            vec![1, b'a', 0, 0],
            vec![9, b'a'],
            entry(b"", weight),
            entry(b"\xff", weight),
            entry(b"a", f32::NAN.to_le_bytes()),
            entry(b"a", 0_f32.to_le_bytes()),
            entry(b"a", (-1_f32).to_le_bytes()),
            twice,
            descending,
        ];
        for blob in wrong {
            assert_eq!(SparseVector::from_blob(&blob), None, "{blob:?}");
        }
    }

    #[test]
    fn what_cannot_be_stored_is_named() {
        let long = "x".repeat(MAX_TOKEN_BYTES + 1);
        for (token, weight, message) in [
            ("", 1.0, "the vector has an empty token; leave it out"),
            (
                "a",
                0.0,
                "the vector has the weight 0 for \"a\"; a weight is a finite float32 above 0, and a token \
                 without one is left out",
            ),
            ("a", -0.5, "the vector has the weight -0.5 for \"a\""),
            ("a", f32::NAN, "the vector has the weight NaN for \"a\""),
            (
                "a",
                f32::INFINITY,
                "the vector has the weight inf for \"a\"",
            ),
            (
                &long,
                1.0,
                "the vector has a token of 256 bytes, and at most 255",
            ),
        ] {
            let error = vector(&[(token, weight)]).unwrap_err();
            assert!(error.message().starts_with(message), "{error}");
            assert_eq!(error.code(), ErrorCode::InvalidVector);
        }
        let error = vector(&[("a", 1.0), ("b", 1.0), ("a", 2.0)]).unwrap_err();
        assert!(
            error
                .message()
                .starts_with("the vector has the token \"a\" twice"),
            "{error}"
        );
        let most: Vec<(String, f32)> = (0..MAX_TOKENS).map(|n| (n.to_string(), 1.0)).collect();
        let one_more = [most.clone(), vec![("x".to_owned(), 1.0)]].concat();
        assert!(SparseVector::new(most, "it", ErrorCode::InvalidVector).is_ok());
        let error = SparseVector::new(one_more, "it", ErrorCode::InvalidVector).unwrap_err();
        let message = "it has 32769 tokens, and at most 32768 are stored";
        assert!(error.message().starts_with(message), "{error}");
    }
}
