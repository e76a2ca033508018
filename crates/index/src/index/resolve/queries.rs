//! Answers single queries about names, for callers that follow one name instead of building all edges.

use super::names::{Meaning, Symbol};
use super::project::Project;
use super::references;
use crate::index::syntax::{Reference, ReferenceKind};

impl Project<'_> {
    /// The target of a name that its own file does not declare: a name in the same Go package, or
    /// an imported name.
    pub fn free(&self, file: usize, name: &str) -> Option<Meaning> {
        let package = if self.is_go(file) { self.go_name(file, name) } else { None };
        package.or_else(|| self.imported_as(file, name))
    }

    /// The possible meanings of `receiver.name`: the target, then the alias that leads to it. The
    /// receiver's type is known only if the outline has the reference.
    pub fn member(
        &self,
        file: usize,
        from: Option<usize>,
        receiver: &str,
        name: &str,
        line: usize,
    ) -> Result<Vec<Meaning>, String> {
        let receiver = &self.as_self(file, from, receiver);
        let all = &self.files[file].outline.references;
        let own = |r: &&Reference| r.name == name && r.from == from && r.receiver.is_some();
        let alike = |r: &&Reference| own(r) && r.receiver.as_ref() == Some(receiver) && r.line <= line;
        let here = |r: &&Reference| own(r) && r.line == line && r.kind == ReferenceKind::Call;
        // The outline lists equal references once, at their first line; calls are preferred to
        // other uses.
        let known = all.iter().filter(alike).max_by_key(|r| (r.kind == ReferenceKind::Call, r.line));
        let known = known.or_else(|| all.iter().find(here).filter(|_| all.iter().filter(here).count() == 1));
        if let Some(known) = known {
            return references::meanings(self, file, known);
        }
        let reference = Reference {
            name: name.to_owned(),
            receiver: Some(receiver.clone()),
            kind: ReferenceKind::Use,
            line,
            from,
            at_load: false,
            value: None,
        };
        Ok(vec![references::untyped_meaning(self, file, &reference)?])
    }

    /// Replaces the method's own receiver name at the beginning of a receiver with `self`, as the
    /// outline does: `self.store` for `s.store`.
    fn as_self(&self, file: usize, from: Option<usize>, receiver: &str) -> String {
        let definition = from.map(|at| &self.files[file].outline.definitions[at]);
        let own = match self.files[file].language.as_str() {
            "python" => Some("cls"),
            "go" => {
                let head = definition.and_then(|d| d.signature.strip_prefix("func ("));
                head.and_then(|head| head.split([' ', ')']).next())
            }
            _ => None,
        };
        let rest = own.filter(|own| !own.is_empty()).and_then(|own| receiver.strip_prefix(own));
        match rest.filter(|rest| rest.is_empty() || rest.starts_with('.')) {
            Some(rest) => format!("self{rest}"),
            None => receiver.to_owned(),
        }
    }

    /// Whether the language's standard library has methods with that name.
    pub fn is_common(&self, file: usize, name: &str) -> bool {
        references::is_common(&self.files[file].language, name)
    }

    /// Each type with each of its bases in the project.
    pub fn bases(&self) -> Vec<(Symbol, Symbol)> {
        let mut all = Vec::new();
        for (file, facts) in self.files.iter().enumerate() {
            let bases = facts.outline.references.iter().filter(|r| r.kind == ReferenceKind::Extends);
            for (from, reference) in bases.filter_map(|r| Some((r.from?, r))) {
                if let Ok(meanings) = references::meanings(self, file, reference)
                    && let Some(Meaning::Symbol(base)) = meanings.first()
                {
                    all.push((Symbol { file, at: from }, *base));
                }
            }
        }
        all
    }

    /// A base of the member's type outside the project, if any: it may prescribe the member's name.
    pub fn foreign_base(&self, symbol: Symbol) -> Option<String> {
        let outline = &self.files[symbol.file].outline;
        let container = outline.definitions[symbol.at].container?;
        let mut bases =
            outline.references.iter().filter(|r| r.kind == ReferenceKind::Extends && r.from == Some(container));
        bases.find(|r| references::meanings(self, symbol.file, r).is_err()).map(|r| r.name.clone())
    }
}
