//! Names: the type words of a memory, and the files that names mean (spec/memory.md, "Links").

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use hedgerow_engine::text::suggest;
use serde_json::{Map, Value};

use crate::text::{casefold, normalized, one_line, split_spaces, trimmed};

/// The most files by which names may differ from earlier ones that they share. Each lookup skips these.
const MOST_CHANGED: usize = if cfg!(test) { 2 } else { 256 };

/// The types of memories and the folder that each is written to.
pub const FOLDERS: [(&str, &str); 6] = [
    ("note", "notes"),
    ("session", "sessions"),
    ("finding", "findings"),
    ("decision", "decisions"),
    ("preference", "preferences"),
    ("page", "pages"),
];

/// The `type` that front matter states, in lower case.
pub fn stated_type(metadata: &Map<String, Value>) -> Option<String> {
    let stated = trimmed(metadata.get("type")?.as_str()?);
    (!stated.is_empty()).then(|| stated.to_lowercase())
}

/// Return the bucket of a memory: its stated type, else the type of its first folder.
///
/// A folder of no type is a bucket with the name of the folder, and so is a file outside of
/// folders.
pub fn bucket<'p>(path: &'p str, stated: Option<&'p str>) -> &'p str {
    if let Some(stated) = stated {
        return stated;
    }
    let first = within_root(path).split('/').next().unwrap_or(path);
    let folder = FOLDERS.iter().find(|(_, folder)| *folder == first);
    folder.map_or(first, |(kind, _)| kind)
}

/// The path below its own root of a file in an index of several: such paths begin with `@/`, `@@/` and so
/// on, which have no token, so that the number of a root is in no score.
fn within_root(path: &str) -> &str {
    let rest = path.trim_start_matches('@');
    match rest.strip_prefix('/') {
        Some(inner) if rest.len() < path.len() => inner,
        _ => path,
    }
}

/// Return a type in its form for comparison: in lower case, with `-` for spaces. Nodes call
/// `session` `episodic`.
pub fn type_word(text: &str) -> String {
    let word = split_spaces(&text.to_lowercase())
        .collect::<Vec<_>>()
        .join("-");
    if word == "episodic" {
        "session".to_owned()
    } else {
        word
    }
}

/// The words that name the type of a memory: the one it states, else that of its folder.
///
/// A memory without a type in a folder of another name is a note, and has the name of its folder too.
pub fn type_words(path: &str, stated: Option<&str>) -> Vec<String> {
    let word = type_word(bucket(path, stated));
    if stated.is_some() || is_known_type(&word) {
        return vec![word];
    }
    let note = "note".to_owned();
    if within_root(path).contains('/') {
        vec![note, word]
    } else {
        vec![note]
    }
}

/// Whether a word is one of the types that every root has.
pub fn is_known_type(word: &str) -> bool {
    FOLDERS.iter().any(|(kind, _)| *kind == word)
}

/// The titles of a file to look names up by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileTitles<'a> {
    /// The path of the file.
    pub path: &'a str,
    /// The title, or an empty text.
    pub title: &'a str,
    /// Names other than the title.
    pub aliases: &'a [String],
}

/// The files that names mean, made of the paths, titles and aliases of all files.
///
/// Names are compared in Unicode's form NFC, because file systems and editors differ in the form they use.
#[derive(Debug, Default)]
pub struct Names {
    /// The names of the files of an earlier state.
    base: Arc<Table>,
    /// The files of the earlier state that are gone or have other names since.
    hidden: BTreeSet<String>,
    /// The names of the files that are new or have other names since.
    changed: Table,
}

/// The numbers of the files with a name.
type Keys = HashMap<String, Vec<usize>>;

/// The names of some files.
#[derive(Debug, Default)]
struct Table {
    /// By the path in form NFC.
    by_path: Keys,
    by_name: Keys,
    by_title: Keys,
    /// The paths, in their order.
    files: Vec<String>,
}

