//! Reading filters.

use super::ast::{Filter, NumberField};
use super::piece::{Piece, hyphened};
use super::problem::{Problem, ProblemKind};
use crate::graph::{Category, TYPES};
use hedgerow_engine::text::glob::{BadGlob, Glob};

/// A filter without its negation.
pub(super) fn filter(name: &str, value: Piece<'_>, types: &[String]) -> Result<Filter, Problem> {
    let items = value.split(false, |c| c == ',');
    match name {
        "type" => {
            let registered = types.iter().map(String::as_str);
            let known: Vec<&str> = TYPES.into_iter().chain(registered).collect();
            words(&items, "type", &known, |name| node_type(name, &known)).map(Filter::Type)
        }
        "category" => {
            let known: Vec<&str> = Category::ALL.iter().map(|known| known.as_str()).collect();
            words(&items, "category", &known, Category::from_name).map(Filter::Category)
        }
        "visited" | "not-visited" => {
            let (agent, within) = visit(&items)?;
            Ok(match name {
                "visited" => Filter::Visited(agent, within),
                _ => Filter::NotVisited(agent, within),
            })
        }
        _ => {
            let (only, rest) = match &items[..] {
                [only, rest @ ..] => (*only, rest),
                [] => (value, &[][..]),
            };
            let filter = of_one_value(name, only)?;
            match rest.first() {
                Some(more) => Err(more.unexpected()),
                None => Ok(filter),
            }
        }
    }
}

fn of_one_value(name: &str, value: Piece<'_>) -> Result<Filter, Problem> {
    match name {
        "key" => glob(value).map(Filter::Key),
        "provenance" => glob(value).map(Filter::Provenance),
        "community" => community(value),
        "age" => value
            .compared_duration()
            .map(|(comparison, seconds)| Filter::Age(comparison, seconds)),
        "created" => value
            .compared_duration()
            .map(|(comparison, seconds)| Filter::Created(comparison, seconds)),
        _ => {
            let field = NumberField::ALL.iter().find(|(_, known)| *known == name);
            let field = field.map_or(NumberField::Score, |(field, _)| *field);
            let (comparison, number) = value.compared_number()?;
            Ok(Filter::Number(field, comparison, number))
        }
    }
}

/// Words, each of a closed set.
fn words<T>(
    items: &[Piece<'_>],
    what: &str,
    known: &[&str],
    from_name: impl Fn(&str) -> Option<T>,
) -> Result<Vec<T>, Problem> {
    let word = |item: &Piece<'_>| {
        let string = item.string()?;
        from_name(&string).ok_or_else(|| {
            let known = known.iter().copied();
            item.unknown(ProblemKind::UnknownValue, what, &hyphened(&string), known)
        })
    };
    items.iter().map(word).collect()
}

/// `session` is the earlier name of `episodic`.
fn node_type(name: &str, known: &[&str]) -> Option<String> {
    let name = if name == "session" { "episodic" } else { name };
    known.contains(&name).then(|| name.to_owned())
}

fn glob(value: Piece<'_>) -> Result<Glob, Problem> {
    Glob::new(&value.string()?).map_err(|error| {
        let sentence = match error {
            BadGlob::OpenBracket => "a bracket of this pattern is not closed".to_owned(),
            BadGlob::ReversedRange(from, to) => {
                format!("the range {from}-{to} of this pattern is reversed; write {to}-{from}")
            }
        };
        value.problem(ProblemKind::BadGlob, sentence)
    })
}

fn community(value: Piece<'_>) -> Result<Filter, Problem> {
    if value.str().starts_with('@') {
        let key = value.split_at(1).1.trimmed().string()?;
        return Ok(Filter::CommunityOf(key));
    }
    let digits = value.str().bytes().all(|byte| byte.is_ascii_digit());
    if value.is_empty() || !digits {
        let sentence = format!(
            "{:?} is not a community; give its number, or @ and the key of a member",
            value.str()
        );
        return Err(value.problem(ProblemKind::BadValue, sentence));
    }
    Ok(Filter::Community(value.str().parse().unwrap_or(i64::MAX)))
}

/// The agent of a visit, and the seconds within which it must be.
fn visit(items: &[Piece<'_>]) -> Result<(String, Option<i64>), Problem> {
    let agent = match items.first() {
        Some(agent) => agent.string()?,
        None => String::new(),
    };
    let within = items.get(1).map(|within| within.duration()).transpose()?;
    match items.get(2) {
        Some(more) => Err(more.unexpected()),
        None => Ok((agent, within)),
    }
}
