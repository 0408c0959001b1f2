//! Rankings of nodes: the seeds of the algorithms, and how their results are blended, cut and
//! sorted.

use super::nodes::Nodes;
use hedgerow_engine::error::Result;
use hedgerow_engine::interrupt::{self, CancelTicker};
use hedgerow_engine::top_k;

/// A slot and its score.
pub type SlotScore = (u32, f64);

/// The options of all algorithms of the graph.
#[derive(Debug, Clone, PartialEq)]
pub struct Output {
    /// Whether seeds are among the results.
    pub keep_seeds: bool,
    /// The most other results; None for any number.
    pub limit: Option<usize>,
    /// The weight of the result against the scores of the seeds: from 0 to 1.
    pub mix: f64,
}

/// How much of a ranking is wanted: its first nodes, or None for all.
pub type ResultLimit = Option<usize>;

/// The seeds in their order, with scores over the best, so that results do not depend on their
/// scale. Nodes that score 0 are not seeds.
pub fn normalised(input: &[SlotScore]) -> Vec<SlotScore> {
    let best = input.iter().map(|(_, score)| *score).fold(0.0, f64::max);
    let seeds = input.iter().filter(|(_, score)| *score > 0.0);
    seeds.map(|(slot, score)| (*slot, score / best)).collect()
}

/// Return the seeds in the order of slots.
pub(super) fn by_slot(seeds: &[SlotScore]) -> Vec<SlotScore> {
    let mut seeds = seeds.to_vec();
    seeds.sort_unstable_by_key(|(slot, _)| *slot);
    seeds
}

/// Blend, cut and order what an algorithm found.
pub(super) fn finish(
    nodes: &Nodes,
    seeds: &[SlotScore],
    mut found: Vec<SlotScore>,
    output: &Output,
    wanted: ResultLimit,
) -> Result<Vec<SlotScore>> {
    interrupt::check()?;
    let seeds = by_slot(seeds);
    let is_seed = |slot: u32| seeds.binary_search_by_key(&slot, |(seed, _)| *seed);
    if output.mix < 1.0 {
        found = mixed(&seeds, found, output.mix)?;
    }
    found.retain(|(slot, score)| *score > 0.0 && (output.keep_seeds || is_seed(*slot).is_err()));
    // Even if all seeds come first, this many have all the others that there may be.
    let most = output.limit.map(|limit| limit.saturating_add(seeds.len()));
    let first = [most, wanted].into_iter().flatten().min();
    sort_first(nodes, &mut found, first)?;
    if let Some(limit) = output.limit {
        let mut others = 0;
        found.retain(|(slot, _)| {
            is_seed(*slot).is_ok() || {
                others += 1;
                others <= limit
            }
        });
    }
    Ok(found)
}

/// `(1 - mix) · seed + mix · result / best result`.
fn mixed(seeds: &[SlotScore], mut found: Vec<SlotScore>, mix: f64) -> Result<Vec<SlotScore>> {
    let best = found.iter().map(|(_, score)| *score).fold(0.0, f64::max);
    for (_, score) in &mut found {
        *score = if best > 0.0 {
            mix * (*score / best)
        } else {
            0.0
        };
    }
    // No slot is in it twice.
    interrupt::sort(&mut found, |one, other| one.0.cmp(&other.0))?;
    let known = found.len();
    let mut pace = CancelTicker::default();
    for (seed, weight) in seeds {
        pace.step(1)?;
        let part = (1.0 - mix) * weight;
        match found[..known].binary_search_by_key(seed, |(slot, _)| *slot) {
            Ok(known) => found[known].1 += part,
            Err(_) => found.push((*seed, part)),
        }
    }
    Ok(found)
}

/// Order by score, best first; scores that are equal to 12 decimals by key.
pub fn sort(nodes: &Nodes, scored: &mut Vec<SlotScore>) -> Result<()> {
    sort_first(nodes, scored, None)
}

/// Sort by score and keep the `first` nodes.
fn sort_first(nodes: &Nodes, scored: &mut Vec<SlotScore>, first: Option<usize>) -> Result<()> {
    // Sort keys are computed once for each node. Scores are finite.
    let mut keyed: Vec<(f64, u32, SlotScore)> = scored
        .iter()
        .map(|(slot, score)| {
            let rounded = -(score * 1e12).round();
            (rounded, nodes.ranks[*slot as usize], (*slot, *score))
        })
        .collect();
    let order = |left: &(f64, u32, SlotScore), right: &(f64, u32, SlotScore)| {
        left.0.total_cmp(&right.0).then(left.1.cmp(&right.1))
    };
    top_k::select(&mut keyed, first.unwrap_or(usize::MAX), order);
    interrupt::sort(&mut keyed, order)?;
    scored.clear();
    scored.extend(keyed.into_iter().map(|(_, _, scored)| scored));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_do_not_depend_on_their_scale() {
        assert_eq!(
            normalised(&[(3, 0.0), (2, 4.0), (1, 1.0)]),
            [(2, 1.0), (1, 0.25)]
        );
        assert_eq!(normalised(&[(3, 0.0)]), []);
    }
}
