//! Reading conditions from the JSON that people write (spec/filters.md, "Conditions").

use serde_json::{Map, Value};

use super::condition::{Comparison, Condition, Test, ValueSet};
use super::field::Field;
use super::problem::{JOINS, OPERATORS, Place, check_plain, kind, list, object, some, unknown};
use crate::calendar::{self, Instant};
use crate::error::Result;
use crate::text::glob::{BadGlob, Glob};
use crate::text::normalise::forms;

/// How deep conditions may nest.
const MAX_DEPTH: usize = 32;
/// The most conditions of a filter.
const MAX_CONDITIONS: usize = 1000;
/// The most values of its lists together.
const MAX_VALUES: usize = 100_000;
/// The most characters of a pattern, since each is compared with each character of a text.
const MAX_PATTERN: usize = 256;

/// The key of a date as extended JSON writes it.
const DATE: &str = "$date";

/// Return the condition of a filter; `name` is the caller's name for it.
pub(crate) fn condition(name: &str, filter: &Map<String, Value>) -> Result<Condition> {
    let mut parser = Parser {
        depth: MAX_DEPTH,
        conditions: MAX_CONDITIONS,
        values: MAX_VALUES,
    };
    parser.filter(filter, Place::Root(name), 0)
}

/// Return the condition of a filter whose parts were within the limits before they were joined.
pub(crate) fn joined(filter: &Map<String, Value>) -> Result<Condition> {
    let mut parser = Parser {
        depth: usize::MAX,
        conditions: usize::MAX,
        values: usize::MAX,
    };
    parser.filter(filter, Place::Root("filters"), 0)
}

/// Reads one filter within these limits.
struct Parser {
    depth: usize,
    /// The number of conditions left.
    conditions: usize,
    /// The number of values left.
    values: usize,
}

impl Parser {
    /// An object of fields and joins, all of which must hold.
    fn filter(
        &mut self,
        filter: &Map<String, Value>,
        place: Place<'_>,
        depth: usize,
    ) -> Result<Condition> {
        self.check_depth(place, depth)?;
        let mut all = Vec::with_capacity(filter.len());
        for (key, value) in filter {
            let at = Place::Key(&place, key);
            all.push(if key.starts_with('$') {
                self.join(key, value, place, depth)?
            } else {
                let field = Field::named(key).ok_or_else(|| place.error("has an empty key"))?;
                self.field(&field, value, at, depth)?
            });
        }
        Ok(one_of(all))
    }

    fn join(
        &mut self,
        name: &str,
        value: &Value,
        place: Place<'_>,
        depth: usize,
    ) -> Result<Condition> {
        let at = Place::Key(&place, name);
        match name {
            "$and" => Ok(Condition::All(self.filters(value, at, depth)?)),
            "$or" => Ok(Condition::Any(self.filters(value, at, depth)?)),
            "$nor" => {
                let any = Condition::Any(self.filters(value, at, depth)?);
                Ok(Condition::Not(Box::new(any)))
            }
            "$not" => {
                let filter = object(value, at, "a filter to negate")?;
                let negated = self.filter(filter, at, depth + 1)?;
                Ok(Condition::Not(Box::new(negated)))
            }
            _ if OPERATORS.contains(&name) => Err(place.error(&format!(
                "has {name:?} without a field; write {{\"year\": {{{name:?}: ...}}}}"
            ))),
            _ => Err(place.error(&unknown(name, &JOINS))),
        }
    }

    /// The filters of a list.
    fn filters(&mut self, value: &Value, place: Place<'_>, depth: usize) -> Result<Vec<Condition>> {
        let filters = some(value, place, "a list of filters")?;
        let read = filters.iter().enumerate().map(|(item, filter)| {
            let at = Place::Item(&place, item);
            let filter = object(filter, at, "a filter")?;
            self.filter(filter, at, depth + 1)
        });
        read.collect()
    }

    /// Read the condition of a field: a value, or an object of operators.
    fn field(
        &mut self,
        field: &Field,
        value: &Value,
        place: Place<'_>,
        depth: usize,
    ) -> Result<Condition> {
        match value {
            Value::Object(map) if map.keys().any(|key| key.starts_with('$')) => {
                if map.contains_key(DATE) {
                    return self.equal(field, value, place);
                }
                self.operators(field, map, place, depth)
            }
            Value::Object(map) => {
                check_plain(map, place)?;
                self.equal(field, value, place)
            }
            Value::Array(tags) if *field == Field::Tags => self.each(field, tags, place),
            _ => self.equal(field, value, place),
        }
    }

