//! Texts that look like secrets: keys, tokens, passwords and card numbers (spec/memory.md, "Secrets").
//!
//! Every pattern begins where a token begins, and repeats single classes of characters, so a search takes
//! linear time.

use std::sync::LazyLock;

use regex::Regex;

use crate::text::is_word;

/// A text that looks like a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secret {
    /// The kind, such as "AWS access key".
    pub kind: &'static str,
    /// The line, from 1.
    pub line: usize,
    /// The first characters, which name the issuer; empty for a password.
    pub start: String,
}

const PASSWORD: &str = "password";
const PASSWORD_IN_ADDRESS: &str = "password in an address";
/// Words that stand for a password in examples of addresses.
const NOT_PASSWORDS: [&str; 7] = [
    "password", "pass", "passwd", "pwd", "secret", "token", "port",
];

/// The kinds of tokens, each with its pattern.
const TOKENS: [(&str, &str); 12] = [
    ("AWS access key", r"(?:AKIA|ASIA)[A-Z0-9]{16}"),
    (
        "GitHub token",
        r"(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,})",
    ),
    (
        "GitLab token",
        r"gl(?:pat|ptt|rt|dt|soat)-[A-Za-z0-9_-]{20,}",
    ),
    ("Slack token", r"xox[abeprs]-[A-Za-z0-9-]{10,}"),
    (
        "Slack webhook",
        r"https://hooks\.slack\.com/services/[A-Za-z0-9/]{20,}",
    ),
    (
        "API key",
        r"sk-(?:ant-|proj-|or-v1-|svcacct-)?[A-Za-z0-9_-]{20,}",
    ),
    ("Google API key", r"AIza[A-Za-z0-9_-]{35}"),
    (
        "Stripe key",
        r"(?:sk|rk|whsec)_(?:live_|test_)?[A-Za-z0-9]{20,}",
    ),
    ("npm token", r"npm_[A-Za-z0-9]{36}"),
    ("PyPI token", r"pypi-[A-Za-z0-9_-]{50,}"),
    ("Hugging Face token", r"hf_[A-Za-z0-9]{30,}"),
    (
        "JSON Web Token",
        r"eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
    ),
];
/// Tokens of a fixed length. A longer text is no token.
const OF_FIXED_LENGTH: [&str; 3] = ["AWS access key", "Google API key", "npm token"];

static PATTERNS: LazyLock<Option<Patterns>> = LazyLock::new(|| Patterns::new().ok());

