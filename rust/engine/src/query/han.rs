//! Han characters that are written one for the other: traditional, simplified and Japanese forms.

use std::iter;
use std::sync::LazyLock;

/// The groups of such characters, a line for each.
const TABLE: &str = include_str!("han_variants.txt");

/// Each character with its group, in the order of the characters.
static GROUPS: LazyLock<Vec<(char, &'static str)>> = LazyLock::new(|| {
    let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
    let mut groups: Vec<(char, &str)> = lines
        .flat_map(|group| group.chars().map(move |c| (c, group)))
        .collect();
    groups.sort_unstable();
    groups
});

/// The forms of a character, itself first.
pub(super) fn forms(c: char) -> impl Iterator<Item = char> {
    let at = GROUPS.binary_search_by_key(&c, |(known, _)| *known);
    let group = at.ok().and_then(|at| GROUPS.get(at));
    let others = group.map_or("", |(_, group)| group).chars();
    iter::once(c).chain(others.filter(move |other| *other != c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_has_the_forms_of_its_group() {
        assert_eq!(forms('发').collect::<String>(), "发発發髪髮");
        assert_eq!(forms('貓').collect::<String>(), "貓猫");
        assert_eq!(forms('的').collect::<String>(), "的");
        assert_eq!(forms('a').collect::<String>(), "a");
    }

    #[test]
    fn each_character_is_in_one_group() {
        let twice = GROUPS.windows(2).find(|pair| pair[0].0 == pair[1].0);
        assert_eq!(twice, None);
    }
}
