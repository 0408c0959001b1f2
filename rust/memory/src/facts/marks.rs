//! Marks: which memories hold at a time, and why others do not (spec/memory.md, "What holds").

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use hedgerow_engine::calendar::Time;

use super::file::FileFacts;
use super::names::{FileTitles, Names};

/// Why a memory does not hold; the first reason that applies counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// The memory was wrong.
    Retracted,
    /// Another memory replaces it.
    Superseded,
    /// The validity of the memory is over.
    Expired,
    /// The validity of the memory has not begun.
    NotYetValid,
}

impl Why {
    /// The word of the specification.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Retracted => "retracted",
            Self::Superseded => "superseded",
            Self::Expired => "expired",
            Self::NotYetValid => "not_yet_valid",
        }
    }
}

/// Whether a memory holds at a time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Validity {
    /// Why it does not hold. None if it holds.
    pub why: Option<Why>,
    /// When that began, if it is known.
    pub since: Option<Time>,
    /// The memories that supersede it.
    pub by: Vec<String>,
    /// Why it was retracted.
    pub reason: Option<String>,
    /// The memories it is derived from that have ended.
    pub doubtful: Vec<String>,
    /// When it should have been reviewed, if that is past.
    pub stale_since: Option<Time>,
}

/// Return the rest of the sentence about a memory that several memories supersede.
pub fn several_successors(news: &[&str]) -> String {
    let quoted: Vec<String> = news.iter().map(|path| format!("`{path}`")).collect();
    let listed = quoted.join(", ");
    format!("is superseded by several memories that hold: {listed}; supersede all but one of them")
}

/// The marks of all memories of a root, with the files that they name.
#[derive(Debug, Default)]
pub struct Marks {
    /// The memories that supersede each, without cycles; a name that leads to no file counts too.
    superseded: BTreeMap<usize, Vec<Replacement>>,
    /// Pairs (old, new) of memories whose `supersedes` form a cycle.
    cycles: Vec<(usize, usize)>,
    /// The memories that several supersede, by each of these.
    divided: HashMap<usize, Vec<usize>>,
    /// The files that each is derived from.
    sources: HashMap<usize, Vec<usize>>,
    marked: BTreeSet<usize>,
    /// The names of all files, if a mark needed more than their paths.
    names: Option<Arc<Names>>,
}

/// A memory that supersedes another.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Replacement {
    name: String,
    file: Option<usize>,
}

impl Marks {
    /// The marks of files, which must be in the order of their paths; `marked` are the numbers of files with
    /// marks, and `names` those of the files, if they are known.
    pub fn new<F: AsRef<FileFacts>>(
        files: &[F],
        marked: impl Iterator<Item = usize>,
        names: Option<Arc<Names>>,
    ) -> Self {
        let mut names = Lookup { files, names };
        let marked: BTreeSet<usize> = marked.collect();
        let mut said: BTreeMap<usize, BTreeMap<String, Option<usize>>> = BTreeMap::new();
        let mut sources = HashMap::new();
        for number in marked.iter().copied() {
            let file = files[number].as_ref();
            let Some(marks) = &file.marks else { continue };
            for name in &marks.supersedes {
                if let Some(old) = names.find(name, file)
                    && old != number
                    && file.scope.has(&files[old].as_ref().scope)
                {
                    said.entry(old)
                        .or_default()
                        .insert(file.path.clone(), Some(number));
                }
            }
            for name in &marks.superseded_by {
                let new = names.find(name, file);
                if new != Some(number) {
                    let path = new.map(|new| files[new].as_ref().path.clone());
                    let news = said.entry(number).or_default();
                    news.insert(path.unwrap_or_else(|| name.clone()), new);
                }
            }
            let found = marks.derived_from.iter();
            let found = found.filter_map(|name| names.find(name, file));
            let mut of_file: Vec<usize> = Vec::new();
            for source in found.filter(|source| *source != number) {
                if !of_file.contains(&source) {
                    of_file.push(source);
                }
            }
            if !of_file.is_empty() {
                sources.insert(number, of_file);
            }
        }
        let components = components(&said);
        let (mut superseded, mut cycles) = (BTreeMap::new(), Vec::new());
        for (old, news) in said {
            let is_cycle = |new: usize| {
                let component = components.get(&new);
                component.is_some() && component == components.get(&old)
            };
            let mut kept = Vec::new();
            for (name, file) in news {
                match file.filter(|new| is_cycle(*new)) {
                    Some(new) => cycles.push((old, new)),
                    None => kept.push(Replacement { name, file }),
                }
            }
            if !kept.is_empty() {
                superseded.insert(old, kept);
            }
        }
        let mut divided: HashMap<usize, Vec<usize>> = HashMap::new();
        for (old, news) in superseded.iter().filter(|(_, news)| news.len() > 1) {
            for new in news.iter().filter_map(|new: &Replacement| new.file) {
                divided.entry(new).or_default().push(*old);
            }
        }
        Self {
            superseded,
            cycles,
            divided,
            sources,
            marked,
            names: names.names,
        }
    }

