//! Memories with the same text as others, or like them (spec/memory.md, "What is the same").

use std::collections::HashMap;

use hedgerow_engine::Result;

use super::documents::{Documents, StoredDocument};
use super::lint::is_heading;
use super::selection::Selection;
use crate::facts::scope::Scope;
use crate::parallel;
use crate::review::duplicates::{Duplicate, LIKE, copies};
use crate::review::fingerprint::Fingerprint;
use crate::text::trimmed;

/// A memory that has the same text as an older one, or is like it.
#[derive(Debug, Clone, PartialEq)]
pub struct CopiedMemory<'d> {
    /// The path of the memory.
    pub path: &'d str,
    /// The older memory that it is most like, of those that are no copies.
    pub original: &'d str,
    /// The likeness to that memory.
    pub likeness: f64,
    /// The oldest memory with the same text, if there is an older one.
    pub same_as: Option<&'d str>,
}

impl<'d> CopiedMemory<'d> {
    fn of(copy: &Duplicate, files: &[&'d StoredDocument]) -> Self {
        let path = |at: usize| files[at].path.as_str();
        Self {
            path: path(copy.text),
            original: path(copy.original),
            likeness: copy.likeness,
            same_as: copy.same_as.map(path),
        }
    }
}

impl Documents {
    /// Return the copies among the memories of a selection that hold at a time, those of the oldest original first, and
    /// of these the most similar first. A copy has a likeness of `least` or more, by default [`LIKE`].
    ///
    /// `progress(done, total)` counts memories.
    pub fn copies(
        &self,
        selection: &Selection,
        now: i64,
        least: Option<f64>,
        progress: impl FnMut(usize, usize) -> Result<()>,
    ) -> Result<Vec<CopiedMemory<'_>>> {
        let holds = |at: &usize| self.holds(&self.files[*at].path, now);
        let mut chosen: Vec<usize> = selection.about(self).into_iter().filter(holds).collect();
        chosen.truncate(selection.limit);
        let chosen = by_age(chosen.iter().map(|at| &self.files[*at]).collect());
        let mut found = copies_among(&chosen, least.unwrap_or(LIKE), progress)?;
        found.sort_by(|one, other| {
            let by_original = one.original.cmp(&other.original);
            by_original.then(other.likeness.total_cmp(&one.likeness))
        });
        Ok(found
            .iter()
            .map(|copy| CopiedMemory::of(copy, &chosen))
            .collect())
    }

    /// Return which of some new files, by number, would be copies of memories that hold at a time, or of new files
    /// before them.
    pub fn copies_in<'d>(
        &'d self,
        new: &'d [StoredDocument],
        now: i64,
    ) -> Result<Vec<(usize, CopiedMemory<'d>)>> {
        let holding = self.files.iter().filter(|one| self.holds(&one.path, now));
        let mut files = by_age(holding.collect());
        let first_new = files.len();
        files.extend(new);
        let found = copies_among(&files, LIKE, |_, _| Ok(()))?;
        let of_new = found.iter().filter_map(|copy| {
            let number = copy.text.checked_sub(first_new)?;
            Some((number, CopiedMemory::of(copy, &files)))
        });
        Ok(of_new.collect())
    }
}

/// Return the copies among memories from the oldest on. Memories of different scopes are no copies of each other, and
/// those without text other than headings are none.
pub(super) fn copies_among(
    files: &[&StoredDocument],
    least: f64,
    mut progress: impl FnMut(usize, usize) -> Result<()>,
) -> Result<Vec<Duplicate>> {
    let mut texts = parallel::map(files, |one| {
        let has_text = !is_empty(one);
        has_text.then(|| Fingerprint::of(one.body())).flatten()
    });
    let mut scopes: Vec<Vec<usize>> = Vec::new();
    let mut numbers: HashMap<Scope, usize> = HashMap::new();
    for (at, file) in files.iter().enumerate() {
        let scope = Scope::stated(&file.front_matter);
        let number = *numbers.entry(scope).or_insert(scopes.len());
        if number == scopes.len() {
            scopes.push(Vec::new());
        }
        scopes[number].push(at);
    }
    let total = texts.iter().flatten().count();
    let (mut found, mut before) = (Vec::new(), 0);
    for members in scopes {
        let texts: Vec<_> = members.iter().map(|at| texts[*at].take()).collect();
        let count = texts.iter().flatten().count();
        let of_scope = copies(texts, least, |done, _| progress(before + done, total))?;
        found.extend(of_scope.into_iter().map(|copy| Duplicate {
            text: members[copy.text],
            original: members[copy.original],
            same_as: copy.same_as.map(|same| members[same]),
            ..copy
        }));
        before += count;
    }
    Ok(found)
}

/// Documents from the oldest on; those without a time last.
pub(super) fn by_age(mut documents: Vec<&StoredDocument>) -> Vec<&StoredDocument> {
    documents.sort_by_cached_key(|one| {
        let micros = one.time().map(|stated| stated.time.micros);
        (micros.is_none(), micros, one.path.clone())
    });
    documents
}

/// Whether a memory has no text other than headings.
pub(super) fn is_empty(document: &StoredDocument) -> bool {
    let mut lines = document.body().split('\n').map(trimmed);
    lines.all(|line| line.is_empty() || is_heading(line))
}
