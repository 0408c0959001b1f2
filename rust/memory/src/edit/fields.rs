//! Changes of front matter: they replace the text of one value and nothing else, so comments, order and
//! unknown keys stay as their author wrote them.
//!
//! A block is the text between the fences. Each function fails with `invalid_front_matter` if the
//! block is not a YAML mapping with one key a line, or if the edit has to be made by hand.

use std::fmt::Write;

use serde_json::{Map, Value};

use super::error::EditError;
use crate::format::front_matter::json::python_json;
use crate::format::front_matter::nodes::{NodeContent, Tree};

/// Write a value as JSON on one line that YAML reads as the same value.
pub fn yaml_value(value: &Value) -> String {
    let json = python_json(value, ",", ":");
    let mut text = String::with_capacity(json.len());
    for character in json.chars() {
        match character {
            // JSON leaves these as they are in a text; YAML rejects them or ends a line at them.
            '\x7f'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => {
                // Writing to a text cannot fail.
                let _ = write!(text, "\\u{:04x}", u32::from(character));
            }
            _ => text.push(character),
        }
    }
    text
}

/// Write the block with its fences, one key a line.
pub fn render_front_matter(fields: &Map<String, Value>) -> String {
    let mut text = "---\n".to_owned();
    for (key, value) in fields {
        add_line(&mut text, key, value, "\n");
    }
    text.push_str("---\n");
    text
}

fn add_line(text: &mut String, key: &str, value: &Value, newline: &str) {
    text.push_str(key);
    text.push_str(": ");
    text.push_str(&yaml_value(value));
    text.push_str(newline);
}

/// Set keys of a block. New keys come last, each line ending in `newline`.
pub fn update_front_matter(
    block: &str,
    changes: &Map<String, Value>,
    newline: &str,
) -> Result<String, EditError> {
    let mut text = block.to_owned();
    let mut missing = Vec::new();
    for (key, value) in changes {
        let Some((start, end)) = value_span(&text, key)? else {
            missing.push((key, value));
            continue;
        };
        let is_apart = text[..start].ends_with(char::is_whitespace);
        let lead = if is_apart { "" } else { " " };
        text.replace_range(start..end, &format!("{lead}{}", yaml_value(value)));
    }
    if !text.is_empty() && !text.ends_with('\n') {
        text.push_str(newline);
    }
    for (key, value) in missing {
        add_line(&mut text, key, value, newline);
    }
    Ok(text)
}

/// Append `new` to the list `items` of a key, each on a separate line or inside its brackets.
///
/// An empty list, or a value that is not a list yet, is rewritten.
pub fn append_items(
    block: &str,
    key: &str,
    items: &[Value],
    new: &[Value],
    newline: &str,
) -> Result<String, EditError> {
    let tree = parse(block)?;
    let Some((list, parts)) = list_node(&tree, key)? else {
        let Some((first, rest)) = new.split_first() else {
            return Ok(block.to_owned());
        };
        let mut items = items.to_vec();
        items.push(first.clone());
        let changes = Map::from_iter([(key.to_owned(), items.clone().into())]);
        let block = update_front_matter(block, &changes, newline)?;
        if rest.is_empty() {
            return Ok(block);
        }
        return append_items(&block, key, &items, rest, newline);
    };
    let end = parts.last().map_or(0, |part| end_of(&tree, *part));
    let mut text = block.to_owned();
    if tree.nodes[list].is_flow {
        let added: String = new
            .iter()
            .flat_map(|item| [", ".to_owned(), yaml_value(item)])
            .collect();
        text.insert_str(end, &added);
        return Ok(text);
    }
    if !text[end..].contains('\n') {
        text.push_str(newline);
    }
    let at = text[end..].find('\n').map_or(text.len(), |at| end + at + 1);
    let lead = format!("{}- ", " ".repeat(tree.nodes[list].column));
    let lines = new
        .iter()
        .flat_map(|item| [lead.clone(), yaml_value(item), newline.to_owned()]);
    let added: String = lines.collect();
    text.insert_str(at, &added);
    Ok(text)
}

