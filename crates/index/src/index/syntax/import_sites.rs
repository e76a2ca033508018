//! Finds the byte ranges of import statements in a text, so that they can be rewritten.

use std::ops::Range;

use tree_sitter::Node;

use super::parts::Imported;
use super::parts::python::imports;
use super::{all_children, content, descend, interior, tree_of};
use crate::base::is_listed;

/// Calls whose first argument names a module.
const CALLS: &str = "\
    import jest.doMock jest.mock jest.requireActual jest.requireMock jest.unmock require require.resolve vi.doMock \
    vi.importActual vi.importMock vi.mock vi.unmock";

/// A place that names a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportSite {
    /// The complete statement; for a call only the argument.
    pub statement: Range<usize>,
    pub form: ImportForm,
    /// The module as written, without quotes.
    pub source: String,
    pub source_bytes: Range<usize>,
    /// The names that a Python statement imports, in order; empty for scripts.
    pub names: Vec<Imported>,
    /// Counted from 1.
    pub line: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportForm {
    /// `import … from 'source'`, `export … from 'source'`, `require('source')` and other calls.
    Script,
    /// `require(expression)`: the module is determined at run time. `source` is the expression.
    Computed,
    /// `from source import …`.
    From,
    /// `import source`, `import source as alias`: one site per module.
    Module,
}

/// The import statements of scripts and Python, in order; `None` for other languages.
pub fn import_sites(language: &str, source: &str) -> Option<Vec<ImportSite>> {
    let python = language == "python";
    if !python && !matches!(language, "typescript" | "tsx" | "javascript" | "jsx") {
        return None;
    }
    let tree = tree_of(language, source)?;
    let mut found = Vec::new();
    descend(tree.root_node(), |node| {
        match node.kind() {
            "import_from_statement" => found.extend(from(node, source)),
            "import_statement" if python => found.extend(modules(node, source)),
            "import_statement" | "export_statement" => found.extend(script(node, source)),
            "call_expression" => found.extend(call(node, source)),
            _ => {}
        }
        true
    });
    Some(found)
}

fn line(node: Node) -> usize {
    node.start_position().row + 1
}

/// `from a.b import c as d, e`.
fn from(node: Node, source: &str) -> Option<ImportSite> {
    let module = node.child_by_field_name("module_name")?;
    Some(ImportSite {
        statement: node.byte_range(),
        form: ImportForm::From,
        source: content(module, source).split_whitespace().collect(),
        source_bytes: module.byte_range(),
        names: imports(node, source).into_iter().filter(|one| one.name != "*").collect(),
        line: line(node),
    })
}

/// `import a.b, c as d`.
fn modules<'t>(node: Node<'t>, source: &'t str) -> impl Iterator<Item = ImportSite> {
    imports(node, source).into_iter().map(move |one| {
        let is_aliased = one.bytes.len() > one.source.len();
        ImportSite {
            statement: node.byte_range(),
            form: ImportForm::Module,
            source_bytes: one.bytes.start..one.bytes.start + one.source.len(),
            line: source[..one.bytes.start].matches('\n').count() + 1,
            source: one.source.clone(),
            names: vec![Imported {
                name: "*".to_owned(),
                local: if is_aliased { one.local.clone() } else { String::new() },
                ..one
            }],
        }
    })
}

fn script(node: Node, source: &str) -> Option<ImportSite> {
    let clause = all_children(node).find(|c| c.kind() == "import_require_clause");
    let string = node.child_by_field_name("source").or_else(|| clause?.child_by_field_name("source"))?;
    Some(site(node, ImportForm::Script, interior(string), source))
}

fn site(node: Node, form: ImportForm, bytes: Range<usize>, source: &str) -> ImportSite {
    let module = source.get(bytes.clone()).unwrap_or_default().to_owned();
    let statement = node.byte_range();
    ImportSite { statement, form, source: module, source_bytes: bytes, names: Vec::new(), line: line(node) }
}

fn call(node: Node, source: &str) -> Option<ImportSite> {
    let function = node.child_by_field_name("function")?;
    let argument =
        all_children(node.child_by_field_name("arguments")?).find(|c| c.is_named() && c.kind() != "comment")?;
    if !is_listed(CALLS, content(function, source)) {
        return None;
    }
    Some(match argument.kind() {
        "string" => site(argument, ImportForm::Script, interior(argument), source),
        _ => site(argument, ImportForm::Computed, argument.byte_range(), source),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(language: &str, source: &str, expected: &[&str]) {
        let sites = import_sites(language, source).unwrap();
        let one = |site: &ImportSite| {
            let names: Vec<String> = site.names.iter().map(|n| format!("{} as {}", n.name, n.local)).collect();
            assert_eq!(source[site.source_bytes.clone()], *site.source);
            format!("{}: {}", site.source, names.join(", "))
        };
        assert_eq!(sites.iter().map(one).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn every_form_of_import_is_found_with_its_names() {
        check(
            "typescript",
            "import a, { b as c } from './x';\nimport './z';\nexport * from './y';\nimport z = require('z');\n",
            &["./x: ", "./z: ", "./y: ", "z: "],
        );
        check(
            "javascript",
            "const { a } = require('./x');\nimport(/* c */ './y');\njest.mock('./z');\nf('./w');\nrequire(`./${v}`);\n",
            &["./x: ", "./y: ", "./z: ", "`./${v}`: "],
        );
        check(
            "python",
            "from .a import (b, c as d,\n)\nfrom . import *\nimport e.f, g as h\n",
            &[".a: b as b, c as d", ".: ", "e.f: * as ", "g: * as h"],
        );
    }
}
