//! Resolves Python imports: the file for a module name, and the names that a module exports.

use super::names::Meaning;
use super::project::Project;
use crate::index::paths::{folder_of, join};
use crate::index::syntax::Import;

/// Maximum number of parts followed in a chain such as `a.b.c.d`.
const PARTS_MAX: usize = 16;
/// Methods of built-in types: a call to such a name on an unknown receiver rarely means a method in
/// the project.
pub(super) const COMMON_METHODS: &str = "\
    as_posix copy count debug decode difference discard encode endswith error exception exists findall finditer format \
    fullmatch group groups index info intersection is_dir is_file isdigit issubset items lower lstrip mkdir partition \
    popitem read_text rstrip search setdefault splitlines startswith strip sub title union upper warning write_text";

impl Project<'_> {
    /// The file for `a.b`, `.c` or `..d.e`: a module or the `__init__` of a package.
    pub(super) fn python_module(&self, file: usize, source: &str) -> Option<usize> {
        let source: String = source.split_whitespace().collect();
        let name = source.trim_start_matches('.');
        let dots = source.len() - name.len();
        let own = folder_of(&self.files[file].path);
        let below = name.replace('.', "/");
        if dots > 0 {
            let folder = (1..dots).try_fold(own, |folder, _| (!folder.is_empty()).then(|| folder_of(folder)))?;
            return self.python_file(folder, &below);
        }
        // First the folder that contains the file's package (for a script, its own folder), then
        // the root and `src`, then all folders with packages.
        let begin = self.package_root(own);
        let everywhere = self.python_roots.iter().map(String::as_str);
        let roots = [begin, "", "src"].into_iter().chain(everywhere);
        roots.into_iter().find_map(|root| self.python_file(root, &below)).filter(|found| *found != file)
    }

    /// `folder/below.py`, its stub, or the package with that name.
    fn python_file(&self, folder: &str, below: &str) -> Option<usize> {
        let base = join(folder, below);
        let init = join(&base, "__init__");
        let known = |path: String| self.by_path.get(path.as_str()).copied();
        let package = known(format!("{init}.py")).or_else(|| known(format!("{init}.pyi")));
        let module = || known(format!("{base}.py")).or_else(|| known(format!("{base}.pyi")));
        package.or_else(|| module().filter(|_| !below.is_empty()))
    }

    /// The parent folder of the outermost package around `folder`.
    fn package_root<'p>(&self, folder: &'p str) -> &'p str {
        let is_package = |folder: &str| self.by_path.contains_key(format!("{folder}/__init__.py").as_str());
        let mut at = folder;
        while !at.is_empty() && is_package(at) {
            at = folder_of(at);
        }
        at
    }

    /// Fills `python_roots`: the folders that contain a top-level package, shortest first.
    pub(super) fn find_python_roots(&mut self) {
        let packages = self.files.iter().filter_map(|f| f.path.strip_suffix("/__init__.py"));
        let mut roots: Vec<String> = packages.map(|package| self.package_root(package).to_owned()).collect();
        roots.sort_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
        roots.dedup();
        self.python_roots = roots;
    }

    /// The target of a name for importers of the module: a definition, an import of the module, or
    /// a submodule of the package.
    pub(super) fn python_exported(&self, file: usize, name: &str) -> Option<Meaning> {
        self.by_bare_name(file, name).or_else(|| self.python_submodule(file, name))
    }

    fn python_submodule(&self, file: usize, name: &str) -> Option<Meaning> {
        let path = &self.files[file].path;
        let package = path.rsplit('/').next().is_some_and(|own| own.starts_with("__init__."));
        let found = self.python_file(folder_of(path), name).filter(|found| package && *found != file);
        found.map(Meaning::File)
    }

    pub(super) fn python_import(&self, file: usize, import: &Import) -> Option<Meaning> {
        let module = self.python_module(file, &import.source);
        if import.name == "*" {
            return module.map(Meaning::File);
        }
        let named = module.and_then(|module| self.exported(module, &import.name));
        // A folder without `__init__` is also a package.
        let dot = if import.source.ends_with('.') { "" } else { "." };
        named.or_else(|| self.python_module(file, &format!("{}{dot}{}", import.source, import.name)).map(Meaning::File))
    }

    /// Resolves `a.b.c` inside `from`, looking up each part in the target of the previous one.
    pub(super) fn dotted(&self, file: usize, from: Option<usize>, path: &str) -> Option<Meaning> {
        let mut parts = path.split('.').take(PARTS_MAX);
        let first = parts.next()?;
        let mut target = match first {
            "self" => self.holder_of_self(file, from)?,
            name => match self.scoped(file, from, name) {
                Ok(found) => found.or_else(|| self.imported_as(file, name))?,
                Err(_) => return None,
            },
        };
        for part in parts {
            target = match target {
                Meaning::File(module) => self.exported(module, part)?,
                symbol => self.member_of(symbol, part, false)?.0,
            };
        }
        Some(target)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;

    #[test]
    fn calls_follow_absolute_relative_and_renamed_imports() {
        check(
            &[
                ("shop/__init__.py", "from .cart import Cart as Basket\nfrom . import money\n__all__ = ['Basket']\n"),
                (
                    "shop/cart.py",
                    "from .money import round_up as up\nclass Cart:\n    def total(self):\n        return up(1)\n",
                ),
                ("shop/money.py", "def round_up(n): return n\n"),
                (
                    "app.py",
                    "import shop.cart\nimport shop.money as m\nfrom shop import Basket, money\n\
                     def run():\n    Basket()\n    m.round_up(1)\n    money.round_up(2)\n    shop.cart.Cart()\n    gone.away()\n",
                ),
            ],
            &[
                "shop/cart:Cart.total -> shop/money:round_up 0.95",
                "app:run -> shop/cart:Cart 0.95",
                "app:run -> shop/money:round_up 0.95",
                "app:run -> shop/money:round_up 0.95",
                "app:run -> shop/cart:Cart 0.95",
                "app:run ? away",
            ],
        );
    }

    #[test]
    fn star_imports_namespace_packages_and_src_folders_are_followed() {
        check(
            &[
                ("src/lib/__init__.py", "from .deep.inner import *\n"),
                ("src/lib/deep/inner.py", "def work(): pass\n"),
                (
                    "tests/test_lib.py",
                    "from lib import work\nfrom lib.deep import inner\ndef t():\n    work()\n    inner.work()\n",
                ),
            ],
            &["tests/test_lib:t -> src/lib/deep/inner:work 0.95", "tests/test_lib:t -> src/lib/deep/inner:work 0.95"],
        );
    }

    #[test]
    fn methods_are_found_in_the_class_and_its_bases_also_through_super() {
        check(
            &[
                ("base.py", "class Base:\n    def start(self): pass\n    def stop(self): pass\n"),
                (
                    "a.py",
                    "import base\nclass A(base.Base):\n    def start(this):\n        super().start()\n        this.stop()\n        this.own()\n\
                     \x20   @classmethod\n    def own(cls):\n        cls.make()\n    def make(self): pass\n",
                ),
            ],
            &[
                "a:A -> base:Base 0.95",
                "a:A.start -> base:Base.start 0.9",
                "a:A.start -> base:Base.stop 0.9",
                "a:A.start -> a:A.own 0.95",
                "a:A.own -> a:A.make 0.95",
            ],
        );
    }

    #[test]
    fn a_class_that_is_its_own_base_is_no_endless_loop() {
        check(&[("a.py", "class A(A.B): pass\nA.c()\n")], &["a:A ? B", "a.py ? c"]);
    }

    #[test]
    fn a_standard_module_is_not_taken_for_a_file_beside_it() {
        check(
            &[
                ("pkg/__init__.py", ""),
                ("pkg/types.py", "def new_class(): pass\n"),
                ("pkg/a.py", "import types\ntypes.new_class()\n"),
            ],
            &["pkg/a.py ? types", "pkg/a.py ? new_class"],
        );
    }
}
