//! Rates the risk of a shell command line: plain, destructive or forbidden.

mod split;

use crate::base::is_listed;

pub use split::Command;
use split::{harmless_device, split};

/// What a command line may do, worst first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Risk {
    /// No work on a project needs it: refused in every mode.
    Forbidden(String),
    /// It may delete, overwrite or send something, or cannot be analysed.
    Destructive(String),
    Plain,
}

impl Risk {
    /// The worse of two; the first of equal ones.
    fn worst(self, other: Risk) -> Risk {
        match (&self, &other) {
            (Risk::Plain, _) | (Risk::Destructive(_), Risk::Forbidden(_)) => other,
            _ => self,
        }
    }
}

/// `sh -c "sh -c …"` is followed this deep; what lies deeper counts as destructive.
const DEPTH_MAX: usize = 4;
/// A longer line is not analysed and counts as destructive.
const LINE_MAX_BYTES: usize = 16 << 10;

/// Programs that delete, overwrite, change rights, end processes or talk to others, whatever their arguments.
const DESTRUCTIVE: &str = "
    rm rmdir unlink shred mv dd truncate tee chmod chown chgrp kill pkill killall crontab systemctl service mount
    umount sudo su doas pkexec apt apt-get dnf brew pacman docker podman kubectl ssh scp rsync curl wget nc ftp eval
    source . trap install at";
/// Programs that concern the machine and that no project needs.
const FORBIDDEN: &str = "mkfs fdisk parted wipefs shutdown reboot halt poweroff mkswap insmod";
/// Programs that run the command after them.
const WRAPPERS: &str = "env nohup time nice ionice command builtin exec xargs timeout stdbuf setsid coproc busybox
    sudo doas";
const SHELLS: &str = "sh bash zsh dash ksh fish";
/// Destructive subcommands of programs.
const SUBCOMMANDS: [(&str, &str); 6] = [
    (
        "git",
        "push reset clean checkout restore rebase rm stash filter-branch gc switch update-ref reflog mv worktree
        config",
    ),
    ("cargo", "publish yank owner login clean uninstall install"),
    ("npm", "publish unpublish deprecate login uninstall"),
    ("pip", "uninstall"),
    ("gh", "release repo pr issue api secret"),
    ("make", "clean distclean install uninstall"),
];
/// Options that make a harmless program destructive. One letter is also seen among others behind one dash, as in `-rf`.
const OPTIONS: [(&str, &str); 12] = [
    ("find", "-delete -exec -execdir -ok -fprint"),
    ("sed", "-i --in-place"),
    ("perl", "-e -i"),
    ("python", "-c"),
    ("python3", "-c"),
    ("node", "-e --eval"),
    ("ruby", "-e -i"),
    ("cp", "-f --force --remove-destination"),
    ("ln", "-f --force"),
    ("sort", "-o --output"),
    ("tar", "-x --extract --overwrite"),
    ("git", "--amend -D --delete --force"),
];

/// The simple commands of a line; `None` when its quotes do not close or it is too long to be analysed.
pub fn commands(line: &str) -> Option<Vec<Command>> {
    let all = split(line).filter(|_| line.len() <= LINE_MAX_BYTES)?;
    Some(all.into_iter().filter(|one| *one != Command::default()).collect())
}

/// The risk of a whole command line: the worst of its commands.
pub fn risk(line: &str) -> Risk {
    risk_of_line(line, 0)
}

fn risk_of_line(line: &str, depth: usize) -> Risk {
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
    commands.iter().map(|command| risk_of_command(command, depth)).fold(Risk::Plain, Risk::worst)
}

fn risk_of_command(command: &Command, depth: usize) -> Risk {
    for target in &command.writes {
        if target.starts_with("/dev/") && !harmless_device(target) {
            return Risk::Forbidden(format!("it writes to the device {target}"));
        }
    }
    let words: Vec<&String> = command.words.iter().skip_while(|word| is_assignment(word)).collect();
    let Some(first) = words.first() else { return risk_of_writes(command) };
    if first.contains(['$', '`', '*', '?', '{']) && first.as_str() != "{" {
        return Risk::Destructive("which program it runs is only known when it runs".to_owned());
    }
    // Which word behind a wrapper is the program depends on the wrapper's options, so each may be.
    let is_wrapper = is_listed(WRAPPERS, name_of(first));
    let places = if is_wrapper { words.len() } else { 1 };
    (0..places).map(|at| risk_of_program(&words[at..], depth)).fold(risk_of_writes(command), Risk::worst)
}

/// The last part of a program's path.
fn name_of(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or_default()
}