    /// Operators on a field, all of which must hold.
    fn operators(
        &mut self,
        field: &Field,
        operators: &Map<String, Value>,
        place: Place<'_>,
        depth: usize,
    ) -> Result<Condition> {
        self.check_depth(place, depth)?;
        if let Some(key) = operators.keys().find(|key| !key.starts_with('$')) {
            return Err(place.error(&format!(
                "has operators and the key {key:?}; write the key with dots, as in \"author.name\", \
                 or {{\"$eq\": {{...}}}} for a whole object"
            )));
        }
        let mut all = Vec::with_capacity(operators.len());
        for (name, operand) in operators {
            let at = Place::Key(&place, name);
            all.push(match name.as_str() {
                "$eq" => self.equal(field, operand, at)?,
                "$ne" => not(self.equal(field, operand, at)?),
                "$gt" => self.compare(field, Comparison::More, operand, at)?,
                "$gte" => self.compare(field, Comparison::AtLeast, operand, at)?,
                "$lt" => self.compare(field, Comparison::Less, operand, at)?,
                "$lte" => self.compare(field, Comparison::AtMost, operand, at)?,
                "$between" => self.between(field, operand, at)?,
                "$in" => self.any_of(field, operand, at)?,
                "$nin" => not(self.any_of(field, operand, at)?),
                "$all" => self.each(field, some(operand, at, "a list of values")?, at)?,
                "$contains" => self.contains(field, operand, at)?,
                "$exists" => self.exists(field, operand, at)?,
                "$glob" => self.glob(field, operand, at)?,
                "$not" => {
                    let negated = object(operand, at, "an object of operators to negate")?;
                    not(self.operators(field, negated, at, depth + 1)?)
                }
                _ if JOINS.contains(&name.as_str()) => {
                    return Err(place.error(&format!(
                        "has {name:?} after a field; write {{{name:?}: [{{\"a\": ...}}, {{\"a\": ...}}]}}"
                    )));
                }
                _ => return Err(place.error(&unknown(name, &OPERATORS))),
            });
        }
        Ok(one_of(all))
    }

    fn leaf(&mut self, field: &Field, test: Test, place: Place<'_>) -> Result<Condition> {
        let Some(left) = self.conditions.checked_sub(1) else {
            let what = format!("is one of more than {MAX_CONDITIONS} conditions");
            return Err(place.error(&what));
        };
        self.conditions = left;
        Ok(Condition::Field(field.clone(), test))
    }

    fn equal(&mut self, field: &Field, value: &Value, place: Place<'_>) -> Result<Condition> {
        self.count_values(1, place)?;
        let test = match date(value, place)? {
            Some(date) => Test::Date(Comparison::Equal, date),
            None => Test::In(ValueSet::new(forms_of(field, value))),
        };
        self.leaf(field, test, place)
    }

    fn compare(
        &mut self,
        field: &Field,
        comparison: Comparison,
        value: &Value,
        place: Place<'_>,
    ) -> Result<Condition> {
        if let Some(date) = date(value, place)? {
            return self.leaf(field, Test::Date(comparison, date), place);
        }
        match value {
            // Null equals itself, and comes neither before nor after anything.
            Value::Null if matches!(comparison, Comparison::Less | Comparison::More) => {
                Ok(Condition::Any(Vec::new()))
            }
            Value::Null => self.equal(field, value, place),
            Value::Array(_) | Value::Object(_) => Err(place.error(&format!(
                "must be a number, a text, a date, a bool or null, not {}",
                kind(value)
            ))),
            _ => self.leaf(field, Test::Compare(comparison, value.clone()), place),
        }
    }

    fn between(&mut self, field: &Field, value: &Value, place: Place<'_>) -> Result<Condition> {
        let Some([from, to]) = value.as_array().map(Vec::as_slice) else {
            return Err(place.error("must be a list of two values, the lowest and the highest"));
        };
        Ok(Condition::All(vec![
            self.compare(field, Comparison::AtLeast, from, Place::Item(&place, 0))?,
            self.compare(field, Comparison::AtMost, to, Place::Item(&place, 1))?,
        ]))
    }

    fn any_of(&mut self, field: &Field, value: &Value, place: Place<'_>) -> Result<Condition> {
        let items = list(value, place, "a list of values")?;
        self.count_values(items.len(), place)?;
        let (mut values, mut any) = (Vec::new(), Vec::new());
        for (item, value) in items.iter().enumerate() {
            let at = Place::Item(&place, item);
            match date(value, at)? {
                Some(date) => {
                    any.push(self.leaf(field, Test::Date(Comparison::Equal, date), at)?);
                }
                None => values.extend(forms_of(field, value)),
            }
        }
        any.push(self.leaf(field, Test::In(ValueSet::new(values)), place)?);
        Ok(any_of(any))
    }

