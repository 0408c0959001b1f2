//! The table of vectors, read from a file of safetensors: a header of JSON, and numbers.

use serde_json::Value;

use crate::error::{Error, ErrorCode, Result};

/// Bytes of a header. The format allows 100 MB; a table has a few names.
const LONGEST_HEADER: usize = 1 << 20;

/// With larger numbers the sum of weighted rows could overflow.
const LARGEST: f32 = 1e15;

/// A vector for each row, and for each piece its row and its weight.
#[derive(Debug)]
pub(super) struct VectorTable {
    rows: Rows,
    dimensions: usize,
    /// The row of each piece; None if pieces are rows.
    rows_of_pieces: Option<Vec<usize>>,
    /// The factor on the vector of each piece; None for 1.
    weights: Option<Vec<f32>>,
}

#[derive(Debug)]
enum Rows {
    /// Rounded to bytes, on one scale for the whole table. It drops out, since only directions count.
    Bytes(Vec<i8>),
    Floats(Vec<f32>),
}

/// A tensor of the file.
struct Tensor<'b> {
    kind: &'b str,
    shape: Vec<usize>,
    bytes: &'b [u8],
}

impl VectorTable {
    /// Read a table that has a row for each of `pieces`.
    pub fn read(bytes: &[u8], pieces: usize) -> Result<Self> {
        let (header, data) = split(bytes)?;
        let Some(table) = tensor(&header, data, "embeddings")? else {
            return Err(unusable("its model.safetensors has no embeddings"));
        };
        let [count, dimensions] = table.shape[..] else {
            return Err(unusable("its embeddings are no table of rows"));
        };
        if dimensions == 0 {
            return Err(unusable("its embeddings have rows without numbers"));
        }
        let rows = match table.kind {
            "I8" => Rows::Bytes(table.bytes.iter().map(|byte| byte.cast_signed()).collect()),
            _ => Rows::Floats(floats(&table, "embeddings")?),
        };
        let mapping = tensor(&header, data, "mapping")?;
        let rows_of_pieces = mapping
            .map(|mapping| indices(&mapping, count))
            .transpose()?;
        let mapped = rows_of_pieces.as_ref().map_or(count, Vec::len);
        let weights = tensor(&header, data, "weights")?;
        let weights = weights
            .map(|weights| floats(&weights, "weights"))
            .transpose()?;
        let weighted = weights.as_ref().map_or(mapped, Vec::len);
        if mapped.min(weighted) < pieces {
            return Err(unusable(format!(
                "its tokenizer has {pieces} pieces and its table {}; they do not belong together",
                mapped.min(weighted)
            )));
        }
        Ok(Self {
            rows,
            dimensions,
            rows_of_pieces,
            weights,
        })
    }

    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Add the vector of a piece to a sum.
    pub fn add(&self, piece: usize, sum: &mut [f32]) {
        let row = match &self.rows_of_pieces {
            Some(rows) => rows.get(piece).copied(),
            None => Some(piece),
        };
        let Some(start) = row.and_then(|row| row.checked_mul(self.dimensions)) else {
            return;
        };
        let weight = match &self.weights {
            Some(weights) => weights.get(piece).copied().unwrap_or_default(),
            None => 1.0,
        };
        let end = start.saturating_add(self.dimensions);
        match &self.rows {
            Rows::Bytes(rows) => {
                for (total, number) in sum.iter_mut().zip(rows.get(start..end).unwrap_or_default())
                {
                    *total += weight * f32::from(*number);
                }
            }
            Rows::Floats(rows) => {
                for (total, number) in sum.iter_mut().zip(rows.get(start..end).unwrap_or_default())
                {
                    *total += weight * number;
                }
            }
        }
    }
}

/// The header and the numbers of a file.
fn split(bytes: &[u8]) -> Result<(Value, &[u8])> {
    let broken = || unusable("its model.safetensors is not one, or is cut off");
    let (length, rest) = bytes.split_first_chunk().ok_or_else(broken)?;
    let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| broken())?;
    if length > LONGEST_HEADER {
        return Err(broken());
    }
    let (header, data) = rest.split_at_checked(length).ok_or_else(broken)?;
    let header: Value = serde_json::from_slice(header).map_err(|_| broken())?;
    Ok((header, data))
}

