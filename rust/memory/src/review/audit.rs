//! An audit: what in memories needs attention, and the command that mends it (spec/memory.md, "Audit").

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use hedgerow_engine::{Fix, Result, interrupt};
use regex::Regex;

use super::copies::{by_age, copies_among, is_empty};
use super::documents::{Documents, StoredDocument};
use super::lint::{Finding, day_of, declared_conflicts, findings_of_marks};
use crate::facts::marks::Why;
use crate::parallel;
use crate::review::duplicates::LIKE;
use crate::review::fingerprint::percent;
use crate::review::secrets::{Secret, find_secrets};
use crate::text::{casefold, head, length, one_line, trimmed};

/// The findings of marks that are contradictions.
const CONTRADICTIONS: [&str; 2] = ["contradiction", "several-successors"];
/// The fewest characters of a paragraph that no two memories have by chance.
const LONG: usize = 200;
/// The most characters of a line that a finding shows.
const SHOWN: usize = 80;

/// The head of a passage in the output of `recall`, `context` and `wrapup`.
static PRINTED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let pattern = r"\A(?:(?:\[[0-9]{1,4}\] |[0-9]{1,4}\. )\S.{0,300}\.md:[0-9]+-[0-9]+(?: session=\S{1,200})?(?: score=[0-9.]+)?(?: \([0-9]{4}-[0-9]{2}-[0-9]{2}\))?\s*\z|(?:Prior memory scan for|Related memory for): )";
    Regex::new(pattern).ok()
});

/// Something in a memory that needs attention.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditFinding {
    /// The rule.
    pub rule: &'static str,
    /// The memory.
    pub file: String,
    /// The problem, in words.
    pub text: String,
    /// The line in the file, from 1; None for the whole file.
    pub line: Option<usize>,
    /// The command that mends it; empty for an edit by hand.
    pub fix: Option<Fix>,
}

/// Return the findings, rule by rule, each in the order of paths, as of `now` in microseconds since 1970.
pub fn audit(documents: &Documents, now: i64) -> Result<Vec<AuditFinding>> {
    let all: Vec<&StoredDocument> = documents.files.iter().collect();
    let holding: Vec<&StoredDocument> = all
        .iter()
        .copied()
        .filter(|one| documents.holds(&one.path, now))
        .collect();
    let holding = by_age(holding);
    let mut findings = secrets(&all);
    findings.extend(
        all.iter()
            .filter(|one| is_empty(one))
            .map(|one| AuditFinding {
                rule: "empty",
                file: one.path.clone(),
                text: "has no text".to_owned(),
                line: None,
                fix: Some(forget(&one.path)),
            }),
    );
    interrupt::check()?;
    duplicates(&holding, &mut findings)?;
    contradictions(&all, documents, now, &mut findings);
    expired(documents, now, &mut findings);
    repeated(&holding, &mut findings);
    Ok(findings)
}

fn secrets(documents: &[&StoredDocument]) -> Vec<AuditFinding> {
    let found = parallel::map(documents, |document| {
        let mut by_kind: Vec<(&str, Vec<Secret>)> = Vec::new();
        for secret in find_secrets(&document.text) {
            match by_kind.iter_mut().find(|(kind, _)| *kind == secret.kind) {
                Some((_, found)) => found.push(secret),
                None => by_kind.push((secret.kind, vec![secret])),
            }
        }
        let findings = by_kind.into_iter().map(|(kind, found)| {
            let start = match found[0].start.as_str() {
                "" => String::new(),
                start => format!(" ({start}…)"),
            };
            let more = match found.len() - 1 {
                0 => String::new(),
                more => format!(", and {more} more"),
            };
            AuditFinding {
                rule: "secret",
                file: document.path.clone(),
                text: format!(
                    "looks like it has a secret: {kind}{start}{more}; revoke it, and edit the memory"
                ),
                line: Some(found[0].line),
                fix: Some(edit(&document.path)),
            }
        });
        findings.collect::<Vec<_>>()
    });
    found.into_iter().flatten().collect()
}

fn duplicates(holding: &[&StoredDocument], findings: &mut Vec<AuditFinding>) -> Result<()> {
    let path = |at: usize| holding[at].path.as_str();
    let mut found: Vec<(&str, &str, String)> = Vec::new();
    for copy in copies_among(holding, LIKE, |_, _| Ok(()))? {
        let (other, is) = match copy.same_as {
            Some(same) => (same, "has the same text as".to_owned()),
            None => (
                copy.original,
                format!("is {} % like", percent(copy.likeness)),
            ),
        };
        found.push((path(copy.text), path(other), is));
    }
    found.sort_unstable();
    findings.extend(found.into_iter().map(|(copy, other, is)| AuditFinding {
        rule: "duplicate",
        file: copy.to_owned(),
        text: format!("{is} {other}"),
        line: None,
        fix: Some(Fix {
            does: "mark it as superseded",
            operation: Some("supersede"),
            arguments: vec![("old", copy.into()), ("by", other.into())],
        }),
    }));
    Ok(())
}

