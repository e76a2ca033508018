//! Fits the result of a call into what a model may read of it: whole lines, and how many were left out.

/// Which lines of a long text are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    Head,
    /// Half of them from the beginning, half from the end.
    HeadTail,
}

/// The lines of `text` that fit into `bytes_max` bytes, with a note about those that were left out.
pub fn fitted(text: &str, bytes_max: usize, keep: Keep) -> String {
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    let lines: Vec<&str> = text.lines().collect();
    let taken = |lines: &mut dyn Iterator<Item = &&str>, bytes: usize| {
        let mut used = 0;
        lines
            .take_while(|line| {
                used += line.len() + 1;
                used <= bytes
            })
            .count()
    };
    let (head, tail) = match keep {
        Keep::Head => (taken(&mut lines.iter(), bytes_max), 0),
        Keep::HeadTail => {
            let head = taken(&mut lines.iter(), bytes_max / 2);
            (head, taken(&mut lines[head..].iter().rev(), bytes_max / 2))
        }
    };
    let left = lines.len() - head - tail;
    if head + tail == 0 {
        let cut = &text[..text.floor_char_boundary(bytes_max)];
        return format!("{cut}\n[the first {} of {} bytes; its lines are too long]", cut.len(), text.len());
    }
    let (head, tail) = (lines[..head].join("\n"), lines[lines.len() - tail..].join("\n"));
    format!("{head}\n[{left} of {} lines were left out here; ask for less at a time]\n{tail}", lines.len())
        .trim_end()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_result_is_cut_between_lines_and_says_what_is_missing() {
        let text: String = (1..=100).map(|n| format!("line {n}\n")).collect();
        let head = fitted(&text, 40, Keep::Head);
        assert_eq!(
            head,
            "line 1\nline 2\nline 3\nline 4\nline 5\n[95 of 100 lines were left out here; ask for less at a time]"
        );
        let both = fitted(&text, 40, Keep::HeadTail);
        assert!(both.starts_with("line 1\nline 2\n[") && both.ends_with("line 99\nline 100"), "{both}");
        assert_eq!(fitted("short", 40, Keep::Head), "short");
        let one_line = fitted(&"ä".repeat(100), 41, Keep::Head);
        assert!(one_line.contains("[the first 40 of 200 bytes"), "{one_line}");
    }
}
