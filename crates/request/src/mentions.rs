//! Finds the files and symbols of the project that a text names.

mod vocabulary;
mod word;

use std::sync::Arc;

use crate::confine::Root;
use crate::index::{Graph, Index, IndexError, Node, paths};
use crate::language::shape::is_capitalised;

use super::Text;
use super::named::{Found, Named, Names, is_file_name};
pub use vocabulary::TYPES;
use vocabulary::{ARTICLES, OF_EVERY_OBJECT, OF_LANGUAGES, WELL_KNOWN_FILES};
use word::{Word, split};

/// A named symbol, with the definitions it may refer to.
#[derive(Clone, Debug)]
pub struct Symbol {
    /// The name, without its container.
    pub name: String,
    /// The definitions with this name.
    pub nodes: Vec<Node>,
}

/// The files and symbols that a text names.
#[derive(Clone, Debug, Default)]
pub struct Mentions {
    /// Files of the project, in order of mention.
    pub paths: Vec<String>,
    /// Words that look like file names but match no file of the project.
    pub new_paths: Vec<String>,
    /// Symbols that the text clearly means: written as code, quoted, called, or after a word like
    /// `function`.
    pub symbols: Vec<Symbol>,
    /// Ordinary words that are also the name of a function or class of the project.
    pub likely: Vec<Symbol>,
    /// Whether the text mentions tests.
    pub speaks_of_tests: bool,
    /// Names of definitions that do not exist yet: the text calls them, or describes them as a
    /// function, class or the like.
    pub new_names: Vec<String>,
    /// New names that the text asks for: it calls them, or describes them as a function, an option
    /// or the like.
    pub asked_for: Vec<String>,
    /// Whether the text mentions a function, class or the like.
    pub speaks_of_definitions: bool,
    /// Whether the text asks for something new.
    pub adds: bool,
    /// Whether the text asks for new tests.
    pub adds_tests: bool,
}

/// Minimum length of an ordinary word that counts as a likely symbol; shorter words rarely mean
/// code.
const LIKELY_LETTERS: usize = 5;

impl Text {
    /// The names in the text that are in `index`; fails if the index cannot be read.
    pub fn mentions(&self, index: &Index) -> Result<Mentions, IndexError> {
        of(self, index)
    }
}

fn of(text: &Text, index: &Index) -> Result<Mentions, IndexError> {
    let (paths, root) = (index.paths()?, Root::open(index.project()).ok());
    let files = Names::of(text, root.as_ref(), &paths).all;
    let project = Project { graph: index.graph()?, paths, files };
    let text = text.raw();
    let mut found = Mentions::default();
    let is_inside = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '/' | '-' | '$' | ':' | '@');
    let words: Vec<(usize, &str)> = split(text, is_inside);
    // New names that the text calls or describes as definitions. If there are any, other unknown
    // names are ignored: they may be types of the language or value names.
    let mut declared: Vec<&str> = Vec::new();
    for place in 0..words.len() {
        let word = Word::of(text, &words, place);
        found.note_request(&word);
        if !found.take_file(&word, &project) {
            found.take_name(&word, &project, &mut declared);
        }
    }
    if !declared.is_empty() {
        found.new_names.retain(|name| declared.contains(&name.as_str()));
    }
    let files = found.paths.clone();
    for symbol in found.symbols.iter_mut().chain(&mut found.likely) {
        // Among several definitions, those in a named file come first, and code comes before tests.
        symbol.nodes.sort_by_key(|node| (!files.contains(&node.path), is_test(&node.path)));
    }
    Ok(found)
}

/// The index in which the words of a text are looked up.
struct Project {
    graph: Arc<Graph>,
    /// The indexed files.
    paths: Vec<String>,
    /// The files that the text names.
    files: Vec<Named>,
}

impl Project {
    /// The definitions with this name.
    fn named(&self, name: &str) -> Vec<Node> {
        self.graph.named(name).into_iter().filter(|node| node.kind != "module").cloned().collect()
    }
}

/// The meaning of a word in the project.
struct Meaning<'t> {
    /// The word, or the object member that it names.
    name: &'t str,
    nodes: Vec<Node>,
    /// Whether the word names a member of an object that the project does not define.
    is_of_object: bool,
}

impl<'t> Meaning<'t> {
    /// `nodes` are the definitions whose name is the complete word.
    fn of(word: &Word<'t>, nodes: Vec<Node>, project: &Project) -> Meaning<'t> {
        let mut meaning = Meaning { name: word.word, nodes, is_of_object: false };
        if let Some((object, member)) = word.word.rsplit_once('.').filter(|_| meaning.nodes.is_empty()) {
            // `db.search(q)`: the variable `db` is made up by the request, so only the member
            // counts.
            meaning.is_of_object = project.named(object.rsplit('.').next().unwrap_or(object)).is_empty();
            if meaning.is_of_object && word.is_called && !OF_EVERY_OBJECT.contains(&member) {
                (meaning.name, meaning.nodes) = (member, project.named(member));
            }
        }
        meaning
    }
}

impl Mentions {
    /// Records what the text asks for, based on one of its words.
    fn note_request(&mut self, word: &Word<'_>) {
        self.speaks_of_tests |= word.is_of_tests();
        self.speaks_of_definitions |= word.is_kind();
        self.adds |= word.adds();
        self.adds_tests |= word.adds_tests();
    }

