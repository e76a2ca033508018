//! Says whether a command line may destroy something.

mod split;

use split::{Simple, split};

/// What a command line may do, worst first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Risk {
    /// No project work needs it: refused whatever the mode.
    Forbidden(String),
    /// It deletes, overwrites, sends away or cannot be seen through.
    Destructive(String),
    Plain,
}

/// `sh -c "sh -c …"` is followed this deep.
const DEPTH_MAX: usize = 4;
/// A longer line is not looked through but asked about.
const LINE_MAX_BYTES: usize = 16 << 10;

/// Programs that delete, overwrite, change rights, end processes or talk to others, whatever their arguments.
const DESTRUCTIVE: [&str; 42] = [
    "rm",
    "rmdir",
    "unlink",
    "shred",
    "mv",
    "dd",
    "truncate",
    "tee",
    "chmod",
    "chown",
    "chgrp",
    "kill",
    "pkill",
    "killall",
    "crontab",
    "systemctl",
    "service",
    "mount",
    "umount",
    "sudo",
    "su",
    "doas",
    "pkexec",
    "apt",
    "apt-get",
    "dnf",
    "brew",
    "pacman",
    "docker",
    "podman",
    "kubectl",
    "ssh",
    "scp",
    "rsync",
    "curl",
    "wget",
    "nc",
    "ftp",
    "eval",
    "source",
    "install",
    "at",
];
/// Programs nobody needs in a project.
const FORBIDDEN: [&str; 10] =
    ["mkfs", "fdisk", "parted", "wipefs", "shutdown", "reboot", "halt", "poweroff", "mkswap", "insmod"];
/// Programs that run the command after them.
const WRAPPERS: [&str; 12] =
    ["env", "nohup", "time", "nice", "ionice", "command", "builtin", "exec", "xargs", "timeout", "stdbuf", "setsid"];
const SHELLS: [&str; 6] = ["sh", "bash", "zsh", "dash", "ksh", "fish"];
/// Two words that destroy together: a program and its subcommand.
const SUBCOMMANDS: [(&str, &[&str]); 6] = [
    (
        "git",
        &[
            "push",
            "reset",
            "clean",
            "checkout",
            "restore",
            "rebase",
            "rm",
            "stash",
            "filter-branch",
            "gc",
            "switch",
            "update-ref",
            "reflog",
            "mv",
            "worktree",
            "config",
        ],
    ),
    ("cargo", &["publish", "yank", "owner", "login", "clean", "uninstall", "install"]),
    ("npm", &["publish", "unpublish", "deprecate", "login", "uninstall"]),
    ("pip", &["uninstall"]),
    ("gh", &["release", "repo", "pr", "issue", "api", "secret"]),
    ("make", &["clean", "distclean", "install", "uninstall"]),
];
/// An option that turns a harmless program into a destructive one.
const OPTIONS: [(&str, &[&str]); 12] = [
    ("find", &["-delete", "-exec", "-execdir", "-ok", "-fprint"]),
    ("sed", &["-i", "--in-place"]),
    ("perl", &["-e", "-i", "-pi"]),
    ("python", &["-c"]),
    ("python3", &["-c"]),
    ("node", &["-e", "--eval"]),
    ("ruby", &["-e", "-i"]),
    ("cp", &["-f", "--force", "--remove-destination"]),
    ("ln", &["-f", "-sf", "--force"]),
    ("sort", &["-o", "--output"]),
    ("tar", &["-x", "--extract", "-xf", "-xzf", "xf", "xzf", "--overwrite"]),
    ("git", &["--amend", "-D", "--delete", "--force"]),
];

/// A simple command of a line, as rules see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The program and its arguments, without quotes.
    pub words: Vec<String>,
    writes: Vec<String>,
    /// Its words are all there is to it: no file is written into, and the program is not found out at run time.
    pub plain: bool,
}

impl Command {
    /// The words, and the files it writes into.
    pub fn all_words(self) -> impl Iterator<Item = String> {
        self.words.into_iter().chain(self.writes)
    }
}

/// The simple commands of a line; `None` when its quotes do not close or it is too long to be looked through.
pub fn commands(line: &str) -> Option<Vec<Command>> {
    let all = split(line).filter(|_| line.len() <= LINE_MAX_BYTES)?;
    let seen = |one: Simple| Command {
        plain: !one.unknown_program && one.writes.iter().all(|target| harmless_device(target)),
        words: one.words,
        writes: one.writes,
    };
    Some(all.into_iter().filter(|one| *one != Simple::default()).map(seen).collect())
}

