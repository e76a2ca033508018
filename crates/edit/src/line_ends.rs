//! Keeps a file's line endings, last line ending and byte order mark when its text is replaced.

use std::time::{Duration, Instant};

use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};

const BOM: &str = "\u{feff}";
/// Time limit for finding unchanged lines; afterwards, the remaining lines count as changed.
const DIFF_TIME_MAX: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The last line may lack a line ending.
    Nothing,
    LineFeed,
    Both,
}

impl End {
    fn text(self) -> &'static str {
        match self {
            End::Nothing => "",
            End::LineFeed => "\n",
            End::Both => "\r\n",
        }
    }
}

/// The lines of a text without their endings, and the endings.
struct Lines<'t> {
    bodies: Vec<&'t str>,
    ends: Vec<End>,
}

impl<'t> Lines<'t> {
    fn of(text: &'t str) -> Lines<'t> {
        let split = |line: &'t str| match line.strip_suffix('\n') {
            None => (line, End::Nothing),
            Some(line) => line.strip_suffix('\r').map_or((line, End::LineFeed), |line| (line, End::Both)),
        };
        let (bodies, ends) = text.split_inclusive('\n').map(split).unzip();
        Lines { bodies, ends }
    }

    fn last(&self) -> End {
        self.ends.last().copied().unwrap_or(End::Nothing)
    }

    /// The kind of the line endings; `None` if the text mixes several kinds or has no line ending.
    fn kind(&self) -> Option<End> {
        let mut ends = self.ends.iter().filter(|end| **end != End::Nothing);
        let first = ends.next()?;
        ends.all(|end| end == first).then_some(*first)
    }

    fn is_mixed(&self) -> bool {
        self.kind().is_none() && self.ends.iter().any(|end| *end != End::Nothing)
    }

    fn joined(&self, ends: &[End]) -> String {
        self.bodies.iter().zip(ends).flat_map(|(body, end)| [*body, end.text()]).collect()
    }
}

/// `text` without a byte order mark and with line feeds as its only line endings, for searches.
pub fn plain(text: &str) -> String {
    text.strip_prefix(BOM).unwrap_or(text).replace("\r\n", "\n")
}

/// Returns `after`, a replacement for the whole text `before`, with adjusted line endings: an
/// unchanged line keeps its own, a changed line gets that of the line it replaces, and a new line
/// that of the line above. If the texts differ only in line endings, these were changed on purpose,
/// and `after` is returned unchanged.
pub fn kept(before: &str, after: &str) -> String {
    let [old, new] = [before, after].map(|text| Lines::of(text.strip_prefix(BOM).unwrap_or(text)));
    if before.is_empty() || old.bodies == new.bodies { after.to_owned() } else { aligned(before, after) }
}

/// Like [`kept`], for an `after` made from [`plain`] text: of its line endings, only the presence
/// of the last one counts.
pub fn aligned(before: &str, after: &str) -> String {
    let mark = if before.starts_with(BOM) { BOM } else { "" };
    let [old, new] = [before, after].map(|text| Lines::of(text.strip_prefix(BOM).unwrap_or(text)));
    let Some(&usual) = old.ends.first().filter(|end| **end != End::Nothing) else {
        // A single line without a line ending stays without one, unless only the line ending was
        // changed.
        let is_last_alone = new.last() != End::Nothing && !old.bodies.is_empty() && new.bodies != old.bodies;
        let body = after.strip_prefix(BOM).unwrap_or(after);
        let cut = if is_last_alone { body.trim_end_matches('\n').trim_end_matches('\r') } else { body };
        return format!("{mark}{cut}");
    };
    let is_alike = old.kind() == new.kind() && (old.last() == End::Nothing) == (new.last() == End::Nothing);
    if is_alike && !old.is_mixed() {
        return format!("{mark}{}", new.joined(&new.ends));
    }
    let until = Some(Instant::now() + DIFF_TIME_MAX);
    let ops = capture_diff_slices_deadline(Algorithm::Myers, &old.bodies, &new.bodies, until);
    let is_kept = |op: &DiffOp| match *op {
        DiffOp::Equal { old_index: from, new_index: to, len } => old.ends[from..from + len] == new.ends[to..to + len],
        _ => true,
    };
    if old.is_mixed() && new.is_mixed() && ops.iter().all(is_kept) {
        // The text contains both kinds on purpose.
        return format!("{mark}{}", new.joined(&new.ends));
    }
    format!("{mark}{}", new.joined(&ends(&old, &new, &ops, usual)))
}

