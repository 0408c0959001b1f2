//! Reading the files that changed: in rounds, each on several threads while the one before is written.

use std::fmt::Write;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::thread;

use hedgerow_engine::Result;
use sha2::{Digest, Sha256};

use crate::folder::source::{Unreadable, read_open};
use crate::folder::{Signature, now};
use crate::parallel;

/// The most files and the bytes of a round, which one transaction writes.
const ROUND: usize = 512;
const ROUND_BYTES: u64 = 16 * 1024 * 1024;
/// Bytes per read of a stream.
const PIECE: usize = 1024 * 1024;
/// The bytes of a digest.
const DIGEST: usize = 16;

/// A file that is to be read.
#[derive(Debug, Clone)]
pub struct FileToRead {
    /// The path in its records and chunks.
    pub path: String,
    /// Where it is.
    pub place: PathBuf,
    /// The signature when the file was found.
    pub signature: Signature,
    /// Whether it may be larger than memory: only its digest is made, in pieces.
    pub is_stream: bool,
}

/// A file that was read, or that the system refused.
#[derive(Debug)]
pub struct Reading {
    /// The path in its records and chunks.
    pub path: String,
    /// The signature when the file was read.
    pub signature: Signature,
    /// Whether any later change will show in the signature.
    pub settled: bool,
    /// The digest of its bytes; empty where there are none.
    pub digest: String,
    /// The bytes, or the reason that they are missing; empty for a stream.
    pub data: std::result::Result<Vec<u8>, Unreadable>,
}

/// Read files in rounds. `make` is called on several threads for each file, and `write` on this one
/// for the results of a round, in the order of the files; then with the number of files done.
///
/// A file removed meanwhile is skipped: the next sync sees that.
pub fn in_rounds<T: Send>(
    files: &[FileToRead],
    make: impl Fn(Reading) -> T + Sync,
    mut write: impl FnMut(Vec<T>, usize) -> Result<()>,
) -> Result<()> {
    let mut ready: Option<(Vec<T>, usize)> = None;
    let mut rest = files;
    while !rest.is_empty() {
        let (round, after) = rest.split_at(length_of_round(rest));
        let done = files.len() - after.len();
        let work = || on_threads(round, &make);
        let next = match ready {
            None => work(),
            Some((results, done)) => {
                let (next, written) = thread::scope(|scope| {
                    let next = thread::Builder::new().spawn_scoped(scope, work);
                    let written = write(results, done);
                    (next.ok().and_then(|next| next.join().ok()), written)
                });
                written?;
                // If no thread can be started, this one does the work.
                next.unwrap_or_else(work)
            }
        };
        ready = Some((next, done));
        rest = after;
    }
    ready.map_or(Ok(()), |(round, done)| write(round, done))
}

fn length_of_round(files: &[FileToRead]) -> usize {
    let mut bytes = 0;
    let fits = |file: &&FileToRead| {
        bytes += file.signature.size();
        bytes <= ROUND_BYTES
    };
    files.iter().take(ROUND).take_while(fits).count().max(1)
}

/// Read files and make something of each, on as many threads as there are processors.
fn on_threads<T: Send>(files: &[FileToRead], make: &(impl Fn(Reading) -> T + Sync)) -> Vec<T> {
    let results = parallel::map(files, |file| read(file).map(make));
    results.into_iter().flatten().collect()
}

/// Read a file; None if it is gone. Its signature is that of the file that was read.
pub fn read(file: &FileToRead) -> Option<Reading> {
    let opened = File::open(&file.place);
    let status = opened
        .as_ref()
        .ok()
        .and_then(|opened| opened.metadata().ok());
    let signature = status.map_or(file.signature, |status| Signature::of(&status));
    let settled = signature.is_settled(now());
    let opened = opened.map_err(|error| Unreadable::system(&error));
    let read = opened.and_then(|opened| {
        if file.is_stream {
            let digest = digest_in_pieces(opened).map_err(|error| Unreadable::system(&error))?;
            return Ok((digest, Vec::new()));
        }
        let data = read_open(opened)?;
        Ok((digest_of(&data), data))
    });
    if read.is_err() && is_gone(&file.place) {
        return None;
    }
    let (digest, data) = match read {
        Ok((digest, data)) => (digest, Ok(data)),
        Err(unreadable) => (String::new(), Err(unreadable)),
    };
    Some(Reading {
        path: file.path.clone(),
        signature,
        settled,
        digest,
        data,
    })
}

fn digest_in_pieces(mut file: File) -> io::Result<String> {
    let (mut digest, mut piece) = (Sha256::new(), vec![0; PIECE]);
    loop {
        let length = file.read(&mut piece)?;
        if length == 0 {
            return Ok(hexadecimal(&digest.finalize()));
        }
        digest.update(&piece[..length]);
    }
}

fn is_gone(place: &Path) -> bool {
    let status = std::fs::symlink_metadata(place);
    status.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

/// Return the digest of the content of a file: 32 hexadecimal digits.
pub fn digest_of(data: &[u8]) -> String {
    hexadecimal(&Sha256::digest(data))
}

fn hexadecimal(digest: &[u8]) -> String {
    let mut text = String::with_capacity(2 * DIGEST);
    for byte in digest.iter().take(DIGEST) {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    fn wanted(folder: &Path, name: &str) -> FileToRead {
        let place = folder.join(name);
        std::fs::write(&place, name).unwrap();
        let signature = Signature::of(&std::fs::metadata(&place).unwrap());
        FileToRead {
            path: name.to_owned(),
            place,
            signature,
            is_stream: false,
        }
    }

    #[test]
    fn rounds_are_written_in_order_and_what_is_gone_is_passed_by() {
        let folder = tempfile::tempdir().unwrap();
        let names: Vec<String> = (0..ROUND * 2 + 5)
            .map(|number| format!("{number:05}"))
            .collect();
        let files: Vec<FileToRead> = names
            .iter()
            .map(|name| wanted(folder.path(), name))
            .collect();
        std::fs::remove_file(&files[7].place).unwrap();
        let (mut seen, mut steps) = (Vec::new(), Vec::new());
        in_rounds(
            &files,
            |reading| String::from_utf8(reading.data.unwrap()).unwrap(),
            |made, done| {
                seen.extend(made);
                steps.push(done);
                Ok(())
            },
        )
        .unwrap();
        let mut expected = names.clone();
        expected.remove(7);
        assert_eq!(seen, expected);
        assert_eq!(steps, [ROUND, ROUND * 2, ROUND * 2 + 5]);
    }

    #[test]
    fn what_is_too_large_says_so() {
        use crate::folder::source::FILE_LIMIT;

        let folder = tempfile::tempdir().unwrap();
        let mut file = wanted(folder.path(), "a.md");
        let large = File::create(&file.place).unwrap();
        large.set_len(FILE_LIMIT as u64 + 1).unwrap();
        let refused = read(&file).unwrap().data.unwrap_err();
        assert_eq!(refused.reason, "the file is larger than 16 MiB; split it");
        file.place = folder.path().join("none");
        assert!(read(&file).is_none());
    }
}
