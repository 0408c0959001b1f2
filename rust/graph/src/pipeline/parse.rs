//! From text to stages (spec/pipeline.md, "Grammar").
//!
//! ```text
//! pipeline  = stage , { "|" , stage } ;               (* 32 stages, 4096 bytes of UTF-8 *)
//! stage     = algorithm | generator | [ "!" ] , filter | transform ;
//! algorithm = ( "spread" | "confluence" | "spectral" | "geodesic" | "manifold" ) , params ;
//! generator = "all" | "interference-pairs" , params | "match:" , list
//!           | "search:" , string , params | "seed:" , seed , { "," , seed }
//!           | "neighbors:" , string , params ;
//! seed      = string , [ "^" , number ] ;
//! filter    = "type:" , list | "category:" , list | "key:" , glob | "provenance:" , glob
//!           | "community:" , ( digits | "@" , string )
//!           | ( "weight" | "key-len" | "content-len" | "degree" | "emotion" | "score" ) , ":" ,
//!             comparison , number
//!           | ( "age" | "created" ) , ":" , comparison , duration
//!           | ( "visited" | "not-visited" ) , ":" , string , [ "," , duration ] ;
//! transform = "sort" , sep , order | "limit" , sep , digits | "select" , sep , list
//!           | "rank:" , string , params | "count" ;
//! sep       = ":" | space ;
//! params    = { "," , name , "=" , value } ;
//! comparison = [ ">" | ">=" | "<" | "<=" | "=" ] ;      (* none means "=" *)
//! order     = term , { "+" , term } , [ space , ( "asc" | "desc" ) ] ;
//! term      = field | field , "*" , number | number , "*" , field ;
//! field     = name , [ "(" , string , ")" ] ;
//! duration  = digits | part , { part } ;                (* bare digits are seconds *)
//! part      = digits , ( "s" | "m" | "h" | "d" | "w" ) ;
//! number    = [ "-" ] , ( digits , [ "." , digits ] | "." , digits ) ;
//! list      = string , { "," , string } ;
//! string    = bare | '"' , { character | '\"' | '\\' } , '"' ;
//! ```
//!
//! White space is space, tab, CR and LF; it means nothing around `|`, `,` and values and after a
//! comparison. Everything is checked before a store is touched, and the first problem is reported.

use super::ast::{Generator, Pipeline, Stage, Transform};
use super::piece::{Piece, hyphened, is_space};
use super::problem::{Problem, ProblemKind};
use super::{parse_algorithm, parse_filter, parse_generator, parse_transform};
use crate::graph::Store;

/// The most bytes in a text.
const MAX_BYTES: usize = 4096;
/// The most stages in a text.
const MAX_STAGES: usize = 32;

/// The kind of a stage, which decides what syntax follows its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Followed by parameters, or by nothing.
    Algorithm,
    BareGenerator,
    BareTransform,
    /// Followed by `:` and values.
    Generator,
    Filter,
    Transform,
    /// Followed by `:` or white space.
    SpacedTransform,
}

const STAGES: [(&str, Kind); 31] = [
    ("spread", Kind::Algorithm),
    ("confluence", Kind::Algorithm),
    ("spectral", Kind::Algorithm),
    ("geodesic", Kind::Algorithm),
    ("manifold", Kind::Algorithm),
    ("all", Kind::BareGenerator),
    ("interference-pairs", Kind::BareGenerator),
    ("count", Kind::BareTransform),
    ("match", Kind::Generator),
    ("search", Kind::Generator),
    ("seed", Kind::Generator),
    ("neighbors", Kind::Generator),
    ("type", Kind::Filter),
    ("category", Kind::Filter),
    ("key", Kind::Filter),
    ("provenance", Kind::Filter),
    ("community", Kind::Filter),
    ("weight", Kind::Filter),
    ("key-len", Kind::Filter),
    ("content-len", Kind::Filter),
    ("degree", Kind::Filter),
    ("emotion", Kind::Filter),
    ("score", Kind::Filter),
    ("age", Kind::Filter),
    ("created", Kind::Filter),
    ("visited", Kind::Filter),
    ("not-visited", Kind::Filter),
    ("rank", Kind::Transform),
    ("sort", Kind::SpacedTransform),
    ("limit", Kind::SpacedTransform),
    ("select", Kind::SpacedTransform),
];

