//! The message of each problem of a pipeline. The fixtures have only kinds and positions.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use hedgerow_graph::pipeline::{ProblemKind, parse};

const MESSAGES: [(&str, &str); 45] = [
    ("", "the pipeline has no stage; begin with \"all\""),
    ("all | | count", "there is no stage here"),
    ("frob", "there is no stage \"frob\""),
    ("?", "\"?\" is not a stage; begin with the name of one"),
    ("all | spread,hops=1", "there is no parameter \"hops\""),
    ("all | spread,k=1,k=2", "k is given twice"),
    ("all | spread,3", "a parameter is written name=value"),
    ("all | spread,k=", "k has no value"),
    ("type", "this stage needs a value"),
    ("type:", "this stage needs a value"),
    (
        "type episodic",
        "put a colon between this stage and its value",
    ),
    (
        "all 3",
        "only parameters can follow this stage, each after a comma",
    ),
    ("key:a,b", "the value \"b\" is one too many; leave it out"),
    (
        "visited:a,7d,b",
        "the value \"b\" is one too many; leave it out",
    ),
    ("limit:x", "\"x\" is not a whole number from 0"),
    (
        "all | spread,edge_decay=2",
        "\"2\" is not a number from 0 to 1",
    ),
    ("all | spread,norm=in", "\"in\" is not one of none, out"),
    ("type:dream", "there is no type \"dream\""),
    ("select:colour", "there is no column \"colour\""),
    ("sort:size", "there is no field \"size\""),
    ("sort:sizes up", "there is no field \"sizes\""),
    ("weight:>", "there is nothing to compare with"),
    ("weight:x", "\"x\" is not a number to compare with"),
    (
        "age:>x",
        "\"x\" is not a duration; write seconds, or parts such as 7d, 36h or 1d12h",
    ),
    ("visited:a,", "there is no duration here"),
    ("key:[a", "a bracket of this pattern is not closed"),
    (
        "key:[z-a]",
        "the range z-a of this pattern is reversed; write a-z",
    ),
    ("sort:weight up", "the order must be asc or desc"),
    (
        "sort:weight*2*3",
        "a sum is of fields, each alone or times a number",
    ),
    (
        "sort:*2",
        "a sum is of fields, each alone or times a number",
    ),
    (
        "sort:weight+key",
        "a key is not a number and cannot be part of a sum",
    ),
    ("sort:recency", "recency needs the agent: recency(linker)"),
    (
        "sort:priority(x)",
        "in brackets priority takes spectral and nothing else",
    ),
    ("sort:recency(a", "the bracket of this field is not closed"),
    ("sort:weight(a)", "weight takes no value"),
    (
        "community:x",
        "\"x\" is not a community; give its number, or @ and the key of a member",
    ),
    (
        "seed:a^x",
        "a seed's score is a number from 0, after the caret",
    ),
    ("seed:^1", "there is no key here"),
    ("key:a\"b\"", "put the quotes around the whole value"),
    ("key:\"\"", "there is no value here"),
    ("key:\"a", "this quote is not closed"),
    ("!all", "only a filter can be negated, and only once"),
    ("all | seed:a", "seed makes a set and can only be first"),
    ("count | limit:1", "count can only be last"),
    (
        "spread",
        "there is nothing to begin with; put seed: or search: before it",
    ),
];

#[test]
fn every_problem_says_what_is_wrong() {
    let long = "a".repeat(4097);
    let many = ["all"; 33].join("|");
    let limits = [
        (
            long.as_str(),
            "the pipeline has 4097 bytes of UTF-8 and the limit is 4096; shorten it",
        ),
        (
            many.as_str(),
            "the pipeline has 33 stages and the limit is 32; shorten it",
        ),
    ];
    let terms = parse("all", &["oak".to_owned()], &[]).unwrap_err();
    assert_eq!(
        terms.sentence,
        "terms make a set, and so does this; leave one of them out"
    );
    let mut met = vec![terms.kind];
    for (text, expected) in MESSAGES.into_iter().chain(limits) {
        let problem = parse(text, &[], &[]).unwrap_err();
        let (sentence, known) = match problem.sentence.split_once("; known are ") {
            Some((sentence, known)) => (sentence, known),
            None => (&*problem.sentence, "none"),
        };
        assert_eq!(sentence, expected, "{text}");
        assert!(!known.is_empty(), "{text}");
        met.push(problem.kind);
    }
    let unknown = parse("all | category:dream", &[], &[]).unwrap_err();
    let listed = unknown.sentence.split_once("; known are ").unwrap().1;
    assert!(
        listed.split(", ").is_sorted() && listed.contains(", "),
        "{listed}"
    );
    for kind in ProblemKind::ALL {
        assert!(met.contains(kind), "no text here has the problem {kind:?}");
    }
}
