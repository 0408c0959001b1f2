//! The walk over a folder, with everything that is not read named or counted.

use std::borrow::Cow;
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

/// The fewest files for a further thread.
const SHARE: usize = 256;
const MOST_THREADS: usize = 8;

/// The rules for reading and skipping files below a folder.
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
    /// The name begins with a dot.
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

/// The files below a folder, by paths relative to it with `/`, in the order of names.
#[derive(Debug, Default)]
pub struct Listing {
    /// Files that are read.
    pub files: Vec<(String, Signature)>,
    /// Unreadable files and folders.
    pub skips: Vec<Skip>,
    /// Files and folders of which nothing is known, for they could not be looked at: each as its
    /// path, a folder as the beginning of the paths below it.
    pub unknown: Vec<OsString>,
    /// Counts of skipped files, in the order of `Reason::ALL`.
    pub passed_by: [u64; 5],
    /// The skipped files, if requested.
    pub named: Vec<PassedBy>,
    /// Files that a writer may have left that was killed.
    pub leftovers: Vec<PathBuf>,
    /// The patterns that exclude, and decided about nothing.
    pub unused: Vec<String>,
}

impl Listing {
    /// The listings of several folders as one: the paths of each begin with its name and `/`.
    ///
    /// The names must be in order. Patterns that decide about nothing are left out.
    pub fn joined<'a>(parts: impl IntoIterator<Item = (&'a str, &'a Self)>) -> Self {
        let mut joined = Self::default();
        for (name, part) in parts {
            let below = |path: &str| match path {
                "." => name.to_owned(),
                path => format!("{name}/{path}"),
            };
            let files = part.files.iter();
            joined
                .files
                .extend(files.map(|(path, signature)| (below(path), *signature)));
            joined.skips.extend(part.skips.iter().map(|skip| Skip {
                path: below(&skip.path),
                ..skip.clone()
            }));
            joined.unknown.extend(part.unknown.iter().map(|path| {
                let mut whole = OsString::from(format!("{name}/"));
                whole.push(path);
                whole
            }));
            joined.named.extend(part.named.iter().map(|one| PassedBy {
                path: below(&one.path),
                reason: one.reason,
            }));
            for (sum, count) in joined.passed_by.iter_mut().zip(part.passed_by) {
                *sum += count;
            }
        }
        joined
    }
}

impl Rules {
    /// Return rules for files whose names end in `suffixes`, in lower case. `exclude` skips files,
    /// and `include` reads files that would be skipped as hidden, made by tools or excluded.
    /// `temporary` has prefix and suffix of the names of files that a killed writer may have left.
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

    /// Return the reason to skip a file below a folder, for its own sake or that of a folder above
    /// it.
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
        let ends = |name: &str| self.suffixes.iter().any(|suffix| name.ends_with(&**suffix));
        ends(name) || ends(&name.to_lowercase())
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

/// List the files below a folder that the rules take; `named` also lists the skipped files.
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

/// The work for an entry of a folder, in its turn.
enum Step {
    /// List a folder: its place, the beginning of the paths below it, and whether a mark of a tool in
    /// it counts.
    Enter(PathBuf, OsString, bool),
    /// Report a file.
    Report(Seen),
}

/// A walk over a folder and all below it.
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

    /// Return the steps for the entries of a folder; empty if `marks` is true and a tool has marked the
    /// folder. The folder is closed then: an open folder may have many above it.
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
        let looks = Looks {
            rules: self.rules,
            prefix,
        };
        let seen = on_threads(&entries, |(name, entry)| looks.at(entry, name));
        let mut steps = Vec::with_capacity(seen.len());
        for ((_, entry), (seen, decided)) in entries.iter().zip(seen) {
            self.deciding.extend(decided);
            match seen {
                Seen::Folder(path, included) => {
                    steps.push(Step::Enter(entry.path(), path, !included));
                }
                Seen::PassedBy(path, reason, is_temporary) => {
                    self.pass_by(path, reason);
                    if is_temporary {
                        self.listing.leftovers.push(entry.path());
                    }
                }
                seen => steps.push(Step::Report(seen)),
            }
        }
        steps.into_iter()
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
            Seen::Gone | Seen::Folder(..) | Seen::PassedBy(..) => {}
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

fn is_mark(name: &OsStr) -> bool {
    MARKS_OF_TOOLS.iter().any(|mark| name == *mark)
}

/// The outcome of an entry of a folder.
enum Seen {
    /// A folder: the beginning of the paths below it, and whether it is included whatever it is.
    Folder(OsString, bool),
    /// A skipped entry: its path, the reason, and whether a killed writer may have left it.
    PassedBy(String, Reason, bool),
    File(String, Signature),
    Problem(Skip),
    Unknown(OsString, Skip),
    /// The entry was removed after its folder was listed.
    Gone,
}

/// The context for examining the entries of one folder.
struct Looks<'a> {
    rules: &'a Rules,
    /// The beginning of the paths of the entries.
    prefix: &'a OsStr,
}