/// Remove the items at `indexes`, from 0, from the list of a key; `kept` are the others.
///
/// A list with one item a line loses their lines; any other is rewritten.
pub fn remove_items(
    block: &str,
    key: &str,
    indexes: &[usize],
    kept: &[Value],
    newline: &str,
) -> Result<String, EditError> {
    let tree = parse(block)?;
    let list = list_node(&tree, key)?;
    let Some((_, parts)) = list.filter(|(list, _)| !tree.nodes[*list].is_flow && !kept.is_empty())
    else {
        let changes = Map::from_iter([(key.to_owned(), kept.to_vec().into())]);
        return update_front_matter(block, &changes, newline);
    };
    let mut indexes = indexes.to_vec();
    indexes.sort_unstable();
    let mut text = block.to_owned();
    for part in indexes.iter().rev().filter_map(|index| parts.get(*index)) {
        let start = line_start(&text, tree.nodes[*part].start);
        let end = end_of(&tree, *part);
        remove_lines(&mut text, start, end);
    }
    Ok(text)
}

/// Remove a key with its value and the lines of these.
pub fn remove_key(block: &str, key: &str) -> Result<String, EditError> {
    let tree = parse(block)?;
    let (Some((name, _)), Some((_, end))) = (find(&tree, key)?, value_span(block, key)?) else {
        return Ok(block.to_owned());
    };
    let mut text = block.to_owned();
    let start = line_start(&text, tree.nodes[name].start);
    remove_lines(&mut text, start, end);
    Ok(text)
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |newline| newline + 1)
}

/// Remove the lines from `start` to the one in which `end` is.
fn remove_lines(text: &mut String, start: usize, end: usize) {
    match text[end..].find('\n') {
        Some(at) => text.replace_range(start..=end + at, ""),
        None => text.truncate(start),
    }
}

fn parse(block: &str) -> Result<Tree<'_>, EditError> {
    Tree::parse(block).map_err(|error| {
        // The block begins on the second line of the file.
        let place = error
            .line
            .map_or_else(String::new, |line| format!(" (line {})", line + 2));
        EditError::new(format!("{}{place}", error.problem))
    })
}

/// The nodes of a top-level key and its value; None without the key.
fn find(tree: &Tree<'_>, key: &str) -> Result<Option<(usize, usize)>, EditError> {
    let Some(root) = tree.root else {
        return Ok(None);
    };
    let entries = match &tree.nodes[root].content {
        NodeContent::Mapping(entries) if !tree.nodes[root].is_flow => entries,
        _ => return Err(EditError::new("it is not one `key: value` a line")),
    };
    let named = |is_key: &dyn Fn(&str) -> bool| {
        let mut entries = entries.iter();
        entries.find(|(name, _)| tree.text(*name).is_some_and(is_key))
    };
    let found = named(&|name| name == key);
    let found = found
        .or_else(|| named(&|name| crate::format::front_matter::in_lower_case(name) == Some(key)));
    let Some(&(name, value)) = found else {
        return Ok(None);
    };
    if tree.nodes[value].start < tree.nodes[name].start {
        // The node of an alias is that of its anchor, further up.
        return Err(EditError::new(format!("the value of {key} is an alias")));
    }
    Ok(Some((name, value)))
}

/// The node of a list that is not empty, and those of its items; None for any other value.
fn list_node<'a>(tree: &'a Tree<'_>, key: &str) -> Result<Option<(usize, &'a [usize])>, EditError> {
    let Some((_, value)) = find(tree, key)? else {
        return Ok(None);
    };
    Ok(match &tree.nodes[value].content {
        NodeContent::List(items) if !items.is_empty() => Some((value, items)),
        _ => None,
    })
}

/// The offset at which the text of a node ends; for a block, that of its last part.
fn end_of(tree: &Tree<'_>, node: usize) -> usize {
    let last = match &tree.nodes[node].content {
        NodeContent::List(items) => items.last().copied(),
        NodeContent::Mapping(entries) => entries.last().map(|(_, value)| *value),
        NodeContent::Scalar { .. } => None,
    };
    match last {
        Some(last) if !tree.nodes[node].is_flow => end_of(tree, last),
        _ => tree.nodes[node].end,
    }
}

