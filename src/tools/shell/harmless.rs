//! Decides whether a command is known not to delete, overwrite or send anything. All other commands
//! need consent.

use super::parse::{Line, parse};
use super::programs::{
    find_runs, interpreter, is_deciding, is_plain_wrapper, is_shell, listed_name, may_be_option, reader, wrapped,
};
use super::scripts::{AwkProgram, awk_only_prints, awk_program, sed_words_only_print};
use super::word::Word;
use super::{DEPTH_MAX, git, harmless_device};
use crate::base::is_listed;

/// Programs with their subcommands that read, build or test, and the options that make them do
/// more. `a/b` is a second-level subcommand.
const VERBS: &[(&str, &str, &str)] = &[
    (
        "cargo",
        "build b check c test t clippy doc d bench run r tree metadata version search help nextest locate-project pkgid \
         audit deny llvm-cov",
        "--fix --config --target-dir --out-dir --artifact-dir --allow-dirty",
    ),
    ("go", "build test vet list version doc run mod/graph mod/why mod/verify env help", "-o -exec -toolexec -w -fix"),
    (
        "npm pnpm yarn",
        "test t ls list outdated view info audit start help root prefix bin explain why config/get config/list version \
         licenses",
        "--fix --script-shell",
    ),
    ("pip", "list show freeze check help index", ""),
    ("bun", "test", "--update-snapshots"),
    ("deno", "test check lint info doc", "--fix --allow-all -A"),
    ("dotnet", "build test run list", "-o --output"),
    ("swift zig", "build test", ""),
    ("mix", "test compile", ""),
    ("rake bundle", "test spec list show check outdated info", ""),
    ("rustup", "show toolchain/list target/list component/list", ""),
    ("brew apt apt-cache dnf pacman", "list info search show policy", ""),
    (
        "docker podman",
        "ps images logs inspect version info stats top port compose/ps compose/logs compose/config",
        "-o --output",
    ),
    ("kubectl", "get describe logs version explain api-resources top", ""),
    ("helm", "list status version", ""),
    ("terraform", "validate show output version providers graph plan", "-out"),
    ("systemctl", "status list-units list-timers is-active is-enabled show cat", ""),
    ("gh", "pr/view pr/list pr/status pr/diff pr/checks issue/view issue/list repo/view run/list run/view", "-w --web"),
    ("poetry pipenv uv pdm hatch rye", "show check list tree version graph pip/list pip/show pip/freeze", ""),
    ("ruff", "check version", "--fix --fix-only --unsafe-fixes --output-file -o --add-noqa"),
    ("conda mamba", "list info search", ""),
    ("golangci-lint", "run version", "--fix"),
    ("buf", "lint build", "-o"),
    ("cmake", "--build", "--target -t --install --clean-first"),
    ("gradle gradlew mvn mvnw", "test build check compile verify package tasks dependencies classes assemble", ""),
    ("bazel", "build test query info", ""),
    ("stack cabal sbt", "test build compile", ""),
];
/// Programs that write files unless one of these options is given.
const DRY: &[(&str, &str)] = &[
    ("black", "--check --diff"),
    ("isort", "--check --check-only --diff -c"),
    ("prettier", "--check -c --list-different -l"),
    ("gofmt", "-l -d"),
    ("clang-format", "--dry-run -n"),
    ("shfmt", "-d -l"),
    ("rustfmt", "--check"),
    ("autopep8 yapf", "--diff -d"),
    ("gzip gunzip bzip2 bunzip2 xz unxz", "-l -t -c --list --test --stdout"),
    ("unzip", "-l -t -Z -v"),
    ("command", "-v -V"),
    ("crontab", "-l"),
];
/// Options with which a program of [`DRY`] writes files anyway.
const WET: &str = "-w --write --in-place -i --output -o";
/// Interpreters whose first word that is not an option is a script.
const SCRIPTED: &str = "python pypy node nodejs bun deno perl ruby php lua ts-node tsx";
/// Words in the name of a script or task that show that it builds, tests, reads or starts
/// something.
const TASKS: &str = "test tests testing unittest unittests build check checks lint typecheck types type compile start run
    dev serve server watch coverage cov ci verify unit e2e integration docs doc bench benchmark benches all help main app
    index manage example examples demo hello debug spec specs smoke storybook preview validate";
