//! Words and orders of words that make similar texts say something else (spec/memory.md, "What is the same").

use std::collections::HashMap;
use std::sync::LazyLock;

/// Prefixes that negate a word, in several languages: *disallowed*, *unmöglich*, *niedozwolony*.
const NEGATING_PREFIXES: &str = "a ab anti contra counter de des dis dé dés epä il im in ir mal mis mé miss ne nie \
    non o on s u un без не";

/// Prefixes that are opposites of each other, with the same rest or alone: *include* and *exclude*, *up* and *down*.
const OPPOSITE_PREFIXES: &str = "ac/de as/des at/de aan/af aan/uit an/ab an/aus auf/ab auf/zu ein/aus en/de en/dis \
    en/dé em/dé hyper/hypo im/ex in/de in/ex in/out in/uit in/ut inter/intra macro/micro max/min on/off op/af \
    over/under pre/post up/down ver/ent voor/na vor/nach";

/// Suffixes that are opposites of each other: *useful* and *useless*.
const OPPOSITE_SUFFIXES: &str = "ful/less voll/los vol/loos";

/// Words of which each two say something else in the place of one another.
const OPPOSITES: &str = "above/below accept/reject/refuse/decline add/remove/delete/subtract after/before \
    allow/deny/forbid/prohibit/block/ban allowed/denied/forbidden/prohibited/blocked/banned and/or ascend/descend \
    bad/good begin/end best/worst better/worse big/small buy/sell cheap/expensive cold/hot/warm \
    correct/wrong/incorrect create/delete/destroy day/night dead/alive do/undo/redo dry/wet early/late \
    earlier/later east/west/north/south empty/full enter/leave/exit even/odd fail/pass fail/succeed failed/passed/succeeded \
    failure/success false/true far/near fast/slow fewer/more first/last full/partial greater/less/smaller \
    hard/soft hard/easy hate/love/like heavy/light hide/show high/low higher/lower highest/lowest hire/fire hired/fired \
    increase/reduce increased/reduced keep/discard/drop large/small least/most left/right less/more long/short \
    longer/shorter lose/win lost/won maximal/minimal maximum/minimum may/must/should/shall merge/split \
    minus/plus new/old older/newer older/younger on/off open/close/closed/shut optional/required/mandatory \
    permit/forbid/prohibit permitted/forbidden/prohibited private/public pull/push raise/lower read/write \
    receive/send received/sent right/wrong rise/fall safe/dangerous same/different shallow/deep sooner/later \
    start/stop/end/finish started/stopped/ended/finished strong/weak thick/thin to/from top/bottom \
    up/down upper/lower wide/narrow yes/no young/old \
    alt/neu älter/neuer an/aus auf/zu erlaubt/verboten erste/letzte früh/spät früher/später groß/klein gut/schlecht \
    hoch/niedrig höher/niedriger innen/außen ja/nein kalt/warm/heiß links/rechts mehr/weniger mit/ohne oben/unten offen/geschlossen \
    öffnen/schließen richtig/falsch schnell/langsam stark/schwach und/oder viel/wenig vor/nach vorher/nachher wahr/falsch \
    aan/uit boven/onder eerste/laatste en/of goed/fout/slecht groot/klein hoog/laag ja/nee meer/minder met/zonder \
    oud/nieuw open/dicht/gesloten snel/langzaam sterk/zwak toegestaan/verboden veel/weinig voor/na vroeg/laat waar/onwaar \
    après/avant autorisé/interdit droite/gauche et/ou faux/vrai fermé/ouvert grand/petit haut/bas moins/plus non/oui \
    premier/dernier abierto/cerrado antes/después alto/bajo derecha/izquierda falso/verdadero más/menos \
    permitido/prohibido primero/último";

/// The fewest letters of a word after a prefix: *it* is not the rest of *unit*.
const SHORTEST_REST: usize = 3;
/// The most letters that an ending adds: *allow* and *disallowed*, *possible* and *impossibly*.
const LONGEST_ENDING: usize = 3;

static PREFIXES: LazyLock<Vec<&str>> = LazyLock::new(|| NEGATING_PREFIXES.split(' ').collect());
static PREFIX_PAIRS: LazyLock<Vec<(&str, &str)>> = LazyLock::new(|| pairs(OPPOSITE_PREFIXES));
static SUFFIX_PAIRS: LazyLock<Vec<(&str, &str)>> = LazyLock::new(|| pairs(OPPOSITE_SUFFIXES));
/// The opposites of each word.
static WORDS: LazyLock<HashMap<&str, Vec<&str>>> = LazyLock::new(|| {
    let mut opposites: HashMap<&str, Vec<&str>> = HashMap::new();
    for (one, other) in pairs(OPPOSITES) {
        opposites.entry(one).or_default().push(other);
    }
    opposites
});

