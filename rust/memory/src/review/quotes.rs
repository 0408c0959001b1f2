//! Quotes of a memory in other memories, and traces of a forgotten one in other files (spec/memory.md, "Forgetting").

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::path::Path;

use aho_corasick::AhoCorasick;

use hedgerow_engine::rule;

use super::documents::{Documents, StoredDocument};
use crate::parallel;
use crate::text::{casefold, head, length, trimmed};

/// The fewest characters of a line that two memories hardly share unless one quotes the other, of a sentence of a longer line,
/// and of a token with a digit. Shorter sentences are courtesies of many conversations.
const SHORTEST: usize = 16;
const SHORTEST_SENTENCE: usize = 32;
const SHORTEST_TOKEN: usize = 8;
/// The fewest digits of a token without a letter. Eight are a date.
const FEWEST_DIGITS: usize = 9;
/// The limit of the lines and tokens of a quoted memory, of which the longest count, and of the characters of each.
const MOST_QUOTES: usize = 10_000;
const LONGEST: usize = 80;
/// Fields with a special meaning whose values are texts.
const TEXTS: [&str; 3] = ["summary", "description", "provenance"];
/// The most traces of a memory.
const MOST: usize = 50;
/// Front matter whose values are of no memory in particular, but of every one that was remembered.
const OF_MANY: [&str; 3] = ["source", "confidence", "type"];

rule! {
    /// A memory with a long line or sentence, a code, a mail address or a URL of a forgotten memory quotes it.
    pub(crate) static QUOTES = "quotes" { SHORTEST, SHORTEST_SENTENCE, SHORTEST_TOKEN, FEWEST_DIGITS, MOST_QUOTES, LONGEST }
}

/// The lines and tokens of a memory that a quote of it has.
fn quotes_of(document: &StoredDocument, own_fields: &HashSet<String>) -> Vec<String> {
    let title = compared(&document.title);
    let is_said = |key: &str| !own_fields.contains(key) || TEXTS.contains(&key);
    let fields = document.front_matter.iter().filter(|(key, _)| is_said(key));
    let values = fields.filter_map(|(_, value)| value.as_str());
    let mut quotes = HashSet::new();
    for line in document.body().split('\n').chain(values) {
        let line = compared(line);
        let line = bare(&line);
        if line == bare(&title) {
            continue;
        }
        if length(line) >= SHORTEST {
            quotes.insert(head(line, LONGEST).to_owned());
        }
        let sentences = line.split(ends_sentence).map(bare);
        let sentences = sentences.filter(|sentence| length(sentence) >= SHORTEST_SENTENCE);
        quotes.extend(sentences.map(|sentence| head(sentence, LONGEST).to_owned()));
        let tokens = line.split(' ').map(bare).filter(|token| is_telling(token));
        quotes.extend(tokens.map(|token| head(token, LONGEST).to_owned()));
    }
    let mut quotes: Vec<String> = quotes.into_iter().collect();
    quotes.sort_by(|one, other| length(other).cmp(&length(one)).then(one.cmp(other)));
    quotes.truncate(MOST_QUOTES);
    quotes
}

fn ends_sentence(one: char) -> bool {
    matches!(one, '.' | '!' | '?' | '。' | '！' | '？')
}

/// Whether a token is one that no other text has by chance: a code, a number longer than a date, an address.
fn is_telling(token: &str) -> bool {
    let digits = token.chars().filter(|one| one.is_numeric()).count();
    let has_letter = token.chars().any(char::is_alphabetic);
    let is_code = digits >= if has_letter { 1 } else { FEWEST_DIGITS };
    let is_mail = token
        .split_once('@')
        .is_some_and(|(name, host)| !name.is_empty() && host.contains('.'));
    (length(token) >= SHORTEST_TOKEN && is_code) || is_mail || token.contains("://")
}

/// A text in the form in which quotes are compared: without case and marks of Markdown, on one line with single spaces.
fn compared(text: &str) -> String {
    let folded = casefold(text);
    let mut compared = String::with_capacity(folded.len());
    for one in folded.chars() {
        if one.is_whitespace() {
            if !compared.ends_with(' ') {
                compared.push(' ');
            }
        } else if !matches!(one, '*' | '_' | '`' | '~' | '[' | ']' | '#' | '>' | '\\') {
            compared.push(one);
        }
    }
    compared
}

