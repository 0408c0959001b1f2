//! A disk that has recorded changes, and what is left of them when its power fails.

use std::collections::BTreeMap;

use super::vfs::Change;

/// A random sequence that is the same for the same seed (`SplitMix64`).
#[derive(Clone)]
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Return a number below `limit`, which is at least 1.
    pub fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).unwrap()
    }

    /// Return true in `percent` of 100 cases.
    pub fn has(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn pick<'v, T>(&mut self, values: &'v [T]) -> &'v T {
        &values[self.below(values.len())]
    }
}

/// Changes of one file: the synced content, and the changes since.
#[derive(Default, Clone)]
struct File {
    synced: Vec<u8>,
    pending: Vec<Change>,
}

fn apply(content: &mut Vec<u8>, change: &Change) {
    match change {
        Change::Write { offset, data, .. } => {
            let end = offset + data.len();
            content.resize(content.len().max(end), 0);
            content[*offset..end].copy_from_slice(data);
        }
        Change::Truncate { size, .. } => content.resize(*size, 0),
        _ => {}
    }
}

/// The sector `number` of a content, filled up with zeros.
fn sector_of(content: &[u8], number: usize, sector: usize) -> Vec<u8> {
    let begin = content.len().min(number * sector);
    let end = content.len().min(begin + sector);
    let mut bytes = content[begin..end].to_vec();
    bytes.resize(sector, 0);
    bytes
}

impl File {
    /// What is left after a power loss.
    ///
    /// The system may have written the oldest of the unsynced changes. Of the others each sector is as it was after any of
    /// them, or before: so they are dropped, reordered or torn. The size is any of those that the file had.
    fn left(&self, random: &mut Random, sector: usize) -> Vec<u8> {
        let cut = match random.below(4) {
            0 => 0,
            1 => self.pending.len(),
            _ => random.below(self.pending.len() + 1),
        };
        let (written, open) = self.pending.split_at(cut);
        let mut left = self.synced.clone();
        for change in written {
            apply(&mut left, change);
        }
        let mut now = left.clone();
        let mut sizes = vec![left.len()];
        let mut versions: BTreeMap<usize, Vec<Vec<u8>>> = BTreeMap::new();
        for change in open {
            let (begin, end) = match change {
                Change::Write { offset, data, .. } => (*offset, offset + data.len()),
                Change::Truncate { size, .. } => (*size.min(&now.len()), now.len()),
                _ => continue,
            };
            apply(&mut now, change);
            sizes.push(now.len());
            for number in begin / sector..end.div_ceil(sector) {
                let first = || vec![sector_of(&left, number, sector)];
                let known = versions.entry(number).or_insert_with(first);
                known.push(sector_of(&now, number, sector));
            }
        }
        let newest = *random.pick(&[0, 50, 90, 99, 100]);
        for (number, versions) in versions {
            let version = match versions.last() {
                Some(last) if random.has(newest) => last,
                _ => random.pick(&versions),
            };
            let begin = number * sector;
            left.resize(left.len().max(begin + sector), 0);
            left[begin..begin + sector].copy_from_slice(version);
        }
        let size = match sizes.last() {
            Some(last) if random.has(70) => *last,
            _ => *random.pick(&sizes),
        };
        left.resize(size, 0);
        left
    }
}

/// The names of a folder, with the number of the file of each.
type Names = BTreeMap<String, usize>;

/// Files and names, on the disk and since the last sync.
pub struct Disk {
    files: Vec<File>,
    /// The names as of the last sync of the folder, and after each change since; never empty.
    names: Vec<Names>,
}

impl Disk {
    /// Return a disk without files.
    pub fn empty() -> Self {
        Self {
            files: Vec::new(),
            names: vec![Names::new()],
        }
    }

    /// Make a change.
    pub fn apply(&mut self, change: &Change) {
        let mut names = self.names.last().cloned().unwrap_or_default();
        match change {
            Change::Create { file, name } => {
                self.files.resize_with(file + 1, File::default);
                names.insert(name.clone(), *file);
                self.names.push(names);
            }
            Change::Delete { name, folder } => {
                names.remove(name);
                self.names.push(names);
                self.sync_names(*folder);
            }
            Change::Sync { file, folder } => {
                let file = &mut self.files[*file];
                for change in &file.pending {
                    apply(&mut file.synced, change);
                }
                file.pending.clear();
                self.sync_names(*folder);
            }
            Change::Write { file, .. } | Change::Truncate { file, .. } => {
                self.files[*file].pending.push(change.clone());
            }
        }
    }

    fn sync_names(&mut self, is_synced: bool) {
        if is_synced {
            self.names.drain(..self.names.len().saturating_sub(1));
        }
    }

    /// Return the files that are left after a power loss: name and content. Each unsynced name is that of any of its files,
    /// or missing.
    pub fn left(&self, random: &mut Random, sector: usize) -> BTreeMap<String, Vec<u8>> {
        let mut left = BTreeMap::new();
        let all: Names = self
            .names
            .iter()
            .flatten()
            .map(|(n, f)| (n.clone(), *f))
            .collect();
        for name in all.into_keys() {
            let names = random.pick(&self.names);
            if let Some(file) = names.get(&name) {
                left.insert(name, self.files[*file].left(random, sector));
            }
        }
        left
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn write(offset: usize, byte: u8) -> Change {
        Change::Write {
            file: 0,
            offset,
            data: vec![byte; 1024],
        }
    }

    fn created() -> Disk {
        let mut disk = Disk::empty();
        disk.apply(&Change::Create {
            file: 0,
            name: "a".to_owned(),
        });
        disk
    }

    fn outcomes(disk: &Disk) -> BTreeSet<Option<Vec<u8>>> {
        let mut random = Random(7);
        let outcomes = (0..2000).map(|_| disk.left(&mut random, 512).remove("a"));
        outcomes.collect()
    }

    #[test]
    fn what_is_synced_stays() {
        let mut disk = created();
        disk.apply(&write(0, 1));
        disk.apply(&Change::Sync {
            file: 0,
            folder: true,
        });
        assert_eq!(outcomes(&disk), [Some(vec![1; 1024])].into());
    }

    #[test]
    fn unsynced_writes_are_dropped_torn_and_reordered() {
        let mut disk = created();
        disk.apply(&Change::Sync {
            file: 0,
            folder: true,
        });
        disk.apply(&write(0, 1));
        disk.apply(&write(512, 2));
        let sectors = |bytes: &[u8]| Some(bytes.iter().flat_map(|byte| [*byte; 512]).collect());
        let found = outcomes(&disk);
        for expected in [
            &[][..],
            &[1, 1],
            &[1, 0],
            &[0, 1],
            &[0, 2, 2],
            &[1, 1, 2],
            &[1, 2, 2],
        ] {
            assert!(found.contains(&sectors(expected)), "{expected:?}");
        }
    }

    #[test]
    fn an_unsynced_name_may_be_missing_or_come_back() {
        let mut disk = created();
        assert_eq!(outcomes(&disk), [None, Some(Vec::new())].into());
        disk.apply(&Change::Sync {
            file: 0,
            folder: true,
        });
        for folder in [false, true] {
            disk.apply(&Change::Delete {
                name: "a".to_owned(),
                folder,
            });
            let expected = if folder { 1 } else { 2 };
            assert_eq!(outcomes(&disk).len(), expected);
        }
    }
}
