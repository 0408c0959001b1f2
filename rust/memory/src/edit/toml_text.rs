//! TOML texts with the positions of their keys and values.

use toml_edit::{Document, DocumentMut, Table, TableLike};

/// A step from a table or an array to one of its items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The key of a table.
    Key(String),
    /// The index of an array.
    Index(usize),
}

/// A syntax error: a sentence, and the offset of the error in bytes.
#[derive(Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// The sentence, without a position.
    pub message: String,
    /// The offset in the text.
    pub offset: usize,
}

/// The offsets of a key and of its value, in bytes. For an item of an array both are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The offset of the key.
    pub key: usize,
    /// The offset of the value. The value of a table with a header begins at the header.
    pub value: usize,
}

/// A parsed TOML text.
#[derive(Debug)]
pub struct TomlText(Document<String>);

impl TomlText {
    /// Parse a text. Returns the first syntax error if there is one.
    pub fn parse(text: String) -> Result<Self, SyntaxError> {
        Document::parse(text)
            .map(Self)
            .map_err(|error| SyntaxError {
                message: error.message().replace('\n', ", "),
                offset: error.span().map_or(0, |span| span.start),
            })
    }

    /// The parsed tables and values.
    pub fn root(&self) -> &Table {
        self.0.as_table()
    }

    /// Return the position of a key or an item of an array; None if the text has none.
    pub fn position(&self, path: &[Step]) -> Option<Position> {
        let mut item = self.0.as_item();
        let mut key = None;
        for step in path {
            (key, item) = match step {
                Step::Key(name) => {
                    let (key, item) = item.as_table_like()?.get_key_value(name)?;
                    (key.span(), item)
                }
                Step::Index(index) => (None, item.get(*index)?),
            };
        }
        let value = item.span().or_else(|| key.clone())?.start;
        Some(Position {
            key: key.map_or(value, |span| span.start),
            value,
        })
    }

    /// Return the offset of character `index` of the string that begins at offset `value`.
    pub fn character(&self, value: usize, index: usize) -> usize {
        value + offset_in_string(&self.0.raw()[value..], index)
    }

    /// Return the line and the column of an offset, both from 1. The column counts characters.
    pub fn line_and_column(&self, offset: usize) -> (usize, usize) {
        line_and_column(self.0.raw(), offset)
    }
}

/// Return the line and the column of an offset, both from 1. The column counts characters.
pub fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    let lines = before.bytes().filter(|byte| *byte == b'\n').count();
    (lines + 1, before[start..].chars().count() + 1)
}

/// Return the offset of a character in a TOML string, which begins with its quotes.
fn offset_in_string(written: &str, index: usize) -> usize {
    let quotes = ["\"\"\"", "'''", "\"", "'"];
    let opening = quotes.iter().find(|quotes| written.starts_with(**quotes));
    let mut at = opening.map_or(0, |quotes| quotes.len());
    if at == 3 && written[at..].starts_with('\n') {
        at += 1;
    }
    let is_literal = written.starts_with('\'');
    for _ in 0..index {
        at += joined_lines(&written[at..], is_literal);
        at += match written[at..].strip_prefix('\\') {
            Some(escape) if !is_literal => match escape.chars().next() {
                Some('u') => r"\u0000".len(),
                Some('U') => r"\U00000000".len(),
                Some('x') => r"\x00".len(),
                _ => r"\n".len(),
            },
            _ => written[at..].chars().next().map_or(0, char::len_utf8),
        };
    }
    at + joined_lines(&written[at..], is_literal)
}

/// Return the length of backslashes at the ends of lines, and of the white space after them, which
/// join lines.
fn joined_lines(rest: &str, is_literal: bool) -> usize {
    let mut left = rest;
    while let Some(after) = left.strip_prefix('\\').filter(|_| !is_literal) {
        if !after.trim_start_matches([' ', '\t']).starts_with('\n') {
            break;
        }
        left = after.trim_start_matches([' ', '\t', '\n']);
    }
    rest.len() - left.len()
}

