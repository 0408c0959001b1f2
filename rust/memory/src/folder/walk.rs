//! The walk over a folder, with everything that is not read named or counted.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirEntry};
use std::io;
use std::iter;
use std::ops::Range;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::patterns::Patterns;
use super::place::{Listed, Place};
use super::signature::{FolderSignature, Signature, now};
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

/// The most files that a thread looks at in one go, and the fewest for a further thread.
const SHARE: usize = 256;
const MOST_THREADS: usize = 8;

/// The rules for reading and skipping files below a folder.
#[derive(Debug)]
pub struct Rules {
    suffixes: Vec<String>,
    exclude: Patterns,
    include: Patterns,
    temporary: Option<(String, String)>,
    /// The entries of the last listing.
    known: Mutex<Option<Arc<CachedFolders>>>,
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
    pub files: Vec<(Arc<str>, Signature)>,
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
    /// Add a file or a folder that could not be looked at.
    fn add_unknown(&mut self, path: &OsStr, skip: Skip) {
        self.skips.push(skip);
        self.unknown.push(path.to_owned());
    }

    /// Add a file whose status could not be read, as in a folder that may be listed and not entered. It is
    /// left out if it is gone.
    fn add_refused(&mut self, path: &OsStr, error: &io::Error) {
        if error.kind() != io::ErrorKind::NotFound {
            self.add_unknown(path, Skip::refused(printable(path), error));
        }
    }

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
                .extend(files.map(|(path, signature)| (below(path).into(), *signature)));
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
    ) -> hedgerow_engine::Result<Self> {
        Ok(Self {
            suffixes,
            exclude: Patterns::new(exclude)?,
            include: Patterns::new(include)?,
            temporary,
            known: Mutex::default(),
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
///
/// Reads the status of every file again. The entries of a folder are read again only if its times have
/// changed since the last listing with the same rules.
#[must_use]
pub fn list(folder: &Path, rules: &Rules, named: bool) -> Listing {
    let known = lock(&rules.known).clone();
    let mut walk = Walk {
        rules,
        named,
        listing: Listing::default(),
        runs: Vec::new(),
        deciding: HashSet::new(),
        known: known.filter(|known| known.folder == folder),
        read: HashMap::new(),
    };
    walk.folder(folder);
    let Walk {
        mut listing,
        runs,
        deciding,
        read,
        ..
    } = walk;
    for mut seen in on_threads(&runs, see_all) {
        listing.files.append(&mut seen.files);
        listing.skips.append(&mut seen.skips);
        listing.unknown.append(&mut seen.unknown);
    }
    *lock(&rules.known) = Some(Arc::new(CachedFolders {
        folder: folder.to_owned(),
        entries: read,
    }));
    let given = rules.exclude.given().iter().enumerate();
    listing.unused = given
        .filter(|(number, _)| !deciding.contains(number))
        .map(|(_, pattern)| pattern.clone())
        .collect();
    listing
}

fn lock<T>(known: &Mutex<T>) -> MutexGuard<'_, T> {
    known.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Cached entries of a folder and its subfolders, by path prefix.
#[derive(Debug)]
pub(super) struct CachedFolders {
    folder: PathBuf,
    entries: HashMap<OsString, Arc<Entries>>,
}

/// The entries of one folder, by name.
#[derive(Debug)]
struct Entries {
    /// The signature of the folder while these entries are current; None if they may change unseen.
    signature: Option<FolderSignature>,
    /// The length of the beginning of the paths of the entries, in bytes.
    prefix: usize,
    all: Vec<Entry>,
    /// The numbers of the excluding patterns that matched an entry.
    deciding: Vec<usize>,
    /// Whether a tool has marked the folder as its own.
    is_marked: bool,
}

/// An entry of a folder, and the decision of the rules about it.
#[derive(Debug)]
enum Entry {
    /// A folder: the beginning of the paths below it, and whether it is included whatever it is.
    Folder(OsString, bool),
    /// A skipped entry: its path, the reason, and whether a killed writer may have left it.
    PassedBy(String, Reason, bool),
    /// An entry that is read if it is a file.
    File(Arc<str>, Listed),
    /// The same with an unreadable name.
    BadName(OsString, Listed),
    /// An entry whose status could not be read.
    Unknown(OsString, Skip),
}

/// A part of a listing, in its turn.
enum Run {
    /// Entries of a folder, whose files have yet to be looked at.
    Entries(Arc<Path>, Arc<Entries>, Range<usize>),
    /// A folder that could not be listed: the beginning of the paths below it.
    Unlisted(OsString, Skip),
}

impl Run {
    fn len(&self) -> usize {
        match self {
            Self::Entries(_, _, range) => range.len(),
            Self::Unlisted(..) => 0,
        }
    }
}

/// A folder whose entries before `next` have been walked.
struct Level {
    folder: Arc<Path>,
    entries: Arc<Entries>,
    next: usize,
}

/// A walk over a folder and all below it.
struct Walk<'a> {
    rules: &'a Rules,
    named: bool,
    listing: Listing,
    runs: Vec<Run>,
    /// The numbers of the excluding patterns that decided about something.
    deciding: HashSet<usize>,
    /// The entries of folders as of the last walk, and as of this one.
    known: Option<Arc<CachedFolders>>,
    read: HashMap<OsString, Arc<Entries>>,
}

impl Walk<'_> {
    /// Walk a folder with all below it; not by recursion, for folders may nest deep.
    fn folder(&mut self, folder: &Path) {
        let mut levels: Vec<Level> = Vec::new();
        levels.extend(self.level(folder, &OsString::new(), false));
        while let Some(level) = levels.last_mut() {
            let (folder, entries) = (Arc::clone(&level.folder), Arc::clone(&level.entries));
            let (start, all) = (level.next, &entries.all);
            let files = all[start..]
                .iter()
                .take_while(|entry| !matches!(entry, Entry::Folder(..)));
            let end = start + files.count();
            level.next = end + 1;
            self.run(&folder, &entries, start..end);
            if let Some(Entry::Folder(path, included)) = all.get(end) {
                let place = folder.join(name_below(path));
                levels.extend(self.level(&place, path, !included));
            } else {
                levels.pop();
            }
        }
        self.listing
            .named
            .sort_by(|one, other| one.path.cmp(&other.path));
    }

    /// Note entries of a folder, none of them a folder, in runs of one share of a thread.
    fn run(&mut self, folder: &Arc<Path>, entries: &Arc<Entries>, range: Range<usize>) {
        for entry in &entries.all[range.clone()] {
            if let Entry::PassedBy(path, reason, is_temporary) = entry {
                self.pass_by(path, *reason);
                if *is_temporary {
                    self.listing.leftovers.push(folder.join(name_of(path)));
                }
            }
        }
        let end = range.end;
        self.runs.extend(range.step_by(SHARE).map(|start| {
            let share = start..end.min(start + SHARE);
            Run::Entries(Arc::clone(folder), Arc::clone(entries), share)
        }));
    }

    /// Begin a folder; None if it cannot be listed, or if `marks` is true and a tool has marked it.
    ///
    /// The folder is closed then: an open folder may have many above it.
    fn level(&mut self, folder: &Path, prefix: &OsString, marks: bool) -> Option<Level> {
        let opened = Place::open(folder);
        let entries = match opened.and_then(|place| self.entries(&place, folder, prefix)) {
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
                self.runs.push(Run::Unlisted(prefix.clone(), skip));
                return None;
            }
        };
        if marks && entries.is_marked {
            self.pass_by(&printable(prefix), Reason::Tools);
            return None;
        }
        self.deciding.extend(&entries.deciding);
        if entries.signature.is_some() {
            self.read.insert(prefix.clone(), Arc::clone(&entries));
        }
        Some(Level {
            folder: folder.into(),
            entries,
            next: 0,
        })
    }

    /// The entries of an open folder, from the cache if the folder is unchanged.
    fn entries(&self, place: &Place, folder: &Path, prefix: &OsStr) -> io::Result<Arc<Entries>> {
        let looked_at = now();
        let signature = place.signature();
        let known = (self.known.as_ref()).and_then(|known| known.entries.get(prefix));
        if let Some(known) = known.filter(|one| signature.is_some() && one.signature == signature) {
            return Ok(Arc::clone(known));
        }
        let looks = Looks {
            rules: self.rules,
            prefix,
        };
        let found = entries_of(folder)?;
        let is_marked = found.iter().any(|(name, _)| is_mark(name));
        let (mut all, deciding): (Vec<_>, Vec<_>) = (found
            .into_iter()
            .map(|(name, entry)| looks.at(entry, &name)))
        .unzip();
        all.shrink_to_fit();
        Ok(Arc::new(Entries {
            signature: signature.filter(|one| one.is_settled(looked_at)),
            prefix: prefix.len(),
            all,
            deciding: deciding.into_iter().flatten().collect(),
            is_marked,
        }))
    }

    fn pass_by(&mut self, path: &str, reason: Reason) {
        self.listing.passed_by[reason as usize] += 1;
        if self.named {
            let path = path.to_owned();
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

/// The name of a folder from its path prefix.
fn name_below(prefix: &OsStr) -> &OsStr {
    Path::new(prefix).file_name().unwrap_or_default()
}

/// The context for examining the entries of one folder.
struct Looks<'a> {
    rules: &'a Rules,
    /// The beginning of the paths of the entries.
    prefix: &'a OsStr,
}

impl Looks<'_> {
    /// Return an entry with the decision about it, and the excluding pattern that decided.
    fn at(&self, entry: DirEntry, name: &OsStr) -> (Entry, Option<usize>) {
        let mut path = OsString::with_capacity(self.prefix.len() + name.len());
        path.push(self.prefix);
        path.push(name);
        let kind = match entry.file_type() {
            Ok(kind) => kind,
            Err(error) => {
                let skip = Skip::refused(printable(&path), &error);
                return (Entry::Unknown(path, skip), None);
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
            Entry::PassedBy(format!("{shown}{end}"), reason, is_temporary)
        } else if is_folder {
            let mut below = path.clone();
            below.push("/");
            Entry::Folder(below, included)
        } else if self.rules.has_suffix(&name) {
            match path.to_str() {
                Some(path) if !path.chars().any(is_control) => {
                    Entry::File(path.into(), Listed::of(entry))
                }
                _ => Entry::BadName(path, Listed::of(entry)),
            }
        } else {
            Entry::PassedBy(shown.into_owned(), Reason::Other, false)
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

/// Look at runs, on several threads where their entries are many. Each thread takes the next run, so
/// that none waits for one that the system has not yet started.
fn on_threads<T: Send>(runs: &[Run], look: impl Fn(&Run) -> T + Sync) -> Vec<T> {
    let shares = runs.iter().map(Run::len).sum::<usize>() / SHARE;
    let processors = || thread::available_parallelism().map_or(1, usize::from);
    let threads = if shares > 1 {
        shares.min(processors()).min(MOST_THREADS)
    } else {
        1
    };
    let next = AtomicUsize::new(0);
    let work = || {
        let numbers = iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
        let taken = numbers.map_while(|number| Some((number, look(runs.get(number)?))));
        taken.collect::<Vec<_>>()
    };
    let mut seen = thread::scope(|scope| {
        // If no thread can be started, this one does the work.
        let others: Vec<_> = (1..threads)
            .filter_map(|_| thread::Builder::new().spawn_scoped(scope, work).ok())
            .collect();
        let mut seen = work();
        for other in others {
            seen.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        seen
    });
    seen.sort_unstable_by_key(|(number, _)| *number);
    seen.into_iter().map(|(_, seen)| seen).collect()
}

/// Read the status of the files of a run.
fn see_all(run: &Run) -> Listing {
    let mut seen = Listing::default();
    match run {
        Run::Entries(folder, entries, range) => {
            let place = Place::open(folder);
            seen.files.reserve_exact(range.len());
            for entry in &entries.all[range.clone()] {
                see(&mut seen, place.as_ref(), entries.prefix, entry);
            }
        }
        Run::Unlisted(prefix, skip) => seen.add_unknown(prefix, skip.clone()),
    }
    seen
}

/// Read the status of a file in a folder, which may have been removed after it was listed. The path of the
/// file has `prefix` bytes before its name.
fn see(seen: &mut Listing, place: Result<&Place, &io::Error>, prefix: usize, entry: &Entry) {
    let (path, name, listed) = match entry {
        Entry::File(path, listed) => (OsStr::new(&**path), OsStr::new(&path[prefix..]), listed),
        Entry::BadName(path, listed) => (path.as_os_str(), name_below(path), listed),
        Entry::Unknown(path, skip) => return seen.add_unknown(path, skip.clone()),
        Entry::Folder(..) | Entry::PassedBy(..) => return,
    };
    let looked = match place {
        Ok(place) => place.file(name, listed),
        Err(error) => return seen.add_refused(path, error),
    };
    match (looked, entry) {
        (Ok(Some(signature)), Entry::File(path, _)) => {
            seen.files.push((Arc::clone(path), signature));
        }
        (Ok(Some(_)), _) => seen.skips.push(bad_name(printable(path))),
        (Ok(None), _) => {
            let skip = Skip::whole(printable(path), "not_a_file", "not a regular file");
            seen.skips.push(skip);
        }
        (Err(error), _) => seen.add_refused(path, &error),
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
mod tests;
