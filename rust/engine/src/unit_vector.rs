//! Vectors as numbers: valid vectors, stored vectors, and comparisons (spec/index.md, "Vectors").

use rusqlite::types::{FromSqlError, Type};

use crate::error::{Error, ErrorCode, Result};

/// How far from 1 rounding to `f32` can leave the square of a unit vector's length, with room.
const ROUNDING: f64 = 2.5e-7;

/// Reject vectors without a direction: NaN and infinities.
pub fn check(vector: &[f32], name: &str, code: ErrorCode) -> Result<()> {
    match vector.iter().position(|value| !value.is_finite()) {
        None => Ok(()),
        Some(offset) => Err(Error::new(
            code,
            format!("{name} is not finite at position {offset}; embed the text again"),
        )),
    }
}

/// Return the vector with length 1; empty for a vector of zeros, which has no direction.
///
/// A vector of length 1 is unchanged to the bit, so that a vector read from an index can be written
/// again unchanged.
pub fn unit(vector: &[f32]) -> Vec<f32> {
    let square: f64 = vector.iter().map(|value| f64::from(*value).powi(2)).sum();
    if square == 0.0 {
        return Vec::new();
    }
    if (square - 1.0).abs() <= ROUNDING {
        return vector.to_vec();
    }
    let length = square.sqrt();
    #[allow(clippy::cast_possible_truncation, reason = "vectors are kept as f32")]
    let scaled = |value: &f32| (f64::from(*value) / length) as f32;
    vector.iter().map(scaled).collect()
}

/// The stored bytes for a chunk that can have no vector. An empty blob is damage.
pub const NONE: [u8; 1] = [1];

/// The bytes a vector is stored as: `f32`, little-endian; [`NONE`] for an empty one.
pub fn to_blob(vector: &[f32]) -> Vec<u8> {
    if vector.is_empty() {
        return NONE.to_vec();
    }
    vector
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

/// Append the numbers of a stored vector to `values`; [`NONE`] has none. False, with nothing appended,
/// where the blob is not a vector.
pub fn read_blob(blob: &[u8], values: &mut Vec<f32>) -> bool {
    if blob == NONE {
        return true;
    }
    let (numbers, rest) = blob.as_chunks::<4>();
    let whole = values.len();
    values.extend(numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)));
    let sound = !blob.is_empty()
        && rest.is_empty()
        && values[whole..].iter().all(|value| value.is_finite());
    if !sound {
        values.truncate(whole);
    }
    sound
}

/// The error that a row of `embeddings` does not hold a vector of this index: the file is damaged.
pub fn damaged(row: i64) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(
        0,
        Type::Blob,
        Box::new(FromSqlError::Other(
            format!("the vector of row {row} is not one").into(),
        )),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_vector_stays_as_it_is() {
        for vector in [
            vec![3.0, 4.0],
            vec![1e-45, 1e-45],
            vec![f32::MAX, -f32::MAX, 1.0],
            (0..1000_u16).map(|n| f32::from(n % 17) - 8.0).collect(),
        ] {
            let once = unit(&vector);
            let length: f64 = once.iter().map(|v| f64::from(*v).powi(2)).sum();
            assert!((length - 1.0).abs() < 2e-7, "{length}");
            assert_eq!(unit(&once), once);
        }
        assert_eq!(unit(&[3.0, 4.0]), [0.6, 0.8]);
        assert_eq!(unit(&[0.0, -0.0]), [0.0_f32; 0]);
        assert_eq!(unit(&[]), [0.0_f32; 0]);
    }

    #[test]
    fn blobs_keep_every_bit() {
        let vector = [0.5, -0.0, f32::MIN_POSITIVE, 1e-45, -1.0];
        let mut read = vec![9.0];
        assert!(read_blob(&to_blob(&vector), &mut read));
        assert_eq!(read[1..].to_vec(), vector);
        assert_eq!(read[2].to_bits(), (-0.0_f32).to_bits());
        assert!(read_blob(&to_blob(&[]), &mut read));
        assert_eq!(read.len(), 6);
        for wrong in [vec![], vec![0; 7], to_blob(&[1.0, f32::NAN])] {
            assert!(!read_blob(&wrong, &mut read));
            assert_eq!(read.len(), 6);
        }
        assert_eq!(to_blob(&[1.0]), [0, 0, 0x80, 0x3f]);
    }

    #[test]
    fn what_is_not_finite_is_named() {
        let error = check(&[1.0, f32::NAN], "the vector", ErrorCode::InvalidVector).unwrap_err();
        assert_eq!(
            error.message(),
            "the vector is not finite at position 1; embed the text again"
        );
    }
}
