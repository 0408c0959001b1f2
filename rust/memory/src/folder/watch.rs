//! Watching a folder, so that a recall need not examine its files.
//!
//! The system reports changes a moment after they are made. A caller that found everything read records the
//! number of changes before its check. While the number is the same, nothing has changed. If the system
//! cannot report, the files must be examined.

use std::path::{Component, Path};
use std::process;

use hedgerow_engine::sync::Arc;
use hedgerow_engine::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use notify::event::ModifyKind;
use notify::{Config, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};

use crate::folder::{Reason, Rules};

/// A watch over a folder with all below it, which ends when it is dropped.
#[derive(Debug)]
pub struct Watch {
    seen: Arc<ReportedEvents>,
    process: u32,
    /// Kept for as long as changes are to be reported.
    _watcher: RecommendedWatcher,
}

/// The events that the system has reported so far.
#[derive(Debug, Default)]
pub(crate) struct ReportedEvents {
    changes: AtomicU64,
    is_lost: AtomicBool,
}

impl ReportedEvents {
    /// Count a change.
    pub fn note_change(&self) {
        self.changes.fetch_add(1, Ordering::SeqCst);
    }

    /// Note that changes may have been missed, for good.
    pub fn note_loss(&self) {
        self.is_lost.store(true, Ordering::SeqCst);
    }

    /// Return the number of changes; None once some may have been missed.
    pub fn changes(&self) -> Option<u64> {
        let is_lost = self.is_lost.load(Ordering::SeqCst);
        (!is_lost).then(|| self.changes.load(Ordering::SeqCst))
    }
}

impl Watch {
    /// Watch a folder for changes of files that the rules take.
    ///
    /// The error is a sentence with the reason for a failure: a network file system, where others
    /// change files unseen, or the system's limit on watches.
    pub fn begin(folder: &Path, rules: Arc<Rules>) -> Result<Self, String> {
        if let Some(kind) = network_of(folder) {
            return Err(format!(
                "it is on a network file system ({kind}), which does not report the changes of others"
            ));
        }
        let folder = folder.canonicalize().map_err(|error| error.to_string())?;
        let seen = Arc::new(ReportedEvents::default());
        let (counted, base) = (Arc::clone(&seen), folder.clone());
        let count = move |event: notify::Result<Event>| match event {
            Ok(event) if event.need_rescan() => counted.note_loss(),
            Ok(event) if is_change(&event, &base, &rules) => counted.note_change(),
            Ok(_) => {}
            Err(_) => counted.note_loss(),
        };
        let config = Config::default().with_follow_symlinks(false);
        let mut watcher = RecommendedWatcher::new(count, config).map_err(|error| why(&error))?;
        let begun = watcher.watch(&folder, RecursiveMode::Recursive);
        begun.map_err(|error| why(&error))?;
        Ok(Self {
            seen,
            process: process::id(),
            _watcher: watcher,
        })
    }

    /// Return the number of changes; None once some may have been missed, as after a fork or more
    /// changes than the system buffers.
    pub fn changes(&self) -> Option<u64> {
        let is_forked = self.process != process::id();
        (!is_forked).then(|| self.seen.changes()).flatten()
    }
}

fn why(error: &notify::Error) -> String {
    match &error.kind {
        notify::ErrorKind::MaxFilesWatch => {
            "the system has no room for more watches (fs.inotify.max_user_watches)".to_owned()
        }
        notify::ErrorKind::Io(error) => crate::skip::why_unreadable(error),
        _ => error.to_string(),
    }
}

/// Whether an event may have changed a file that is read.
fn is_change(event: &Event, base: &Path, rules: &Rules) -> bool {
    if matches!(event.kind, EventKind::Access(_)) {
        return false;
    }
    let is_of_content = matches!(event.kind, EventKind::Modify(ModifyKind::Data(_)));
    event.paths.is_empty()
        || (event.paths.iter()).any(|path| counts(path, base, rules, is_of_content))
}

