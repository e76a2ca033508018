//! Decides, before a model is asked, which MCP tools it may call for a step.

use serde_json::Value;

use crate::language::words;
use crate::models::capability::Choices;
use crate::models::dialect::ToolText;
use crate::request::Text;
use crate::tools::{Ranked, ToolSpec};

use super::budget::{Guided, Pace};
use super::notation;
use super::player::Player;
use super::toolkit::Toolkit;

/// Minimum log-odds from retrieval, in nats, for offering a tool. In BFCL's development cases, 97
/// of 100 right tools reach it, as do 41 of 100 top-ranked tools when none is right.
const FITS_MIN: f32 = -1.2;
/// Maximum length of the description of a tool and of each of its parameters, in characters.
const DESCRIPTION_CHARS: usize = 240;
pub const PARAMETER_CHARS: usize = 100;

/// The tools in `ranked` that may do what `text` asks for, in the same order; all of them if `text`
/// is not English, because retrieval is trained only on English.
pub fn likely(ranked: &[Ranked], specs: &[ToolSpec], text: &Text) -> Vec<Ranked> {
    let is_english = text.is_english();
    // Remove the prior that one of the many tools is right: most steps need a built-in tool.
    let prior = (specs.len() as f32).ln();
    ranked.iter().filter(|one| !is_english || one.fits - prior >= FITS_MIN).copied().collect()
}

/// The best of `ranked` for a model with these measured `choices`: few, or as many as the user set
/// if the model chooses equally well among many and the prompt has room for them.
pub fn best(toolkit: &Toolkit, model: &Player, choices: Choices, ranked: &[Ranked]) -> Vec<ToolSpec> {
    let most = if choices.bears_many() { toolkit.tools_offered } else { Guided::TOOLS_FEW.min(toolkit.tools_offered) };
    let specs = ranked.iter().filter_map(|one| toolkit.catalog.specs().get(one.index));
    let room = Guided::of(Pace::of(toolkit, model)).tools;
    let mut taken = 0;
    let fits = |(at, spec): &(usize, &ToolSpec)| {
        taken += model.count(&text(spec).json().to_string());
        *at < Guided::TOOLS_FEW || taken <= room
    };
    specs.take(most).enumerate().take_while(fits).map(|(_, spec)| spec.clone()).collect()
}

/// A tool as shown to the model that chooses.
pub fn text(tool: &ToolSpec) -> ToolText {
    let mut text = notation::shown(tool, DESCRIPTION_CHARS);
    shorten(&mut text.parameters, true);
    text
}

/// Shortens the parameter descriptions in a schema, which are most of its text.
fn shorten(schema: &mut Value, is_root: bool) {
    match schema {
        Value::Object(fields) => {
            if !is_root && let Some(Value::String(about)) = fields.get_mut("description") {
                *about = words::shorten(about, PARAMETER_CHARS);
            }
            fields.values_mut().for_each(|field| shorten(field, false));
        }
        Value::Array(all) => all.iter_mut().for_each(|one| shorten(one, false)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_that_does_something_else_is_not_offered() {
        let specs = vec![ToolSpec::default(); 4];
        let ranked = [(0, 3.0), (1, FITS_MIN + 1.5), (2, FITS_MIN + 1.3), (3, f32::INFINITY)];
        let ranked = ranked.map(|(index, fits)| Ranked { index, score: 0.0, dense: 0.0, fits });
        let of = |text: &str| likely(&ranked, &specs, &Text::of(text)).iter().map(|one| one.index).collect::<Vec<_>>();
        // With four tools, ln 4 = 1.39 is subtracted from each score.
        assert_eq!(of("wait 15 seconds"), [0, 1, 3]);
        for other in ["подожди 15 секунд", "warte 15 Sekunden"] {
            assert_eq!(of(other), [0, 1, 2, 3], "{other}");
        }
    }
}
