//! A folder of Windows, whose entries have their status.

use std::ffi::OsStr;
use std::fs::DirEntry;
use std::io;
use std::path::Path;

use crate::folder::signature::{FolderSignature, Signature};

/// The path of a folder. Windows needs no open folder.
#[derive(Debug)]
pub struct Place;

/// The entry of a listing: a name and a status.
#[derive(Debug)]
pub struct Listed(DirEntry);

impl Listed {
    pub fn of(entry: DirEntry) -> Self {
        Self(entry)
    }
}

impl Place {
    #[allow(clippy::unnecessary_wraps, reason = "as on other systems")]
    pub fn open(_: &Path) -> io::Result<Self> {
        Ok(Self)
    }

    #[allow(clippy::unused_self, reason = "as on other systems")]
    pub fn signature(&self) -> Option<FolderSignature> {
        None
    }

    #[allow(clippy::unused_self, reason = "as on other systems")]
    pub fn file(&self, _: &OsStr, listed: &Listed) -> io::Result<Option<Signature>> {
        let status = listed.0.metadata()?;
        Ok(status.is_file().then(|| Signature::of(&status)))
    }
}
