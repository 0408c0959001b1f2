//! The two compiled forms of a query (spec/compile.md).

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Deref;

use super::alias::{self, AliasTable, already_expanded};
use super::ast::{Connective, Operator, Query, Token, TokenKind};
use super::expression::Alternatives;
use super::expression::{MatchExpression, Phrase};
use super::extended;
use super::limits;
use super::options::{MatchOptions, Matching};
use super::parse::{DropReason, WordOutcome, parse, parse_with, scan};
use super::runs::Splitting;
use super::stopwords::StopWords;
use crate::error::{Error, ErrorCode, Result};
use crate::text::category::letter_digit_runs;
use crate::text::normalise::normalise;
use crate::text::tokenizer::TokenizerKind;
use crate::text::words;

/// Return the normative text of a query, as the specification compiles it.
///
/// It is for reading and comparing; FTS5 would refuse or misread some of it.
pub fn compile_fts(
    query: &Query,
    aliases: Option<&AliasTable>,
    default_operator: Connective,
) -> Result<String> {
    let query = expanded(query, aliases)?;
    Ok(normative(&query.raw, query.tokens.iter(), default_operator))
}

/// Return the query with its aliases expanded, if it has any.
fn expanded<'q>(query: &'q Query, aliases: Option<&AliasTable>) -> Result<Cow<'q, Query>> {
    Ok(match aliases {
        Some(aliases) => Cow::Owned(alias::expand(query, aliases)?),
        None => Cow::Borrowed(query),
    })
}

/// Like [`compile_fts`], of a text, without copies of its words if the aliases are empty.
pub fn compile_fts_text(
    text: &str,
    aliases: Option<&AliasTable>,
    default_operator: Connective,
) -> Result<String> {
    if aliases.is_some() {
        return compile_fts(&parse(text)?, aliases, default_operator);
    }
    limits::check_text(text)?;
    let raw = normalise(text);
    let scan = scan(&raw, Default::default());
    limits::check_tokens(&raw, scan.tokens().map(|token| &token.text))?;
    Ok(normative(&raw, scan.tokens(), default_operator))
}

/// The tokens of the text `raw` in a row.
fn normative<'t, T: Deref<Target = str> + 't>(
    raw: &str,
    tokens: impl Iterator<Item = &'t Token<T>>,
    default_operator: Connective,
) -> String {
    // Most words have a space already where " OR " will stand.
    let mut out = String::with_capacity(2 * raw.len());
    for (index, token) in tokens.enumerate() {
        if index > 0 {
            out.push_str(connective(token.operator, default_operator));
        }
        let (before, after) = match token.kind {
            TokenKind::Term => ("", ""),
            TokenKind::Phrase => ("\"", "\""),
            TokenKind::Prefix => ("", "*"),
        };
        out.extend([before, &token.text, after]);
    }
    out
}

fn connective(operator: Option<Operator>, default_operator: Connective) -> &'static str {
    match (operator, default_operator) {
        (Some(Operator::Not), _) => " AND NOT ",
        (Some(Operator::Or), _) | (None, Connective::Or) => " OR ",
        (Some(Operator::And), _) | (None, Connective::And) => " AND ",
    }
}

/// Return the expression that SQLite runs for a query, as text; empty if nothing in it is
/// searchable.
pub fn compile_match(query: &Query, options: &MatchOptions<'_>) -> Result<String> {
    Ok(match_expression(query, options)?.shown().to_string())
}