    /// All of some values.
    fn each(&mut self, field: &Field, values: &[Value], place: Place<'_>) -> Result<Condition> {
        let each = values
            .iter()
            .enumerate()
            .map(|(item, value)| self.equal(field, value, Place::Item(&place, item)));
        each.collect::<Result<_>>().map(one_of)
    }

    fn contains(&mut self, field: &Field, value: &Value, place: Place<'_>) -> Result<Condition> {
        let forms = forms_of(field, value).into_iter();
        let any = forms.map(|form| self.leaf(field, Test::Contains(form), place));
        any.collect::<Result<_>>().map(any_of)
    }

    fn exists(&mut self, field: &Field, value: &Value, place: Place<'_>) -> Result<Condition> {
        let wanted = value
            .as_bool()
            .ok_or_else(|| place.error(&format!("must be true or false, not {}", kind(value))))?;
        let exists = self.leaf(field, Test::Exists, place)?;
        Ok(if wanted { exists } else { not(exists) })
    }

    fn glob(&mut self, field: &Field, value: &Value, place: Place<'_>) -> Result<Condition> {
        let wrong = || {
            place.error(&format!(
                "must be a text with wildcards, not {}",
                kind(value)
            ))
        };
        let pattern = value.as_str().ok_or_else(wrong)?;
        if pattern.chars().count() > MAX_PATTERN {
            return Err(place.error(&format!("is longer than {MAX_PATTERN} characters")));
        }
        let glob = Glob::new(pattern).map_err(|error| match error {
            BadGlob::OpenBracket => {
                place.error("has a bracket that is not closed; write [[] for the character")
            }
            BadGlob::ReversedRange(from, to) => place.error(&format!(
                "has the range {from}-{to}, which ends before it begins"
            )),
        })?;
        let mut any = vec![self.leaf(field, Test::Glob(glob), place)?];
        // A set is of characters, and a decomposed letter is several.
        let forms = forms_of(field, value).into_iter().skip(1);
        for form in forms.filter(|_| !pattern.contains('[')) {
            let glob = form.as_str().and_then(|form| Glob::new(form).ok());
            if let Some(glob) = glob {
                any.push(self.leaf(field, Test::Glob(glob), place)?);
            }
        }
        Ok(any_of(any))
    }

    fn count_values(&mut self, count: usize, place: Place<'_>) -> Result<()> {
        let Some(left) = self.values.checked_sub(count) else {
            return Err(place.error(&format!("has one of more than {MAX_VALUES} values")));
        };
        self.values = left;
        Ok(())
    }

    fn check_depth(&self, place: Place<'_>, depth: usize) -> Result<()> {
        if depth > self.depth {
            return Err(place.error(&format!("nests deeper than {MAX_DEPTH} levels")));
        }
        Ok(())
    }
}

/// The date that an object is which has one; None for any other value.
fn date(value: &Value, place: Place<'_>) -> Result<Option<Instant>> {
    let Some((map, date)) = value
        .as_object()
        .and_then(|map| Some((map, map.get(DATE)?)))
    else {
        return Ok(None);
    };
    let text = date.as_str().filter(|_| map.len() == 1);
    let instant = text.and_then(calendar::instant);
    let wrong = "is no date; write {\"$date\": \"2024-03-05\"}, with a time if need be, as in \
                 \"2024-03-05T14:30:00+01:00\"";
    instant.map(Some).ok_or_else(|| place.error(wrong))
}

fn not(condition: Condition) -> Condition {
    Condition::Not(Box::new(condition))
}

/// A value, and the other Unicode forms of a path or a tag.
fn forms_of(field: &Field, value: &Value) -> Vec<Value> {
    match value.as_str() {
        Some(text) if matches!(field, Field::Path | Field::Tags) => {
            forms(text).into_iter().map(Value::from).collect()
        }
        _ => vec![value.clone()],
    }
}

/// Return the alternative of some conditions.
pub(super) fn any_of(mut any: Vec<Condition>) -> Condition {
    match any.pop() {
        Some(only) if any.is_empty() => only,
        last => {
            any.extend(last);
            Condition::Any(any)
        }
    }
}

/// All conditions as one.
fn one_of(mut all: Vec<Condition>) -> Condition {
    match all.pop() {
        Some(only) if all.is_empty() => only,
        last => {
            all.extend(last);
            Condition::All(all)
        }
    }
}
