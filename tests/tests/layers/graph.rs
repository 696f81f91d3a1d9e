//! What the modules of a crate take from where: every `use` and every path, with re-exports resolved.

use proc_macro2::{TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Item, UseTree};

/// Segments of a path, `crate` left out: the crate's root is empty.
pub(crate) type Path = Vec<String>;

/// Files by path, with their text.
pub(crate) type Sources = BTreeMap<String, String>;

/// A file's module, with the modules that are written inside it. Code under `#[cfg(test)]` is left out.
#[derive(Debug, Default)]
pub(crate) struct Module {
    /// Where it is.
    pub(crate) file: String,
    /// Each name that is imported or exported, and what it means.
    names: BTreeMap<String, Path>,
    /// Modules all of whose names are taken.
    globs: Vec<Path>,
    /// Paths as they are written, from the module inside the file that they are in.
    paths: BTreeSet<(Path, Path)>,
    /// Whether something is `unsafe` in it.
    pub(crate) has_unsafe: bool,
    /// Functions and their lines.
    pub(crate) functions: Vec<(String, usize)>,
}

/// The modules of one crate.
#[derive(Debug)]
pub(crate) struct Graph {
    /// The folder of the crate's sources.
    pub(crate) root: String,
    /// By path.
    pub(crate) modules: BTreeMap<Path, Module>,
}

/// What a path means.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// Something in a module of the crate, and whether that was named by the crate's root, which only re-exports it.
    Own(Path, bool),
    /// Something of another crate.
    Foreign(Path),
}

impl Graph {
    /// Reads the crate whose sources are below `root`.
    pub(crate) fn new(root: &str, sources: &Sources) -> Self {
        let mut modules = BTreeMap::new();
        let mut tests = Vec::new();
        for (file, text) in sources.iter().filter(|(file, _)| file.starts_with(&format!("{root}/"))) {
            let path = module_path(&file[root.len() + 1..]);
            let parsed = syn::parse_file(text).unwrap_or_else(|error| panic!("{file}: {error}"));
            let mut reader = Reader {
                here: path.clone(),
                module: Module { file: file.clone(), ..Module::default() },
                tests: Vec::new(),
            };
            reader.visit_file(&parsed);
            tests.append(&mut reader.tests);
            modules.insert(path, reader.module);
        }
        modules.retain(|path: &Path, _| !tests.iter().any(|test| path.starts_with(test)));
        Self { root: root.to_owned(), modules }
    }

    /// What the module `from` takes: each path as it is written, and its meaning.
    pub(crate) fn taken(&self, from: &Path) -> Vec<(String, Meaning)> {
        let paths = self.modules[from].paths.iter();
        paths.map(|(here, path)| (path.join("::"), self.meaning(here, path))).collect()
    }

    /// The module in whose file `path` is, and that file.
    fn home(&self, path: &[String]) -> Path {
        let known = (0..=path.len()).rev().map(|end| &path[..end]).find(|path| self.modules.contains_key(*path));
        known.map(<[String]>::to_vec).unwrap_or_default()
    }

    fn meaning(&self, here: &[String], path: &[String]) -> Meaning {
        let Some(mut path) = self.absolute(here, path) else { return Meaning::Foreign(path.to_vec()) };
        let mut by_face = false;
        for _ in 0..8 {
            let home = self.home(&path);
            let Some((name, rest)) = path[home.len()..].split_first() else { break };
            let Some(next) = self.exported(&home, name) else { break };
            by_face |= home.is_empty();
            path = match self.absolute(&home, &next) {
                Some(next) => next.into_iter().chain(rest.iter().cloned()).collect(),
                None => return Meaning::Foreign(next),
            };
        }
        Meaning::Own(self.home(&path), by_face)
    }

    /// What a module has under a name, if it has that from elsewhere.
    fn exported(&self, module: &[String], name: &str) -> Option<Path> {
        let found = &self.modules[module];
        found.names.get(name).cloned().or_else(|| {
            found.globs.iter().filter_map(|glob| self.absolute(module, glob)).find_map(|glob| {
                let is_there =
                    glob != module && self.modules.get(&glob).is_some_and(|there| there.names.contains_key(name));
                is_there.then(|| glob.into_iter().chain([name.to_owned()]).collect::<Path>()).map(crate_path)
            })
        })
    }

    /// A path from the crate's root; `None` if it is another crate's.
    fn absolute(&self, here: &[String], path: &[String]) -> Option<Path> {
        let (first, rest) = path.split_first()?;
        let mut base = here.to_vec();
        match first.as_str() {
            "crate" => return Some(rest.to_vec()),
            "self" => {}
            "super" => {
                base.pop();
            }
            name => {
                let child: Path = here.iter().cloned().chain([name.to_owned()]).collect();
                if self.modules.contains_key(&child) {
                    return Some(child.into_iter().chain(rest.iter().cloned()).collect());
                }
                let imported = self.modules.get(&self.home(here))?.names.get(name)?;
                if imported.first() == Some(first) {
                    return None;
                }
                let imported = self.absolute(&self.home(here), imported)?;
                return Some(imported.into_iter().chain(rest.iter().cloned()).collect());
            }
        }
        let above = rest.iter().take_while(|segment| *segment == "super").count();
        base.truncate(base.len().saturating_sub(above));
        base.extend(rest[above..].iter().cloned());
        Some(base)
    }
}