fn contradictions(
    all: &[&StoredDocument],
    documents: &Documents,
    now: i64,
    findings: &mut Vec<AuditFinding>,
) {
    let mut said: Vec<Finding> = Vec::new();
    findings_of_marks(all, documents, now, &mut said);
    said.retain(|one| CONTRADICTIONS.contains(&one.rule));
    declared_conflicts(all, documents, &mut said);
    findings.extend(said.into_iter().map(|one| AuditFinding {
        rule: "contradiction",
        text: trimmed(&one.said.replace('`', "")).to_owned(),
        file: one.file,
        line: None,
        fix: None,
    }));
}

fn expired(documents: &Documents, now: i64, findings: &mut Vec<AuditFinding>) {
    for one in &documents.files {
        let validity = documents.validity(&one.path, now);
        if validity.why == Some(Why::Expired) {
            let since = validity
                .since
                .map_or_else(String::new, |since| format!(" since {}", day_of(since)));
            findings.push(AuditFinding {
                rule: "expired",
                file: one.path.clone(),
                text: format!("is no longer valid{since}"),
                line: None,
                fix: Some(forget(&one.path)),
            });
        }
    }
}

fn repeated(holding: &[&StoredDocument], findings: &mut Vec<AuditFinding>) {
    let paragraphs = parallel::map(holding, |one| paragraphs(one));
    let mut first_with: HashMap<&str, &str> = HashMap::new();
    let mut found: BTreeMap<&str, (String, usize)> = BTreeMap::new();
    for (one, paragraphs) in holding.iter().zip(&paragraphs) {
        if let Some((number, line)) = one.body_lines().find(|(_, line)| is_printed(line)) {
            let shown = head(trimmed(line), SHOWN);
            found.insert(
                &one.path,
                (format!("repeats the output of a recall: {shown}"), number),
            );
        }
        for (number, paragraph) in paragraphs {
            let first = *first_with.entry(paragraph).or_insert(&one.path);
            if first != one.path && !found.contains_key(one.path.as_str()) {
                found.insert(
                    &one.path,
                    (format!("repeats a paragraph of {first}"), *number),
                );
            }
        }
    }
    findings.extend(found.into_iter().map(|(path, (text, line))| AuditFinding {
        rule: "repeated-recall",
        file: path.to_owned(),
        text,
        line: Some(line),
        fix: Some(edit(path)),
    }));
}

fn is_printed(line: &str) -> bool {
    // Nearly all lines are decided by their first character.
    let line = trimmed(line);
    line.starts_with(|one: char| one.is_ascii_digit() || matches!(one, '[' | 'P' | 'R'))
        && PRINTED
            .as_ref()
            .is_some_and(|printed| printed.is_match(line))
}

/// The long paragraphs of a memory, each with its first line, from 1.
fn paragraphs(document: &StoredDocument) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let (mut start, mut lines) = (0, Vec::new());
    let mut end = |start: usize, lines: &mut Vec<&str>| {
        let text = casefold(&one_line(&lines.join(" ")));
        if length(&text) >= LONG {
            found.push((start, text));
        }
        lines.clear();
    };
    for (number, line) in document.body_lines() {
        let line = line.trim_matches([' ', '\t', '>']);
        if line.is_empty() {
            end(start, &mut lines);
            continue;
        }
        if lines.is_empty() {
            start = number;
        }
        lines.push(line);
    }
    end(start, &mut lines);
    found
}

fn edit(path: &str) -> Fix {
    Fix {
        does: "edit it",
        operation: Some("edit"),
        arguments: vec![("key", path.into())],
    }
}

fn forget(path: &str) -> Fix {
    Fix {
        does: "delete it for good",
        operation: Some("forget"),
        arguments: vec![("key", path.into()), ("purge", true.into())],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_of_a_recall_is_known() {
        for line in [
            "1. notes/a.md:3-9 score=0.61",
            "[12] notes/a b.md:1-2 session=s1 (2026-01-02)",
            "Prior memory scan for: x",
        ] {
            assert!(is_printed(line), "{line}");
        }
        for line in [
            "1. notes/a.md",
            "notes/a.md:3-9",
            "1. see a.md:3-9 for more",
        ] {
            assert!(!is_printed(line), "{line}");
        }
    }
}
