//! A file of a root as a node of its store (spec/memory.md, "Nodes").

use hedgerow_engine::calendar::Time;
use hedgerow_graph::graph::{Category, Node, types};
use serde_json::{Map, Value, json};

use crate::facts::document::Document;
use crate::facts::file::event_time;
use crate::facts::names::{FOLDERS, type_word};
use crate::folder::source::Unreadable;
use crate::format::chunks::bad_front_matter;
use crate::format::field_links::{NodeLink, links_in_fields, shown};
use crate::format::front_matter::number_of;
use crate::format::tags::bracketed_tags;
use crate::skip::Skip;
use crate::text::{length, trimmed};
use crate::times::parse_time;

/// The most characters of the key of a node.
const LONGEST_KEY: usize = 512;
/// The relation and the strength of a link in the text.
const IN_TEXT: (&str, f64) = ("link", 0.7);
/// The fields that say when a node was last changed; the first that holds a time counts.
const UPDATED: [&str; 4] = ["updated_at", "created_at", "created", "date"];
/// The fields that say when a node was made.
const CREATED: [&str; 4] = ["created_at", "created", "date", "updated_at"];
const TYPE: &str = "a word of up to 64 letters, digits, - and _";

/// A file as a node, with the notes about it in the ledger of the store.
#[derive(Debug)]
pub struct FileNode {
    /// The node, whose key is the path.
    pub node: Node,
    /// The title, the links, the other names, and the tags that may also be names of links.
    pub facts: Map<String, Value>,
    /// Fields of front matter and links that could not be used and have default values.
    pub skips: Vec<Skip>,
}

/// Make the node of a file that was last modified at `modified`, in Unix seconds.
pub fn file_node(document: &Document<'_>, modified: i64) -> Result<FileNode, Unreadable> {
    let path = document.path;
    let key_length = length(path);
    if key_length > LONGEST_KEY {
        let reason =
            format!("its path has {key_length} characters; a node has at most {LONGEST_KEY}");
        return Err(Unreadable::new("bad_name", reason));
    }
    let (node, problems) = node_of(document, modified);
    node.check()
        .map_err(|error| Unreadable::new("refused", error.message()))?;
    let (links, wrong) = links_of(document);
    let links: Vec<Value> = (links.into_iter())
        .map(|NodeLink(target, relation, strength, is_path)| {
            json!([target, relation, strength, is_path])
        })
        .collect();
    let mut facts = Map::new();
    facts.insert("title".to_owned(), document.title.as_str().into());
    facts.insert("links".to_owned(), links.into());
    if !document.aliases.is_empty() {
        facts.insert("aliases".to_owned(), document.aliases.clone().into());
    }
    let mut tags = document.property_tags.clone();
    tags.extend(bracketed_tags(&document.body));
    if !tags.is_empty() {
        facts.insert("tags".to_owned(), tags.into());
    }
    let skip = |problem: String| Skip::whole(path, "bad_front_matter", problem);
    let unread = bad_front_matter(path, &document.matter);
    let skips = problems.into_iter().map(skip).chain(unread);
    Ok(FileNode {
        node,
        facts,
        skips: skips.chain(wrong.into_iter().map(skip)).collect(),
    })
}

/// Whether the node of a file has a time that neither its front matter nor its name states, so that it is
/// the time of the file.
pub fn has_time_of_file(document: &Document<'_>) -> bool {
    // Both lists have the same fields.
    event_time(document.path, &document.front_matter, &UPDATED).is_none()
}

/// The links of a file in its front matter and its text, and the problems of some.
fn links_of(document: &Document<'_>) -> (Vec<NodeLink>, Vec<String>) {
    let fields = document.matter.fields.iter();
    let (mut links, problems) = links_in_fields(fields.map(|(key, value)| (&**key, value)));
    let (relation, strength) = IN_TEXT;
    links.extend(
        document
            .links_in_text()
            .into_iter()
            .map(|link| NodeLink(link.target, relation.to_owned(), strength, link.is_path)),
    );
    (links, problems)
}

/// The node, and what could not be taken from front matter.
fn node_of(document: &Document<'_>, modified: i64) -> (Node, Vec<String>) {
    let mut fields = Fields {
        fields: &document.matter.fields,
        problems: Vec::new(),
    };
    let seconds = |keys: &[&str]| {
        let time = event_time(document.path, &document.front_matter, keys);
        Some(time.map_or(modified, |stated| unix_seconds(stated.time)))
    };
    let provenance = document.matter.text(&["provenance", "source"]);
    let node = Node {
        key: document.path.to_owned(),
        kind: kind_of(document.path, &mut fields),
        content: trimmed(&document.body).to_owned(),
        weight: fields.number("weight", 0.7, 1),
        category: fields.category(),
        emotion: fields.number("emotion", 0.0, 10),
        provenance: if provenance.is_empty() {
            "manual".to_owned()
        } else {
            provenance
        },
        updated_at: seconds(&UPDATED),
        created_at: seconds(&CREATED),
        last_replayed: fields.take("last_replayed", 0, "a date, or Unix seconds", moment),
        replay_interval: fields.take("replay_interval", 1, "a whole number of days from 1", days),
        embedding: None,
    };
    (node, fields.problems)
}

