//! Conditions with the JSON that they were read from.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::condition::Condition;
use super::field::Field;
use super::parse;
use crate::calendar;
use crate::error::{Error, ErrorCode, Result};

/// Conditions in the form that Mongo made common.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Where {
    source: Map<String, Value>,
    #[serde(skip)]
    condition: Arc<Condition>,
}

/// From one date on and before another, on one key.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Period {
    key: String,
    after: Option<String>,
    before: Option<String>,
    wanted: Where,
}

impl Where {
    /// Read conditions; `name` is the caller's name for them. None for an empty filter.
    pub fn new(name: &str, source: Map<String, Value>) -> Result<Option<Self>> {
        if source.is_empty() {
            return Ok(None);
        }
        let condition = Arc::new(parse::condition(name, &source)?);
        Ok(Some(Self { source, condition }))
    }

    /// Both.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let all = [self, other].map(|wanted| Value::Object(wanted.source.clone()));
        let condition = [self, other].map(|wanted| wanted.condition().clone());
        Self {
            source: Map::from_iter([("$and".to_owned(), Value::Array(all.to_vec()))]),
            condition: Arc::new(Condition::All(condition.to_vec())),
        }
    }

    /// Return the source of the filter.
    pub fn source(&self) -> &Map<String, Value> {
        &self.source
    }

    pub(crate) fn condition(&self) -> &Condition {
        &self.condition
    }
}

impl Period {
    /// The date of `key` is `after` or later, and earlier than `before`. None without either.
    pub fn new(key: &str, after: Option<String>, before: Option<String>) -> Result<Option<Self>> {
        let error = |what: String| Error::new(ErrorCode::InvalidFilter, what);
        if Field::named(key).is_none() || key.starts_with('$') {
            return Err(error(format!("date_key must name a key, not {key:?}")));
        }
        let mut operators = Map::new();
        for (name, operator, date) in [("after", "$gte", &after), ("before", "$lt", &before)] {
            let Some(text) = date else { continue };
            if calendar::instant(text).is_none() {
                return Err(error(format!(
                    "{name} must be a date such as \"2024-03-05\" or \
                     \"2024-03-05T14:30:00+01:00\", not {text:?}"
                )));
            }
            operators.insert(operator.to_owned(), json!({"$date": text}));
        }
        if operators.is_empty() {
            return Ok(None);
        }
        let source = Map::from_iter([(key.to_owned(), Value::Object(operators))]);
        let wanted = Where::new("filters", source)?;
        Ok(wanted.map(|wanted| Self {
            key: key.to_owned(),
            after,
            before,
            wanted,
        }))
    }

    /// The key that has the date.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The first date that passes.
    pub fn after(&self) -> Option<&str> {
        self.after.as_deref()
    }

    /// Return the exclusive upper bound of dates.
    pub fn before(&self) -> Option<&str> {
        self.before.as_deref()
    }

    pub(super) fn as_where(&self) -> &Where {
        &self.wanted
    }

    pub(crate) fn condition(&self) -> &Condition {
        self.wanted.condition()
    }
}
