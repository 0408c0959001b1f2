//! The encoding of numbers and position lists in FTS5
//! (<https://sqlite.org/fts5.html#the_fts5_data_table>).

/// The weight of an occurrence by column: path, title, summary, tags, content.
pub(super) const WEIGHTS: [u32; 5] = [3, 10, 5, 4, 1];
/// Marks the beginning of another column in a position list.
const COLUMN: u8 = 1;

/// Take a number off the front of `bytes`: seven bits a byte, highest first, eight in a ninth.
#[inline]
pub(super) fn take_number(bytes: &mut &[u8]) -> Option<u64> {
    // Nearly all are one byte.
    match bytes.split_first() {
        Some((first, rest)) if *first < 0x80 => {
            *bytes = rest;
            Some(u64::from(*first))
        }
        _ => take_long_number(bytes),
    }
}

fn take_long_number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for (offset, byte) in bytes.iter().enumerate() {
        if offset == 8 {
            *bytes = bytes.get(9..)?;
            return Some(number << 8 | u64::from(*byte));
        }
        number = number << 7 | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            *bytes = bytes.get(offset + 1..)?;
            return Some(number);
        }
    }
    None
}

/// Append a number below 2^35, as all of a position list are.
pub(super) fn put_number(bytes: &mut Vec<u8>, number: u32) {
    let mut shift = 28;
    while shift > 0 && number >> shift == 0 {
        shift -= 7;
    }
    while shift > 0 {
        #[allow(clippy::cast_possible_truncation, reason = "seven bits")]
        bytes.push((number >> shift & 0x7f) as u8 | 0x80);
        shift -= 7;
    }
    #[allow(clippy::cast_possible_truncation, reason = "seven bits")]
    bytes.push((number & 0x7f) as u8);
}

/// How much a term counts in a chunk, and how often it occurs there; None if this is not a position
/// list.
pub(super) fn weigh(positions: &[u8]) -> Option<(u32, u32)> {
    let (mut weight, mut count) = (0_u32, 0_u32);
    let mut a_column = WEIGHTS[0];
    let mut rest = positions;
    while let Some((first, behind)) = rest.split_first() {
        if *first == COLUMN {
            rest = behind;
            a_column = *WEIGHTS.get(usize::try_from(take_number(&mut rest)?).ok()?)?;
            continue;
        }
        if *first & 0x80 == 0 {
            rest = behind;
        } else {
            // So that offsets, which are sums of these, stay within 64 bits.
            u32::try_from(take_number(&mut rest)?).ok()?;
        }
        weight = weight.checked_add(a_column)?;
        count += 1;
    }
    (count > 0).then_some((weight, count))
}

/// The offsets of a position list in order: the column in the upper half, the offset in the lower.
pub(super) fn read_positions(positions: &[u8], offsets: &mut Vec<u64>) {
    offsets.clear();
    let mut offset = 0;
    let mut rest = positions;
    while let Some(number) = take_number(&mut rest) {
        if number == u64::from(COLUMN) {
            offset = take_number(&mut rest).unwrap_or_default() << 32;
        } else {
            offset += number.saturating_sub(2);
            offsets.push(offset);
        }
    }
}

/// Return the weight of an occurrence at an offset.
pub(super) fn weight_at(offset: u64) -> u32 {
    let column = usize::try_from(offset >> 32).unwrap_or(usize::MAX);
    WEIGHTS.get(column).copied().unwrap_or_default()
}

/// Writes the position list of one term in one chunk.
#[derive(Debug, Default)]
pub(super) struct PositionWriter {
    column: u32,
    offset: u32,
}

impl PositionWriter {
    /// Append an occurrence; they come in order.
    pub fn put(&mut self, bytes: &mut Vec<u8>, column: u32, offset: u32) {
        if column != self.column {
            bytes.push(COLUMN);
            put_number(bytes, column);
            (self.column, self.offset) = (column, 0);
        }
        put_number(bytes, offset - self.offset + 2);
        self.offset = offset;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        let numbers = [0, 1, 2, 127, 128, 16383, 16384, 1 << 21, 1 << 28, u32::MAX];
        let mut bytes = Vec::new();
        for number in numbers {
            put_number(&mut bytes, number);
        }
        let mut rest = bytes.as_slice();
        for number in numbers {
            assert_eq!(take_number(&mut rest), Some(u64::from(number)));
        }
        assert_eq!(take_number(&mut rest), None);
        assert_eq!(take_number(&mut [0x80].as_slice()), None);
        let mut nine: &[u8] = &[0xff; 9];
        assert_eq!(take_number(&mut nine), Some(u64::MAX));
        assert!(nine.is_empty());
    }

    #[test]
    fn occurrences_come_back() {
        let occurrences = [(0, 0), (0, 7), (1, 200), (4, 0), (4, 20_000), (4, 20_001)];
        let mut bytes = Vec::new();
        let mut writer = PositionWriter::default();
        for (column, offset) in occurrences {
            writer.put(&mut bytes, column, offset);
        }
        assert_eq!(weigh(&bytes), Some((3 + 3 + 10 + 3, 6)));
        let mut offsets = Vec::new();
        read_positions(&bytes, &mut offsets);
        let expected =
            occurrences.map(|(column, offset)| u64::from(column) << 32 | u64::from(offset));
        assert_eq!(offsets, expected);
        assert_eq!(weight_at(offsets[2]), 10);
        let too_far = [0x90, 0x80, 0x80, 0x80, 0];
        for wrong in [&[][..], &[1, 5, 2], &[1], &[1, 4], &[0x80], &too_far] {
            assert_eq!(weigh(wrong), None, "{wrong:?}");
        }
    }
}