impl Table {
    fn new<'a>(files: impl Iterator<Item = FileTitles<'a>>) -> Self {
        let mut table = Self::default();
        for (number, file) in files.enumerate() {
            table.files.push(file.path.to_owned());
            let path = normalized(file.path).into_owned();
            table.by_path.entry(path).or_default().push(number);
            let name = stem(base_of(file.path));
            table.by_name.entry(name).or_default().push(number);
            if !file.title.is_empty() {
                table.add_title(file.title, number);
            }
            for alias in file.aliases {
                table.add_title(alias, number);
            }
        }
        table
    }

    fn add_title(&mut self, title: &str, number: usize) {
        let files = self.by_title.entry(title_key(title)).or_default();
        if files.last() != Some(&number) {
            files.push(number);
        }
    }

    fn paths(&self, numbers: Option<&Vec<usize>>) -> impl Iterator<Item = &str> {
        let numbers = numbers.into_iter().flatten();
        numbers.map(|number| self.files[*number].as_str())
    }
}

impl Names {
    /// The names of files, which must be in the order of their paths.
    pub fn new<'a>(files: impl Iterator<Item = FileTitles<'a>>) -> Self {
        Self {
            base: Arc::new(Table::new(files)),
            ..Self::default()
        }
    }

    /// The names after files are added, removed or get other names. `renamed` are their paths; `named`
    /// returns the names of a file, None if it was removed. None if so many have changed that new names of
    /// all files take less time.
    pub fn after<'a>(
        &self,
        renamed: &[&str],
        named: impl Fn(&str) -> Option<FileTitles<'a>>,
    ) -> Option<Self> {
        if self.hidden.len() + renamed.len() > MOST_CHANGED {
            return None;
        }
        let mut hidden = self.hidden.clone();
        hidden.extend(renamed.iter().map(|path| (*path).to_owned()));
        Some(Self {
            base: Arc::clone(&self.base),
            changed: Table::new(hidden.iter().filter_map(|path| named(path))),
            hidden,
        })
    }

    /// The files under a key of one of the tables, in the order of their paths.
    fn files_under<'n>(
        &'n self,
        numbers: impl Fn(&'n Table) -> Option<&'n Vec<usize>>,
    ) -> Vec<&'n str> {
        let before = self.base.paths(numbers(&self.base));
        let mut files: Vec<&str> = before.filter(|path| !self.hidden.contains(*path)).collect();
        let since = self.changed.paths(numbers(&self.changed));
        files.extend(since);
        files.sort_unstable();
        files
    }

    /// The file of a path: of the path as it is, else of one that differs in its form alone.
    fn at(&self, path: &str, may_mean: &dyn Fn(&str) -> bool) -> Option<&str> {
        let form = normalized(path);
        let mut found = self.files_under(|table| table.by_path.get(&*form));
        found.retain(|path| may_mean(path));
        let exactly = |wanted: &str| found.iter().find(|one| **one == wanted);
        let one = exactly(path).or_else(|| exactly(&form)).or(found.first());
        one.copied()
    }

    /// The file that a name in the front matter of `source` means; None if there is none.
    ///
    /// Of several files with a name or title the nearest counts, then the first by path.
    ///
    /// With `is_path` it is a path from the folder of `source` alone, unless it begins with `/`.
    pub fn find(&self, name: &str, is_path: bool, source: &str) -> Option<&str> {
        self.find_among(name, is_path, source, |_| true)
    }

    /// Like `find`, as if there were only the files that satisfy a condition.
    pub fn find_among(
        &self,
        name: &str,
        is_path: bool,
        source: &str,
        may_mean: impl Fn(&str) -> bool,
    ) -> Option<&str> {
        let folder = folder_of(source);
        if let Some(found) = self.by_path(name, is_path, folder, &may_mean) {
            return Some(found);
        }
        if is_path {
            return None;
        }
        let mut found = self.by_name(name);
        found.retain(|path| may_mean(path));
        if found.is_empty() {
            found = self.by_title(name);
            found.retain(|path| may_mean(path));
        }
        let found = found.into_iter();
        found.min_by_key(|path| (steps(folder, path), *path))
    }

    /// The files that a name from the top folder may mean, by the first rule that applies: a path, the name of a file, a
    /// title or an alias.
    pub fn candidates(&self, name: &str) -> Vec<&str> {
        if let Some(found) = self.by_path(name, false, "", &|_| true) {
            return vec![found];
        }
        let named = self.by_name(name);
        if named.is_empty() {
            self.by_title(name)
        } else {
            named
        }
    }

    /// The file with the path, the name, the title or the alias nearest to a name, as in `suggest::nearest`; None
    /// if none is near.
    pub fn nearest(&self, name: &str) -> Option<&str> {
        let tables: [fn(&Table) -> &Keys; 3] =
            [|of| &of.by_path, |of| &of.by_name, |of| &of.by_title];
        let is_there = |number: &usize| !self.hidden.contains(&self.base.files[*number]);
        let keys = tables.iter().flat_map(|table| {
            let base = table(&self.base).iter();
            let kept = base.filter(|(_, files)| files.iter().any(is_there));
            kept.chain(table(&self.changed))
                .map(|(key, _)| key.as_str())
        });
        let near = suggest::nearest(&normalized(name), keys)?;
        let mut files = tables
            .iter()
            .flat_map(|table| self.files_under(|of| table(of).get(near)));
        files.next()
    }

    /// The file of a path from the top, or from `folder`.
    fn by_path(
        &self,
        name: &str,
        is_path: bool,
        folder: &str,
        may_mean: &dyn Fn(&str) -> bool,
    ) -> Option<&str> {
        let rooted = name.trim_start_matches('/');
        let is_rooted = name.starts_with('/');
        let is_dotted = name.starts_with("./") || name.starts_with("../");
        let from_top = (is_rooted || !is_path && !is_dotted).then_some(rooted);
        let in_folder = (!is_rooted).then(|| join(folder, name));
        for path in [from_top, in_folder.as_deref()].into_iter().flatten() {
            let path = normal_path(path);
            for path in [path.clone(), format!("{path}.md")] {
                if let Some(found) = self.at(&path, may_mean) {
                    return Some(found);
                }
            }
        }
        None
    }

    fn by_name(&self, name: &str) -> Vec<&str> {
        let ending = format!("/{}", stem(name.trim_start_matches('/')));
        let stem_of_name = stem(base_of(name));
        let mut named = self.files_under(|table| table.by_name.get(&stem_of_name));
        named.retain(|path| format!("/{}", stem(path)).ends_with(&ending));
        named
    }

    /// The files with a title or an alias, in the order of their paths.
    pub fn by_title(&self, name: &str) -> Vec<&str> {
        let title = title_key(name);
        self.files_under(|table| table.by_title.get(&title))
    }
}

