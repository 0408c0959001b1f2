//! Properties of every pipeline: a text parses or has one problem, and each stage does what its
//! specification requires.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use hedgerow_graph::graph::{EdgeInput, Node, Store, TYPES, VisitInput};
use hedgerow_graph::pipeline::{Options, Outcome, Pipeline, parse, parse_canonical, run};
use proptest::prelude::*;
use proptest::sample::select;

const NOW: i64 = 1_800_000_000;

/// Pieces of the language, in any order: most of it nonsense.
fn soup() -> impl Strategy<Value = String> {
    let piece = select(vec![
        "all",
        "|",
        " | ",
        "type:",
        "episodic",
        ",",
        "sort",
        ":",
        " ",
        "weight",
        "*",
        "0.5",
        "+",
        "-",
        "limit",
        "10",
        "spread",
        "max_hops",
        "=",
        "\"",
        "\\",
        "!",
        "key:",
        "[",
        "]",
        "?",
        "^",
        "seed:",
        "a",
        "search:",
        "mode",
        "k",
        "(",
        ")",
        "recency",
        "priority",
        ">",
        "<=",
        "7d",
        "not-visited:",
        "community:",
        "@",
        "é",
        "😀",
        "\u{85}",
        "\0",
        "count",
        "select:",
        "degree",
    ]);
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

fn text() -> impl Strategy<Value = String> {
    select(vec![
        "a", "b c", "x,y", "p|q", "\"", "\\", "\\\"", "é", "^", "a*", "(", "@k", "7", "\n",
    ])
    .prop_map(|text| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")))
}

fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("0".to_owned()),
        Just(".5".to_owned()),
        (0_u32..20).prop_map(|n| n.to_string()),
        (0_u32..1000).prop_map(|n| format!("{}.{:03}", n / 1000, n % 1000)),
    ]
}

fn filter() -> impl Strategy<Value = String> {
    let comparison = select(vec!["", ">", ">=", "<", "<=", "="]);
    let field = select(vec![
        "weight",
        "key-len",
        "content-len",
        "degree",
        "emotion",
        "score",
    ]);
    let duration = select(vec!["0", "90", "7d", "1d12h", "3w", "10m"]);
    let filter = prop_oneof![
        select(vec![
            "type:episodic",
            "type:semantic,daily",
            "category:general"
        ])
        .prop_map(str::to_owned),
        (field, comparison.clone(), number()).prop_map(|(f, c, n)| format!("{f}:{c}{n}")),
        (select(vec!["age", "created"]), comparison, duration.clone())
            .prop_map(|(f, c, d)| format!("{f}:{c}{d}")),
        (select(vec!["visited", "not-visited"]), duration).prop_map(|(f, d)| format!("{f}:ag,{d}")),
        select(vec![
            "key:n*",
            "key:?[0-4]*",
            "provenance:m*",
            "community:1",
            "community:@n3"
        ])
        .prop_map(str::to_owned),
        text().prop_map(|text| format!("key:{text}")),
    ];
    (any::<bool>(), filter)
        .prop_map(|(negated, filter)| format!("{}{filter}", if negated { "!" } else { "" }))
}

fn algorithm() -> impl Strategy<Value = String> {
    select(vec![
        "spread",
        "spread,norm=out,k=3",
        "spread,max_hops=9,edge_decay=1,min_activation=0",
        "confluence",
        "confluence,min_sources=3,mix=0.5",
        "spectral",
        "spectral,dims=1,k=2",
        "geodesic",
        "geodesic,seeds=drop",
        "manifold",
        "manifold,dir=rev,mix=.25",
    ])
    .prop_map(str::to_owned)
}

fn transform() -> impl Strategy<Value = String> {
    select(vec![
        "sort:weight",
        "sort:key desc",
        "sort:degree*0.5+recency(\"a b\")",
        "sort:priority asc",
        "sort:priority(spectral)",
        "sort:weight*-1",
        "limit:5",
        "limit:0",
        "sort timestamp",
        "sort:isolation*.7+cc",
        "sort:weight*999999999999999999999999999999999999999999999999999999999999999999999999999999+degree*-2",
        "rank:\"word\",k=3,mode=bm25",
    ])
    .prop_map(str::to_owned)
}

fn generator() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("all".to_owned()),
        (text(), number(), text()).prop_map(|(a, n, b)| format!("seed:{a}^{n},{b},n1,n4")),
        text().prop_map(|text| format!("match:{text}")),
        (text(), number()).prop_map(|(q, k)| format!("search:{q},k=1{}", k.len())),
        Just("neighbors:n3,min_strength=0.2".to_owned()),
        Just("interference-pairs,min_sim=0".to_owned()),
    ]
}

