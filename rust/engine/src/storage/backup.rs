//! Copying an index while it is in use.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, ErrorCode as SqliteCode, ffi};

use super::database::Database;
use super::identity;
use super::sidecar::{LOG, SHARED, sidecar};
use crate::error::{Error, ErrorCode, Result};
use crate::interrupt;

/// Pages copied between two checks for cancellation: a few milliseconds of work.
const STEP: i32 = 1000;

impl Database {
    /// Copy the index into a new file, in one consistent state.
    ///
    /// Searches continue meanwhile, and so do writes to a file. The copy is made under another name
    /// in the same folder. After it is complete and synced, it is moved into place.
    pub fn backup(&self, target: &Path) -> Result<()> {
        self.check_process()?;
        if target.symlink_metadata().is_ok() {
            return Err(exists(target));
        }
        let partial = partial_name(target)?;
        let logs = [LOG, SHARED].map(|suffix| sidecar(&partial, suffix));
        let copied = self
            .read(|connection| Ok(copy(connection, &partial)))
            .and_then(|copied| copied.map_err(|error| self.copy_error(target, &error)))
            .and_then(|()| move_into_place(&partial, target));
        if copied.is_err() {
            for log in &logs {
                remove(log);
            }
        }
        match fs::remove_file(&partial) {
            Err(error) if copied.is_ok() && error.kind() != io::ErrorKind::NotFound => {
                Err(failed(target, &error))
            }
            // The error that stopped the copy matters more than the rest of the copy.
            _ => copied,
        }
    }

    fn copy_error(&self, target: &Path, error: &rusqlite::Error) -> Error {
        match error.sqlite_error_code() {
            Some(
                SqliteCode::DatabaseCorrupt
                | SqliteCode::NotADatabase
                | SqliteCode::OperationInterrupted
                | SqliteCode::OutOfMemory,
            ) => self.location.error(error),
            _ => failed(target, error),
        }
    }
}

/// A hidden name in the folder of the target that nobody else uses.
fn partial_name(target: &Path) -> Result<PathBuf> {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let name = target.file_name().ok_or_else(|| {
        Error::new(
            ErrorCode::IndexIo,
            format!(
                "the path \"{}\" names no file; give the backup a name",
                target.display()
            ),
        )
    })?;
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    let mut hidden = OsString::from(".");
    hidden.push(name);
    hidden.push(format!(".{}-{number}.partial", process::id()));
    Ok(target.with_file_name(hidden))
}

/// Copy all pages of the state that the transaction of `source` sees.
///
/// Not `VACUUM INTO`, which would write the copy of a database in memory into memory as well.
fn copy(source: &Connection, path: &Path) -> rusqlite::Result<()> {
    // A transaction begins with its first read. After it, every step copies the same state.
    source.query_row("PRAGMA schema_version", [], |_| Ok(()))?;
    let mut copy = Connection::open(path)?;
    // The file is of use only when it is whole, so it needs no journal.
    copy.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")?;
    let copied = copy_pages(&Backup::new(source, &mut copy)?)?;
    match copied {
        // A handle that is open on the file notices when the copy is put in its place.
        StepResult::Done => {
            identity::renew(&copy)?;
            copy.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        }
        _ => Err(rusqlite::Error::SqliteFailure(
            ffi::Error::new(ffi::SQLITE_BUSY),
            None,
        )),
    }
}

/// Copy step by step, unless nobody waits for it.
fn copy_pages(backup: &Backup<'_, '_>) -> rusqlite::Result<StepResult> {
    loop {
        interrupt::check_reading()?;
        match backup.step(STEP)? {
            StepResult::More => {}
            ended => return Ok(ended),
        }
    }
}

/// Give the finished copy its name, unless something has that name by now.
fn move_into_place(partial: &Path, target: &Path) -> Result<()> {
    sync(partial)
        .and_then(|()| give_name(partial, target))
        .and_then(|()| sync_folder(target).inspect_err(|_| remove(target)))
        .map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => exists(target),
            _ => failed(target, &error),
        })
}

/// Give a file a name that is free.
fn give_name(partial: &Path, target: &Path) -> io::Result<()> {
    match fs::hard_link(partial, target) {
        // Some file systems have no hard links: reserve the name, then rename over it.
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            OpenOptions::new()
                .write(true)
                .create_new(true)
                .open(target)?;
            fs::rename(partial, target).inspect_err(|_| remove(target))
        }
        linked => linked,
    }
}

/// Remove the remains of a failed copy. The failure of the copy is reported, not a failure here.
fn remove(file: &Path) {
    let _ = fs::remove_file(file);
}

/// Sync a file to the disk. Windows syncs only files open for writing.
fn sync(file: &Path) -> io::Result<()> {
    OpenOptions::new().write(true).open(file)?.sync_all()
}

/// Have the name of a file on the disk.
#[cfg(unix)]
fn sync_folder(file: &Path) -> io::Result<()> {
    let folder = file.parent().filter(|folder| *folder != Path::new(""));
    fs::File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

/// Windows opens no folders, and keeps names by itself.
#[cfg(not(unix))]
#[allow(clippy::unnecessary_wraps, reason = "it can fail elsewhere")]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

fn exists(target: &Path) -> Error {
    Error::new(
        ErrorCode::BackupExists,
        format!(
            "there is already something at {}; give the backup another name, or remove it first",
            target.display()
        ),
    )
}

fn failed(target: &Path, error: &dyn std::error::Error) -> Error {
    Error::new(
        ErrorCode::IndexIo,
        format!(
            "the backup {} cannot be written ({error}); check the folder, its permissions and \
             the space on its disk",
            target.display()
        ),
    )
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::chunks::Chunk;
    use crate::index::Index;
    use crate::interrupt::with_cancellation;
    use crate::text::tokenizer::TokenizerKind;

    #[test]
    fn an_interrupted_backup_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let index = Index::in_memory(TokenizerKind::Porter).unwrap();
        let large = Chunk {
            id: "a".to_owned(),
            content: "oak ".repeat(1_000_000),
            ..Chunk::default()
        };
        index.upsert(&[&large]).unwrap();
        let target = folder.path().join("copy.db");
        let asked = Cell::new(0);
        let after_some = move || asked.replace(asked.get() + 1) == 1;
        let error = with_cancellation(after_some, || index.backup(&target)).unwrap_err();
        assert_eq!(error.code(), ErrorCode::Interrupted, "{error}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        index.backup(&target).unwrap();
        let copy = Index::open(&target, TokenizerKind::Porter, true).unwrap();
        assert_eq!(copy.get("a").unwrap(), Some(large));
    }

    #[test]
    fn a_backup_that_cannot_be_written_says_what_to_check() {
        let folder = tempfile::tempdir().unwrap();
        let index = Index::in_memory(TokenizerKind::Porter).unwrap();
        let target = folder.path().join("missing/copy.db");
        let error = index.backup(&target).unwrap_err();
        assert_eq!(error.code(), ErrorCode::IndexIo);
        let named = format!("the backup {} cannot be written (", target.display());
        assert!(error.message().starts_with(&named), "{error}");
        let advice = "check the folder, its permissions and the space on its disk";
        assert!(error.message().ends_with(advice), "{error}");
    }

    #[test]
    fn a_copy_that_cannot_be_named_leaves_no_empty_file() {
        let folder = tempfile::tempdir().unwrap();
        let [missing, target] = ["missing", "copy.db"].map(|name| folder.path().join(name));
        let error = give_name(&missing, &target).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(!target.exists());
    }
}