/// The keys of names of some files, for resolving links.
#[derive(Debug, Default)]
pub struct NameKeys {
    stems: HashSet<String>,
    titles: HashSet<String>,
}

impl NameKeys {
    /// Add the names of a file.
    pub fn add(&mut self, file: &FileTitles<'_>) {
        self.stems.insert(stem(base_of(file.path)));
        if !file.title.is_empty() {
            self.titles.insert(title_key(file.title));
        }
        self.titles
            .extend(file.aliases.iter().map(|alias| title_key(alias)));
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.stems.is_empty()
    }

    /// Whether a link with this target may mean one of the files, from any folder. `is_path` is as in
    /// `Names::find`.
    pub fn may_mean(&self, name: &str, is_path: bool) -> bool {
        let base = base_of(name);
        // A path that ends in no name means a file with the name of a folder.
        matches!(base, "" | "." | "..")
            || self.stems.contains(&stem(base))
            || self.stems.contains(&stem(&format!("{base}.md")))
            || (!is_path && self.titles.contains(&title_key(name)))
    }
}

fn base_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The folder of a path, or an empty text.
fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() {
        name.to_owned()
    } else {
        format!("{folder}/{name}")
    }
}

/// A path without empty parts, `.` and `..`, as far as there is a folder above; `.` if nothing is left.
fn normal_path(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    if parts.is_empty() {
        return ".".to_owned();
    }
    parts.join("/")
}

fn stem(path: &str) -> String {
    // Case folding may leave NFC.
    let folded = casefold(&normalized(path));
    let folded = normalized(&folded);
    folded.strip_suffix(".md").unwrap_or(&folded).to_owned()
}

fn title_key(title: &str) -> String {
    let folded = casefold(&one_line(&normalized(title)));
    normalized(&folded).into_owned()
}

