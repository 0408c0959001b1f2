//! The memories that are chosen for a page (spec/memory.md, "Synthesize").

use super::documents::Documents;
use super::selection::{Selection, newest_first};
use crate::facts::marks::Validity;

/// The memories that a page is made of.
#[derive(Debug, Default, PartialEq)]
pub struct Sources<'d> {
    /// The memories to quote, the newest first.
    pub sources: Vec<&'d str>,
    /// The memories about the topic that no longer hold.
    pub ended: Vec<(&'d str, Validity)>,
}

impl Documents {
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
