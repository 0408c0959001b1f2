//! The links in the front matter of a memory (spec/memory.md, "Links").

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::format::front_matter::{json_text, number_of};
use crate::format::links::{has_scheme, wikilinks};
use crate::format::passages::shorten;
use crate::text::{length, trimmed};

/// The keys whose values are paths or names; under other keys only `[[name]]` links.
pub const RELATIONS: [&str; 6] = [
    "related",
    "links",
    "supersedes",
    "superseded_by",
    "derived_from",
    "conflicts_with",
];

/// The strength of a link in front matter that states none.
pub const STATED: f64 = 1.0;

/// The most characters of front matter that are read for links. Aliases of YAML, which count each time
/// they are used, can make much of little.
const MOST_STATED: usize = 262_144;
const TOO_MUCH: &str = "the links of front matter are read from 262,144 characters, with aliases \
                        written out; the links after these are left out";
const FORM: &str = "a link with a strength is written {to: NAME, strength: 0.5}";
/// The most characters of a value in a problem.
const LONGEST_SHOWN: usize = 60;

/// A link as written.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct NodeLink(
    /// The target.
    pub String,
    /// The relation.
    pub String,
    /// The strength, above 0 and up to 1.
    pub f64,
    /// Whether it is a path from the folder of its file.
    pub bool,
);

/// The links of some fields in their order, and the problems of some.
pub fn links_in_fields<'v>(
    fields: impl IntoIterator<Item = (&'v str, &'v Value)>,
) -> (Vec<NodeLink>, Vec<String>) {
    let (mut links, mut problems) = (Vec::new(), Vec::new());
    let mut left = MOST_STATED;
    for (key, value) in fields {
        let takes_names = RELATIONS.contains(&key);
        for item in items(value) {
            let (target, strength) = match &*item {
                Value::Object(link) if takes_names || link.contains_key("to") => {
                    let (target, strength, problem) = weighted(link);
                    problems.extend(problem.map(|problem| format!("{key}: {problem}")));
                    (target, strength)
                }
                other => (other.as_str(), STATED),
            };
            let Some(rest) = left.checked_sub(1 + target.map_or(0, length)) else {
                problems.push(format!("{key}: {TOO_MUCH}"));
                return (links, problems);
            };
            left = rest;
            let Some(target) = target else { continue };
            let names = wikilinks(target);
            let link = |name: &str| NodeLink(name.to_owned(), key.to_owned(), strength, false);
            if names.is_empty() && takes_names && !trimmed(target).is_empty() && !has_scheme(target)
            {
                links.push(link(trimmed(target)));
            }
            links.extend(names.into_iter().map(link));
        }
    }
    (links, problems)
}

/// The targets of the links under a key of front matter that names files: paths, names, `[[name]]`,
/// `{to: name}`, or a list of these.
pub fn stated_links(value: &Value) -> Vec<String> {
    let (links, _) = links_in_fields([(RELATIONS[0], value)]);
    links.into_iter().map(|link| link.0).collect()
}

/// The items of a value, or the value itself.
fn items(value: &Value) -> Vec<Cow<'_, Value>> {
    match value {
        Value::Array(items) => items.iter().map(unquoted).collect(),
        other => vec![Cow::Borrowed(other)],
    }
}

/// An item of a list. YAML reads an unquoted `[[name]]` as a list in a list.
fn unquoted(item: &Value) -> Cow<'_, Value> {
    if let Value::Array(inner) = item
        && let [Value::String(name)] = inner.as_slice()
    {
        return Cow::Owned(format!("[[{name}]]").into());
    }
    Cow::Borrowed(item)
}

/// The target and the strength of `{to: NAME, strength: S}`, and the problem with it.
fn weighted(link: &Map<String, Value>) -> (Option<&str>, f64, Option<String>) {
    let Some(target) = link.get("to").and_then(Value::as_str) else {
        return (None, STATED, Some(FORM.to_owned()));
    };
    let Some(stated) = link.get("strength") else {
        return (Some(target), STATED, None);
    };
    if let Some(strength) = number_of(stated).filter(|one| *one > 0.0 && *one <= 1.0) {
        return (Some(target), strength, None);
    }
    let given = shown(stated);
    let problem = format!("strength must be above 0 and at most 1, not {given}; 1.0 is used");
    (Some(target), STATED, Some(problem))
}

