//! `eval edges`: precision and recall of the call graph against a suite of true call edges.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Report, jsonl, share};
use crate::base::Cancel;
use crate::index::{Graph, Index, Neighbour, Node};

/// A suite's name for code outside every definition.
const MODULE: &str = "<module>";
/// Upper bounds of the confidence bins; the last bin is for certain edges.
const BINS: &[f64] = &[0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.01];

/// One true call, with paths relative to the root; `caller` is `<module>` for top-level code.
#[derive(Clone, Debug, Deserialize)]
pub struct Edge {
    pub caller: String,
    pub caller_file: String,
    pub callee: String,
    pub callee_file: String,
}

/// Reads a suite: JSON lines `{caller, caller_file, callee, callee_file}`.
pub fn read(suite: &Path) -> Result<Vec<Edge>> {
    jsonl::read(suite, r#"{"caller", "caller_file", "callee", "callee_file"}"#)
}

/// A call edge of the graph, with all names that a suite may use for its caller and callee.
struct Found {
    callers: Vec<String>,
    caller_file: String,
    callees: Vec<String>,
    callee_file: String,
    confidence: f64,
}

/// Builds a fresh index in a temporary folder and compares its call edges with the suite's. Only
/// edges whose caller is in a file named in the suite are counted.
pub fn run(root: &Path, suite: &[Edge], report: &mut Report, cancel: &Cancel) -> Result<Value> {
    let suite_files: HashSet<&str> =
        suite.iter().flat_map(|edge| [edge.caller_file.as_str(), edge.callee_file.as_str()]).collect();
    if let Some(gone) = suite.iter().map(|edge| &edge.caller_file).find(|path| !root.join(path).is_file()) {
        let root = root.display();
        bail!("{gone} is not in {root}; use --root for the folder that the suite's paths are relative to");
    }
    let folder = tempfile::tempdir().context("no temporary folder for the index")?;
    let index = Index::open_in(root, folder.path())?;
    let unresolved = index.refresh_lexical(&mut |_| {}, cancel)?.unresolved;
    let graph = index.graph()?;
    let mut found: Vec<Found> = Vec::new();
    let mut places: HashMap<[String; 4], usize> = HashMap::new();
    for (caller, call) in graph.calls() {
        let one = named(&graph, caller, &call);
        if !suite_files.contains(one.caller_file.as_str()) {
            continue;
        }
        let key = [&one.callers[0], &one.caller_file, &one.callees[0], &one.callee_file].map(String::clone);
        let at = *places.entry(key).or_insert(found.len());
        match found.get_mut(at) {
            Some(known) => known.confidence = known.confidence.max(one.confidence),
            None => found.push(one),
        }
    }
    for one in &found {
        report.write(&json!({
            "caller": one.callers[0], "caller_file": one.caller_file, "callee": one.callees[0],
            "callee_file": one.callee_file, "confidence": one.confidence,
        }))?;
    }
    let mut figures = score(suite, &found, report);
    figures["unresolved"] = json!(unresolved);
    Ok(figures)
}

/// The names of caller and callee. A suite may name a method with or without its class, a nested
/// function as itself or as the enclosing function, and the code of a top-level variable as the
/// variable or as the module.
fn named(graph: &Graph, caller: &Node, call: &Neighbour) -> Found {
    let callee = &call.node;
    let names = |node: &Node| {
        let containers = graph.containers(node.id);
        let mut names = vec![node.name.clone()];
        if let Some(container) = containers.first() {
            names.push(format!("{}.{}", container.name, node.name));
        }
        (names, containers.iter().map(|c| (c.name.clone(), c.kind.clone())).collect::<Vec<_>>())
    };
    let (mut callers, around) = names(caller);
    if caller.kind == "module" && caller.id == graph.module_id(&caller.path) {
        callers = vec![MODULE.to_owned()];
    }
    let is_code = |kind: &str| matches!(kind, "function" | "method" | "class");
    if call.at_load && caller.kind == "variable" {
        callers.insert(0, MODULE.to_owned());
    } else if !is_code(&caller.kind) && !around.iter().any(|(_, kind)| is_code(kind)) {
        callers.push(MODULE.to_owned());
    }
    callers.extend(around.into_iter().map(|(name, _)| name));
    let (callees, _) = names(callee);
    Found {
        callers,
        caller_file: caller.path.clone(),
        callees,
        callee_file: callee.path.clone(),
        confidence: call.confidence,
    }
}

fn score(suite: &[Edge], found: &[Found], report: &Report) -> Value {
    let mut true_edges: HashSet<(&str, &str, &str, &str)> = HashSet::new();
    for edge in suite {
        true_edges.insert((&edge.caller, &edge.caller_file, &edge.callee, &edge.callee_file));
    }
    let mut hit: HashSet<(&str, &str, &str, &str)> = HashSet::new();
    let mut bins: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
    let mut right = 0;
    for one in found {
        let pairs = one.callers.iter().flat_map(|caller| one.callees.iter().map(move |callee| (caller, callee)));
        let matches: Vec<_> = pairs
            .map(|(caller, callee)| {
                (caller.as_str(), one.caller_file.as_str(), callee.as_str(), one.callee_file.as_str())
            })
            .filter(|key| true_edges.contains(key))
            .collect();
        let is_right = !matches.is_empty();
        hit.extend(matches.first());
        right += usize::from(is_right);
        let bin = BINS.iter().position(|end| one.confidence < *end).unwrap_or(BINS.len() - 1);
        let counts = bins.entry(bin).or_default();
        *counts = (counts.0 + 1, counts.1 + usize::from(is_right));
        if !is_right {
            let (caller, callee) = (&one.callers[0], &one.callees[0]);
            let Found { caller_file, callee_file, confidence, .. } = one;
            report.say(|| format!("wrong {caller_file}:{caller} -> {callee_file}:{callee} ({confidence:.2})"));
        }
    }
    let mut missed: Vec<_> = true_edges.difference(&hit).collect();
    missed.sort();
    for (caller, caller_file, callee, callee_file) in missed {
        report.say(|| format!("missed {caller_file}:{caller} -> {callee_file}:{callee}"));
    }
    let by_confidence: Map<String, Value> = bins
        .into_iter()
        .map(|(bin, (count, right))| {
            let from = if bin == 0 { 0.0 } else { BINS[bin - 1] };
            (format!("{from:.2}"), json!({ "found": count, "precision": share(right, count) }))
        })
        .collect();
    json!({
        "expected": true_edges.len(), "found": found.len(), "precision": share(right, found.len()),
        "recall": share(hit.len(), true_edges.len()), "by_confidence": by_confidence,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(caller: &str, callee: &str) -> Edge {
        Edge { caller: caller.into(), caller_file: "a.ts".into(), callee: callee.into(), callee_file: "b.ts".into() }
    }

    fn found(callers: &[&str], callee: &str, confidence: f64) -> Found {
        let callers = callers.iter().map(|name| (*name).to_owned()).collect();
        let (caller_file, callee_file) = ("a.ts".into(), "b.ts".into());
        Found { callers, caller_file, callees: vec![callee.into()], callee_file, confidence }
    }

    #[test]
    fn an_edge_is_right_under_any_name_of_its_caller() {
        let suite = [edge("f", "x"), edge(MODULE, "y"), edge("g", "z")];
        let all = [found(&["f"], "x", 1.0), found(&["v", MODULE], "y", 0.95), found(&["f"], "z", 0.5)];
        let figures = score(&suite, &all, &Report::new(None, None).unwrap());
        assert_eq!((&figures["expected"], &figures["found"]), (&json!(3), &json!(3)));
        assert_eq!((&figures["precision"], &figures["recall"]), (&json!(0.667), &json!(0.667)));
        assert_eq!(figures["by_confidence"]["0.00"], json!({ "found": 1, "precision": 0.0 }));
        assert_eq!(figures["by_confidence"]["0.99"], json!({ "found": 1, "precision": 1.0 }));
    }
}
