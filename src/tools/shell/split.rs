//! Splits a command line into simple commands. It errs on the side of more commands: bodies of here-documents and what stands in
//! doubtful places count as commands, so that nothing that a shell may run is missed.

/// One simple command.
#[derive(Debug, Default, PartialEq)]
pub struct Command {
    /// The program and its arguments, without quotes.
    pub words: Vec<String>,
    /// The files that it redirects into.
    pub writes: Vec<String>,
    /// The program is a variable, or another command is part of a word, so that it is not known before the run.
    pub unknown_program: bool,
}

impl Command {
    /// It writes into no file, and its program is known before it runs.
    pub fn is_plain(&self) -> bool {
        !self.unknown_program && self.writes.iter().all(|target| harmless_device(target))
    }
}

pub fn harmless_device(path: &str) -> bool {
    ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"].contains(&path)
}

/// Simple commands of a line, those inside `$(…)`, backticks, braces and parentheses as well. `None` when quotes do not
/// close.
pub fn split(line: &str) -> Option<Vec<Command>> {
    let mut all = vec![Command::default()];
    let (mut word, mut in_word, mut redirect) = (String::new(), false, false);
    let mut chars = line.chars().peekable();
    // Depth of `$(` and backticks inside double quotes is not kept: their words are words either way.
    let end_word = |word: &mut String, in_word: &mut bool, redirect: &mut bool, all: &mut Vec<Command>| {
        if std::mem::take(in_word) {
            let word = std::mem::take(word);
            let command = all.last_mut()?;
            match (
                std::mem::take(redirect),
                matches!(word.as_str(), "{" | "}" | "!" | "then" | "do" | "else" | "if" | "while" | "until"),
            ) {
                (true, _) if word.starts_with('&') => {}
                (true, _) => command.writes.push(word),
                // Words of the language are not programs.
                (false, true) if command.words.is_empty() => {}
                _ => command.words.push(word),
            }
        }
        Some(())
    };
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                in_word = true;
                word.extend(chars.next().filter(|next| *next != '\n'));
            }
            '\'' => {
                in_word = true;
                loop {
                    match chars.next()? {
                        '\'' => break,
                        other => word.push(other),
                    }
                }
            }
            '"' => {
                in_word = true;
                let mut inner = String::new();
                loop {
                    match chars.next()? {
                        '"' => break,
                        '\\' => inner.push(chars.next()?),
                        other => inner.push(other),
                    }
                }
                // A command inside double quotes runs too.
                if inner.contains("$(") || inner.contains('`') {
                    let nested = inner.replace("$(", "\n").replace(['`', ')'], "\n");
                    let rest = nested.split_once('\n').map_or("", |(_, rest)| rest);
                    all.splice(0..0, split(&rest.replace(['"', '\''], " "))?);
                    all.last_mut()?.unknown_program = true;
                }
                word.push_str(&inner);
            }
            '>' => {
                // `2>` is a redirection of the second stream, not a word.
                if in_word && word.chars().all(|c| c.is_ascii_digit()) {
                    word.clear();
                    in_word = false;
                }
                end_word(&mut word, &mut in_word, &mut redirect, &mut all)?;
                while chars.next_if(|next| matches!(next, '>' | '|')).is_some() {}
                redirect = true;
                if chars.next_if_eq(&'&').is_some() {
                    in_word = true;
                    // `>&2` names a stream, `>&file` a file.
                    if chars.peek().is_some_and(|next| next.is_ascii_digit() || *next == '-') {
                        word.push('&');
                    }
                }
            }
            '&' if chars.peek() == Some(&'>') => end_word(&mut word, &mut in_word, &mut redirect, &mut all)?,
            ';' | '|' | '&' | '\n' | '(' | ')' | '`' => {
                let substitution = c == '`' || (c == '(' && word.ends_with('$'));
                end_word(&mut word, &mut in_word, &mut redirect, &mut all)?;
                if substitution {
                    let command = all.last_mut()?;
                    command.unknown_program = true;
                    // What stands first is the program, even if another command has to say what it is.
                    if c == '`' && command.words.is_empty() {
                        command.words.push("`".to_owned());
                    }
                }
                redirect = false;
                all.push(Command::default());
            }
            '#' if !in_word => while chars.next_if(|next| *next != '\n').is_some() {},
            c if c.is_whitespace() => end_word(&mut word, &mut in_word, &mut redirect, &mut all)?,
            c => {
                in_word = true;
                if c == '$' && all.last()?.words.is_empty() {
                    all.last_mut()?.unknown_program = true;
                }
                word.push(c);
            }
        }
    }
    end_word(&mut word, &mut in_word, &mut redirect, &mut all)?;
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: &str) {
        let all = split(line).map(|all| {
            let shown = all.into_iter().map(|one| format!("{}>{}", one.words.join(" "), one.writes.join(" ")));
            shown.filter(|one| one != ">").collect::<Vec<_>>().join("|")
        });
        assert_eq!(all.as_deref().unwrap_or("unclosed"), expected, "{line}");
    }

    #[test]
    fn lines_are_split_as_a_shell_does() {
        check("a 'b c' \"d\" e\\ f", "a b c d e f>");
        check("a; b && c || d | e", "a>|b>|c>|d>|e>");
        check("a 2>&1 >out 2>>err", "a>out err");
        check("echo \"$(rm x)\"", "rm x>|echo $(rm x)>");
        check("a # b", "a>");
        check("a 'b", "unclosed");
    }
}