/// Words that mean the opposite, regardless of the other words.
const NO_TASKS: &str = "clean deploy publish release reset fix write delete remove push install uninstall purge drop wipe
    destroy upload send update upgrade migrate migration seed rollback kill stop clear rm truncate rewrite overwrite apply flush";

/// The reason why a line is not known to be harmless; `None` if it is.
pub fn doubt_of_line(line: &Line, depth: usize) -> Option<String> {
    if !line.understood || depth > DEPTH_MAX {
        return Some("it is not fully understood".to_owned());
    }
    line.commands.iter().find_map(|command| {
        let written = command.writes.iter().find(|word| !word.known().is_some_and(harmless_device));
        if let Some(word) = written {
            return Some(format!("it writes into `{}`", word.shown()));
        }
        if let Some((name, _)) = command.assigned.iter().find(|(name, _)| is_deciding(name)) {
            return Some(format!("`{name}` decides which programs run"));
        }
        doubt(&command.words, line, depth)
    })
}

/// The reason why a command (a program with its arguments) is not known to be harmless.
fn doubt(words: &[Word], line: &Line, depth: usize) -> Option<String> {
    let first = words.first()?;
    if depth > 2 * DEPTH_MAX {
        return Some("it is not fully understood".to_owned());
    }
    let Some(name) = listed_name(first) else {
        return Some("which program it runs is only known at run time".to_owned());
    };
    let (name, rest) = (name.as_str(), &words[1..]);
    let unknown = || Some(format!("`{name}` may delete, overwrite or send something"));
    if line.functions.iter().any(|function| function == name) {
        return None;
    }
    let text = first.known().unwrap_or_default();
    if text.contains('/') && !["/bin/", "/usr/bin/", "/usr/local/bin/"].iter().any(|folder| text.starts_with(folder)) {
        let is_builder = ["gradlew", "mvnw"].contains(&name) && text.starts_with("./");
        return if is_builder || text.contains("node_modules/.bin/") || text.contains("venv/bin/") {
            doubt(&[&[Word::of(name)], rest].concat(), line, depth)
        } else if runs_task(text, rest) || asks_for_help(name, rest) {
            None
        } else {
            unknown()
        };
    }
    if is_shell(name) {
        return doubt_of_shell(name, rest, depth);
    }
    if asks_for_help(name, rest) {
        return None;
    }
    let harmless = match name {
        "git" => git::is_harmless(words),
        "sed" => {
            let more = |word: &Word| may_be_option(word, "-i --in-place -f --file --expression");
            rest.iter().any(|word| !word.is_option()) && !rest.iter().any(more) && sed_words_only_print(rest)
        }
        "awk" | "gawk" | "mawk" | "nawk" => {
            matches!(awk_program(rest), AwkProgram::Text(program) if awk_only_prints(program))
        }
        "find" | "fd" | "fdfind" => return doubt_of_find(rest, line, depth),
        "make" | "gmake" | "ninja" => make_is_harmless(rest),
        "tar" => tar_only_lists(rest),
        "npm" | "pnpm" | "yarn" if matches!(rest.first().and_then(Word::known), Some("run" | "run-script")) => {
            rest.get(1).and_then(Word::known).is_some_and(is_task)
        }
        "yarn" | "pnpm" if rest.first().and_then(Word::known).is_some_and(is_task) => true,
        "cargo" if rest.first().and_then(Word::known) == Some("fmt") => gives(rest, "--check"),
        "ruff" if rest.first().and_then(Word::known) == Some("format") => gives(rest, "--check --diff"),
        "uniq" | "xxd" | "hostname" => {
            let operands = rest.iter().filter(|word| !word.is_option()).count();
            operands <= usize::from(name != "hostname")
                && !rest.iter().any(|word| word.is_many() || word.start() == "-r")
        }
        "env" if rest.is_empty() => true,
        _ => false,
    };
    if harmless || verb_is_harmless(name, rest) || dry(name, rest) {
        return None;
    }
    if let Some(options) = reader(name) {
        let more = rest.iter().find(|word| may_be_option(word, options));
        return more.map(|word| format!("`{name} {}` may do more than read", word.shown()));
    }
    if let Some(code) = interpreter(name) {
        return if interpreter_is_harmless(name, rest, code, line, depth) { None } else { unknown() };
    }
    let runs = |verb: Option<&str>| matches!(verb, Some("run" | "exec" | "x"));
    let is_runner = is_listed("bundle poetry pipenv uv hatch pdm rye pnpm yarn", name);
    if is_plain_wrapper(name) && (!is_runner || runs(rest.first().and_then(Word::known))) {
        return match wrapped(name, words) {
            Some(inner) => doubt(&inner, line, depth + 1),
            None => unknown(),
        };
    }
    unknown()
}

