//! Recognises requests that spell out exactly what to do: code carries them out at once, without a
//! model.

use serde_json::{Map, Value};

use crate::language::clauses::{Part, PartKind};
use crate::request::complete::is_change;
use crate::request::{Kind, Step, Text, clause, forms};
use crate::tools::builtin::Builtin;

use super::guide;
use super::plan::{self, Plan};
use super::toolkit::Toolkit;

/// Maximum length, in words, of a clause that replaces one value by another; a longer one asks for
/// more.
const VALUE_WORDS: usize = 18;
/// Tools whose calls a clause can spell out completely, and whose result is all that the clause
/// asks for.
const TOOLS: &[Builtin] = &[
    Builtin::ListDir,
    Builtin::FindFiles,
    Builtin::SearchText,
    Builtin::ReadFile,
    Builtin::WriteFile,
    Builtin::DeleteFile,
];

/// Whether every part of the request is a rename, a move, the replacement of a value in one file, a
/// list from the index, or a command.
pub fn is_all(toolkit: &Toolkit, request: &Text, parts: &[Part]) -> bool {
    let is_spelled_out = |part: &Part| {
        let clause = Clause::of(part);
        clause.is_order() && (clause.text.renames().is_some() || clause.gives_value() || clause.runs(toolkit))
    };
    let is_renaming = || request.renames().is_some();
    toolkit.context.is_some()
        && (guide::is_list(toolkit, parts) || is_renaming() || !parts.is_empty() && parts.iter().all(is_spelled_out))
}

/// The plan of a request in which every part is a separate step: a spelled-out step, a change that
/// names its own file and is independent of the other parts, or a question. If an MCP tool fits a
/// part and the request's language has clause rules, every clause becomes a step. `None` if a model
/// has to decide which parts belong together.
pub async fn plan(toolkit: &Toolkit, request: &Text, parts: &[Part]) -> Option<Plan> {
    if parts.len() > 1 && request.has_rules() && is_of_servers(toolkit, parts).await {
        return Some(plan::floor(parts));
    }
    let mut steps: Vec<Step> = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        let clause = Clause::of(part);
        if let Some(all) = clause.text.renames().filter(|_| clause.is_order()) {
            let renames = all.iter().zip(steps.len() + 1..);
            let renames: Vec<Step> =
                renames.map(|((kind, text), number)| Step::of(number, *kind, text.clone())).collect();
            steps.extend(renames);
            continue;
        }
        let kind = if clause.runs(toolkit) {
            Kind::Run
        } else if let Some((tool, _)) = of_tool(toolkit, part) {
            if tool.mutates() { Kind::Edit } else { Kind::Ask }
        } else if clause.gives_value() && clause.is_order() || parts.len() > 1 && is_change(part, &parts[..at]) {
            Kind::Edit
        } else if part.kind == PartKind::Answer && at > 0 {
            // `Read F and tell me …` is one step.
            if let Some(last) = steps.last_mut().filter(|_| reads(toolkit, &parts[at - 1])) {
                last.text = format!("{}. {}", last.text, part.text).into();
                continue;
            }
            Kind::Ask
        } else {
            return None;
        };
        steps.push(Step { kind, ..Step::of_part(steps.len() + 1, part.clone(), Vec::new()) });
    }
    (!steps.is_empty()).then(|| Plan { steps, ..Plan::default() })
}

/// Whether an MCP tool fits one of the parts.
async fn is_of_servers(toolkit: &Toolkit, parts: &[Part]) -> bool {
    for part in parts {
        if toolkit.server_tools(&part.full_text()).await.first().is_some_and(|best| best.fits > 0.0) {
            return true;
        }
    }
    false
}

/// A tool and the arguments of each of its calls.
pub type Calls = (Builtin, Vec<Map<String, Value>>);

/// The calls that a step spells out.
pub enum Spelled {
    /// Everything that the step asks for.
    All(Calls),
    /// The file reads at the beginning of a question.
    First(Calls),
}

/// The calls that a step of kind `Ask` or `Edit` spells out.
pub fn calls(toolkit: &Toolkit, step: &Step) -> Option<Spelled> {
    let parts = super::parts(toolkit, &step.text);
    let calls = of_tool(toolkit, parts.first()?)?;
    match (parts.len(), step.kind) {
        (1, Kind::Ask | Kind::Edit) => Some(Spelled::All(calls)),
        (_, Kind::Ask) if calls.0 == Builtin::ReadFile => Some(Spelled::First(calls)),
        _ => None,
    }
}

/// Whether a part only asks to read files.
fn reads(toolkit: &Toolkit, part: &Part) -> bool {
    of_tool(toolkit, part).is_some_and(|(tool, _)| tool == Builtin::ReadFile)
}

/// Whether code carries out the complete step, without a model.
pub fn is_by_code(toolkit: &Toolkit, step: &Step) -> bool {
    let parts = super::parts(toolkit, &step.text);
    let [part] = parts.as_slice() else { return false };
    let clause = Clause::of(part);
    of_tool(toolkit, part).is_some() || clause.is_order() && clause.gives_value() || clause.runs(toolkit)
}

/// A part of a request, with its own text.
struct Clause<'a> {
    part: &'a Part,
    text: Text,
}

impl Clause<'_> {
    fn of(part: &Part) -> Clause<'_> {
        Clause { part, text: Text::of(&part.text) }
    }

    /// Whether the clause is an order that can be understood on its own.
    fn is_order(&self) -> bool {
        clause::is_order(self.part)
    }

    /// Whether the clause states which value replaces which in one file.
    fn gives_value(&self) -> bool {
        let is_short = self.part.paths.len() == 1 && self.text.has_at_most(VALUE_WORDS);
        let replacements = || self.text.replacements();
        is_short && (replacements().values.is_some() || replacements().names.is_some())
    }

    /// Whether the clause orders to run a command that it quotes, or one of the project's commands.
    fn runs(&self, toolkit: &Toolkit) -> bool {
        let (Clause { part, text }, Some(context)) = (self, &toolkit.context) else { return false };
        let of_project = || part.paths.is_empty() && forms::project_command(part, context.root.path()).is_some();
        self.is_order() && Kind::of_clause(part) == Kind::Run && (text.command().is_some() || of_project())
    }
}

/// The tool whose calls an order spells out with all arguments, and those calls. The calls never
/// overwrite an existing file.
fn of_tool(toolkit: &Toolkit, part: &Part) -> Option<Calls> {
    let context = toolkit.context.as_ref()?;
    let tool = toolkit.tool_for(part).filter(|tool| TOOLS.contains(tool) && clause::is_order(part))?;
    let is_whole = match tool {
        Builtin::ReadFile => clause::only_reads(part),
        Builtin::WriteFile => !part.paths.iter().any(|path| guide::exists(context, path)),
        _ => true,
    };
    let calls = forms::calls(toolkit.project(), tool, part).ok().filter(|calls| is_whole && !calls.is_empty())?;
    Some((tool, calls))
}
