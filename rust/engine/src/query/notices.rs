//! Notices about a query for the reader of results: words not understood, excluded, or spelled in another
//! way.

use super::ast::Operator;
use super::compile::with_plain_signs;
use super::expression::{MatchExpression, Phrase};
use super::extended;
use super::options::{MatchOptions, Matching};
use super::parse::{
    DropReason, OperatorFate, ParsedWords, WordOutcome, is_exclusion, parse_with, scan_groups,
};
use crate::error::Result;
use crate::text::whitespace;

/// The most notices of one kind.
const SHOWN: usize = 5;
/// A notice lists at most this many words.
const LISTED: usize = 12;

/// The operator of other search programs for words that are near to each other.
const NEAR: &str = "NEAR";

const NO_WORD: &str = "Keywords found nothing: the query has no word that can be searched for.";

/// A sentence for everything that was not understood, excluded, or also searched in another spelling.
/// `expression` is the one that the query was compiled to. None for matching as the specification has it, whose
/// traces are complete.
pub fn notices(
    text: &str,
    options: &MatchOptions<'_>,
    expression: &MatchExpression,
) -> Result<Vec<String>> {
    if options.matching == Matching::Spec {
        return Ok(Vec::new());
    }
    let query = parse_with(text, options.stopwords)?;
    let plain = with_plain_signs(&query, options)?;
    let query = plain.unwrap_or(query);
    let raw = query.raw.as_str();
    let mut notices = Vec::new();
    if query.has_operators {
        notices.extend(of_operators(&scan_groups(raw), expression));
        if raw.matches('"').count() % 2 == 1 {
            let said = "The last quote is not closed: the phrase goes to the end of the query.";
            notices.push(said.to_owned());
        }
        let options = MatchOptions {
            vocabulary: None,
            ..*options
        };
        if extended::with_operators(raw, &options)?.has_ignored_exclusion {
            let said = "NOT excludes words and groups joined by OR; what else is after it was not excluded.";
            notices.push(said.to_owned());
        }
    }
    notices.extend(of_exclusions(raw, expression));
    notices.extend(of_syntax(raw));
    notices.extend(of_variants(expression));
    if notices.is_empty() && expression.is_empty() && !raw.trim().is_empty() {
        notices.push(NO_WORD.to_owned());
    }
    Ok(notices)
}

/// Operators that join nothing, and parentheses that group nothing.
fn of_operators(scan: &ParsedWords<'_>, expression: &MatchExpression) -> Option<String> {
    let mut left_out: Vec<&str> = Vec::new();
    let mut has_token = false;
    let mut depth = 0_usize;
    for (at, word) in scan.words.iter().enumerate() {
        let next = scan.words.get(at + 1).map(|next| &next.outcome);
        match &word.outcome {
            // As many programs write it: AND NOT is NOT.
            WordOutcome::Operator(Operator::And, _)
                if matches!(next, Some(WordOutcome::Operator(Operator::Not, _))) => {}
            WordOutcome::Kept(_) => has_token = true,
            WordOutcome::Operator(_, OperatorFate::Attached) if has_token => {}
            WordOutcome::Operator(Operator::Not, OperatorFate::Attached)
                if depth > 0 && !expression.none.is_empty() => {}
            WordOutcome::Operator(operator, OperatorFate::Attached)
                if *operator != Operator::Not =>
            {
                left_out.push(word.source);
            }
            WordOutcome::Operator(..) | WordOutcome::Dropped(DropReason::Parenthesis) => {
                left_out.push(word.source);
            }
            WordOutcome::Open(_) => depth += 1,
            WordOutcome::Close => depth = depth.saturating_sub(1),
            WordOutcome::Dropped(_) | WordOutcome::Minus => {}
        }
    }
    if depth > 0 {
        left_out.push("(");
    }
    let mut named: Vec<String> = Vec::new();
    for word in left_out {
        if named.iter().all(|known| known != word) {
            named.push(word.to_owned());
        }
    }
    (!named.is_empty()).then(|| {
        format!(
            "Ignored, because it joins no words where it stands: {}.",
            listed(&named)
        )
    })
}

