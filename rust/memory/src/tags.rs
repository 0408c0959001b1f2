//! Tags as they are compared (spec/memory.md, "Tags and aliases").

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::text::{casefold, is_space, normalized, trimmed};

/// The tags of a memory as they are compared: those in front matter and those in the text.
pub fn compared_tags(metadata: &Map<String, Value>, in_text: &[String]) -> BTreeSet<String> {
    let mut tags: BTreeSet<String> = match metadata.get("tags") {
        Some(Value::String(text)) => text
            .split(|character| character == ',' || is_space(character))
            .map(compared)
            .collect(),
        Some(Value::Array(items)) => items
            .iter()
            .filter_map(Value::as_str)
            .map(compared)
            .collect(),
        _ => BTreeSet::new(),
    };
    tags.extend(in_text.iter().map(|tag| compared(tag)));
    tags.remove("");
    tags
}

/// A tag without `#`, in Unicode's form NFC, and without regard to case.
pub fn compared(tag: &str) -> String {
    let tag = trimmed(tag);
    let tag = tag.strip_prefix('#').unwrap_or(tag).trim_matches('/');
    casefold(&normalized(tag))
}

/// Whether a tag is another one or nested in it: `infra/k8s` is nested in `infra`.
pub fn is_within(tag: &str, outer: &str) -> bool {
    tag.strip_prefix(outer)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tags_of_front_matter_and_text() {
        for (given, expected) in [
            (json!("#Garden, y z"), &["garden", "x", "y", "z"][..]),
            (
                json!(["/Infra/K8s/", 7, " #a,b "]),
                &["a,b", "infra/k8s", "x"],
            ),
            (json!(7), &["x"]),
        ] {
            let metadata = Map::from_iter([("tags".to_owned(), given)]);
            let found = compared_tags(&metadata, &["X".to_owned(), "/".to_owned()]);
            assert_eq!(found.iter().collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn a_tag_may_be_nested() {
        assert!(is_within("infra/k8s", "infra") && is_within("infra", "infra"));
        assert!(!is_within("infrared", "infra") && !is_within("infra", "infra/k8s"));
    }
}