/// Each two words of each group, in both orders.
fn pairs(groups: &'static str) -> Vec<(&'static str, &'static str)> {
    let mut pairs = Vec::new();
    for group in groups.split(' ') {
        let words = || group.split('/');
        for one in words() {
            pairs.extend(
                words()
                    .filter(|other| *other != one)
                    .map(|other| (one, other)),
            );
        }
    }
    pairs
}

/// Whether two similar texts say something else nevertheless: their common words have another order, or one text has
/// the opposite of a word of the other in its place.
///
/// Takes time in the product of the lengths between the first and the last difference, divided by 64.
pub fn says_otherwise<W: AsRef<str>>(one: &[W], other: &[W]) -> bool {
    let (one, other) = differing(one, other);
    let (removed, added) = (left_over(&one, &other), left_over(&other, &one));
    let common = one.len() - removed.len();
    are_opposed(&removed, &added) || common > longest_in_order(&one, &other)
}

/// The words between the first and the last difference of two texts.
fn differing<'w, W: AsRef<str>>(one: &'w [W], other: &'w [W]) -> (Vec<&'w str>, Vec<&'w str>) {
    let is_same = |(one, other): &(&W, &W)| one.as_ref() == other.as_ref();
    let start = one.iter().zip(other).take_while(is_same).count();
    let (one, other) = (&one[start..], &other[start..]);
    let both = one.iter().rev().zip(other.iter().rev());
    let end = both.take_while(is_same).count();
    let words = |text: &'w [W]| text[..text.len() - end].iter().map(AsRef::as_ref).collect();
    (words(one), words(other))
}

/// The words that occur more often in one text than in the other, each as often as that.
fn left_over<'w>(one: &[&'w str], other: &[&str]) -> Vec<&'w str> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for word in other {
        *counts.entry(word).or_default() += 1;
    }
    let mut rest = Vec::new();
    for word in one {
        match counts.get_mut(word) {
            Some(count) if *count > 0 => *count -= 1,
            _ => rest.push(*word),
        }
    }
    rest
}

/// The most words that two texts have in common in the same order: Hyyrö's bit-parallel algorithm, with one bit for
/// each word of the first text (<https://doi.org/10.1007/s00224-004-1155-8>).
fn longest_in_order(one: &[&str], other: &[&str]) -> usize {
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, word) in one.iter().enumerate() {
        places.entry(word).or_default().push(at);
    }
    // A zero bit is a word of the longest sequence so far.
    let mut row = vec![u64::MAX; one.len().div_ceil(64)];
    let mut matches = vec![0_u64; row.len()];
    for word in other {
        let Some(places) = places.get(word) else {
            continue;
        };
        for at in places {
            matches[at / 64] |= 1 << (at % 64);
        }
        let mut carry = false;
        for (bits, matches) in row.iter_mut().zip(&mut matches) {
            let hits = *bits & *matches;
            let (sum, first) = bits.overflowing_add(hits);
            let (sum, second) = sum.overflowing_add(u64::from(carry));
            carry = first || second;
            *bits = sum | (*bits & !*matches);
            *matches = 0;
        }
    }
    let is_common = |at: &usize| row[at / 64] & (1 << (at % 64)) == 0;
    (0..one.len()).filter(is_common).count()
}

/// Whether a word of one list is the opposite of a word of the other.
fn are_opposed(one: &[&str], other: &[&str]) -> bool {
    if one.is_empty() || other.is_empty() {
        return false;
    }
    let (first, second) = (ByBeginning::new(one), ByBeginning::new(other));
    one.iter().any(|word| second.has_opposite(word))
        || other.iter().any(|word| first.has_opposite(word))
}

/// Words by their first letters, as many as a rest has at least.
struct ByBeginning<'w>(HashMap<&'w str, Vec<&'w str>>);

