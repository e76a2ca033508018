//! Decides whether a command line may run a command that a rule denies or asks about; if in doubt,
//! it may.

use std::cell::Cell;

use crate::base::is_listed;
use crate::tools::policy::form::Form;
use crate::tools::shell::programs::{
    find_runs, interpreter, is_deciding, is_inert, is_shell, is_wrapper, listed_name, may_be_option, reader, wrapped,
};
use crate::tools::shell::scripts::{AwkProgram, awk_only_prints, awk_program, code_only_prints, sed_words_only_print};
use crate::tools::shell::word::Word;
use crate::tools::shell::{Command, DEPTH_MAX, Line, git, harmless_device, parse};

/// Maximum number of words searched in a command; a longer command counts as possibly denied.
const WORDS_MAX: usize = 400;
/// Maximum number of places in a text searched for a command.
const NAMES_MAX: usize = 16;
/// Maximum number of `=` in a word after which a command is searched for.
const VALUES_MAX: usize = 8;
/// Values of variables that select harmless programs: pagers, editors, compilers.
const PLAIN_VALUES: &str = "cat less more true false 0 1 vi vim nano gcc clang cc c++ g++ clang++ dumb never always";
/// Programs that can store another program under a different name.
const COPIERS: &str = "cp ln mv install dd tee rsync curl wget base64 xxd unzip tar split";
/// Programs that run the text on their standard input.
const FED: &str =
    "at batch crontab parallel ssh psql sqlite3 mysql ed ex vim vi nvim emacs gdb lldb m4 dc xargs su sudo
    doas make gmake entr screen tmux script env nsenter chroot";

/// Whether any command of the line may be `form`.
pub fn may_run(form: &Form, line: &Line) -> bool {
    Search { form, made: Cell::new(false) }.line(line, 0)
}

struct Search<'f> {
    form: &'f Form,
    /// Whether the line, or a line inside it, writes or copies a file, which it may run next.
    made: Cell<bool>,
}

/// Facts about a command's position in the line.
#[derive(Clone, Copy)]
struct Around {
    fed: bool,
    depth: usize,
}