impl Looks<'_> {
    /// Return the outcome of an entry, and the excluding pattern that decided.
    fn at(&self, entry: &DirEntry, name: &OsStr) -> (Seen, Option<usize>) {
        let mut path = OsString::with_capacity(self.prefix.len() + name.len());
        path.push(self.prefix);
        path.push(name);
        let kind = match entry.file_type() {
            Ok(kind) => kind,
            Err(error) => {
                let skip = Skip::refused(printable(&path), &error);
                return (Seen::Unknown(path, skip), None);
            }
        };
        let (name, shown) = (shown(name), shown(&path));
        let is_folder = kind.is_dir();
        let included = self.rules.includes(&shown, &name, is_folder);
        let mut decided = None;
        let reason = if kind.is_symlink() {
            Some(Reason::Link)
        } else if included {
            None
        } else {
            let decision = self.rules.exclude.decision(&shown, is_folder);
            decided = decision.map(|decision| decision.number);
            let is_excluded = decision.is_some_and(|decision| decision.matches);
            reason_of(&name, is_folder, is_excluded)
        };
        let seen = if let Some(reason) = reason {
            let end = if is_folder { "/" } else { "" };
            let is_temporary = self.rules.is_temporary(&name);
            Seen::PassedBy(format!("{shown}{end}"), reason, is_temporary)
        } else if is_folder {
            let mut below = path.clone();
            below.push("/");
            Seen::Folder(below, included)
        } else if self.rules.has_suffix(&name) {
            see(entry, &path)
        } else {
            Seen::PassedBy(shown.into_owned(), Reason::Other, false)
        };
        (seen, decided)
    }
}

/// A name as text that can be shown.
fn shown(name: &OsStr) -> Cow<'_, str> {
    match name.to_str() {
        Some(name) => Cow::Borrowed(name),
        None => Cow::Owned(printable(name)),
    }
}

/// Look at the entries of a folder, on several threads where they are many.
fn on_threads<E: Sync, T: Send>(entries: &[E], look: impl Fn(&E) -> T + Sync) -> Vec<T> {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let threads = (entries.len() / SHARE).clamp(1, processors.min(MOST_THREADS));
    let mut shares = entries.chunks(entries.len().div_ceil(threads).max(1));
    let own = shares.next().unwrap_or_default();
    let all = |share: &[E]| share.iter().map(&look).collect::<Vec<_>>();
    thread::scope(|scope| {
        let others: Vec<_> = shares
            .map(|share| {
                let thread = thread::Builder::new().spawn_scoped(scope, || all(share));
                (share, thread)
            })
            .collect();
        let mut seen = all(own);
        for (share, thread) in others {
            // If no thread can be started, this one does the work.
            let done = thread.ok().and_then(|thread| thread.join().ok());
            seen.extend(done.unwrap_or_else(|| all(share)));
        }
        seen
    })
}

fn see(entry: &DirEntry, path: &OsStr) -> Seen {
    let status = match entry.metadata() {
        Ok(status) => status,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Seen::Gone,
        Err(error) => {
            let skip = Skip::refused(printable(path), &error);
            return Seen::Unknown(path.to_owned(), skip);
        }
    };
    if !status.is_file() {
        let skip = Skip::whole(printable(path), "not_a_file", "not a regular file");
        return Seen::Problem(skip);
    }
    match path.to_str() {
        Some(path) if !path.chars().any(is_control) => {
            Seen::File(path.to_owned(), Signature::of(&status))
        }
        _ => Seen::Problem(bad_name(printable(path))),
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
    fn joined_listings_have_the_names_of_their_folders() {
        let signature = "1.1.1.1".parse().unwrap();
        let file = |path: &str| (path.to_owned(), signature);
        let one = Listing {
            files: vec![file("a/b.md")],
            skips: vec![Skip::whole(".", "unreadable", "no")],
            unknown: vec![OsString::new(), OsString::from("c/")],
            passed_by: [1, 0, 0, 0, 2],
            ..Listing::default()
        };
        let joined = Listing::joined([("@", &one), ("@@", &one)]);
        let paths: Vec<&str> = joined.files.iter().map(|(path, _)| &**path).collect();
        assert_eq!(paths, ["@/a/b.md", "@@/a/b.md"]);
        assert_eq!(joined.skips[1].path, "@@");
        assert_eq!(joined.unknown[..2], ["@/", "@/c/"]);
        assert_eq!(joined.passed_by, [2, 0, 0, 0, 4]);
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
