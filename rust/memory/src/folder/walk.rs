//! The walk over a folder, with everything that is not read named or counted.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::vec;

use hedgerow_engine::Result;

use super::patterns::Patterns;
use super::signature::Signature;
use crate::skip::{Skip, printable};

/// Folders with files that tools have made.
const MADE_BY_TOOLS: [&str; 4] = [
    "node_modules",
    "bower_components",
    "site-packages",
    "__pycache__",
];
/// Files with which tools mark a folder as theirs.
pub(crate) const MARKS_OF_TOOLS: [&str; 2] = ["CACHEDIR.TAG", "pyvenv.cfg"];
const NEVER_INCLUDED: [&str; 2] = [".git", ".hedgerow"];

/// The fewest files that a thread of its own looks at.
const SHARE: usize = 256;
const MOST_THREADS: usize = 8;

/// What is read of a folder, and what is passed by.
#[derive(Debug)]
pub struct Rules {
    suffixes: Vec<String>,
    exclude: Patterns,
    include: Patterns,
    temporary: Option<(String, String)>,
}

/// Why something below a folder is not read, in the order of reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// A file of another kind.
    Other,
    /// Its name begins with a dot.
    Hidden,
    /// A symbolic link.
    Link,
    /// A tool made it.
    Tools,
    /// A pattern of the caller.
    Excluded,
}

impl Reason {
    /// All reasons, in the order of reports.
    pub const ALL: [Self; 5] = [
        Self::Other,
        Self::Hidden,
        Self::Link,
        Self::Tools,
        Self::Excluded,
    ];

    /// The code of the reason.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Other => "other",
            Self::Hidden => "hidden",
            Self::Link => "link",
            Self::Tools => "tools",
            Self::Excluded => "excluded",
        }
    }
}

/// A file or folder that was not read; the path of a folder ends with a slash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassedBy {
    /// The path below the folder, as text that can be shown.
    pub path: String,
    /// Why.
    pub reason: Reason,
}

/// What is below a folder, by paths relative to it with `/`, in the order of names.
#[derive(Debug, Default)]
pub struct Listing {
    /// Files that are read.
    pub files: Vec<(String, Signature)>,
    /// What cannot be read.
    pub skips: Vec<Skip>,
    /// Files and folders of which nothing is known, for they could not be looked at: each as its
    /// path, a folder as the beginning of the paths below it.
    pub unknown: Vec<OsString>,
    /// How much was passed by, in the order of `Reason::ALL`.
    pub passed_by: [u64; 5],
    /// What was passed by, where that was asked for.
    pub named: Vec<PassedBy>,
    /// Files that a writer may have left that was killed.
    pub leftovers: Vec<PathBuf>,
    /// The patterns that exclude, and decided about nothing.
    pub unused: Vec<String>,
}

impl Rules {
    /// Read files whose names end in `suffixes`, in lower case. `exclude` passes by, and `include`
    /// reads what would be passed by as hidden, made by tools or excluded. `temporary` are the
    /// beginning and the end of the names of files that a killed writer may have left.
    pub fn new<T: AsRef<str>>(
        suffixes: Vec<String>,
        exclude: impl IntoIterator<Item = T>,
        include: impl IntoIterator<Item = T>,
        temporary: Option<(String, String)>,
    ) -> Result<Self> {
        Ok(Self {
            suffixes,
            exclude: Patterns::new(exclude)?,
            include: Patterns::new(include)?,
            temporary,
        })
    }

    /// Why a file below a folder is passed by, for its own sake or that of a folder above it.
    pub fn pass_by(&self, path: &str) -> Option<Reason> {
        let ends = (path.match_indices('/').map(|(at, _)| (at, true))).chain([(path.len(), false)]);
        for (end, is_folder) in ends {
            let (part, name) = (&path[..end], name_of(&path[..end]));
            if self.includes(part, name, is_folder) {
                continue;
            }
            let excluded = self.exclude.matches(part, is_folder);
            if let Some(reason) = reason_of(name, is_folder, excluded) {
                return Some(reason);
            }
        }
        (!self.has_suffix(name_of(path))).then_some(Reason::Other)
    }

    fn includes(&self, path: &str, name: &str, is_folder: bool) -> bool {
        self.include.matches(path, is_folder) && !NEVER_INCLUDED.contains(&name)
    }