    /// The names of all files; None if no mark needed more than their paths.
    pub fn names(&self) -> Option<&Arc<Names>> {
        self.names.as_ref()
    }

    /// The memories that one supersedes and others supersede too, in the order of their paths.
    pub fn divided_by(&self, number: usize) -> &[usize] {
        self.divided.get(&number).map_or(&[], |olds| olds)
    }

    /// Return the memories that supersede one, by path or by a name that leads to no file. Cycles do not
    /// count.
    pub fn superseding(&self, number: usize) -> Vec<&str> {
        let news = self.superseded.get(&number).into_iter().flatten();
        news.map(|new| &*new.name).collect()
    }

    /// The memories that supersede each other in a cycle, as (old, new), in the order of paths.
    pub fn cycles(&self) -> &[(usize, usize)] {
        &self.cycles
    }

    /// The files whose validity can be another than [`Validity::default`] at some time.
    pub fn concerned(&self) -> impl Iterator<Item = usize> + '_ {
        self.marked
            .union(&self.replaced())
            .copied()
            .collect::<Vec<_>>()
            .into_iter()
    }

    fn replaced(&self) -> BTreeSet<usize> {
        self.superseded.keys().copied().collect()
    }

    /// Whether a memory holds at a time, in microseconds. With `was_known`, a memory without `valid_from`
    /// holds from its own time on.
    pub fn at<F: AsRef<FileFacts>>(
        &self,
        files: &[F],
        number: usize,
        time: i64,
        was_known: bool,
    ) -> Validity {
        let ended = self.ended(files, number, time);
        let mut validity = ended
            .or_else(|| not_begun(files[number].as_ref(), time, was_known))
            .unwrap_or_default();
        validity.doubtful = self.doubtful(files, number, time);
        let marks = files[number].as_ref().marks.as_ref();
        let stale = marks.and_then(|marks| marks.stale_after);
        validity.stale_since = stale.filter(|stale| stale.micros < time);
        validity
    }

    /// Why a memory does not hold at a time. None if it holds. Quicker than [`Self::at`].
    pub fn why_not<F: AsRef<FileFacts>>(
        &self,
        files: &[F],
        number: usize,
        time: i64,
        was_known: bool,
    ) -> Option<Why> {
        let ended = self.ended(files, number, time);
        let found = ended.or_else(|| not_begun(files[number].as_ref(), time, was_known));
        found.and_then(|validity| validity.why)
    }

    fn ended<F: AsRef<FileFacts>>(
        &self,
        files: &[F],
        number: usize,
        time: i64,
    ) -> Option<Validity> {
        let marks = files[number].as_ref().marks.as_ref();
        let begun = |since: Option<Time>| since.is_none_or(|since| since.micros <= time);
        if let Some(marks) = marks
            && marks.is_retracted
            && begun(marks.retracted_since)
        {
            return Some(Validity {
                why: Some(Why::Retracted),
                since: marks.retracted_since,
                reason: marks.reason.clone(),
                ..Validity::default()
            });
        }
        let news = self.superseded.get(&number).into_iter().flatten();
        let news = news.map(|new| (new, new.file.and_then(|file| files[file].as_ref().begins())));
        let news: Vec<_> = news.filter(|(_, since)| begun(*since)).collect();
        if !news.is_empty() {
            return Some(Validity {
                why: Some(Why::Superseded),
                since: news.iter().filter_map(|(_, since)| *since).min(),
                by: news.iter().map(|(new, _)| new.name.clone()).collect(),
                ..Validity::default()
            });
        }
        let until = marks?.until.filter(|until| until.micros < time)?;
        Some(Validity {
            why: Some(Why::Expired),
            since: Some(until),
            ..Validity::default()
        })
    }

    /// Return the memories that have ended and from which one is derived, through any number of
    /// steps.
    fn doubtful<F: AsRef<FileFacts>>(&self, files: &[F], number: usize, time: i64) -> Vec<String> {
        let (mut seen, mut waiting) = (HashSet::from([number]), vec![number]);
        while let Some(file) = waiting.pop() {
            let sources = self.sources.get(&file).into_iter().flatten();
            waiting.extend(sources.filter(|source| seen.insert(**source)));
        }
        seen.remove(&number);
        let mut ended: Vec<usize> = seen.into_iter().collect();
        ended.retain(|file| self.ended(files, *file, time).is_some());
        ended.sort_unstable();
        let paths = ended.iter().map(|file| files[*file].as_ref().path.clone());
        paths.collect()
    }
}

