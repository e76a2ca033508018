//! Lists programs that only read, programs that run other commands, and the position of those
//! commands among the words.

use super::word::{Word, unversioned};
use crate::base::is_listed;

/// Programs that only read and print, with the options that make them do more.
const READERS: &[(&str, &str)] = &[
    (
        "ls dir cat head tail wc nl tac rev cut paste comm cmp diff diff3 fold fmt column expand unexpand join tr od \
         hexdump strings stat du df pwd cd pushd popd dirs echo true false : test [ exit return break continue shift unset \
         local readonly typeset declare let read wait jobs times type which whereis whatis cal uname whoami id groups \
         who w uptime free ps lscpu lsblk nproc getconf locale printenv basename dirname realpath readlink seq expr \
         factor md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum md5 shasum base32 grep egrep fgrep \
         zgrep zcat bzcat xzcat jq sleep ulimit logname arch lsof ss netstat tokei scc info help tldr nm readelf size \
         objdump numfmt tsort pgrep pidof locate tput clear look umask getopts export set mkdir touch mktemp mkfifo more \
         zipinfo zdiff zcmp apropos lsmod lspci lsusb vmstat iostat pstree tty users last printf yes shellcheck hadolint \
         yamllint actionlint mypy pyright pylint pydocstyle bandit ctest cal ncal pkg-config",
        "",
    ),
    ("sort", "-o --output --compress-program"),
    ("tree", "-o"),
    ("rg", "--pre --hostname-bin"),
    ("ag ack", "--pager"),
    ("bat batcat", "--pager"),
    ("less", "-o -O --log-file --LOG-FILE -k"),
    ("man", "-P --pager -H --html -T -X"),
    ("yq", "-i --inplace -s --split-exp"),
    ("date", "-s --set"),
    ("xmllint", "--output -o"),
    ("file", "-C --compile"),
    ("iconv", "-o --output"),
    ("base64", "-o --output"),
    ("history", "-c -w -d -a -r -n"),
    ("cloc", "--out --report-file --use-sudo"),
    ("flake8", "--output-file --tee"),
    ("eslint stylelint biome oxlint markdownlint", "--fix -o --output-file --write --apply --unsafe --fix-dry-run"),
    ("jest vitest", "-u --updateSnapshot --update"),
    ("pytest py.test", "--pastebin --basetemp"),
    ("mocha ava nyc tap tox nox phpunit rspec unittest doctest tsc bats nosetests trial behave", ""),
    ("top", "-i"),
];

/// Programs that run the command among their words, with their options that take a value, and the
/// number of words before the command.
const WRAPPERS: &[(&str, &str, usize)] = &[
    ("env", "-u --unset -C --chdir -S --split-string", 0),
    ("nohup setsid command builtin", "", 0),
    ("time", "-f --format -o --output", 0),
    ("nice", "-n --adjustment", 0),
    ("ionice", "-c -n -p --class --classdata", 0),
    ("exec", "-a", 0),
    ("xargs", "-n -P -I -L -s -d -a -E -i -l --max-args --max-procs --replace --max-lines --delimiter --arg-file", 0),
    ("timeout gtimeout", "-s -k --signal --kill-after", 1),
    ("stdbuf", "-i -o -e --input --output --error", 0),
    ("chrt taskset", "", 1),
    ("npx bunx", "-p --package -c --call", 0),
    ("bundle poetry pipenv uv hatch pdm rye pnpm yarn", "", 1),
    ("caffeinate unbuffer fakeroot", "", 0),
];

/// Programs that run a command and do more than that, or whose command begins at an unknown word.
const RUNNERS: &str = "
    sudo doas su busybox toybox coproc parallel watch chroot unshare nsenter strace ltrace gdb valgrind script ssh
    docker podman flock systemd-run runuser prlimit numactl perf hyperfine entr rlwrap at batch cpulimit firejail
    bwrap proot setpriv sg start-stop-daemon daemonize screen tmux dbus-run-session catchsegv kubectl vagrant
    torsocks proxychains expect socat trap fd fdfind tclsh run-parts nsjail crun runc lxc-execute xvfb-run
    dtach abduco ld.so ld-linux-x86-64.so.2 mosh pdsh ansible winpty wsl";
