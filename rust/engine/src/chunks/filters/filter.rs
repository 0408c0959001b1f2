//! All that a chunk must be.

use std::collections::HashSet;

use serde::Serialize;
use serde_json::{Map, Value};

use super::condition::{Condition, Test, ValueSet};
use super::field::{Field, TestedChunk};
use super::json;
use super::parse::any_of;
use super::where_and_period::{Period, Where};
use crate::chunks::chunk::Chunk;
use crate::text::normalise::forms;

/// Conditions on a chunk; every given condition must hold.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Filters {
    /// The path is one of these; none given, any path.
    pub paths: Vec<String>,
    /// The path begins with this text, to the letter.
    pub path_prefix: Option<String>,
    /// The tags are all there.
    pub tags: Vec<String>,
    /// The keys are all there, each with this value.
    pub metadata: Map<String, Value>,
    /// Conditions as people write them.
    pub wanted: Option<Where>,
    /// A date lies within this.
    pub period: Option<Period>,
}

impl Filters {
    /// Whether every chunk passes.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether it tests any field of a chunk. Filters without a test, such as `{"$and": [{}]}`, pass all
    /// chunks or none.
    pub(crate) fn has_test(&self) -> bool {
        self.condition().has_test()
    }

    /// The conditions of `wanted` and `period`.
    fn compiled(&self) -> impl Iterator<Item = &Condition> {
        let wanted = self.wanted.iter().map(Where::condition);
        wanted.chain(self.period.iter().map(Period::condition))
    }

    /// All that a chunk must be as one condition.
    pub(crate) fn condition(&self) -> Condition {
        let one_of = |texts: &[String]| {
            let forms = texts.iter().flat_map(|text| forms(text));
            Test::In(ValueSet::new(forms.map(Value::from).collect()))
        };
        let mut all: Vec<Condition> = self.compiled().cloned().collect();
        if !self.paths.is_empty() {
            all.push(Condition::Field(Field::Path, one_of(&self.paths)));
        }
        if let Some(prefix) = &self.path_prefix {
            let begins = |form| Condition::Field(Field::Path, Test::Prefix(form));
            all.push(any_of(forms(prefix).into_iter().map(begins).collect()));
        }
        for tag in &self.tags {
            all.push(Condition::Field(
                Field::Tags,
                one_of(std::slice::from_ref(tag)),
            ));
        }
        for (key, value) in &self.metadata {
            let test = Test::Equal(value.clone());
            all.push(Condition::Field(Field::of_key(key), test));
        }
        Condition::All(all)
    }

    /// Whether a chunk that may stand outside the index passes.
    pub fn accept(&self, chunk: &Chunk) -> bool {
        let is_path = |path: &String| forms(path).contains(&chunk.path);
        let path = self.paths.is_empty() || self.paths.iter().any(is_path);
        let begins = |prefix: &String| {
            forms(prefix)
                .iter()
                .any(|form| chunk.path.starts_with(form))
        };
        let prefix = self.path_prefix.as_ref().is_none_or(begins);
        let subject = TestedChunk::of(chunk);
        path && prefix
            && self.has_all_tags(&chunk.tags)
            && json::holds(&chunk.metadata, &self.metadata)
            && self.compiled().all(|condition| condition.holds(&subject))
    }

    /// In time linear in both lists, however long.
    fn has_all_tags(&self, tags: &[String]) -> bool {
        if self.tags.is_empty() {
            return true;
        }
        let tags: HashSet<&str> = tags.iter().map(String::as_str).collect();
        let has = |tag: &String| forms(tag).iter().any(|form| tags.contains(form.as_str()));
        self.tags.iter().all(has)
    }
}
