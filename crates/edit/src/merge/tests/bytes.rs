//! Tests that unrelated bytes stay unchanged and that no text makes a merge panic.

use proptest::prelude::*;

use super::super::{Hints, MergeError, merge};
use super::by_query::{C, CPP, CSHARP, JAVA, KOTLIN, LUA, PHP, RUBY, SCALA, SHELL, SWIFT};
use super::{check, difference};

#[test]
fn line_endings_tabs_and_a_missing_last_line_feed_stay() {
    check(
        "a.py",
        "\u{feff}def a():\r\n\treturn 1\r\n\r\n\r\ndef b():\r\n\treturn 2",
        "def b():\n    return 3\n",
        "\u{feff}def a():\r\n\treturn 1\r\n\r\n\r\ndef b():\r\n\treturn 3",
    );
    check(
        "a.py",
        "def a():\r\n\treturn 1",
        "def b():\n    return 3\n",
        "def a():\r\n\treturn 1\r\n\r\n\r\ndef b():\r\n\treturn 3",
    );
    check(
        "a.js",
        "class A {\n\tb() {\n\t\treturn 1;\n\t}\n}",
        "b() {\n  if (x) {\n    return 2;\n  }\n}",
        "class A {\n\tb() {\n\t\tif (x) {\n\t\t\treturn 2;\n\t\t}\n\t}\n}",
    );
    check(
        "a.ts",
        "class A {\n    b() {\n        return 1;\n    }\n}\n",
        "class A {\n  c() {\n    return 2;\n  }\n}\n",
        "class A {\n    b() {\n        return 1;\n    }\n\n    c() {\n        return 2;\n    }\n}\n",
    );
    check("a.rs", "fn a() {}   \r\n// end\n\n\n", "fn a() { b() }\n", "fn a() { b() }   \r\n// end\n\n\n");
}

#[test]
fn changes_have_their_name_and_line() {
    let merged = merge(
        "a.py",
        "class A:\n    def b(self):\n        return 1\n",
        "import os\n\nclass A:\n    def b(self):\n        return os.sep\n\n    def c(self):\n        return 2\n",
        &Hints::default(),
    )
    .unwrap();
    let said: Vec<String> = merged.changed.iter().map(|c| format!("{} {:?} {}", c.name, c.container, c.line)).collect();
    assert_eq!(said, ["b Some(\"A\") 5", "c Some(\"A\") 8"]);
    assert_eq!(
        merged.text,
        "import os\n\n\nclass A:\n    def b(self):\n        return os.sep\n\n    def c(self):\n        return 2\n"
    );
}

/// Real files from this repository, and texts in other languages.
const FILES: &[(&str, &str)] = &[
    ("merge.rs", include_str!("../../merge.rs")),
    ("parts.rs", include_str!("../../../../index/src/index/syntax/parts.rs")),
    ("insert.rs", include_str!("../insert.rs")),
    (
        "a.py",
        "import a\n\n@d\nclass A(B):\n    '''x'''\n    y = 1\n\n    @property\n    def z(self): return 1\n\n    @z.setter\n    def z(self, v): pass\n\ndef f():\n    pass\n\ndef f():\n    return 2\n\nif x:\n    def g(): pass\nelse:\n    def g(): pass\n",
    ),
    (
        "a.ts",
        "import a from 'a';\nexport function f(a: string): void;\nexport function f(a: number): void;\nexport function f(a: any) {}\nnamespace N {\n  export const x = 1;\n}\nexport * from './x';\nexport default { a, b() {}, c: 1 };\ndeclare module 'x' {\n  interface Y { z(): void }\n}\n",
    ),
    (
        "a.go",
        "package a\n\nimport \"fmt\"\n\nvar (\n\ta = 1\n\tb, c = 2, 3\n)\n\ntype (\n\tX int\n\tY struct{}\n)\n\nfunc init() {}\nfunc init() {}\n",
    ),
    ("kiln.c", C),
    ("kiln.cpp", CPP),
    ("Kiln.cs", CSHARP),
    ("Kiln.java", JAVA),
    ("Kiln.kt", KOTLIN),
    ("kiln.lua", LUA),
    ("Kiln.php", PHP),
    ("kiln.rb", RUBY),
    ("Kiln.scala", SCALA),
    ("kiln.sh", SHELL),
    ("Kiln.swift", SWIFT),
];

#[test]
fn a_file_written_again_does_not_change() {
    for (path, text) in FILES {
        let merged = merge(path, text, text, &Hints::default());
        let said = match &merged {
            Ok(merged) => difference(text, &merged.text),
            Err(error) => error.to_string(),
        };
        assert!(matches!(merged, Err(MergeError::NothingChanged)), "{path}: {said}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn some_of_a_file_written_again_does_not_change_it(file in 0..FILES.len(), picks in prop::collection::vec(any::<prop::sample::Index>(), 1..4)) {
        let (path, text) = FILES[file];
        let items = crate::index::parts::parts(path, text).unwrap().items;
        let some: Vec<&str> = picks.iter().map(|pick| &text[pick.get(&items).whole()]).collect();
        let merged = merge(path, text, &some.join("\n\n"), &Hints::default());
        if let Ok(merged) = merged {
            prop_assert!(merged.text == text, "{}", difference(text, &merged.text));
        }
    }

    #[test]
    fn no_text_makes_a_merge_panic(file in 0..FILES.len(), other in 0..FILES.len(), cut in any::<prop::sample::Index>(), noise in "[\\PC\n\t{}()'\"#/*.]{0,60}", crlf in any::<bool>()) {
        let (path, text) = FILES[file];
        let (_, other) = FILES[other];
        let at = other.floor_char_boundary(cut.index(other.len()));
        let start = other.floor_char_boundary(at.saturating_sub(700));
        let written = format!("{}{noise}{}", &other[start..at], &other[at..other.floor_char_boundary((at + 200).min(other.len()))]);
        let before = if crlf { text.replace('\n', "\r\n") } else { text.to_owned() };
        let _ = merge(path, &before, &written, &Hints::default());
        let _ = merge(path, &written, &before, &Hints::default());
    }
}