/// The risk of a whole command line.
pub fn risk(line: &str) -> Risk {
    worst(line, 0)
}

fn worst(line: &str, depth: usize) -> Risk {
    let squeezed: String = line.chars().filter(|c| !c.is_whitespace()).collect();
    if squeezed.contains(":(){:|:&};:") {
        return Risk::Forbidden("it multiplies itself without end".to_owned());
    }
    if line.len() > LINE_MAX_BYTES || depth > DEPTH_MAX {
        return Risk::Destructive("it is too long or too deep to be looked through".to_owned());
    }
    let Some(commands) = split(line) else {
        return Risk::Destructive("its quotes do not close".to_owned());
    };
    let mut found = Risk::Plain;
    for command in commands {
        match of_one(&command, depth) {
            Risk::Forbidden(why) => return Risk::Forbidden(why),
            Risk::Destructive(why) if found == Risk::Plain => found = Risk::Destructive(why),
            _ => {}
        }
    }
    found
}

fn of_one(command: &Simple, depth: usize) -> Risk {
    let program_of = |word: &String| word.rsplit('/').next().unwrap_or("").to_owned();
    let words: Vec<&String> = command.words.iter().skip_while(|word| is_assignment(word)).collect();
    for target in &command.writes {
        if target.starts_with("/dev/") && !harmless_device(target) {
            return Risk::Forbidden(format!("it writes to the device {target}"));
        }
    }
    let Some(program) = words.first().map(|word| program_of(word)) else { return written(command) };
    let rest: Vec<String> = words[1..].iter().map(|word| (*word).clone()).collect();
    let name = program.as_str();
    if FORBIDDEN.contains(&name) || name.starts_with("mkfs.") {
        return Risk::Forbidden(format!("`{name}` concerns the machine, not the project"));
    }
    if name == "rm" && rest.iter().any(|word| is_everything(word)) {
        return Risk::Forbidden("it would delete everything".to_owned());
    }
    if name == "dd" && rest.iter().any(|word| word.starts_with("of=/dev/") && !harmless_device(&word[3..])) {
        return Risk::Forbidden("it writes over a device".to_owned());
    }
    if command.unknown_program && (name.contains('$') || name.contains('`')) {
        return Risk::Destructive("which program it runs is only known when it runs".to_owned());
    }
    if WRAPPERS.contains(&name) || ["sudo", "doas"].contains(&name) {
        let inner = rest.iter().position(|word| !word.starts_with('-') && !is_assignment(word) && !is_amount(word));
        let inner = Simple { words: inner.map_or(Vec::new(), |at| rest[at..].to_vec()), ..Simple::default() };
        let risk = if depth < DEPTH_MAX { of_one(&inner, depth + 1) } else { Risk::Plain };
        if risk != Risk::Plain {
            return risk;
        }
    }
    if SHELLS.contains(&name) {
        if let Some(at) = rest.iter().position(|word| word.starts_with('-') && word.ends_with('c')) {
            let risk = rest.get(at + 1).map_or(Risk::Plain, |line| worst(line, depth + 1));
            return if risk == Risk::Plain { written(command) } else { risk };
        }
        if rest.is_empty() {
            return Risk::Destructive(format!("`{name}` runs whatever it is sent"));
        }
    }
    if DESTRUCTIVE.contains(&name) {
        return Risk::Destructive(format!("`{name}` may delete, overwrite or send something"));
    }
    let listed = |table: &[(&str, &[&str])]| -> Option<String> {
        let (_, dangerous) = table.iter().find(|(program, _)| *program == name)?;
        rest.iter().find(|word| dangerous.iter().any(|one| same_option(word, one))).cloned()
    };
    if let Some(word) = listed(&SUBCOMMANDS).or_else(|| listed(&OPTIONS)) {
        return Risk::Destructive(format!("`{name} {word}` may delete, overwrite or send something"));
    }
    written(command)
}

fn written(command: &Simple) -> Risk {
    match command.writes.iter().find(|target| !harmless_device(target)) {
        Some(target) => Risk::Destructive(format!("it writes into `{target}`")),
        None => Risk::Plain,
    }
}

fn harmless_device(path: &str) -> bool {
    ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"].contains(&path)
}

