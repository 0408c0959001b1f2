//! The difference of two texts by lines, as a unified diff (spec/memory.md, "History").

use std::fmt::Write;
use std::ops::Range;

use imara_diff::{Algorithm, Diff, Hunk, InternedInput};

/// The unchanged lines that are shown around a change.
const CONTEXT: u32 = 3;
/// The most lines, of both texts between the first and the last change, that are compared one by one. Where
/// lines repeat, the time grows with the square of their number.
const MOST_LINES: usize = 100_000;

/// Return the unified diff of two texts; empty if they are equal. A missing newline at the end does not count.
///
/// Of many lines between the first and the last change, everything in between counts as replaced.
pub fn unified(old: &str, new: &str, old_name: &str, new_name: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (lines(old).collect(), lines(new).collect());
    let hunks = hunks(&old, &new);
    if hunks.is_empty() {
        return String::new();
    }
    let mut text = format!("--- {old_name}\n+++ {new_name}\n");
    // Changes whose surroundings touch are one.
    for group in hunks.chunk_by(|one, next| next.before.start - one.before.end <= 2 * CONTEXT) {
        write_group(&mut text, group, &old, &new);
    }
    text
}

/// The changed lines, in order.
fn hunks(old: &[&str], new: &[&str]) -> Vec<Hunk> {
    let same = |pairs: &mut dyn Iterator<Item = (&&str, &&str)>| {
        pairs.take_while(|(one, other)| one == other).count()
    };
    let start = same(&mut old.iter().zip(new));
    let (old, new) = (&old[start..], &new[start..]);
    let end = same(&mut old.iter().rev().zip(new.iter().rev()));
    let (old, new) = (&old[..old.len() - end], &new[..new.len() - end]);
    let number = |at: usize| u32::try_from(start + at).unwrap_or(u32::MAX);
    if old.len() + new.len() > MOST_LINES {
        return vec![Hunk {
            before: number(0)..number(old.len()),
            after: number(0)..number(new.len()),
        }];
    }
    let mut input = InternedInput::default();
    input.update_before(old.iter().copied());
    input.update_after(new.iter().copied());
    let mut diff = Diff::compute(Algorithm::Myers, &input);
    diff.postprocess_no_heuristic(&input);
    let moved = |lines: &Range<u32>| number(lines.start as usize)..number(lines.end as usize);
    let hunks = diff.hunks().map(|hunk| Hunk {
        before: moved(&hunk.before),
        after: moved(&hunk.after),
    });
    hunks.collect()
}

/// The lines of a text, without the empty one after the last newline.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let text = text.strip_suffix('\n').unwrap_or(text);
    let count = if text.is_empty() { 0 } else { usize::MAX };
    text.split('\n').take(count)
}

fn write_group(text: &mut String, group: &[Hunk], old: &[&str], new: &[&str]) {
    let (Some(first), Some(last)) = (group.first(), group.last()) else {
        return;
    };
    let length = u32::try_from(old.len()).unwrap_or(u32::MAX);
    let before = CONTEXT.min(first.before.start);
    let after = CONTEXT.min(length - last.before.end);
    let spans = [
        first.before.start - before..last.before.end + after,
        first.after.start - before..last.after.end + after,
    ];
    let [span, new_span] = spans.clone().map(shown);
    let mut line = |mark: &str, line: &str| {
        text.push_str(mark);
        text.push_str(line);
        text.push('\n');
    };
    line("", &format!("@@ -{span} +{new_span} @@"));
    let mut at = spans[0].start;
    let mut parts = Vec::new();
    for hunk in group {
        parts.push((" ", of(old, at..hunk.before.start)));
        parts.push(("-", of(old, hunk.before.clone())));
        parts.push(("+", of(new, hunk.after.clone())));
        at = hunk.before.end;
    }
    parts.push((" ", of(old, at..spans[0].end)));
    for (mark, lines) in parts {
        for one in lines {
            line(mark, one);
        }
    }
}

fn of<'l, 't>(lines: &'l [&'t str], range: Range<u32>) -> &'l [&'t str] {
    lines
        .get(range.start as usize..range.end as usize)
        .unwrap_or_default()
}

