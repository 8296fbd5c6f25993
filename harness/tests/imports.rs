//! No file depends on itself through others: the shared part of two files is in a third one. A `mod.rs` or `lib.rs`
//! that only declares and exports its children's items does not count as a file. An import through it counts as one of
//! the child.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

type Module = Vec<String>;

/// The sources of one crate.
type Tree = BTreeMap<Module, File>;

#[derive(Debug, Default)]
struct File {
    folder: PathBuf,
    /// Paths that it names in imports or uses.
    uses: Vec<Vec<String>>,
    /// Its exports from other files, by name.
    exports: BTreeMap<String, Vec<String>>,
}

/// The forbidden circles among a crate's files. Where `pairs` says so, two files of one folder may depend on each
/// other.
fn wrong(tree: &Tree, pairs: bool) -> Vec<String> {
    let edges: BTreeMap<&Module, BTreeSet<Module>> =
        tree.iter().map(|(at, file)| (at, targets(tree, at, file))).collect();
    let reached: BTreeMap<&Module, BTreeSet<&Module>> = edges.keys().map(|at| (*at, reach(&edges, at))).collect();
    let circle = |at: &Module| {
        let members = reached[at].iter().copied().filter(|other| reached[*other].contains(at));
        members.collect::<BTreeSet<_>>()
    };
    let circles: BTreeSet<_> = edges.keys().map(|at| circle(at)).filter(|circle| !circle.is_empty()).collect();
    let folders = |circle: &BTreeSet<&Module>| circle.iter().map(|at| &tree[*at].folder).collect::<BTreeSet<_>>().len();
    let bad = circles.iter().filter(|circle| !pairs || circle.len() > 2 || folders(circle) > 1);
    bad.map(|circle| circle.iter().map(|at| at.join("::")).collect::<Vec<_>>().join(", ")).collect()
}

fn reach<'a>(edges: &'a BTreeMap<&'a Module, BTreeSet<Module>>, at: &Module) -> BTreeSet<&'a Module> {
    let mut seen = BTreeSet::new();
    let mut next: Vec<&Module> = edges[at].iter().collect();
    while let Some(module) = next.pop() {
        if seen.insert(module) {
            next.extend(&edges[module]);
        }
    }
    seen
}

fn read(root: &Path) -> Tree {
    let mut tree = Tree::new();
    let mut folders = vec![(root.to_owned(), Module::new())];
    while let Some((folder, at)) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let mut below = at.clone();
            let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
            below.extend(Some(name).filter(|name| !["mod", "lib"].contains(&name.as_str())));
            if path.is_dir() {
                folders.push((path, below));
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(path).expect("a source");
                tree.insert(below, File { folder: folder.clone(), ..parse(&text) });
            }
        }
    }
    tree
}

fn parse(text: &str) -> File {
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    let code: String = text.lines().map(|line| line.split("//").next().unwrap_or_default().to_owned() + "\n").collect();
    let mut file = File::default();
    for statement in code.split(';') {
        let first = |at: &usize| statement[..*at].rsplit('\n').next().unwrap_or_default().trim();
        let import =
            statement.match_indices("use ").map(|(at, _)| at).find(|at| ["", "pub"].contains(&keyword(first(at))));
        let (before, tree) = import.map_or((statement, ""), |at| (&statement[..at], &statement[at + 4..]));
        let mut paths = Vec::new();
        expand(tree, &[], &mut paths);
        if import.is_some_and(|at| first(&at).is_empty()) {
            file.uses.extend(paths);
        } else {
            file.exports.extend(paths.into_iter().filter_map(|path| Some((path.last()?.clone(), path))));
        }
        file.uses.extend(inline(before));
    }
    file
}

/// `pub` of `pub(crate)`.
fn keyword(text: &str) -> &str {
    text.split('(').next().unwrap_or_default()
}

/// The paths named inline in code.
fn inline(code: &str) -> impl Iterator<Item = Vec<String>> {
    let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let words = code.split(move |c| !is_path(c));
    words.filter(|word| word.starts_with("crate::") || word.starts_with("super::")).map(parts)
}

fn parts(path: &str) -> Vec<String> {
    path.split("::").map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// The paths of a use tree.
fn expand(tree: &str, before: &[String], paths: &mut Vec<Vec<String>>) {
    let (head, inner) = tree.split_once('{').map_or((tree, None), |(head, rest)| (head, Some(rest)));
    let path = [before, &parts(head.split(" as ").next().unwrap_or_default())].concat();
    let Some(inner) = inner else {
        paths.extend((path.len() > before.len()).then_some(path));
        return;
    };
    let (mut depth, mut from) = (0, 0);
    for (at, c) in inner.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                expand(&inner[from..at], &path, paths);
                from = at + 1;
            }
            _ => {}
        }
    }
}

