//! Quotes of a memory in other memories, and traces of a forgotten one in other files (spec/memory.md, "Forgetting").

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io;
use std::path::Path;

use aho_corasick::AhoCorasick;

use super::{Documents, StoredDocument};
use crate::parallel;
use crate::text::{casefold, head, is_word, length, trimmed};

/// Words in a row that two texts rarely share unless one quotes the other.
const RUN: usize = 6;
/// The same of characters of a script without spaces, each of which counts as a word.
const RUN_OF_CHARACTERS: usize = 12;
/// The fewest words and characters of a whole line that counts as a quote. A character of a script without
/// spaces counts twice.
const FEWEST: usize = 3;
const SHORTEST: usize = 16;
/// The fewest characters of a clause of a script without spaces. Shorter ones are idioms of many texts.
const SHORTEST_CLAUSE: usize = 10;
/// The fewest characters of a word that is a token or a password, and of a number.
const SECRET: usize = 8;
const NUMBER: usize = 4;
/// The fewest and the most characters of an IBAN.
const IBAN: (usize, usize) = (15, 34);
/// Symbols of passwords that names of files, versions and times hardly have.
const OF_PASSWORDS: [char; 11] = ['!', '#', '$', '%', '&', '*', '+', '=', '?', '^', '~'];
/// The fewest digits of a phone number.
const PHONE: usize = 7;
/// Fields with a special meaning whose values are texts.
const TEXTS: [&str; 3] = ["summary", "description", "provenance"];
/// The most traces of a memory, and the most characters of one.
const MOST: usize = 50;
const LONGEST: usize = 80;
/// Front matter whose values are of no memory in particular, but of every one that was remembered.
const OF_MANY: [&str; 3] = ["source", "confidence", "type"];

/// The runs of words that occur in quotes of a memory, and hardly anywhere else.
///
/// Six words in a row, or twelve characters of a script without spaces, or a clause of ten; a whole line of three
/// words or more, of eight such characters or more, or with a number of four characters or more; one word of eight
/// characters or more with letters and digits, as tokens and passwords have them, also with symbols between them;
/// an e-mail address; a phone number or another number as long, and an IBAN, each also with other spaces. Case,
/// punctuation and line ends do not count.
struct Quotes {
    /// By the number of words.
    runs: BTreeMap<usize, HashSet<Vec<String>>>,
    /// Phone numbers and others as long, without spaces.
    numbers: HashSet<String>,
    /// In lower case, without spaces.
    ibans: HashSet<String>,
}

impl Quotes {
    /// The quotes of a memory. `own_fields` are the fields of front matter with a special meaning.
    fn of(document: &StoredDocument, own_fields: &HashSet<String>) -> Self {
        let mut quotes = Self {
            runs: BTreeMap::new(),
            numbers: HashSet::new(),
            ibans: HashSet::new(),
        };
        let title = words(&document.title);
        let is_said = |key: &str| !own_fields.contains(key) || TEXTS.contains(&key);
        let fields = document.front_matter.iter().filter(|(key, _)| is_said(key));
        let values = fields.filter_map(|(_, value)| value.as_str());
        for line in document.body().split('\n').chain(values) {
            let words = words(line);
            if words != title {
                quotes.add(&words, line);
            }
        }
        quotes
    }