/// The line endings of `new`. `usual` is the first line ending of `old`.
fn ends(old: &Lines<'_>, new: &Lines<'_>, ops: &[DiffOp], usual: End) -> Vec<End> {
    let mut ends = new.ends.clone();
    for op in ops {
        let (_, from, to) = op.as_tag_tuple();
        for (offset, at) in to.enumerate() {
            // A new line follows the line above it, or precedes the first one.
            let beside = (from.start + offset).min(from.end.max(1) - 1);
            let own = old.ends[beside];
            let kind = if own == End::Nothing { old.ends[..beside].last().copied().unwrap_or(usual) } else { own };
            let is_last = at + 1 == new.bodies.len();
            let stays = matches!(op, DiffOp::Equal { .. });
            ends[at] = match (is_last, stays) {
                (true, true) => own,
                (true, false) if from.end == old.bodies.len() && old.last() == End::Nothing => End::Nothing,
                _ => kind,
            };
        }
    }
    if old.bodies == new.bodies
        && let Some(last) = ends.last_mut()
    {
        // Only the last line ending can be a requested change.
        *last = match (new.last(), *last) {
            (End::Nothing, _) => End::Nothing,
            (_, End::Nothing) => old.ends[..old.ends.len() - 1].last().copied().unwrap_or(usual),
            (_, own) => own,
        };
    }
    ends
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_not_changed_keeps_its_line_ends_and_its_byte_order_mark() {
        for (before, after, expected) in [
            // A changed line gets the ending of the line that it replaces, a new one that of the
            // line above.
            ("a\nb\r\nc\n", "a\nx\nc\n", "a\nx\r\nc\n"),
            ("a\r\nb\nc\r\n", "a\nx\nc\n", "a\r\nx\nc\r\n"),
            ("a\r\nb\nc\r\n", "a\r\nx\r\nc\r\n", "a\r\nx\nc\r\n"),
            ("a\r\nb\r\n", "a\nx\nb\n", "a\r\nx\r\nb\r\n"),
            ("a\r\nb\nc\n", "x\na\nb\nc\n", "x\r\na\r\nb\nc\n"),
            ("a\r\nb\nc\n", "a\nb\nnew\nc\n", "a\r\nb\nnew\nc\n"),
            ("a\r\nb\nc\r\nd\n", "b\nc\n", "b\nc\r\n"),
            ("a\nb\r\nc\n", "A\nB\nC\nD\n", "A\nB\r\nC\nD\n"),
            // The ending of the last line, or its absence.
            ("a\nb\n", "a\nc", "a\nc\n"),
            ("a\nb", "a\nc\n", "a\nc"),
            ("a\nb", "a\nb\nc\n", "a\nb\nc"),
            ("a\r\nb", "a\nb\nc\n", "a\r\nb\r\nc"),
            ("a\r\nb", "a\n", "a\r\n"),
            ("a\r\nb", "x\na\nb", "x\r\na\r\nb"),
            ("a", "b\n", "b"),
            ("a", "b\nc\n", "b\nc"),
            // The byte order mark.
            ("\u{feff}a\r\nb\r\n", "a\nc\n", "\u{feff}a\r\nc\r\n"),
            ("\u{feff}a\nb\n", "\u{feff}a\nc\n", "\u{feff}a\nc\n"),
            // If only line endings or the mark differ, that is the requested change.
            ("a\r\nb\r\n", "a\nb\n", "a\nb\n"),
            ("a\nb\n", "a\nb", "a\nb"),
            ("\u{feff}a\n", "a\n", "a\n"),
            ("", "a\r\nb", "a\r\nb"),
            // A text that contains both kinds of line endings does so on purpose.
            ("a\r\nb\nc\r\n", "a\r\nx\r\ny\nc\r\n", "a\r\nx\r\ny\nc\r\n"),
        ] {
            assert_eq!(kept(before, after), expected, "{before:?} becomes {after:?}");
        }
        assert_eq!(aligned("a\r\nb\n", "a\nb"), "a\r\nb");
        assert_eq!(aligned("a\r\nb", "a\nb\n"), "a\r\nb\r\n");
    }

    fn texts() -> impl Strategy<Value = String> {
        proptest::collection::vec(("[abc]", prop_oneof![Just("\n"), Just("\r\n")]), 0..8)
            .prop_map(|lines| lines.into_iter().flat_map(|(body, end)| [body, end.to_owned()]).collect())
    }

    proptest! {
        #[test]
        fn only_line_ends_differ_from_what_was_asked_for(before in texts(), after in texts()) {
            let kept = kept(&before, &after);
            let [kept, after] = [plain(&kept), plain(&after)];
            prop_assert_eq!(kept.trim_end_matches('\n'), after.trim_end_matches('\n'));
        }

        #[test]
        fn what_was_kept_once_stays_so(before in texts(), after in texts()) {
            let once = kept(&before, &plain(&after));
            prop_assert_eq!(kept(&before, &once), once);
        }

        #[test]
        fn a_text_of_one_kind_stays_of_one_kind(lines in proptest::collection::vec("[abc]", 1..8), after in texts()) {
            let before: String = lines.iter().map(|line| format!("{line}\r\n")).collect();
            let kept = aligned(&before, &plain(&after));
            prop_assert_eq!(kept.matches('\n').count(), kept.matches("\r\n").count());
        }
    }
}