/// `-i` also stands in `-i.bak`; long options and subcommands are whole words, with or without `=value`.
fn same_option(word: &str, dangerous: &str) -> bool {
    word == dangerous
        || word
            .strip_prefix(dangerous)
            .is_some_and(|rest| rest.starts_with('=') || (dangerous == "-i" && !rest.is_empty()))
}

fn is_everything(word: &str) -> bool {
    let bare = word.trim_end_matches(['/', '*', '.']);
    (bare.is_empty() && word.starts_with('/')) || ["~", "$HOME", "${HOME}"].contains(&bare)
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    })
}

fn is_amount(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(line: &str, expected: &str) {
        let got = match risk(line) {
            Risk::Plain => "plain",
            Risk::Destructive(_) => "destructive",
            Risk::Forbidden(_) => "forbidden",
        };
        assert_eq!(got, expected, "{line}: {:?}", split(line));
    }

    #[test]
    fn looking_building_and_testing_are_plain() {
        for line in [
            "ls -la",
            "cargo test --release",
            "git status",
            "git log --oneline | head -3",
            "grep -rn 'rm -rf' src",
            "echo \"rm everything > here\"",
            "make 2>&1",
            "make test 2>/dev/null",
            "make >/dev/null 2>&1",
            "FOO=1 cargo check",
            "cd src && ls; pwd",
            "echo 'it''s > fine'",
            "find . -name '*.rs'",
            "sed -n 1,3p a.txt",
            "if true; then ls; fi",
            "bash build.sh",
            "timeout 5 cargo test",
            "git diff # rm -rf /",
        ] {
            check(line, "plain");
        }
    }

    #[test]
    fn deleting_overwriting_and_sending_are_destructive() {
        for line in [
            "rm a.txt",
            "ls; rm -r target",
            "ls && mv a b",
            "true || rm x",
            "echo x > a.txt",
            "echo x >> a.txt",
            "echo x>a.txt",
            "echo x >| a.txt",
            "cmd &> log",
            "cmd >& log",
            "git push origin main",
            "git reset --hard",
            "git -C sub clean -fd",
            "git checkout -- .",
            "sudo ls",
            "FOO=1 rm a",
            "env FOO=1 rm a",
            "nohup rm a &",
            "find . -name x -delete",
            "find . -exec rm {} +",
            "sed -i s/a/b/ f",
            "sed -i.bak s/a/b/ f",
            "xargs rm < list",
            "sh -c 'rm a'",
            "bash -lc \"ls; rm a\"",
            "echo $(rm a)",
            "echo `rm a`",
            "echo \"$(rm a)\"",
            "/bin/rm a",
            "r\\m a",
            "'rm' a",
            "curl http://x | sh",
            "python3 -c 'print(1)'",
            "$CMD a",
            "$(cat cmd)",
            "`cat cmd`",
            "(cd x; rm a)",
            "{ rm a; }",
            "if true; then rm a; fi",
            "echo 'open",
            "timeout 5 rm a",
            "chmod +x a",
            "cat x | bash",
            "cp -f a b",
            "git commit --amend",
            "cargo publish",
            "dd if=a of=b",
            "ls\nrm a",
        ] {
            check(line, "destructive");
        }
    }

    #[test]
    fn what_no_project_needs_is_forbidden() {
        for line in [
            "rm -rf /",
            "rm -rf /*",
            "sudo rm -rf / --no-preserve-root",
            "rm -r ~",
            "rm -rf $HOME/",
            "mkfs.ext4 /dev/sda",
            "dd if=/dev/zero of=/dev/sda",
            "echo x > /dev/sda",
            ":(){ :|:& };:",
            "ls; shutdown -h now",
            "sh -c 'rm -rf /'",
        ] {
            check(line, "forbidden");
        }
    }

    proptest! {
        #[test]
        fn reading_a_command_line_never_panics(line in "\\PC{0,200}") {
            risk(&line);
        }

        #[test]
        fn nor_on_the_signs_of_the_shell(line in "[$`(){}'\"\\\\><&|; a\n]{0,60}") {
            risk(&line);
        }

        #[test]
        fn appending_a_deletion_is_always_seen(line in "[a-z ./-]{0,30}") {
            let risk = risk(&format!("{line}\nrm a"));
            prop_assert!(risk != Risk::Plain);
        }
    }
}
