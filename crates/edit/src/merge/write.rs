//! Inserts text at an anchor with line breaks and commas, and splits a one-line body if necessary.

use super::insert::{Anchor, is_idle};
use super::{Job, Scope};
use crate::index::parts::Part;
use crate::text::{Piece, indent_at, line_end, line_start};

impl<'a> Job<'a> {
    /// Inserts `text` at `anchor`, after the white space `base` and separated by `gap` empty lines.
    pub fn write(&mut self, scope: Scope, text: String, base: &str, gap: usize, anchor: Anchor) {
        let breaks = "\n".repeat(gap + 1);
        match anchor {
            Anchor::After(part) => self.write_after(scope, part, text, base, &breaks),
            Anchor::Before(part) => {
                let start = line_start(self.old, part.start());
                let comma = if scope.is_some_and(|scope| scope.listed) { "," } else { "" };
                if self.old[start..part.start()].trim().is_empty() {
                    self.push(start, format!("{base}{text}{comma}{breaks}"));
                } else {
                    self.push(part.start(), format!("{text}{comma} "));
                }
            }
            Anchor::Top => self.write_at_top(scope, text, base, &breaks),
            Anchor::End => {
                let (before, after) = if !self.old.is_empty() && !self.old.ends_with('\n') {
                    (&breaks[..], "")
                } else if self.old.trim().is_empty() {
                    ("", "\n")
                } else {
                    (&breaks[1..], "\n")
                };
                self.push(self.old.len(), format!("{before}{text}{after}"));
            }
        }
    }

    fn push(&mut self, at: usize, new: String) {
        self.edits.push(Piece { range: at..at, new });
    }

    /// Inserts text after a part, with the commas of a list.
    fn write_after(&mut self, scope: Scope, part: &Part, text: String, base: &str, breaks: &str) {
        let earlier = self.after.entry(part.core.start).or_default();
        *earlier += 1;
        let is_first = *earlier == 1;
        let listed = scope.is_some_and(|scope| scope.listed);
        let has_comma = self.old[part.core.end..part.end.max(part.core.end)].trim_end().ends_with(',');
        let body = scope.and_then(|scope| scope.body.clone());
        let one_line = body.as_ref().is_some_and(|body| !self.old[body.clone()].contains('\n'));
        if listed && one_line {
            let comma = if has_comma { "," } else { "" };
            let (at, lead) = if has_comma { (part.end, " ") } else { (part.core.end, ", ") };
            return self.push(at, format!("{lead}{text}{comma}"));
        }
        let line = line_end(self.old, part.end);
        let at = if body.as_ref().is_some_and(|body| body.end < line) { part.end } else { line };
        let (before, after) = match (listed, has_comma, is_first) {
            (true, true, _) => ("", ","),
            (true, false, true) => {
                self.push(part.core.end, ",".to_owned());
                ("", "")
            }
            (true, false, false) => (",", ""),
            (false, ..) => ("", ""),
        };
        self.push(at, format!("{before}{breaks}{base}{text}{after}"));
        if at != line {
            self.close(scope);
        }
    }

    /// Inserts text at the top of a body, which may be empty or contain only `pass`.
    fn write_at_top(&mut self, scope: Scope, text: String, base: &str, breaks: &str) {
        let Some((scope, body)) = scope.and_then(|scope| Some((scope, scope.body.clone()?))) else {
            return self.push(self.old.len(), format!("{breaks}{text}\n"));
        };
        let idle = scope.members.iter().find(|member| is_idle(member, self.old));
        if let Some(idle) = idle {
            let earlier = self.after.entry(idle.core.start).or_default();
            *earlier += 1;
            if *earlier > 1 {
                return self.push(idle.core.end, format!("{breaks}{base}{text}"));
            }
            let on_header = !self.old[body.start..idle.core.start].contains('\n');
            let lead = if on_header { format!("\n{base}") } else { String::new() };
            let start = if on_header { body.start } else { idle.core.start };
            self.edits.push(Piece { range: start..idle.core.end, new: lead + &text });
            return;
        }
        let comma = if scope.listed { "," } else { "" };
        match &scope.docstring {
            Some(doc) => self.push(line_end(self.old, doc.end), format!("{breaks}{base}{text}")),
            None => {
                let line = line_end(self.old, body.start);
                let at = if line <= body.end && self.language == "python" { line } else { body.start };
                let is_first = !self.closed.contains(&(body.start + 1));
                let lead = if is_first { "\n" } else { breaks };
                self.closed.insert(body.start + 1);
                self.push(at, format!("{lead}{base}{text}{comma}"));
                if !self.old[body].contains('\n') && self.language != "python" {
                    self.close(Some(scope));
                }
            }
        }
    }

    /// Puts the end of a one-line body on its own line.
    fn close(&mut self, scope: Scope) {
        let Some((scope, body)) = scope.and_then(|scope| Some((scope, scope.body.clone()?))) else { return };
        if self.language != "python" && self.closed.insert(body.start) {
            let spaces = self.old[body.clone()].len() - self.old[body.clone()].trim_end().len();
            let new = format!("\n{}", indent_at(self.old, scope.core.start));
            self.closers.push(Piece { range: body.end - spaces..body.end, new });
        }
    }
}
