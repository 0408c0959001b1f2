//! The memories that are chosen for a deduplication and for a page (spec/memory.md, "Dedupe", "Synthesize").

use hedgerow_engine::Result;

use super::audit::by_age;
use super::selection::{Selection, newest_first};
use super::{Documents, StoredDocument};
use crate::duplicates::{nearly_same, same};
use crate::marks::Validity;
use crate::parallel;
use crate::words::words_of;

/// Memories that say the same, or nearly the same.
#[derive(Debug, Default, PartialEq)]
pub struct Duplicates<'d> {
    /// Each copy, and the oldest memory that says the same.
    pub copies: Vec<(&'d str, &'d str)>,
    /// Each memory that says nearly the same as an older one, with the most similar of these and the likeness.
    pub alike: Vec<(&'d str, &'d str, f64)>,
}

/// The memories that a page is made of.
#[derive(Debug, Default, PartialEq)]
pub struct Sources<'d> {
    /// The memories to quote, the newest first.
    pub sources: Vec<&'d str>,
    /// The memories about the topic that no longer hold.
    pub ended: Vec<(&'d str, Validity)>,
}

impl Documents {
    /// Compare the memories of a selection that hold at a time. `progress(done, total)` counts memories.
    pub fn duplicates(
        &self,
        selection: &Selection,
        now: i64,
        progress: impl FnMut(usize, usize) -> Result<()>,
    ) -> Result<Duplicates<'_>> {
        let holds = |at: &usize| self.holds(&self.files[*at].path, now);
        let mut chosen: Vec<usize> = selection.about(self).into_iter().filter(holds).collect();
        chosen.truncate(selection.limit);
        let chosen: Vec<&StoredDocument> =
            by_age(chosen.iter().map(|at| &self.files[*at]).collect());
        let mut texts = parallel::map(&chosen, |one| words_of(one.body()));
        let path = |at: usize| chosen[at].path.as_str();
        let mut found = Duplicates::default();
        for group in same(&texts) {
            for copy in &group[1..] {
                found.copies.push((path(*copy), path(group[0])));
                texts[*copy].clear();
            }
        }
        let alike = nearly_same(&texts, progress)?;
        let alike = alike
            .iter()
            .map(|one| (path(one.second), path(one.first), one.likeness));
        found.alike = alike.collect();
        Ok(found)
    }

    /// Choose the sources of a page about the topic of a selection at a time: memories that hold and are no
    /// pages. Those that mention the whole topic come first; memories that were `found` fill up the limit.
    pub fn sources(&self, selection: &Selection, found: &[String], now: i64) -> Sources<'_> {
        let about = selection.about(self);
        let holds = |at: &usize| self.holds(&self.files[*at].path, now);
        let is_memory = |at: &usize| !self.files[*at].is_page;
        let (mut chosen, mut ended): (Vec<usize>, Vec<usize>) =
            about.into_iter().filter(is_memory).partition(holds);
        chosen.truncate(selection.limit);
        ended.truncate(selection.limit);
        for path in found {
            let Ok(at) = self.files.binary_search_by(|one| one.path.cmp(path)) else {
                continue;
            };
            let fits = chosen.len() < selection.limit && !chosen.contains(&at);
            if fits && is_memory(&at) && holds(&at) && selection.is_recent(&self.files[at]) {
                chosen.push(at);
            }
        }
        let path = |at: usize| self.files[at].path.as_str();
        Sources {
            sources: newest_first(self, chosen).into_iter().map(path).collect(),
            ended: ended
                .into_iter()
                .map(|at| (path(at), self.validity(path(at), now)))
                .collect(),
        }
    }
}
