//! Tests of dividing texts into parts.

use super::*;

/// Compares each definition as `container>name first-last`; the lines include comments and
/// decorators above it.
fn check(path: &str, text: &str, expected: &[&str]) {
    let found = definitions(path, text).into_iter().map(|span| {
        let variant = if span.variant.is_empty() { String::new() } else { format!(" ({})", span.variant) };
        let (first, last) = span.lines;
        format!("{}>{}{variant} {first}-{last}", span.container.join("."), span.name)
    });
    assert_eq!(found.collect::<Vec<_>>(), expected);
}

#[test]
fn a_definition_has_its_decorators_comments_and_export() {
    check(
        "a.py",
        "# Says.\n@a\n@b(1)\nclass A:\n    x = 1\n\n    # Why.\n    @property\n    def y(self):\n        def z():\n            pass\n        return z\n\n    @y.setter\n    def y(self, v): pass\nB: int = 2\n",
        &[">A 1-15", "A>x 5-5", "A>y 7-12", "A.y>z 10-11", "A>y (setter) 14-15", ">B 16-16"],
    );
    check(
        "a.ts",
        "/** Doc. */\n@D()\nexport class A {\n  @I() x = 1;\n  // Gets.\n  get y() { return 1; }\n}\nexport const f = () => 1;\nmodule.exports = { f, g() {} };\nA.prototype.h = function () {};\ndescribe('d', () => {\n  it('e', () => {});\n});\n",
        &[
            ">A 1-7",
            "A>x 4-4",
            "A>y (get) 5-6",
            ">f 8-8",
            ">module.exports 9-9",
            "module.exports>f 9-9",
            "module.exports>g 9-9",
            "A.prototype>h 10-10",
            ">d (module) 11-13",
            "d>e 12-12",
        ],
    );
    check(
        "a.rs",
        "/// Doc.\n#[derive(Debug)]\npub struct A {\n    /// In.\n    b: u8,\n}\nimpl<T> fmt::Display for A<T> {\n    #[inline]\n    fn c(&self) {}\n}\nmod tests {\n    #[test]\n    fn d() {}\n}\n",
        &[">A 1-6", "A>b 4-5", ">A (impl Display) 7-10", "A>c 8-9", ">tests (module) 11-14", "tests>d 12-13"],
    );
    check(
        "a.go",
        "package a\n\n// Doc.\ntype A struct {\n\tb int\n}\n\nfunc (a *A) C() {}\n\nconst (\n\tD = 1\n)\n",
        &[">A 3-6", "A>b 5-5", "A>C 8-8", ">D 11-11"],
    );
}

#[test]
fn a_comment_that_opens_a_file_belongs_to_the_file() {
    check("a.py", "# Copyright A\ndef f():\n    pass\n", &[">f 2-3"]);
    check("a.js", "#!/usr/bin/env node\nfunction f() {}\n", &[">f 2-2"]);
    check("a.py", "# Far away.\n\ndef f():\n    pass\n", &[">f 3-4"]);
}

#[test]
fn syntax_errors_are_reported_by_line() {
    assert_eq!(faults("a.js", "f();\nif (x {\n}\n"), [2]);
    assert_eq!(faults("a.md", "# (\n"), [0; 0]);
}