/// Those of them whose command begins at the first word if there are no options.
const FIRST: &str = "sudo doas busybox toybox coproc";

pub const SHELLS: &str = "sh bash zsh dash ksh mksh yash ash fish rbash csh tcsh pwsh";
/// Interpreters, with the options that give a program as an argument.
const INTERPRETERS: &[(&str, &str)] = &[
    ("python pypy ipython bpython", "-c"),
    ("node nodejs bun", "-e -p -r --eval --print --require --import --loader -i"),
    ("deno", "eval repl"),
    ("perl", "-e -E -M -m -n -p -i -d"),
    ("ruby jruby", "-e -r -n -p -i"),
    ("php", "-r -B -R -E"),
    (
        "lua luajit tclsh wish expect osascript rscript julia guile racket sbcl clisp octave ghci scala groovy kotlin \
      swift elixir erl irb jshell R m4 dc bc ts-node tsx emacs vim vi nvim ex ed gdb lldb psql sqlite3 \
      mysql gnuplot",
        "-e -c -s -S --eval --cmd -ex -x -E --execute -batch --batch -l -es",
    ),
];

/// Programs, other than those that only read, that never run any of their arguments.
const INERT: &str = "
    cp mv rm rmdir unlink ln chmod chown chgrp dd tee truncate shred kill killall pkill install gzip gunzip bzip2 xz unxz
    uniq xxd hostname unzip rustc rustfmt gofmt javac pytest jest black ruff isort prettier curl pip brew patch csplit";
/// Variables that determine which programs run.
const DECIDING: &str =
    "PATH LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT DYLD_INSERT_LIBRARIES BASH_ENV ENV IFS SHELL PAGER EDITOR
    VISUAL BROWSER PYTHONSTARTUP PYTHONINSPECT NODE_OPTIONS PERL5OPT PERL5LIB RUBYOPT LESSOPEN MAKEFLAGS RUSTC_WRAPPER
    RUSTC CARGO_TARGET_DIR PROMPT_COMMAND CC CXX HOME";

/// Whether a variable may cause programs to run that the command does not name.
pub fn is_deciding(variable: &str) -> bool {
    let git = variable.starts_with("GIT_") && !variable.contains("AUTHOR") && !variable.contains("COMMITTER");
    is_listed(DECIDING, variable) || git
}

/// The name by which a program is listed: `python3.11` as `python`.
pub fn listed_name(program: &Word) -> Option<String> {
    let name = program.program();
    // A listed name contains no shell metacharacters.
    let name = name.known().filter(|name| !name.contains(['\'', '"', '$', '`', '\\', ' ', '\t', '\n']))?;
    Some(if ["python", "pip", "pypy"].contains(&unversioned(name)) { unversioned(name) } else { name }.to_owned())
}

/// The options that make a read-only program do more; `None` for other programs.
pub fn reader(name: &str) -> Option<&'static str> {
    READERS.iter().find(|(names, _)| is_listed(names, name)).map(|(_, options)| *options)
}

pub fn is_shell(name: &str) -> bool {
    is_listed(SHELLS, name)
}

/// The options that pass code to an interpreter; `None` for other programs.
pub fn interpreter(name: &str) -> Option<&'static str> {
    INTERPRETERS.iter().find(|(names, _)| is_listed(names, name)).map(|(_, options)| *options)
}

pub fn is_wrapper(name: &str) -> bool {
    is_plain_wrapper(name) || is_listed(RUNNERS, name)
}

/// Whether a program is a wrapper that only runs a command, which begins at a known word.
pub fn is_plain_wrapper(name: &str) -> bool {
    WRAPPERS.iter().any(|(names, ..)| is_listed(names, name))
}

