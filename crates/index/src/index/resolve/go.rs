//! Resolves Go packages: a package is a folder, found by its module path, and its files share one scope.

use super::names::Meaning;
use super::project::Project;
use crate::index::paths::{folder_of, join};
use crate::index::syntax::{Definition, Kind};

/// Methods in the standard library: a call to such a name on an unknown receiver rarely means a
/// method in the project.
pub(super) const COMMON_METHODS: &str = "\
    Add Close Done Error Errorf Fatal Fatalf Format Get Helper Len Less Load Lock Log Logf Next Parse Print Printf \
    Println RLock RUnlock Read Run Scan Set Store String Swap Unlock Wait Write WriteString";

/// Folder and path of the module that a `go.mod` declares.
///
/// ```text
/// module example.com/shop/v2 // a comment
/// ```
pub(super) fn module(path: &str, text: &str) -> Option<(String, String)> {
    let folder = path.strip_suffix("go.mod").filter(|folder| folder.is_empty() || folder.ends_with('/'))?;
    let mut lines = text.lines().filter_map(|line| line.trim().strip_prefix("module"));
    let path = lines.find(|rest| rest.starts_with([' ', '\t']))?;
    let name = path.split("//").next()?.trim().trim_matches(['"', '`']);
    (!name.is_empty()).then(|| (folder.trim_end_matches('/').to_owned(), name.to_owned()))
}

impl Project<'_> {
    /// The files of the imported package, by path; tests last, because other packages cannot see
    /// them.
    pub(super) fn go_package(&self, source: &str) -> &[usize] {
        // Modules may be nested: the one with the longest path contains the package.
        let inside = self.go_modules.iter().filter_map(|(folder, path)| {
            let rest = source.strip_prefix(path.as_str())?;
            (rest.is_empty() || rest.starts_with('/')).then(|| (path.len(), join(folder, rest.trim_start_matches('/'))))
        });
        let folder = inside.max_by_key(|(length, _)| *length).map(|(_, folder)| folder);
        folder.and_then(|folder| self.go_folders.get(&folder)).map_or(&[], Vec::as_slice)
    }

    /// The first file of a package, which represents it in the graph.
    pub(super) fn go_module(&self, source: &str) -> Option<usize> {
        self.go_package(source).first().copied()
    }

    /// The Go files in the folder of `file`.
    fn beside(&self, file: usize) -> &[usize] {
        self.go_folders.get(folder_of(&self.files[file].path)).map_or(&[], Vec::as_slice)
    }

    /// A top-level definition in any file of the same package.
    pub(super) fn go_name(&self, file: usize, name: &str) -> Option<Meaning> {
        self.in_package(file, name, |definition| definition.kind != Kind::Method)
    }

    /// A method of a type, in any file of the package.
    pub(super) fn go_method(&self, file: usize, owner: &str, name: &str) -> Option<Meaning> {
        self.in_package(file, name, |definition| definition.member_of.as_deref() == Some(owner))
    }

    fn in_package(&self, file: usize, name: &str, fits: impl Fn(&Definition) -> bool) -> Option<Meaning> {
        self.beside(file).iter().find_map(|file| {
            let definitions = &self.files[*file].outline.definitions;
            let found = self.members.get(&(*file, None, name))?.iter().find(|at| fits(&definitions[**at]))?;
            Some(Meaning::symbol(*file, *found))
        })
    }

    /// Lists the Go files of each folder.
    pub(super) fn find_go_folders(&mut self) {
        for (file, facts) in self.files.iter().enumerate().filter(|(_, f)| f.language == "go") {
            self.go_folders.entry(folder_of(&facts.path).to_owned()).or_default().push(file);
        }
        for files in self.go_folders.values_mut() {
            files.sort_by_key(|file| (self.files[*file].path.ends_with("_test.go"), *file));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::check as calls;
    use super::*;

    const MODULE: (&str, &str) = ("go.mod", "module example.com/shop\n");

    #[test]
    fn a_package_is_a_folder_and_an_import_its_path() {
        calls(
            &[
                MODULE,
                (
                    "main.go",
                    "package main\nimport (\n\"fmt\"\n\"example.com/shop/cart\"\nm \"example.com/shop/money\"\n. \"example.com/shop/text\"\n)\n\
                     func main() { cart.New(); m.Round(1); Title(); helper(); fmt.Sprint() }\n",
                ),
                ("help.go", "package main\nfunc helper() {}\n"),
                ("cart/cart.go", "package cart\nfunc New() *Cart { return build() }\n"),
                ("cart/build.go", "package cart\ntype Cart struct{}\nfunc build() *Cart { return &Cart{} }\n"),
                ("money/money.go", "package money\nfunc Round(n int) int { return n }\n"),
                ("text/text.go", "package text\nfunc Title() {}\n"),
            ],
            &[
                "main:main -> cart/cart:New 0.95",
                "main:main -> money/money:Round 0.95",
                "main:main -> text/text:Title 0.95",
                "main:main -> help:helper 1",
                "main.go ? fmt",
                "main:main ? Sprint",
                "cart/cart:New -> cart/build:build 1",
            ],
        );
    }

    #[test]
    fn methods_belong_to_their_receivers_type_in_any_file() {
        calls(
            &[
                MODULE,
                (
                    "a.go",
                    "package shop\ntype Base struct{}\nfunc (b *Base) Log2() {}\ntype Cart struct { *Base; n int }\n",
                ),
                (
                    "b.go",
                    "package shop\nfunc (c *Cart) Total() int { c.add(); c.Log2(); return c.n }\nfunc (c Cart) add() {}\n\
                     type Other struct{}\nfunc (o Other) add() {}\n",
                ),
            ],
            &["a:Cart -> a:Base 1", "b:Total -> b:add 0.95", "b:Total -> a:Log2 0.9"],
        );
    }

    #[test]
    fn the_nearest_module_holds_a_package() {
        calls(
            &[
                MODULE,
                ("tools/go.mod", "module example.com/shop/tools\n"),
                ("tools/gen/gen.go", "package gen\nfunc Make() {}\n"),
                ("main.go", "package main\nimport \"example.com/shop/tools/gen\"\nfunc main() { gen.Make() }\n"),
            ],
            &["main:main -> tools/gen/gen:Make 0.95"],
        );
    }

    fn check(go_mod: &str, expected: Option<&str>) {
        let read = module("tools/go.mod", go_mod);
        assert_eq!(read, expected.map(|path| ("tools".to_owned(), path.to_owned())));
    }

    #[test]
    fn the_module_path_is_read() {
        check("// shop\nmodule example.com/shop/v2 // here\n\ngo 1.22\n", Some("example.com/shop/v2"));
        check("module \"a b\"\n", Some("a b"));
        check("modules x\n", None);
        check("modules x\nmodule y\n", Some("y"));
        check("go 1.22\n", None);
    }
}
