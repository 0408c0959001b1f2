//! Conflict copies: second versions of a file, which programs that synchronize folders keep beside it.

use std::sync::LazyLock;

use regex::Regex;

use crate::skip::Skip;

/// The names of copies, each before `.md`, with the name of the original as the first group.
///
/// `OneDrive` and iCloud append the name of the machine or a number, as people do: their copies cannot be told apart.
const NAMES: [&str; 5] = [
    // Syncthing. The id of the device is missing in copies of old versions.
    r"^(.+)\.sync-conflict-\d{8}-\d{6}(?:-[A-Z2-7]{7})?$",
    // Dropbox, Nextcloud, ownCloud and Obsidian Sync. Dropbox numbers several copies of one day.
    r"(?i)^(.+) \([^()]*\bconflicted copy\b[^()]*\d{4}-?\d{2}-?\d{2}[^()]*(?: \(\d+\))?\)$",
    // Nextcloud and ownCloud before 2019.
    r"^(.+)_conflict-(?:[^-]+-)?\d{8}-\d{6}$",
    // Seafile.
    r"^(.+) \(SFConflict [^()]*\d{4}(?:-\d{2}){5}\)$",
    // Any.
    r"(?i)^(.+) \(conflict(?: \d+)?\)$",
];

static COPY: LazyLock<Vec<Regex>> =
    LazyLock::new(|| NAMES.iter().flat_map(|name| Regex::new(name)).collect());

/// The conflict copies among the files of a root, in the given order. A file whose original is not there any more
/// is none.
pub fn conflict_copies(paths: &[&str], mut is_there: impl FnMut(&str) -> bool) -> Vec<Skip> {
    let skip = |path: &&str| {
        let original = original(path).filter(|original| is_there(original))?;
        let reason = format!(
            "a sync program kept it as another version of {original}: put what is missing into {original}, and delete the copy"
        );
        Some(Skip::whole(*path, "conflict_copy", reason))
    };
    paths.iter().filter_map(skip).collect()
}

/// The path of the file that a path is a conflict copy of.
fn original(path: &str) -> Option<String> {
    let (folder, name) = path.split_at(path.rfind('/').map_or(0, |at| at + 1));
    let (stem, suffix) = name.split_at(name.rfind('.')?);
    let of = |pattern: &Regex| {
        let stem = pattern.captures(stem)?.get(1)?.as_str();
        Some(format!("{folder}{stem}{suffix}"))
    };
    COPY.iter().find_map(of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_known_by_the_names_of_the_programs() {
        for (copy, original) in [
            (
                "a/note.sync-conflict-20261102-101010-ABCDEFG.md",
                "a/note.md",
            ),
            ("note.sync-conflict-20161102-101010.md", "note.md"),
            ("note (Ana's conflicted copy 2026-11-02).md", "note.md"),
            ("note (Ana's conflicted copy 2026-11-02 (1)).md", "note.md"),
            ("note (conflicted copy 2026-11-02 101010).MD", "note.MD"),
            (
                "n/note (2) (Conflicted copy Laptop 202611021010).md",
                "n/note (2).md",
            ),
            ("note_conflict-20181102-101010.md", "note.md"),
            ("note_conflict-ana-20181102-101010.md", "note.md"),
            (
                "note (SFConflict ana@example.org 2026-11-02-10-10-10).md",
                "note.md",
            ),
            ("a/note (conflict).md", "a/note.md"),
            ("a/note (Conflict 2).md", "a/note.md"),
        ] {
            assert_eq!(conflict_copies(&[copy], |_| false), [], "{copy}");
            let found = conflict_copies(&[copy], |path| path == original);
            assert_eq!(found.len(), 1, "{copy}");
            assert_eq!((&*found[0].path, &*found[0].code), (copy, "conflict_copy"));
            assert!(
                found[0].reason.contains(&format!("version of {original}:")),
                "{found:?}"
            );
        }
    }

    #[test]
    fn other_names_are_no_copies() {
        for path in [
            "note.md",
            "note (1).md",
            "note 2.md",
            "note-LAPTOP.md",
            "conflict.md",
            "the conflicted copy 2026-11-02.md",
            "How to solve a sync-conflict-20261102.md",
            "note (conflicted copy).md",
            "(conflict).md",
            "note",
            "",
        ] {
            assert_eq!(conflict_copies(&[path], |_| true), [], "{path}");
        }
    }
}
