//! A table of values by character.

const PAGE: usize = 256;

/// A value for each character, in pages of 256 characters, of which equal ones are stored once.
pub(super) struct Pages<T> {
    pages: Vec<u16>,
    values: Vec<T>,
}

impl<T: Copy + PartialEq> Pages<T> {
    /// The values of ranges of characters, given by the first and the last one. A later range counts more. Other
    /// characters have the value `default`.
    pub fn new(ranges: impl Iterator<Item = (char, char, T)>, default: T) -> Self {
        let mut all = vec![default; char::MAX as usize + 1];
        for (first, last, value) in ranges {
            all[first as usize..=last as usize].fill(value);
        }
        let mut read = Self {
            pages: Vec::new(),
            values: Vec::new(),
        };
        for page in all.chunks(PAGE) {
            let known = read.values.chunks(PAGE).position(|known| known == page);
            let number = known.unwrap_or(read.values.len() / PAGE);
            if known.is_none() {
                read.values.extend_from_slice(page);
            }
            read.pages.push(u16::try_from(number).unwrap_or_default());
        }
        read
    }

    /// The value of a character.
    pub fn of(&self, c: char) -> T {
        let number = c as usize;
        let page = usize::from(self.pages[number / PAGE]);
        self.values[page * PAGE + number % PAGE]
    }
}

/// Read ranges, one a line: the letter of the value, and the first and the last character in hexadecimal.
pub(super) fn ranges<T>(
    table: &'static str,
    value: impl Fn(&str) -> Option<T>,
) -> impl Iterator<Item = (char, char, T)> {
    table.lines().filter_map(move |line| {
        let mut fields = line.split(' ');
        let value = value(fields.next()?)?;
        let mut c = || char::from_u32(u32::from_str_radix(fields.next()?, 16).ok()?);
        let first = c()?;
        Some((first, c().unwrap_or(first), value))
    })
}
