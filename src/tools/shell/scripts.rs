//! Checks whether sed, awk, Python and JavaScript programs written in a command line only compute
//! and print.

use super::programs::may_be_option;
use super::word::Word;

/// Whether every script among the words after `sed` is known and neither writes files nor runs
/// commands. Script files are not checked.
pub fn sed_words_only_print(rest: &[Word]) -> bool {
    let prints = |word: &Word| word.known().is_some_and(sed_only_prints);
    let gives = |word: &Word| {
        word.known().is_some_and(|text| !text.starts_with("-i") && may_be_option(word, "-e --expression"))
    };
    let mut given = rest.iter().enumerate().filter(|(_, word)| gives(word)).peekable();
    if given.peek().is_none() {
        return rest.iter().find(|word| !word.is_option()).is_none_or(prints);
    }
    given.all(|(at, word)| match (word.start().starts_with("--"), word.value()) {
        (true, Some(value)) => prints(&value),
        // The script is the next word, unless it directly follows the letter.
        (is_long, _) => (is_long || word.start().ends_with('e')) && rest.get(at + 1).is_some_and(prints),
    })
}

/// Whether a sed script neither writes files nor runs commands.
fn sed_only_prints(script: &str) -> bool {
    let mut rest = script.trim_start_matches([' ', ';', '\n', '}']);
    while !rest.is_empty() {
        match sed_command(rest) {
            Some(after) => rest = after.trim_start_matches([' ', '\t', ';', '\n', '}']),
            None => return false,
        }
    }
    true
}

/// The script after its first command; `None` if that command may do more than print.
fn sed_command(script: &str) -> Option<&str> {
    let mut rest = script;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || " \t$,~+!".contains(c));
        rest = match rest.strip_prefix('/') {
            Some(after) => delimited(after, '/')?.trim_start_matches('I'),
            None => break,
        };
    }
    let command = rest.chars().next()?;
    let after = &rest[command.len_utf8()..];
    match command {
        '{' => Some(after),
        'p' | 'd' | 'n' | 'N' | 'g' | 'G' | 'h' | 'H' | 'x' | 'D' | 'P' | '=' | 'l' | 'z' => {
            let after = after.trim_start();
            (after.is_empty() || after.starts_with([';', '\n', '}', '#'])).then_some(after)
        }
        'q' | 'Q' => Some(after.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ')),
        '#' | 'a' | 'i' | 'c' | 'b' | 't' | 'T' | ':' => {
            // A backslash continues the text on the next line.
            if after.contains("\\\n") { None } else { Some(after.split_once('\n').map_or("", |(_, next)| next)) }
        }
        's' | 'y' => {
            let mark = after.chars().next().filter(|mark| !mark.is_alphanumeric() && *mark != '\\' && *mark != '\n')?;
            let after = delimited(delimited(&after[mark.len_utf8()..], mark)?, mark)?;
            let after = after.trim_start_matches(|c: char| "gpiImM".contains(c) || c.is_ascii_digit()).trim_start();
            (after.is_empty() || after.starts_with([';', '\n', '}', '#'])).then_some(after)
        }
        _ => None,
    }
}

/// The text after the next `mark` without a preceding backslash.
fn delimited(text: &str, mark: char) -> Option<&str> {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == mark => return Some(&text[at + c.len_utf8()..]),
            _ => {}
        }
    }
    None
}

/// The source of awk's program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AwkProgram<'w> {
    /// One of the words.
    Text(&'w str),
    /// A file given with `-f`.
    File(Option<&'w Word>),
    /// Unknown until it runs, or after an unknown option.
    Unknown,
    Missing,
}

/// Finds the program among the words after `awk`.
pub fn awk_program(rest: &[Word]) -> AwkProgram<'_> {
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        let Some(text) = word.known() else { return AwkProgram::Unknown };
        match text {
            "-F" | "-v" => {
                words.next();
            }
            "--" => {}
            "-f" => return AwkProgram::File(words.next()),
            _ if text.starts_with("-F") || text.starts_with("-v") => {}
            _ if text.starts_with('-') => return AwkProgram::Unknown,
            _ => return AwkProgram::Text(text),
        }
    }
    AwkProgram::Missing
}

/// Whether an awk program neither writes files nor runs commands.
pub fn awk_only_prints(program: &str) -> bool {
    let Some(bare) = without_texts(program) else { return false };
    let runs = ["system", "getline", "@", "close", "|&"].iter().any(|sign| bare.contains(sign));
    let pipes = bare.replace("||", "").contains('|');
    !runs && !pipes && !prints_into(&bare)
}

