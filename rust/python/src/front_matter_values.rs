//! Values of front matter as the memory crate reads them: links, times, ages, scopes, marks.

use hedgerow_engine::calendar::{Edge, Time, moment};
use hedgerow_memory::day_format::{DayFormat, days_in_name};
use hedgerow_memory::facts::{self, Scope};
use hedgerow_memory::times::StatedTime;
use hedgerow_memory::{format, times};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyList, PyString};
use serde_json::{Map, Value};

use crate::ingest::{PyFrontMatter, json};
use crate::text::Text;

/// The target, the relation and the strength of a link.
type LinkTuple = (String, String, f64);
/// The microseconds since 1970 in UTC, and the seconds that the zone is ahead of UTC.
type TimeTuple = (i64, i32);

/// Return the links of front matter in order, and the problems of some.
#[pyfunction]
pub fn _links_in_fields(front_matter: &PyFrontMatter) -> (Vec<LinkTuple>, Vec<String>) {
    let fields = front_matter.read().fields.iter();
    let (links, problems) = format::links_in_fields(fields.map(|(key, one)| (&**key, one)));
    let links = links.into_iter();
    (
        links.map(|link| (link.0, link.1, link.2)).collect(),
        problems,
    )
}

/// Return the time of a date or a date-time; None for any other value.
#[pyfunction]
pub fn _parse_time(value: &Bound<'_, PyAny>) -> PyResult<Option<TimeTuple>> {
    Ok(times::parse_time(&scalar(value)?).map(time_tuple))
}

/// Return the last microsecond of a date, or a date-time itself; None for any other value.
#[pyfunction]
pub fn _parse_end(value: &Bound<'_, PyAny>) -> PyResult<Option<TimeTuple>> {
    let time = times::parse_end(&scalar(value)?);
    Ok(time.map(|time| (time.micros, time.offset)))
}

/// Return the moment that a text of an option means, counted from `now`: the start of a day or a period, or with `is_end`
/// its end; None for any other text.
#[pyfunction]
pub fn _moment(text: Text, now: TimeTuple, is_end: bool) -> Option<TimeTuple> {
    let (micros, offset) = now;
    let edge = if is_end { Edge::End } else { Edge::Start };
    let found = moment(&text, Time { micros, offset }, edge)?;
    Some((found.micros, found.offset))
}

/// Return the days of an age such as `30d` or `2w`; None for any other value.
#[pyfunction]
pub fn _parse_age(value: &Bound<'_, PyAny>) -> PyResult<Option<i64>> {
    Ok(times::parse_age(&scalar(value)?))
}

/// Return the time of a memory from its front matter, else from the day at the start of its name; None
/// without either.
#[pyfunction]
pub fn _memory_time(path: Text, metadata: &Bound<'_, PyAny>) -> PyResult<Option<TimeTuple>> {
    let mut fields = Map::new();
    for key in facts::TIME_FIELDS {
        let value = metadata.call_method1("get", (key,))?;
        fields.insert(key.to_owned(), scalar(&value)?);
    }
    Ok(facts::memory_time(&path, &fields).map(time_tuple))
}

/// Return the day with which the name of a file begins, in ISO 8601: the one in a format, else in any form. Two
/// days if the order of day and month is unknown, none for another name. A format that cannot be read counts
/// as none.
#[pyfunction]
pub fn _days_in_name(path: Text, format: Option<Text>) -> Vec<String> {
    let format = format.and_then(|format| DayFormat::parse(&format).ok());
    let found = format.and_then(|format| format.day(&path));
    let found = found.map_or_else(|| days_in_name(&path), |day| vec![day]);
    found.into_iter().map(StatedTime::iso_day).collect()
}

/// Return the title of a note of a vault by its page properties, or an empty text.
#[pyfunction]
pub fn _page_title(body: Text) -> String {
    format::page_properties(&body).title
}

/// Return the problem of a format of the names of daily notes, or None.
#[pyfunction]
pub fn _day_format_problem(format: Text) -> Option<String> {
    DayFormat::parse(&format).err()
}

/// Return the id of a scope as text; None for a value that is no id. A text is returned unchanged, even
/// with half of a surrogate pair: the writer of the memory rejects it.
#[pyfunction]
pub fn _scope_id<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(id) = facts::scope_id(&scalar(value)?) else {
        return Ok(None);
    };
    let is_text = value.is_instance_of::<PyString>();
    Ok(Some(if is_text {
        value.clone()
    } else {
        PyString::new(value.py(), &id).into_any()
    }))
}

/// Return the ids of the scope that a value of front matter states; ids that no caller can give if it cannot be read.
#[pyfunction]
pub fn _stated_scope(value: &Bound<'_, PyAny>) -> (Option<String>, Option<String>, Option<String>) {
    let value = json("scope", value).unwrap_or(Value::Bool(true));
    let stated = Map::from_iter([(format::SCOPE.to_owned(), value)]);
    let [user, agent, session] = Scope::stated(&stated).ids().map(|id| id.map(str::to_owned));
    (user, agent, session)
}

/// Whether the value of `retracted` retracts a memory.
#[pyfunction]
pub fn _is_retracted(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(facts::is_retracted(&scalar(value)?))
}

fn time_tuple(stated: StatedTime) -> TimeTuple {
    (stated.time.micros, stated.time.offset)
}

/// Return a text, a number, a bool, None or a list of one text as JSON; true for any other value.
fn scalar(value: &Bound<'_, PyAny>) -> PyResult<Value> {
    if value.is_none() {
        return Ok(Value::Null);
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Value::String(text.to_string_lossy().into_owned()));
    }
    if value.is_instance_of::<PyBool>() {
        return Ok(Value::Bool(value.extract()?));
    }
    if value.is_instance_of::<PyFloat>() {
        return Ok(value.extract::<f64>()?.into());
    }
    if value.is_instance_of::<PyInt>() {
        let number = value.extract::<i64>().map(Value::from);
        let number = number.or_else(|_| value.extract::<u64>().map(Value::from));
        return Ok(number.unwrap_or(Value::Bool(true)));
    }
    let Ok(list) = value.cast::<PyList>() else {
        return Ok(Value::Bool(true));
    };
    let items: Vec<Bound<'_, PyAny>> = list.iter().take(2).collect();
    match items.as_slice() {
        [only] if only.is_instance_of::<PyString>() => Ok(Value::Array(vec![scalar(only)?])),
        _ => Ok(Value::Bool(true)),
    }
}