    fn has_suffix(&self, name: &str) -> bool {
        let name = name.to_lowercase();
        (self.suffixes.iter()).any(|suffix| name.ends_with(suffix.as_str()))
    }

    fn is_temporary(&self, name: &str) -> bool {
        (self.temporary.as_ref()).is_some_and(|(start, end)| {
            name.starts_with(start.as_str()) && name.ends_with(end.as_str())
        })
    }
}

fn name_of(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

fn reason_of(name: &str, is_folder: bool, excluded: bool) -> Option<Reason> {
    if name.starts_with('.') {
        Some(Reason::Hidden)
    } else if is_folder && MADE_BY_TOOLS.contains(&name) {
        Some(Reason::Tools)
    } else {
        excluded.then_some(Reason::Excluded)
    }
}

/// List the files below a folder that the rules take; `named` keeps what is passed by.
#[must_use]
pub fn list(folder: &Path, rules: &Rules, named: bool) -> Listing {
    let mut walk = Walk {
        rules,
        named,
        listing: Listing::default(),
        deciding: HashSet::new(),
    };
    walk.folder(folder);
    let Walk {
        mut listing,
        deciding,
        ..
    } = walk;
    let given = rules.exclude.given().iter().enumerate();
    listing.unused = given
        .filter(|(number, _)| !deciding.contains(number))
        .map(|(_, pattern)| pattern.clone())
        .collect();
    listing
}

/// What is to be done about an entry of a folder, once it is its turn.
enum Step {
    /// List a folder: its place, the beginning of the paths below it, and whether a mark of a tool in
    /// it counts.
    Enter(PathBuf, OsString, bool),
    /// Report a file.
    Report(Seen),
}

/// One walk over a folder and all below it.
struct Walk<'a> {
    rules: &'a Rules,
    named: bool,
    listing: Listing,
    /// The numbers of the excluding patterns that decided about something.
    deciding: HashSet<usize>,
}

impl Walk<'_> {
    /// List a folder with all below it; not by recursion, for folders may nest deep.
    fn folder(&mut self, folder: &Path) {
        let mut levels = vec![self.steps(folder, &OsString::new(), false)];
        while let Some(steps) = levels.last_mut() {
            match steps.next() {
                None => {
                    levels.pop();
                }
                Some(Step::Report(seen)) => self.report(seen),
                Some(Step::Enter(folder, prefix, marks)) => {
                    let below = self.steps(&folder, &prefix, marks);
                    levels.push(below);
                }
            }
        }
        self.listing
            .named
            .sort_by(|one, other| one.path.cmp(&other.path));
    }

    /// What is to be done about the entries of a folder; with `marks` nothing where a tool has marked
    /// it as its own. The folder is closed then: there may be many above one that is open.
    fn steps(&mut self, folder: &Path, prefix: &OsString, marks: bool) -> vec::IntoIter<Step> {
        let entries = match entries_of(folder) {
            Ok(entries) => entries,
            Err(error) => {
                let shown = printable(prefix);
                let shown = if shown.is_empty() {
                    ".".to_owned()
                } else {
                    shown
                };
                let mut skip = Skip::refused(shown, &error);
                skip.reason.insert_str(0, "the folder: ");
                self.listing.skips.push(skip);
                self.listing.unknown.push(prefix.clone());
                return Vec::new().into_iter();
            }
        };
        if marks && entries.iter().any(|(name, _)| is_mark(name)) {
            self.pass_by(printable(prefix), Reason::Tools);
            return Vec::new().into_iter();
        }
        let (mut steps, mut found) = (Vec::new(), Vec::new());
        for (name, entry) in &entries {
            let mut path = prefix.clone();
            path.push(name);
            match self.entry(entry, name, path) {
                Some(Entry::Folder(path, included)) => {
                    steps.push((found.len(), Step::Enter(entry.path(), path, !included)));
                }
                Some(Entry::File(path)) => found.push(Found { entry, path }),
                None => {}
            }
        }
        in_turn(on_threads(&found, see), steps)
    }

    /// What an entry is that is read or listed; None where it is passed by.
    fn entry(&mut self, entry: &DirEntry, name: &OsStr, mut path: OsString) -> Option<Entry> {
        let kind = match entry.file_type() {
            Ok(kind) => kind,
            Err(error) => {
                let skip = Skip::refused(printable(&path), &error);
                self.report(Seen::Unknown(path, skip));
                return None;
            }
        };
        let (name, shown) = (printable(name), printable(&path));
        let is_folder = kind.is_dir();
        let included = self.rules.includes(&shown, &name, is_folder);
        let reason = if kind.is_symlink() {
            Some(Reason::Link)
        } else if included {
            None
        } else {
            reason_of(&name, is_folder, self.is_excluded(&shown, is_folder))
        };
        if let Some(reason) = reason {
            self.pass_by(if is_folder { shown + "/" } else { shown }, reason);
            if self.rules.is_temporary(&name) {
                self.listing.leftovers.push(entry.path());
            }
        } else if is_folder {
            path.push("/");
            return Some(Entry::Folder(path, included));
        } else if self.rules.has_suffix(&name) {
            return Some(Entry::File(path));
        } else {
            self.pass_by(shown, Reason::Other);
        }
        None
    }

    fn is_excluded(&mut self, path: &str, is_folder: bool) -> bool {
        let Some(decision) = self.rules.exclude.decision(path, is_folder) else {
            return false;
        };
        self.deciding.insert(decision.number);
        decision.matches
    }

    fn report(&mut self, seen: Seen) {
        match seen {
            Seen::File(path, signature) => self.listing.files.push((path, signature)),
            Seen::Problem(skip) => self.listing.skips.push(skip),
            // As in a folder that may be listed and not entered.
            Seen::Unknown(path, skip) => {
                self.listing.skips.push(skip);
                self.listing.unknown.push(path);
            }
            Seen::Gone => {}
        }
    }

    fn pass_by(&mut self, path: String, reason: Reason) {
        self.listing.passed_by[reason as usize] += 1;
        if self.named {
            self.listing.named.push(PassedBy { path, reason });
        }
    }
}

