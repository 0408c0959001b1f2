//! Changes of the front matter of a whole text (spec/memory.md, "Edits"): the new text is parsed and compared
//! with the old one, and unless the changed fields are the only difference, the change fails.

use serde_json::{Map, Value};

use super::error::EditError;
use super::fields::{append_items, remove_items, remove_key, update_front_matter};
use super::parts::{split, without_end};
use crate::format::front_matter::FrontMatter;

/// A change of a list. A single value becomes a list that begins with it.
pub struct ListChange<'a> {
    /// The key of the list.
    pub key: String,
    /// The items that are appended, unless the list has them.
    pub add: Vec<Value>,
    /// Whether an item is dropped.
    pub drops: &'a dyn Fn(&Value) -> bool,
    /// Whether a list is removed when nothing is left in it.
    pub removes_empty: bool,
}

/// Changes of front matter, made in the order of the fields.
#[derive(Default)]
pub struct Changes<'a> {
    /// The changes of lists.
    pub lists: Vec<ListChange<'a>>,
    /// The fields that are set.
    pub fields: Map<String, Value>,
    /// The fields that are removed, each with its lines.
    pub removed: Vec<String>,
}

/// Return a text with its front matter changed; without a block, one is added.
///
/// Fails if the block is not YAML that can be changed one value at a time.
pub fn changed(text: &str, changes: Changes<'_>) -> Result<String, EditError> {
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let lines = split(text);
    let before = read(&lines);
    if let Some(problem) = before.problem {
        return Err(EditError::new(match before.body_start {
            0 => problem,
            _ => format!("it is not valid YAML ({problem})"),
        }));
    }
    let fence = format!("---{newline}");
    let (head, block, foot) = match before.body_start.checked_sub(1) {
        Some(end) => (lines[0], lines[1..end].concat(), lines[end]),
        None => (&*fence, String::new(), &*fence),
    };
    let mut editor = Editor {
        block: block.clone(),
        fields: before.fields,
        newline,
    };
    editor.make(changes)?;
    if editor.block == block {
        return Ok(text.to_owned());
    }
    let body = &lines[before.body_start..];
    // A block of which nothing is left goes, unless what follows would be taken for one.
    let has_block =
        !editor.block.is_empty() || body.first().is_some_and(|line| line.starts_with("---"));
    let new = if has_block {
        [head, &editor.block, foot, &body.concat()].concat()
    } else {
        body.concat()
    };
    let lines = split(&new);
    let after = read(&lines);
    let is_same_body = lines.get(after.body_start..) == Some(body);
    let fields = [after.fields, editor.fields].map(without_line_ends);
    if after.problem.is_some() || !is_same_body || fields[0] != fields[1] {
        let problem = "the change cannot be made without changing more";
        return Err(EditError::new(problem));
    }
    Ok(new)
}

/// The fields without the line end of each last text: a text in `|` form has one, unless it is at the end of
/// the block.
fn without_line_ends(mut fields: Map<String, Value>) -> Map<String, Value> {
    for mut value in fields.values_mut() {
        loop {
            let last = match value {
                Value::Array(items) => items.last_mut(),
                Value::Object(fields) => fields.values_mut().next_back(),
                Value::String(text) => {
                    text.truncate(text.trim_end_matches('\n').len());
                    None
                }
                _ => None,
            };
            match last {
                Some(last) => value = last,
                None => break,
            }
        }
    }
    fields
}

fn read(lines: &[&str]) -> FrontMatter {
    let plain: Vec<&str> = lines.iter().map(|line| without_end(line)).collect();
    FrontMatter::of_memory(&plain)
}

/// A block and the fields that it is to have.
struct Editor<'a> {
    block: String,
    fields: Map<String, Value>,
    newline: &'a str,
}

impl Editor<'_> {
    fn make(&mut self, changes: Changes<'_>) -> Result<(), EditError> {
        for list in changes.lists {
            self.change_list(list)?;
        }
        let mut new = changes.fields;
        new.retain(|key, value| self.fields.get(key) != Some(value));
        if !new.is_empty() {
            self.block = update_front_matter(&self.block, &new, self.newline)?;
            self.fields.extend(new);
        }
        changes.removed.iter().try_for_each(|key| self.remove(key))
    }

    fn remove(&mut self, key: &str) -> Result<(), EditError> {
        if self.fields.shift_remove(key).is_some() {
            self.block = remove_key(&self.block, key)?;
        }
        Ok(())
    }

    fn change_list(&mut self, list: ListChange<'_>) -> Result<(), EditError> {
        let ListChange { key, mut add, .. } = list;
        let items = match self.fields.get(&key) {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(items)) => items.clone(),
            Some(value) => vec![value.clone()],
        };
        let mut dropped = Vec::new();
        let mut kept = Vec::new();
        for (at, item) in items.into_iter().enumerate() {
            if (list.drops)(&item) {
                dropped.push(at);
            } else {
                kept.push(item);
            }
        }
        add.retain(|item| !kept.contains(item));
        if !dropped.is_empty() {
            self.block = remove_items(&self.block, &key, &dropped, &kept, self.newline)?;
        }
        if !add.is_empty() {
            self.block = append_items(&self.block, &key, &kept, &add, self.newline)?;
        }
        if !dropped.is_empty() || !add.is_empty() {
            kept.append(&mut add);
            self.fields.insert(key.clone(), kept.into());
        }
        let is_empty = self.fields.get(&key) == Some(&Value::Array(Vec::new()));
        if list.removes_empty && is_empty {
            self.remove(&key)?;
        }
        Ok(())
    }
}