/// The program without strings, regular expressions and comments; `None` if one of them is not
/// closed.
fn without_texts(program: &str) -> Option<String> {
    let (mut out, mut rest) = (String::new(), program);
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '"' => rest = delimited(rest, '"')?,
            '#' => rest = rest.find('\n').map_or("", |at| &rest[at..]),
            '/' if out.trim_end().is_empty()
                || out.trim_end().ends_with(|c: char| "({,!~&|;}?:=<>+-*%\n".contains(c)) =>
            {
                rest = delimited(rest, '/')?;
                // Stands for a value, after which `/` is a division.
                out.push('r');
            }
            _ => out.push(c),
        }
    }
    Some(out)
}

/// Whether a `print` writes to a file: it is followed by `>` outside parentheses.
fn prints_into(bare: &str) -> bool {
    bare.split("print").skip(1).any(|statement| {
        let mut depth = 0;
        for c in statement.chars() {
            match c {
                '(' | '[' => depth += 1,
                ')' | ']' => depth -= 1,
                ';' | '}' | '\n' => return false,
                '>' if depth <= 0 => return true,
                _ => {}
            }
        }
        false
    })
}

/// Names that code may use while it only computes and prints.
const PYTHON: &str = "
    print import from as in for if else not and or is lambda True False None len sum min max sorted range str int float
    list dict set tuple bool sys json math re version version_info version_info major minor path stdin load loads dump
    dumps stdout read indent datetime now isoformat time hashlib sha256 md5 hexdigest encode decode abs round enumerate
    zip map filter any all hex bin ord chr repr type pi sqrt join split strip keys values items get platform executable";
const JAVASCRIPT: &str = "
    console log JSON stringify parse process version versions node v8 Math max min sqrt PI floor round const let var for
    of in if else new Date Array Object keys values entries map filter join split length from true false null undefined
    return function Number String toISOString arch platform";

/// Whether code for the program `name` uses only harmless names, numbers and plain strings.
pub fn code_only_prints(name: &str, code: &str) -> bool {
    let (known, quotes) = match name {
        "python" => (PYTHON, "'\""),
        "node" => (JAVASCRIPT, "'\""),
        _ => return false,
    };
    let (mut rest, mut word, mut words) = (code, String::new(), Vec::new());
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            // A letter before the quotation mark may make it a string that contains code.
            _ if quotes.contains(c) && word.is_empty() => match delimited(rest, c) {
                Some(after) => rest = after,
                None => return false,
            },
            '`' | '\\' | '@' => return false,
            _ if quotes.contains(c) => return false,
            _ if c.is_alphanumeric() || c == '_' || c == '$' => word.push(c),
            _ => words.push(std::mem::take(&mut word)),
        }
    }
    words.push(word);
    let plain = |word: &String| word.bytes().all(|b| b.is_ascii_digit() || b == b'e') || is_name(word, known);
    let single = |word: &String| word.len() == 1;
    words.iter().all(|word| word.is_empty() || single(word) || plain(word))
}

fn is_name(word: &str, known: &str) -> bool {
    known.split_whitespace().any(|name| name == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_of_sed_that_write_or_run_are_told() {
        for script in
            ["s/a/b/", "1,5p", "$d", "/x/,/y/p", "s|a|b|g;s/c/d/2p", "/a\\/b/d", "y/ab/cd/", "{p;q}", "10q", "$!N"]
        {
            assert!(sed_only_prints(script), "{script}");
        }
        for script in
            ["w out", "s/a/b/w out", "1e rm a", "s/a/b/e", "e", "W x", "s/a/b/gw x", "s/a", "r x", "p;w x", "1,3w x"]
        {
            assert!(!sed_only_prints(script), "{script}");
        }
    }

    #[test]
    fn programs_of_awk_that_write_or_run_are_told() {
        for program in [
            "{print $1}",
            "$3 > 5",
            "$3 > 5 {print $1}",
            "/a|b/ {n++} END {print n}",
            "NR==1 || /x/",
            "{print (a > b)}",
            "{print \"a > b | c\"}",
        ] {
            assert!(awk_only_prints(program), "{program}");
        }
        for program in [
            "BEGIN{system(\"x\")}",
            "{print > \"f\"}",
            "{print $1 >> \"f\"}",
            "{print | \"sh\"}",
            "{\"x\" | getline y}",
            "{printf \"%s\", $1 > $2}",
            "{@f()}",
        ] {
            assert!(!awk_only_prints(program), "{program}");
        }
    }

    #[test]
    fn code_with_other_than_harmless_names_is_told() {
        let check =
            |name: &str, code: &str, expected: bool| assert_eq!(code_only_prints(name, code), expected, "{code}");
        check("python", "print(1 + 1)", true);
        check("python", "import sys, json; print(json.load(sys.stdin)['a'])", true);
        check("python", "import os; os.remove('a')", false);
        check("python", "open('a', 'w')", false);
        check("python", "print(f'{x}')", false);
        check("python", "print(getattr(x, 'y'))", false);
        check("python", "import sys; sys.modules['os'].system('x')", false);
        check("node", "console.log(process.version)", true);
        check("node", "require('fs')", false);
        check("node", "console.log(`${x}`)", false);
        check("perl", "print 1", false);
    }
}
