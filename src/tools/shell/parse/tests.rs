//! Tests of parsing command lines.

use super::*;

fn check(line: &str, expected: &str) {
    let read = parse(line);
    let words = |all: &[Word]| all.iter().map(Word::shown).collect::<Vec<_>>().join(" ");
    let shown = |one: &Command| {
        let assigned: String = one.assigned.iter().map(|(name, value)| format!("{name}={} ", value.shown())).collect();
        let writes: String = one.writes.iter().map(|word| format!(" >{}", word.shown())).collect();
        let reads: String = one.reads.iter().map(|word| format!(" <{}", word.shown())).collect();
        format!("{assigned}{}{writes}{reads}{}", words(&one.words), if one.fed { " (fed)" } else { "" })
    };
    let mut got: Vec<String> = read.commands.iter().map(shown).collect();
    got.sort();
    let doubt = if read.understood { "" } else { "?" };
    assert_eq!(format!("{doubt}{}", got.join("; ")), expected, "{line}");
}

#[test]
fn quotes_and_escapes_are_removed_as_a_shell_does() {
    check("a 'b c' \"d\" e\\ f", "a b c d e f");
    check("g\\it g''it g\"i\"t 'gi't $'\\x67it' $'\\147it'", "git git git git git git");
    check("gi\\\nt", "gi t; git");
    check("echo \"a\\\"b\\$c\" 'a\"b'", "echo a\"b$c a\"b");
    check("echo \" a $x b \"", "echo  a � b ");
    check("ls *.rs a? {a,b} {} {x}", "ls �.rs a� � {} {x}");
    check("a $x \"$x\" x$y \"x$y\" \"$@\" $((1+2))", "a � � � x� � �");
    check("git stash@{0} HEAD~1..HEAD HEAD^ ~/x", "git stash@{0} HEAD~1..HEAD HEAD^ ~/x");
    check("a # b", "a");
    check("a 'b", "?a");
}

#[test]
fn commands_are_found_wherever_they_stand() {
    check("a; b && c || d | e &", "a; b; c; d; e (fed)");
    check("a \"$(b)\" `c` <(d)", "a � � /dev/fd/�; b; c; d");
    check("if a; then b; elif c; then d; fi; f() { g; }; while h; do (i); done", "a; b; c; d; g; h; i");
    check("for x in $(a); do b $x; done", "a; b �; x=� ");
    check("x=$(a) y=b c; export d=`e`", "a; d=� export; e; x=� y=b c");
    check("echo ${x:-`a`}", "?echo �");
}

#[test]
fn what_follows_a_redirection_belongs_to_the_command() {
    check("a 2>&1 >out 2>>err <in", "a >out >err <in (fed)");
    check("git > out commit", "git commit >out");
    check("2>/dev/null git commit", "git commit >/dev/null");
    check("cat <<EOF | sh\nrm a $(b)\nEOF", "b (fed); cat (fed); sh (fed)");
    check("cat <<'EOF'\n`b` $(c)\nEOF", "cat (fed)");
    check("cat <<EOF\n`b`\nEOF", "?cat (fed)");
    check("cat <<EOF git commit\nx\nEOF", "cat git commit (fed)");
    check("{ a; } > out", " >out; a");
}