    /// Adds the file that a word names; returns whether the word is the name of a file.
    fn take_file(&mut self, word: &Word<'_>, project: &Project) -> bool {
        if let Some((_, files)) = WELL_KNOWN_FILES.iter().find(|(usual, _)| word.low == *usual) {
            let file = project.paths.iter().find(|path| files.contains(&path.to_lowercase().as_str()));
            self.add_path(file.cloned());
        }
        let Some(named) = project.files.iter().find(|named| named.range.contains(&word.at)) else { return false };
        match &named.found {
            Found::File(path) => self.add_path(Some(path.clone())),
            // If several files have this name, take the one with the shortest path.
            Found::Several(all) => self.add_path(all.iter().min_by_key(|path| path.len()).cloned()),
            Found::Missing(_) if is_file_name(&named.said) && project.graph.named(&named.said).is_empty() => {
                let path = named.said.trim_start_matches("./").to_owned();
                self.new_paths.extend(Some(path).filter(|path| !self.new_paths.contains(path)));
            }
            Found::Missing(_) | Found::Folder(_) | Found::Barred(_) => return false,
        }
        true
    }

    fn add_path(&mut self, path: Option<String>) {
        if let Some(path) = path.filter(|path| !self.paths.contains(path)) {
            self.paths.push(path);
        }
    }

    /// Adds the symbol that a word names, or the name of a definition that does not exist yet.
    fn take_name<'t>(&mut self, word: &Word<'t>, project: &Project, declared: &mut Vec<&'t str>) {
        let is_coined = word.is_coined(project);
        let nodes = project.named(word.word);
        let meaning = Meaning::of(word, nodes, project);
        if !meaning.nodes.is_empty() {
            let is_clear = is_coined || word.is_quoted || word.is_called || word.is_after_kind();
            self.take_symbol(meaning, is_clear);
        } else if !meaning.is_of_object {
            self.take_new_name(word, is_coined, declared);
        }
    }

    /// Adds a symbol; `is_clear` states whether the text clearly means it.
    fn take_symbol(&mut self, Meaning { name, nodes, .. }: Meaning<'_>, is_clear: bool) {
        let known = |symbols: &[Symbol]| symbols.iter().any(|symbol| symbol.name == name);
        if known(&self.symbols) || known(&self.likely) {
            return;
        }
        let symbol = Symbol { name: name.to_owned(), nodes };
        if is_clear {
            self.symbols.push(symbol);
        } else if name.len() >= LIKELY_LETTERS && is_lower_case(name) && symbol.nodes.iter().any(is_free) {
            self.likely.push(symbol);
        }
    }

    /// Adds a word that may name a new definition; also to `declared` if the text calls it or
    /// describes it as a definition.
    fn take_new_name<'t>(&mut self, word: &Word<'t>, is_coined: bool, declared: &mut Vec<&'t str>) {
        let name = word.word;
        let is_listed = self.speaks_of_definitions && word.is_listed();
        let is_beside = is_coined && word.is_joined_to(declared.last());
        let is_declared = word.is_called || is_listed || word.is_introduced() || word.is_after_kind() || is_beside;
        let is_new_name = (is_declared || is_coined && !is_capitalised(name))
            && word.can_be_name()
            && !OF_LANGUAGES.contains(&name)
            && !self.new_names.iter().any(|known| known == name);
        let is_clear = is_coined || word.is_quoted || word.is_called || word.is_introduced();
        let is_made = is_declared && is_clear || word.is_after_option() && (is_clear || word.is_given_a_value());
        if is_made
            && word.can_be_name()
            && !OF_LANGUAGES.contains(&name)
            && !self.asked_for.iter().any(|one| one == name)
        {
            self.asked_for.push(name.to_owned());
        }
        if is_new_name {
            self.new_names.push(name.to_owned());
            declared.extend(is_declared.then_some(name));
            // Words that ask for something new: `new function f(a)`, `export f(a) from b.js`,
            // `Parser needs a method f()`.
            let is_new = (1..=2).any(|back| word.is_behind(back, &["new", "export"]));
            let is_one = word.is_after_kind() && (2..=3).any(|back| word.is_behind(back, ARTICLES));
            self.adds |= is_declared && (is_new || is_one);
        }
    }
}

/// Whether search ranks a file as a test or test helper. This is broader than the files that a
/// runner accepts ([`testing::is_test_file`](crate::edit::testing::is_test_file)): test helpers and
/// test data are not shown either.
pub fn is_test(path: &str) -> bool {
    paths::sorts(path).contains(&paths::Sort::Test)
}

fn is_lower_case(word: &str) -> bool {
    word.chars().all(char::is_lowercase)
}

/// Whether a node is a function or class, not a method, and not in a test file.
fn is_free(node: &Node) -> bool {
    matches!(node.kind.as_str(), "function" | "class") && !is_test(&node.path)
}
