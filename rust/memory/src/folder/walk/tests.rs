use std::time::Duration;

use super::*;

fn rules(exclude: &[&str]) -> Rules {
    Rules::new(vec![".md".to_owned()], exclude.iter().copied(), [], None).unwrap()
}

fn put(root: &Path, names: &[&str]) {
    for name in names {
        let file = root.join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "x").unwrap();
    }
}

fn paths(listing: &Listing) -> Vec<&str> {
    listing.files.iter().map(|(path, _)| &**path).collect()
}

#[test]
fn what_is_not_read_is_counted_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let others = [
        ".hidden.md",
        "a.txt",
        "made/CACHEDIR.TAG",
        "made/x.md",
        "node_modules/x.md",
        "sub/.git/x.md",
        "sub/excluded.md",
    ];
    put(folder.path(), &["sub/deep/c.md", "a.md", "B.MD"]);
    put(folder.path(), &others);
    let listing = list(folder.path(), &rules(&["excluded.md", "gone"]), true);
    assert_eq!(paths(&listing), ["B.MD", "a.md", "sub/deep/c.md"]);
    assert_eq!(listing.passed_by, [1, 2, 0, 2, 1]);
    let named: Vec<&str> = listing.named.iter().map(|one| one.path.as_str()).collect();
    let expected = [
        ".hidden.md",
        "a.txt",
        "made/",
        "node_modules/",
        "sub/.git/",
        "sub/excluded.md",
    ];
    assert_eq!(named, expected);
    assert_eq!(listing.unused, ["gone"]);
}

#[test]
fn many_files_are_looked_at_in_their_order() {
    let folder = tempfile::tempdir().unwrap();
    let names: Vec<String> = (0..SHARE * 3)
        .map(|number| format!("{number:05}.md"))
        .collect();
    put(
        folder.path(),
        &names.iter().map(String::as_str).collect::<Vec<_>>(),
    );
    let listing = list(folder.path(), &rules(&[]), false);
    assert_eq!(paths(&listing), names);
}

/// List a folder, once by known rules and once by new ones: both must agree.
fn listed(folder: &Path, known: &Rules) -> Listing {
    let (listing, anew) = (
        list(folder, known, true),
        list(folder, &rules(&["no*"]), true),
    );
    assert_eq!(format!("{listing:?}"), format!("{anew:?}"));
    listing
}

/// Let every folder be settled: its last change lies in the past.
fn settle() {
    thread::sleep(Duration::from_millis(150));
}

#[test]
fn a_second_listing_sees_every_change() {
    let folder = tempfile::tempdir().unwrap();
    let (at, known) = (|name: &str| folder.path().join(name), rules(&["no*"]));
    put(
        folder.path(),
        &["a.md", "sub/b.md", "sub/deep/c.md", "no.md"],
    );
    settle();
    assert_eq!(
        paths(&listed(folder.path(), &known)),
        ["a.md", "sub/b.md", "sub/deep/c.md"]
    );
    fs::write(at("sub/b.md"), "longer").unwrap();
    assert_eq!(listed(folder.path(), &known).files[1].1.size(), 6);
    fs::remove_file(at("sub/b.md")).unwrap();
    fs::create_dir(at("sub/b.md")).unwrap();
    put(folder.path(), &["new/d.md"]);
    assert_eq!(
        paths(&listed(folder.path(), &known)),
        ["a.md", "new/d.md", "sub/deep/c.md"]
    );
    settle();
    listed(folder.path(), &known);
    fs::rename(at("sub/deep"), at("new/deep")).unwrap();
    put(folder.path(), &["sub/deep/e.md", "new/CACHEDIR.TAG"]);
    assert_eq!(
        paths(&listed(folder.path(), &known)),
        ["a.md", "sub/deep/e.md"]
    );
    settle();
    listed(folder.path(), &known);
    fs::remove_dir_all(at("sub")).unwrap();
    fs::rename(at("new/deep"), at("sub")).unwrap();
    assert_eq!(paths(&listed(folder.path(), &known)), ["a.md", "sub/c.md"]);
}

#[test]
fn rules_serve_several_folders() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    put(one.path(), &["sub/a.md"]);
    put(other.path(), &["sub/b.md"]);
    settle();
    let known = rules(&["no*"]);
    for _ in 0..2 {
        assert_eq!(paths(&listed(one.path(), &known)), ["sub/a.md"]);
        assert_eq!(paths(&listed(other.path(), &known)), ["sub/b.md"]);
    }
}

#[test]
fn joined_listings_have_the_names_of_their_folders() {
    let signature = "1.1.1.1".parse().unwrap();
    let file = |path: &str| (Arc::from(path), signature);
    let one = Listing {
        files: vec![file("a/b.md")],
        skips: vec![Skip::whole(".", "unreadable", "no")],
        unknown: vec![OsString::new(), OsString::from("c/")],
        passed_by: [1, 0, 0, 0, 2],
        ..Listing::default()
    };
    let joined = Listing::joined([("@", &one), ("@@", &one)]);
    let paths: Vec<&str> = joined.files.iter().map(|(path, _)| &**path).collect();
    assert_eq!(paths, ["@/a/b.md", "@@/a/b.md"]);
    assert_eq!(joined.skips[1].path, "@@");
    assert_eq!(joined.unknown[..2], ["@/", "@/c/"]);
    assert_eq!(joined.passed_by, [2, 0, 0, 0, 4]);
}

#[test]
fn a_folder_that_is_not_there_is_unknown() {
    let folder = tempfile::tempdir().unwrap();
    let listing = list(&folder.path().join("none"), &rules(&[]), false);
    assert_eq!(listing.unknown, [OsString::new()]);
    assert_eq!(listing.skips[0].to_string().split(':').next(), Some("."));
}

#[test]
fn a_folder_above_passes_a_file_by() {
    let rules = rules(&["Private", "!p.md"]);
    let reason = |path| rules.pass_by(path);
    assert_eq!(reason("a/b.md"), None);
    assert_eq!(reason("Private/p.md"), Some(Reason::Excluded));
    assert_eq!(reason(".a/b.md"), Some(Reason::Hidden));
    assert_eq!(reason("node_modules/b.md"), Some(Reason::Tools));
    assert_eq!(reason("a/b.txt"), Some(Reason::Other));
}