    fn add(&mut self, words: &[String], line: &str) {
        let wide = words.iter().filter(|word| is_character(word)).count();
        let is_long = words.len() >= FEWEST && length(trimmed(line)) + wide >= SHORTEST;
        let has_number = words.iter().skip(1).any(|word| is_number(word));
        let has_characters = wide > 0;
        let run = if has_characters {
            RUN_OF_CHARACTERS
        } else {
            RUN
        };
        if words.len() < run && (is_long || has_number) {
            self.add_run(words);
        }
        for run in words.windows(RUN) {
            if !run.iter().any(|word| is_character(word)) {
                self.add_run(run);
            }
        }
        if has_characters {
            words
                .windows(RUN_OF_CHARACTERS)
                .for_each(|run| self.add_run(run));
            for clause in line.split(is_end_of_clause) {
                let clause = self::words(clause);
                if (SHORTEST_CLAUSE..RUN_OF_CHARACTERS).contains(&clause.len())
                    && clause.iter().all(|word| is_character(word))
                {
                    self.add_run(&clause);
                }
            }
        }
        for word in words.iter().filter(|word| is_secret(word)) {
            self.add_run(std::slice::from_ref(word));
        }
        let parts = line.split_whitespace();
        for part in parts.filter(|one| is_address(one) || is_password(one)) {
            self.add_run(&self::words(part));
        }
        self.ibans.extend(ibans_in(line));
        let numbers = rows_of_digits(words).filter(|row| is_phone_number(row));
        self.numbers.extend(numbers.map(digits_of));
    }

    fn add_run(&mut self, run: &[String]) {
        self.runs.entry(run.len()).or_default().insert(run.to_vec());
    }

    fn are_in(&self, text: &str) -> bool {
        let words = words(text);
        let quoted = |(length, runs): (&usize, &HashSet<Vec<String>>)| {
            words.windows(*length).any(|run| runs.contains(run))
        };
        let is_in = |digits: String| self.numbers.iter().any(|one| digits.contains(one));
        self.runs.iter().any(quoted)
            || (!self.numbers.is_empty() && rows_of_digits(&words).map(digits_of).any(is_in))
            || (!self.ibans.is_empty() && ibans_in(text).any(|one| self.ibans.contains(&one)))
    }
}

/// The runs of words that are digits.
fn rows_of_digits(words: &[String]) -> impl Iterator<Item = &[String]> {
    let rows = words.chunk_by(|one, other| has_digits_alone(one) && has_digits_alone(other));
    rows.filter(|row| row.iter().all(|word| has_digits_alone(word)))
}

fn digits_of(row: &[String]) -> String {
    row.iter()
        .flat_map(|word| word.chars())
        .filter(char::is_ascii_digit)
        .collect()
}

/// The numbers of bank accounts (IBAN) in a text, in lower case and without the spaces in them.
///
/// Where the check digits leave several ends possible, each is one.
fn ibans_in(text: &str) -> impl Iterator<Item = String> {
    let bytes = text.as_bytes();
    let begins = move |at: &usize| {
        let is_in_word = *at > 0 && bytes[at - 1].is_ascii_alphanumeric();
        let is_head = |head: &[u8]| {
            let (country, check) = head.split_at(2);
            country.iter().all(u8::is_ascii_alphabetic) && check.iter().all(u8::is_ascii_digit)
        };
        !is_in_word && bytes.get(*at..at + 4).is_some_and(is_head)
    };
    let all = (0..bytes.len()).filter(begins);
    all.flat_map(move |at| ibans_at(&bytes[at..]))
}

/// The IBANs that a text may begin with.
fn ibans_at(text: &[u8]) -> Vec<String> {
    let (mut compact, mut found) = (String::new(), Vec::new());
    for (at, one) in text.iter().enumerate() {
        if matches!(one, b' ' | b'-') {
            continue;
        }
        if !one.is_ascii_alphanumeric() || compact.len() == IBAN.1 {
            break;
        }
        compact.push(char::from(one.to_ascii_lowercase()));
        let is_end = !text.get(at + 1).is_some_and(u8::is_ascii_alphanumeric);
        if is_end && compact.len() >= IBAN.0 && is_iban(&compact) {
            found.push(compact.clone());
        }
    }
    found
}

/// Whether the check digits of an IBAN are right: as a number, its parts exchanged, it leaves 1 of 97.
fn is_iban(compact: &str) -> bool {
    let (head, tail) = compact.split_at(4);
    let digits = tail.chars().chain(head.chars());
    let rest = digits
        .filter_map(|one| one.to_digit(36))
        .fold(0, |rest, one| {
            let places = if one > 9 { 100 } else { 10 };
            (rest * places + one) % 97
        });
    rest == 1
}

