//! Patterns for whole texts: `*`, `?` and sets in brackets, as SQLite's GLOB has them.

/// A pattern, with its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glob {
    source: String,
    parts: Vec<GlobPart>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum GlobPart {
    /// `*`: any run of characters, even of none.
    Any,
    /// `?`: one character.
    One,
    /// A character of these ranges, or outside them.
    Set {
        negated: bool,
        ranges: Vec<(char, char)>,
    },
    Letter(char),
}

/// Why a pattern is invalid.
#[derive(Debug, PartialEq, Eq)]
pub enum BadGlob {
    /// A bracket is not closed.
    OpenBracket,
    /// A range ends before it begins, so nothing can match it.
    ReversedRange(char, char),
}

impl Glob {
    /// Read a pattern.
    pub fn new(source: &str) -> Result<Self, BadGlob> {
        let mut parts = Vec::new();
        let mut rest = source.chars();
        while let Some(c) = rest.next() {
            parts.push(match c {
                '*' => GlobPart::Any,
                '?' => GlobPart::One,
                '[' => set(&mut rest)?,
                letter => GlobPart::Letter(letter),
            });
        }
        Ok(Self {
            source: source.to_owned(),
            parts,
        })
    }

    /// Return the pattern as written.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The text that everything it matches begins with.
    pub fn literal_prefix(&self) -> String {
        let letters = self.parts.iter().map_while(|part| match part {
            GlobPart::Letter(letter) => Some(letter),
            _ => None,
        });
        letters.collect()
    }

    /// Whether it matches the whole text.
    pub fn matches(&self, text: &str) -> bool {
        // Where a part does not match, the last `*` takes one more character.
        let mut text = text.chars();
        let mut part = 0;
        let mut retry: Option<(usize, std::str::Chars<'_>)> = None;
        loop {
            if self.parts.get(part) == Some(&GlobPart::Any) {
                part += 1;
                retry = Some((part, text.clone()));
                continue;
            }
            match (self.parts.get(part), text.next()) {
                (None, None) => return true,
                (Some(wanted), Some(c)) if wanted.takes(c) => part += 1,
                _ => {
                    let Some((after, mut longer)) = retry else {
                        return false;
                    };
                    if longer.next().is_none() {
                        return false;
                    }
                    part = after;
                    text = longer.clone();
                    retry = Some((after, longer));
                }
            }
        }
    }
}

impl GlobPart {
    fn takes(&self, c: char) -> bool {
        match self {
            Self::Any => false,
            Self::One => true,
            Self::Set { negated, ranges } => {
                ranges.iter().any(|(from, to)| (*from..=*to).contains(&c)) != *negated
            }
            Self::Letter(letter) => *letter == c,
        }
    }
}

/// The set after an opening bracket, up to the closing one. A `]` that comes first is a member.
fn set(rest: &mut std::str::Chars<'_>) -> Result<GlobPart, BadGlob> {
    let negated = rest.as_str().starts_with(['!', '^']);
    if negated {
        rest.next();
    }
    let mut ranges: Vec<(char, char)> = Vec::new();
    loop {
        match rest.next().ok_or(BadGlob::OpenBracket)? {
            ']' if !ranges.is_empty() => return Ok(GlobPart::Set { negated, ranges }),
            from => {
                let mut ahead = rest.clone();
                let to = match (ahead.next(), ahead.next()) {
                    (Some('-'), Some(to)) if to != ']' => {
                        *rest = ahead;
                        to
                    }
                    _ => from,
                };
                if to < from {
                    return Err(BadGlob::ReversedRange(from, to));
                }
                ranges.push((from, to));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, text: &str) -> bool {
        Glob::new(pattern).unwrap().matches(text)
    }

    #[test]
    fn patterns_match_whole_texts() {
        for (pattern, text) in [
            ("journal#j-*", "journal#j-2027"),
            ("*", ""),
            ("*/*", "a/b/c"),
            ("b?d", "büd"),
            ("[abc]x", "bx"),
            ("[!abc]x", "dx"),
            ("[^a-c]x", "dx"),
            ("[a-c-]", "-"),
            ("[]a]", "]"),
            ("a*b*c", "a1b2bc3c"),
            ("plain", "plain"),
        ] {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [
            ("btree", "btree-cache"),
            ("b?d", "bd"),
            ("[!a]", ""),
            ("a*b", "abc"),
            ("Plain", "plain"),
        ] {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
    }

    #[test]
    fn invalid_patterns_are_refused() {
        for open in ["[ab", "[", "[]", "[!]", "x[a-"] {
            assert_eq!(Glob::new(open), Err(BadGlob::OpenBracket), "{open}");
        }
        for reversed in ["[z-a]", "x[!0-9z-a]*", "[z-a"] {
            let error = BadGlob::ReversedRange('z', 'a');
            assert_eq!(Glob::new(reversed), Err(error), "{reversed}");
        }
    }

    #[test]
    fn many_stars_do_not_take_forever() {
        let pattern = "*a".repeat(200) + "b";
        assert!(!matches(&pattern, &"a".repeat(512)));
    }
}