/// Whether a change of a path counts. A path that is not a file to read may be a folder, unless its content
/// changed.
fn counts(path: &Path, base: &Path, rules: &Rules, is_of_content: bool) -> bool {
    let Ok(below) = path.strip_prefix(base) else {
        return true;
    };
    let names: Option<Vec<&str>> = (below.components())
        .map(|part| match part {
            Component::Normal(name) => name.to_str(),
            _ => None,
        })
        .collect();
    let Some(names) = names.filter(|names| !names.is_empty()) else {
        return true;
    };
    match rules.pass_by(&names.join("/")) {
        None => true,
        Some(Reason::Other) => !is_of_content,
        Some(_) => is_mark_of_tools(names.last()),
    }
}

/// Whether the file marks its folder as made by a tool.
fn is_mark_of_tools(name: Option<&&str>) -> bool {
    name.is_some_and(|name| crate::folder::MARKS_OF_TOOLS.contains(name))
}

/// The kind of network file system that a folder is on; None for one of this machine.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn network_of(folder: &Path) -> Option<&'static str> {
    let status = rustix::fs::statfs(folder).ok()?;
    // The numbers of statfs(2).
    let kind = match u32::try_from(status.f_type & 0xffff_ffff).ok()? {
        0x6969 => "NFS",
        0x517b | 0xff53_4d42 | 0xfe53_4d42 => "SMB",
        0x6573_5546 => "FUSE",
        0x0102_1997 => "9P",
        0x786f_4256 => "VirtualBox",
        0x00c3_6400 => "Ceph",
        0x7461_636f => "OCFS2",
        0x5346_414f => "AFS",
        _ => return None,
    };
    Some(kind)
}

/// Other systems report changes of every file system that they can watch.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn network_of(_: &Path) -> Option<&'static str> {
    None
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use std::fs;
    use std::time::{Duration, Instant};

    fn watch(folder: &Path) -> Watch {
        let rules = Rules::new(vec![".md".to_owned()], ["/agents"], [], None).unwrap();
        Watch::begin(folder, Arc::new(rules)).unwrap()
    }

    /// Whether a change is reported soon.
    fn is_reported(watch: &Watch, change: impl FnOnce()) -> bool {
        let before = watch.changes().unwrap();
        change();
        let end = Instant::now() + Duration::from_millis(500);
        while Instant::now() < end {
            if watch.changes().unwrap() > before {
                return true;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        false
    }

    #[test]
    fn what_is_read_is_reported_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["notes", ".hedgerow", "agents"] {
            fs::create_dir(at(name)).unwrap();
        }
        fs::write(at("notes/a.md"), "x").unwrap();
        fs::write(at("notes/a.txt"), "x").unwrap();
        let watch = watch(folder.path());
        for name in [".hedgerow/index.db", "agents/a.md"] {
            assert!(
                !is_reported(&watch, || fs::write(at(name), "y").unwrap()),
                "{name}"
            );
        }
        assert!(is_reported(&watch, || fs::write(at("notes/a.md"), "y").unwrap()));
        assert!(is_reported(&watch, || fs::rename(at("notes"), at("moved")).unwrap()));
        // A busy machine comes late to watch the folder of the new name.
        let is_reported_at_last = |name: &str| {
            let write = || fs::write(at(name), "y").unwrap();
            (0..20).any(|_| is_reported(&watch, write))
        };
        assert!(is_reported_at_last("moved/b.md"));
        assert!(is_reported(&watch, || fs::create_dir_all(at("new/deep")).unwrap()));
        assert!(is_reported_at_last("new/deep/c.md"));
        assert!(is_reported(&watch, || fs::remove_file(at("moved/a.md")).unwrap()));
        assert!(is_reported(&watch, || fs::remove_dir_all(at("new")).unwrap()));
    }

    #[test]
    fn a_folder_that_is_not_there_cannot_be_watched() {
        let folder = tempfile::tempdir().unwrap();
        let rules = Rules::new(vec![".md".to_owned()], [""; 0], [""; 0], None).unwrap();
        let error = Watch::begin(&folder.path().join("none"), Arc::new(rules)).unwrap_err();
        assert!(error.contains("No such file"), "{error}");
    }
}
