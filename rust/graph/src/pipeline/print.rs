//! A pipeline in its canonical form, which parses to the same pipeline.

use std::fmt::{self, Display, Formatter, Write};

use super::ast::{
    Algorithm, Comparison, Filter, Generator, Pipeline, Search, Sort, SortBy, SortValue, Stage,
    Transform,
};
use super::parse_algorithm::{DIRECTIONS, default};
use super::parse_generator::{MAX_PAIRS, MIN_SIMILARITY, SEARCH_LIMIT};
use super::parse_value::printed_duration;
use super::piece::is_space;
use crate::graph::confluence::Confluence;
use crate::graph::ranking::Output;
use crate::graph::spread::SpreadingActivation;
use hedgerow_engine::retrieval::Mode;

impl Display for Pipeline {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let stages = self.stages.iter().skip(usize::from(self.implicit));
        for (number, stage) in stages.enumerate() {
            if number > 0 {
                f.write_str(" | ")?;
            }
            stage.fmt(f)?;
        }
        Ok(())
    }
}

impl Display for Stage {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Generator(generator) => generator.print(f, self.name()),
            Self::Filter { negated, filter } => {
                if *negated {
                    f.write_char('!')?;
                }
                write!(f, "{}:", self.name())?;
                filter.print(f)
            }
            Self::Transform(transform) => transform.print(f, self.name()),
            Self::Algorithm(algorithm) => algorithm.print(f, self.name()),
        }
    }
}

impl Generator {
    fn print(&self, f: &mut Formatter<'_>, name: &str) -> fmt::Result {
        f.write_str(name)?;
        match self {
            Self::All => Ok(()),
            Self::Match(terms) => {
                let terms = terms.iter().map(|term| quoted(term, ""));
                write!(f, ":{}", terms.collect::<Vec<_>>().join(","))
            }
            Self::Search(search) => search.print(f),
            Self::Seed(seeds) => {
                let seed = |(key, score): &(String, f64)| match score {
                    1.0 => quoted(key, "^"),
                    score => format!("{}^{score}", quoted(key, "^")),
                };
                let seeds = seeds.iter().map(seed);
                write!(f, ":{}", seeds.collect::<Vec<_>>().join(","))
            }
            Self::Neighbors(key, min_strength) => {
                write!(f, ":{}", quoted(key, ""))?;
                param(f, "min_strength", min_strength, &0.0)
            }
            Self::Interference {
                min_similarity,
                max_pairs,
            } => {
                param(f, "min_sim", min_similarity, &MIN_SIMILARITY)?;
                param(f, "max_pairs", max_pairs, &MAX_PAIRS)
            }
        }
    }
}

impl Search {
    fn print(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, ":{}", quoted(&self.query, ""))?;
        param(f, "k", &self.limit, &SEARCH_LIMIT)?;
        param(f, "mode", &self.mode.as_str(), &Mode::Auto.as_str())
    }
}

impl Filter {
    fn print(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Type(kinds) => list(f, kinds.iter().map(String::as_str)),
            Self::Category(categories) => {
                list(f, categories.iter().map(|category| category.as_str()))
            }
            Self::Key(glob) | Self::Provenance(glob) => f.write_str(&quoted(glob.source(), "")),
            Self::Community(id) => id.fmt(f),
            Self::CommunityOf(key) => write!(f, "@{}", quoted(key, "")),
            Self::Number(_, comparison, number) => write!(f, "{comparison}{number}"),
            Self::Age(comparison, seconds) | Self::Created(comparison, seconds) => {
                write!(f, "{comparison}{}", printed_duration(*seconds))
            }
            Self::Visited(agent, within) | Self::NotVisited(agent, within) => {
                f.write_str(&quoted(agent, ""))?;
                match within {
                    Some(seconds) => write!(f, ",{}", printed_duration(*seconds)),
                    None => Ok(()),
                }
            }
        }
    }
}

impl Display for Comparison {
    /// Equality is left out: it is what no operator means.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let sign = Self::ALL.iter().find(|(known, _)| known == self);
        match sign {
            Some((_, sign)) if *self != Self::Equal => f.write_str(sign),
            _ => Ok(()),
        }
    }
}

impl Transform {
    fn print(&self, f: &mut Formatter<'_>, name: &str) -> fmt::Result {
        f.write_str(name)?;
        match self {
            Self::Sort(sort) => sort.print(f),
            Self::Limit(limit) => write!(f, ":{limit}"),
            Self::Rank(search) => search.print(f),
            Self::Count => Ok(()),
            Self::Select(columns) => {
                f.write_char(':')?;
                list(f, columns.iter().map(|column| column.as_str()))
            }
        }
    }
}

