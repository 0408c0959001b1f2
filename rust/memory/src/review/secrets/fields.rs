//! Values of fields with the name of a secret, and the passwords in addresses.
//!
//! The name selects a value, and the entropy of the value decides whether it is a secret. A reference, such as `${TOKEN}`, is
//! no secret.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};
use hedgerow_engine::rule;
use regex::Regex;

use crate::text::head;

pub(super) const PASSWORD: &str = "password";
pub(super) const PASSWORD_IN_ADDRESS: &str = "password in an address";
/// The first and the last byte, excluded, of a secret, and its kind.
pub(super) type Span = (usize, usize, &'static str);

/// The bits of the entropy of a secret: a word and two digits have 17.6. Fewer find versions and names in code (`v2`,
/// `sha256`), more lose the passwords that people make up.
pub(super) const LEAST_BITS: f64 = 17.0;
/// The least bits of a value without a sign such as `:` before it, as in *the password is ...*. It may be any word of a sentence.
const LEAST_BITS_IN_PROSE: f64 = 24.0;

/// The bits of a letter, of a digit, and of a sign.
const LETTER: f64 = 4.7;
const DIGIT: f64 = 3.32;
const SIGN: f64 = 5.0;
/// The most bits of a run of letters, which may be a word: a choice of two thousand.
const WORD: f64 = 11.0;
/// The fewest letters of a word. Shorter runs are frequent in random text.
const SHORTEST_WORD: usize = 3;

/// The fewest and the most characters of a value.
const SHORTEST: usize = 8;
const LONGEST: usize = 200;
/// The fewest different letters and digits of a value. With fewer it is a placeholder, as `xxxx`.
const FEWEST_DIFFERENT: usize = 5;
/// The most characters of each of the things between a name and its value: quotes, spaces.
const MOST_BETWEEN: usize = 3;
/// The most letters of a word between a name and its value, as *is*, *ist* and *est*.
const LONGEST_BETWEEN: usize = 4;

/// The names of fields whose values are secrets, in small letters. The text before a name does not count: `DB_PASSWORD` and
/// `client_secret` are names too.
///
/// This is a table of names of fields, as forms and files have them, and not of words that decide about sentences: only the name
/// tells the password `hunter2024` from any other text. In a language without a row, such values are not found by name.
const NAMES: &[&str] = &[
    // Names in code, which are English everywhere.
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "pwd",
    "secret",
    "token",
    "credential",
    "credentials",
    // German, Dutch, Danish and Norwegian, Swedish.
    "passwort",
    "kennwort",
    "wachtwoord",
    "adgangskode",
    "passord",
    "lösenord",
    // French, Spanish, Portuguese, Romanian.
    "mot de passe",
    "contraseña",
    "senha",
    "palavra-passe",
    "parolă",
    // Russian and Ukrainian, Polish, Czech, Hungarian, Finnish, Turkish, Greek.
    "пароль",
    "hasło",
    "heslo",
    "jelszó",
    "salasana",
    "şifre",
    "parola",
    "κωδικός",
    // Chinese, Japanese, Korean, Arabic, Hebrew, Hindi, Vietnamese, Indonesian.
    "密码",
    "密碼",
    "パスワード",
    "비밀번호",
    "암호",
    "كلمة المرور",
    "סיסמה",
    "पासवर्ड",
    "mật khẩu",
    "kata sandi",
];
/// The kinds of keys that are secrets: `api key`, `api_key`, `api-key`, `apikey`.
const KEYS: [&str; 8] = [
    "api",
    "access",
    "secret",
    "private",
    "encryption",
    "signing",
    "account",
    "auth",
];
/// Short names, in addresses alone: `user:pass@host`.
const SHORT_NAMES: [&str; 3] = ["pass", "pw", "key"];

rule! {
    /// A value in a field named as a secret, with the entropy of one, and a password in an address are secrets.
    pub(crate) static SECRET_FIELDS = "secret fields" {
        LEAST_BITS, LEAST_BITS_IN_PROSE, LETTER, DIGIT, SIGN, WORD, SHORTEST_WORD, SHORTEST, LONGEST, FEWEST_DIFFERENT
    }
}

/// The automaton of the names of fields.
static FIELDS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let keys = KEYS
        .iter()
        .flat_map(|kind| ["", " ", "_", "-"].map(|joint| format!("{kind}{joint}key")));
    // The automaton folds the case of ASCII alone.
    let names = NAMES.iter().flat_map(|name| {
        let first = name.chars().next().map_or(0, char::len_utf8);
        let capitalized = name[..first].to_uppercase() + &name[first..];
        [(*name).to_owned(), name.to_uppercase(), capitalized]
    });
    AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .match_kind(MatchKind::LeftmostLongest)
        .build(names.chain(keys))
        .ok()
});

