//! Merging all parts in the background, while searches go on and writes come.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::slugs::{SlugPart, Slugs};
use crate::error::Result;
use crate::interrupt;
use crate::storage::cache::Cache;
use crate::storage::{Background, NoticeLevel};

/// Begin to merge all parts where they are worn, unless that is under way.
pub(crate) fn merge_when_due(cache: &Arc<Cache<Slugs>>, background: &Background) {
    let is_due = |slugs: &Arc<Slugs>| slugs.changed.is_none() && slugs.is_worn();
    if !cache.newest().is_some_and(|newest| is_due(&newest)) {
        return;
    }
    let mut begun = None;
    cache.replace_newest(|known| {
        is_due(known).then(|| {
            begun = Some(Arc::clone(known));
            known.noting(Some(Vec::new()))
        })
    });
    let Some(before) = begun else {
        return;
    };
    let mut merge = Merge {
        cache: Arc::clone(cache),
        background: background.clone(),
        merged: None,
    };
    background.spawn("slugs-merge", move |connection| {
        // The merged entries are in memory. The connection delays closing and forking.
        merge.end(
            connection.is_some_and(|connection| connection.is_ok()),
            &before,
        );
    });
}

/// A merge under way, which ends when it is dropped, however it ends.
struct Merge {
    cache: Arc<Cache<Slugs>>,
    background: Background,
    merged: Option<SlugPart>,
}

impl Merge {
    /// Merge where that is possible. A merge that is interrupted leaves the parts as they are, and a
    /// later search begins another.
    fn end(&mut self, may_work: bool, before: &Slugs) {
        self.merged = may_work.then(|| before.merged().ok()).flatten();
    }
}

impl Drop for Merge {
    fn drop(&mut self) {
        let merged = self.merged.take();
        if merged.is_none() && std::thread::panicking() {
            let message = "merging the slugs panicked; please report this";
            self.background
                .notices()
                .report(NoticeLevel::Warning, message);
        }
        self.cache.replace_newest(|known| {
            let changed = known.changed.as_ref()?;
            let revised = merged.and_then(|merged| known.made_of(merged, changed).ok());
            Some(revised.unwrap_or_else(|| known.noting(None)))
        });
    }
}

impl Slugs {
    /// Return a copy that records the rows changed from now on, or that records nothing.
    fn noting(&self, changed: Option<Vec<i64>>) -> Self {
        Self {
            changed,
            ..self.clone()
        }
    }

    /// All live entries as one part.
    pub(super) fn merged(&self) -> Result<SlugPart> {
        let mut entries = Vec::new();
        for part in &self.parts {
            interrupt::check()?;
            entries.extend(part.entries());
        }
        SlugPart::of(entries)
    }

    /// This version, made of a part that all was merged into before these rows changed.
    pub(super) fn made_of(&self, mut merged: SlugPart, changed: &[i64]) -> Result<Self> {
        let mut added = Vec::new();
        for row in changed.iter().copied().collect::<BTreeSet<_>>() {
            if let Some(slot) = merged.find(row) {
                merged.delete(slot);
            }
            let now = self.find(row);
            added.extend(now.map(|(part, slot)| self.entry(part, slot).clone()));
        }
        let mut next = Self {
            generation: self.generation,
            parts: vec![merged],
            changed: None,
        };
        next.add(added)?;
        Ok(next)
    }
}
