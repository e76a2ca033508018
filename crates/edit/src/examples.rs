//! Runs examples against the code: builds the command and reads its output.

use regex::Captures;

use crate::base::pattern::static_regex;
use crate::paths::ending;
use crate::testing::quoted;

/// A call and its expected result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// The called function.
    pub name: String,
    /// The call as written in the request.
    pub call: String,
    /// The result as written in the request: a literal, a bare word, or the name of an error.
    pub expected: String,
    /// Whether `expected` is the wrong result that the call returns now; then any other result is
    /// right.
    pub is_wrong: bool,
    /// The current result of the call according to the request, if a different one is expected.
    pub now: Option<String>,
}

/// Separates a call from its result in the output of [`command`].
const WRONG: &str = " gives ";

/// A shell command that runs `examples` of a function in the file `path`; `None` for other
/// languages. It prints one line for each example with a wrong result, and then fails. If the
/// request states the current result, that result counts as wrong even if it prints like the
/// expected one, as `'1'` and `1` do.
pub fn command(path: &str, examples: &[Example]) -> Option<String> {
    match ending(path) {
        "py" => Some(format!("PYTHONPATH=.:src python3 -c {}", quoted(&python(path, examples)?))),
        "js" | "mjs" | "cjs" => Some(format!("node --input-type=module -e {}", quoted(&script(path, examples)))),
        "go" => Some(go(path, examples)),
        _ => None,
    }
}