/// A password in an address, after its user: each part is of a bounded length, so that a search takes linear time.
static IN_ADDRESS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"(?:^|[^A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{1,20}://([^\s/:@'"<>]{1,100}):([^\s/@'"<>]{3,200})@"#).ok()
});

/// Whether the patterns compile.
#[cfg(test)]
pub(super) fn compile() -> bool {
    FIELDS.is_some() && IN_ADDRESS.is_some()
}

/// Add the values of fields with the name of a secret.
pub(super) fn add_values(text: &str, spans: &mut Vec<Span>) {
    let Some(names) = &*FIELDS else { return };
    let mut last_end = 0;
    for name in names.find_iter(text) {
        let Some((start, least_bits)) = value_start(text, name.end()) else {
            continue;
        };
        if start < last_end {
            continue;
        }
        let value = value_at(text, start);
        let has_comma = text[start + value.len()..].starts_with(',');
        if is_password(value, has_comma, least_bits) {
            last_end = start + value.len();
            spans.push((start, last_end, PASSWORD));
        }
    }
}

/// Add the passwords in addresses. Their place tells that they are passwords, so that no entropy is asked of them.
pub(super) fn add_in_addresses(text: &str, spans: &mut Vec<Span>) {
    let Some(pattern) = &*IN_ADDRESS else { return };
    for found in pattern.captures_iter(text) {
        let (Some(user), Some(password)) = (found.get(1), found.get(2)) else {
            continue;
        };
        let value = password.as_str();
        let is_name = NAMES
            .iter()
            .chain(&SHORT_NAMES)
            .any(|name| value.eq_ignore_ascii_case(name));
        let is_number = value.bytes().all(|byte| byte.is_ascii_digit());
        let is_another = value == user.as_str() || stands_for_another(value, false);
        if !is_name && !is_number && !is_another && has_different(value, 2) {
            spans.push((password.start(), password.end(), PASSWORD_IN_ADDRESS));
        }
    }
}

/// Return the offset of the value of a field, and the bits that a secret has there; None if none follows the name.
fn value_start(text: &str, name_end: usize) -> Option<(usize, f64)> {
    let rest = &text[name_end..];
    let is_quote = |one| matches!(one, '"' | '\'' | '`' | '*');
    let closed = without(rest, |one| is_quote(one) || matches!(one, '_' | ')' | ']'));
    let spaced = without(closed, is_blank);
    let signs = [":=", "=>", "->", "==", ":", "=", "："];
    if spaced.starts_with("::") {
        return None;
    }
    let assigned = signs.iter().find_map(|sign| spaced.strip_prefix(sign));
    // An element of XML.
    let assigned = assigned.or_else(|| rest.strip_prefix('>').filter(|value| is_element(value)));
    let (value, least_bits) = match assigned {
        Some(value) => (without(value, is_blank), LEAST_BITS),
        None => (after_word(rest)?, LEAST_BITS_IN_PROSE),
    };
    // The prefixes of texts in Python.
    let quoted = value.trim_start_matches(['r', 'f', 'b', 'u']);
    let has_prefix = value.len() - quoted.len() <= 2 && quoted.starts_with(['"', '\'']);
    let value = without(if has_prefix { quoted } else { value }, is_quote);
    Some((text.len() - value.len(), least_bits))
}

