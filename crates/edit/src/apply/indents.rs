//! Translates the indentation in a model's text into the file's.

use crate::indent::indent;

/// Maps the model's indentation to the file's.
pub struct Indents<'a> {
    /// Index of an old line, its indentation, and the indentation in the file.
    pairs: Vec<(usize, &'a str, &'a str)>,
    /// One level of indentation: the model's and the file's.
    unit: (String, String),
}

impl<'a> Indents<'a> {
    pub fn learn(old: &[&'a str], window: &[&'a str], new: &[&'a str]) -> Indents<'a> {
        let filled = old.iter().zip(window).enumerate().filter(|(_, (line, _))| !line.trim().is_empty());
        let pairs: Vec<_> = filled.map(|(at, (old, file))| (at, indent(old), indent(file))).collect();
        let file_unit = smallest_step(pairs.iter().map(|(_, _, file)| *file));
        let model_unit = smallest_step(old.iter().chain(new).map(|line| indent(line)));
        Indents { unit: (model_unit.clone(), if file_unit.is_empty() { model_unit } else { file_unit }), pairs }
    }

    /// Translates the model's `indent`, using the deepest known indentation that it begins with; if
    /// several are equal, the one whose line is nearest to the old line `near`.
    pub fn translate(&self, indent: &str, near: usize) -> String {
        let known = self.pairs.iter().filter(|(_, model, _)| indent.starts_with(model));
        let best = known.max_by_key(|(at, model, _)| (model.len(), std::cmp::Reverse(at.abs_diff(near))));
        if let Some((_, model, file)) = best {
            let deeper = &indent[model.len()..];
            return format!("{file}{}", deeper.replace(self.unit.0.as_str(), &self.unit.1));
        }
        // Shallower than every known line: remove as many levels as the model has removed.
        let Some((_, model, file)) = self.pairs.iter().min_by_key(|(_, model, _)| model.len()) else {
            return indent.to_owned();
        };
        let levels = model.len().saturating_sub(indent.len()).div_ceil(self.unit.0.len().max(1));
        file[..file.len().saturating_sub(levels * self.unit.1.len())].to_owned()
    }
}

/// One level of indentation: a tab if tabs are used, else the smallest difference between two
/// depths; if there is only one depth, at most four spaces.
fn smallest_step<'a>(indents: impl Iterator<Item = &'a str>) -> String {
    let mut all: Vec<&str> = indents.collect();
    if all.iter().any(|indent| indent.starts_with('\t')) {
        return "\t".to_owned();
    }
    all.sort_by_key(|indent| indent.len());
    let steps = all.windows(2).map(|pair| pair[1].len() - pair[0].len()).filter(|step| *step > 0);
    let widest = all.last().map_or(0, |indent| indent.len());
    " ".repeat(steps.min().unwrap_or(if widest > 0 { widest.min(4) } else { 4 }))
}