/// Return a notice of the exclusions by a minus sign, which may be unintended.
fn of_exclusions(raw: &str, expression: &MatchExpression) -> Option<String> {
    let mut excluded: Vec<String> = Vec::new();
    let (mut rest, mut is_start) = (raw, true);
    while let Some(first) = rest.chars().next() {
        let length = match excluded_by(rest).filter(|_| is_start) {
            Some(what) => {
                excluded.push(what.to_owned());
                1 + what.len()
            }
            None if first == '"' => rest[1..].find('"').map_or(rest.len(), |end| end + 2),
            None => first.len_utf8(),
        };
        is_start = matches!(first, ' ' | '(');
        rest = &rest[length..];
    }
    (!excluded.is_empty()).then(|| {
        let excluded = listed(&excluded);
        if expression.none.is_empty() {
            return "The minus sign was ignored: there is nothing else to search for.".to_owned();
        }
        format!("Left out, for the minus sign: texts with {excluded}.")
    })
}

/// What a minus sign at the start of a text excludes: a word, a phrase or a group.
fn excluded_by(text: &str) -> Option<&str> {
    let rest = text.strip_prefix('-')?;
    let closing = match rest.as_bytes().first()? {
        b'"' => '"',
        b'(' => ')',
        _ if is_exclusion(text) => {
            let word = rest.split(' ').next()?;
            return Some(word.trim_end_matches(')'));
        }
        _ => return None,
    };
    let end = rest[1..].find(closing).map_or(rest.len(), |end| end + 2);
    Some(&rest[..end])
}

/// Syntax of other search programs, which is read as words.
fn of_syntax(raw: &str) -> Vec<String> {
    let mut notices: Vec<String> = Vec::new();
    // In a query in capitals, NEAR is a word as any other.
    let has_capitals_alone = !raw.contains(char::is_lowercase);
    for word in whitespace::words(raw) {
        if has_capitals_alone && word == NEAR {
            continue;
        }
        let Some(notice) = of_word(word) else {
            continue;
        };
        if notices.len() < SHOWN && !notices.contains(&notice) {
            notices.push(notice);
        }
    }
    notices
}

/// The notice for a word that another search program would not read as a word.
fn of_word(word: &str) -> Option<String> {
    let bare = word.trim_start_matches(['(', '[', '-', '+', '!']);
    if let Some((field, value)) = bare.split_once(':')
        && !is_exclusion(word.trim_start_matches('('))
        && !value.is_empty()
        && !value.starts_with('/')
        && let Some(filter) = filter_of(field, value)
    {
        let word = bare.trim_end_matches([')', ']', '"']);
        return Some(format!(
            "{word} was searched for as words; to filter, use {filter}."
        ));
    }
    let operator = match word {
        "&&" => "AND",
        "||" | "|" => "OR",
        _ if word == NEAR
            || ["NEAR/", "NEAR(", "AROUND("]
                .iter()
                .any(|start| word.starts_with(start)) =>
        {
            return Some(format!(
                "{word} was searched for as a word; quotes search for words in a row."
            ));
        }
        _ => return of_sign(word, bare),
    };
    Some(format!("{word} was left out; write {operator}."))
}

