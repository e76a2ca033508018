//! Tests generated spellings of denied commands, and everyday command lines that no rule should
//! match.

mod everyday;

use everyday::HARMLESS;

use crate::tools::policy::pattern::{Pattern, Sense};
use crate::tools::shell::{Risk, parse, risk};

/// A rule, commands that match it as written, and the same program used harmlessly.
struct Denied {
    rule: &'static str,
    lines: &'static [&'static str],
}

const DENIED: &[Denied] = &[
    Denied {
        rule: "git push",
        lines: &[
            "git push",
            "git push origin main",
            "git -C sub push",
            "git --no-pager push -q",
            "git --git-dir .git --work-tree=. push",
            "git -c user.name=me push",
            "git -c push.default=current -C . push",
            "git --unheard-of thing push",
            "git -p push",
        ],
    },
    Denied {
        rule: "rm -rf",
        lines: &["rm -rf out", "rm -fr out", "rm -r -f out", "rm -f -R out", "rm -rvf out", "rm out -rf"],
    },
    Denied {
        rule: "rm -rf",
        lines: &[
            "rm --recursive --force out",
            "rm -r --force out",
            "rm --rec --fo out",
            "rm -rf -- out",
            "rm --force out -R",
        ],
    },
    Denied {
        rule: "git push --force",
        lines: &[
            "git push --force",
            "git push -f",
            "git push origin +main",
            "git push -uf origin x",
            "git push origin main --forc",
        ],
    },
    Denied {
        rule: "npm publish",
        lines: &["npm publish", "npm --prefix pkg publish", "npm publ", "npm -w pkg publish --tag next"],
    },
    Denied {
        rule: "curl",
        lines: &["curl http://127.0.0.1", "curl -s -X POST 127.0.0.1", "/usr/bin/curl x", "curl.exe x"],
    },
    Denied { rule: "docker rm *", lines: &["docker rm -f x", "docker container rm x", "docker --context c rm x"] },
    Denied { rule: "find -delete", lines: &["find . -name x -delete", "find -delete ."] },
    Denied {
        rule: "pip install",
        lines: &["pip install x", "pip3 install x", "python3 -m pip install x", "pip --quiet install x"],
    },
    Denied {
        rule: "git branch -D",
        lines: &["git branch -D x", "git branch -d -f x", "git branch --delete --force x", "git branch x -D"],
    },
    Denied { rule: "chmod -R 777", lines: &["chmod -R 777 .", "chmod 777 -R .", "chmod --recursive 0777 ."] },
    Denied { rule: "make deploy", lines: &["make deploy", "make -j4 build deploy", "make -C sub deploy"] },
];

