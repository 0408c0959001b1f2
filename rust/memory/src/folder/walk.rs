//! The walk over a folder, with everything that is not read named or counted.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirEntry, FileType};
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
const MARKS_OF_TOOLS: [&str; 2] = ["CACHEDIR.TAG", "pyvenv.cfg"];
const NEVER_INCLUDED: [&str; 2] = [".git", ".hedgerow"];

/// The fewest files that a thread of its own looks at.
const SHARE: usize = 1024;
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
        found: Vec::new(),
        deciding: HashSet::new(),
    };
    walk.folder(folder);
    let Walk {
        mut listing,
        found,
        deciding,
        ..
    } = walk;
    let given = rules.exclude.given().iter().enumerate();
    listing.unused = given
        .filter(|(number, _)| !deciding.contains(number))
        .map(|(_, pattern)| pattern.clone())
        .collect();
    look_at(&found, &mut listing);
    listing
}

/// A file with the name of one that is read, which is still to be looked at.
struct Found {
    place: PathBuf,
    path: OsString,
}

/// A folder whose entries are not all looked at.
struct Level {
    entries: vec::IntoIter<DirEntry>,
    prefix: OsString,
}

/// One walk over a folder and all below it.
struct Walk<'a> {
    rules: &'a Rules,
    named: bool,
    listing: Listing,
    found: Vec<Found>,
    /// The numbers of the excluding patterns that decided about something.
    deciding: HashSet<usize>,
}

impl Walk<'_> {
    /// List a folder with all below it; not by recursion, for folders may nest deep.
    fn folder(&mut self, folder: &Path) {
        let mut levels = vec![self.level(folder, OsString::new(), false)];
        while let Some(level) = levels.last_mut() {
            let Some(entry) = level.entries.next() else {
                levels.pop();
                continue;
            };
            let mut path = level.prefix.clone();
            path.push(entry.file_name());
            match entry.file_type() {
                Ok(kind) => {
                    if let Some(below) = self.entry(&entry, kind, path) {
                        levels.push(below);
                    }
                }
                Err(error) => self.is_unknown(path, &error),
            }
        }
    }

    /// Take in an entry; returns the folder that it is, if that is to be listed.
    fn entry(&mut self, entry: &DirEntry, kind: FileType, path: OsString) -> Option<Level> {
        let (name, shown) = (printable(&entry.file_name()), printable(&path));
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
            let mut below = path;
            below.push("/");
            return Some(self.level(&entry.path(), below, !included));
        } else if self.rules.has_suffix(&name) {
            self.found.push(Found {
                place: entry.path(),
                path,
            });
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

    /// The entries of a folder; with `marks` none where a tool has marked it as its own.
    fn level(&mut self, folder: &Path, prefix: OsString, marks: bool) -> Level {
        let mut entries = match entries_of(folder) {
            Ok(entries) => entries,
            Err(error) => {
                let shown = printable(&prefix);
                let shown = if shown.is_empty() {
                    ".".to_owned()
                } else {
                    shown
                };
                let mut skip = Skip::refused(shown, &error);
                skip.reason.insert_str(0, "the folder: ");
                self.listing.skips.push(skip);
                self.listing.unknown.push(prefix.clone());
                Vec::new()
            }
        };
        if marks && entries.iter().any(|entry| is_mark(&entry.file_name())) {
            self.pass_by(printable(&prefix), Reason::Tools);
            entries.clear();
        }
        Level {
            entries: entries.into_iter(),
            prefix,
        }
    }

    /// Report what cannot be looked at, as in a folder that may be listed and not entered.
    fn is_unknown(&mut self, path: OsString, error: &io::Error) {
        let skip = Skip::refused(printable(&path), error);
        self.listing.skips.push(skip);
        self.listing.unknown.push(path);
    }

    fn pass_by(&mut self, path: String, reason: Reason) {
        self.listing.passed_by[reason as usize] += 1;
        if self.named {
            self.listing.named.push(PassedBy { path, reason });
        }
    }
}

fn entries_of(folder: &Path) -> io::Result<Vec<DirEntry>> {
    let mut entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_cached_key(DirEntry::file_name);
    Ok(entries)
}

fn is_mark(name: &OsStr) -> bool {
    MARKS_OF_TOOLS.iter().any(|mark| name == *mark)
}

/// What is to be said of a file that was looked at.
enum Seen {
    File(String, Signature),
    Problem(Skip),
    Unknown(OsString, Skip),
    /// It went since its folder was listed.
    Gone,
}

/// Look at files, on several threads where they are many, and list them in their order.
fn look_at(found: &[Found], listing: &mut Listing) {
    for seen in on_threads(found, see) {
        match seen {
            Seen::File(path, signature) => listing.files.push((path, signature)),
            Seen::Problem(skip) => listing.skips.push(skip),
            Seen::Unknown(path, skip) => {
                listing.skips.push(skip);
                listing.unknown.push(path);
            }
            Seen::Gone => {}
        }
    }
}

fn on_threads(found: &[Found], work: fn(&Found) -> Seen) -> Vec<Seen> {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let threads = (found.len() / SHARE).clamp(1, processors.min(MOST_THREADS));
    let mut shares = found.chunks(found.len().div_ceil(threads).max(1));
    let own = shares.next().unwrap_or_default();
    let all = |share: &[Found]| share.iter().map(work).collect::<Vec<_>>();
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

fn see(found: &Found) -> Seen {
    let status = match fs::symlink_metadata(&found.place) {
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
pub(crate) fn is_control(letter: char) -> bool {
    matches!(
        letter,
        '\0'..='\x1f' | '\x7f' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

pub(crate) fn bad_name(shown: String) -> Skip {
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