/// The folders up and down from a folder to that of a file.
fn steps(folder: &str, path: &str) -> usize {
    let here: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    let mut there: Vec<&str> = path.split('/').collect();
    there.pop();
    let pairs = here.iter().zip(&there);
    let common = pairs.take_while(|(one, other)| one == other).count();
    here.len() + there.len() - 2 * common
}

#[cfg(test)]
mod tests {

    use super::*;

    fn names(files: &[(&str, &str)]) -> Names {
        let named = files.iter().map(|(path, title)| FileTitles {
            path,
            title,
            aliases: &[],
        });
        Names::new(named)
    }

    #[test]
    fn folders_of_a_root_among_several_are_those_below_it() {
        assert_eq!(bucket("@/decisions/a.md", None), "decision");
        assert_eq!(bucket("@@/a.md", None), "a.md");
        assert_eq!(bucket("@a/decisions/a.md", None), "@a");
        assert_eq!(type_words("@/a.md", None), ["note"]);
    }

    #[test]
    fn a_type_is_stated_or_that_of_a_folder() {
        for (path, stated, words) in [
            ("notes/a.md", None, &["note"][..]),
            ("sessions/a.md", Some("episodic"), &["session"]),
            ("garden/a.md", None, &["note", "garden"]),
            ("a.md", None, &["note"]),
            ("garden/a.md", Some("my type"), &["my-type"]),
        ] {
            assert_eq!(type_words(path, stated), words, "{path}");
        }
        assert_eq!(bucket("a.md", None), "a.md");
        assert_eq!(bucket("pages/a.md", None), "page");
    }

    #[test]
    fn the_nearest_name_is_that_of_a_file_that_is_there() {
        let files = [
            ("notes/hedges.md", "When to cut"),
            ("notes/moles.md", "Moles"),
        ];
        let before = names(&files);
        for (name, expected) in [
            ("hegdes", Some("notes/hedges.md")),
            ("notes/hedge.md", Some("notes/hedges.md")),
            ("when to cat", Some("notes/hedges.md")),
            ("Mole", Some("notes/moles.md")),
            ("badgers", None),
        ] {
            assert_eq!(before.nearest(name), expected, "{name}");
        }
        let gone = before.after(&["notes/hedges.md"], |_| None).unwrap();
        assert_eq!(gone.nearest("hegdes"), None);
        assert_eq!(gone.nearest("Mole"), Some("notes/moles.md"));
    }

    #[test]
    fn the_name_of_a_file_precedes_a_title() {
        let names = names(&[
            ("a/keys.md", "Vault"),
            ("pages/vault.md", "vault"),
            ("a/hedge.md", "Hedge"),
            ("b/old.md", "Hedge"),
        ]);
        assert_eq!(names.candidates("hedge"), ["a/hedge.md"]);
        assert_eq!(names.by_title("hedge"), ["a/hedge.md", "b/old.md"]);
        assert_eq!(names.candidates("pages/vault"), ["pages/vault.md"]);
        assert_eq!(names.find("Vault", false, "x.md"), Some("pages/vault.md"));
    }

    #[test]
    fn the_nearest_file_of_a_name_counts() {
        let names = names(&[
            ("a/slugs.md", "Snails"),
            ("b/c/slugs.md", "Snails"),
            ("b/plan.md", "Slugs"),
            ("cafe\u{301}.md", ""),
        ]);
        for (name, source, expected) in [
            ("slugs", "b/c/x.md", Some("b/c/slugs.md")),
            ("Slugs", "x.md", Some("a/slugs.md")),
            ("c/SLUGS", "x.md", Some("b/c/slugs.md")),
            ("snails", "b/x.md", Some("b/c/slugs.md")),
            ("../a/slugs.md", "b/x.md", Some("a/slugs.md")),
            ("a/slugs.md", "b/x.md", Some("a/slugs.md")),
            ("./a/slugs.md", "b/x.md", None),
            ("./plan", "b/x.md", Some("b/plan.md")),
            ("/b/plan", "a/x.md", Some("b/plan.md")),
            ("caf\u{e9}", "a/x.md", Some("cafe\u{301}.md")),
            ("c/plan", "x.md", None),
            ("", "x.md", None),
        ] {
            assert_eq!(names.find(name, false, source), expected, "{name}");
        }
    }
}