/// Different ways to write a command line. `{}` is the line, `{p}` its program, `{a}` its
/// arguments, `{q}` the first letter of the program, `{r}` the other letters.
const WAYS: &[&str] = &[
    "true; {}",
    "true && {}",
    "false || {}",
    "{} &",
    "ls\n{}",
    "ls | {}",
    "({})",
    "{ {}; }",
    "! {}",
    "if true; then {}; fi",
    "if {}; then :; fi",
    "for i in 1; do {}; done",
    "while {}; do break; done",
    "case x in x) {};; esac",
    "f() { {}; }; f",
    "f() { {p} \"$@\"; }; f {a}",
    "echo $({})",
    "echo \"`{}`\"",
    "x=$({})",
    "cat <({})",
    "diff <({}) a",
    "echo ${x:-$({})}",
    "> out {}",
    "2>/dev/null {}",
    "{} > /dev/null 2>&1",
    "{p} 2>/dev/null {a}",
    "{p} \\\n{a}",
    "{q}\\{r} {a}",
    "{q}''{r} {a}",
    "\"{p}\" {a}",
    "'{p}' {a}",
    "$'{p}' {a}",
    "{q}\"\"{r} {a}",
    "\\{p} {a}",
    "/usr/bin/{p} {a}",
    "/usr/local/bin/{p} {a}",
    "{p}.exe {a}",
    "~/bin/{p} {a}",
    "$HOME/bin/{p} {a}",
    "/usr/b*/{q}* {a}",
    "x={p}; $x {a}",
    "x={p}; ${x} {a}",
    "x='{}'; $x",
    "x='{}'; eval $x",
    "x='{}'; sh -c \"$x\"",
    "$(echo {p}) {a}",
    "`which {p}` {a}",
    "\"$(command -v {p})\" {a}",
    "{p} $(echo {a})",
    "a='{a}'; {p} $a",
    "set -- {a}; {p} \"$@\"",
    "env {}",
    "env -i A=b {}",
    "env -u X -- {}",
    "env -S '{}'",
    "A=b C=d {}",
    "nice -n 5 {}",
    "nohup {}",
    "timeout 5 {}",
    "timeout -s KILL --kill-after=1 5s {}",
    "time {}",
    "time -p {}",
    "stdbuf -oL {}",
    "setsid -w {}",
    "command {}",
    "command -p {}",
    "builtin command {}",
    "exec {}",
    "exec -a x {}",
    "sudo {}",
    "sudo -u root -n {}",
    "sudo -E -- {}",
    "doas {}",
    "busybox {}",
    "ionice -c 3 {}",
    "taskset 1 {}",
    "watch -n 1 {}",
    "watch '{}'",
    "script -c '{}' /dev/null",
    "strace -f {}",
    "flock lock {}",
    "xargs {} < list",
    "xargs -I % {} < list",
    "echo {a} | xargs {p}",
    "echo '{}' | xargs -I % sh -c %",
    "echo {} | xargs env",
    "xargs -a list {p}",
    "parallel {} ::: a",
    "parallel ::: '{}'",
    "find . -maxdepth 0 -exec {} \\;",
    "find . -name x -execdir {} +",
    "sh -c '{}'",
    "bash -c \"{}\"",
    "bash -lc '{}'",
    "bash -x -e -c '{}'",
    "bash --norc -c '{}'",
    "sh -c '\"$@\"' _ {}",
    "sh -c '$0 {a}' {p}",
    "sh -c \"sh -c '{}'\"",
    "env sh -c '{}'",
    "sudo bash -c '{}'",
    "echo '{}' | sh",
    "echo '{}' | sudo sh -s",
    "echo '{}' | bash -",
    "printf '%s' '{}' | bash -s --",
    "cat list | while read l; do $l; done",
    "sh <<< '{}'",
    "sh <<EOF\n{}\nEOF",
    "bash -s <<'EOF'\n{}\nEOF",
    "cat <<EOF | sh\n{}\nEOF",
    "cat <<EOF\n$({})\nEOF",
    "cat <<EOF\n`{}`\nEOF",
    "source <(echo '{}')",
    ". /dev/stdin <<< '{}'",
    "bash <(echo '{}')",
    "echo '{}' > x.sh; sh x.sh",
    "echo '{}' > x.sh && . ./x.sh",
    "cp /usr/bin/{p} ./x && ./x {a}",
    "ln -s $(which {p}) x; ./x {a}",
    "eval '{}'",
    "eval {}",
    "eval \"$(echo '{}')\"",
    "trap '{}' EXIT",
    "alias x='{p}'\nx {a}",
    "alias x='{}'\nx",
    "coproc {}",
    "python3 -c 'import os; os.system(\"{}\")'",
    "python -c \"import subprocess; subprocess.run('{}'.split())\"",
    "python3.11 -c 'exec(input())'",
    "echo 'import os' | python3 -",
    "python3 <<EOF\nimport os; os.system('{}')\nEOF",
    "perl -e 'system(\"{}\")'",
    "perl -E 'exec qw({})'",
    "ruby -e '`{}`'",
    "node -e 'require(\"child_process\").execSync(\"{}\")'",
    "node -p 'require(\"child_process\").execSync(\"{}\")'",
    "php -r 'system(\"{}\");'",
    "lua -e 'os.execute(\"{}\")'",
    "awk 'BEGIN{system(\"{}\")}'",
    "awk 'BEGIN{\"{}\" | getline}'",
    "gawk 'BEGIN { print 1 | \"{}\" }'",
    "sed '1e {}' a",
    "sed -n 's/a/b/e' a",
    "make --eval='x:; {}' x",
    "make -f - x <<< 'x:;{}'",
    "make SHELL='{}'",
    "make RUN='{}' run",
    "git -c alias.x='!{}' x",
    "git -c core.pager='{}' log",
    "git -c core.fsmonitor='{}' status",
    "git config alias.x '!{}'; git x",
    "git bisect run {}",
    "git rebase -x '{}' main",
    "git submodule foreach '{}'",
    "git grep -O'{}' x",
    "GIT_PAGER='{}' git log",
    "GIT_EXTERNAL_DIFF='{}' git diff",
    "PAGER='{}' man ls",
    "PATH=.:$PATH ls",
    "npx -c '{}'",
    "npm exec -c '{}'",
    "npm run x -- {}",
    "poetry run {}",
    "docker run --rm image {}",
    "docker exec c sh -c '{}'",
    "ssh host {}",
    "ssh host '{}'",
    "tar -cf a.tar --to-command='{}' b",
    "tar cf a --checkpoint=1 --checkpoint-action=exec='{}' b",
    "vim -c '!{}' a",
    "ed a <<< '!{}'",
    "sqlite3 a '.shell {}'",
    "unheard-of '{}'",
    "unheard-of --run='{}'",
    "unheard-of {}",
    "fd x -x {}",
    "echo 'open {}",
    "{} ; ;",
    "(({}))",
    "[[ x && {} ]]",
    "vim +'!{}' a",
    "/usr/bin/[{q}]{r} {a}",
    "\"$'{p}'\" {a}",
    "cp /usr/bin/{p} x; sh -c './x {a}'",
    "hash -p /usr/bin/{p} x; x {a}",
    "env GIT_PAGER='{}' git log",
    "env PATH=. ls",
    "man -P '{}' ls",
    "rsync -e '{}' a b:c",
    "a=({}); \"${a[@]}\"",
    "read x <<< '{}'; $x",
    "printf -v x '{}'; $x",
    "x() { $1 {a}; }; x {p}",
    "g=x; eval \"{}\"",
    "IFS=,; x={p},x; $x",
    "sh -c -- '{}'",
    "sh -c 'eval \"$1\"' _ '{}'",
    "bash -O extglob -c '{}'",
    "{p}${IFS}{a}",
    "{q}${x}{r} {a}",
    "{q}$@{r} {a}",
    "${x:-{p}} {a}",
    "select i in a; do {}; done",
    "until {}; do :; done",
    "function f { {}; }; f",
    "{ true; {}; } > out",
    "\t{}",
    "echo '{}' | base64 | base64 -d | sh",
    "bash -c \"$(echo '{}')\"",
    "su -c '{}'",
    "systemd-run {}",
    "tmux new -d '{}'",
    "screen -dm {}",
    "echo '{}' | at now",
    "at now <<< '{}'",
    "gdb -ex '!{}' a",
    "ls | entr {}",
    "find . -exec sh -c '{}' \\;",
    "find . -ok {} \\;",
    "nice -n 1 nohup timeout 5 env A=b {}",
    "sudo nice -n 1 {}",
    "{} <<< x",
    "{} < /dev/null | cat",
    "a=1 b=2 nohup {} &",
];