fn pipeline() -> impl Strategy<Value = String> {
    let stage = prop_oneof![filter(), algorithm(), transform()];
    (
        generator(),
        prop::collection::vec(stage, 0..6),
        select(vec!["", "|count", "|select:key,degree"]),
    )
        .prop_map(|(generator, stages, last)| {
            let stages: Vec<String> = std::iter::once(generator).chain(stages).collect();
            format!("{}{last}", stages.join("|"))
        })
}

/// Nodes in a few clumps, of every kind, some alone, one deleted.
fn store() -> Store {
    let store = Store::in_memory().unwrap();
    let nodes: Vec<Node> = (0..30_u8)
        .map(|n| Node {
            key: format!("n{n}"),
            kind: TYPES[usize::from(n % 5)].to_owned(),
            content: format!("word w{} w{}", n % 3, n % 7),
            weight: f64::from(n % 11) / 10.0,
            emotion: f64::from(n % 10),
            updated_at: Some(NOW - i64::from(n) * 50_000),
            last_replayed: if n % 3 == 0 {
                0
            } else {
                NOW - i64::from(n) * 90_000
            },
            embedding: (n % 2 == 0).then(|| vec![f32::from(n % 4), f32::from(n % 5), 1.0]),
            ..Node::default()
        })
        .collect();
    store
        .upsert(&nodes.iter().collect::<Vec<_>>(), NOW)
        .unwrap();
    let edge = |one: u32, other: u32| EdgeInput {
        source: format!("n{one}"),
        target: format!("n{other}"),
        relation: "link".to_owned(),
        strength: f64::from(one * 7 % 10 + 1) / 10.0,
    };
    let inner = (0..24_u32).map(|n| edge(n, n / 6 * 6 + (n + 1) % 6));
    let outer = [(0, 6), (6, 12), (2, 4), (13, 16), (5, 24)].map(|(one, other)| edge(one, other));
    store.link(&inner.chain(outer).collect::<Vec<_>>()).unwrap();
    let visits: Vec<VisitInput> = (0..30_i64)
        .step_by(4)
        .map(|n| VisitInput {
            agent: "ag".to_owned(),
            key: format!("n{n}"),
            at: NOW - n * 60_000,
            outcome: hedgerow_graph::graph::Outcome::Processed,
        })
        .collect();
    store.visit(&visits).unwrap();
    store.delete(&["n7"]).unwrap();
    store
}

fn outcome(store: &Store, text: &str) -> Outcome {
    let options = Options {
        now: NOW,
        ..Options::default()
    };
    run(store, &parse(text, &[], &[]).unwrap(), &options).unwrap()
}

fn quoted_bars(text: &str) -> usize {
    text.matches("p|q").count()
}