/// The lines for wrong results in the output of a failed run of [`command`]; `None` if there are
/// none.
pub fn wrong(output: &str, examples: &[Example]) -> Option<String> {
    let is_result = |line: &&str| {
        examples.iter().any(|one| line.trim_start().strip_prefix(&one.call).is_some_and(|rest| rest.starts_with(WRONG)))
    };
    let lines: Vec<&str> = output.lines().filter(is_result).map(str::trim).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// The part of each line of [`wrong`] before the expected result: `f(1) gives 2` from
/// `f(1) gives 2, not 3`. Lines without an expected result are skipped.
pub fn given(results: &str) -> Vec<String> {
    results.lines().filter_map(|line| Some(line.rsplit_once(", not ")?.0.to_owned())).collect()
}

fn python(path: &str, examples: &[Example]) -> Option<String> {
    let module = crate::imports::module_of(path)?;
    let names = names(examples).join(", ");
    let tries = examples.iter().map(|one| {
        let expected = literal(&one.expected, ["True", "False", "None"]);
        let sign = if one.is_wrong { "!=" } else { "==" };
        let now = one.now.as_ref().map(|now| format!(", {}", literal(now, ["True", "False", "None"])));
        format!("t({:?}, lambda: {}, {expected}, {sign:?}{})", one.call, one.call, now.unwrap_or_default())
    });
    Some(format!(
        "from {module} import {names}\n\
         def t(c, f, w, s, *now):\n    \
             n = False\n    \
             try: r = f()\n    \
             except Exception as e: r, n = e, s != '=='\n    \
             ok = r == w or str(r) == str(w) or type(r).__name__ == str(w)\n    \
             ok = ok == (s == '==') and not n and not any(type(r) is type(o) and r == o for o in now)\n    \
             if not ok: print(f\"{{c}}{WRONG}{{r!r}}\" + (f\", not {{w!r}}\" if s == '==' else ', which is wrong'))\n    \
             return ok\n\
         raise SystemExit(not all([{}]))",
        tries.collect::<Vec<_>>().join(", ")
    ))
}

fn script(path: &str, examples: &[Example]) -> String {
    let names = names(examples);
    let bound = names.iter().map(|name| format!("const {name} = m.{name} ?? m.default?.{name} ?? m.default;"));
    let tries = examples.iter().map(|one| {
        let expected = literal(&one.expected, ["true", "false", "null"]);
        let now = one.now.as_ref().map(|now| format!(", {}", literal(now, ["true", "false", "null"])));
        format!("t({:?}, () => {}, {expected}, {}{})", one.call, one.call, !one.is_wrong, now.unwrap_or_default())
    });
    format!(
        "const m = await import(process.cwd() + {:?});\n{}\n\
         const s = (v) => v instanceof Error ? `${{v.name}}: ${{v.message}}` : JSON.stringify(v);\n\
         const t = (c, f, w, right, ...now) => {{ let r, fell = false; try {{ r = f(); }} catch (e) {{ r = e; fell = !right; }}\n  \
           const ok = !fell && (s(r) === s(w) || String(r) === String(w) || r?.name === w) === right\n    \
             && !now.some((o) => s(o) === s(r));\n  \
           if (!ok) console.log(`${{c}}{WRONG}${{s(r)}}, ` + (right ? `not ${{s(w)}}` : 'which is wrong'));\n  return ok; }};\n\
         process.exit([{}].every(Boolean) ? 0 : 1);",
        format!("/{path}"),
        bound.collect::<Vec<_>>().join(" "),
        tries.collect::<Vec<_>>().join(", ")
    )
}

/// Runs the examples as a Go test that an overlay places next to the file, so that no file is added
/// to the project.
fn go(path: &str, examples: &[Example]) -> String {
    let folder = path.rsplit_once('/').map_or(".", |(folder, _)| folder);
    let text = |value: &str| match value.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
        Some(inside) => format!("{inside:?}"),
        None => value.to_owned(),
    };
    let call = |one: &Example| {
        static_regex!(TEXT = r"'[^']*'");
        TEXT.replace_all(&one.call, |found: &Captures<'_>| text(&found[0])).into_owned()
    };
    let tries = examples.iter().map(|one| {
        let expected = text(&literal(&one.expected, ["true", "false", "nil"]));
        format!(
            "\ttry({:?}, func() interface{{}} {{ return first({}) }}, {expected}, {})\n",
            one.call,
            call(one),
            !one.is_wrong
        )
    });
    let test = format!(
        "import (\"fmt\"; \"testing\")\n\
         func TestAskedExamples(t *testing.T) {{\n\
         \tfirst := func(all ...interface{{}}) interface{{}} {{ return all[0] }}\n\
         \ttry := func(call string, f func() interface{{}}, want interface{{}}, right bool) {{\n\
         \t\tvar got interface{{}}\n\
         \t\tfunc() {{ defer func() {{ if e := recover(); e != nil {{ got = fmt.Sprint(\"panic: \", e) }} }}(); got = f() }}()\n\
         \t\tif (fmt.Sprint(got) == fmt.Sprint(want)) == right {{ return }}\n\
         \t\tif right {{ fmt.Printf(\"%s{WRONG}%#v, not %#v\\n\", call, got, want) }} else {{ fmt.Printf(\"%s{WRONG}%#v, which is wrong\\n\", call, got) }}\n\
         \t\tt.Fail()\n\
         \t}}\n{}}}\n",
        tries.collect::<String>()
    );
    let (path, folder) = (quoted(path), quoted(folder));
    format!(
        "d=$(mktemp -d) && p=$(sed -n 's/^package \\([A-Za-z0-9_]*\\).*/\\1/p' {path} | head -n 1) && \
         printf 'package %s\\n%s' \"$p\" {} >\"$d/asked_test.go\" && \
         printf '{{\"Replace\": {{\"%s/%s/zz_asked_test.go\": \"%s/asked_test.go\"}}}}' \"$PWD\" {folder} \"$d\" >\"$d/overlay\" && \
         go test -vet=off -overlay=\"$d/overlay\" -run '^TestAskedExamples$' ./{folder}; r=$?; rm -rf \"$d\"; exit $r",
        quoted(&test)
    )
}

fn names(examples: &[Example]) -> Vec<String> {
    let mut names: Vec<String> = examples.iter().map(|one| one.name.clone()).collect();
    names.sort();
    names.dedup();
    names
}

/// A value as source code: a bare word (`13th`) becomes a string. `constants` holds the language's
/// words for true, false and null.
fn literal(value: &str, [yes, no, nothing]: [&str; 3]) -> String {
    match value {
        "True" | "true" => yes.to_owned(),
        "False" | "false" => no.to_owned(),
        // JavaScript has two null values.
        "undefined" if nothing == "null" => value.to_owned(),
        "None" | "null" | "undefined" => nothing.to_owned(),
        _ if value.starts_with(['\'', '"', '[', '(', '{']) || value.parse::<f64>().is_ok() => value.to_owned(),
        _ => format!("{value:?}"),
    }
}

/// The offset after the bracket that closes the one at `open`; brackets in strings do not count.
pub fn closed(text: &str, open: usize) -> Option<usize> {
    let mut depth = 0usize;
    let mut quote: Option<char> = None;
    for (at, letter) in text[open..].char_indices() {
        match (quote, letter) {
            (Some(mark), _) if mark == letter => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(letter),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(open + at + letter.len_utf8());
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn go_examples_run_without_a_new_file_in_the_project() {
        let example = Example {
            name: "Tail".into(),
            call: "Tail('ab')".into(),
            expected: "\"b\"".into(),
            is_wrong: false,
            now: None,
        };
        let line = command("a/m.go", std::slice::from_ref(&example)).unwrap();
        assert!(line.contains("first(Tail(\"ab\"))") && line.ends_with("exit $r"), "{line}");
        if std::process::Command::new("go").arg("version").output().is_err() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("a")).unwrap();
        std::fs::write(folder.path().join("go.mod"), "module m\n\ngo 1.16\n").unwrap();
        let text = "package a\n\nfunc Tail(s string) (string, error) {\n\treturn s[2:], nil\n}\n";
        std::fs::write(folder.path().join("a/m.go"), text).unwrap();
        let ran = std::process::Command::new("sh").args(["-c", &line]).current_dir(folder.path()).output().unwrap();
        let said = String::from_utf8_lossy(&ran.stdout).into_owned() + &String::from_utf8_lossy(&ran.stderr);
        assert_eq!(
            wrong(&said, std::slice::from_ref(&example)).as_deref(),
            Some("Tail('ab') gives \"\", not \"b\""),
            "{said}"
        );
        assert_eq!(std::fs::read_dir(folder.path().join("a")).unwrap().count(), 1);
    }
}