/// Parse a text. `terms`, unless empty, become its first stage, a `match`. `types` are the types of
/// nodes beyond the built-in ones.
pub fn parse(text: &str, terms: &[String], types: &[String]) -> Result<Pipeline, Problem> {
    let whole = Piece::whole(text);
    if text.len() > MAX_BYTES {
        let sentence = format!(
            "the pipeline has {} bytes of UTF-8 and the limit is {MAX_BYTES}; shorten it",
            text.len()
        );
        return Err(whole.problem(ProblemKind::TooLong, sentence));
    }
    parse_up_to(MAX_STAGES, whole, terms, types)
}

/// Parse the canonical form of a pipeline. It may be longer than the text of the caller: terms are
/// part of it, and `.5` is `0.5` in it.
pub fn parse_canonical(text: &str, types: &[String]) -> Result<Pipeline, Problem> {
    parse_up_to(usize::MAX, Piece::whole(text), &[], types)
}

fn parse_up_to(
    max_stages: usize,
    whole: Piece<'_>,
    terms: &[String],
    types: &[String],
) -> Result<Pipeline, Problem> {
    if whole.trimmed().is_empty() {
        let sentence = "the pipeline has no stage; begin with \"all\"";
        return Err(whole.problem(ProblemKind::EmptyPipeline, sentence));
    }
    if let Some((quote, stage)) = whole.unterminated() {
        let sentence = "this quote is not closed";
        let quote = quote.of_stage(stage);
        return Err(quote.problem(ProblemKind::UnterminatedQuote, sentence));
    }
    let pieces = whole.stages();
    if let Some(piece) = pieces.get(max_stages) {
        let sentence = format!(
            "the pipeline has {} stages and the limit is {max_stages}; shorten it",
            pieces.len()
        );
        return Err(piece.problem(ProblemKind::TooLong, sentence));
    }
    let pieces: Vec<Piece<'_>> = pieces.into_iter().map(Piece::trimmed).collect();
    let stages = pieces
        .iter()
        .map(|piece| stage(*piece, types))
        .collect::<Result<Vec<Stage>, Problem>>()?;
    check_places(&pieces, &stages)?;
    begin(pieces.first().copied().unwrap_or(whole), stages, terms)
}

/// Parse a text with the types of a store. The file is read only when the text names a type that
/// the store did not have when its types were last read.
pub fn parse_for(
    store: &Store,
    text: &str,
    terms: &[String],
) -> hedgerow_engine::Result<Result<Pipeline, Problem>> {
    let known = store.known_types();
    let parsed = parse(text, terms, &known);
    match &parsed {
        Err(problem) if problem.kind == ProblemKind::UnknownValue => {
            let types = store.read_types()?;
            Ok(if types == known {
                parsed
            } else {
                parse(text, terms, &types)
            })
        }
        _ => Ok(parsed),
    }
}