fn is_blank(one: char) -> bool {
    matches!(one, ' ' | '\t')
}

/// Whether a text begins with the value of an element and its end tag.
fn is_element(text: &str) -> bool {
    let value = head(text, LONGEST)
        .find('<')
        .filter(|end| (SHORTEST..=LONGEST).contains(end));
    value.is_some_and(|end| text[end..].starts_with("</"))
}

/// Return a text without up to three of these characters at its beginning.
fn without(text: &str, is_dropped: impl Fn(char) -> bool) -> &str {
    let dropped = text
        .chars()
        .take(MOST_BETWEEN)
        .take_while(|one| is_dropped(*one));
    &text[dropped.map(char::len_utf8).sum::<usize>()..]
}

/// Return the text after the space that follows a name, without a short word (*is*) at its beginning. None without a space, and for
/// code. A script without spaces needs no space.
fn after_word(text: &str) -> Option<&str> {
    let text = without(text, |one| matches!(one, '`' | '*'));
    let spaced = text.trim_start_matches(is_blank);
    let has_space = spaced.len() < text.len();
    let is_wide = spaced.starts_with(|one: char| !one.is_ascii() && one.is_alphabetic());
    if !has_space && !is_wide {
        return None;
    }
    let is_letter = |one: char| one.is_alphabetic() && (has_space || !one.is_ascii());
    let word = spaced
        .chars()
        .take(LONGEST_BETWEEN)
        .take_while(|one| is_letter(*one));
    let after = &spaced[word.map(char::len_utf8).sum::<usize>()..];
    let value = match after.trim_start_matches(is_blank) {
        value if is_wide || value.len() < after.len() => value,
        _ => spaced,
    };
    let word = head(value, LONGEST);
    let word = word.split(char::is_whitespace).next().unwrap_or_default();
    let is_markup = word.contains(['<', '>']);
    let mut attribute = word.split('=');
    let is_attribute = attribute.next().is_some_and(is_path_of_names)
        && attribute.next().is_some_and(|rest| !rest.is_empty());
    (!is_markup && !is_attribute).then_some(value)
}

/// The value at an offset: up to white space, a script without spaces, a closing quote or mark-up, without punctuation at its end.
fn value_at(text: &str, start: usize) -> &str {
    let rest = &text[start..];
    let quote = text[..start]
        .chars()
        .next_back()
        .filter(|one| matches!(one, '"' | '\'' | '`'));
    let mut end = 0;
    for (at, one) in rest.char_indices().take(LONGEST) {
        if one.is_whitespace()
            || ends_value(one)
            || Some(one) == quote
            || rest[at..].starts_with("</")
        {
            break;
        }
        end = at + one.len_utf8();
    }
    let mut value = &rest[..end];
    loop {
        let trimmed = value.trim_end_matches(['.', ',', ';', ':', '"', '\'', '`', '*', '|']);
        let pairs = [('(', ')'), ('[', ']'), ('{', '}'), ('<', '>')];
        let is_unopened = |(open, close): &(char, char)| {
            trimmed.ends_with(*close)
                && trimmed.matches(*close).count() > trimmed.matches(*open).count()
        };
        let trimmed = &trimmed[..trimmed.len() - usize::from(pairs.iter().any(is_unopened))];
        if trimmed.len() == value.len() {
            return value;
        }
        value = trimmed;
    }
}

/// Whether a character is a letter without case, a dash, or of the punctuation of Chinese and Japanese: a value before it has ended.
fn ends_value(one: char) -> bool {
    let has_case = one.is_lowercase() || one.is_uppercase();
    (one.is_alphabetic() && !has_case)
        || matches!(one, '\u{2010}'..='\u{2026}' | '\u{3000}'..='\u{303f}' | '\u{ff00}'..='\u{ffef}')
}

