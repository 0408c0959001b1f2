//! An open folder, whose files are looked up by name.

use std::ffi::OsStr;
use std::fs::DirEntry;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, fstat, open, statat};

use crate::folder::signature::{FolderSignature, Signature};

/// An open folder.
#[derive(Debug)]
pub struct Place(OwnedFd);

/// The entry of a listing: a name.
#[derive(Debug)]
pub struct Listed;

impl Listed {
    pub fn of(_: DirEntry) -> Self {
        Self
    }
}

impl Place {
    pub fn open(folder: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self(open(folder, flags, Mode::empty())?))
    }

    /// The signature of the folder; None on file systems that may not update the times of a
    /// folder.
    pub fn signature(&self) -> Option<FolderSignature> {
        let status = fstat(&self.0).ok().filter(|_| keeps_times(&self.0))?;
        Some(FolderSignature {
            device: number(status.st_dev),
            signature: signature_of(&status),
        })
    }

    /// The signature of a file in the folder; None if it is no regular file.
    pub fn file(&self, name: &OsStr, _: &Listed) -> io::Result<Option<Signature>> {
        let status = statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let is_file = FileType::from_raw_mode(status.st_mode) == FileType::RegularFile;
        Ok(is_file.then(|| signature_of(&status)))
    }
}

/// A number of the system, signed on some systems.
fn number<T: TryInto<u64>>(given: T) -> u64 {
    given.try_into().unwrap_or(0)
}

fn signature_of(status: &Stat) -> Signature {
    Signature::of_times(
        number(status.st_size),
        (status.st_mtime, status.st_mtime_nsec),
        (status.st_ctime, status.st_ctime_nsec),
        number(status.st_ino),
    )
}

/// Whether a folder is on a local file system that updates the times of a folder with its
/// entries.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn keeps_times(folder: &OwnedFd) -> bool {
    let Ok(status) = rustix::fs::fstatfs(folder) else {
        return false;
    };
    // The numbers of statfs(2): ext2 to ext4, XFS, Btrfs, tmpfs, F2FS, ZFS and overlays of these.
    let kind = u32::try_from(status.f_type & 0xffff_ffff);
    kind.is_ok_and(|kind| {
        [
            0xef53,
            0x5846_5342,
            0x9123_683e,
            0x0102_1994,
            0xf2f5_2010,
            0x2fc1_2fc1,
            0x794c_7630,
        ]
        .contains(&kind)
    })
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn keeps_times(_: &OwnedFd) -> bool {
    false
}
