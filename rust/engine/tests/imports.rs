//! The import graph of the crates, read from their sources: imports point down, and no file imports
//! itself through others.
//!
//! `use` declarations and paths count; what only tests compile does not. A name that a module
//! re-exports leads to the file that defines it.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, ItemUse, Meta, Token, UseTree};

/// The layers of each crate, the lowest first: a module uses only lower layers. Modules of one layer do not
/// use each other.
const LAYERS: [(&str, &[&[&str]]); 4] = [
    (
        "engine",
        &[
            &["error", "named", "rule", "sync"],
            &["interrupt", "top_k"],
            &["text", "unit_vector"],
            &["calendar", "static_table"],
            &["query"],
            &["storage"],
            &["chunks"],
            &["bm25", "fuzzy", "sources", "vectors"],
            &["index"],
            &["retrieval"],
            &["rules"],
        ],
    ),
    (
        "graph",
        &[&["schema"], &["graph"], &["agents"], &["pipeline"]],
    ),
    (
        "memory",
        &[
            &["parallel", "skip", "text"],
            &["folder", "times"],
            &["day_format"],
            &["format"],
            &["facts"],
            &["sync"],
            &["edit", "recall"],
            &["review"],
            &["rules"],
        ],
    ),
    (
        "opensearch",
        &[
            &["row_numbers", "token_phrase"],
            &["keyword_query"],
            &["point_in_time"],
            &["reader"],
            &["keywords", "vectors"],
            &["collection"],
        ],
    ),
];

type Module = Vec<String>;

/// A module of a crate: its file, its children and the names that its declarations import.
#[derive(Default)]
struct Scope {
    children: BTreeSet<String>,
    names: BTreeMap<String, Module>,
    globs: Vec<Module>,
    paths: Vec<Module>,
}

struct Crate {
    scopes: BTreeMap<Module, Scope>,
}

fn is_for_tests(attributes: &[Attribute]) -> bool {
    let is_test = |condition: &Meta| match condition {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(all) if all.path.is_ident("all") => all
            .parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)
            .is_ok_and(|all| all.iter().any(|one| one.path().is_ident("test"))),
        _ => false,
    };
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args().is_ok_and(|found| is_test(&found))
    })
}

/// Collects the imports and the paths of one file.
struct Collector<'s> {
    scope: &'s mut Scope,
}

impl Collector<'_> {
    fn import(&mut self, prefix: &Module, tree: &UseTree) {
        let with = |name: String| [prefix.as_slice(), &[name]].concat();
        match tree {
            UseTree::Path(path) => self.import(&with(path.ident.to_string()), &path.tree),
            UseTree::Name(name) if name.ident == "self" => {
                let last = prefix.last().cloned().unwrap_or_default();
                self.bind(last, prefix.clone());
            }
            UseTree::Name(name) => self.bind(name.ident.to_string(), with(name.ident.to_string())),
            UseTree::Rename(name) => {
                self.bind(name.rename.to_string(), with(name.ident.to_string()));
            }
            UseTree::Glob(_) => {
                self.scope.globs.push(prefix.clone());
                self.scope.paths.push(prefix.clone());
            }
            UseTree::Group(group) => group
                .items
                .iter()
                .for_each(|tree| self.import(prefix, tree)),
        }
    }

    fn bind(&mut self, name: String, path: Module) {
        self.scope.paths.push(path.clone());
        self.scope.names.insert(name, path);
    }
}

impl<'ast> Visit<'ast> for Collector<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        let attributes = match item {
            Item::Fn(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            Item::Mod(item) => &item.attrs,
            Item::Struct(item) => &item.attrs,
            Item::Use(item) => &item.attrs,
            _ => return visit::visit_item(self, item),
        };
        if !is_for_tests(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        self.import(&Module::new(), &item.tree);
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        assert!(
            item.content.is_none(),
            "a module in a module: {}",
            item.ident
        );
        self.scope.children.insert(item.ident.to_string());
    }

    // `pub(in path)` says who may import, and imports nothing.
    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names = path
            .segments
            .iter()
            .map(|segment| segment.ident.to_string());
        let names: Module = names.collect();
        if names.len() > 1 {
            self.scope.paths.push(names);
        }
        visit::visit_path(self, path);
    }
}

impl Crate {
    fn read(folder: &Path) -> Self {
        let mut this = Self {
            scopes: BTreeMap::new(),
        };
        this.read_module(&folder.join("lib.rs"), folder, Module::new());
        this
    }

    fn read_module(&mut self, file: &Path, folder: &Path, module: Module) {
        let source = fs::read_to_string(file).unwrap();
        let syntax = syn::parse_file(&source).unwrap();
        let mut scope = Scope::default();
        Collector { scope: &mut scope }.visit_file(&syntax);
        for child in scope.children.clone() {
            let name = [module.as_slice(), std::slice::from_ref(&child)].concat();
            let below = folder.join(&child);
            let alone = folder.join(format!("{child}.rs"));
            let file = if alone.exists() {
                alone
            } else {
                below.join("mod.rs")
            };
            self.read_module(&file, &below, name);
        }
        self.scopes.insert(module, scope);
    }