/// The notice for a word with a sign that other search programs understand.
fn of_sign(word: &str, bare: &str) -> Option<String> {
    let inside = bare.trim_end_matches(['*', '"', ')']);
    if has_inner(inside, '*', false) {
        return Some(format!(
            "{word} was searched for without *, which counts at the end of a word only."
        ));
    }
    let is_address = inside.contains(['/', '=', ':']);
    if !is_address && has_inner(inside, '?', true) {
        return Some(format!(
            "{word} was read as words; ? does not stand for a letter."
        ));
    }
    let signed = word.trim_start_matches('(');
    let plain = bare.trim_matches(['#', '\'', '\u{2018}', '\u{2019}', '“', '”', '„']);
    let negated = ["!", "-#", "-'", "-\u{2018}", "-“", "-„"]
        .iter()
        .find_map(|sign| signed.strip_prefix(sign));
    if negated.is_some_and(|rest| rest.starts_with(char::is_alphanumeric)) {
        return Some(format!(
            "{word} was read as a word; to exclude it, write -{plain}."
        ));
    }
    let required = signed.strip_prefix('+');
    if required.is_some_and(|rest| rest.starts_with(char::is_alphabetic)) {
        return Some(format!(
            "{word} was read as a word; to require it, join words with AND."
        ));
    }
    let digits = |part: &str| part.chars().all(|one| one.is_ascii_digit() || one == '.');
    if let Some((term, number)) = inside.rsplit_once(['~', '^']).filter(|(_, n)| digits(n)) {
        let term = term.trim_matches(['"', '(', ')']);
        let letters = term.chars().filter(|one| one.is_alphabetic()).count();
        if letters > 1 {
            return Some(format!(
                "{word} was read as words: ~ and ^ do not change how {term} counts."
            ));
        }
        if term.is_empty() && !number.is_empty() {
            return Some(format!(
                "{word} was read as a word: ~ and ^ do not change how words count."
            ));
        }
    }
    let pattern = word
        .strip_prefix('/')
        .and_then(|rest| rest.strip_suffix('/'));
    pattern
        .filter(|pattern| pattern.contains(['*', '+', '[', '(', '|', '\\']))
        .map(|_| format!("{word} was read as words, not as a pattern."))
}

/// Whether a sign stands before letters, and after letters or, unless `between`, at the beginning.
fn has_inner(word: &str, sign: char, between: bool) -> bool {
    let letter = |c: Option<char>| c.is_some_and(char::is_alphabetic);
    let mut parts = word.split(sign);
    let mut before = parts.next();
    parts.any(|part| {
        let is_inner = letter(part.chars().next())
            && before.is_none_or(|before| {
                (before.is_empty() && !between) || letter(before.chars().next_back())
            });
        before = Some(part);
        is_inner
    })
}

/// The filter for a field that other programs let a query name.
fn filter_of(field: &str, value: &str) -> Option<String> {
    let value = value.trim_matches(['"', '#', ')', ']']);
    Some(match field {
        "tag" | "tags" => format!("a tag filter: {value}"),
        "path" | "file" | "folder" | "in" | "inurl" | "site" => format!("a path filter: {value}"),
        "after" | "before" | "since" | "until" | "date" | "created" | "updated" | "modified" => {
            "the date filters after and before".to_owned()
        }
        "filetype" | "ext" => format!("a path filter: *.{value}"),
        "intitle" | "allintitle" => format!("a condition on metadata: title = {value}"),
        "content" | "text" | "body" | "line" | "block" | "section" | "task" => {
            "quotes, for words in a row, or AND".to_owned()
        }
        "type" | "kind" => format!("a filter of types: {value}"),
        "title" | "author" | "status" | "source" | "project" | "from" | "to" | "is" | "has"
        | "label" | "subject" => {
            format!("a condition on metadata: {field} = {value}")
        }
        _ => return None,
    })
}

/// The words that were also searched in another spelling.
fn of_variants(expression: &MatchExpression) -> Vec<String> {
    let mut variants: Vec<(&str, Vec<String>)> = Vec::new();
    for phrase in expression.phrases() {
        let Phrase {
            text,
            prefix,
            variant_of: Some(word),
            ..
        } = phrase
        else {
            continue;
        };
        let text = if *prefix {
            format!("{text}*")
        } else {
            text.clone()
        };
        match variants.iter_mut().find(|(known, _)| known == word) {
            Some((_, others)) if others.contains(&text) => {}
            Some((_, others)) => others.push(text),
            None => variants.push((word, vec![text])),
        }
    }
    let said = variants.into_iter().take(SHOWN);
    said.map(|(word, others)| format!("For {word}, also searched: {}.", listed(&others)))
        .collect()
}

/// Words in a row, with the number of those that are not shown.
fn listed(words: &[String]) -> String {
    let shown = words.iter().take(LISTED).map(String::as_str);
    let shown = shown.collect::<Vec<_>>().join(", ");
    match words.len().saturating_sub(LISTED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