impl Sort {
    fn print(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_char(':')?;
        match &self.by {
            SortBy::Key => f.write_str("key")?,
            SortBy::Value(value) => value.fmt(f)?,
            SortBy::Sum(terms) => {
                for (number, (weight, value)) in terms.iter().enumerate() {
                    if number > 0 {
                        f.write_char('+')?;
                    }
                    value.fmt(f)?;
                    // A single field without a weight would be read as a plain order.
                    if terms.len() == 1 || weight.to_bits() != 1.0_f64.to_bits() {
                        write!(f, "*{weight}")?;
                    }
                }
            }
        }
        match (self.ascending, self.by == SortBy::Key) {
            (true, false) => f.write_str(" asc"),
            (false, true) => f.write_str(" desc"),
            _ => Ok(()),
        }
    }
}

impl Display for SortValue {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Score => "score",
            Self::Weight => "weight",
            Self::Timestamp => "timestamp",
            Self::Created => "created",
            Self::ContentLen => "content-len",
            Self::KeyLen => "key-len",
            Self::Degree => "degree",
            Self::Emotion => "emotion",
            Self::Clustering => "cc",
            Self::Isolation => "isolation",
            Self::Priority => "priority",
            Self::SpectralPriority => "priority(spectral)",
            Self::Recency(agent) => return write!(f, "recency({})", quoted(agent, "()+*")),
        })
    }
}

impl Algorithm {
    fn print(&self, f: &mut Formatter<'_>, name: &str) -> fmt::Result {
        f.write_str(name)?;
        match (self, default(name)) {
            (Self::SpreadingActivation(own), Self::SpreadingActivation(usual)) => {
                own.print(f, &usual)
            }
            (Self::Confluence(own), Self::Confluence(usual)) => own.print(f, &usual),
            (
                Self::Spectral { dimensions, output },
                Self::Spectral {
                    dimensions: usual,
                    output: usual_shape,
                },
            ) => {
                param(f, "dims", dimensions, &usual)?;
                output.print(f, &usual_shape)
            }
            (
                Self::Geodesic {
                    dimensions,
                    geodesic,
                },
                Self::Geodesic {
                    dimensions: usual_dimensions,
                    geodesic: usual,
                },
            ) => {
                param(f, "dims", dimensions, &usual_dimensions)?;
                param(f, "max_path", &geodesic.max_path, &usual.max_path)?;
                param(f, "max_seeds", &geodesic.max_seeds, &usual.max_seeds)?;
                geodesic.output.print(f, &usual.output)
            }
            (
                Self::Manifold {
                    dimensions,
                    direction,
                    output,
                },
                Self::Manifold {
                    dimensions: usual,
                    output: usual_shape,
                    ..
                },
            ) => {
                param(f, "dims", dimensions, &usual)?;
                let known = DIRECTIONS.iter().find(|(_, known)| known == direction);
                param(f, "dir", &known.map_or("both", |(word, _)| *word), &"both")?;
                output.print(f, &usual_shape)
            }
            _ => Ok(()),
        }
    }
}

impl SpreadingActivation {
    fn print(&self, f: &mut Formatter<'_>, usual: &Self) -> fmt::Result {
        let norm = if self.share { "out" } else { "none" };
        param(f, "max_hops", &self.max_hops, &usual.max_hops)?;
        param(f, "edge_decay", &self.edge_decay, &usual.edge_decay)?;
        let name = "min_activation";
        param(f, name, &self.min_activation, &usual.min_activation)?;
        param(f, "norm", &norm, &"none")?;
        self.output.print(f, &usual.output)
    }
}

impl Confluence {
    fn print(&self, f: &mut Formatter<'_>, usual: &Self) -> fmt::Result {
        param(f, "max_hops", &self.max_hops, &usual.max_hops)?;
        param(f, "edge_decay", &self.edge_decay, &usual.edge_decay)?;
        param(f, "min_sources", &self.min_sources, &usual.min_sources)?;
        self.output.print(f, &usual.output)
    }
}

impl Output {
    fn print(&self, f: &mut Formatter<'_>, usual: &Self) -> fmt::Result {
        let seeds = if self.keep_seeds { "keep" } else { "drop" };
        param(f, "seeds", &seeds, &"keep")?;
        param(f, "k", &self.limit.unwrap_or(0), &usual.limit.unwrap_or(0))?;
        param(f, "mix", &self.mix, &usual.mix)
    }
}

/// A parameter, unless it has its default.
fn param<T: Display + PartialEq>(
    f: &mut Formatter<'_>,
    name: &str,
    value: &T,
    usual: &T,
) -> fmt::Result {
    if value == usual {
        return Ok(());
    }
    write!(f, ",{name}={value}")
}

fn list<'w>(f: &mut Formatter<'_>, words: impl Iterator<Item = &'w str>) -> fmt::Result {
    f.write_str(&words.collect::<Vec<_>>().join(","))
}

/// A text as a value: in quotes if it is empty or has a character that means something.
fn quoted(text: &str, special: &str) -> String {
    let is_bare =
        |c: char| !is_space(c) && !c.is_control() && !"|,\"".contains(c) && !special.contains(c);
    if !text.is_empty() && text.chars().all(is_bare) {
        return text.to_owned();
    }
    let mut quoted = String::from('"');
    for c in text.chars() {
        if matches!(c, '"' | '\\') {
            quoted.push('\\');
        }
        quoted.push(c);
    }
    quoted.push('"');
    quoted
}