/// The words of a text; each character of a script without spaces is one.
fn words(text: &str) -> Vec<String> {
    let folded = casefold(text);
    let mut words: Vec<String> = Vec::new();
    let mut is_open = false;
    for one in folded.chars() {
        let is_part = is_word(one) || one == '-';
        match words
            .last_mut()
            .filter(|_| is_open && is_part && !is_unspaced(one))
        {
            Some(word) => word.push(one),
            None if is_part => words.push(one.to_string()),
            None => {}
        }
        is_open = is_part && !is_unspaced(one);
    }
    words
}

/// Whether a character is of Han, kana, Thai, Lao, Khmer or Burmese, which are written without spaces.
fn is_unspaced(one: char) -> bool {
    matches!(one, '\u{E00}'..='\u{EFF}' | '\u{1000}'..='\u{109F}' | '\u{1780}'..='\u{17FF}'
        | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}'
        | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}')
}

fn is_character(word: &str) -> bool {
    word.chars().next().is_some_and(is_unspaced)
}

/// Whether a text without spaces has the form of an e-mail address.
fn is_address(text: &str) -> bool {
    let parts = text.split_once('@');
    parts.is_some_and(|(name, host)| {
        name.ends_with(is_word) && host.trim_end_matches('.').contains('.')
    })
}

/// Whether a text without spaces has the form of a password: letters, digits, and a symbol between them.
fn is_password(text: &str) -> bool {
    let inner = text.trim_matches(|one| !is_word(one));
    let has = |is_one: fn(char) -> bool| inner.contains(is_one);
    length(inner) >= SECRET
        && has(char::is_alphabetic)
        && has(char::is_numeric)
        && inner.contains(OF_PASSWORDS)
}

/// Whether a character ends a clause of Chinese or Japanese.
fn is_end_of_clause(one: char) -> bool {
    matches!(
        one,
        '\u{3001}' | '\u{3002}' | '\u{FF01}' | '\u{FF0C}' | '\u{FF1A}' | '\u{FF1B}' | '\u{FF1F}'
    )
}

fn has_digits_alone(word: &str) -> bool {
    word.chars().all(|one| one.is_ascii_digit() || one == '-')
}

/// Whether words of digits are a phone number, and not a date.
fn is_phone_number(row: &[String]) -> bool {
    let digits = |word: &str| word.chars().filter(char::is_ascii_digit).count();
    let groups: Vec<usize> = row
        .iter()
        .flat_map(|word| word.split('-').map(digits))
        .collect();
    let is_date = matches!(groups[..], [1..=2, 1..=2, 4] | [4, 1..=2, 1..=2] | [8])
        && row
            .iter()
            .any(|word| word.contains("19") || word.contains("20"));
    groups.iter().sum::<usize>() >= PHONE && !is_date
}

fn is_secret(word: &str) -> bool {
    let has_letter = word.chars().any(|one| is_word(one) && !one.is_numeric());
    length(word) >= SECRET && has_letter && word.chars().any(char::is_numeric)
}

fn is_number(word: &str) -> bool {
    length(word) >= NUMBER && word.chars().any(char::is_numeric)
}

impl Documents {
    /// The paths of the memories that quote a document.
    pub fn quoting(&self, document: &StoredDocument, own_fields: &HashSet<String>) -> Vec<&str> {
        let quotes = Quotes::of(document, own_fields);
        let found = parallel::map(&self.files, |file| quotes.are_in(&file.text));
        let files = self.files.iter().zip(found).filter(|(_, found)| *found);
        files.map(|(file, _)| file.path.as_str()).collect()
    }