    /// Return the module that defines a path in `from`; None if it belongs to another crate.
    fn definition(&self, from: &Module, path: &[String], depth: usize) -> Option<Module> {
        let (first, rest) = path.split_first()?;
        let (base, rest) = match first.as_str() {
            "crate" => (Module::new(), rest),
            "self" => (from.clone(), rest),
            "super" => (from[..from.len() - 1].to_vec(), rest),
            name => {
                let scope = &self.scopes[from];
                if scope.children.contains(name) {
                    (from.clone(), path)
                } else {
                    let bound = scope.names.get(name)?;
                    if bound.first().map(String::as_str) == Some(name) || depth == 0 {
                        return None;
                    }
                    let full = [bound.as_slice(), rest].concat();
                    return self.definition(from, &full, depth - 1);
                }
            }
        };
        self.descend(base, rest, depth)
    }

    fn descend(&self, module: Module, path: &[String], depth: usize) -> Option<Module> {
        let Some((name, rest)) = path.split_first() else {
            return Some(module);
        };
        let scope = &self.scopes[&module];
        if name == "super" {
            return self.descend(module[..module.len() - 1].to_vec(), rest, depth);
        }
        if scope.children.contains(name) {
            return self.descend(
                [module.as_slice(), std::slice::from_ref(name)].concat(),
                rest,
                depth,
            );
        }
        if depth > 0 {
            if let Some(bound) = scope.names.get(name) {
                let full = [bound.as_slice(), rest].concat();
                return self.definition(&module, &full, depth - 1);
            }
            let from_globs = scope.globs.iter().find_map(|glob| {
                let from = self.definition(&module, glob, depth - 1)?;
                let found = self.scopes[&from].names.contains_key(name);
                found.then(|| self.descend(from, path, depth - 1)).flatten()
            });
            if from_globs.is_some() {
                return from_globs;
            }
        }
        Some(module)
    }

    /// Return the modules that each module uses.
    fn edges(&self) -> BTreeMap<Module, BTreeSet<Module>> {
        let used = |(module, scope): (&Module, &Scope)| {
            let used = scope.paths.iter();
            let used = used.filter_map(|path| self.definition(module, path, 16));
            // The root of the crate is excluded: it has re-exports and macros.
            let used = used.filter(|used| used != module && !used.is_empty());
            (module.clone(), used.collect())
        };
        self.scopes.iter().map(used).collect()
    }
}

fn crate_named(name: &str) -> Crate {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    Crate::read(&root.join("..").join(name).join("src"))
}

/// Return a cycle through a module, if any.
fn circle(edges: &BTreeMap<Module, BTreeSet<Module>>, start: &Module) -> Option<Vec<String>> {
    let mut came_from: BTreeMap<&Module, &Module> = BTreeMap::new();
    let mut waiting = vec![start];
    while let Some(module) = waiting.pop() {
        for next in &edges[module] {
            if next == start {
                let mut way = vec![start.join("::"), module.join("::")];
                let mut at = module;
                while let Some(before) = came_from.get(at) {
                    way.push(before.join("::"));
                    at = before;
                }
                way.reverse();
                return Some(way);
            }
            if next != start && !came_from.contains_key(next) {
                came_from.insert(next, module);
                waiting.push(next);
            }
        }
    }
    None
}

#[test]
fn no_module_imports_itself_through_others() {
    let mut circles = Vec::new();
    for name in ["engine", "graph", "memory", "opensearch", "python"] {
        let edges = crate_named(name).edges();
        assert!(edges.len() > 8, "{name} has {} modules", edges.len());
        let found = edges.keys().filter_map(|module| circle(&edges, module));
        circles.extend(found.map(|way| format!("{name}: {}", way.join(" > "))));
    }
    assert!(circles.is_empty(), "{}", circles.join("\n"));
}

#[test]
fn modules_use_only_lower_layers() {
    let mut wrong = Vec::new();
    for (name, layers) in LAYERS {
        let layer = |module: &String| {
            layers
                .iter()
                .position(|modules| modules.contains(&module.as_str()))
        };
        for (module, used) in crate_named(name).edges() {
            let Some(top) = module.first() else {
                continue;
            };
            let at = layer(top).unwrap_or_else(|| panic!("{top} is in no layer of {name}"));
            let above = used
                .iter()
                .filter(|used| &used[0] != top && layer(&used[0]) >= Some(at));
            wrong.extend(
                above.map(|used| format!("{name}: {} uses {}", module.join("::"), used.join("::"))),
            );
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_graph_is_read_as_it_is() {
    let edges = crate_named("engine").edges();
    let uses = |module: &str, used: &str| {
        let path = |name: &str| name.split("::").map(str::to_owned).collect::<Module>();
        edges[&path(module)].contains(&path(used))
    };
    // By its own path, by a re-export, and within a folder.
    assert!(uses("chunks::filters::filter", "chunks::chunk"));
    assert!(uses("index::read", "chunks::read"));
    assert!(uses("bm25::snapshot_manager", "storage::cache"));
    assert!(!uses("storage::cache", "bm25::snapshot_manager"));
}