/// A generator can only be first, and `count` and `select` can only be last.
fn check_places(pieces: &[Piece<'_>], stages: &[Stage]) -> Result<(), Problem> {
    for (number, (piece, stage)) in pieces.iter().zip(stages).enumerate() {
        if number > 0 && matches!(stage, Stage::Generator(_)) {
            let sentence = format!("{} makes a set and can only be first", stage.name());
            return Err(piece.problem(ProblemKind::GeneratorNotFirst, sentence));
        }
        let shows = matches!(
            stage,
            Stage::Transform(Transform::Count | Transform::Select(_))
        );
        if shows && number + 1 < stages.len() {
            let sentence = format!("{} can only be last", stage.name());
            return Err(piece.problem(ProblemKind::NotTerminal, sentence));
        }
    }
    Ok(())
}

/// Put a generator before stages that have none.
fn begin(first: Piece<'_>, mut stages: Vec<Stage>, terms: &[String]) -> Result<Pipeline, Problem> {
    let terms: Vec<String> = terms
        .iter()
        .filter(|term| !term.trim().is_empty())
        .cloned()
        .collect();
    let implicit = match stages.first() {
        Some(Stage::Generator(_)) if !terms.is_empty() => {
            let sentence = "terms make a set, and so does this; leave one of them out";
            return Err(first.problem(ProblemKind::AmbiguousInput, sentence));
        }
        Some(Stage::Generator(_)) => false,
        _ if !terms.is_empty() => {
            stages.insert(0, Stage::Generator(Generator::Match(terms)));
            false
        }
        Some(Stage::Algorithm(_)) => {
            let sentence = "there is nothing to begin with; put seed: or search: before it";
            return Err(first.problem(ProblemKind::NoSeeds, sentence));
        }
        _ => {
            stages.insert(0, Stage::Generator(Generator::All));
            true
        }
    };
    Ok(Pipeline { stages, implicit })
}

fn stage(piece: Piece<'_>, types: &[String]) -> Result<Stage, Problem> {
    if piece.is_empty() {
        let sentence = "there is no stage here";
        return Err(piece.problem(ProblemKind::EmptyStage, sentence));
    }
    let negated = piece.str().starts_with('!');
    let inner = piece.split_at(usize::from(negated)).1.trimmed();
    if negated && inner.str().starts_with('!') {
        return Err(not_negatable(piece));
    }
    let (name, rest) = inner.split_at(head(inner.str()));
    if name.is_empty() {
        let sentence = format!(
            "{:?} is not a stage; begin with the name of one",
            inner.str()
        );
        return Err(inner.problem(ProblemKind::BadSyntax, sentence));
    }
    let Some((name, kind)) = STAGES.iter().find(|(known, _)| *known == name.str()) else {
        let known = STAGES.iter().map(|(known, _)| *known);
        let word = hyphened(name.str());
        return Err(name.unknown(ProblemKind::UnknownStage, "stage", &word, known));
    };
    if negated && *kind != Kind::Filter {
        return Err(not_negatable(piece));
    }
    match kind {
        Kind::Algorithm => parse_algorithm::algorithm(name, &bare(rest)?).map(Stage::Algorithm),
        Kind::BareGenerator => parse_generator::bare(name, &bare(rest)?).map(Stage::Generator),
        Kind::BareTransform => parse_transform::count(&bare(rest)?).map(Stage::Transform),
        Kind::Generator => parse_generator::generator(name, value(rest)?).map(Stage::Generator),
        Kind::Filter => {
            let filter = parse_filter::filter(name, value(rest)?, types)?;
            Ok(Stage::Filter { negated, filter })
        }
        Kind::Transform => parse_transform::rank(value(rest)?).map(Stage::Transform),
        Kind::SpacedTransform => {
            let value = spaced_value(rest)?;
            parse_transform::spaced(name, value).map(Stage::Transform)
        }
    }
}

fn not_negatable(piece: Piece<'_>) -> Problem {
    let sentence = "only a filter can be negated, and only once";
    piece.problem(ProblemKind::NotNegatable, sentence)
}

/// Return the length in bytes of the name with which a stage begins.
fn head(text: &str) -> usize {
    if !text.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return 0;
    }
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    text.find(|c| !is_name(c)).unwrap_or(text.len())
}

/// Return the arguments after a name that takes no `:`, split at their commas.
fn bare(rest: Piece<'_>) -> Result<Vec<Piece<'_>>, Problem> {
    let trimmed = rest.trimmed();
    if trimmed.is_empty() {
        return Ok(Vec::new());
    }
    if trimmed.str().starts_with(',') {
        return Ok(trimmed.split_at(1).1.split(false, |c| c == ','));
    }
    let sentence = "only parameters can follow this stage, each after a comma";
    Err(rest.problem(ProblemKind::BadSyntax, sentence))
}

/// Return the value after a name and its `:`.
fn value(rest: Piece<'_>) -> Result<Piece<'_>, Problem> {
    if rest.is_empty() {
        return Err(rest.problem(ProblemKind::MissingValue, "this stage needs a value"));
    }
    if !rest.str().starts_with(':') {
        let sentence = "put a colon between this stage and its value";
        return Err(rest.problem(ProblemKind::BadSyntax, sentence));
    }
    needed(rest.split_at(1).1.trimmed())
}

/// Return the value after a name and its `:` or white space.
fn spaced_value(rest: Piece<'_>) -> Result<Piece<'_>, Problem> {
    if rest.str().starts_with(is_space) {
        return needed(rest.trimmed());
    }
    value(rest)
}

fn needed(value: Piece<'_>) -> Result<Piece<'_>, Problem> {
    if value.is_empty() {
        return Err(value.problem(ProblemKind::MissingValue, "this stage needs a value"));
    }
    Ok(value)
}