impl Search<'_> {
    fn line(&self, line: &Line, depth: usize) -> bool {
        if !line.understood || depth > DEPTH_MAX {
            return true;
        }
        let copies = |one: &Command| {
            let name = one.words.first().and_then(listed_name);
            name.is_some_and(|name| is_listed(COPIERS, &name))
                || one.writes.iter().any(|word| !word.known().is_some_and(harmless_device))
        };
        if line.commands.iter().any(copies) {
            self.made.set(true);
        }
        line.commands.iter().any(|command| {
            let around = Around { fed: command.fed, depth };
            command.assigned.iter().any(|(name, value)| self.assigned(name, value, depth))
                || self.command(&command.words, around)
        })
    }

    fn assigned(&self, name: &str, value: &Word, depth: usize) -> bool {
        let plain = value.known().is_some_and(|value| value.is_empty() || is_listed(PLAIN_VALUES, value));
        (is_deciding(name) && !plain) || self.text(value, depth)
    }

    /// `env NAME=value` is also an assignment.
    fn assigns(&self, words: &[Word], depth: usize) -> bool {
        words.iter().any(|word| word.value().is_some_and(|value| self.assigned(word.name(), &value, depth)))
    }

    fn command(&self, words: &[Word], around: Around) -> bool {
        let Some(first) = words.first() else { return false };
        if words.len() > WORDS_MAX || around.depth > DEPTH_MAX || self.form.may_be(words) {
            return true;
        }
        let Some(name) = listed_name(first) else {
            // A program in a known folder is judged by its name; any other may run other programs.
            return !first.start().contains('/') || first.program().begins_open();
        };
        let path = first.known().is_some_and(|text| text.contains('/'));
        let system = first.known().is_some_and(|text| text.starts_with("/usr/") || text.starts_with("/bin/"));
        if path && !system && self.made.get() {
            return true;
        }
        if self.runs(&name, words, around) {
            return true;
        }
        let options = reader(&name).unwrap_or_default();
        let more = words[1..].iter().any(|word| !word.begins_open() && may_be_option(word, options));
        if name == "git" || (is_inert(&name) && !more) {
            return false;
        }
        let exact = if is_wrapper(&name) { wrapped(&name, words) } else { None };
        let found = exact.as_ref().is_some_and(|inner| {
            !self.looks_up(&name, words) && self.command(inner, Around { depth: around.depth + 1, ..around })
        });
        // If it is unclear where a wrapper's command begins, an unknown word may be the command.
        let open = is_wrapper(&name) && exact.is_none();
        found || (!self.looks_up(&name, words) && self.anywhere(&words[1..], open, around))
    }

    /// `command -v git` does not run anything.
    fn looks_up(&self, name: &str, words: &[Word]) -> bool {
        name == "command" && words.get(1).and_then(Word::known).is_some_and(|word| word == "-v" || word == "-V")
    }

    /// Whether one of the words may begin or contain the command. With `open`, an unknown word may
    /// too.
    fn anywhere(&self, words: &[Word], open: bool, around: Around) -> bool {
        (0..words.len()).any(|at| {
            let (word, rest) = (&words[at], &words[at..]);
            if word.known().is_none() && (word.begins_open() || word.is_many()) {
                return open;
            }
            let below = Around { depth: around.depth + 1, ..around };
            let name = listed_name(word).unwrap_or_default();
            self.form.may_be(rest)
                || (around.depth < DEPTH_MAX && !is_inert(&name) && !name.is_empty() && self.runs(&name, rest, below))
                || (is_wrapper(&name) && wrapped(&name, rest).is_some_and(|inner| self.form.may_be(&inner)))
                || if open { self.embedded(word, around.depth) } else { self.text(word, around.depth) }
        })
    }

    /// Whether a word contains the command, if a program may run the word as a command line.
    fn embedded(&self, word: &Word, depth: usize) -> bool {
        match word.known() {
            Some(text) if text.contains([' ', ';', '|', '&', '\n', '$', '`', '(']) => {
                self.line(&parse(bare(text)), depth + 1)
            }
            Some(_) => self.text(word, depth),
            None => true,
        }
    }

    /// Whether a text contains the command. It is parsed only if the program's name occurs in it.
    fn text(&self, word: &Word, depth: usize) -> bool {
        let held = |text: &str| {
            let unquoted: String = text.chars().filter(|c| !"'\"\\".contains(*c)).collect();
            let mut names = names_in(&unquoted).filter(|(_, name)| self.form.is_program(name)).peekable();
            names.peek().is_some()
                && (self.line(&parse(bare(text)), depth + 1)
                    || names.take(NAMES_MAX).any(|(at, _)| self.line(&parse(&unquoted[at..]), depth + 1)))
        };
        let values = std::iter::successors(Some(word.clone()), Word::value);
        // For example `-Ocommand`.
        let short = word.known().filter(|text| text.starts_with('-') && !text.starts_with("--"));
        let joined = short.and_then(|text| text.get(2..)).map(Word::of);
        depth > DEPTH_MAX || values.take(VALUES_MAX).chain(joined).any(|one| held(&one.shown()))
    }

    /// Whether a program runs the command in its own way: a shell by its line, an interpreter by
    /// its code.
    fn runs(&self, name: &str, words: &[Word], around: Around) -> bool {
        let rest = &words[1..];
        let depth = around.depth;
        if is_shell(name) {
            return self.shell_runs(rest, around);
        }
        if around.fed && is_listed(FED, name) {
            let inner = if is_wrapper(name) { wrapped(name, words) } else { None };
            // A wrapper passes its input on; without its own command it may read commands from that
            // input.
            if inner.is_none_or(|inner| inner.is_empty() && name != "env") && name != "xargs" {
                return !["make", "gmake"].contains(&name) || rest.iter().any(|word| word.start().starts_with("-f"));
            }
        }
        match name {
            "env" | "export" | "declare" | "typeset" if self.assigns(rest, depth) => true,
            // These give a program another name.
            "hash" | "enable" => rest.iter().any(Word::may_be_option),
            "eval" => {
                let joined: Option<Vec<&str>> = rest.iter().map(Word::known).collect();
                joined.is_none_or(|words| self.line(&parse(&words.join(" ")), depth + 1))
            }
            "source" | "." => rest.first().is_some_and(|word| self.is_unclear_script(word)),
            "trap" => rest.first().is_some_and(|word| self.embedded(word, depth)),
            "alias" => rest.iter().any(|word| self.alias_runs(word, depth)),
            "xargs" if rest.iter().any(|word| word.start() == "-a" || word.start().starts_with("--arg-file")) => true,
            "git" => self.git_runs(words, around),
            "sed" => {
                let is_file = |word: &Word| word.start() == "-f" || word.start().starts_with("--file");
                !rest.iter().any(is_file) && !sed_words_only_print(rest)
            }
            "awk" | "gawk" | "mawk" | "nawk" => awk_runs(rest),
            "find" | "fd" | "fdfind" => self.find_runs(rest, around),
            "make" | "gmake" => rest.iter().enumerate().any(|(at, word)| {
                let file = word.start().starts_with("-f") || word.start().starts_with("--file");
                let next = rest.get(at + 1).and_then(Word::known).unwrap_or("-");
                let text = word.known().unwrap_or("-f-");
                text.starts_with("--ev")
                    || text.starts_with("-E")
                    || (file
                        && (self.made.get()
                            || text == "-f-"
                            || (text == "-f" && is_stream(next))
                            || text.contains("/dev/")))
                    || text.starts_with("SHELL")
                    || word.value().is_some_and(|value| self.text(&value, depth))
            }),
            "rg" | "sort" | "tar" | "man" | "ag" => {
                let options =
                    "--pre --compress-program --to-command --checkpoint-action --use-compress-program --rsh-command -P";
                rest.iter().any(|word| !word.begins_open() && may_be_option(word, options))
                    && self.anywhere(rest, false, around)
            }
            _ => match interpreter(name) {
                Some(code) => self.interpreter_runs(name, rest, code, around),
                None => false,
            },
        }
    }

    fn shell_runs(&self, rest: &[Word], around: Around) -> bool {
        let mut words = rest.iter().enumerate();
        while let Some((at, word)) = words.next() {
            let Some(text) = word.known() else { return true };
            match text {
                "-o" | "-O" | "+o" | "+O" | "--rcfile" | "--init-file" => {
                    words.next();
                }
                "-" | "--" => {}
                _ if text.starts_with("--") => {
                    if text == "--command" {
                        return rest[at + 1..].iter().any(|word| self.embedded_line(word, around.depth));
                    }
                }
                _ if text.starts_with(['-', '+']) => {
                    if text.contains('c') {
                        return rest[at + 1..].iter().any(|word| self.embedded_line(word, around.depth));
                    }
                    if text.contains('s') {
                        return true;
                    }
                }
                _ => return self.is_unclear_script(word),
            }
        }
        !matches!(rest, [one] if one.known() == Some("--version"))
    }

    fn embedded_line(&self, word: &Word, depth: usize) -> bool {
        word.known().is_none_or(|text| self.line(&parse(text), depth + 1))
    }

    /// Whether a script named in the line is a stream rather than a file of the project, or is
    /// created by the line itself.
    fn is_unclear_script(&self, word: &Word) -> bool {
        self.made.get() || word.known().is_none_or(is_stream)
    }

    fn alias_runs(&self, word: &Word, depth: usize) -> bool {
        let Some(value) = word.value() else { return word.known().is_none() };
        let Some(text) = value.known() else { return true };
        let mut line = parse(text);
        // More words follow where the alias is used.
        line.commands.iter_mut().for_each(|command| command.words.push(Word::open()));
        self.line(&line, depth + 1)
    }

    fn git_runs(&self, words: &[Word], around: Around) -> bool {
        let Some((verb, rest)) = git::verb(words) else { return true };
        let remote = rest.iter().any(|word| word.start().starts_with("ext::"));
        if git::may_be_alias(verb) {
            return remote || self.form.is_program("git") || self.anywhere(rest, false, around);
        }
        let options =
            "-O --open-files-in-pager --ext-diff --upload-pack -u --receive-pack --exec -x --config -c --template";
        let plain = git::is_plain(verb) && !rest.iter().any(|word| !word.begins_open() && long_option(word, options));
        let takes = rest.iter().any(|word| matches!(word.known(), Some("run" | "foreach" | "-x" | "--exec")));
        remote || (!plain && self.anywhere(rest, takes, around))
    }

    fn find_runs(&self, rest: &[Word], around: Around) -> bool {
        let below = Around { depth: around.depth + 1, fed: false };
        let unknown = rest.iter().skip(1).any(|word| word.begins_open() && word.is_many());
        unknown || (0..rest.len()).filter_map(|at| find_runs(&rest[at..])).any(|inner| self.command(&inner, below))
    }

    fn interpreter_runs(&self, name: &str, rest: &[Word], code: &str, around: Around) -> bool {
        for (at, word) in rest.iter().enumerate() {
            let Some(text) = word.known() else { return true };
            match text {
                "-m" if name == "python" => {
                    let below = Around { depth: around.depth + 1, ..around };
                    return match rest.get(at + 1).and_then(Word::known) {
                        Some("timeit" | "cProfile" | "trace" | "pdb") => true,
                        Some(module) => self.command(&[&[Word::of(module)], &rest[at + 2..]].concat(), below),
                        None => true,
                    };
                }
                "-c" | "-e" | "-p" | "--eval" | "--print" if ["python", "node"].contains(&name) => {
                    return !rest.get(at + 1).and_then(Word::known).is_some_and(|text| code_only_prints(name, text));
                }
                "-W" | "-X" if name == "python" => {}
                "-" => return true,
                _ if text.starts_with('-') => {
                    if may_be_option(word, code) {
                        return true;
                    }
                }
                _ => return self.is_unclear_script(word) || (around.fed && is_listed(FED, name)),
            }
        }
        let alone = ["--version", "-V", "-v", "--help", "-h", "--test"];
        !rest.iter().any(|word| word.known().is_some_and(|text| alone.contains(&text)))
    }
}

