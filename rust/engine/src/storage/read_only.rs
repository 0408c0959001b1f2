//! Reading a file without write permission: on a read-only mount, or in another user's folder.
//!
//! SQLite reads a file with a write-ahead log through two more files, which it creates next to it. If it
//! cannot, the file is opened as unchanging (`immutable=1`), unless a log exists that would be ignored.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::{Error, ErrorCode};

use super::sidecar::{JOURNAL, LOG, SHARED, followed, sidecar};

/// Whether an error may come of a folder in which nothing can be made.
pub(super) fn may_explain(error: &Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly)
    )
}

/// Whether nothing can be made in the folder of a file, for want of permission or of a writable disk. Of a
/// link it is the folder of the file that it leads to, where SQLite makes its files.
///
/// Only an attempt can tell: permissions know nothing of mounts, nor of users whom they do not bind.
pub(super) fn is_folder_read_only(file: &Path) -> bool {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    let probe = followed(file).with_file_name(format!(".hedgerow-{}-{number}.tmp", process::id()));
    match OpenOptions::new().write(true).create_new(true).open(&probe) {
        Ok(made) => {
            drop(made);
            // A remaining probe file does no harm.
            let _ = fs::remove_file(&probe);
            false
        }
        Err(error) => matches!(
            error.kind(),
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
        ),
    }
}

/// Return the log next to a file that has, or may have, pages missing in the file.
pub(super) fn log_of(file: &Path) -> Option<PathBuf> {
    let [log, shared, journal] = [LOG, SHARED, JOURNAL].map(|suffix| sidecar(file, suffix));
    let has_content = |log: &PathBuf| fs::metadata(log).is_ok_and(|metadata| metadata.len() > 0);
    // An empty log with its index is that of a process that has the file open.
    if has_content(&log) || (log.exists() && shared.exists()) {
        return Some(log);
    }
    Some(journal).filter(has_content)
}

/// Return the URI with which SQLite opens an unchanging file.
pub(super) fn immutable_uri(file: &Path) -> String {
    uri_of(&path_bytes(file))
}

/// Return the URI of a path that begins with a slash. The empty authority before it keeps SQLite from taking
/// the beginning of a path with two slashes for one.
fn uri_of(path: &[u8]) -> String {
    let encoded = path.iter().map(|&byte| match byte {
        b'/' | b'.' | b'-' | b'_' | b'~' | b':' => char::from(byte).to_string(),
        _ if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    });
    format!("file://{}?immutable=1", encoded.collect::<String>())
}

#[cfg(unix)]
fn path_bytes(file: &Path) -> Vec<u8> {
    use std::os::unix::ffi::OsStrExt;
    file.as_os_str().as_bytes().to_vec()
}

#[cfg(not(unix))]
fn path_bytes(file: &Path) -> Vec<u8> {
    slashed(&file.display().to_string()).into_bytes()
}

/// Return a path of Windows with slashes. A drive follows a slash; a share of a server begins with two.
#[cfg(any(test, not(unix)))]
fn slashed(path: &str) -> String {
    let slashed = path.replace('\\', "/");
    if slashed.starts_with('/') {
        slashed
    } else {
        format!("/{slashed}")
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use rusqlite::{Connection, OpenFlags};

    use super::*;

    #[test]
    fn a_path_of_windows_becomes_the_uri_of_its_drive_or_share() {
        let uri = |path| uri_of(slashed(path).as_bytes());
        assert_eq!(
            uri(r"C:\Users\Żółw\a b.db"),
            "file:///C:/Users/%C5%BB%C3%B3%C5%82w/a%20b.db?immutable=1"
        );
        assert_eq!(
            uri(r"\\server\share\a.db"),
            "file:////server/share/a.db?immutable=1"
        );
        assert_eq!(uri(r"\\?\C:\a.db"), "file:////%3F/C:/a.db?immutable=1");
    }

    #[test]
    fn sqlite_opens_a_path_that_begins_with_two_slashes() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a?b#c%20.db");
        let made = Connection::open(&file).unwrap();
        made.execute_batch("CREATE TABLE found (id)").unwrap();
        drop(made);
        let doubled = format!("/{}", file.display());
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        let opened = Connection::open_with_flags(immutable_uri(Path::new(&doubled)), flags);
        let count: u32 = opened
            .unwrap()
            .query_row("SELECT count(*) FROM found", [], |row| row.get(0))
            .unwrap();
        assert_eq!(count, 0);
    }

    #[test]
    fn a_log_is_found_beside_the_file_that_a_link_leads_to() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("index.db");
        fs::create_dir(folder.path().join("links")).unwrap();
        let link = folder.path().join("links/linked.db");
        fs::write(&file, "").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert_eq!(log_of(&link), None);
        let log = fs::canonicalize(folder.path())
            .unwrap()
            .join("index.db-wal");
        fs::write(&log, "not in the file yet").unwrap();
        assert_eq!(log_of(&link), Some(log));
    }
}