fn targets(tree: &Tree, at: &Module, file: &File) -> BTreeSet<Module> {
    let mut found = BTreeSet::new();
    for path in &file.uses {
        let Some(module) = resolve(tree, at, path) else { continue };
        if path.last().is_some_and(|last| last == "*") {
            found.extend(tree[&module].exports.values().filter_map(|path| resolve(tree, &module, path)));
        }
        found.insert(module);
    }
    found.remove(at);
    found
}

/// The file that defines the target of a path, if it is one of these.
fn resolve(tree: &Tree, at: &Module, path: &[String]) -> Option<Module> {
    let up = path.iter().take_while(|part| *part == "super").count();
    let whole: Module = match path.first()?.as_str() {
        "crate" => path[1..].to_vec(),
        "super" => [&at[..at.len().checked_sub(up)?], &path[up..]].concat(),
        "self" => [at, &path[1..]].concat(),
        child if tree.contains_key(&[at.as_slice(), &[child.to_owned()]].concat()) => [at, path].concat(),
        _ => return None,
    };
    let known = (0..=whole.len()).rev().find(|&n| tree.contains_key(&whole[..n]))?;
    let module = whole[..known].to_vec();
    match whole.get(known).and_then(|name| tree[&module].exports.get(name)) {
        Some(exported) => resolve(tree, &module, exported).or(Some(module)),
        None => Some(module),
    }
}

#[test]
fn no_file_imports_itself_by_way_of_others() {
    let mut found = Vec::new();
    let roots =
        [("reports/src", false), ("reports/record/src", false), ("workloads/src", true), ("harness/src", false)];
    for (root, pairs) in roots {
        let tree = read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(root));
        let named: usize = tree.values().map(|file| file.uses.len()).sum();
        assert!(tree.len() > 10 && named > tree.len(), "{root}: the imports are found");
        found.extend(wrong(&tree, pairs).into_iter().map(|circle| format!("{root}: {circle}")));
    }
    assert!(found.is_empty(), "files that reach themselves:\n{}", found.join("\n"));
}

/// The circles of an artificial crate of these files.
fn check(files: &[(&str, &str)], pairs: bool, expected: &[&str]) {
    let file = |(path, text): &(&str, &str)| {
        let folder = Path::new(path).parent().expect("a folder").to_owned();
        let module = path.split('/').filter(|part| !["mod", "lib"].contains(part)).map(str::to_owned).collect();
        (module, File { folder, ..parse(text) })
    };
    assert_eq!(wrong(&files.iter().map(file).collect(), pairs), expected);
}

#[test]
fn a_circle_is_found_through_exports_nested_imports_and_paths_in_code() {
    let files = [
        ("lib", "mod a;\nmod b;\npub use a::{One, deep::{Two as Second, Three}};\nfn x() { a::f() }"),
        ("a/mod", "pub(crate) mod deep;\npub(super) use self::deep::Three;"),
        ("a/deep", "use std::{fmt, io::{self, Read}};\n/// Not crate::c::C.\nfn x(_: super::super::b::B) {}"),
        ("b", "use crate::{\n    c::{C},\n    a::{self as first, Three},\n};"),
        ("c", "#[cfg(test)]\nmod tests {\n    use crate::b::B;\n}"),
    ];
    check(&files, true, &["a::deep, b"]);
    let all = [("a", "use super::names::*;"), ("b/c", "use crate::a::f;"), ("names", "pub use crate::b::c::C;")];
    check(&all, true, &["a, b::c"]);
}

#[test]
fn two_files_of_one_folder_may_know_each_other_where_pairs_are_allowed() {
    let same = [("a/b", "use super::c::C;"), ("a/c", "fn x() { crate::a::b::y() }")];
    check(&same, true, &[]);
    check(&same, false, &["a::b, a::c"]);
    let apart = [("b", "use crate::a::c::C;"), ("a/c", "use crate::b::B;")];
    check(&apart, true, &["a::c, b"]);
    let three = [("a/b", "use super::c::C;"), ("a/c", "use super::d::D;"), ("a/d", "use super::b::B;")];
    check(&three, true, &["a::b, a::c, a::d"]);
}