    /// Return texts that only a deleted document had: none of the memories has one.
    ///
    /// These are its path, and the beginnings of its longest lines and values of front matter: `SQLite` cuts
    /// long texts into pages, so a whole one need not be in a file in one piece.
    pub fn traces(&self, document: &StoredDocument) -> Vec<String> {
        let lines = document.text.split('\n').map(trimmed);
        let fields = document.front_matter.iter();
        let fields = fields.filter(|(key, _)| !OF_MANY.contains(&key.as_str()));
        let values = fields.filter_map(|(_, value)| value.as_str());
        let mut long: Vec<&str> = lines
            .chain(values)
            .filter(|text| length(text) >= SHORTEST)
            .collect();
        long.sort_by(|one, other| length(other).cmp(&length(one)).then(one.cmp(other)));
        long.dedup();
        long.truncate(MOST);
        let mut traces = vec![document.path.clone()];
        for text in long {
            let trace = head(text, LONGEST).to_owned();
            if !traces.contains(&trace) {
                traces.push(trace);
            }
        }
        // A quote across a line end or with mark-up is a trace in an index, which has it as one line of text.
        let phrases: Vec<String> = traces.iter().map(|trace| words(trace).join(" ")).collect();
        let known = parallel::map(&self.files, |file| {
            let said = words(&file.text).join(" ");
            let is_in = |phrase: &String| said.contains(phrase.as_str());
            phrases.iter().map(is_in).collect::<Vec<bool>>()
        });
        let is_own = |at: usize| known.iter().all(|is_in| !is_in[at]);
        let kept = traces.iter().enumerate().filter(|(at, _)| is_own(*at));
        kept.map(|(_, trace)| trace.clone()).collect()
    }
}

/// The numbers of files that cannot be read, each with the error.
type Unread = Vec<(usize, io::Error)>;