/// A range of lines as a diff has it: the first line, from 1, and the count unless it is 1.
fn shown(range: Range<u32>) -> String {
    let mut text = String::new();
    let start = range.start + u32::from(!range.is_empty());
    // Writing to a String cannot fail.
    let _ = match range.len() {
        1 => write!(text, "{start}"),
        count => write!(text, "{start},{count}"),
    };
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn diff(old: &[&str], new: &[&str]) -> String {
        unified(&old.join("\n"), &new.join("\n"), "a", "b")
    }

    /// Apply a diff as `patch` does. None where a line does not match.
    fn applied(old: &[&str], diff: &str) -> Option<Vec<String>> {
        let (mut new, mut at) = (Vec::new(), 0);
        for line in diff.lines().skip(2) {
            if let Some(range) = line.strip_prefix("@@ -") {
                let span = range.split(' ').next()?;
                let (start, count) = span.split_once(',').unwrap_or((span, "1"));
                let start = start.parse::<usize>().ok()? - usize::from(count != "0");
                new.extend(old.get(at..start)?.iter().map(|one| (*one).to_owned()));
                at = start;
            } else if let Some(line) = line.strip_prefix('+') {
                new.push(line.to_owned());
            } else {
                let kept = line.strip_prefix(' ');
                if *old.get(at)? != kept.or(line.strip_prefix('-'))? {
                    return None;
                }
                new.extend(kept.map(str::to_owned));
                at += 1;
            }
        }
        new.extend(old[at..].iter().map(|one| (*one).to_owned()));
        Some(new)
    }

    fn some_lines() -> impl Strategy<Value = Vec<&'static str>> {
        prop::collection::vec(
            prop::sample::select(vec!["a", "b", "c", "-a", "+b", "x y"]),
            0..30,
        )
    }

    proptest! {
        #[test]
        fn a_diff_leads_from_one_text_to_the_other(old in some_lines(), new in some_lines()) {
            let diff = diff(&old, &new);
            prop_assert_eq!(diff.is_empty(), old == new);
            let new: Vec<String> = new.iter().map(|one| (*one).to_owned()).collect();
            prop_assert_eq!(applied(&old, &diff), Some(new), "{}", diff);
        }
    }

    #[test]
    fn a_diff_has_three_lines_around_a_change() {
        let old = ["1", "2", "3", "4", "5", "6", "7", "8", "9"];
        let new = ["1", "2", "3", "4", "x", "6", "7", "8", "9"];
        let expected = "--- a\n+++ b\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n";
        assert_eq!(diff(&old, &new), expected);
        assert_eq!(diff(&[], &["a"]), "--- a\n+++ b\n@@ -0,0 +1 @@\n+a\n");
        assert_eq!(unified("a\n", "a", "a", "b"), "");
        assert_eq!(
            unified("a\n\n", "a\n", "a", "b"),
            "--- a\n+++ b\n@@ -1,2 +1 @@\n a\n-\n"
        );
    }

    #[test]
    fn distant_changes_are_apart() {
        let old: Vec<String> = (0..20).map(|one| one.to_string()).collect();
        let old: Vec<&str> = old.iter().map(String::as_str).collect();
        let changed = |at: usize| {
            let mut new = old.clone();
            new[0] = "x";
            new[at] = "y";
            diff(&old, &new).matches("@@ -").count()
        };
        assert_eq!((changed(7), changed(8)), (1, 2));
    }

    #[test]
    fn few_lines_are_changed() {
        let split = |text: &'static str| text.split("").filter(|one| !one.is_empty());
        let (old, new): (Vec<_>, Vec<_>) = (split("abcabba").collect(), split("cbabac").collect());
        let diff = diff(&old, &new);
        assert_eq!(
            diff.lines()
                .skip(2)
                .filter(|one| one.starts_with(['+', '-']))
                .count(),
            5
        );
    }

    #[test]
    fn hostile_texts_are_compared() {
        let (ab, ba) = (["a", "b"].repeat(20_000), ["b", "a"].repeat(20_000));
        assert!(diff(&ab, &ba).lines().count() < 20);
        assert!(diff(&ab, &["a", "c", "b"].repeat(19_000)).lines().count() > 19_000);
        let many = ["a", "c", "b"].repeat(200_000);
        let replaced = diff(&ab, &many);
        assert!(replaced.starts_with("--- a\n+++ b\n@@ -1,40000 +1,600000 @@\n a\n-b\n"));
    }
}