/// The offsets of the value of a top-level key; None without the key.
fn value_span(block: &str, key: &str) -> Result<Option<(usize, usize)>, EditError> {
    let tree = parse(block)?;
    let Some((name, value)) = find(&tree, key)? else {
        return Ok(None);
    };
    let (name, value) = (&tree.nodes[name], &tree.nodes[value]);
    let after = &block[name.end..];
    let Some(colon) = after.find(':').map(|at| name.end + at + 1) else {
        return Err(EditError::new(format!("{key} has no colon")));
    };
    let (mut start, mut end) = (value.start.max(colon), value.end.max(colon));
    if value.has_properties {
        (start, end) = with_properties(block, colon, start, end);
    }
    if start == end {
        // No value: the next token may be the next key.
        (start, end) = (colon, colon);
    } else if block[colon..start].contains('\n') {
        // A rewritten value moves to the line of its key.
        if !block[colon..start].chars().all(char::is_whitespace) {
            return Err(EditError::new(format!(
                "there is more than a value under {key}"
            )));
        }
        start = colon;
    }
    // A block value ends where the next key begins; its last line end stays.
    let value = block[start..end].trim_end();
    Ok(Some((start, start + value.len())))
}

/// The offsets of a value with the anchor and the tag before it.
fn with_properties(block: &str, colon: usize, start: usize, end: usize) -> (usize, usize) {
    let gap = &block[colon..];
    let first = colon + (gap.len() - gap.trim_start().len());
    if start < end {
        return (first.min(start), end);
    }
    // An anchor alone, without a value.
    let mut last = first;
    for word in block[first..].split_inclusive(char::is_whitespace) {
        if !word.starts_with(['&', '!']) {
            break;
        }
        last += word.len();
    }
    (first, first + block[first..last].trim_end().len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const BLOCK: &str = "# mine\ntitle: 'Slugs' # by hand\nupdated: 2026-01-01 # when\ntags:\n  - a\n  # between\n  - b\nempty:\nlast: |\n  two\n  lines\n";

    fn change(key: &str, value: Value) -> Map<String, Value> {
        Map::from_iter([(key.to_owned(), value)])
    }

    #[test]
    fn one_value_is_replaced_and_no_other_character() {
        let updated = update_front_matter(BLOCK, &change("updated", json!("x")), "\n");
        assert_eq!(updated.unwrap(), BLOCK.replace("2026-01-01", "\"x\""));
        let updated = update_front_matter(BLOCK, &change("empty", json!(1)), "\n");
        assert_eq!(updated.unwrap(), BLOCK.replace("empty:", "empty: 1"));
        let updated = update_front_matter(BLOCK, &change("last", json!("x")), "\n");
        assert_eq!(
            updated.unwrap(),
            BLOCK.replace("|\n  two\n  lines", "\"x\"")
        );
        let updated = update_front_matter(BLOCK, &change("new", json!(["x"])), "\n");
        assert_eq!(updated.unwrap(), format!("{BLOCK}new: [\"x\"]\n"));
    }

    #[test]
    fn items_come_and_go_as_lines() {
        let (a, b, c) = (json!("a"), json!("b"), json!("c"));
        let more = append_items(
            BLOCK,
            "tags",
            &[a.clone(), b.clone()],
            std::slice::from_ref(&c),
            "\n",
        );
        let more = more.unwrap();
        assert_eq!(more, BLOCK.replace("  - b\n", "  - b\n  - \"c\"\n"));
        let fewer = remove_items(&more, "tags", &[1], &[a.clone(), c.clone()], "\n").unwrap();
        assert_eq!(fewer, BLOCK.replace("  - b\n", "  - \"c\"\n"));
        assert_eq!(
            append_items("t: [a]", "t", &[a], &[b, c], "\n").unwrap(),
            "t: [a, \"b\", \"c\"]"
        );
        assert_eq!(
            remove_key("a: 1\nb: 2\nc: 3\n", "b").unwrap(),
            "a: 1\nc: 3\n"
        );
    }

    #[test]
    fn what_cannot_be_changed_is_rejected() {
        for block in [
            "a: b: c",
            "- a list",
            "{flow: 1}",
            "a: [1",
            "b: &x 1\na: *x",
        ] {
            assert!(
                update_front_matter(block, &change("a", json!(1)), "\n").is_err(),
                "{block}"
            );
        }
    }
}
