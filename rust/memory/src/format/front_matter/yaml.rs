//! YAML 1.2 of front matter as plain data (spec/ingest.md, "Front matter").
//!
//! Keys are the text that is written, whatever type YAML would give them: `007`, `true` and `1.50`.

use serde_json::{Map, Value};

use super::nodes::{NodeContent, Tree, YamlError};
use super::scalars;

/// Read YAML.
pub fn load(text: &str) -> Result<Value, YamlError> {
    let tree = Tree::parse(text)?;
    if let Some(problem) = tree.problem {
        return Err(problem);
    }
    match tree.root {
        None => Ok(Value::Null),
        Some(root) => YamlReader { tree: &tree }.value(root),
    }
}

/// The merged entries of a mapping, and its own: the nodes of keys and values.
type MappingEntries = (Vec<(usize, usize)>, Vec<(usize, usize)>);

/// Makes plain data of a tree whose size with aliases is within the limits.
struct YamlReader<'a> {
    tree: &'a Tree<'a>,
}

impl YamlReader<'_> {
    fn value(&self, node: usize) -> Result<Value, YamlError> {
        let tag = self.tree.nodes[node].tag.as_deref();
        match (&self.tree.nodes[node].content, tag) {
            (NodeContent::Scalar { text, is_plain }, None) => Ok(if *is_plain {
                scalars::plain(text)
            } else {
                text.as_ref().into()
            }),
            (NodeContent::Scalar { text, .. }, Some(tag)) => {
                let value = scalars::tagged(text, tag);
                value.ok_or_else(|| self.unknown_tag(node, tag))
            }
            (NodeContent::List(items), None | Some("seq" | "!")) => {
                let items = items.iter().map(|item| self.value(*item));
                Ok(Value::Array(items.collect::<Result<_, _>>()?))
            }
            (NodeContent::Mapping(_), None | Some("map" | "!")) => {
                Ok(Value::Object(self.mapping(node)?))
            }
            // An equal list in every process.
            (NodeContent::Mapping(_), Some("set")) => {
                let fields = self.mapping(node)?;
                let mut keys: Vec<String> = fields.into_iter().map(|(key, _)| key).collect();
                keys.sort_unstable();
                Ok(keys.into())
            }
            (_, Some(tag)) => Err(self.unknown_tag(node, tag)),
        }
    }

    fn unknown_tag(&self, node: usize, tag: &str) -> YamlError {
        let tag = if tag.starts_with('!') {
            tag.to_owned()
        } else {
            format!("!!{tag}")
        };
        self.error(
            node,
            format!("the tag {tag} is not known, or not of this value"),
        )
    }

    fn error(&self, node: usize, problem: impl Into<String>) -> YamlError {
        YamlError::new(problem, Some(self.tree.nodes[node].line))
    }

    fn mapping(&self, node: usize) -> Result<Map<String, Value>, YamlError> {
        let (merged, own) = self.entries(node)?;
        let mut fields = Map::with_capacity(own.len());
        let has_merged = !merged.is_empty();
        for (key, value) in merged {
            fields.insert(self.key(key)?.to_owned(), self.value(value)?);
        }
        for (key, value) in own {
            let text = self.key(key)?;
            let replaced = fields.insert(text.to_owned(), self.value(value)?);
            if replaced.is_some() && !has_merged {
                return Err(self.error(key, format!("found duplicate key \"{text}\"")));
            }
        }
        Ok(fields)
    }

    /// The entries of a mapping, those that it merges (`<<`) in the order in which they are replaced.
    fn entries(&self, node: usize) -> Result<MappingEntries, YamlError> {
        let (mut merged, mut own) = (Vec::new(), Vec::new());
        let NodeContent::Mapping(entries) = &self.tree.nodes[node].content else {
            return Err(self.error(node, "only mappings can be merged"));
        };
        let mut is_merged = false;
        for &(key, value) in entries {
            if !self.is_merge(key) {
                own.push((key, value));
                continue;
            }
            if is_merged {
                return Err(self.error(key, "found duplicate merge key \"<<\""));
            }
            merged = self.merged(value)?;
            is_merged = !merged.is_empty();
        }
        Ok((merged, own))
    }

    fn key(&self, node: usize) -> Result<&str, YamlError> {
        let text = self.tree.text(node);
        text.ok_or_else(|| self.error(node, "a key is not text"))
    }

    fn is_merge(&self, key: usize) -> bool {
        let node = &self.tree.nodes[key];
        let is_sign =
            matches!(&node.content, NodeContent::Scalar { text, is_plain: true } if text == "<<");
        is_sign && node.tag.is_none()
    }

    /// The entries of a mapping or a list of mappings; the first of a list has the last word.
    fn merged(&self, node: usize) -> Result<Vec<(usize, usize)>, YamlError> {
        let sources = match &self.tree.nodes[node].content {
            NodeContent::List(items) => items.iter().rev().copied().collect(),
            _ => vec![node],
        };
        let mut all = Vec::new();
        for source in sources {
            let (merged, own) = self.entries(source)?;
            all.extend(merged.into_iter().chain(own));
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_mapping_has_each_key_once() {
        for (text, problem, line) in [
            ("{a: 1, b: 2, a: 3}", "found duplicate key \"a\"", 0),
            (
                "x: &x {k: 1}\ny: {b: 2,\n b: 3}",
                "found duplicate key \"b\"",
                2,
            ),
        ] {
            let error = load(text).unwrap_err();
            assert_eq!(
                (&*error.problem, error.line),
                (problem, Some(line)),
                "{text}"
            );
        }
        assert_eq!(
            load("{a: {b: 1}, b: 2}").unwrap(),
            json!({"a": {"b": 1}, "b": 2})
        );
    }

    #[test]
    fn a_merged_mapping_gives_the_keys_that_are_not_there() {
        let merged = load("base: &base {a: 1, b: 2}\nown: {<<: *base, b: 3}").unwrap();
        assert_eq!(merged["own"], json!({"a": 1, "b": 3}));
        let error = load("a: &a {b: 1}\nc: {<<: *a, <<: *a}").unwrap_err();
        assert_eq!(error.problem, "found duplicate merge key \"<<\"");
    }
}
