//! The catalogue of tools: built-in ones and those of MCP servers, or tools read from a file for an evaluation.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use crate::tools::builtin::Builtin;
use crate::tools::outcome::cut_line;
use crate::tools::spec::{self, ToolSpec};

/// Largest catalogue file.
const FILE_MAX_BYTES: u64 = 16 << 20;
/// Most tools of one catalogue; beyond a few hundred, retrieval is the limit rather than the catalogue.
const TOOLS_MAX: usize = 5_000;

/// Tools by index and by name.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    specs: Vec<ToolSpec>,
    /// Number of built-in tools; they are the first of `specs`.
    builtins: usize,
    by_name: HashMap<String, usize>,
}

#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    #[error("tool catalogue `{path}` is no readable JSON array of {{name, description, server, parameters}}: {why}")]
    File { path: String, why: String },
    #[error("tool `{name}` cannot be taken: {why}")]
    Refused { name: String, why: String },
}

impl Catalog {
    /// The tools that come with the program.
    pub fn builtin() -> Catalog {
        let mut catalog = Catalog::default();
        for builtin in Builtin::ALL {
            catalog.insert(builtin.spec());
        }
        catalog.builtins = catalog.specs.len();
        catalog
    }

    /// Reads a JSON array of [`ToolSpec`]: tools that can be chosen but not run.
    pub fn from_json(path: &Path) -> Result<Catalog, CatalogError> {
        let failed = |why: String| CatalogError::File { path: path.display().to_string(), why };
        let size = fs::metadata(path).map_err(|error| failed(error.to_string()))?.len();
        if size > FILE_MAX_BYTES {
            return Err(failed(format!("it has {size} bytes, at most {FILE_MAX_BYTES} are read")));
        }
        let bytes = fs::read(path).map_err(|error| failed(error.to_string()))?;
        let specs: Vec<ToolSpec> = serde_json::from_slice(&bytes).map_err(|error| failed(error.to_string()))?;
        Catalog::described(specs)
    }

    /// A catalogue of tools that can be chosen but not run.
    pub fn described(specs: Vec<ToolSpec>) -> Result<Catalog, CatalogError> {
        let mut catalog = Catalog::default();
        for spec in specs {
            catalog.add(spec)?;
        }
        Ok(catalog)
    }

    /// Adds a tool that is not built in; refuses an invalid description, a name in use, or a tool too many.
    pub fn add(&mut self, spec: ToolSpec) -> Result<(), CatalogError> {
        let refused = |why: String| Err(CatalogError::Refused { name: cut_line(&spec.name, 100), why });
        if let Err(why) = spec::check(&spec) {
            return refused(why);
        }
        if self.by_name.contains_key(&spec.name) {
            return refused("another tool has that name".to_owned());
        }
        if self.specs.len() >= TOOLS_MAX {
            return refused(format!("the catalogue has {TOOLS_MAX} tools already"));
        }
        self.insert(spec);
        Ok(())
    }

    fn insert(&mut self, spec: ToolSpec) {
        self.by_name.insert(spec.name.clone(), self.specs.len());
        self.specs.push(spec);
    }

    /// The tools in the order they were added; [`crate::tools::Ranked::index`] is an index into this.
    pub fn specs(&self) -> &[ToolSpec] {
        &self.specs
    }

    pub fn get(&self, name: &str) -> Option<&ToolSpec> {
        self.by_name.get(name).map(|at| &self.specs[*at])
    }

    /// Whether the tool of that name comes with the program.
    pub fn is_builtin(&self, name: &str) -> bool {
        self.by_name.get(name).is_some_and(|at| *at < self.builtins)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn catalogues_are_read_and_wrong_ones_named() {
        let one = r#"{"name":"a","description":"b","parameters":{"type":"object"}}"#;
        let file = tempfile::NamedTempFile::new().unwrap();
        for (json, expected) in [
            (format!("[{one}]"), "1 tools"),
            ("[]".to_owned(), "0 tools"),
            ("{}".to_owned(), "no readable JSON array"),
            (r#"[{"name":"a b","description":"","parameters":{}}]"#.to_owned(), "tool `a b`"),
            (format!("[{one},{one}]"), "another tool has that name"),
        ] {
            fs::write(file.path(), &json).unwrap();
            let got = Catalog::from_json(file.path());
            let got = got.map_or_else(|error| error.to_string(), |read| format!("{} tools", read.specs().len()));
            assert!(got.contains(expected), "{json}: {got}");
        }
        let missing = Catalog::from_json(Path::new("/no/such.json")).unwrap_err().to_string();
        assert!(missing.contains("/no/such.json"), "{missing}");
    }

    #[test]
    fn every_builtin_tool_has_a_usable_description() {
        let catalog = Catalog::builtin();
        for builtin in Builtin::ALL {
            let spec = catalog.get(builtin.name()).unwrap();
            assert_eq!(spec::check(spec), Ok(()));
            assert!(catalog.is_builtin(&spec.name));
            assert!(spec.description.len() < 260, "{} is too long for a small model", spec.name);
            assert!(spec.parameters().iter().all(|parameter| !parameter.description().is_empty()));
        }
    }
}