/// The type that a memory states, else that of its first folder, else `note`. Nodes call `session`
/// `episodic`.
fn kind_of(path: &str, fields: &mut Fields<'_>) -> String {
    let first = path.split('/').next().unwrap_or(path);
    let of_folder = FOLDERS.iter().find(|(_, folder)| *folder == first);
    let usual = of_folder.map_or("note", |(kind, _)| kind);
    let kind = fields.take("type", usual.to_owned(), TYPE, |value| {
        let word = type_word(value.as_str()?);
        (word == "session" || types::check(&word).is_ok()).then_some(word)
    });
    if kind == "session" {
        "episodic".to_owned()
    } else {
        kind
    }
}

fn moment(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => number.as_i64(),
        other => parse_time(other).map(|stated| unix_seconds(stated.time)),
    }
}

fn days(value: &Value) -> Option<u32> {
    let days = u32::try_from(value.as_i64()?).ok()?;
    (1..1 << 31).contains(&days).then_some(days)
}

fn unix_seconds(time: Time) -> i64 {
    time.micros / 1_000_000
}

/// The fields of a block, and what could not be used of them.
struct Fields<'f> {
    fields: &'f Map<String, Value>,
    problems: Vec<String>,
}

impl Fields<'_> {
    /// Take the value of a field, or the default if it is missing or invalid.
    fn take<T: Into<Value> + Clone>(
        &mut self,
        name: &str,
        usual: T,
        what: &str,
        read: impl Fn(&Value) -> Option<T>,
    ) -> T {
        let value = match self.fields.get(name) {
            None | Some(Value::Null) => return usual,
            Some(Value::String(text)) if text.is_empty() => return usual,
            Some(value) => value,
        };
        read(value).unwrap_or_else(|| {
            let (given, default) = (shown(value), shown(&usual.clone().into()));
            let problem = format!("{name} must be {what}, not {given}; {default} is used");
            self.problems.push(problem);
            usual
        })
    }

    /// A number from 0 on.
    fn number(&mut self, name: &str, usual: f64, most: u32) -> f64 {
        let what = format!("a number from 0 to {most}");
        let is_within = |number: &f64| (0.0..=f64::from(most)).contains(number);
        self.take(name, usual, &what, |value| {
            number_of(value).filter(is_within)
        })
    }

    fn category(&mut self) -> Category {
        let names: Vec<&str> = Category::ALL.iter().map(|one| one.as_str()).collect();
        let what = format!("one of {}", names.join(", "));
        let usual = Category::default().as_str().to_owned();
        let name = self.take("category", usual, &what, |value| {
            let name = value.as_str()?;
            Category::from_name(name).map(|one| one.as_str().to_owned())
        });
        Category::from_name(&name).unwrap_or_default()
    }
}