fn is_password(value: &str, has_comma: bool, least_bits: f64) -> bool {
    value.chars().count() >= SHORTEST
        && value.chars().any(char::is_alphabetic)
        && has_different(value, FEWEST_DIFFERENT)
        && !stands_for_another(value, has_comma)
        && !is_uuid(value)
        && bits(value) >= least_bits
}

/// Whether a value has at least `fewest` different letters and digits.
fn has_different(value: &str, fewest: usize) -> bool {
    let mut different: Vec<char> = Vec::with_capacity(fewest);
    for one in value.chars().filter(|one| one.is_alphanumeric()) {
        if different.len() < fewest && !different.contains(&one) {
            different.push(one);
        }
    }
    different.len() == fewest
}

/// Whether a whole value refers to another one: a variable, a template, an expression of code, a path, an address, or a
/// number in hexadecimal no longer than a public address of Ethereum.
fn stands_for_another(value: &str, has_comma: bool) -> bool {
    let is_within = |open: &str, close: &str| value.starts_with(open) && value.ends_with(close);
    let pairs = [
        ("<", ">"),
        ("{", "}"),
        ("[", "]"),
        ("(", ")"),
        ("${", "}"),
        ("$(", ")"),
        ("#{", "}"),
        ("%", "%"),
        ("@", "@"),
    ];
    // `$ecr3tW0rd` is a password.
    let is_variable = value
        .strip_prefix('$')
        .is_some_and(|name| is_path_of_names(name) && bits(name) < LEAST_BITS);
    let is_path = ["/", "~/", "./", "../"]
        .iter()
        .any(|start| value.starts_with(start))
        && value[1..].contains('/');
    let hex = value.strip_prefix("0x").filter(|hex| hex.len() <= 40);
    pairs.iter().any(|(open, close)| is_within(open, close))
        || is_variable
        || is_path
        || (value.contains("://") && !value.contains('@'))
        || hex.is_some_and(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()))
        || is_expression(value, has_comma)
}

/// Whether a value is a name of code and something in brackets: a call, an item or a type. Its end is missing if there is white
/// space in the brackets.
fn is_expression(value: &str, has_comma: bool) -> bool {
    let Some(open) = value.find(['(', '[', '<', '{']) else {
        return false;
    };
    let name = value[..open].trim_start_matches('&');
    let is_of_code = name.contains(['.', ':', '_', '!']);
    let is_closed = if let Some(close) = value.rfind([')', ']', '>', '}']) {
        // A chain: `get(1).text`.
        let next = value.as_bytes().get(close + 1);
        matches!(next, None | Some(b'.' | b'?' | b';'))
    } else {
        let is_only_name = open + 1 == value.len();
        is_of_code || has_comma || is_only_name || value[open..].starts_with('[')
    };
    // `Pl3ase(Open)` is a password.
    is_closed
        && is_path_of_names(name.trim_end_matches(['!', ':']))
        && (is_of_code || bits(name) < LEAST_BITS)
}

/// Whether a text is names of code with `.`, `::` or `->` between them.
fn is_path_of_names(text: &str) -> bool {
    let starts = text.starts_with(|first: char| first.is_alphabetic() || first == '_');
    starts
        && text
            .chars()
            .all(|one| one.is_alphanumeric() || matches!(one, '_' | '.' | ':' | '-' | '>'))
}

fn is_uuid(value: &str) -> bool {
    let groups = value.split('-').map(str::len);
    groups.eq([8, 4, 4, 4, 12])
        && value
            .bytes()
            .all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
}

