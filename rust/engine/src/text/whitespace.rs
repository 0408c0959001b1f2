//! The ECMAScript whitespace set: what `\s` matches and `trim` removes in JavaScript.

/// Whether `c` is ECMAScript white space or a line terminator.
///
/// Not Unicode's `White_Space`: this set has U+FEFF, and has neither U+0085 nor U+001C–U+001F.
pub fn is_whitespace(c: char) -> bool {
    matches!(c, '\t'..='\r' | ' ' | '\u{A0}' | '\u{1680}' | '\u{2000}'..='\u{200A}')
        || matches!(
            c,
            '\u{2028}' | '\u{2029}' | '\u{202F}' | '\u{205F}' | '\u{3000}' | '\u{FEFF}'
        )
}

/// The words of `text`, split on runs of ECMAScript white space.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(is_whitespace).filter(|word| !word.is_empty())
}

/// `text` without ECMAScript white space at both ends.
pub fn trim(text: &str) -> &str {
    text.trim_matches(is_whitespace)
}

/// Append `text` to `out` with every run of white space made one space and the ends trimmed.
pub fn collapse_into(out: &mut String, text: impl Iterator<Item = char>) {
    let start = out.len();
    let mut gap = false;
    for c in text {
        if is_whitespace(c) {
            gap = true;
        } else {
            if gap && out.len() > start {
                out.push(' ');
            }
            gap = false;
            out.push(c);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_set_is_javascripts_and_not_unicodes() {
        let set: Vec<u32> = ('\0'..=char::MAX)
            .filter(|&c| is_whitespace(c))
            .map(u32::from)
            .collect();
        let expected: Vec<u32> = [0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x20, 0xA0, 0x1680]
            .into_iter()
            .chain(0x2000..=0x200A)
            .chain([0x2028, 0x2029, 0x202F, 0x205F, 0x3000, 0xFEFF])
            .collect();
        assert_eq!(set, expected);
    }

    #[test]
    fn runs_collapse_and_ends_go() {
        let mut out = String::from("kept ");
        collapse_into(&mut out, "\u{FEFF} a\t\u{2003}b\n".chars());
        assert_eq!(out, "kept a b");
    }
}
