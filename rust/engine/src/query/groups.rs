//! Queries with operators in extended matching: parentheses group, and a minus sign excludes
//! (spec/compile.md, "Extended matching").

use super::ast::{Operator, Token};
use super::expression::{Alternatives, MatchExpression};
use super::limits;
use super::parse::{ParsedWords, WordOutcome};
use crate::error::Result;

/// An OR of conjunctions.
type Disjunction = Vec<Vec<Alternatives>>;

/// The part of a group, between two parentheses, that was read so far.
#[derive(Default)]
struct Group {
    /// The operator before it.
    operator: Option<Operator>,
    /// Whether a minus sign is before it.
    has_minus: bool,
    /// Whether results must not match it.
    is_excluded: bool,
    /// Whether there was a word or a group in it.
    has_items: bool,
    /// The operands of OR, each with its factors.
    operands: Vec<Vec<Disjunction>>,
}

impl Group {
    /// Whether a NOT excludes something here. At the start of the query there is nothing to exclude from.
    fn excludes(&self, operator: Option<Operator>, is_inner: bool) -> bool {
        operator == Some(Operator::Not) && (self.has_items || is_inner)
    }

    fn push(&mut self, operator: Option<Operator>, item: Disjunction) {
        match self.operands.last_mut() {
            Some(factors) if operator == Some(Operator::And) => factors.push(item),
            _ => self.operands.push(vec![item]),
        }
    }

    /// The group as one disjunction. Fails if it is too large.
    fn finish(self) -> Result<Disjunction> {
        let mut any = Vec::new();
        for factors in self.operands {
            if any.is_empty() {
                any = product(factors)?;
            } else {
                any.extend(product(factors)?);
            }
        }
        Ok(any)
    }
}

/// An expression, and the parts of the query that have no equivalent in it.
#[derive(Default)]
pub(super) struct GroupedExpression {
    pub expression: MatchExpression,
    /// Whether NOT stands before a group with AND, or within a group after NOT.
    pub has_ignored_exclusion: bool,
}

/// Read the words of a query. `alternatives` returns the alternatives of each token. Fails if the products of
/// groups are too large.
pub(super) fn read(
    scan: &ParsedWords<'_>,
    mut alternatives: impl FnMut(&str, &Token) -> Result<Alternatives>,
) -> Result<GroupedExpression> {
    let mut grouped = GroupedExpression::default();
    let mut group = Group::default();
    let mut outer: Vec<Group> = Vec::new();
    let mut has_minus = false;
    for word in &scan.words {
        let is_after_minus = std::mem::take(&mut has_minus);
        match &word.outcome {
            WordOutcome::Kept(token) => {
                let token = token.clone().into_owned();
                let item = vec![vec![alternatives(word.source, &token)?]];
                let is_excluded =
                    is_after_minus || group.excludes(token.operator, !outer.is_empty());
                grouped.add(&mut group, token.operator, is_excluded, item);
            }
            WordOutcome::Minus => has_minus = true,
            WordOutcome::Open(operator) => {
                let inner = Group {
                    operator: *operator,
                    has_minus: is_after_minus,
                    is_excluded: group.is_excluded
                        || is_after_minus
                        || group.excludes(*operator, !outer.is_empty()),
                    ..Group::default()
                };
                outer.push(std::mem::replace(&mut group, inner));
            }
            WordOutcome::Close => {
                if let Some(before) = outer.pop() {
                    grouped.close(&mut group, before, !outer.is_empty())?;
                }
            }
            WordOutcome::Operator(..) | WordOutcome::Dropped(_) => {}
        }
    }
    while let Some(before) = outer.pop() {
        grouped.close(&mut group, before, !outer.is_empty())?;
    }
    grouped.expression.any = group.finish()?;
    if grouped.expression.any.is_empty() {
        // There is nothing to exclude from: as in a bare query, the words are searched for.
        let none = std::mem::take(&mut grouped.expression.none);
        grouped
            .expression
            .any
            .extend(none.into_iter().map(|phrase| vec![vec![phrase]]));
    }
    let none = grouped.expression.none.len();
    limits::check_expanded(grouped.expression.phrases().count() + none)?;
    Ok(grouped)
}

impl GroupedExpression {
    /// End a group and add it to the one around it, which is the current one then. `is_inner` says whether another
    /// group is around that.
    fn close(&mut self, group: &mut Group, before: Group, is_inner: bool) -> Result<()> {
        let inner = std::mem::replace(group, before);
        let (operator, has_minus) = (inner.operator, inner.has_minus);
        let item = inner.finish()?;
        if !item.is_empty() {
            let is_excluded = has_minus || group.excludes(operator, is_inner);
            self.add(group, operator, is_excluded, item);
        }
        Ok(())
    }

    fn add(
        &mut self,
        group: &mut Group,
        operator: Option<Operator>,
        is_excluded: bool,
        item: Disjunction,
    ) {
        group.has_items = true;
        if !is_excluded {
            group.push(operator, item);
        } else if group.is_excluded {
            self.has_ignored_exclusion = true;
        } else {
            for all in item {
                match <[Alternatives; 1]>::try_from(all) {
                    Ok([alternatives]) => {
                        let stated = alternatives.into_iter().filter(|p| p.variant_of.is_none());
                        self.expression.none.extend(stated);
                    }
                    Err(_) => self.has_ignored_exclusion = true,
                }
            }
        }
    }
}

/// The conjunctions of several factors. Fails if there are too many phrases in them.
fn product(factors: Vec<Disjunction>) -> Result<Disjunction> {
    if factors.len() == 1 {
        return Ok(factors.into_iter().flatten().collect());
    }
    let phrases = |any: &Disjunction| any.iter().flatten().map(Vec::len).sum::<usize>();
    let mut product: Disjunction = vec![Vec::new()];
    let mut count = 0;
    for factor in factors.into_iter().map(joined) {
        count = count * factor.len() + phrases(&factor) * product.len();
        limits::check_count(count)?;
        if let [all] = factor.as_slice() {
            for before in &mut product {
                before.extend_from_slice(all);
            }
            continue;
        }
        let pairs = product.iter().flat_map(|before| {
            factor
                .iter()
                .map(move |all| [before.as_slice(), all].concat())
        });
        product = pairs.collect();
    }
    Ok(product)
}

/// An OR of single words as alternatives, which need no product.
fn joined(factor: Disjunction) -> Disjunction {
    if factor.len() > 1 && factor.iter().all(|all| all.len() == 1) {
        vec![vec![factor.into_iter().flatten().flatten().collect()]]
    } else {
        factor
    }
}