#[cfg(test)]
mod fixture;

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn made(path: &str, text: &str) -> FileNode {
        file_node(&Document::parse(path, text), 7).unwrap()
    }

    fn problem(matter: &str) -> String {
        let made = made("notes/a.md", &format!("---\n{matter}\n---\nx\n"));
        let [skip] = &made.skips[..] else {
            panic!("{matter}: {:?}", made.skips);
        };
        skip.reason.clone()
    }

    #[test]
    fn a_file_that_states_nothing_has_the_defaults() {
        let FileNode { node, facts, skips } =
            made("garden/a.md", "\n# Slugs\n\n[[beer]] [x](b%20c.md)\n");
        let expected = Node {
            key: "garden/a.md".to_owned(),
            kind: "note".to_owned(),
            content: "# Slugs\n\n[[beer]] [x](b%20c.md)".to_owned(),
            updated_at: Some(7),
            created_at: Some(7),
            ..Node::default()
        };
        assert_eq!(node, expected);
        let links = json!([["b c.md", "link", 0.7, true], ["beer", "link", 0.7, false]]);
        assert_eq!(
            Value::from(facts),
            json!({"title": "Slugs", "links": links})
        );
        assert!(skips.is_empty());
    }

    #[test]
    fn a_node_has_what_its_front_matter_states() {
        let matter = "type: Meeting Notes\ntitle: T\naliases: x, y\nweight: 1\ncategory: core\nemotion: 2.5\n\
                      source: mail\ncreated: 2026-01-02\nupdated_at: 1970-01-01T00:00:01.5Z\n\
                      last_replayed: 2026-01-02T00:00:00Z\nreplay_interval: 3\nrelated: '[[o]]'";
        let FileNode { node, facts, skips } =
            made("notes/a.md", &format!("---\n{matter}\n---\nx\n"));
        let expected = Node {
            key: "notes/a.md".to_owned(),
            kind: "meeting-notes".to_owned(),
            content: "x".to_owned(),
            weight: 1.0,
            category: Category::Core,
            emotion: 2.5,
            provenance: "mail".to_owned(),
            updated_at: Some(1),
            created_at: Some(1_767_312_000),
            last_replayed: 1_767_312_000,
            replay_interval: 3,
            embedding: None,
        };
        assert_eq!(node, expected);
        assert_eq!(facts["aliases"], json!(["x", "y"]));
        assert_eq!(facts["links"], json!([["o", "related", 1.0, false]]));
        assert!(skips.is_empty());
    }

    #[test]
    fn types_are_those_of_front_matter_or_of_the_folder() {
        for (path, matter, kind) in [
            ("sessions/a.md", "", "episodic"),
            ("pages/a.md", "", "page"),
            ("a.md", "", "note"),
            ("pages/a.md", "type: Session", "episodic"),
            ("pages/a.md", "type: episodic", "episodic"),
            ("a.md", "type: ''", "note"),
        ] {
            let made = made(path, &format!("---\n{matter}\nx: 1\n---\nx\n"));
            assert_eq!(
                (&*made.node.kind, made.skips.len()),
                (kind, 0),
                "{path} {matter}"
            );
        }
    }

    #[test]
    fn fields_that_cannot_be_used_are_reported_and_have_their_defaults() {
        for (matter, expected) in [
            (
                "type: 'a.b'",
                "type must be a word of up to 64 letters, digits, - and _, not \"a.b\"; \"note\" is used",
            ),
            (
                "type: [a]",
                "type must be a word of up to 64 letters, digits, - and _, not [\"a\"]; \"note\" is used",
            ),
            (
                "weight: high",
                "weight must be a number from 0 to 1, not \"high\"; 0.7 is used",
            ),
            (
                "weight: true",
                "weight must be a number from 0 to 1, not true; 0.7 is used",
            ),
            (
                "weight: 1.5",
                "weight must be a number from 0 to 1, not 1.5; 0.7 is used",
            ),
            (
                "emotion: -1",
                "emotion must be a number from 0 to 10, not -1; 0.0 is used",
            ),
            (
                "category: x",
                "category must be one of core, general, technical, observation, task, not \"x\"; \"general\" is used",
            ),
            (
                "last_replayed: soon",
                "last_replayed must be a date, or Unix seconds, not \"soon\"; 0 is used",
            ),
            (
                "last_replayed: 1.5",
                "last_replayed must be a date, or Unix seconds, not 1.5; 0 is used",
            ),
            (
                "replay_interval: 0",
                "replay_interval must be a whole number of days from 1, not 0; 1 is used",
            ),
            (
                "related: {strength: 1}",
                "related: a link with a strength is written {to: NAME, strength: 0.5}",
            ),
        ] {
            assert_eq!(problem(matter), expected);
        }
        let long = problem(&format!("weight: [{}]", "x, ".repeat(5000)));
        assert!(
            long.starts_with("weight must be a number from 0 to 1, not [\"x\", \"x\","),
            "{long}"
        );
        assert!(long.len() < 150);
    }

    #[test]
    fn front_matter_that_is_no_yaml_is_reported_once() {
        let reason = problem("weight: 1\na: [");
        assert!(
            reason.starts_with("front matter is not valid YAML ("),
            "{reason}"
        );
    }

    #[test]
    fn a_path_that_is_too_long_is_no_node() {
        let path = format!("{}.md", "a".repeat(510));
        let refused = file_node(&Document::parse(&path, "x"), 0).unwrap_err();
        assert_eq!(refused.code, "bad_name");
        assert_eq!(
            refused.reason,
            "its path has 513 characters; a node has at most 512"
        );
    }

    proptest! {
        #[test]
        fn any_file_is_a_node_or_is_refused(
            fields in prop::collection::vec(
                ("(type|weight|category|emotion|last_replayed|replay_interval|related|source|date)", "[ -~\\n]{0,30}"),
                0..6,
            ),
            body in ".{0,40}",
        ) {
            let lines: Vec<String> = fields.iter().map(|(key, value)| format!("{key}: {value}")).collect();
            let text = format!("---\n{}\n---\n{body}", lines.join("\n"));
            if let Ok(made) = file_node(&Document::parse("notes/a.md", &text), 0) {
                prop_assert!(made.node.check().is_ok());
                prop_assert!(made.skips.iter().all(|skip| skip.reason.len() < 400));
            }
        }
    }
}