/// Programs that print their version for `-v`, `-V` or `-version`.
const VERSIONS: &str =
    "npm yarn pnpm docker java javac gcc clang ssh psql mysql rustc cargo make cmake pip ruff mvn tar";

/// Whether the command only prints a version or help, judging by its last argument.
fn asks_for_help(name: &str, rest: &[Word]) -> bool {
    if let [one] = rest
        && is_listed(VERSIONS, name)
        && matches!(one.known(), Some("-v" | "-V" | "-version"))
    {
        return true;
    }
    let last = rest.last().and_then(Word::known);
    matches!(last, Some("--version" | "--help")) && rest.len() <= 3 && rest.iter().all(|word| word.known().is_some())
}

/// Whether the name of a script or task shows that it builds, tests, reads or starts something.
fn is_task(name: &str) -> bool {
    let stem = name.rsplit('/').next().unwrap_or(name);
    let parts: Vec<String> =
        stem.split(|c: char| !c.is_ascii_alphanumeric()).map(|part| part.to_ascii_lowercase()).collect();
    let listed = |table: &str| parts.iter().any(|part| is_listed(table, part));
    listed(TASKS) && !listed(NO_TASKS) && !name.starts_with('/') && !name.contains("..")
}

/// Whether the script has such a name and none of its arguments means the opposite.
fn runs_task(script: &str, rest: &[Word]) -> bool {
    let opposite = |word: &Word| word.known().is_none_or(|text| is_listed(NO_TASKS, text.trim_start_matches('-')));
    is_task(script) && !rest.iter().any(opposite)
}

/// Whether one of the options is given, exactly or among the letters after a single dash.
fn gives(rest: &[Word], options: &str) -> bool {
    rest.iter().filter(|word| word.known().is_some()).any(|word| {
        options.split_whitespace().any(|option| match option.as_bytes() {
            [b'-', letter] => word.has_letter(char::from(*letter)),
            _ => word.start() == option,
        })
    })
}