impl<'w> ByBeginning<'w> {
    fn new(words: &[&'w str]) -> Self {
        let mut found: HashMap<&str, Vec<&str>> = HashMap::new();
        for word in words {
            found.entry(beginning(word)).or_default().push(word);
        }
        Self(found)
    }

    /// Whether the opposite of a word is one of these. A negated word is that of the word without its prefix, but not
    /// the other way round.
    fn has_opposite(&self, word: &str) -> bool {
        let is_negation = |prefix: &&str| {
            let rest = word.strip_prefix(*prefix);
            rest.is_some_and(|rest| is_long(rest) && self.has(rest))
        };
        let has_prefix = |(prefix, opposite): &(&str, &str)| {
            word.strip_prefix(prefix).is_some_and(|rest| {
                (rest.is_empty() || is_long(rest)) && self.has(&format!("{opposite}{rest}"))
            })
        };
        let has_suffix = |(suffix, opposite): &(&str, &str)| {
            word.strip_suffix(suffix)
                .is_some_and(|rest| self.has(&format!("{rest}{opposite}")))
        };
        let mut opposites = WORDS.get(word).into_iter().flatten();
        opposites.any(|opposite| self.has(opposite))
            || PREFIXES.iter().any(is_negation)
            || PREFIX_PAIRS.iter().any(has_prefix)
            || SUFFIX_PAIRS.iter().any(has_suffix)
    }

    /// Whether a word is one of these, perhaps with another ending.
    fn has(&self, word: &str) -> bool {
        let mut alike = self.0.get(beginning(word)).into_iter().flatten();
        alike.any(|other| is_inflected(word, other))
    }
}

fn beginning(word: &str) -> &str {
    crate::text::head(word, SHORTEST_REST)
}

fn is_long(rest: &str) -> bool {
    rest.chars().nth(SHORTEST_REST - 1).is_some()
}

/// Whether two words are equal but for an ending, such as *possible* and *possibly*. Short words must be equal.
fn is_inflected(one: &str, other: &str) -> bool {
    if one == other {
        return true;
    }
    let lengths = [one, other].map(|word| word.chars().count());
    let (shorter, longer) = (lengths[0].min(lengths[1]), lengths[0].max(lengths[1]));
    let both = one.chars().zip(other.chars());
    let common = both.take_while(|(one, other)| one == other).count();
    common > SHORTEST_REST && common + 1 >= shorter && longer - shorter <= LONGEST_ENDING
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn otherwise(one: &str, other: &str) -> bool {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        says_otherwise(&words(one), &words(other))
    }

    #[test]
    fn opposites_say_something_else() {
        for (one, other) in [
            ("deploys are allowed", "deploys are disallowed"),
            ("the cache is enabled", "the cache is disabled"),
            ("we allow it", "it is disallowed"),
            ("it is possible", "it is impossibly late"),
            ("include the logs", "exclude the logs"),
            ("uploads are fast", "downloads are fast"),
            ("switch it on", "switch it off"),
            ("the input is here", "the output is here"),
            ("das ist möglich", "das ist unmöglich"),
            ("eingeschaltet lassen", "ausgeschaltet lassen"),
            ("dat is mogelijk", "dat is onmogelijk"),
            ("c est activé", "c est désactivé"),
            ("está habilitado", "está deshabilitado"),
            ("dozwolony", "niedozwolony"),
            ("это разрешено", "это неразрешено"),
            ("det är tillåtet", "det är otillåtet"),
            ("a useful one", "a useless one"),
            ("cut before may", "cut after may"),
            ("the result is true", "the result is false"),
            ("users must log in", "users may log in"),
        ] {
            assert!(otherwise(one, other), "{one} | {other}");
            assert!(otherwise(other, one), "{other} | {one}");
        }
    }

    #[test]
    fn other_words_do_not() {
        for (one, other) in [
            ("cut in august", "cut in march"),
            ("we cut the hedge", "we cut the hedge now"),
            ("the hedge is cut", "the hedges are cut"),
            ("a unit of it", "it is of a unit"),
            (
                "allowed or disallowed today",
                "allowed or disallowed tomorrow",
            ),
            ("", ""),
        ] {
            let is_reordered = one.starts_with("a unit");
            assert_eq!(otherwise(one, other), is_reordered, "{one} | {other}");
        }
    }

    #[test]
    fn another_order_says_something_else() {
        for (one, other) in [
            ("ana reports to bob", "bob reports to ana"),
            (
                "the cat chased the dog today",
                "the dog chased the cat yesterday",
            ),
            ("a b c d e", "e a b c d"),
        ] {
            assert!(otherwise(one, other), "{one} | {other}");
        }
        assert!(!otherwise("the cat and the dog", "cat and the dog"));
        assert!(!otherwise("a b a c a", "b a c a"));
    }

    /// The table of Wagner and Fischer.
    fn slow(one: &[&str], other: &[&str]) -> usize {
        let mut table = vec![vec![0; other.len() + 1]; one.len() + 1];
        for i in 0..one.len() {
            for j in 0..other.len() {
                table[i + 1][j + 1] = if one[i] == other[j] {
                    table[i][j] + 1
                } else {
                    table[i][j + 1].max(table[i + 1][j])
                };
            }
        }
        table[one.len()][other.len()]
    }

    proptest! {
        #[test]
        fn bits_count_the_words_in_order(
            one in prop::collection::vec("[a-e]", 0..150), other in prop::collection::vec("[a-e]", 0..150)
        ) {
            let words = |text: &[String]| text.iter().map(String::as_str).collect::<Vec<_>>().join(" ");
            let (one, other) = (words(&one), words(&other));
            let (one, other): (Vec<_>, Vec<_>) = (one.split(' ').collect(), other.split(' ').collect());
            prop_assert_eq!(longest_in_order(&one, &other), slow(&one, &other));
        }
    }
}