/// A tensor by its name; None without it.
fn tensor<'b>(header: &'b Value, data: &'b [u8], name: &str) -> Result<Option<Tensor<'b>>> {
    let Some(entry) = header.get(name) else {
        return Ok(None);
    };
    let broken = || unusable(format!("its model.safetensors has no readable {name}"));
    let numbers = |key: &str| -> Option<Vec<usize>> {
        let all = entry[key].as_array()?.iter();
        all.map(|number| usize::try_from(number.as_u64()?).ok())
            .collect()
    };
    let kind = entry["dtype"].as_str().ok_or_else(broken)?;
    let shape = numbers("shape").ok_or_else(broken)?;
    let [start, end] = numbers("data_offsets").ok_or_else(broken)?[..] else {
        return Err(broken());
    };
    let bytes = data.get(start..end).ok_or_else(broken)?;
    let width = match kind {
        "I8" => 1,
        "F16" => 2,
        "F32" | "I32" => 4,
        "F64" | "I64" => 8,
        _ => {
            return Err(unusable(format!(
                "its {name} are of the type {kind:?}; expected I8, F16, F32 or F64"
            )));
        }
    };
    let count = shape
        .iter()
        .try_fold(1_usize, |all, axis| all.checked_mul(*axis));
    if count.and_then(|count| count.checked_mul(width)) != Some(bytes.len()) {
        return Err(broken());
    }
    Ok(Some(Tensor { kind, shape, bytes }))
}

/// The numbers of a tensor; an error for one that is not finite.
fn floats(tensor: &Tensor<'_>, name: &str) -> Result<Vec<f32>> {
    let (twos, fours, eights) = (
        tensor.bytes.as_chunks().0,
        tensor.bytes.as_chunks().0,
        tensor.bytes.as_chunks().0,
    );
    #[allow(clippy::cast_possible_truncation, reason = "vectors are kept as f32")]
    let found: Vec<f32> = match tensor.kind {
        "F16" => twos
            .iter()
            .map(|bytes| from_half(u16::from_le_bytes(*bytes)))
            .collect(),
        "F32" => fours
            .iter()
            .map(|bytes| f32::from_le_bytes(*bytes))
            .collect(),
        "F64" => eights
            .iter()
            .map(|bytes| f64::from_le_bytes(*bytes) as f32)
            .collect(),
        kind => return Err(unusable(format!("its {name} are of the type {kind:?}"))),
    };
    // NaN compares as false.
    if found.iter().all(|number| number.abs() <= LARGEST) {
        Ok(found)
    } else {
        Err(unusable(format!(
            "its {name} have a number that is not finite, or above {LARGEST:e}"
        )))
    }
}

/// The numbers of a tensor as rows of a table of `count`.
fn indices(tensor: &Tensor<'_>, count: usize) -> Result<Vec<usize>> {
    let found: Option<Vec<usize>> = match tensor.kind {
        "I32" => {
            let numbers = tensor.bytes.as_chunks().0.iter();
            numbers
                .map(|bytes| usize::try_from(i32::from_le_bytes(*bytes)).ok())
                .collect()
        }
        "I64" => {
            let numbers = tensor.bytes.as_chunks().0.iter();
            numbers
                .map(|bytes| usize::try_from(i64::from_le_bytes(*bytes)).ok())
                .collect()
        }
        _ => None,
    };
    match found {
        Some(rows) if rows.iter().all(|row| *row < count) => Ok(rows),
        _ => Err(unusable("its mapping does not name rows of its embeddings")),
    }
}

/// A number of 16 bits (IEEE 754 binary16).
fn from_half(bits: u16) -> f32 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let exponent = i32::from((bits >> 10) & 0x1F);
    let fraction = f32::from(bits & 0x3FF) / 1024.0;
    match exponent {
        0 => sign * fraction * 2.0_f32.powi(-14),
        31 if fraction == 0.0 => sign * f32::INFINITY,
        31 => f32::NAN,
        _ => sign * (1.0 + fraction) * 2.0_f32.powi(exponent - 15),
    }
}

/// The error for a file that cannot be used.
pub(super) fn unusable(why: impl Into<String>) -> Error {
    Error::new(ErrorCode::InvalidOption, why)
}

#[cfg(test)]
mod tests {
    use super::from_half;

    #[test]
    fn halves_are_read() {
        for (bits, expected) in [
            (0x0000, 0.0),
            (0x3C00, 1.0),
            (0xC000, -2.0),
            (0x3555, 0.333_251_95),
            (0x0001, 5.960_464_5e-8),
            (0x7BFF, 65504.0),
        ] {
            assert_eq!(from_half(bits).to_bits(), f32::to_bits(expected));
        }
        assert!(from_half(0x7C00).is_infinite());
        assert!(from_half(0x7C01).is_nan());
    }
}