/// Return the expression that SQLite runs for a query.
pub fn match_expression(query: &Query, options: &MatchOptions<'_>) -> Result<MatchExpression> {
    let plain = with_plain_signs(query, options)?;
    let query = plain.as_ref().unwrap_or(query);
    let (mut expression, word_count) = match options.matching {
        Matching::Spec => spec_expression(query, options)?,
        Matching::Extended => {
            check_extended(query, options)?;
            extended::expression(query, options)?
        }
    };
    if options.tokenizer == TokenizerKind::Words {
        let is_bare_or = !query.has_operators && options.default_operator == Connective::Or;
        // Other queries may be in English, whose expressions stay as they are.
        let is_inflected = options.latin_stems && words::has_accented_latin(&query.raw);
        if options.matching == Matching::Spec && is_inflected && is_bare_or {
            let compounds = extended::compounds(query, options)?;
            expression
                .any
                .extend(compounds.map(|phrase| vec![vec![phrase]]));
        }
        let splitting = Splitting::of(
            &query.raw,
            !query.has_operators,
            word_count,
            options.default_operator,
            options.latin_stems,
        );
        expression = splitting.split(&expression)?;
    }
    if !query.has_operators {
        expression
            .any
            .extend(date_phrases(options.date_hints).map(|phrase| vec![vec![phrase]]));
    }
    if options.tokenizer == TokenizerKind::Trigram {
        let phrases = expression.phrases().chain(&expression.none);
        limits::check_trigrams(phrases.map(|phrase| &*phrase.text))?;
    }
    keep_searchable(&mut expression, options.tokenizer)?;
    Ok(expression)
}

/// The query with typographic signs as the plain ones, which alone have a meaning, and for extended matching with
/// spaces between operators and parentheses; None without any.
pub(super) fn with_plain_signs(query: &Query, options: &MatchOptions<'_>) -> Result<Option<Query>> {
    if query.is_expanded() {
        return Ok(None);
    }
    let plain = plain_signs(&query.raw);
    let spaced = match options.matching {
        Matching::Extended => spaced_operators(plain.as_deref().unwrap_or(&query.raw)),
        Matching::Spec => None,
    };
    spaced
        .or(plain)
        .map(|raw| parse_with(&raw, options.stopwords))
        .transpose()
}

/// A text with a space between each operator and a parenthesis next to it, outside of quotes; None without any.
fn spaced_operators(text: &str) -> Option<String> {
    const OPERATORS: [&str; 3] = ["AND", "OR", "NOT"];
    if !text.contains(['(', ')']) || !OPERATORS.iter().any(|one| text.contains(one)) {
        return None;
    }
    let is_end = |c: char| matches!(c, ' ' | '(' | ')' | '"');
    let mut spaced = String::with_capacity(text.len() + 8);
    let (mut word, mut is_quoted) = (0, false);
    for (at, c) in text.char_indices() {
        if c == '(' && !is_quoted && OPERATORS.contains(&&text[word..at]) {
            spaced.push(' ');
        }
        spaced.push(c);
        is_quoted ^= c == '"';
        if !is_end(c) {
            continue;
        }
        word = at + 1;
        let next = text[word..].split(is_end).next().unwrap_or_default();
        if matches!(c, '(' | ')') && !is_quoted && OPERATORS.contains(&next) {
            spaced.push(' ');
        }
    }
    (spaced.len() > text.len()).then_some(spaced)
}

/// A text with `"` in place of a pair of typographic quotes, `-` in place of a minus sign or en dash that begins a
/// word, and the sign of Hebrew abbreviations in place of a quote between Hebrew letters (`ארה"ב`); None without any.
pub fn plain_signs(text: &str) -> Option<String> {
    if text.is_ascii() {
        return None;
    }
    let is_quote = |c: char| {
        matches!(
            c,
            '"' | '\u{201C}'..='\u{201F}'
                | '«'
                | '»'
                | '‹'
                | '›'
                | '「'
                | '」'
                | '『'
                | '』'
                | '《'
                | '》'
                | '\u{301D}'..='\u{301F}'
                | '＂'
        )
    };
    let signed = with_gershayim(text);
    let has_pair = signed.matches(is_quote).nth(1).is_some();
    let mut plain = String::with_capacity(text.len());
    let mut is_start = true;
    let mut characters = signed.chars().peekable();
    while let Some(c) = characters.next() {
        let next = characters.peek();
        let begins_word = next.is_some_and(|next| next.is_alphabetic() || is_quote(*next));
        plain.push(match c {
            _ if has_pair && is_quote(c) => '"',
            '\u{2212}' | '\u{2013}' if is_start && begins_word => '-',
            _ => c,
        });
        is_start = matches!(c, ' ' | '(');
    }
    (plain != text).then_some(plain)
}

