//! The imports between the files of a crate, and the circles that they form.
//!
//! A file imports another if it names an item that stands there. Re-exports are followed to the file of the item, so a
//! `mod.rs` that hands on what its children hold is no import of theirs.

use anyhow::{Context, Result};
use proc_macro2::{TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, UseTree};

/// The path of a module from the root of its crate: `crate::a::b` is `["a", "b"]`.
type Module = Vec<String>;

/// The most re-exports that are followed from one name; more of them would be a circle of names.
const MAX_STEPS: usize = 16;

/// A file of a crate.
struct File {
    path: PathBuf,
    /// The names that a `use` brings, with the paths that they stand for.
    uses: BTreeMap<String, Module>,
    /// The modules all of whose names a `use` brings.
    globs: Vec<Module>,
    /// The names of its items.
    items: BTreeSet<String>,
    /// The paths that it names anywhere.
    named: BTreeSet<Module>,
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
            files.insert(module.clone(), File::of(path, &module, &modules, &syntax));
        }
        Ok(Files(files))
    }

    /// The circles: sets of files each of which imports all others of its set, directly or by way of others.
    pub fn circles(&self) -> Vec<Vec<PathBuf>> {
        let imports: BTreeMap<&Module, BTreeSet<&Module>> =
            self.0.iter().map(|(module, file)| (module, self.imports(module, file))).collect();
        let reached: BTreeMap<&Module, BTreeSet<&Module>> =
            self.0.keys().map(|module| (module, reached(&imports, module))).collect();
        let mut circles = Vec::new();
        let mut seen = BTreeSet::new();
        for module in self.0.keys().filter(|module| reached[*module].contains(*module)) {
            if seen.contains(module) {
                continue;
            }
            let both = reached[module].iter().copied().filter(|other| reached[other].contains(module));
            let circle: Vec<&Module> = both.collect();
            circles.push(circle.iter().map(|module| self.0[*module].path.clone()).collect());
            seen.extend(circle);
        }
        circles
    }

    /// The other files that hold what a file names.
    fn imports<'a>(&'a self, module: &'a Module, file: &File) -> BTreeSet<&'a Module> {
        let named = file.named.iter().filter_map(|path| self.home(path, 0));
        named.filter(|home| *home != module).collect()
    }

    /// The file of the item that a path names; nothing if it names a module or another crate's item.
    fn home(&self, path: &[String], steps: usize) -> Option<&Module> {
        let depth = (0..=path.len()).rev().find(|depth| self.0.contains_key(&path[..*depth]))?;
        let (module, file) = self.0.get_key_value(&path[..depth])?;
        let name = path.get(depth)?;
        if file.items.contains(name) {
            return Some(module);
        }
        if steps == MAX_STEPS {
            return None;
        }
        let by_name = file.uses.get(name).map(|target| [target, &path[depth + 1..]].concat());
        let by_glob = file.globs.iter().map(|glob| [glob, &path[depth..]].concat());
        by_name.into_iter().chain(by_glob).find_map(|path| self.home(&path, steps + 1))
    }
}

fn reached<'a>(imports: &BTreeMap<&'a Module, BTreeSet<&'a Module>>, from: &Module) -> BTreeSet<&'a Module> {
    let mut reached = BTreeSet::new();
    let mut waiting: Vec<&Module> = imports[from].iter().copied().collect();
    while let Some(module) = waiting.pop() {
        if reached.insert(module) {
            waiting.extend(&imports[module]);
        }
    }
    reached
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
    fn of(path: PathBuf, module: &Module, modules: &BTreeSet<Module>, syntax: &syn::File) -> Self {
        let (uses, globs) = (BTreeMap::new(), Vec::new());
        let mut file = File { path, uses, globs, items: BTreeSet::new(), named: BTreeSet::new() };
        let mut names = Names { module, modules, file: &mut file };
        // The names that a `use` brings may begin paths that stand before it.
        for item in &syntax.items {
            match item {
                Item::Use(used) if !is_test(&used.attrs) => names.used(&mut Vec::new(), &used.tree),
                item => names.file.items.extend(defined(item)),
            }
        }
        names.visit_file(syntax);
        file
    }
}

/// The name of an item that others may import. An inline module counts as the file that it stands in.
fn defined(item: &Item) -> Option<String> {
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

/// True for `#[cfg(test)]` and its like: tests may look at anything.
fn is_test(attributes: &[Attribute]) -> bool {
    let mut lists = attributes.iter().filter(|attribute| attribute.path().is_ident("cfg"));
    lists.any(|attribute| attribute.meta.require_list().is_ok_and(|list| list.tokens.to_string() == "test"))
}

/// Gathers the paths that a file names.
struct Names<'a> {
    module: &'a Module,
    modules: &'a BTreeSet<Module>,
    file: &'a mut File,
}

