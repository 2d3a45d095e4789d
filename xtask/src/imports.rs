//! The imports between the files of a crate, and the cycles that they form.
//!
//! A file imports another file if it uses an item that is defined there. Re-exports are followed to the file of the
//! item: a file that uses a re-export of `mod.rs` imports the child that defines the item.

use anyhow::{Context, Result};
use proc_macro2::{TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, UseName, UseRename, UseTree};

/// The path of a module from the root of its crate: `crate::a::b` is `["a", "b"]`.
type Module = Vec<String>;

/// The maximal number of re-exports that are followed from one name. A longer chain is a cycle of names.
const MAX_STEPS: usize = 16;

/// A file of a crate.
struct File {
    path: PathBuf,
    /// The names that `use` brings into scope, with the paths that they stand for.
    uses: BTreeMap<String, Module>,
    /// The modules whose names are all in scope by `use …::*`.
    globs: Vec<Module>,
    /// The names of the file's items.
    items: BTreeSet<String>,
    /// All paths that the file uses.
    paths: BTreeSet<Module>,
}

/// A crate's files by module.
pub struct Files(BTreeMap<Module, File>);

impl Files {
    /// Reads every file below `sources`, a crate's `src`.
    pub fn read(sources: &Path) -> Result<Self> {
        let mut paths = Vec::new();
        rust_files(sources, &mut paths)?;
        let modules: BTreeSet<Module> = paths.iter().map(|path| module(sources, path)).collect();
        let mut files = BTreeMap::new();
        for path in paths {
            let text = std::fs::read_to_string(&path)?;
            let syntax = syn::parse_file(&text).with_context(|| format!("parsing {}", path.display()))?;
            let module = module(sources, &path);
            files.insert(module.clone(), File::new(path, &module, &modules, &syntax));
        }
        Ok(Files(files))
    }

    /// Returns the cycles: sets of files in which each file imports every other, directly or through other files.
    pub fn cycles(&self) -> Vec<Vec<PathBuf>> {
        let imports: BTreeMap<&Module, BTreeSet<&Module>> =
            self.0.iter().map(|(module, file)| (module, self.imports(module, file))).collect();
        let reachable: BTreeMap<&Module, BTreeSet<&Module>> =
            self.0.keys().map(|module| (module, reachable(&imports, module))).collect();
        let mut cycles = Vec::new();
        let mut listed = BTreeSet::new();
        for module in self.0.keys().filter(|module| reachable[*module].contains(*module)) {
            if listed.contains(module) {
                continue;
            }
            let both = reachable[module].iter().copied().filter(|other| reachable[other].contains(module));
            let cycle: Vec<&Module> = both.collect();
            cycles.push(cycle.iter().map(|module| self.0[*module].path.clone()).collect());
            listed.extend(cycle);
        }
        cycles
    }

    /// Returns the other files that define what a file uses.
    fn imports<'a>(&'a self, module: &'a Module, file: &File) -> BTreeSet<&'a Module> {
        let imported = file.paths.iter().filter_map(|path| self.defining_file(path, 0));
        imported.filter(|other| *other != module).collect()
    }

    /// Returns the file that defines the item of a path, or `None` for a module and for another crate's item.
    fn defining_file(&self, path: &[String], steps: usize) -> Option<&Module> {
        let depth = (0..=path.len()).rev().find(|depth| self.0.contains_key(&path[..*depth]))?;
        let (module, file) = self.0.get_key_value(&path[..depth])?;
        let name = path.get(depth)?;
        if file.items.contains(name) {
            return Some(module);
        }
        if steps == MAX_STEPS {
            return None;
        }
        let via_use = file.uses.get(name).map(|target| [target, &path[depth + 1..]].concat());
        let via_glob = file.globs.iter().map(|glob| [glob, &path[depth..]].concat());
        via_use.into_iter().chain(via_glob).find_map(|path| self.defining_file(&path, steps + 1))
    }
}

fn reachable<'a>(
    imports: &BTreeMap<&'a Module, BTreeSet<&'a Module>>,
    from: &Module,
) -> BTreeSet<&'a Module> {
    let mut reachable = BTreeSet::new();
    let mut pending: Vec<&Module> = imports[from].iter().copied().collect();
    while let Some(module) = pending.pop() {
        if reachable.insert(module) {
            pending.extend(&imports[module]);
        }
    }
    reachable
}