struct Patterns {
    hints: Regex,
    tokens: Vec<(&'static str, Regex)>,
    key_begin: Regex,
    key_end: Regex,
    password: Regex,
    in_url: Regex,
    card: Regex,
    issuer: Regex,
    placeholder: Regex,
    uuid: Regex,
}

impl Patterns {
    fn new() -> Result<Self, regex::Error> {
        let token = |(kind, pattern): (&'static str, &str)| {
            let is_address = pattern.starts_with("https");
            let before = if is_address {
                ""
            } else {
                "(?:^|[^A-Za-z0-9_+/-])"
            };
            Ok((kind, Regex::new(&format!("{before}({pattern})"))?))
        };
        Ok(Self {
            hints: Regex::new(
                r"-----BEGIN |A[KS]IA|gh[pousr]_|github_pat_|gl(?:pat|ptt|rt|dt|soat)-|xox[abeprs]-|hooks\.slack|sk-|AIza|[sr]k_|whsec_|npm_|pypi-|hf_|eyJ",
            )?,
            tokens: TOKENS
                .into_iter()
                .map(token)
                .collect::<Result<_, regex::Error>>()?,
            key_begin: Regex::new(
                r"-----BEGIN (?:[A-Z0-9]{1,10} ){0,3}PRIVATE KEY(?: BLOCK)?-----",
            )?,
            key_end: Regex::new("-----END [A-Z0-9 ]{0,50}-----")?,
            password: Regex::new(
                r#"(?i)(?:^|[^\p{L}\p{N}])(?:password|passwd|passphrase|passwort|wachtwoord|pwd|secret|api[_ -]?key|(?:access|auth|api|bearer|secret)[_ -]?token|(?:client|secret|access)[_ -]?(?:secret|key))['"`]{0,2}[ \t]{0,3}(?::=|=>|[:=]|[ \t](?:is|ist))[ \t]{0,3}['"`]?([^\s'"`,;<>]{8,200})"#,
            )?,
            in_url: Regex::new(
                r#"(?:^|[^A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s/:@'"<>]{1,100}:([^\s/@'"<>]{3,200})@"#,
            )?,
            card: Regex::new(
                r"(?:^|[^\w.+-])([0-9]{13,19}|[0-9]{4} [0-9]{4} [0-9]{4} [0-9]{4}|[0-9]{4}-[0-9]{4}-[0-9]{4}-[0-9]{4}|3[47][0-9]{2} [0-9]{6} [0-9]{5}|3[47][0-9]{2}-[0-9]{6}-[0-9]{5})",
            )?,
            issuer: Regex::new(
                r"\A(?:4(?:[0-9]{12}|[0-9]{15}|[0-9]{18})|(?:5[1-5]|2[2-7])[0-9]{14}|3[47][0-9]{13}|6(?:011|5[0-9]{2})[0-9]{12}|35[2-8][0-9]{13})\z",
            )?,
            placeholder: Regex::new(
                r"(?i)[.…]{3}|[*•]{3}|x{4}|[<{$%]|example|sample|placeholder|changeme|redacted|dummy|your[_-]?|\.(?:env|md|py|json|ya?ml|txt|toml)\b|^(?:[a-z_]+\.)+[a-z_]+\(|\(|^https?://|^(?:process|os)\.",
            )?,
            uuid: Regex::new(r"(?i)\A[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\z")?,
        })
    }
}

/// The first and the last byte, excluded, of a secret, and its kind.
type Span = (usize, usize, &'static str);

/// Return the likely secrets of a text in their order, one for each place.
///
/// UUIDs, digests, telephone numbers and placeholders such as `<token>` are none. Takes linear time.
pub fn find_secrets(text: &str) -> Vec<Secret> {
    let mut spans = spans(text);
    spans.sort_by_key(|(start, end, _)| (*start, usize::MAX - end));
    let mut found = Vec::new();
    let (mut line, mut at, mut last_end) = (1, 0, 0);
    for (start, end, kind) in spans {
        if !found.is_empty() && start < last_end {
            continue;
        }
        last_end = end;
        line += text[at..start].matches('\n').count();
        at = start;
        let is_password = kind.starts_with(PASSWORD);
        let beginning = text[start..end]
            .chars()
            .take(if is_password { 0 } else { 4 });
        found.push(Secret {
            kind,
            line,
            start: beginning.collect(),
        });
    }
    found
}

/// Return a text with `[secret]` in the place of each secret.
pub fn without_secrets(text: &str) -> String {
    let mut spans = spans(text);
    spans.sort_unstable();
    let mut kept = String::with_capacity(text.len());
    let mut at = 0;
    for (start, end, _) in spans {
        if end > at {
            if start >= at {
                kept.push_str(&text[at..start]);
                kept.push_str("[secret]");
            }
            at = end;
        }
    }
    kept.push_str(&text[at..]);
    kept
}

/// The secrets of a text, kind by kind. They may overlap.
fn spans(text: &str) -> Vec<Span> {
    let Some(patterns) = &*PATTERNS else {
        return Vec::new();
    };
    let mut spans = Vec::new();
    if patterns.hints.is_match(text) {
        patterns.private_keys(text, &mut spans);
        for (kind, pattern) in &patterns.tokens {
            patterns.tokens_of(kind, pattern, text, &mut spans);
        }
    }
    for (kind, pattern) in [
        (PASSWORD, &patterns.password),
        (PASSWORD_IN_ADDRESS, &patterns.in_url),
    ] {
        for found in pattern.captures_iter(text).filter_map(|found| found.get(1)) {
            let is_secret = if kind == PASSWORD {
                patterns.is_password(found.as_str())
            } else {
                patterns.is_password_of_url(found.as_str())
            };
            if is_secret {
                spans.push((found.start(), found.end(), kind));
            }
        }
    }
    patterns.cards(text, &mut spans);
    spans
}

impl Patterns {
    /// Add each private key with all of its lines; a key without an end is its first line.
    fn private_keys(&self, text: &str, spans: &mut Vec<Span>) {
        let mut at = 0;
        while let Some(begin) = self.key_begin.find_at(text, at) {
            let end = self.key_end.find_at(text, begin.end());
            at = end.map_or(begin.end(), |end| end.end());
            spans.push((begin.start(), at, "private key"));
            if end.is_none() {
                return;
            }
        }
    }

    fn tokens_of(&self, kind: &'static str, pattern: &Regex, text: &str, spans: &mut Vec<Span>) {
        let found = pattern.captures_iter(text).filter_map(|found| found.get(1));
        for found in found {
            let goes_on = text[found.end()..].starts_with(|next: char| {
                next.is_ascii_alphanumeric() || matches!(next, '_' | '-')
            });
            let is_cut = goes_on && OF_FIXED_LENGTH.contains(&kind);
            let has_digit = found.as_str().bytes().any(|byte| byte.is_ascii_digit());
            if has_digit && !is_cut && !self.placeholder.is_match(found.as_str()) {
                spans.push((found.start(), found.end(), kind));
            }
        }
    }

    fn cards(&self, text: &str, spans: &mut Vec<Span>) {
        let mut at = 0;
        while let Some(found) = self.card.captures_at(text, at) {
            let (Some(whole), Some(number)) = (found.get(0), found.get(1)) else {
                return;
            };
            let mut after = text[number.end()..].chars();
            let goes_on = match after.next() {
                Some('.') => after.next().is_some_and(|next| next.is_ascii_digit()),
                Some(next) => is_word(next) || next == '-',
                None => false,
            };
            if goes_on {
                // Another number may begin inside.
                let first = text[whole.start()..]
                    .chars()
                    .next()
                    .map_or(1, char::len_utf8);
                at = whole.start() + first;
                continue;
            }
            at = number.end();
            let digits: String = number
                .as_str()
                .chars()
                .filter(char::is_ascii_digit)
                .collect();
            if self.issuer.is_match(&digits) && passes_luhn(digits.as_bytes()) {
                spans.push((number.start(), number.end(), "card number"));
            }
        }
    }

    /// Whether a value has letters and digits, and is neither a placeholder nor a UUID.
    fn is_password(&self, value: &str) -> bool {
        let has_both =
            value.chars().any(char::is_alphabetic) && value.chars().any(char::is_numeric);
        has_both && !self.placeholder.is_match(value) && !self.uuid.is_match(value)
    }

    fn is_password_of_url(&self, value: &str) -> bool {
        !NOT_PASSWORDS.contains(&value.to_lowercase().as_str())
            && !value.chars().all(char::is_numeric)
            && !self.placeholder.is_match(value)
    }
}

fn passes_luhn(digits: &[u8]) -> bool {
    let values = digits.iter().rev().enumerate().map(|(at, digit)| {
        let value = u32::from(digit - b'0') * if at % 2 == 0 { 1 } else { 2 };
        if value > 9 { value - 9 } else { value }
    });
    digits.iter().any(|digit| *digit != digits[0]) && values.sum::<u32>() % 10 == 0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_patterns_are_regular_expressions() {
        assert!(PATTERNS.is_some());
    }

    #[test]
    fn two_secrets_with_one_space_between_are_two() {
        let text = "AKIAIOSFODNN7ABCDEFG AKIAIOSFODNN7ABCDEFH\n4111111111111111 5500005555555559";
        let found: Vec<(&str, usize)> = find_secrets(text)
            .iter()
            .map(|secret| (secret.kind, secret.line))
            .collect();
        let expected = [
            ("AWS access key", 1),
            ("AWS access key", 1),
            ("card number", 2),
            ("card number", 2),
        ];
        assert_eq!(found, expected);
        assert_eq!(
            without_secrets(text),
            "[secret] [secret]\n[secret] [secret]"
        );
    }

    proptest! {
        #[test]
        fn any_text_is_searched(text in "(?s)[a-z0-9 :@/=.\n€]{0,40}(password=|AKIA|eyJ|4111 )?.{0,40}") {
            let replaced = without_secrets(&text);
            prop_assert_eq!(find_secrets(&text).is_empty(), replaced == text);
        }
    }
}