/// A text with the sign of Hebrew abbreviations in place of each quote between two Hebrew letters.
fn with_gershayim(text: &str) -> String {
    let is_letter = |c: Option<char>| c.is_some_and(|c| matches!(c, 'א'..='ת'));
    let mut signed = String::with_capacity(text.len() + 2);
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        let is_between =
            is_letter(signed.chars().next_back()) && is_letter(characters.peek().copied());
        signed.push(if c == '"' && is_between { '״' } else { c });
    }
    signed
}

fn check_extended(query: &Query, options: &MatchOptions<'_>) -> Result<()> {
    if options.default_operator == Connective::And {
        return Err(Error::new(
            ErrorCode::IncompatibleOptions,
            "matching=\"extended\" joins words with OR and excludes operator=\"AND\"; \
             use matching=\"spec\" for AND",
        ));
    }
    if query.is_expanded() {
        return Err(already_expanded(
            "matching=\"extended\" reads the words of the text, which alias expansion replaced",
        ));
    }
    Ok(())
}

/// The expression of the tokens of a query, and the number of its words.
fn spec_expression(query: &Query, options: &MatchOptions<'_>) -> Result<(MatchExpression, usize)> {
    let query = expanded(query, options.aliases)?;
    let groups = query.token_groups().map(|group| {
        let operator = group.first().and_then(|token| token.operator);
        (operator, group.iter().map(Phrase::of).collect())
    });
    let mut groups: Vec<(Option<Operator>, Alternatives)> = groups.collect();
    if options.tokenizer == TokenizerKind::Words && !query.has_operators {
        groups = with_short_runs(groups, &query.raw, options.stopwords);
    }
    let words = groups.len();
    let expression = MatchExpression::assemble(groups.into_iter(), options.default_operator);
    Ok((expression, words))
}

/// The groups of a bare query with its words that are too short for the normative form, but have letters of
/// a script without spaces.
fn with_short_runs(
    groups: Vec<(Option<Operator>, Alternatives)>,
    raw: &str,
    stopwords: &StopWords,
) -> Vec<(Option<Operator>, Alternatives)> {
    let scan = scan(raw, stopwords);
    if scan.tokens().count() != groups.len() {
        return groups;
    }
    let mut kept = groups.into_iter();
    let mut all = Vec::with_capacity(scan.words.len());
    for word in scan.words {
        match word.outcome {
            WordOutcome::Kept(_) => all.extend(kept.next()),
            WordOutcome::Dropped(DropReason::TooShort(text)) if words::has_run(&text) => {
                let phrase = Phrase {
                    text: text.into_owned(),
                    ..Phrase::default()
                };
                all.push((None, vec![phrase]));
            }
            _ => {}
        }
    }
    all
}

/// Each date once, as its numbers in a row: `2026/04/04` becomes `"2026 04 04"`.
fn date_phrases(date_hints: &[String]) -> impl Iterator<Item = Phrase> {
    let mut seen = HashSet::new();
    date_hints
        .iter()
        .map(|hint| letter_digit_runs(hint).collect::<Vec<_>>().join(" "))
        .filter(move |text| seen.insert(text.clone()))
        .map(|text| Phrase {
            text,
            ..Phrase::default()
        })
}

/// Leave out what holds no token: FTS5 takes it for an empty phrase, and AND fails on it.
fn keep_searchable(expression: &mut MatchExpression, tokenizer: TokenizerKind) -> Result<()> {
    let mut fault = None;
    let mut searchable = |phrase: &Phrase| {
        tokenizer.finds_token(&phrase.text).unwrap_or_else(|error| {
            fault = Some(error);
            false
        })
    };
    expression.none.retain(&mut searchable);
    expression.any.retain_mut(|all| {
        all.retain_mut(|alternatives| {
            alternatives.retain(&mut searchable);
            !alternatives.is_empty()
        });
        !all.is_empty()
    });
    fault.map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_letters_of_a_script_without_spaces_are_a_word_for_the_words_tokenizer() {
        use TokenizerKind::{Porter, Words};
        for (tokenizer, expected) in [(Words, "\"coffee\" OR \"東京\""), (Porter, "\"coffee\"")] {
            let options = MatchOptions {
                tokenizer,
                ..MatchOptions::default()
            };
            let query = parse("coffee 東京").unwrap();
            assert_eq!(compile_match(&query, &options).unwrap(), expected);
        }
    }
}