/// The entries of a folder by their names.
fn entries_of(folder: &Path) -> io::Result<Vec<(OsString, DirEntry)>> {
    let entries = fs::read_dir(folder)?;
    let named = entries.map(|entry| entry.map(|entry| (entry.file_name(), entry)));
    let mut entries = named.collect::<io::Result<Vec<_>>>()?;
    entries.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
    Ok(entries)
}

/// Put the folders of a level between its files: each after as many files as stand before it.
fn in_turn(files: Vec<Seen>, folders: Vec<(usize, Step)>) -> vec::IntoIter<Step> {
    let mut steps = Vec::with_capacity(files.len() + folders.len());
    let mut folders = folders.into_iter().peekable();
    for (number, seen) in files.into_iter().enumerate() {
        while let Some((_, folder)) = folders.next_if(|(before, _)| *before <= number) {
            steps.push(folder);
        }
        steps.push(Step::Report(seen));
    }
    steps.extend(folders.map(|(_, folder)| folder));
    steps.into_iter()
}

fn is_mark(name: &OsStr) -> bool {
    MARKS_OF_TOOLS.iter().any(|mark| name == *mark)
}

/// An entry that is not passed by: a folder with the beginning of the paths below it and whether it is
/// included whatever it is, or a file with its path.
enum Entry {
    Folder(OsString, bool),
    File(OsString),
}

/// A file that is to be looked at.
struct Found<'a> {
    entry: &'a DirEntry,
    path: OsString,
}

/// What is to be said of a file that was looked at.
enum Seen {
    File(String, Signature),
    Problem(Skip),
    Unknown(OsString, Skip),
    /// It went since its folder was listed.
    Gone,
}