/// Return the numbers of the files that have any of the traces, and of the files that cannot be read. A file that
/// was removed meanwhile is neither.
pub fn files_with(files: &[impl AsRef<Path> + Sync], traces: &[String]) -> (Vec<usize>, Unread) {
    let Ok(automaton) = AhoCorasick::new(traces) else {
        return (Vec::new(), Vec::new());
    };
    let has_any = |file: &Path| -> io::Result<bool> {
        let mut found = automaton.stream_find_iter(File::open(file)?);
        found.next().transpose().map(|found| found.is_some())
    };
    let found = parallel::map(files, |file| has_any(file.as_ref()));
    let (mut with, mut unread) = (Vec::new(), Vec::new());
    for (at, found) in found.into_iter().enumerate() {
        match found {
            Ok(true) => with.push(at),
            Ok(false) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => unread.push((at, error)),
        }
    }
    (with, unread)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use crate::documents::FolderKind;

    fn document(path: &str, text: &str) -> StoredDocument {
        StoredDocument::parse(path.to_owned(), text.to_owned(), FolderKind::default())
    }

    #[test]
    fn quotes_are_runs_of_words_whole_lines_and_tokens() {
        let said = document(
            "notes/a.md",
            "---\ntitle: The pump\n---\n# The pump\n\nThe pump of the well stands behind the old shed.\n\n\
             Code 4711\n\nKey: a1b2c3d4e5\n",
        );
        let others = Documents::of(vec![
            document("b.md", "He said the pump of the well stands there"),
            document("c.md", "the code 4711!"),
            document("d.md", "it is A1B2C3D4E5"),
            document("e.md", "The pump"),
            document("f.md", "the pump of a well"),
        ]);
        assert_eq!(
            others.quoting(&said, &HashSet::new()),
            ["b.md", "c.md", "d.md"]
        );
    }

    #[test]
    fn addresses_phone_numbers_and_lines_without_spaces_are_quotes() {
        let said = document(
            "notes/a.md",
            "Ask ana.berg@example.org\n\nor +49 (30) 555-0134\n\nsince 18.04.2026 or 2026-04-18\n\n\
             会議は火曜日の午後三時に本社の五階で行われます\n",
        );
        let others = Documents::of(vec![
            document("b.md", "Mail: <Ana.Berg@example.org>."),
            document("c.md", "call 49 30 555-0134 today"),
            document("d.md", "彼は会議は火曜日の午後三時に本社のと言った"),
            document("e.md", "born 18.04.2026 and 2026-04-18"),
            document("f.md", "会議は火曜日に"),
            document("g.md", "berg@example.org"),
        ]);
        assert_eq!(
            others.quoting(&said, &HashSet::new()),
            ["b.md", "c.md", "d.md"]
        );
    }

    #[test]
    fn short_lines_and_clauses_of_characters_and_passwords_are_quotes() {
        let said = document(
            "notes/a.md",
            "刺猬住在树篱下面\n\n花园的密码是玫瑰七号，请不要告诉任何人\n\nKey: `x7Qz!9pL` of a-1.md\n\n明天见\n",
        );
        let others = Documents::of(vec![
            document("b.md", "我们发现刺猬住在树篱下面了"),
            document("c.md", "昨天说花园的密码是玫瑰七号。"),
            document("d.md", "used x7Qz!9pL, in a-1.md"),
            document("e.md", "明天见, 请不要告诉任何人"),
            document("f.md", "x7Qz and a-1.md"),
        ]);
        assert_eq!(
            others.quoting(&said, &HashSet::new()),
            ["b.md", "c.md", "d.md"]
        );
    }

    #[test]
    fn an_iban_is_a_quote_with_any_spaces() {
        let said = document(
            "notes/a.md",
            "Pay to DE89 3704 0044 0532 0130 00 soon, or to GB82WEST12345698765432.\n",
        );
        let others = Documents::of(vec![
            document("b.md", "iban=de89370400440532013000"),
            document("c.md", "(GB82 WEST 1234 5698 7654 32)"),
            document("d.md", "DE88370400440532013000 and DE12 3704 0044"),
        ]);
        assert_eq!(others.quoting(&said, &HashSet::new()), ["b.md", "c.md"]);
    }

    #[test]
    fn a_long_number_is_a_quote_with_any_spaces() {
        let said = document(
            "notes/a.md",
            "call +49 30 5550134\n\ncard 4111111111111111\n\non 18.04.2026\n",
        );
        let others = Documents::of(vec![
            document("b.md", "0049 30 555-0134"),
            document("c.md", "4111 1111 1111 1111!"),
            document("d.md", "4111 1111 1111 and 1111, 18.04.2026"),
        ]);
        assert_eq!(others.quoting(&said, &HashSet::new()), ["b.md", "c.md"]);
    }

    #[test]
    fn traces_are_in_no_other_memory() {
        let gone = document(
            "notes/a.md",
            "A line of some length here.\nAnother line that is shared.\n",
        );
        let others = Documents::of(vec![document("b.md", "Another line that is shared.\n")]);
        assert_eq!(
            others.traces(&gone),
            ["notes/a.md", "A line of some length here."]
        );
    }

    #[test]
    fn a_quote_with_mark_up_is_no_trace() {
        let gone = document("notes/a.md", "The vault opens with the blue key.\n");
        let quote = document("b.md", "He said: the vault **opens** with\nthe blue key\n");
        assert_eq!(Documents::of(vec![quote]).traces(&gone), ["notes/a.md"]);
    }

    #[test]
    fn files_are_searched_in_blocks() {
        let folder = tempfile::tempdir().unwrap();
        let (with, without) = (folder.path().join("with"), folder.path().join("without"));
        std::fs::write(
            &with,
            format!("{}the trace{}", "x".repeat(70_000), "y".repeat(9)),
        )
        .unwrap();
        std::fs::write(&without, "the trac e").unwrap();
        let traces = ["the trace".to_owned()];
        assert_eq!(files_with(&[&with, &without], &traces).0, [0]);
        assert_eq!(files_with(&[&with, &without], &[]).0, [0_usize; 0]);
        let (missing, unreadable) = (folder.path().join("missing"), folder.path().to_path_buf());
        let (found, unread) = files_with(&[&missing, &unreadable, &with], &traces);
        assert_eq!(found, [2]);
        assert_eq!(unread.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [1]);
    }
}