/// A text without the punctuation at its ends, which depends on the sentence around it.
fn bare(text: &str) -> &str {
    text.trim_matches(|one: char| !one.is_alphanumeric())
}

impl Documents {
    /// Return the paths of the memories that quote a document, and texts that only this document had: none of the memories has one
    /// in its text or its path. Reads each memory once.
    ///
    /// The texts are its path, and the beginnings of its longest lines and values of front matter: `SQLite` cuts
    /// long texts into pages, so a whole one need not be in a file in one piece.
    pub fn quotes_and_traces(
        &self,
        document: &StoredDocument,
        own_fields: &HashSet<String>,
    ) -> (Vec<&str>, Vec<String>) {
        let traces = traces_of(document);
        // A quote across a line end or with mark-up is a trace in an index, which has it as one line of text.
        let phrases: Vec<String> = traces
            .iter()
            .map(|trace| bare(&compared(trace)).to_owned())
            .collect();
        let quotes = QUOTES.is_on().then(|| quotes_of(document, own_fields));
        let quotes = quotes.and_then(|quotes| AhoCorasick::new(quotes).ok());
        let known = AhoCorasick::new(&phrases).ok();
        let found = parallel::map(&self.files, |file| {
            let (path, text) = (compared(&file.path), compared(&file.text));
            let has = quotes.as_ref().is_some_and(|quotes| quotes.is_match(&text));
            let mut known_here = vec![false; phrases.len()];
            if let Some(known) = &known {
                // The target of a link may be written with escapes, and an index has it without.
                let is_escaped = text.contains(['%', '&']);
                let links = file.links().filter(|_| is_escaped);
                let targets: Vec<String> = links.map(|(target, _)| compared(&target)).collect();
                for text in [&text, &path].into_iter().chain(&targets) {
                    for trace in known.find_overlapping_iter(text) {
                        known_here[trace.pattern().as_usize()] = true;
                    }
                }
            }
            (has, known_here)
        });
        let quoting = self.files.iter().zip(&found).filter(|(_, found)| found.0);
        let quoting = quoting.map(|(file, _)| file.path.as_str()).collect();
        let is_own =
            |at: &usize| !phrases[*at].is_empty() && found.iter().all(|(_, known)| !known[*at]);
        let own = (0..traces.len()).filter(is_own);
        (quoting, own.map(|at| traces[at].clone()).collect())
    }
}

/// The path of a document, and the beginnings of its longest lines and values of front matter.
fn traces_of(document: &StoredDocument) -> Vec<String> {
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
    traces
}

/// The limits of a search of files: bytes of one file, and of all.
#[derive(Debug, Clone, Copy)]
pub struct SearchLimits {
    /// The size of the largest file that is read.
    pub one: u64,
    /// The bytes that are read in all, the smallest files first.
    pub all: u64,
}

/// The results of a search of files: indexes into the list of files.
#[derive(Debug, Default)]
pub struct SearchedFiles {
    /// The files with any of the texts.
    pub with: Vec<usize>,
    /// The unreadable files, each with the error.
    pub unread: Vec<(usize, io::Error)>,
    /// The files beyond a limit, which were not read.
    pub too_large: Vec<usize>,
}

/// Look for any of the traces in files. A file that was removed meanwhile has none. Takes linear time.
pub fn files_with(
    files: &[impl AsRef<Path> + Sync],
    traces: &[String],
    limits: Option<SearchLimits>,
) -> SearchedFiles {
    let mut searched = SearchedFiles::default();
    let Ok(automaton) = AhoCorasick::new(traces) else {
        return searched;
    };
    let (within, too_large) = within_limits(files, limits);
    searched.too_large = too_large;
    let has_any = |at: &usize| -> io::Result<bool> {
        let mut found = automaton.stream_find_iter(File::open(files[*at].as_ref())?);
        found.next().transpose().map(|found| found.is_some())
    };
    for (at, found) in within.iter().zip(parallel::map(&within, has_any)) {
        match found {
            Ok(true) => searched.with.push(*at),
            Ok(false) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => searched.unread.push((*at, error)),
        }
    }
    searched
}

