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
            // So that offsets, which are sums of these, stay within 64 bits. FTS5 writes the mark of a column in one byte.
            let number = u32::try_from(take_number(&mut rest)?).ok()?;
            (number != u32::from(COLUMN)).then_some(())?;
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

    /// A number as FTS5 defines it, the slow way, with the count of its bytes.
    fn number_of(bytes: &[u8]) -> Option<(u64, usize)> {
        let last = bytes.iter().take(8).position(|byte| *byte < 0x80);
        let (sevens, ninth) = match last {
            Some(last) => (&bytes[..=last], None),
            None => (bytes.get(..8)?, Some(bytes.get(8)?)),
        };
        let number = sevens
            .iter()
            .fold(0, |number, byte| number * 128 + u64::from(*byte & 0x7f));
        Some(match ninth {
            Some(byte) => (number * 256 + u64::from(*byte), 9),
            None => (number, sevens.len()),
        })
    }

    /// Every sequence of up to `longest` of some bytes.
    fn sequences(bytes: &[u8], longest: usize) -> Vec<Vec<u8>> {
        let mut all = vec![Vec::new()];
        let mut from = 0;
        for _ in 0..longest {
            let end = all.len();
            for at in from..end {
                let longer = bytes.iter().map(|byte| [&all[at][..], &[*byte]].concat());
                let longer: Vec<_> = longer.collect();
                all.extend(longer);
            }
            from = end;
        }
        all
    }

    #[test]
    fn every_short_sequence_is_the_number_that_it_says() {
        let every: Vec<u8> = (0..=255).collect();
        let long = sequences(&[0, 0x7f, 0x80, 0xff], 6);
        let ends = |bytes: &Vec<u8>| [&[0x81; 5][..], bytes].concat();
        let ends: Vec<_> = long.iter().map(ends).collect();
        for bytes in sequences(&every, 2).iter().chain(&long).chain(&ends) {
            let mut rest = bytes.as_slice();
            let found = take_number(&mut rest);
            let expected = number_of(bytes);
            assert_eq!(found, expected.map(|(number, _)| number), "{bytes:?}");
            if let Some((_, count)) = expected {
                assert_eq!(bytes.len() - rest.len(), count, "{bytes:?}");
            }
        }
    }

    #[test]
    fn every_number_comes_back_in_the_fewest_bytes() {
        let near = |power: u32| (-2..=2).map(move |more| (1_i64 << power) + more);
        let near = (14..=32)
            .flat_map(near)
            .filter_map(|number| u32::try_from(number).ok());
        for number in (0..=1 << 14).chain(near) {
            let mut bytes = Vec::new();
            put_number(&mut bytes, number);
            let bits = u32::BITS - number.leading_zeros();
            assert_eq!(bytes.len(), bits.div_ceil(7).max(1) as usize, "{number}");
            assert_eq!(number_of(&bytes), Some((number.into(), bytes.len())));
            for cut in 0..bytes.len() {
                assert_eq!(take_number(&mut &bytes[..cut]), None, "{number}");
            }
        }
    }

    #[test]
    fn every_short_sequence_that_is_a_position_list_is_read_as_it_counts() {
        let mut offsets = Vec::new();
        let mut lists = 0;
        for bytes in sequences(&[0, 1, 2, 3, 4, 5, 0x7f, 0x80, 0x81, 0xff], 5) {
            let Some((weight, count)) = weigh(&bytes) else {
                continue;
            };
            read_positions(&bytes, &mut offsets);
            let weights = offsets.iter().map(|offset| weight_at(*offset));
            assert_eq!(weights.sum::<u32>(), weight, "{bytes:?}");
            assert_eq!(offsets.len(), count as usize, "{bytes:?}");
            lists += 1;
        }
        assert!(lists > 10_000, "{lists}");
    }

    #[test]
    fn a_mark_of_a_column_in_more_bytes_is_no_position_list() {
        let largest = [0x8f, 0xff, 0xff, 0xff, 0x7f];
        let damaged = [&[0x80, 1][..], &largest, &largest, &largest].concat();
        assert_eq!(weigh(&damaged), None);
    }

    #[test]
    fn every_set_of_occurrences_comes_back() {
        let columns = [0_u32, 1, 4];
        let all = columns.map(|column| [0_u32, 125, 126, 20_000].map(|offset| (column, offset)));
        let all = all.concat();
        let (mut bytes, mut offsets) = (Vec::new(), Vec::new());
        for set in 1_u32..1 << all.len() {
            let occurrences = || all.iter().zip(0..).filter(|(_, bit)| set >> bit & 1 == 1);
            bytes.clear();
            let mut writer = PositionWriter::default();
            for ((column, offset), _) in occurrences() {
                writer.put(&mut bytes, *column, *offset);
            }
            let expected = occurrences()
                .map(|((column, offset), _)| u64::from(*column) << 32 | u64::from(*offset));
            read_positions(&bytes, &mut offsets);
            assert!(offsets.iter().copied().eq(expected), "{set:b}");
            let weight = occurrences().map(|((column, _), _)| WEIGHTS[*column as usize]);
            assert_eq!(weigh(&bytes), Some((weight.sum(), set.count_ones())));
        }
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
