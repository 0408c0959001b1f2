//! The system's signature of a file, which changes with its content.

use std::fmt;
use std::fs::Metadata;
use std::str::FromStr;
use std::time::{SystemTime, UNIX_EPOCH};

const SECOND: i128 = 1_000_000_000;
/// The longest that the clock of a file system with times in nanoseconds stands still.
const TICK: i128 = 100_000_000;
/// The longest that the clock of a file system with times in whole seconds stands still.
const COARSE_TICK: i128 = 2 * SECOND;

/// Size, times in nanoseconds since 1970, and inode. Programs cannot set the time of the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signature {
    size: u64,
    modified: i128,
    changed: i128,
    inode: u64,
}

impl Signature {
    /// The signature of a file.
    #[cfg(unix)]
    pub fn of(status: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;

        Self::of_times(
            status.size(),
            (status.mtime(), status.mtime_nsec()),
            (status.ctime(), status.ctime_nsec()),
            status.ino(),
        )
    }

    /// The signature of a size, the times of the last change of content and of status as seconds and
    /// nanoseconds, and an inode.
    #[cfg(unix)]
    pub(super) fn of_times<N: Into<i128>>(
        size: u64,
        modified: (i64, N),
        changed: (i64, N),
        inode: u64,
    ) -> Self {
        let time = |(seconds, rest): (i64, N)| i128::from(seconds) * SECOND + rest.into();
        Self {
            size,
            modified: time(modified),
            changed: time(changed),
            inode,
        }
    }

    /// The signature of a file: where the system has no time of the change, that of its making.
    #[cfg(not(unix))]
    pub fn of(status: &Metadata) -> Self {
        let since = |time: std::io::Result<SystemTime>| {
            let passed = time
                .ok()
                .and_then(|time| time.duration_since(UNIX_EPOCH).ok());
            passed.map_or(0, |passed| i128::try_from(passed.as_nanos()).unwrap_or(0))
        };
        Self {
            size: status.len(),
            modified: since(status.modified()),
            changed: since(status.created()),
            inode: 0,
        }
    }

    /// The size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// When the content was last changed, in seconds since 1970.
    pub fn modified_seconds(&self) -> i64 {
        i64::try_from(self.modified / SECOND).unwrap_or(0)
    }

    /// Whether any change after a moment, in nanoseconds since 1970, will show in the signature.
    ///
    /// Clocks of file systems tick: a change in the tick of the one before leaves no trace.
    pub fn is_settled(&self, read_at: i128) -> bool {
        let last = if cfg!(unix) {
            self.changed
        } else {
            self.modified
        };
        let tick = if last % SECOND == 0 {
            COARSE_TICK
        } else {
            TICK
        };
        last + tick <= read_at
    }
}

/// The present, in nanoseconds since 1970.
pub fn now() -> i128 {
    let passed = SystemTime::now().duration_since(UNIX_EPOCH);
    passed.map_or(0, |passed| {
        i128::try_from(passed.as_nanos()).unwrap_or(i128::MAX)
    })
}

impl fmt::Display for Signature {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            size,
            modified,
            changed,
            inode,
        } = self;
        write!(formatter, "{size}.{modified}.{changed}.{inode}")
    }
}

/// A text that is not a signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoSignature;

impl FromStr for Signature {
    type Err = NoSignature;

    fn from_str(text: &str) -> Result<Self, NoSignature> {
        let parts: Vec<&str> = text.split('.').collect();
        let [size, modified, changed, inode] = parts[..] else {
            return Err(NoSignature);
        };
        Ok(Self {
            size: size.parse().map_err(|_| NoSignature)?,
            modified: modified.parse().map_err(|_| NoSignature)?,
            changed: changed.parse().map_err(|_| NoSignature)?,
            inode: inode.parse().map_err(|_| NoSignature)?,
        })
    }
}

/// The device and the signature of a folder, which change with its entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(unix), allow(dead_code, reason = "folders have none there"))]
pub(super) struct FolderSignature {
    pub(super) device: u64,
    pub(super) signature: Signature,
}

impl FolderSignature {
    /// Whether any change of the entries after a moment, in nanoseconds since 1970, will show.
    pub(super) fn is_settled(self, read_at: i128) -> bool {
        self.signature.is_settled(read_at)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_read_as_it_is_written() {
        let status = std::fs::metadata(".").unwrap();
        let signature = Signature::of(&status);
        assert_eq!(signature.to_string().parse(), Ok(signature));
        for text in ["", "1.2.3", "1.2.3.4.5", "a.2.3.4", "-1.2.3.4"] {
            assert_eq!(text.parse::<Signature>(), Err(NoSignature));
        }
    }

    #[test]
    fn a_change_within_a_tick_leaves_no_trace() {
        let fine: Signature = "1.5000000001.5000000001.2".parse().unwrap();
        assert!(!fine.is_settled(5_000_000_001 + TICK - 1));
        assert!(fine.is_settled(5_000_000_001 + TICK));
        let coarse: Signature = "1.5000000000.5000000000.2".parse().unwrap();
        assert!(!coarse.is_settled(5_000_000_000 + COARSE_TICK - 1));
        assert!(coarse.is_settled(5_000_000_000 + COARSE_TICK));
    }
}
