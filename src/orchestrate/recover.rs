//! Another way to do what failed, where code knows one: a file that lies elsewhere under the same name.

use serde_json::Value;

use crate::tools::{Context, ToolCall};

use super::evidence::Entry;
use super::toolkit::Toolkit;

/// Files of one name that are looked at; with more than one nobody is meant.
const SAME_NAME_MAX: usize = 5;

/// The same call with another path, and why; only for tools that read: what is changed is what the user named.
pub fn other_way(failed: &Entry, toolkit: &Toolkit, context: &Context) -> Option<(ToolCall, String)> {
    let path = failed.arguments.get("path")?.as_str()?;
    if failed.executing || context.root.path().join(path).exists() {
        return None;
    }
    let name = path.rsplit('/').next().filter(|name| name.contains('.'))?;
    let found = toolkit.index.as_ref()?.find_files(name, SAME_NAME_MAX).ok()?;
    let mut same = found.into_iter().filter(|one| one.rsplit('/').next() == Some(name));
    let (other, None) = (same.next()?, same.next()) else { return None };
    let mut arguments = failed.arguments.clone();
    let why = format!("{path} does not exist; {other} is the only file of that name");
    arguments.insert("path".to_owned(), Value::String(other));
    Some((ToolCall { tool: failed.tool.clone(), arguments }, why))
}

/// Whether a later call did another way what this one failed at.
pub fn replaced(failed: &Entry, calls: &[&Entry]) -> bool {
    calls.iter().any(|other| other.id > failed.id && other.tool == failed.tool && other.succeeded())
}