/// A value of front matter in a message.
pub(crate) fn shown(value: &Value) -> String {
    shorten(&json_text(value), LONGEST_SHOWN)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(fields: &Value) -> (Vec<(String, String, f64)>, Vec<String>) {
        let fields = fields.as_object().unwrap();
        let (links, problems) = links_in_fields(fields.iter().map(|(key, value)| (&**key, value)));
        let links = links.into_iter().map(|link| (link.0, link.1, link.2));
        (links.collect(), problems)
    }

    #[test]
    fn links_of_front_matter() {
        for (fields, expected) in [
            (json!({"related": "a"}), vec![("a", "related", 1.0)]),
            (
                json!({"related": ["a", "[[b|c]]"]}),
                vec![("a", "related", 1.0), ("b", "related", 1.0)],
            ),
            (
                json!({"supersedes": "old/plan.md"}),
                vec![("old/plan.md", "supersedes", 1.0)],
            ),
            (
                json!({"people": ["[[asha]]", "tom"]}),
                vec![("asha", "people", 1.0)],
            ),
            (
                json!({"related": [["slugs"]]}),
                vec![("slugs", "related", 1.0)],
            ),
            (
                json!({"related": [{"to": "a", "strength": 0.25}]}),
                vec![("a", "related", 0.25)],
            ),
            (
                json!({"people": {"to": "[[asha]]", "strength": 1}}),
                vec![("asha", "people", 1.0)],
            ),
            (
                json!({"links": ["https://example.org/a.md", "", 7, null]}),
                vec![],
            ),
            (
                json!({"title": "about [[a]]", "tags": ["x"]}),
                vec![("a", "title", 1.0)],
            ),
            (
                json!({"when": "2026-01-01", "nested": {"a": "[[b]]"}}),
                vec![],
            ),
        ] {
            let (links, problems) = read(&fields);
            let expected: Vec<_> = expected
                .into_iter()
                .map(|(target, relation, strength)| {
                    (target.to_owned(), relation.to_owned(), strength)
                })
                .collect();
            assert_eq!((links, problems), (expected, vec![]), "{fields}");
        }
    }

    #[test]
    fn a_strength_that_is_none_is_reported() {
        for (item, problem) in [
            (json!({"strength": 0.5}), FORM.to_owned()),
            (
                json!({"to": "a", "strength": 2}),
                "strength must be above 0 and at most 1, not 2; 1.0 is used".to_owned(),
            ),
            (
                json!({"to": "a", "strength": "x"}),
                "strength must be above 0 and at most 1, not \"x\"; 1.0 is used".to_owned(),
            ),
        ] {
            let (_, problems) = read(&json!({"related": [item]}));
            assert_eq!(problems, [format!("related: {problem}")]);
        }
        let long = json!({"related": {"to": "a", "strength": vec!["b"; 1000]}});
        assert!(read(&long).1[0].len() < 150);
    }

    #[test]
    fn so_much_of_front_matter_is_read_for_links() {
        let fields: Map<String, Value> = (0..100)
            .map(|number| (format!("key{number}"), vec!["[[a]]"; 1000].into()))
            .collect();
        let (links, problems) = read(&fields.into());
        assert_eq!(links.len(), 43_690);
        assert_eq!(problems, [format!("key43: {TOO_MUCH}")]);
        let names: Vec<String> = (0..10_000).map(|n| format!("notes/note-{n}")).collect();
        let (links, problems) = read(&json!({"related": names}));
        assert_eq!((links.len(), problems), (10_000, vec![]));
    }

    #[test]
    fn links_under_a_key() {
        for (given, expected) in [
            (json!("[[old]]"), &["old"][..]),
            (
                json!(["[[a|b]] and [[c#d]]", ["e"], "f.md", {"to": "g"}, {"at": "h"}, 7]),
                &["a", "c", "e", "f.md", "g"],
            ),
            (json!("https://example.org"), &[]),
            (json!("a: b"), &[]),
            (json!("[[#heading]]"), &["[[#heading]]"]),
            (json!("[[a\n]] [[[b]]"), &["b"]),
            (json!(" "), &[]),
        ] {
            assert_eq!(stated_links(&given), expected, "{given}");
        }
    }
}
