//! Definitions, sections and blocks: with all that is theirs, and nothing else.

use super::{check, refuses};

#[test]
fn a_definition_ends_where_its_syntax_does() {
    check(
        "Remove the function greet from a.py",
        "def greet(\n    name,\n):\n    print(name)\n\n\ngreet(1)\n",
        &["-def greet(", "-    name,", "-):", "-    print(name)", "-"],
    );
    check(
        "Remove the function ends from a.rs",
        "fn ends(s: &str) -> bool {\n    s.ends_with('}')\n}\nfn b() {}\n",
        &["-fn ends(s: &str) -> bool {", "-    s.ends_with('}')", "-}"],
    );
    check(
        "Remove the class Bank from a.ts",
        "export class Bank {\n  a = 1;\n}\nrun();\n",
        &["-export class Bank {", "-  a = 1;", "-}"],
    );
    check(
        "Remove the method Bank.pay from a.py",
        "class Bank:\n    def pay(self):\n        pass\n    a = 1\n",
        &["-    def pay(self):", "-        pass"],
    );
    check(
        "Remove the tests module from a.rs",
        "fn a() {}\n\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\n",
        &["-#[cfg(test)]", "-mod tests {", "-    fn b() {}", "-}"],
    );
    check(
        "Remove the function pay from a.c",
        "// Pays.\nint pay(int a) {\n  return a;\n}\nint b;\n",
        &["-// Pays.", "-int pay(int a) {", "-  return a;", "-}"],
    );
}

#[test]
fn only_the_definition_of_that_very_name_goes() {
    refuses(
        "Remove the function transfer from bank.rs",
        "fn transform_rows() {\n}\n",
        "nothing in bank.rs is `the function transfer`",
    );
    refuses("Remove the function transfer from bank.c", "int transfer_all() {\n}\n", "nothing");
    refuses("Remove the function write from a.rs", "fn a() {\n    fs::write(p);\n}\n", "nothing");
    refuses("Remove the function write from a.c", "int a() {\n  if (write(p)) {\n  }\n}\n", "nothing");
    check(
        "Delete the function parse from a.rs",
        "fn parse() {}\n\nfn a() {\n    parse();\n}\n",
        &["-fn parse() {}", "-"],
    );
    check(
        "Remove the retry function from a.py",
        "# retry helpers\nimport os\n\ndef retry(): pass\n\ndef other(): pass\n",
        &["-def retry(): pass", "-"],
    );
    refuses("Remove the retry function from a.py", "# retry helpers\nimport os\n\ndef other():\n    pass\n", "nothing");
    refuses("Remove the functions f and g from a.rs", "fn f() {}\nfn g() {}\nfn f_g() {}\n", "quote");
}

#[test]
fn what_shares_its_lines_stays() {
    refuses(
        "Remove the function f from a.ts",
        "const f = () => 1, g = () => 2;\n",
        "line 1 of a.ts holds more than `f`",
    );
    refuses("Remove the function f from a.ts", "run(); function f() {}\n", "holds more");
    refuses("Remove the method f from a.ts", "class A { f() {} }\n", "holds more");
    refuses("Remove the function f from a.rs", "fn f() {}\nfn g( {\n", "cannot be read as code");
    check(
        "Remove the function f from a.py",
        "#!/usr/bin/env python\n# Says f.\ndef f():\n    pass\n",
        &["-# Says f.", "-def f():", "-    pass"],
    );
    check("Remove the function f from a.rs", "//! All of it.\nfn f() {}\nfn g() {}\n", &["-fn f() {}"]);
}

#[test]
fn a_section_goes_to_its_end() {
    let readme = "# A\n## Usage\n```sh\n# install\nrun\n```\n## B\n";
    check("Remove the usage section from README.md", readme, &["-## Usage", "-```sh", "-# install", "-run", "-```"]);
    let long = format!("# A\n## Usage\n{}## B\n", "x\n".repeat(300));
    assert_eq!(super::after("Remove the usage section from a.md", &long).as_deref(), Ok("# A\n## B\n"));
    check("Remove the usage section from a.md", "## Usage\nx\nMore\n----\ny\n", &["-## Usage", "-x"]);
    let paths: String = (0..250).map(|n| format!("    \"p{n}\": {n},\n")).collect();
    let json = format!("{{\n  \"paths\": {{\n{paths}    \"last\": 1\n  }},\n  \"a\": 1\n}}\n");
    assert_eq!(super::after("Remove the paths section from a.json", &json).as_deref(), Ok("{\n  \"a\": 1\n}\n"));
    check(
        "Remove the server block from a.json",
        "{\n  \"server\": { \"port\": 1 },\n  \"a\": 1\n}\n",
        &["-  \"server\": { \"port\": 1 },"],
    );
    let config = "[a]\nx = 1\n[server]\nport = 80\n\n[server.tls]\non = true\n\n# About b.\n[b]\n";
    check(
        "Remove the server section from config.toml",
        config,
        &["-[server]", "-port = 80", "-", "-[server.tls]", "-on = true"],
    );
    check(
        "Remove the jobs section from a.yml",
        "on: x\njobs:\n- a: 1\n  b: 2\n- c\nend: 1\n",
        &["-jobs:", "-- a: 1", "-  b: 2", "-- c"],
    );
}

#[test]
fn a_comment_is_no_heading() {
    let config = "# Proxy settings\nhost=\"x\"\n\n[server]\nport = 80";
    refuses("Remove the proxy settings from config.toml", config, "nothing in config.toml is `the proxy settings`");
    refuses("Remove the proxy section from config.toml", config, "nothing");
}

#[test]
fn what_is_underlined_by_chance_takes_nothing_along() {
    check("Remove the author from a.md", "---\ntitle: x\nauthor: y\n---\nText.\n", &["-author: y"]);
    check("Remove alice from a.md", "- alice\n---\nText.\n", &["-- alice"]);
}

#[test]
fn a_block_whose_end_is_not_sure_stays() {
    for (step, file) in [
        ("Remove the paths section from a.json", "{\n  \"paths\": {\n    \"a\": 1\n"),
        ("Remove the paths section from a.json", "{\n  \"paths\": {\n  \"a\": 1\n  }\n}\n"),
        ("Remove the paths section from a.json", "{\n  \"paths\": {\n    \"a\": 1\n  }, \"b\": {\n  }\n}\n"),
        ("Remove the server section from a.toml", "[server]\na = 1\n[\"b c\"]\n"),
        ("Remove the server section from a.toml", "[server]\na = [\n  [1]\n]\n"),
        ("Remove the jobs section from a.yml", "jobs: {\na: 1\n}\n"),
        ("Remove the login box from a.html", "<div id=\"login\" class=\"box\"><br/>\n</div>\n"),
        ("Remove the login button from a.html", "<button id=\"login\">\n  Login\n</button>\n"),
        ("Remove the function pay from a.c", "int pay(int a) {\n  return '{';\n  // {\n"),
    ] {
        refuses(step, file, "ends cannot be told for sure");
    }
}