/// A path from the root, as it is written.
fn crate_path(path: Path) -> Path {
    std::iter::once("crate".to_owned()).chain(path).collect()
}

/// The module of a file: `engine/mod.rs` is `engine`.
fn module_path(file: &str) -> Path {
    let mut path: Path = file.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if matches!(path.last().map(String::as_str), Some("mod" | "lib" | "main")) && (path.len() > 1 || file != "main.rs")
    {
        path.pop();
    }
    path
}

struct Reader {
    /// The module that is read, those inside the file too.
    here: Path,
    module: Module,
    /// Modules that are for tests.
    tests: Vec<Path>,
}

impl Reader {
    fn add(&mut self, path: Path) {
        if path.len() > 1 {
            self.module.paths.insert((self.here.clone(), path));
        }
    }

    /// Notes what a `use` names; `is_inside` the file's own module.
    fn import(&mut self, tree: &UseTree, before: &[String]) {
        let with = |name: &syn::Ident| before.iter().cloned().chain([name.to_string()]).collect::<Path>();
        match tree {
            UseTree::Path(path) => self.import(&path.tree, &with(&path.ident)),
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.import(tree, before)),
            UseTree::Name(name) if name.ident == "self" => self.name(before.last().cloned(), before.to_vec()),
            UseTree::Name(name) => self.name(Some(name.ident.to_string()), with(&name.ident)),
            UseTree::Rename(rename) => self.name(Some(rename.rename.to_string()), with(&rename.ident)),
            UseTree::Glob(_) => {
                self.module.globs.push(before.to_vec());
                self.module.paths.insert((self.here.clone(), before.to_vec()));
            }
        }
    }

    fn name(&mut self, name: Option<String>, path: Path) {
        self.module.paths.insert((self.here.clone(), path.clone()));
        self.module.names.extend(name.map(|name| (name, path)));
    }

    fn function(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let lines = block.span().end().line + 1 - signature.span().start().line;
        self.module.functions.push((signature.ident.to_string(), lines));
    }

    /// Paths in tokens that nobody parses: of macros, of attributes.
    fn tokens(&mut self, tokens: TokenStream) {
        let (mut path, mut colons) = (Path::new(), 0);
        for token in tokens {
            match token {
                TokenTree::Ident(name) => {
                    if colons != 2 {
                        self.add(std::mem::take(&mut path));
                    }
                    path.push(name.to_string());
                    self.module.has_unsafe |= name == "unsafe";
                    colons = 0;
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
                other => {
                    self.add(std::mem::take(&mut path));
                    colons = 0;
                    if let TokenTree::Group(group) = other {
                        self.tokens(group.stream());
                    }
                }
            }
        }
        self.add(path);
    }
}

/// Whether an item is there for tests alone.
fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Ident>().is_ok_and(|condition| condition == "test")
    })
}

fn attributes(item: &Item) -> &[syn::Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

impl<'a> Visit<'a> for Reader {
    fn visit_item(&mut self, item: &'a Item) {
        match item {
            Item::Mod(module) if is_test(&module.attrs) => {
                self.tests.push(self.here.iter().cloned().chain([module.ident.to_string()]).collect());
            }
            item if is_test(attributes(item)) => {}
            Item::Use(item) => self.import(&item.tree, &[]),
            Item::Mod(module) => {
                self.here.push(module.ident.to_string());
                visit::visit_item_mod(self, module);
                self.here.pop();
            }
            item => visit::visit_item(self, item),
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'a syn::ImplItemFn) {
        if !is_test(&item.attrs) {
            self.module.has_unsafe |= item.sig.unsafety.is_some();
            self.function(&item.sig, &item.block);
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'a syn::ItemFn) {
        self.module.has_unsafe |= item.sig.unsafety.is_some();
        self.function(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_item_impl(&mut self, item: &'a syn::ItemImpl) {
        self.module.has_unsafe |= item.unsafety.is_some();
        visit::visit_item_impl(self, item);
    }

    fn visit_expr_unsafe(&mut self, block: &'a syn::ExprUnsafe) {
        self.module.has_unsafe = true;
        visit::visit_expr_unsafe(self, block);
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        self.add(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        visit::visit_path(self, path);
    }

    /// Who may see something takes nothing from there.
    fn visit_vis_restricted(&mut self, _: &'a syn::VisRestricted) {}

    fn visit_macro(&mut self, made: &'a syn::Macro) {
        self.tokens(made.tokens.clone());
        visit::visit_macro(self, made);
    }

    fn visit_attribute(&mut self, attribute: &'a syn::Attribute) {
        if let syn::Meta::List(list) = &attribute.meta {
            self.tokens(list.tokens.clone());
        }
        visit::visit_attribute(self, attribute);
    }
}
