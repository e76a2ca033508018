//! The catalogue of tools: the built-in tools and those of MCP servers, or the tools of an
//! evaluation.

use crate::tools::builtin::{self, Builtin, LEAD};
use crate::tools::outcome::cut_line;
use crate::tools::schema::standalone;
use crate::tools::spec::{self, ToolSpec};

/// Maximum number of tools in one catalogue; beyond a few hundred, retrieval becomes the limiting
/// factor.
const TOOLS_MAX: usize = 5_000;

#[derive(Clone, Debug, Default)]
pub struct Catalog {
    specs: Vec<ToolSpec>,
    /// Number of built-in tools, which come first in `specs`.
    builtins: usize,
    /// The tools offered to a model that leads; empty if there are no built-in tools.
    lead: Vec<ToolSpec>,
}

/// The reason why a tool is refused.
#[derive(Debug, thiserror::Error)]
#[error("tool `{name}` cannot be added: {why}")]
pub struct CatalogError {
    name: String,
    why: String,
}

impl Catalog {
    pub fn builtin() -> Catalog {
        let (chosen, lead) = (Builtin::CHOSEN.map(builtin::spec), LEAD.map(builtin::lead_spec));
        Catalog { builtins: chosen.len(), specs: chosen.into(), lead: lead.into() }
    }

    /// A catalogue of tools that can be chosen but not run.
    pub fn described(specs: Vec<ToolSpec>) -> Result<Catalog, CatalogError> {
        let mut catalog = Catalog::default();
        for spec in specs {
            catalog.add(spec)?;
        }
        Ok(catalog)
    }

    /// Adds a tool that is not built in. Fails if its description is invalid, its name is in use,
    /// or the catalogue is full.
    pub fn add(&mut self, mut spec: ToolSpec) -> Result<(), CatalogError> {
        spec.parameters = standalone(std::mem::take(&mut spec.parameters));
        let refused = |why: String| Err(CatalogError { name: cut_line(&spec.name, 100), why });
        if let Err(why) = spec::check(&spec) {
            return refused(why);
        }
        if self.get(&spec.name).is_some() {
            return refused("another tool has that name".to_owned());
        }
        if self.specs.len() >= TOOLS_MAX {
            return refused(format!("the catalogue already has {TOOLS_MAX} tools"));
        }
        self.specs.push(spec);
        Ok(())
    }

    /// The tools that retrieval ranks, in the order in which they were added;
    /// [`crate::tools::Ranked::index`] is an index into this list.
    pub fn specs(&self) -> &[ToolSpec] {
        &self.specs
    }

    /// The built-in tools of a model that leads a turn, in the order of [`LEAD`] and with descriptions of their own.
    pub fn lead(&self) -> &[ToolSpec] {
        &self.lead
    }

    pub fn get(&self, name: &str) -> Option<&ToolSpec> {
        self.specs.iter().chain(&self.lead).find(|spec| spec.name == name)
    }

    pub fn is_builtin(&self, name: &str) -> bool {
        self.specs[..self.builtins].iter().chain(&self.lead).any(|spec| spec.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_with_a_wrong_name_or_one_in_use_is_named() {
        let tool =
            |name: &str| ToolSpec { name: name.to_owned(), parameters: serde_json::json!({}), ..ToolSpec::default() };
        assert_eq!(Catalog::described(vec![tool("a"), tool("b")]).unwrap().specs().len(), 2);
        for (names, expected) in [(["a", "a b"], "tool `a b`"), (["a", "a"], "another tool has that name")] {
            let error = Catalog::described(names.map(tool).to_vec()).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn a_schema_with_type_names_of_python_is_taken() {
        let parameters = serde_json::json!({ "type": "dict", "properties": { "a": { "type": "int" } } });
        let tool = ToolSpec { name: "a".to_owned(), parameters, ..ToolSpec::default() };
        let catalog = Catalog::described(vec![tool]).unwrap();
        assert_eq!(catalog.specs()[0].parameters()[0].kind(), "integer");
    }

    #[test]
    fn every_builtin_tool_has_a_usable_description() {
        let catalog = Catalog::builtin();
        for builtin in Builtin::CHOSEN {
            let spec = catalog.get(builtin.name()).unwrap();
            assert_eq!(spec::check(spec), Ok(()));
            assert!(catalog.is_builtin(&spec.name));
            assert!(spec.description.len() < 260, "{} is too long for a small model", spec.name);
            assert!(spec.parameters().iter().all(|parameter| !parameter.description().is_empty()));
        }
    }
}
