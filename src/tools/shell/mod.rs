//! Parses shell command lines and rates their risk: none, some, or a risk that no project needs to
//! take.

pub mod git;
pub mod harmless;
mod parse;
pub mod programs;
pub mod scripts;
pub mod word;

use crate::base::is_listed;

pub use parse::{Command, Line, parse};
use word::Word;

/// The risk of a command line, worst first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Risk {
    /// Project work never needs this command: it is refused in every mode.
    Forbidden(String),
    /// The command is not known to be harmless: it may delete, overwrite or send something.
    Destructive(String),
    Plain,
}

/// Maximum nesting of `sh -c "sh -c …"` that is parsed; a deeper line counts as not understood.
pub const DEPTH_MAX: usize = 4;
/// Programs that affect the whole machine and that no project needs.
const FORBIDDEN: &str = "mkfs fdisk parted wipefs shutdown reboot halt poweroff mkswap insmod";

/// The risk of a command line: that of its riskiest command.
pub fn risk(text: &str) -> Risk {
    let squeezed: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    if squeezed.contains(":(){:|:&};:") {
        return Risk::Forbidden("it multiplies itself endlessly".to_owned());
    }
    let line = parse(text);
    if let Some(why) = forbidden_in(&line, 0) {
        return Risk::Forbidden(why);
    }
    harmless::doubt_of_line(&line, 0).map_or(Risk::Plain, Risk::Destructive)
}

/// Whether a command line runs a program that does more than show or move files, such as a test, a
/// build or a script.
pub fn runs_something(text: &str) -> bool {
    let looks = |name: &str| programs::is_inert(name) || matches!(name, "git" | "cd");
    let name = |command: &Command| command.words.first().and_then(programs::listed_name);
    parse(text).commands.iter().any(|command| name(command).is_none_or(|name| !looks(&name)))
}

fn forbidden_in(line: &Line, depth: usize) -> Option<String> {
    line.commands.iter().find_map(|command| {
        let device =
            command.writes.iter().map(Word::start).find(|file| file.starts_with("/dev/") && !harmless_device(file));
        let device = device.map(|device| format!("it writes to the device {device}"));
        device.or_else(|| forbidden_command(&command.words, depth))
    })
}

/// Options of a wrapper determine which of the words after it is the program, so each word is
/// checked.
fn forbidden_command(words: &[Word], depth: usize) -> Option<String> {
    let first = words.first()?.program();
    let places = if first.known().is_some_and(programs::is_wrapper) { words.len() } else { 1 };
    (0..places).find_map(|at| {
        let name = words[at].program();
        let (name, rest) = (name.known()?, &words[at + 1..]);
        let inner = rest.iter().filter(|_| programs::is_shell(name) && depth < DEPTH_MAX).filter_map(Word::known);
        forbidden(name, rest).or_else(|| inner.map(parse).find_map(|line| forbidden_in(&line, depth + 1)))
    })
}

/// The reason why no project needs the program `name` with these arguments; `None` for all others.
fn forbidden(name: &str, rest: &[Word]) -> Option<String> {
    if is_listed(FORBIDDEN, name) || name.starts_with("mkfs.") {
        return Some(format!("`{name}` affects the machine, not the project"));
    }
    if name == "rm" && rest.iter().any(is_everything) {
        return Some("it would delete everything".to_owned());
    }
    let device = |word: &Word| word.start().starts_with("of=/dev/") && !harmless_device(&word.start()[3..]);
    (name == "dd" && rest.iter().any(device)).then(|| "it overwrites a device".to_owned())
}

/// Whether deleting this path would delete all files, or all files of the user.
fn is_everything(word: &Word) -> bool {
    let shown = word.shown();
    let bare = shown.trim_end_matches(['/', '*', '.', '�']);
    (bare.is_empty() && shown.starts_with('/')) || bare == "~"
}

pub fn harmless_device(path: &str) -> bool {
    ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"].contains(&path)
}

impl Line {
    /// The commands; `None` if the line is not understood or defines functions, or if a command is
    /// not plain.
    pub fn plain(&self) -> Option<&[Command]> {
        let plain = self.understood && self.functions.is_empty() && self.commands.iter().all(Command::is_plain);
        Some(&self.commands[..]).filter(|all| plain && !all.is_empty())
    }
}

impl Command {
    /// Whether it writes no files, changes no variables, and names its program literally.
    fn is_plain(&self) -> bool {
        let device = |word: &Word| word.known().is_some_and(harmless_device);
        let program = self.words.first().is_some_and(|first| first.known().is_some());
        self.assigned.is_empty() && self.writes.iter().all(device) && program
    }
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
        assert_eq!(got, expected, "{line}: {:?}", parse(line));
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
    fn what_is_not_known_to_be_harmless_is_destructive() {
        for line in [
            "cp new old",
            "cp -n new old",
            "install -m 755 new old",
            "gzip -9 old",
            "gunzip -f old.gz",
            "tar czf old.tgz src",
            "tar -xf old.tar",
            "unzip -o old.zip",
            "zip old.zip src",
            "split -b 1k new old",
            "patch -p1 < fix",
            "sort -o old new",
            "sort --outpu=old new",
            "uniq new old",
            "xxd -r new old",
            "iconv -o old new",
            "tree -o old",
            "yq -i '.a = 1' old",
            "sed --in-plac s/a/b/ old",
            "sed -e p -e 'w old' new",
            "awk '{print > \"old\"}' new",
            "gawk -i inplace '{print}' old",
            "find . -fprintf old x",
            "find . -exec cp {} old \\;",
            "xargs -n 1 gzip < list",
            "perl -pe 's/a/b/' old",
            "perl -Mre=eval old",
            "ruby -ne 'puts 1' old",
            "python3.12 -c 'open(\"old\", \"w\")'",
            "python -m zipfile -e old.zip .",
            "python -m json.tool new old",
            "node --eval 'require(\"fs\")'",
            "node -r ./x.js",
            "deno eval x",
            "git checkout main",
            "git switch main",
            "git stash",
            "git stash pop",
            "git merge main",
            "git pull",
            "git branch -f x",
            "git tag -d v1",
            "git remote remove x",
            "git config user.name x",
            "git log --outp=old",
            "git -c alias.x='!rm a' x",
            "git unheard-of",
            "cargo fmt",
            "cargo clippy --fix",
            "cargo install x",
            "npm install",
            "npm run deploy",
            "npm run clean",
            "npx prettier --write .",
            "black .",
            "gofmt -w .",
            "go generate ./...",
            "make deploy",
            "make SHELL=x",
            "make -f - <<< x",
            "pip install x",
            "brew upgrade",
            "docker run x",
            "docker rm x",
            "kubectl apply -f x",
            "terraform apply",
            "env FOO=1 unheard-of",
            "./unheard-of",
            "./scripts/deploy.sh",
            "bash scripts/clean.sh",
            "/tmp/test.sh",
            "../test.sh",
            "unheard-of --flag",
            "PATH=. ls",
            "GIT_PAGER='rm a' git log",
            "date -s now",
            "hostname new",
            "crontab -r",
            "sqlite3 db 'drop table x'",
            "ed old",
            "vim -es old",
            "ln -sf new old",
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
