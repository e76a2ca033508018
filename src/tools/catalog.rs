//! The catalogue of tools: built-in ones and those of MCP servers, or tools read from a file for an evaluation.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::tools::builtin::Builtin;
use crate::tools::schema;
use crate::tools::spec::ToolSpec;

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
    #[error("tool catalogue `{path}` cannot be read: {why}")]
    Unreadable { path: String, why: String },
    #[error("tool catalogue `{path}` is no JSON array of {{name, description, server, parameters}}: {why}")]
    Malformed { path: String, why: String },
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
        let shown = || path.display().to_string();
        let unreadable = |why: String| CatalogError::Unreadable { path: shown(), why };
        let mut text = String::new();
        let file = File::open(path).map_err(|e| unreadable(e.to_string()))?;
        file.take(FILE_MAX_BYTES + 1).read_to_string(&mut text).map_err(|e| unreadable(e.to_string()))?;
        if text.len() as u64 > FILE_MAX_BYTES {
            return Err(unreadable(format!("it is larger than {FILE_MAX_BYTES} bytes")));
        }
        let specs: Vec<ToolSpec> =
            serde_json::from_str(&text).map_err(|e| CatalogError::Malformed { path: shown(), why: e.to_string() })?;
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
    pub fn add(&mut self, mut spec: ToolSpec) -> Result<(), CatalogError> {
        schema::standardize(&mut spec.parameters);
        let refused =
            |why: String| Err(CatalogError::Refused { name: crate::tools::outcome::cut_line(&spec.name, 100), why });
        if let Err(why) = schema::check(&spec) {
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

    fn check(json: &str, expected: Result<usize, &str>) {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), json).unwrap();
        match (Catalog::from_json(file.path()), expected) {
            (Ok(catalog), Ok(count)) => assert_eq!(catalog.specs().len(), count),
            (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
            (got, expected) => panic!("{:?}, expected {expected:?}", got.map(|c| c.specs().len())),
        }
    }

    #[test]
    fn catalogues_are_read_and_wrong_ones_named() {
        check(r#"[{"name":"a","description":"b","parameters":{"type":"object"}}]"#, Ok(1));
        check("[]", Ok(0));
        check("{}", Err("no JSON array"));
        check(r#"[{"name":"a b","description":"","parameters":{}}]"#, Err("tool `a b`"));
        let twice = r#"{"name":"a","description":"","parameters":{}}"#;
        check(&format!("[{twice},{twice}]"), Err("another tool has that name"));
        let missing = Catalog::from_json(Path::new("/no/such.json")).unwrap_err().to_string();
        assert!(missing.contains("/no/such.json"), "{missing}");
    }

    #[test]
    fn every_builtin_tool_has_a_usable_description() {
        let catalog = Catalog::builtin();
        for builtin in Builtin::ALL {
            let spec = catalog.get(builtin.name()).unwrap();
            assert_eq!(schema::check(spec), Ok(()));
            assert!(catalog.is_builtin(&spec.name));
            assert!(spec.description.len() < 260, "{} is too long for a small model", spec.name);
            assert!(spec.parameters().iter().all(|parameter| !parameter.description().is_empty()));
        }
    }
}