fn awk_runs(rest: &[Word]) -> bool {
    match awk_program(rest) {
        // A program that only writes files does not run commands.
        AwkProgram::Text(program) => {
            !awk_only_prints(program)
                && ["system", "|", "getline", "@", "close"].iter().any(|sign| program.contains(sign))
        }
        AwkProgram::File(file) => file.and_then(Word::known).is_none_or(is_stream),
        AwkProgram::Unknown => true,
        AwkProgram::Missing => false,
    }
}

fn long_option(word: &Word, options: &str) -> bool {
    let short = word.start().starts_with("-O") || word.start().starts_with("-x");
    short || is_listed(options, word.name()) || (word.start().starts_with("--") && may_be_option(word, options))
}

fn is_stream(path: &str) -> bool {
    path == "-" || path.starts_with("/dev/") || path.starts_with("/proc/")
}

/// The words of a text that may be program names, in lower case and without extensions, with their
/// offsets.
fn names_in(text: &str) -> impl Iterator<Item = (usize, String)> {
    let is_part = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    let begins = move |at: usize| !text[..at].chars().next_back().is_some_and(is_part);
    let starts = text.char_indices().filter(move |(at, c)| is_part(*c) && begins(*at)).map(|(at, _)| at);
    starts.filter_map(move |at| {
        let end = text[at..].find(|c: char| !is_part(c)).map_or(text.len(), |length| at + length);
        Some((at, Word::of(&text[at..end]).program().known()?.to_owned()))
    })
}

/// Strips the marks that editors and git put before commands.
fn bare(text: &str) -> &str {
    text.trim_start_matches([':', '!', '\\', ' ', '+'])
}

#[cfg(test)]
mod tests;