fn not_begun(file: &FileFacts, time: i64, was_known: bool) -> Option<Validity> {
    let stated = file.marks.as_ref().and_then(|marks| marks.from);
    let own = file.time.map(|stated| stated.time).filter(|_| was_known);
    let start = stated.or(own).filter(|start| start.micros > time)?;
    Some(Validity {
        why: Some(Why::NotYetValid),
        since: Some(start),
        ..Validity::default()
    })
}

impl FileFacts {
    /// From when the memory supersedes another. None if it has no time.
    fn begins(&self) -> Option<Time> {
        let from = self.marks.as_ref().and_then(|marks| marks.from);
        from.or(self.time.map(|stated| stated.time))
    }
}

/// Finds the files that names mean. All names are read only for a name that is not a path.
struct Lookup<'f, F> {
    files: &'f [F],
    names: Option<Arc<Names>>,
}

impl<F: AsRef<FileFacts>> Lookup<'_, F> {
    fn find(&mut self, name: &str, source: &FileFacts) -> Option<usize> {
        let files = self.files;
        let of_path = |path: &str| {
            let found = position_of(files, path);
            found.filter(|found| source.scope.is_comparable(&files[*found].as_ref().scope))
        };
        if let Some(found) = of_path(name).or_else(|| of_path(&format!("{name}.md"))) {
            return Some(found);
        }
        let names = self
            .names
            .get_or_insert_with(|| Arc::new(Names::new(files.iter().map(titles_of))));
        of_path(names.find_among(name, false, &source.path, |path| of_path(path).is_some())?)
    }
}

/// The number of the file of a path among files in the order of their paths.
pub(crate) fn position_of<F: AsRef<FileFacts>>(files: &[F], path: &str) -> Option<usize> {
    let found = files.binary_search_by(|file| file.as_ref().path.as_str().cmp(path));
    found.ok()
}

/// The names of a file.
pub(crate) fn titles_of<F: AsRef<FileFacts>>(file: &F) -> FileTitles<'_> {
    let file = file.as_ref();
    FileTitles {
        path: &file.path,
        title: &file.title,
        aliases: &file.aliases,
    }
}

/// The strongly connected component of each file of a graph, by Tarjan's algorithm without recursion.
fn components(said: &BTreeMap<usize, BTreeMap<String, Option<usize>>>) -> HashMap<usize, usize> {
    let edges = |node: usize| -> Vec<usize> {
        let news = said.get(&node).into_iter().flat_map(BTreeMap::values);
        news.filter_map(|file| *file).collect()
    };
    let mut number: HashMap<usize, usize> = HashMap::new();
    let mut lowest: HashMap<usize, usize> = HashMap::new();
    let mut component: HashMap<usize, usize> = HashMap::new();
    let mut stack = Vec::new();
    for start in said.keys() {
        if number.contains_key(start) {
            continue;
        }
        let mut path = vec![(*start, edges(*start).into_iter())];
        lowest.insert(*start, number.len());
        number.insert(*start, number.len());
        stack.push(*start);
        while let Some((node, left)) = path.last_mut() {
            let node = *node;
            if let Some(to) = left.next() {
                if !number.contains_key(&to) {
                    lowest.insert(to, number.len());
                    number.insert(to, number.len());
                    stack.push(to);
                    path.push((to, edges(to).into_iter()));
                } else if !component.contains_key(&to) {
                    lower(&mut lowest, node, number[&to]);
                }
                continue;
            }
            path.pop();
            if let Some((above, _)) = path.last() {
                let reached = lowest[&node];
                lower(&mut lowest, *above, reached);
            }
            if lowest[&node] == number[&node] {
                let name = component.len();
                while let Some(member) = stack.pop() {
                    component.insert(member, name);
                    if member == node {
                        break;
                    }
                }
            }
        }
    }
    component
}

fn lower(lowest: &mut HashMap<usize, usize>, node: usize, to: usize) {
    lowest
        .entry(node)
        .and_modify(|known| *known = (*known).min(to));
}
