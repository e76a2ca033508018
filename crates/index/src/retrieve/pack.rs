//! Fits hits into a token budget: bodies of the most valuable ones, signatures or names of the others.

use std::fmt::Write;

use super::Hit;

/// How much of a hit is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// Path, lines and name.
    Name,
    /// Path, lines, name, doc comment and signature.
    Signature,
    /// Path, line numbers, name and all lines.
    Body,
}

impl Form {
    const ALL: [Form; 3] = [Form::Name, Form::Signature, Form::Body];

    /// The value of a form relative to the body.
    fn worth(self) -> f64 {
        match self {
            Form::Name => 0.15,
            Form::Signature => 0.4,
            Form::Body => 1.0,
        }
    }
}

/// One hit of a pack.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Packed {
    pub path: String,
    /// First and last line, counted from 1.
    pub start: usize,
    pub end: usize,
    pub form: Form,
    pub text: String,
}

/// Hits that fit a budget, best first.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Pack {
    pub items: Vec<Packed>,
    pub tokens: usize,
    /// Number of hits for which not even the name fitted.
    pub left_out: usize,
}

impl Pack {
    /// The whole pack as text for a model.
    pub fn text(&self) -> String {
        self.items.iter().map(|i| i.text.as_str()).collect()
    }
}

/// Chooses a form for every hit so that all together take at most `budget` tokens, as counted by
/// `count`. The body of the best hit comes first, if it fits, because short bodies of worse hits
/// have more value per token; then, greedily, the step (to a higher form of one hit) with the most.
pub fn pack(hits: &[Hit], budget: usize, count: &dyn Fn(&str) -> usize) -> Pack {
    let forms: Vec<[(String, usize); 3]> = hits
        .iter()
        .map(|hit| {
            Form::ALL.map(|form| {
                let text = render(hit, form);
                let tokens = count(&text);
                (text, tokens)
            })
        })
        .collect();
    let mut chosen: Vec<Option<Form>> = vec![None; hits.len()];
    let mut used = 0;
    if let Some([.., (_, body)]) = forms.first().filter(|[.., (_, body)]| *body <= budget) {
        chosen[0] = Some(Form::Body);
        used = *body;
    }
    // Every step raises the form of one hit, and there are three forms.
    for _ in 0..hits.len() * Form::ALL.len() {
        let steps = (0..hits.len())
            .flat_map(|at| Form::ALL.map(|form| (at, form)))
            .filter(|(at, form)| Some(*form) > chosen[*at]);
        let gains = steps.filter_map(|(at, form)| {
            let before = chosen[at].map_or(0, |f| forms[at][f as usize].1);
            let cost = forms[at][form as usize].1.saturating_sub(before);
            // Later hits are worth less even if their scores are close, because the right one is
            // usually near the top.
            let value = hits[at].score * (form.worth() - chosen[at].map_or(0.0, Form::worth)) / (1.0 + at as f64);
            (used + cost <= budget).then_some((at, form, cost, value / cost.max(1) as f64))
        });
        let Some((at, form, cost, _)) = gains.reduce(|a, b| if b.3 > a.3 { b } else { a }) else { break };
        chosen[at] = Some(form);
        used += cost;
    }
    let items: Vec<Packed> = hits
        .iter()
        .zip(forms)
        .zip(&chosen)
        .filter_map(|((hit, mut forms), form)| {
            let form = (*form)?;
            let text = std::mem::take(&mut forms[form as usize].0);
            Some(Packed { path: hit.path.clone(), start: hit.start, end: hit.end, form, text })
        })
        .collect();
    Pack { left_out: hits.len() - items.len(), items, tokens: used }
}

/// A hit as text in one form, beginning with path and lines.
fn render(hit: &Hit, form: Form) -> String {
    let mut text = format!("{}:{}-{}", hit.path, hit.start, hit.end);
    if let (Some(kind), Some(symbol)) = (&hit.kind, &hit.symbol) {
        // Writing to a string cannot fail.
        let _ = write!(text, " {kind} {symbol}");
    }
    text.push('\n');
    match form {
        Form::Name => {}
        Form::Signature => {
            let lines = [hit.doc.as_str(), hit.signature.as_str()];
            lines.iter().filter(|l| !l.is_empty()).for_each(|l| text.extend([l, "\n"]));
        }
        Form::Body => {
            text.push_str(hit.snippet.trim_end());
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hit(symbol: &str, lines: usize, score: f64) -> Hit {
        Hit {
            chunk: 1,
            path: "src/a.ts".into(),
            start: 1,
            end: lines,
            symbol: Some(symbol.into()),
            kind: Some("function".into()),
            signature: format!("function {symbol}()"),
            doc: "Does it.".into(),
            snippet: "some code here\n".repeat(lines),
            score,
            parts: Vec::new(),
        }
    }

    fn words(text: &str) -> usize {
        text.split_whitespace().count()
    }

    fn check(hits: &[Hit], budget: usize, expected: &[Form]) {
        let pack = pack(hits, budget, &words);
        assert_eq!(pack.items.iter().map(|i| i.form).collect::<Vec<_>>(), expected, "budget {budget}");
        assert!(pack.tokens <= budget && pack.tokens == words(&pack.text()));
        assert_eq!(pack.left_out, hits.len() - expected.len());
    }

    #[test]
    fn the_budget_decides_between_bodies_signatures_and_names() {
        use Form::*;
        let hits = [hit("first", 20, 2.0), hit("second", 200, 1.0), hit("third", 10, 0.5)];
        check(&hits, 1_000, &[Body, Body, Body]);
        check(&hits, 110, &[Body, Signature, Body]);
        check(&hits, 10, &[Signature, Name]);
        // The best body, although that of the second hit has more value per token.
        let hits = [hit("first", 20, 1.0), hit("second", 10, 1.0)];
        check(&hits, 70, &[Body, Signature]);
        check(&hits, 2, &[]);
        check(&[], 100, &[]);
    }

    #[test]
    fn every_item_begins_with_path_and_lines() {
        let pack = pack(&[hit("first", 5, 1.0), hit("second", 900, 0.1)], 60, &words);
        assert!(pack.items.iter().all(|i| i.text.starts_with("src/a.ts:1-")), "{pack:?}");
    }
}