impl Names<'_> {
    /// The path from the root of the crate, if it leads into the crate.
    fn absolute(&self, path: &[String]) -> Option<Module> {
        let (first, rest) = path.split_first()?;
        let child = || [self.module.as_slice(), &path[..1]].concat();
        match first.as_str() {
            "crate" => Some(rest.to_vec()),
            "self" => Some([self.module.as_slice(), rest].concat()),
            "super" => {
                let ups = path.iter().take_while(|part| *part == "super").count();
                let above = self.module.len().checked_sub(ups)?;
                Some([&self.module[..above], &path[ups..]].concat())
            }
            _ if self.modules.contains(&child()) => Some([self.module.as_slice(), path].concat()),
            first => self.file.uses.get(first).map(|target| [target.as_slice(), rest].concat()),
        }
    }

    fn used(&mut self, before: &mut Module, tree: &UseTree) {
        match tree {
            UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.used(before, &path.tree);
                before.pop();
            }
            UseTree::Name(name) if name.ident == "self" => {
                let local = before.last().cloned();
                local.into_iter().for_each(|local| self.bring(before, local));
            }
            UseTree::Name(name) => self.bring(&with(before, &name.ident), name.ident.to_string()),
            UseTree::Rename(name) => self.bring(&with(before, &name.ident), name.rename.to_string()),
            UseTree::Glob(_) => {
                let module = self.absolute(before);
                self.file.globs.extend(module);
            }
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.used(before, tree)),
        }
    }

    /// Names all that a private `use` brings.
    fn imported(&mut self, before: &mut Module, tree: &UseTree) {
        match tree {
            UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.imported(before, &path.tree);
                before.pop();
            }
            UseTree::Name(name) => self.name(&with(before, &name.ident)),
            UseTree::Rename(name) => self.name(&with(before, &name.ident)),
            UseTree::Glob(_) => {}
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.imported(before, tree)),
        }
    }

    fn bring(&mut self, path: &[String], local: String) {
        if let Some(path) = self.absolute(path) {
            self.file.uses.insert(local, path);
        }
    }

    fn name(&mut self, path: &[String]) {
        let path = self.absolute(path);
        self.file.named.extend(path);
    }

    /// Names the paths inside a macro, whose text is no syntax of Rust.
    fn in_macro(&mut self, tokens: TokenStream) {
        let mut path = Vec::new();
        let mut goes_on = false;
        for token in tokens {
            match token {
                TokenTree::Ident(part) => {
                    if !goes_on {
                        self.name(&std::mem::take(&mut path));
                    }
                    path.push(part.to_string());
                    goes_on = false;
                }
                TokenTree::Punct(colon) if colon.as_char() == ':' => goes_on = true,
                TokenTree::Group(group) => self.in_macro(group.stream()),
                _ => goes_on = false,
            }
        }
        self.name(&path);
    }
}

fn with(before: &[String], name: &syn::Ident) -> Module {
    [before, &[name.to_string()]].concat()
}

impl<'ast> Visit<'ast> for Names<'_> {
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
        self.name(&parts);
        visit::visit_path(self, path);
    }

    fn visit_item_use(&mut self, used: &'ast syn::ItemUse) {
        self.used(&mut Vec::new(), &used.tree);
        // A trait is used by its methods alone. A re-export uses nothing.
        if matches!(used.vis, syn::Visibility::Inherited) {
            self.imported(&mut Vec::new(), &used.tree);
        }
    }

    fn visit_macro(&mut self, called: &'ast syn::Macro) {
        self.visit_path(&called.path);
        self.in_macro(called.tokens.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The circles among files of these names and texts.
    fn circles(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let texts: BTreeMap<PathBuf, &str> =
            files.iter().map(|(name, text)| (PathBuf::from(name), *text)).collect();
        let modules: BTreeSet<Module> = texts.keys().map(|path| module(Path::new(""), path)).collect();
        let file = |path: &PathBuf, text: &str| {
            let module = module(Path::new(""), path);
            let file = File::of(path.clone(), &module, &modules, &syn::parse_file(text).unwrap());
            (module, file)
        };
        let files = Files(texts.iter().map(|(path, text)| file(path, text)).collect());
        let name = |path: PathBuf| path.display().to_string();
        files.circles().into_iter().map(|circle| circle.into_iter().map(name).collect()).collect()
    }

    #[test]
    fn files_that_name_each_others_items_are_a_circle() {
        let files = [
            ("lib.rs", "mod a; mod b; mod c;"),
            ("a.rs", "use crate::b::B; pub struct A(B);"),
            ("b.rs", "use super::c; pub struct B(c::C);"),
            ("c/mod.rs", "mod d; pub(crate) use d::C;"),
            ("c/d.rs", "pub struct C(Option<Box<crate::a::A>>);"),
        ];
        assert_eq!(circles(&files), [["a.rs", "b.rs", "c/d.rs"]]);
    }

    #[test]
    fn paths_in_macros_and_by_way_of_globs_are_imports() {
        let files = [
            ("lib.rs", "mod a; mod b; pub use a::*;"),
            ("a.rs", "pub struct A; fn f() { println!(\"{}\", crate::b::g()); }"),
            ("b.rs", "pub fn g() -> u32 { let _ = crate::A; 1 }"),
        ];
        assert_eq!(circles(&files), [["a.rs", "b.rs"]]);
    }

    #[test]
    fn re_exports_modules_and_tests_are_no_imports() {
        let files = [
            ("lib.rs", "mod a; mod b; pub use a::A; pub struct L;"),
            ("a.rs", "use crate::L; use crate::b; pub struct A(L, b::B);"),
            ("b.rs", "pub struct B; #[cfg(test)] mod tests { use crate::a::A; fn f(_: A) {} }"),
        ];
        assert!(circles(&files).is_empty());
    }
}