fn check_reading(text: &str) -> Result<(), TestCaseError> {
    match parse(text, &[], &[]) {
        Ok(pipeline) => {
            let printed = pipeline.to_string();
            prop_assert_eq!(parse(&printed, &[], &[]), Ok(pipeline), "{}", printed);
        }
        Err(problem) => {
            prop_assert!(problem.start <= problem.end);
            prop_assert!(problem.end <= text.chars().count());
            prop_assert!(!problem.message().is_empty());
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn any_text_parses_or_has_one_problem(text in ".{0,2000}") {
        check_reading(&text)?;
    }

    #[test]
    fn pieces_of_the_language_parse_or_have_one_problem(text in soup()) {
        check_reading(&text)?;
    }

    #[test]
    fn what_is_printed_parses_to_the_same(text in pipeline()) {
        let parsed: Pipeline = parse(&text, &[], &[]).unwrap();
        let printed = parsed.to_string();
        let again = parse(&printed, &[], &[]).unwrap();
        prop_assert_eq!(&again, &parsed);
        prop_assert_eq!(again.to_string(), printed);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn a_negation_is_the_complement(one in filter()) {
        let store = store();
        let all = outcome(&store, "seed:n3^2,n1,n8^0.5,n20,n29 | sort:score").keys;
        let seeds = "seed:n3^2,n1,n8^0.5,n20,n29 | sort:score";
        let filter = one.trim_start_matches('!');
        let passed = outcome(&store, &format!("{seeds} | {filter}")).keys;
        let failed = outcome(&store, &format!("{seeds} | !{filter}")).keys;
        prop_assert_eq!(passed.len() + failed.len(), all.len());
        let passing: Vec<&String> = all.iter().filter(|key| !failed.contains(key)).collect();
        prop_assert_eq!(passing, passed.iter().collect::<Vec<_>>());
    }

    #[test]
    fn filters_commute(one in filter(), other in filter()) {
        let store = store();
        let there = outcome(&store, &format!("all | {one} | {other}"));
        let back = outcome(&store, &format!("all | {other} | {one}"));
        prop_assert_eq!(there.keys, back.keys);
        // On nodes in another order too.
        let there = outcome(&store, &format!("all | sort:weight | {one} | {other}"));
        let back = outcome(&store, &format!("all | sort:weight | {other} | {one}"));
        prop_assert_eq!(there.keys, back.keys);
    }

    #[test]
    fn runs_are_sound_and_the_same_again(text in pipeline()) {
        let (store, twin) = (store(), store());
        let found = outcome(&store, &text);
        prop_assert!(found.scores.iter().all(|score| score.is_finite() && *score >= 0.0));
        let mut keys = found.keys.clone();
        keys.sort_unstable();
        keys.dedup();
        prop_assert_eq!(keys.len(), found.keys.len());
        prop_assert!(!keys.contains(&"n7".to_owned()), "deleted");
        let bits = |outcome: &Outcome| -> Vec<u64> {
            outcome.scores.iter().map(|score| score.to_bits()).collect()
        };
        for other in [outcome(&store, &text), outcome(&twin, &text)] {
            prop_assert_eq!(bits(&other), bits(&found));
            prop_assert_eq!(&other, &found);
        }
        // With `explain`, no stage knows the cut of the next.
        let options = Options { now: NOW, explain: true, ..Options::default() };
        let explained = run(&store, &parse(&text, &[], &[]).unwrap(), &options).unwrap();
        prop_assert_eq!(&explained.keys, &found.keys);
        prop_assert_eq!(explained.stages.len(), text.split('|').count() - quoted_bars(&text));
    }

    #[test]
    fn a_limit_is_a_prefix(text in pipeline(), limit in 0_usize..12) {
        prop_assume!(!text.ends_with("count") && !text.contains("select:"));
        let store = store();
        let all = outcome(&store, &text).keys;
        let cut = outcome(&store, &format!("{text} | limit:{limit}")).keys;
        prop_assert_eq!(&cut[..], &all[..limit.min(all.len())]);
    }
}

#[test]
fn a_canonical_form_parses_however_long_it_became() {
    let halves = format!("sort:{}", ["weight*.5"; 400].join("+"));
    let many = ["limit:9"; 32].join("|");
    let term = ["x".repeat(5000)];
    for (text, terms) in [(&*halves, &[][..]), (&many, &term), ("limit:1", &term)] {
        let parsed = parse(text, terms, &[]).unwrap();
        let printed = parsed.to_string();
        assert!(parse(&printed, &[], &[]).is_err(), "{printed}");
        assert_eq!(parse_canonical(&printed, &[]), Ok(parsed));
    }
}

#[test]
fn what_changes_is_seen() {
    let store = store();
    let count = |text: &str| outcome(&store, text).count;
    assert_eq!(count("all | count"), Some(29));
    let node = |key: &str, weight: f64| Node {
        key: key.to_owned(),
        weight,
        ..Node::default()
    };
    store
        .upsert(
            &[&node("n7", 1.0), &node("a-new", 1.0), &node("n3", 1.0)],
            NOW,
        )
        .unwrap();
    let keys = outcome(&store, "weight:1 | limit:3").keys;
    assert_eq!(keys, ["a-new", "n10", "n21"]);
    assert_eq!(count("weight:1 | count"), Some(5));
    assert_eq!(
        outcome(&store, "neighbors:n7").keys,
        ["n8", "n6"],
        "edges are there again"
    );
    store.delete(&["n8", "a-new"]).unwrap();
    assert_eq!(outcome(&store, "neighbors:n7").keys, ["n6"]);
    assert_eq!(count("key:a-new | count"), Some(0));
    let visit = VisitInput {
        agent: "ag".to_owned(),
        key: "n3".to_owned(),
        at: NOW,
        outcome: hedgerow_graph::graph::Outcome::Modified,
    };
    assert_eq!(count("key:n3 | visited:ag | count"), Some(0));
    store.visit(&[visit]).unwrap();
    assert_eq!(count("key:n3 | visited:ag | count"), Some(1));
}