/// The numbers of the files within the limits, and of those beyond. A file without a known size is within.
fn within_limits(
    files: &[impl AsRef<Path>],
    limits: Option<SearchLimits>,
) -> (Vec<usize>, Vec<usize>) {
    let Some(limits) = limits else {
        return ((0..files.len()).collect(), Vec::new());
    };
    let size = |at: usize| std::fs::metadata(files[at].as_ref()).map_or(0, |file| file.len());
    let mut sizes: Vec<(u64, usize)> = (0..files.len()).map(|at| (size(at), at)).collect();
    sizes.sort_unstable();
    let mut total = 0_u64;
    let (mut within, mut beyond): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
    for (size, at) in sizes {
        total = total.saturating_add(size);
        if size <= limits.one && total <= limits.all {
            within.push(at);
        } else {
            beyond.push(at);
        }
    }
    within.sort_unstable();
    beyond.sort_unstable();
    (within, beyond)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use crate::format::vault::FolderKind;

    fn document(path: &str, text: &str) -> StoredDocument {
        StoredDocument::parse(path.to_owned(), text.to_owned(), &FolderKind::default())
    }

    #[test]
    fn a_quote_is_a_line_a_code_or_an_address() {
        let said = document(
            "notes/a.md",
            "---\ntitle: The pump of the well\n---\n# The pump of the well\n\nThe pump stands behind the old shed. Its handle is kept at home in the kitchen.\n\n\
             Key: AB-12345-CD, 2026-04-18\n\nAsk ana.berg@example.org\n\nSee https://a.example/b\n\n- 0049305550134\n\nпод старым камнем у пруда\n",
        );
        for (text, is_quote) in [
            (
                "He says: THE **PUMP**\n> stands  behind the _old_ shed, I think",
                true,
            ),
            ("Its handle is kept at home in the kitchen, he said", true),
            ("it is ab-12345-cd!", true),
            ("<Ana.Berg@example.org>", true),
            ("[there](https://a.example/b)", true),
            ("call 0049305550134", true),
            ("Под старым\nкамнем у пруда.", true),
            ("The pump of the well", false),
            ("the pump stands behind a shed", false),
            ("Key: of 2026-04-18", false),
            ("berg@example.org", false),
        ] {
            let others = Documents::of(vec![document("b.md", text)]);
            let found = others.quotes_and_traces(&said, &HashSet::new()).0;
            assert_eq!(!found.is_empty(), is_quote, "{text}");
        }
    }

    #[test]
    fn traces_are_in_no_other_memory() {
        let gone = document(
            "notes/a.md",
            "A line of some length here.\nAnother line that is shared.\nOne with **bold** words in it.\nnotes/another/memory.md\nsome/other/folder/b ä.md\n================\n",
        );
        let others = Documents::of(vec![
            document("b.md", "Another line that is shared.\n"),
            document("c.md", "He said: one with bold\nwords in it"),
            document("notes/another/memory.md", "Its path is a trace of none."),
            document("e.md", "A link to [it](some/other/folder/b%20%C3%A4.md)."),
        ]);
        assert_eq!(
            others.quotes_and_traces(&gone, &HashSet::new()).1,
            ["notes/a.md", "A line of some length here."]
        );
    }

    #[test]
    fn files_are_searched_in_blocks_up_to_a_limit() {
        let folder = tempfile::tempdir().unwrap();
        let (with, without) = (folder.path().join("with"), folder.path().join("without"));
        std::fs::write(
            &with,
            format!("{}the trace{}", "x".repeat(70_000), "y".repeat(9)),
        )
        .unwrap();
        std::fs::write(&without, "the trac e").unwrap();
        let traces = ["the trace".to_owned()];
        let with_any = |files: &[&Path], traces: &[String]| files_with(files, traces, None).with;
        assert_eq!(with_any(&[&with, &without], &traces), [0]);
        assert_eq!(with_any(&[&with, &without], &[]), [0_usize; 0]);
        let (missing, unreadable) = (folder.path().join("missing"), folder.path().to_path_buf());
        let searched = files_with(&[&missing, &unreadable, &with], &traces, None);
        assert_eq!(searched.with, [2]);
        assert_eq!(
            searched
                .unread
                .iter()
                .map(|(at, _)| *at)
                .collect::<Vec<_>>(),
            [1]
        );
        for (one, all) in [(70_000, u64::MAX), (u64::MAX, 70_010)] {
            let searched = files_with(&[&with, &without], &traces, Some(SearchLimits { one, all }));
            assert_eq!((searched.with, searched.too_large), (vec![], vec![0]));
        }
    }
}