/// The risk of a program, the first of `words`, with its arguments.
fn risk_of_program(words: &[&String], depth: usize) -> Risk {
    let (name, rest) = (name_of(words[0]), &words[1..]);
    if let Some(why) = forbidden(name, rest) {
        return Risk::Forbidden(why);
    }
    if words[0].starts_with(['$', '`']) {
        return Risk::Destructive("which program it runs is only known when it runs".to_owned());
    }
    if is_listed(SHELLS, name) {
        if let Some(at) = rest.iter().position(|word| is_short_options(word) && word.ends_with('c')) {
            return rest.get(at + 1).map_or(Risk::Plain, |line| risk_of_line(line, depth + 1));
        }
        if rest.iter().all(|word| word.starts_with('-') || word.as_str() == "/dev/stdin") {
            return Risk::Destructive(format!("`{name}` runs whatever it is sent"));
        }
    }
    destructive(name, rest).map_or(Risk::Plain, Risk::Destructive)
}

/// Why no project needs the program `name` with these arguments; `None` for all others.
fn forbidden(name: &str, rest: &[&String]) -> Option<String> {
    if is_listed(FORBIDDEN, name) || name.starts_with("mkfs.") {
        return Some(format!("`{name}` concerns the machine, not the project"));
    }
    if name == "rm" && rest.iter().any(|word| is_everything(word)) {
        return Some("it would delete everything".to_owned());
    }
    if name == "dd" && rest.iter().any(|word| word.starts_with("of=/dev/") && !harmless_device(&word[3..])) {
        return Some("it writes over a device".to_owned());
    }
    None
}

/// Why the program `name` with these arguments is destructive; `None` if no table lists it.
fn destructive(name: &str, rest: &[&String]) -> Option<String> {
    if is_listed(DESTRUCTIVE, name) {
        return Some(format!("`{name}` may delete, overwrite or send something"));
    }
    if name == "tar" && rest.first().is_some_and(|options| !options.starts_with('-') && options.contains('x')) {
        return Some("`tar x` may overwrite files".to_owned());
    }
    let listed = |table: &[(&str, &str)]| -> Option<String> {
        let (_, dangerous) = table.iter().find(|(program, _)| *program == name)?;
        rest.iter()
            .find(|word| dangerous.split_whitespace().any(|one| same_option(word, one)))
            .map(|word| (*word).clone())
    };
    let word = listed(&SUBCOMMANDS).or_else(|| listed(&OPTIONS))?;
    Some(format!("`{name} {word}` may delete, overwrite or send something"))
}

/// The risk of the files that a command writes into.
fn risk_of_writes(command: &Command) -> Risk {
    match command.writes.iter().find(|target| !harmless_device(target)) {
        Some(target) => Risk::Destructive(format!("it writes into `{target}`")),
        None => Risk::Plain,
    }
}

/// Whether `word` is the option or subcommand `dangerous`, also with `=value`; one letter also among others: `-ni`, `-i.bak`.
fn same_option(word: &str, dangerous: &str) -> bool {
    let letter = dangerous.strip_prefix('-').filter(|rest| rest.len() == 1);
    word == dangerous
        || word.strip_prefix(dangerous).is_some_and(|rest| rest.starts_with('='))
        || letter.is_some_and(|letter| is_short_options(word) && word.contains(letter))
}

/// `-rf`, not `--force`.
fn is_short_options(word: &str) -> bool {
    word.starts_with('-') && !word.starts_with("--")
}

/// Whether deleting this path would delete all files, or all of the user's.
fn is_everything(word: &str) -> bool {
    let bare = word.trim_end_matches(['/', '*', '.']);
    (bare.is_empty() && word.starts_with('/')) || ["~", "$HOME", "${HOME}"].contains(&bare)
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        let name = name.trim_end_matches('+');
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    })
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
    fn commands_that_read_build_and_test_are_plain() {
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
            "tar -tf a.tar",
            "for f in src/*; do wc -l \"$f\"; done",
            "xargs -n 1 wc -l < list",
        ] {
            check(line, "plain");
        }
    }

    #[test]
    fn commands_that_delete_overwrite_or_send_are_destructive() {
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
            "env env env env env env rm a",
            "timeout -s KILL 5 rm a",
            "env -u X rm a",
            "xargs -I {} rm {} < list",
            "bash --norc -c 'rm a'",
            "tar -xvf a",
            "tar xvf a",
            "sed -ni s/a/b/p f",
            "cat <<EOF\n$(rm a)\nEOF",
            "bash <<EOF\nrm a\nEOF",
            "diff <(rm a) b",
            "for f in *; do rm $f; done",
            "{rm,a}",
            "r* a",
            "ls > \"$out\"",
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
            "sudo -u root rm -rf /",
            "xargs -n 1 rm -rf /",
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
        fn reading_shell_syntax_never_panics(line in "[$`(){}'\"\\\\><&|; a\n]{0,60}") {
            risk(&line);
        }

        #[test]
        fn appending_a_deletion_is_always_seen(line in "[a-z ./-]{0,30}") {
            let risk = risk(&format!("{line}\nrm a"));
            prop_assert!(risk != Risk::Plain);
        }
    }
}
