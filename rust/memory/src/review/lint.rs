//! Lint: what in a root needs attention, rule by rule (spec/memory.md, "Lint").

use std::collections::{BTreeMap, HashSet};
use std::sync::LazyLock;

use hedgerow_engine::calendar::Time;
use hedgerow_engine::{Result, interrupt};
use regex::Regex;
use serde_json::Value;

use super::documents::{DAY, Documents, StoredDocument};
use super::selection::{Occurrences, Selection, searchable, telling_words, topic_words};
use crate::facts::file::FileMarks;
use crate::facts::marks::{Validity, Why, several_successors as successors_sentence};
use crate::format::conflict::fenced_conflict_line;
use crate::format::field_links::stated_links;
use crate::format::sections::{first_heading, level_two_sections};
use crate::parallel;
use crate::review::conflict_copies::conflict_copies;
use crate::skip::Skip;
use crate::text::{casefold, is_space, is_word, trimmed, trimmed_end, trimmed_start};

/// The words of a question that another memory has if it seems to answer it.
const ENOUGH: usize = 3;
/// The most open questions of one memory that are looked at.
const MOST_QUESTIONS: usize = 100;
/// The types of which no two should have the same title.
const TITLED: [&str; 2] = ["finding", "decision"];

static ANSWER: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\b(?:answer|answered|decided|decision|resolved|closed)\b").ok());
static SOURCE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\[source: `[^`]+`\]").ok());

/// A finding about a memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The rule.
    pub rule: &'static str,
    /// The memory.
    pub file: String,
    /// The rest of the sentence after its path, with other paths in backticks.
    pub said: String,
}

impl Finding {
    pub(super) fn new(rule: &'static str, file: &str, said: impl Into<String>) -> Self {
        Self {
            rule,
            file: file.to_owned(),
            said: said.into(),
        }
    }

    /// The whole sentence, with paths in backticks.
    pub fn text(&self) -> String {
        format!("`{}`{}", self.file, self.said)
    }
}

/// The findings of lint, and the number of memories it looked at.
#[derive(Debug, Default)]
pub struct Lint {
    /// Rule by rule, in the order of paths.
    pub findings: Vec<Finding>,
    /// The memories that were looked at.
    pub examined: usize,
    /// The memories that were selected before the limit.
    pub about: usize,
}

/// Look at the memories of a selection, as of `now` in microseconds since 1970.
pub fn lint(documents: &Documents, selection: &Selection, now: i64) -> Result<Lint> {
    let mut chosen = selection.about(documents);
    let about = chosen.len();
    chosen.truncate(selection.limit);
    chosen.sort_unstable();
    let chosen: Vec<&StoredDocument> = chosen.iter().map(|at| &documents.files[*at]).collect();
    let pages: Vec<&StoredDocument> = chosen.iter().copied().filter(|one| one.is_page).collect();
    let questions = open_questions(&chosen);
    let texts = if pages.is_empty() && questions.is_empty() {
        Vec::new()
    } else {
        parallel::map(&documents.files, searchable)
    };
    interrupt::check()?;
    let mut findings = Vec::new();
    problems(&chosen, &mut findings);
    fenced_conflicts(&chosen, &mut findings);
    copies_of_sync_programs(&chosen, documents, &mut findings);
    pages_without_sources(&pages, &mut findings);
    stale_pages(&pages, documents, &texts, &mut findings);
    interrupt::check()?;
    duplicate_titles(&chosen, &mut findings);
    declared_conflicts(&chosen, documents, &mut findings);
    answered_questions(&questions, documents, &texts, &mut findings)?;
    findings_of_marks(&chosen, documents, now, &mut findings);
    Ok(Lint {
        findings,
        examined: chosen.len(),
        about,
    })
}

fn problems(chosen: &[&StoredDocument], findings: &mut Vec<Finding>) {
    let found = parallel::map(chosen, |document| document.problems());
    for (code, rule) in [
        ("git_conflict", "git-conflict"),
        ("bad_front_matter", "front-matter"),
    ] {
        for skip in found.iter().flatten().filter(|skip| skip.code == code) {
            let line = skip
                .line
                .map_or_else(String::new, |line| format!(" line {line}"));
            let said = format!("{line}: {}", skip.reason);
            findings.push(Finding::new(rule, &skip.path, said));
        }
    }
}

/// Whole conflicts in fenced code, which may be examples: nothing else says them.
fn fenced_conflicts(chosen: &[&StoredDocument], findings: &mut Vec<Finding>) {
    let found = parallel::map(chosen, |document| {
        let lines: Vec<&str> = document.text.split('\n').collect();
        fenced_conflict_line(&lines)
    });
    for (document, line) in chosen.iter().zip(found) {
        if let Some(line) = line {
            let said = format!(
                " line {line}: its code has the marks of a git conflict; keep one version if they are no example"
            );
            findings.push(Finding::new("conflict-in-code", &document.path, said));
        }
    }
}

/// Conflict copies among the chosen memories.
fn copies_of_sync_programs(
    chosen: &[&StoredDocument],
    documents: &Documents,
    findings: &mut Vec<Finding>,
) {
    let all: HashSet<&str> = documents.files.iter().map(|one| &*one.path).collect();
    let chosen: Vec<&str> = chosen.iter().map(|one| &*one.path).collect();
    for skip in conflict_copies(&chosen, |path| all.contains(path)) {
        let said = format!(": {}", skip.reason);
        findings.push(Finding::new("conflict-copy", &skip.path, said));
    }
}

fn pages_without_sources(pages: &[&StoredDocument], findings: &mut Vec<Finding>) {
    for page in pages {
        let sections = level_two_sections(page.body());
        let has_section = sections.iter().any(|(name, _)| name == "source memories");
        let names_one = SOURCE
            .as_ref()
            .is_some_and(|source| source.is_match(page.body()));
        if !has_section && !names_one {
            let said = " does not say which memories it is from";
            findings.push(Finding::new("page-sources", &page.path, said));
        }
    }
}

fn stale_pages(
    pages: &[&StoredDocument],
    documents: &Documents,
    texts: &[String],
    findings: &mut Vec<Finding>,
) {
    let topic_of = |page: &StoredDocument| {
        let stated = page.matter.text(&["topic", "title"]);
        if stated.is_empty() {
            first_heading(page.body()).to_owned()
        } else {
            stated
        }
    };
    let topics: Vec<String> = pages.iter().map(|page| topic_of(page)).collect();
    let words: Vec<Vec<String>> = topics.iter().map(|topic| topic_words(topic)).collect();
    let found = Occurrences::of(texts, words.iter().flatten().cloned());
    for ((page, topic), words) in pages.iter().zip(&topics).zip(&words) {
        let written = page.changed();
        let is_newer = |at: &u32| {
            let other = &documents.files[*at as usize];
            let is_later = |time| written.is_none_or(|written| time > written);
            !other.is_page && other.changed().is_some_and(is_later)
        };
        let newer = found
            .with_all(words)
            .iter()
            .filter(|at| is_newer(at))
            .count();
        if newer > 0 {
            let count = match newer {
                1 => "1 newer memory".to_owned(),
                newer => format!("{newer} newer memories"),
            };
            let said = format!(": {count} about {topic}");
            findings.push(Finding::new("stale-page", &page.path, said));
        }
    }
}

fn duplicate_titles(chosen: &[&StoredDocument], findings: &mut Vec<Finding>) {
    let mut titles: Vec<(String, Vec<&str>)> = Vec::new();
    let mut known = BTreeMap::new();
    for document in chosen {
        let stated = document.matter.fields.get("type").and_then(Value::as_str);
        if !stated.is_some_and(|stated| TITLED.contains(&stated)) {
            continue;
        }
        let folded = casefold(&document.title);
        let words = folded.split(|one| !is_word(one) || one == '_');
        let title = words
            .filter(|word| !word.is_empty())
            .collect::<Vec<_>>()
            .join(" ");
        let at = *known.entry(title.clone()).or_insert(titles.len());
        if at == titles.len() {
            titles.push((title, Vec::new()));
        }
        titles[at].1.push(&document.path);
    }
    for (title, paths) in titles {
        if let [first, others @ ..] = &*paths
            && !title.is_empty()
            && !others.is_empty()
        {
            let said = format!(", {}: {title}", in_backticks(others));
            findings.push(Finding::new("duplicate-title", first, said));
        }
    }
}

/// Add a finding for each conflict that a memory declares.
pub(super) fn declared_conflicts(
    chosen: &[&StoredDocument],
    documents: &Documents,
    findings: &mut Vec<Finding>,
) {
    let declared = chosen
        .iter()
        .filter_map(|one| Some((*one, one.matter.fields.get("conflicts_with")?)));
    let declared: Vec<_> = declared.collect();
    if declared.is_empty() {
        return;
    }
    let names = documents.names();
    for (document, value) in declared {
        for target in stated_links(value) {
            let said = match names.find(&target, false, &document.path) {
                Some(path) => format!(" conflicts with `{path}`"),
                None => format!(" conflicts with `{target}`, which is missing"),
            };
            findings.push(Finding::new("declared-conflict", &document.path, said));
        }
    }
}

/// A question under `Open Questions`, and its memory.
struct Question<'d> {
    document: &'d StoredDocument,
    text: String,
    words: Vec<String>,
}

fn open_questions<'d>(chosen: &[&'d StoredDocument]) -> Vec<Question<'d>> {
    let found = parallel::map(chosen, |document| {
        let sections = level_two_sections(document.body());
        let sections = sections.iter().filter(|(name, _)| name == "open questions");
        let lines = sections.flat_map(|(_, text)| text.split('\n'));
        let questions = lines.filter_map(question_of).take(MOST_QUESTIONS);
        let questions = questions.map(|text| Question {
            document,
            words: telling_words(text),
            text: text.to_owned(),
        });
        // Of a question of common words alone, any memory has all words.
        questions
            .filter(|one| !one.words.is_empty())
            .collect::<Vec<_>>()
    });
    found.into_iter().flatten().collect()
}

/// The question that an item of a list is.
fn question_of(line: &str) -> Option<&str> {
    let item = trimmed_start(trimmed_end(line)).strip_prefix(['-', '*', '+'])?;
    let text = trimmed_start(item);
    (text.len() < item.len() && text.contains(['?', '\u{ff1f}'])).then_some(text)
}

fn answered_questions(
    questions: &[Question<'_>],
    documents: &Documents,
    texts: &[String],
    findings: &mut Vec<Finding>,
) -> Result<()> {
    let Some(pattern) = ANSWER.as_ref().filter(|_| !questions.is_empty()) else {
        return Ok(());
    };
    let is_answer = parallel::map(texts, |text| pattern.is_match(text));
    let words = questions
        .iter()
        .flat_map(|question| question.words.iter().cloned());
    let found = Occurrences::of(texts, words);
    let mut counts = vec![0_usize; texts.len()];
    for question in questions {
        interrupt::check()?;
        let needed = question.words.len().min(ENOUGH);
        let mut first: Option<u32> = None;
        for at in question.words.iter().flat_map(|word| found.with(word)) {
            let number = *at as usize;
            counts[number] += 1;
            let is_one = counts[number] == needed
                && is_answer[number]
                && documents.files[number].path != question.document.path;
            if is_one && first.is_none_or(|first| *at < first) {
                first = Some(*at);
            }
        }
        for at in question.words.iter().flat_map(|word| found.with(word)) {
            counts[*at as usize] = 0;
        }
        if let Some(first) = first {
            let answer = &documents.files[first as usize].path;
            let said = format!(" asks what `{answer}` may answer: {}", question.text);
            let file = &question.document.path;
            findings.push(Finding::new("answered-question", file, said));
        }
    }
    Ok(())
}

/// Add the findings about what holds, rule by rule.
pub(super) fn findings_of_marks(
    chosen: &[&StoredDocument],
    documents: &Documents,
    now: i64,
    findings: &mut Vec<Finding>,
) {
    let columns = documents.columns();
    let wanted: HashSet<&str> = chosen.iter().map(|one| one.path.as_str()).collect();
    let path_of = |number: usize| {
        columns
            .file(u32::try_from(number).ok()?)
            .map(|one| &*one.path)
    };
    for (old, new) in columns.marks().cycles() {
        if let (Some(old), Some(new)) = (path_of(*old), path_of(*new))
            && wanted.contains(old)
        {
            let said =
                format!(" is superseded by `{new}`, which it supersedes, perhaps through others");
            findings.push(Finding::new("contradiction", old, said));
        }
    }
    let marked: Vec<(&str, u32)> = chosen
        .iter()
        .filter_map(|one| Some((one.path.as_str(), columns.number_of(&one.path)?)))
        .collect();
    let marks_of = |number: u32| columns.file(number).and_then(|one| one.marks.as_deref());
    for (path, number) in &marked {
        if marks_of(*number).is_some_and(FileMarks::contradicts_itself) {
            let said = " is valid until a time before it begins to be";
            findings.push(Finding::new("contradiction", path, said));
        }
    }
    for (path, number) in &marked {
        for new in columns.marks().superseding(*number as usize) {
            if documents.validity(new, now).why == Some(Why::Retracted) {
                let said = format!(
                    " is superseded by `{new}`, which was retracted: restore the one that holds"
                );
                findings.push(Finding::new("contradiction", path, said));
            }
        }
    }
    findings.extend(several_successors(chosen, documents, now));
    for (path, number) in &marked {
        for (field, value) in marks_of(*number).map_or(&[][..], |marks| marks.unreadable()) {
            let said = format!(" has {field}: {value}, which is no date");
            findings.push(Finding::new("unreadable-mark", path, said));
        }
    }
    let validities: Vec<(&str, Validity)> = marked
        .iter()
        .map(|(path, _)| (*path, documents.validity(path, now)))
        .collect();
    for (path, validity) in validities
        .iter()
        .filter(|(_, one)| !one.doubtful.is_empty())
    {
        let ended: Vec<&str> = validity.doubtful.iter().map(String::as_str).collect();
        let said = format!(
            " is derived from what no longer holds: {}",
            in_backticks(&ended)
        );
        findings.push(Finding::new("in-doubt", path, said));
    }
    for (path, validity) in &validities {
        if let (Some(Why::Expired), Some(since)) = (validity.why, validity.since) {
            let said = format!(
                " is no longer valid since {}: supersede it, retract it, or change its valid_until",
                day_of(since)
            );
            findings.push(Finding::new("expired", path, said));
        }
    }
    for (path, validity) in &validities {
        if let (None, Some(since)) = (validity.why, validity.stale_since) {
            let said = format!(" is due for review since {}", day_of(since));
            findings.push(Finding::new("stale", path, said));
        }
    }
}

impl Documents {
    /// The memories that are superseded by several that hold, as after a merge of two branches.
    pub fn several_successors(&self, now: i64) -> Vec<Skip> {
        let all: Vec<&StoredDocument> = self.files.iter().collect();
        let found = several_successors(&all, self, now);
        let skips = found
            .into_iter()
            .map(|one| Skip::whole(one.file, "several_successors", trimmed(&one.said)));
        skips.collect()
    }
}

/// The memories that are superseded by several that hold, as after a merge of two branches.
pub(super) fn several_successors(
    chosen: &[&StoredDocument],
    documents: &Documents,
    now: i64,
) -> Vec<Finding> {
    let columns = documents.columns();
    let found = chosen.iter().filter_map(|document| {
        let number = columns.number_of(&document.path)?;
        let mut news = columns.marks().superseding(number as usize);
        let holds = |new: &str| {
            let number = columns.number_of(new);
            number.is_some_and(|number| columns.holds(number, now))
        };
        news.retain(|new| holds(new));
        (news.len() > 1).then(|| {
            let said = format!(" {}", successors_sentence(&news));
            Finding::new("several-successors", &document.path, said)
        })
    });
    found.collect()
}

fn in_backticks(paths: &[&str]) -> String {
    let quoted: Vec<String> = paths.iter().map(|path| format!("`{path}`")).collect();
    quoted.join(", ")
}

/// The day of a time in its own zone.
pub(super) fn day_of(time: Time) -> String {
    let mut text = time.to_iso();
    text.truncate(DAY);
    text
}

/// Whether a trimmed line is a heading.
pub(super) fn is_heading(line: &str) -> bool {
    let rest = line.trim_start_matches('#');
    (1..=6).contains(&(line.len() - rest.len())) && (rest.is_empty() || rest.starts_with(is_space))
}
