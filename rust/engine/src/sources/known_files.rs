//! Whether a folder has just the files that were read, each as it was: asked before every recall.
//!
//! The rules of what is read are those of spec/ingest.md, "Which files", with patterns that are
//! paths. Anything out of the ordinary makes the answer no: then the sync lists the files itself, with
//! everything that is to be said about them.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// Folders with files that tools have made.
const MADE_BY_TOOLS: [&str; 4] = [
    "node_modules",
    "bower_components",
    "site-packages",
    "__pycache__",
];
/// Files with which tools mark a folder as theirs.
const MARKS_OF_TOOLS: [&str; 2] = ["CACHEDIR.TAG", "pyvenv.cfg"];

/// Files by their paths below a folder, with `/`, each with its signature.
pub struct KnownFiles {
    signatures: HashMap<Box<str>, Signature>,
}

/// A folder that is still to be looked at: where it is, and the beginning of the paths below it.
struct Folder {
    place: PathBuf,
    prefix: String,
}

impl KnownFiles {
    /// Know of these files, as (path, signature); None where a signature is not one of ours.
    pub fn new(files: impl IntoIterator<Item = (String, String)>) -> Option<Self> {
        let read = |(path, text): (String, String)| Some((path.into_boxed_str(), parsed(&text)?));
        Some(Self {
            signatures: files.into_iter().map(read).collect::<Option<_>>()?,
        })
    }

    /// Whether these are the files below a folder whose names end in `suffix`, in lower case, and
    /// all are as they were. The paths `excluded` are passed by.
    #[must_use]
    pub fn are_all_below(&self, folder: &Path, suffix: &str, excluded: &[String]) -> bool {
        let top = Folder {
            place: folder.to_owned(),
            prefix: String::new(),
        };
        let mut waiting = vec![top];
        let mut found = 0;
        while let Some(folder) = waiting.pop() {
            match self.look_at(&folder, suffix, excluded, &mut waiting) {
                Some(count) => found += count,
                None => return false,
            }
        }
        found == self.signatures.len()
    }

    /// How many files of a folder are as they were; None where something is not.
    fn look_at(
        &self,
        folder: &Folder,
        suffix: &str,
        excluded: &[String],
        waiting: &mut Vec<Folder>,
    ) -> Option<usize> {
        let entries: Vec<_> = fs::read_dir(&folder.place)
            .ok()?
            .collect::<Result<_, _>>()
            .ok()?;
        let is_top = folder.prefix.is_empty();
        if !is_top && entries.iter().any(|entry| is_mark(&entry.file_name())) {
            return Some(0);
        }
        let mut found = 0;
        for entry in entries {
            let name = entry.file_name();
            let kind = entry.file_type().ok()?;
            if name.as_encoded_bytes().first() == Some(&b'.') || kind.is_symlink() {
                continue;
            }
            let name = name.to_str()?;
            let path = format!("{}{name}", folder.prefix);
            if excluded.contains(&path) {
                continue;
            }
            if kind.is_dir() {
                if !MADE_BY_TOOLS.contains(&name) {
                    waiting.push(Folder {
                        place: entry.path(),
                        prefix: path + "/",
                    });
                }
            } else if name.to_lowercase().ends_with(suffix) {
                let known = self.signatures.get(path.as_str())?;
                if signature(&entry.metadata().ok()?)? != *known {
                    return None;
                }
                found += 1;
            }
        }
        Some(found)
    }
}

fn is_mark(name: &OsStr) -> bool {
    MARKS_OF_TOOLS.iter().any(|mark| name == *mark)
}

/// What changes with the content of a regular file: size, times in nanoseconds, inode.
type Signature = (u64, i128, i128, u64);

#[cfg(unix)]
fn signature(status: &fs::Metadata) -> Option<Signature> {
    use std::os::unix::fs::MetadataExt;

    let nanoseconds =
        |seconds: i64, rest: i64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
    status.is_file().then(|| {
        (
            status.size(),
            nanoseconds(status.mtime(), status.mtime_nsec()),
            nanoseconds(status.ctime(), status.ctime_nsec()),
            status.ino(),
        )
    })
}

/// On other systems nothing is known of a file, and the sync always lists them all.
#[cfg(not(unix))]
fn signature(_: &fs::Metadata) -> Option<Signature> {
    None
}

/// Read what the ledger holds: the numbers with dots between.
fn parsed(text: &str) -> Option<Signature> {
    let mut parts = text.split('.');
    let signature = (
        parts.next()?.parse().ok()?,
        parts.next()?.parse().ok()?,
        parts.next()?.parse().ok()?,
        parts.next()?.parse().ok()?,
    );
    parts.next().is_none().then_some(signature)
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    fn known(folder: &Path, paths: &[&str]) -> Option<KnownFiles> {
        let signed = |path: &&str| {
            let status = fs::symlink_metadata(folder.join(path)).ok()?;
            let (size, modified, changed, inode) = signature(&status)?;
            let text = format!("{size}.{modified}.{changed}.{inode}");
            Some(((*path).to_owned(), text))
        };
        KnownFiles::new(paths.iter().map(signed).collect::<Option<Vec<_>>>()?)
    }

    #[test]
    fn what_is_not_read_does_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for name in ["sub/deep", "sub/.git", "node_modules", "made"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        let read = ["a.md", "B.MD", "sub/deep/c.md"];
        let others = [
            ".hidden.md",
            "a.txt",
            "sub/.git/x.md",
            "node_modules/x.md",
            "made/CACHEDIR.TAG",
            "made/x.md",
        ];
        for name in read.iter().chain(&others) {
            fs::write(root.join(name), "x").unwrap();
        }
        std::os::unix::fs::symlink("a.md", root.join("link.md")).unwrap();
        let files = known(root, &read).unwrap();
        assert!(files.are_all_below(root, ".md", &[]));

        fs::write(root.join("a.md"), "xx").unwrap();
        assert!(!files.are_all_below(root, ".md", &[]));
        let files = known(root, &read).unwrap();
        fs::write(root.join("sub/new.md"), "x").unwrap();
        assert!(!files.are_all_below(root, ".md", &[]));
        assert!(files.are_all_below(root, ".md", &["sub/new.md".to_owned()]));
        fs::remove_file(root.join("sub/new.md")).unwrap();
        assert!(files.are_all_below(root, ".md", &[]));
        fs::remove_file(root.join("B.MD")).unwrap();
        assert!(!files.are_all_below(root, ".md", &[]));
        assert!(!files.are_all_below(&root.join("none"), ".md", &[]));
        for text in ["", "1.2.3", "1.2.3.4.5", "a.2.3.4", "-1.2.3.4"] {
            assert!(KnownFiles::new([("a.md".to_owned(), text.to_owned())]).is_none());
        }
        assert!(
            KnownFiles::new([])
                .unwrap()
                .are_all_below(&root.join("made"), ".txt", &[])
        );
    }
}
