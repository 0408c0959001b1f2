//! Whether both legs agree on the head (spec/retrieval.md, "Unanimity").

/// Positions compared.
pub const WINDOW: usize = 3;

/// Positions that must agree by default.
pub const DEFAULT_AGREE_MIN: f64 = 2.0;

/// Two legs that found the same head on their own.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Unanimity {
    /// The first ids of the BM25 leg.
    pub ids: Vec<String>,
    /// The number of positions where both legs have the same id.
    pub agreements: usize,
}

/// Compare the first [`WINDOW`] ids of both legs, position by position.
///
/// None when a leg is shorter than that, or fewer than `agree_min` positions agree.
pub fn unanimity<S: AsRef<str>, T: AsRef<str>>(
    bm25: &[S],
    vector: &[T],
    agree_min: f64,
) -> Option<Unanimity> {
    let agreements = agreements(bm25, vector, agree_min, |left, right| {
        left.as_ref() == right.as_ref()
    })?;
    let ids = bm25.iter().take(WINDOW);
    Some(Unanimity {
        ids: ids.map(|id| id.as_ref().to_owned()).collect(),
        agreements,
    })
}

/// Return the number of positions of the head where both legs agree, if that is enough.
pub(super) fn agreements<S, T>(
    bm25: &[S],
    vector: &[T],
    agree_min: f64,
    agree: impl Fn(&S, &T) -> bool,
) -> Option<usize> {
    let (bm25, vector) = (bm25.get(..WINDOW)?, vector.get(..WINDOW)?);
    let positions = bm25.iter().zip(vector);
    let agreements = positions.filter(|(left, right)| agree(left, right)).count();
    // As the specification asks it: a minimum that is not a number refuses nothing.
    #[allow(clippy::cast_precision_loss, reason = "at most WINDOW")]
    if (agreements as f64) < agree_min {
        return None;
    }
    Some(agreements)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_is_a_minimum() {
        let (bm25, vector) = (["a", "b", "c", "d"], ["a", "c", "c"]);
        for (agree_min, expected) in [
            (-1.0, Some(2)),
            (0.0, Some(2)),
            (1.5, Some(2)),
            (2.0, Some(2)),
            (2.000_1, None),
            (f64::INFINITY, None),
            (f64::NAN, Some(2)),
        ] {
            let found = unanimity(&bm25, &vector, agree_min);
            assert_eq!(found.map(|found| found.agreements), expected, "{agree_min}");
        }
    }
}
