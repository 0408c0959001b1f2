//! Lists in brackets whose lines begin at the margin, as many people close them:
//!
//! ```yaml
//! tags: [
//!   a
//! ]
//! ```
//!
//! YAML requires an indent. A block that the parser rejects is tried again with a space before these
//! lines.

/// Put a space before each line at the margin that is inside of brackets; None without such lines.
///
/// Also returns for each character of the result its offset in the block, in bytes.
pub fn indented(block: &str) -> Option<(String, Vec<usize>)> {
    let mut text = String::with_capacity(block.len());
    let mut offsets = Vec::with_capacity(block.len());
    let mut scanner = Scanner::default();
    let mut is_changed = false;
    let mut is_line_start = true;
    for (at, character) in block.char_indices() {
        if is_line_start && scanner.depth > 0 && !matches!(character, ' ' | '\t' | '\n') {
            text.push(' ');
            offsets.push(at);
            is_changed = true;
        }
        text.push(character);
        offsets.push(at);
        scanner.add(character);
        is_line_start = character == '\n';
    }
    is_changed.then_some((text, offsets))
}

/// Counts the brackets that are open, outside of quotes and comments.
#[derive(Default)]
struct Scanner {
    depth: usize,
    /// The quote that is open.
    quote: Option<char>,
    is_comment: bool,
    /// The last character, and the last one other than white space.
    before: Option<char>,
    last: Option<char>,
}

impl Scanner {
    fn add(&mut self, character: char) {
        // A bracket or a quote opens at the start of a value alone.
        let is_start = matches!(self.last, None | Some(':' | '-' | ',' | '[' | '{'))
            && (self.depth > 0 || self.before.is_none_or(char::is_whitespace));
        let is_spaced = self.before.is_none_or(char::is_whitespace);
        match (character, self.quote) {
            ('\n', _) => self.is_comment = false,
            _ if self.is_comment => {}
            (_, Some(quote)) => {
                let is_escaped = quote == '"' && self.before == Some('\\');
                if character == quote && !is_escaped {
                    self.quote = None;
                }
            }
            ('#', None) if is_spaced => self.is_comment = true,
            ('"' | '\'', None) if is_start => self.quote = Some(character),
            ('[' | '{', None) if is_start => self.depth += 1,
            (']' | '}', None) => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        if !character.is_whitespace() && !self.is_comment {
            self.last = Some(character);
        }
        self.before = Some(character);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_inside_of_brackets_change() {
        let (text, offsets) = indented("a: [\nb, # [\n]\nc: é\n").unwrap_or_default();
        assert_eq!(text, "a: [\n b, # [\n ]\nc: é\n");
        assert_eq!(offsets.len(), text.chars().count());
        assert_eq!(offsets[5..8], [5, 5, 6]);
        for block in [
            "a: [b]\nc: d\n",
            "a: \"[\"\nb: '{'\nc: x[\nd: e\n",
            "# [\na: b",
        ] {
            assert_eq!(indented(block), None);
        }
    }
}
