//! Reading transforms.

use super::ast::{ShownColumn, Sort, SortBy, SortValue, Transform};
use super::parse_generator;
use super::parse_value::{number, params};
use super::piece::{Piece, hyphened, is_space};
use super::problem::{Problem, ProblemKind};

/// Every field that can be sorted by.
pub(super) const FIELDS: [&str; 13] = [
    "score",
    "weight",
    "timestamp",
    "created",
    "content-len",
    "key-len",
    "degree",
    "emotion",
    "cc",
    "isolation",
    "priority",
    "recency",
    "key",
];

/// `count`.
pub(super) fn count(items: &[Piece<'_>]) -> Result<Transform, Problem> {
    params(items, &[], |_, _| Ok(()))?;
    Ok(Transform::Count)
}

/// `rank:`.
pub(super) fn rank(value: Piece<'_>) -> Result<Transform, Problem> {
    parse_generator::search(value).map(Transform::Rank)
}

/// `sort`, `limit` and `select`.
pub(super) fn spaced(name: &str, value: Piece<'_>) -> Result<Transform, Problem> {
    let items = value.split(true, |c| c == ',');
    if name == "select" {
        let columns = items.into_iter().map(column).collect::<Result<_, _>>()?;
        return Ok(Transform::Select(columns));
    }
    let only = items.first().copied().unwrap_or(value);
    let transform = if name == "limit" {
        Transform::Limit(only.integer(0..=usize::MAX)?)
    } else {
        Transform::Sort(order(only)?)
    };
    match items.get(1) {
        Some(more) => Err(more.unexpected()),
        None => Ok(transform),
    }
}

fn column(item: Piece<'_>) -> Result<ShownColumn, Problem> {
    let name = item.string()?;
    let found = ShownColumn::ALL.iter().find(|(_, known)| *known == name);
    found.map(|(column, _)| *column).ok_or_else(|| {
        let known = ShownColumn::ALL.iter().map(|(_, known)| *known);
        item.unknown(ProblemKind::UnknownField, "column", &hyphened(&name), known)
    })
}

fn order(value: Piece<'_>) -> Result<Sort, Problem> {
    let expression = value.split(true, is_space)[0];
    let direction = value.split_at(expression.str().len()).1.trimmed();
    let terms = expression.split(true, |c| c == '+');
    let by = match &terms[..] {
        [only] if only.split(true, |c| c == '*').len() == 1 => single(*only)?,
        terms => SortBy::Sum(terms.iter().map(|t| term(*t)).collect::<Result<_, _>>()?),
    };
    let ascending = match direction.str() {
        "" => by == SortBy::Key,
        "asc" => true,
        "desc" => false,
        _ => {
            let sentence = "the order must be asc or desc";
            let known = ["asc", "desc"];
            return Err(direction.misspelled(ProblemKind::BadSort, sentence, known));
        }
    };
    Ok(Sort { by, ascending })
}

fn single(piece: Piece<'_>) -> Result<SortBy, Problem> {
    Ok(match field(piece)? {
        Some(value) => SortBy::Value(value),
        None => SortBy::Key,
    })
}

/// The weight and the field of one term of a sum.
fn term(piece: Piece<'_>) -> Result<(f64, SortValue), Problem> {
    let (weight, name) = match piece.split(true, |c| c == '*')[..] {
        [name] => (1.0, name),
        [left, right] => match (number(left.str()), number(right.str())) {
            (None, Some(weight)) => (weight, left),
            (Some(weight), None) => (weight, right),
            _ => return Err(not_a_term(piece)),
        },
        _ => return Err(not_a_term(piece)),
    };
    if name.is_empty() {
        return Err(not_a_term(piece));
    }
    let Some(value) = field(name)? else {
        let sentence = "a key is not a number and cannot be part of a sum";
        return Err(name.problem(ProblemKind::BadSort, sentence));
    };
    Ok((weight, value))
}

fn not_a_term(piece: Piece<'_>) -> Problem {
    let sentence = "a sum is of fields, each alone or times a number";
    piece.problem(ProblemKind::BadSort, sentence)
}

/// A field that can be sorted by; None for the key.
fn field(piece: Piece<'_>) -> Result<Option<SortValue>, Problem> {
    let (name, argument) = match piece.str().find('(') {
        None => (piece, None),
        Some(open) => {
            let (name, rest) = piece.split_at(open);
            if !rest.str().ends_with(')') || rest.str().len() < 2 {
                let sentence = "the bracket of this field is not closed";
                return Err(piece.problem(ProblemKind::BadSort, sentence));
            }
            let inner = rest.split_at(rest.str().len() - 1).0.split_at(1).1;
            (name.trimmed(), Some(inner.trimmed()))
        }
    };
    let value = match (name.str(), argument) {
        ("recency", Some(agent)) if !agent.is_empty() => {
            return Ok(Some(SortValue::Recency(agent.string()?)));
        }
        ("recency", _) => {
            let sentence = "recency needs the agent: recency(linker)";
            return Err(piece.problem(ProblemKind::MissingValue, sentence));
        }
        ("priority", Some(form)) => {
            if form.str() == "spectral" {
                return Ok(Some(SortValue::SpectralPriority));
            }
            let sentence = "in brackets priority takes spectral and nothing else";
            return Err(piece.problem(ProblemKind::BadValue, sentence));
        }
        (name, _) => plain(name),
    };
    if value.is_none() && name.str() != "key" {
        let word = hyphened(name.str());
        return Err(name.unknown(ProblemKind::UnknownField, "field", &word, FIELDS));
    }
    match argument {
        Some(_) => {
            let sentence = format!("{} takes no value", name.str());
            Err(piece.problem(ProblemKind::UnexpectedValue, sentence))
        }
        None => Ok(value),
    }
}

fn plain(name: &str) -> Option<SortValue> {
    Some(match name {
        "score" => SortValue::Score,
        "weight" => SortValue::Weight,
        "timestamp" => SortValue::Timestamp,
        "created" => SortValue::Created,
        "content-len" => SortValue::ContentLen,
        "key-len" => SortValue::KeyLen,
        "degree" => SortValue::Degree,
        "emotion" => SortValue::Emotion,
        "cc" => SortValue::Clustering,
        "isolation" => SortValue::Isolation,
        "priority" => SortValue::Priority,
        _ => return None,
    })
}