/// Return a TOML text without a table and the comments directly above it; None if it has no such table.
pub fn without_table(text: &str, path: &[String]) -> Option<String> {
    let mut document: DocumentMut = text.parse().ok()?;
    let (name, parents) = path.split_last()?;
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for parent in parents {
        table = table.get_mut(parent)?.as_table_like_mut()?;
    }
    table.remove(name)?;
    let rest = document.to_string();
    // The document is written with LF alone.
    let is_crlf = text
        .find('\n')
        .is_some_and(|end| text[..end].ends_with('\r'));
    Some(if is_crlf {
        rest.replace('\n', "\r\n")
    } else {
        rest
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(text: &str, path: &[Step]) -> Option<(usize, usize)> {
        let parsed = TomlText::parse(text.to_owned()).ok()?;
        let position = parsed.position(path)?;
        Some((position.key, position.value))
    }

    fn key(name: &str) -> Step {
        Step::Key(name.to_owned())
    }

    #[test]
    fn keys_and_values_have_positions() {
        let text = "a = 1\n[b.c]\n'd e' = [1, {f.g = [2]}]\n[[h]]\n[[h]]\ni = 3\n";
        let find = |part: &str| text.find(part);
        let pair = |key: usize, value: usize| Some((key, value));
        assert_eq!(at(text, &[key("a")]), pair(0, 4));
        assert_eq!(at(text, &[key("b")]), pair(7, 7));
        assert_eq!(at(text, &[key("b"), key("c")]), pair(9, 6));
        let list = [key("b"), key("c"), key("d e")];
        assert_eq!(at(text, &list), find("'d e'").zip(find("[1,")));
        let inner = [&list[..], &[Step::Index(1), key("f"), key("g")]].concat();
        assert_eq!(at(text, &inner), find("g =").zip(find("[2]")));
        let item = [&inner[..], &[Step::Index(0)]].concat();
        assert_eq!(at(text, &item), find("2]}").zip(find("2]}")));
        assert_eq!(
            at(text, &[key("h"), Step::Index(1), key("i")]),
            find("i =").zip(find("3\n"))
        );
        assert_eq!(at(text, &[key("h"), Step::Index(2)]), None);
        assert_eq!(at(text, &[key("a"), key("b")]), None);
    }

    #[test]
    fn a_table_is_removed_with_its_comment() {
        let text = "a = 1 # x\n\n# of c\n[b.c]\nd = 2\n\n# of e\n[b.e]\nf = 3\n[g]\n";
        let expected = "a = 1 # x\n\n# of e\n[b.e]\nf = 3\n[g]\n";
        let path = ["b".to_owned(), "c".to_owned()];
        assert_eq!(without_table(text, &path).as_deref(), Some(expected));
        let crlf = |text: &str| text.replace('\n', "\r\n");
        assert_eq!(without_table(&crlf(text), &path), Some(crlf(expected)));
        assert_eq!(without_table(text, &["c".to_owned()]), None);
    }

    proptest! {
        /// A mark in a string is found, however the string is written.
        #[test]
        fn a_character_of_a_string_has_an_offset(before in "[a-z\"'\\\\é\u{1F600}]{0,8}", after in "[a-z'é]{0,4}") {
            let escaped = format!("{before}§{after}").replace('\\', "\\\\").replace('"', "\\\"");
            let plain = format!("{before}§{after}").replace('\'', "");
            for written in [
                format!("\"\\u00e9{escaped}\""),
                format!("\"\"\"\n{escaped}\"\"\""),
                format!("\"\"\"\\\n \n {escaped}\"\"\""),
                format!("'{plain}'"),
                format!("'''\n{plain}'''"),
            ] {
                let text = format!("k = {written}");
                let parsed = TomlText::parse(text.clone()).map_err(|error| TestCaseError::fail(error.message))?;
                let value = parsed.root().get("k").and_then(|item| item.as_str()).unwrap_or_default();
                let index = value.chars().position(|one| one == '§').unwrap_or_default();
                prop_assert!(text[parsed.character(4, index)..].starts_with('§'), "{}", text);
            }
        }
    }
}