/// Estimate the entropy of a value: a run of letters counts as a word, each digit and each sign for itself.
///
/// Of a value with several parts, as names of code have them, words with or without a number count nothing: `api_key_v2` and
/// `SecretKey2` have hardly any bits, and random text as many as without its separators.
pub(super) fn bits(value: &str) -> f64 {
    let chars: Vec<char> = value.chars().collect();
    let mut parts: Vec<&[char]> = Vec::new();
    for part in chars
        .split(|one| is_separator(*one))
        .filter(|part| !part.is_empty())
    {
        let mut start = 0;
        for at in 1..part.len() {
            if begins_word(part, at) {
                parts.push(&part[start..at]);
                start = at;
            }
        }
        parts.push(&part[start..]);
    }
    let has_parts = parts.len() > 1;
    let counted = parts.iter().filter(|part| !has_parts || !is_of_words(part));
    counted.map(|part| bits_of_part(part)).sum()
}

fn is_separator(one: char) -> bool {
    matches!(
        one,
        '-' | '_' | '.' | '/' | ':' | ',' | ';' | '+' | '\\' | '\'' | '"' | '`'
    )
}

/// Whether a capital letter begins a word, as in `apiKey` and `HTTPServer`.
fn begins_word(part: &[char], at: usize) -> bool {
    let is_small = |at: usize| part.get(at).is_some_and(|one| one.is_lowercase());
    let before = part[at - 1];
    let is_after = before.is_lowercase() || (before.is_uppercase() && is_small(at + 2));
    part[at].is_uppercase() && is_after && is_small(at + 1)
}

/// The length of the run of letters at the beginning: small ones, also after a capital, or capitals.
fn letters(part: &[char]) -> usize {
    let capitals = part.iter().take_while(|one| one.is_uppercase()).count();
    if capitals > 1 {
        return capitals;
    }
    let is_small = |one: &&char| one.is_alphabetic() && !one.is_uppercase();
    capitals + part[capitals..].iter().take_while(is_small).count()
}

/// Whether a part is made of words and numbers, as `Auth2Token`.
fn is_of_words(mut part: &[char]) -> bool {
    while let Some(first) = part.first() {
        let run = if first.is_numeric() { 1 } else { letters(part) };
        if !first.is_numeric() && run < SHORTEST_WORD {
            return false;
        }
        part = &part[run..];
    }
    true
}

fn bits_of_part(part: &[char]) -> f64 {
    let (mut total, mut at) = (0.0, 0);
    while at < part.len() {
        let run = letters(&part[at..]);
        total += match u8::try_from(run) {
            Ok(0) if part[at].is_numeric() => DIGIT,
            Ok(0) => SIGN,
            Ok(run) => (LETTER * f64::from(run)).min(WORD),
            Err(_) => WORD,
        };
        at += run.max(1);
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entropy_tells_random_text_from_names() {
        for name in [
            "settings.OPENAI_API_KEY_V1",
            "X-Api-Key2",
            "bearerAuth2",
            "correct-horse-battery",
            "required",
            "v1.2.3",
            "2026-04-18",
        ] {
            assert!(bits(name) < LEAST_BITS, "{name}: {}", bits(name));
        }
        for random in [
            "Tr0ub4dor&3$",
            "hunter2024",
            "s3cretpass99",
            "pa$$w0rd9",
            "k3v9x2m4",
            "9f86d081884c",
            "wJalrXUtnFEMIK7MDENG",
        ] {
            assert!(bits(random) >= LEAST_BITS, "{random}: {}", bits(random));
        }
    }

    #[test]
    fn only_a_whole_value_stands_for_another() {
        for value in [
            "<token>",
            "${TOKEN_1}",
            "$TOKEN_1",
            "{{token1}}",
            "%TOKEN1%",
            "os.environ['TOKEN1']",
            "token1()",
            "get_token1(",
            "Option<Token1>",
            "https://a.example/1",
            "~/.ssh/id_1",
        ] {
            assert!(stands_for_another(value, false), "{value}");
        }
        for value in [
            "a<b>c1",
            "pa${x}9",
            "Tr0ub4dor&3$",
            "x{1}y",
            "ab(c)d",
            "$ecr3t$9",
            "50%off%1x",
        ] {
            assert!(!stands_for_another(value, false), "{value}");
        }
    }
}