/// Look at files, on several threads where they are many.
fn on_threads(found: &[Found<'_>], work: fn(&Found<'_>) -> Seen) -> Vec<Seen> {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let threads = (found.len() / SHARE).clamp(1, processors.min(MOST_THREADS));
    let mut shares = found.chunks(found.len().div_ceil(threads).max(1));
    let own = shares.next().unwrap_or_default();
    let all = |share: &[Found<'_>]| share.iter().map(work).collect::<Vec<_>>();
    thread::scope(|scope| {
        let others: Vec<_> = shares
            .map(|share| {
                let thread = thread::Builder::new().spawn_scoped(scope, move || all(share));
                (share, thread)
            })
            .collect();
        let mut seen = all(own);
        for (share, thread) in others {
            // Where there is no thread to be had, this one does its work.
            let done = thread.ok().and_then(|thread| thread.join().ok());
            seen.extend(done.unwrap_or_else(|| all(share)));
        }
        seen
    })
}

fn see(found: &Found<'_>) -> Seen {
    let status = match found.entry.metadata() {
        Ok(status) => status,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Seen::Gone,
        Err(error) => {
            let skip = Skip::refused(printable(&found.path), &error);
            return Seen::Unknown(found.path.clone(), skip);
        }
    };
    if !status.is_file() {
        let shown = printable(&found.path);
        return Seen::Problem(Skip::whole(shown, "not_a_file", "not a regular file"));
    }
    match found.path.to_str() {
        Some(path) if !path.chars().any(is_control) => {
            Seen::File(path.to_owned(), Signature::of(&status))
        }
        _ => Seen::Problem(bad_name(printable(&found.path))),
    }
}

/// Whether a character may not be in the name of a file that is read.
fn is_control(letter: char) -> bool {
    matches!(
        letter,
        '\0'..='\x1f' | '\x7f' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

fn bad_name(shown: String) -> Skip {
    let reason = "its name is not UTF-8 or holds a control character; rename it";
    Skip::whole(shown, "bad_name", reason)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    fn rules(exclude: &[&str]) -> Rules {
        Rules::new(vec![".md".to_owned()], exclude.iter().copied(), [], None).unwrap()
    }

    fn put(root: &Path, names: &[&str]) {
        for name in names {
            let file = root.join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "x").unwrap();
        }
    }

    fn paths(listing: &Listing) -> Vec<&str> {
        listing
            .files
            .iter()
            .map(|(path, _)| path.as_str())
            .collect()
    }

    #[test]
    fn what_is_not_read_is_counted_and_named() {
        let folder = tempfile::tempdir().unwrap();
        let others = [
            ".hidden.md",
            "a.txt",
            "made/CACHEDIR.TAG",
            "made/x.md",
            "node_modules/x.md",
            "sub/.git/x.md",
            "sub/excluded.md",
        ];
        put(folder.path(), &["sub/deep/c.md", "a.md", "B.MD"]);
        put(folder.path(), &others);
        let listing = list(folder.path(), &rules(&["excluded.md", "gone"]), true);
        assert_eq!(paths(&listing), ["B.MD", "a.md", "sub/deep/c.md"]);
        assert_eq!(listing.passed_by, [1, 2, 0, 2, 1]);
        let named: Vec<&str> = listing.named.iter().map(|one| one.path.as_str()).collect();
        let expected = [
            ".hidden.md",
            "a.txt",
            "made/",
            "node_modules/",
            "sub/.git/",
            "sub/excluded.md",
        ];
        assert_eq!(named, expected);
        assert_eq!(listing.unused, ["gone"]);
    }

    #[test]
    fn many_files_are_looked_at_in_their_order() {
        let folder = tempfile::tempdir().unwrap();
        let names: Vec<String> = (0..SHARE * 3)
            .map(|number| format!("{number:05}.md"))
            .collect();
        put(
            folder.path(),
            &names.iter().map(String::as_str).collect::<Vec<_>>(),
        );
        let listing = list(folder.path(), &rules(&[]), false);
        assert_eq!(paths(&listing), names);
    }

    #[test]
    fn a_folder_that_is_not_there_is_unknown() {
        let folder = tempfile::tempdir().unwrap();
        let listing = list(&folder.path().join("none"), &rules(&[]), false);
        assert_eq!(listing.unknown, [OsString::new()]);
        assert_eq!(listing.skips[0].to_string().split(':').next(), Some("."));
    }

    #[test]
    fn a_folder_above_passes_a_file_by() {
        let rules = rules(&["Private", "!p.md"]);
        let reason = |path| rules.pass_by(path);
        assert_eq!(reason("a/b.md"), None);
        assert_eq!(reason("Private/p.md"), Some(Reason::Excluded));
        assert_eq!(reason(".a/b.md"), Some(Reason::Hidden));
        assert_eq!(reason("node_modules/b.md"), Some(Reason::Tools));
        assert_eq!(reason("a/b.txt"), Some(Reason::Other));
    }
}