/// Whether a program takes its arguments as text or file names, never as commands.
pub fn is_inert(name: &str) -> bool {
    is_listed(INERT, name) || reader(name).is_some() || ["sed", "awk", "gawk", "mawk", "nawk", "find"].contains(&name)
}

/// Whether `word` may be one of the options, including abbreviated, with a value, or among other
/// letters after a single dash.
pub fn may_be_option(word: &Word, options: &str) -> bool {
    let name = word.name();
    options.split_whitespace().any(|option| {
        if word.begins_open() {
            return true;
        }
        match (option.strip_prefix("--"), name.strip_prefix("--")) {
            (Some(_), Some(given)) => !given.is_empty() && option.starts_with(name),
            (None, None) if option.len() == 2 && option.starts_with('-') && name.starts_with('-') => {
                word.shown()[1..].contains([option.as_bytes()[1] as char, '�'])
            }
            (None, None) => word.may_be(option) || Word::of(name).may_be(option),
            _ => false,
        }
    })
}

/// The command that find runs, if `words` begin with `-exec` or a similar option. The files that it
/// inserts are unknown.
pub fn find_runs(words: &[Word]) -> Option<Vec<Word>> {
    let (option, rest) = words.split_first()?;
    let option = option.start();
    let runs = option.starts_with("-exec")
        || option.starts_with("-ok")
        || ["-x", "-X", "--exec", "--exec-batch"].contains(&option);
    if !runs {
        return None;
    }
    let inner = rest.iter().take_while(|word| !matches!(word.known(), Some(";" | "+")));
    Some(inner.map(|word| word.filled("{}")).collect())
}

/// The command run by `words`, which begin with a wrapper; empty if there is none. `None` if it is
/// uncertain where the command begins.
pub fn wrapped(name: &str, words: &[Word]) -> Option<Vec<Word>> {
    let (with_value, mut operands) = match WRAPPERS.iter().find(|(names, ..)| is_listed(names, name)) {
        Some((_, with_value, operands)) => (*with_value, *operands),
        None if !is_listed(FIRST, name) || words.get(1).is_some_and(Word::may_be_option) => return None,
        None => ("", 0),
    };
    let mut mark = None;
    let mut at = 1;
    while let Some(word) = words.get(at) {
        if word.may_be_option() {
            let text = word.known()?;
            if text == "-" || ["-c", "--call"].contains(&text) && name == "npx" {
                return None;
            }
            at += 1;
            if text == "--" {
                break;
            }
            let bare = text.split('=').next().unwrap_or(text);
            let takes = is_listed(with_value, bare);
            // `env -S` splits one word into several.
            if name == "env" && (bare.starts_with("-S") || bare.starts_with("--s")) {
                return None;
            }
            if name == "xargs" && (bare.starts_with("-I") || bare.starts_with("-i") || bare.starts_with("--rep")) {
                let joined = text.strip_prefix("-I").or(text.strip_prefix("-i")).filter(|mark| !mark.is_empty());
                let next = words.get(at).filter(|_| bare == "-I").and_then(|next| next.known());
                mark = Some(joined.or(next).unwrap_or("{}").to_owned());
            }
            at += usize::from(takes && bare == text && !["-i", "-l"].contains(&bare));
        } else if name == "env" && word.start().contains('=') {
            at += 1;
        } else if operands > 0 {
            operands -= 1;
            at += 1;
        } else {
            break;
        }
    }
    let mut rest: Vec<Word> = words.get(at..).unwrap_or_default().to_vec();
    if name == "xargs" {
        match mark {
            Some(mark) => rest = rest.iter().map(|word| word.filled(&mark)).collect(),
            // xargs appends the words that it reads.
            None if !rest.is_empty() => rest.push(Word::open()),
            None => {}
        }
    }
    Some(rest)
}