fn dry(name: &str, rest: &[Word]) -> bool {
    let Some((_, options)) = DRY.iter().find(|(names, _)| is_listed(names, name)) else { return false };
    let plain = ["gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "unzip", "command", "crontab"].contains(&name);
    gives(rest, options) && rest.iter().all(|word| !word.begins_open() && (plain || !may_be_option(word, WET)))
}

fn verb_is_harmless(name: &str, rest: &[Word]) -> bool {
    let rest: Vec<&Word> = rest.iter().skip_while(|word| word.start().starts_with('+')).collect();
    VERBS.iter().filter(|(names, ..)| is_listed(names, name)).any(|(_, verbs, options)| {
        let text = |at: usize| rest.get(at).and_then(|word| word.known()).unwrap_or_default();
        let (one, two) = (text(0), format!("{}/{}", text(0), text(1)));
        let builds = name.starts_with("gradle") || name.starts_with("mvn");
        let every = || {
            let mut tasks = rest.iter().filter(|word| !word.is_option());
            tasks.clone().count() > 0
                && tasks.all(|word| {
                    word.known().is_some_and(|task| is_listed(verbs, task.rsplit(':').next().unwrap_or(task)))
                })
        };
        let verb = if builds { every() } else { is_listed(verbs, one) || is_listed(verbs, &two) };
        verb && !rest.iter().take_while(|word| word.known() != Some("--")).any(|word| may_be_option(word, options))
    })
}

fn doubt_of_shell(name: &str, rest: &[Word], depth: usize) -> Option<String> {
    if let Some(at) = rest.iter().position(|word| word.has_letter('c')) {
        let line = rest[at + 1..].iter().find(|word| !word.is_option());
        return match line.map(|word| word.known()) {
            Some(Some(line)) => doubt_of_line(&parse(line), depth + 1),
            _ => Some(format!("what `{name}` runs is only known at run time")),
        };
    }
    let script = rest.iter().find(|word| !word.is_option() || word.begins_open());
    match script.map(|word| word.known()) {
        Some(Some(script)) if runs_task(script, rest) => None,
        Some(Some(script)) => Some(format!("it is unknown what `{script}` does")),
        _ if rest.len() == 1 && rest[0].known() == Some("--version") => None,
        _ => Some(format!("`{name}` runs whatever it is sent")),
    }
}

fn interpreter_is_harmless(name: &str, rest: &[Word], code: &str, line: &Line, depth: usize) -> bool {
    let mut words = rest.iter().enumerate();
    while let Some((at, word)) = words.next() {
        let Some(text) = word.known() else { return false };
        let next = || rest.get(at + 1).and_then(Word::known);
        match text {
            "-m" if name == "python" => {
                let module = next().unwrap_or_default();
                let more = rest.get(at + 2..).unwrap_or_default();
                let operands = more.iter().filter(|word| !word.is_option()).count();
                return match module {
                    "json.tool" => operands <= 1,
                    "unittest" | "pytest" | "doctest" | "compileall" | "py_compile" | "site" | "platform" => true,
                    "" => false,
                    _ => doubt(&[&[Word::of(module)], more].concat(), line, depth + 1).is_none(),
                };
            }
            "-W" | "-X" if name == "python" => {
                words.next();
            }
            "-V" | "-v" if rest.len() == 1 => return true,
            "--test" | "--check" if name == "node" => return true,
            _ if word.is_option() && may_be_option(word, code) => return false,
            _ if word.is_option() && text.len() > 1 => {}
            _ => return is_listed(SCRIPTED, name) && runs_task(text, &rest[at + 1..]),
        }
    }
    false
}

fn doubt_of_find(rest: &[Word], line: &Line, depth: usize) -> Option<String> {
    let mut at = 0;
    while let Some(word) = rest.get(at) {
        if let Some(inner) = find_runs(&rest[at..]) {
            if let Some(why) = doubt(&inner, line, depth + 1) {
                return Some(why);
            }
            at += inner.len();
        } else if word.begins_open() {
            return Some("what `find` does is only known at run time".to_owned());
        } else if ["-fprint", "-fls", "-del"].iter().any(|option| word.start().starts_with(option)) {
            return Some(format!("`find {}` may delete or overwrite something", word.shown()));
        }
        at += 1;
    }
    None
}

fn make_is_harmless(rest: &[Word]) -> bool {
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        let Some(text) = word.known() else { return false };
        match text {
            "-C" | "-f" | "--directory" | "--file" | "-I" => {
                let place = words.next().and_then(Word::known);
                if place.is_none_or(|place| place == "-" || place.starts_with("/dev/")) {
                    return false;
                }
            }
            _ if text.starts_with("--eval") || text.starts_with("-E") || text.starts_with("-f") => return false,
            _ if text.starts_with('-') || text.bytes().all(|b| b.is_ascii_digit()) => {}
            _ if text.contains('=') => {
                let (name, value) = text.split_once('=').unwrap_or_default();
                let plain = value.chars().all(|c| c.is_ascii_alphanumeric() || "-_./,:".contains(c));
                if is_deciding(name.trim_end_matches([':', '+', '?'])) || !plain {
                    return false;
                }
            }
            _ if is_task(text) => {}
            _ => return false,
        }
    }
    true
}

fn tar_only_lists(rest: &[Word]) -> bool {
    let letters = rest.first().and_then(Word::known).map(|text| text.trim_start_matches('-'));
    let lists = letters
        .is_some_and(|text| text == "list" || (text.contains('t') && !text.contains(['x', 'c', 'r', 'u', 'A', 'I'])));
    let more =
        "--to-command --checkpoint-action --use-compress-program -I --rsh-command -F --info-script --extract --create";
    lists && !rest.iter().any(|word| may_be_option(word, more))
}