fn rust_files(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in std::fs::read_dir(folder).with_context(|| format!("listing {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            rust_files(&path, files)?;
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

fn module(sources: &Path, file: &Path) -> Module {
    let path = file.strip_prefix(sources).unwrap_or(file).with_extension("");
    let mut module: Module = path.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    let is_folder = module.last().is_some_and(|last| last == "mod");
    let is_root = module.len() == 1 && matches!(module[0].as_str(), "lib" | "main");
    if is_folder || is_root {
        module.pop();
    }
    module
}

impl File {
    fn new(path: PathBuf, module: &Module, modules: &BTreeSet<Module>, syntax: &syn::File) -> Self {
        let (uses, globs) = (BTreeMap::new(), Vec::new());
        let mut file = File { path, uses, globs, items: BTreeSet::new(), paths: BTreeSet::new() };
        let mut collector = PathCollector { module, modules, file: &mut file };
        // A path may begin with a name that a later `use` brings into scope.
        for item in &syntax.items {
            match item {
                Item::Use(item) if !is_test(&item.attrs) => collector.add_use(&mut Vec::new(), &item.tree),
                item => collector.file.items.extend(item_name(item)),
            }
        }
        collector.visit_file(syntax);
        file
    }
}

/// Returns the name of an item that other files may import. An inline module belongs to its file.
fn item_name(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Mod(item) if item.content.is_some() => &item.ident,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(name.to_string())
}

/// Returns true for `#[cfg(test)]`: tests may import any file.
fn is_test(attributes: &[Attribute]) -> bool {
    let mut lists = attributes.iter().filter(|attribute| attribute.path().is_ident("cfg"));
    lists.any(|attribute| attribute.meta.require_list().is_ok_and(|list| list.tokens.to_string() == "test"))
}

/// Collects the paths that a file uses.
struct PathCollector<'a> {
    module: &'a Module,
    modules: &'a BTreeSet<Module>,
    file: &'a mut File,
}

impl PathCollector<'_> {
    /// Returns the path from the root of the crate, or `None` if it leads into another crate.
    fn absolute(&self, path: &[String]) -> Option<Module> {
        let (first, rest) = path.split_first()?;
        let child = || [self.module.as_slice(), &path[..1]].concat();
        match first.as_str() {
            "crate" => Some(rest.to_vec()),
            "self" => Some([self.module.as_slice(), rest].concat()),
            "super" => {
                let levels = path.iter().take_while(|part| *part == "super").count();
                let ancestor_depth = self.module.len().checked_sub(levels)?;
                Some([&self.module[..ancestor_depth], &path[levels..]].concat())
            }
            _ if self.modules.contains(&child()) => Some([self.module.as_slice(), path].concat()),
            first => self.file.uses.get(first).map(|target| [target.as_slice(), rest].concat()),
        }
    }

    fn add_use(&mut self, prefix: &mut Module, tree: &UseTree) {
        visit_ends(prefix, tree, &mut |prefix, end| match end {
            UseTree::Name(name) if name.ident == "self" => {
                let local = prefix.last().cloned();
                local.into_iter().for_each(|local| self.add_alias(prefix, local));
            }
            UseTree::Name(name) => self.add_alias(&append(prefix, &name.ident), name.ident.to_string()),
            UseTree::Rename(name) => self.add_alias(&append(prefix, &name.ident), name.rename.to_string()),
            _ => {
                let module = self.absolute(prefix);
                self.file.globs.extend(module);
            }
        });
    }

    /// Adds all paths of a private `use`.
    fn add_imports(&mut self, prefix: &mut Module, tree: &UseTree) {
        visit_ends(prefix, tree, &mut |prefix, end| {
            if let UseTree::Name(UseName { ident }) | UseTree::Rename(UseRename { ident, .. }) = end {
                self.add_path(&append(prefix, ident));
            }
        });
    }

    fn add_alias(&mut self, path: &[String], local: String) {
        if let Some(path) = self.absolute(path) {
            self.file.uses.insert(local, path);
        }
    }

    fn add_path(&mut self, path: &[String]) {
        let path = self.absolute(path);
        self.file.paths.extend(path);
    }

    /// Adds the paths inside a macro call, whose tokens need not be Rust syntax.
    fn add_macro_paths(&mut self, tokens: TokenStream) {
        let mut path = Vec::new();
        let mut continues = false;
        for token in tokens {
            match token {
                TokenTree::Ident(part) => {
                    if !continues {
                        self.add_path(&std::mem::take(&mut path));
                    }
                    path.push(part.to_string());
                    continues = false;
                }
                TokenTree::Punct(colon) if colon.as_char() == ':' => continues = true,
                TokenTree::Group(group) => self.add_macro_paths(group.stream()),
                _ => continues = false,
            }
        }
        self.add_path(&path);
    }
}

/// Visits the ends of a `use`, which are names, renamed names and globs, each with the path before it.
fn visit_ends(prefix: &mut Module, tree: &UseTree, visit: &mut dyn FnMut(&Module, &UseTree)) {
    match tree {
        UseTree::Path(path) => {
            prefix.push(path.ident.to_string());
            visit_ends(prefix, &path.tree, visit);
            prefix.pop();
        }
        UseTree::Group(group) => group.items.iter().for_each(|tree| visit_ends(prefix, tree, visit)),
        end => visit(prefix, end),
    }
}

fn append(prefix: &[String], name: &syn::Ident) -> Module {
    [prefix, &[name.to_string()]].concat()
}

impl<'ast> Visit<'ast> for PathCollector<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        let attributes = match item {
            Item::Fn(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            Item::Mod(item) => &item.attrs,
            Item::Use(item) => &item.attrs,
            _ => return visit::visit_item(self, item),
        };
        if !is_test(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let parts: Module = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.add_path(&parts);
        visit::visit_path(self, path);
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.add_use(&mut Vec::new(), &item.tree);
        // A trait may be used only through its methods, so a private import counts. A re-export does not.
        if matches!(item.vis, syn::Visibility::Inherited) {
            self.add_imports(&mut Vec::new(), &item.tree);
        }
    }

    fn visit_macro(&mut self, invocation: &'ast syn::Macro) {
        self.visit_path(&invocation.path);
        self.add_macro_paths(invocation.tokens.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the cycles among files with these names and texts.
    fn cycles(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let texts: BTreeMap<PathBuf, &str> =
            files.iter().map(|(name, text)| (PathBuf::from(name), *text)).collect();
        let modules: BTreeSet<Module> = texts.keys().map(|path| module(Path::new(""), path)).collect();
        let file = |path: &PathBuf, text: &str| {
            let module = module(Path::new(""), path);
            let file = File::new(path.clone(), &module, &modules, &syn::parse_file(text).unwrap());
            (module, file)
        };
        let files = Files(texts.iter().map(|(path, text)| file(path, text)).collect());
        let name = |path: PathBuf| path.display().to_string();
        files.cycles().into_iter().map(|cycle| cycle.into_iter().map(name).collect()).collect()
    }

    #[test]
    fn files_that_name_each_others_items_are_a_cycle() {
        let files = [
            ("lib.rs", "mod a; mod b; mod c;"),
            ("a.rs", "use crate::b::B; pub struct A(B);"),
            ("b.rs", "use super::c; pub struct B(c::C);"),
            ("c/mod.rs", "mod d; pub(crate) use d::C;"),
            ("c/d.rs", "pub struct C(Option<Box<crate::a::A>>);"),
        ];
        assert_eq!(cycles(&files), [["a.rs", "b.rs", "c/d.rs"]]);
    }

    #[test]
    fn paths_in_macros_and_by_way_of_globs_are_imports() {
        let files = [
            ("lib.rs", "mod a; mod b; pub use a::*;"),
            ("a.rs", "pub struct A; fn f() { println!(\"{}\", crate::b::g()); }"),
            ("b.rs", "pub fn g() -> u32 { let _ = crate::A; 1 }"),
        ];
        assert_eq!(cycles(&files), [["a.rs", "b.rs"]]);
    }

    #[test]
    fn re_exports_modules_and_tests_are_no_imports() {
        let files = [
            ("lib.rs", "mod a; mod b; pub use a::A; pub struct L;"),
            ("a.rs", "use crate::L; use crate::b; pub struct A(L, b::B);"),
            ("b.rs", "pub struct B; #[cfg(test)] mod tests { use crate::a::A; fn f(_: A) {} }"),
        ];
        assert!(cycles(&files).is_empty());
    }
}