fn said(way: &str, line: &str) -> String {
    let (program, arguments) = line.split_once(' ').unwrap_or((line, ""));
    let name = program.rsplit('/').next().unwrap_or(program).trim_end_matches(".exe");
    let (first, others) = name.split_at(1);
    let way = way.replace("{p}", name).replace("{a}", arguments).replace("{q}", first).replace("{r}", others);
    way.replace("{}", line)
}

#[test]
fn no_spelling_of_a_denied_command_is_let_through() {
    let (mut tried, mut through) = (0, Vec::new());
    for denied in DENIED {
        let rule = Pattern::text(denied.rule).unwrap();
        for line in denied.lines {
            let spellings = WAYS.iter().map(|way| said(way, line)).chain([(*line).to_owned()]);
            for spelling in spellings {
                tried += 1;
                if !rule.matches_command(&spelling, &parse(&spelling), Sense::Any) {
                    through.push(format!("{}: {spelling}", denied.rule));
                }
            }
        }
    }
    through.sort();
    println!("{tried} spellings, {} let through", through.len());
    assert!(through.is_empty() && tried > 200, "{} of {tried}:\n{}", through.len(), through.join("\n"));
}

#[test]
fn everyday_commands_are_neither_denied_nor_asked_about() {
    let denied: Vec<String> = DENIED
        .iter()
        .map(|denied| (denied.rule, Pattern::text(denied.rule).unwrap()))
        .flat_map(|(name, rule)| {
            let hit = HARMLESS.iter().filter(move |line| rule.matches_command(line, &parse(line), Sense::Any));
            hit.map(move |line| format!("denied by {name}: {line}")).collect::<Vec<_>>()
        })
        .collect();
    let asked = HARMLESS.iter().filter(|line| risk(line) != Risk::Plain);
    let asked: Vec<String> = asked.map(|line| format!("asked: {line} ({:?})", risk(line))).collect();
    println!("{} everyday commands, {} denied, {} asked", HARMLESS.len(), denied.len(), asked.len());
    assert!(
        denied.len() + asked.len() <= HARMLESS.len() / 40,
        "of {}:\n{}\n{}",
        HARMLESS.len(),
        denied.join("\n"),
        asked.join("\n")
    );
}
