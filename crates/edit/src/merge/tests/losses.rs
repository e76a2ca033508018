//! Tests that a merge in a language by query never silently loses or duplicates code.

use super::by_query::{CPP, CSHARP, JAVA, KOTLIN, RUBY, changes, named, refused, removed};
use super::{Hints, check};
use crate::{Edit, apply};

/// The text after a merge by definition name, and the notes.
pub(super) fn noted(path: &str, before: &str, (name, code): (&str, &str)) -> (String, String) {
    let name = (!name.is_empty()).then_some(name);
    let edit = Edit::Definition { name, code, hints: Hints::default() };
    let applied = apply(path, before, &edit).unwrap_or_else(|why| panic!("{path}: {why}"));
    (applied.text, applied.notes.join("\n"))
}

/// Asserts the text after a merge, and words in its notes.
pub(super) fn says(path: &str, before: &str, written: (&str, &str), (old, new): (&str, &str), words: &[&str]) {
    assert_eq!(before.matches(old).count(), 1, "{old}");
    let (text, notes) = noted(path, before, written);
    assert_eq!(text, before.replacen(old, new, 1));
    assert!(words.iter().all(|word| notes.contains(word)), "{notes}");
    assert!(!words.is_empty() || notes.is_empty(), "{notes}");
}

/// Asserts that code is refused with these words.
pub(super) fn refuses(path: &str, before: &str, (name, code): (&str, &str), words: &[&str]) {
    let name = (!name.is_empty()).then_some(name);
    refused(path, before, &Edit::Definition { name, code, hints: Hints::default() }, words);
}

#[test]
fn a_statement_with_several_names_is_replaced_whole_or_not_at_all() {
    let ruby = "class Kiln\n  attr_reader :cone, :tile\n\n  def heat\n    1\n  end\nend\n";
    let class = |line: &str| format!("class Kiln\n  {line}\nend\n");
    changes("kiln.rb", ruby, &class("attr_reader :cone, :tile, :glaze"), (":tile\n", ":tile, :glaze\n"));
    refuses("kiln.rb", ruby, ("", &class("attr_accessor :cone")), &["`cone`", "line 2", "attr_reader :cone, :tile"]);
    refuses("kiln.rb", ruby, ("", &class("attr_reader :cone, :glaze")), &["`cone` is declared together", "line 2"]);
    refuses("kiln.rb", ruby, ("", &class("attr_reader :cone")), &["nothing changed"]);
    changes("kiln.rb", ruby, &class("attr_writer :cone"), (":tile\n", ":tile\n  attr_writer :cone\n"));
    let c = "static int a = 1, b = 2;\n\nint heat(void)\n{\n    return a;\n}\n";
    changes("kiln.c", c, "static int a = 1, b = 3;\n", ("b = 2", "b = 3"));
    refuses("kiln.c", c, ("b", "static int b = 3;\n"), &["`b` is declared together", "line 1", "b = 2"]);
    refuses("kiln.c", c, ("", "int b = 3, d = 4;\n"), &["`b`", "write that statement whole"]);
    let java = "class Kiln {\n    private int cone = 4, tile = 2;\n}\n";
    changes("Kiln.java", java, "private int cone = 4, tile = 3;\n", ("tile = 2", "tile = 3"));
    refuses("Kiln.java", java, ("Kiln.tile", "private int tile = 3;\n"), &["`tile`", "line 2"]);
    changes(
        "Kiln.cs",
        java,
        "class Kiln {\n    private int cone = 4, tile = 2, glaze;\n}\n",
        ("tile = 2", "tile = 2, glaze"),
    );
    let php = "<?php\n\nclass Kiln\n{\n    private $cone = 4, $tile;\n}\n";
    changes("Kiln.php", php, "class Kiln\n{\n    private $cone = 5, $tile;\n}\n", ("= 4", "= 5"));
    refuses("Kiln.php", php, ("Kiln.cone", "private $cone = 5;\n"), &["`cone`", "line 5"]);
    let swift = "enum Glaze {\n    case matt, gloss\n}\n";
    refuses("Glaze.swift", swift, ("Glaze.matt", "enum Glaze {\n    case matt\n}\n"), &["`matt`", "line 2"]);
    let lua = "local cone, tile = 1, 2\n";
    changes("kiln.lua", lua, "local cone, tile = 1, 3\n", ("1, 2", "1, 3"));
}

#[test]
fn new_declarations_of_several_names_are_added() {
    changes(
        "Kiln.java",
        JAVA,
        "private int tiles = 1, rows = 2;\n",
        ("cone = 4;\n", "cone = 4;\n    private int tiles = 1, rows = 2;\n"),
    );
    changes(
        "kiln.rb",
        RUBY,
        "class Kiln\n  attr_reader :tile, :row\nend\n",
        ("attr_reader :cone\n", "attr_reader :cone\n    attr_reader :tile, :row\n"),
    );
    refuses("kiln.c", "int a, b;\n", ("c", "int c, a;\n"), &["`a`", "line 1"]);
    removed("kiln.c", "int a, b;\nint c;\n", "c", "int c;\n");
    refused("kiln.c", "int a, b;\nint c;\n", &Edit::Remove("b"), &["`b` is declared together", "line 1", "int a, b;"]);
}

#[test]
fn modifiers_are_neither_doubled_nor_lost() {
    let kotlin = "class Kiln {\n    internal suspend fun heat(by: Int): Int {\n        return by\n    }\n}\n";
    let kept = &["keeps `internal suspend`"];
    says(
        "Kiln.kt",
        kotlin,
        ("Kiln.heat", "fun heat(by: Int): Int {\n    return 2\n}"),
        ("return by", "return 2"),
        kept,
    );
    let code = "internal suspend fun heat(by: Int): Int {\n    return 2\n}";
    says("Kiln.kt", kotlin, ("Kiln.heat", code), ("return by", "return 2"), &[]);
    let java =
        "class Kiln {\n    static final int CONE = 4;\n\n    public static int heat() {\n        return 1;\n    }\n}\n";
    says(
        "Kiln.java",
        java,
        ("Kiln.CONE", "final static int CONE = 5;"),
        ("static final int CONE = 4", "final static int CONE = 5"),
        &[],
    );
    let code = "public int heat() {\n    return 1;\n}";
    says(
        "Kiln.java",
        java,
        ("Kiln.heat", code),
        ("public static int heat", "public int heat"),
        &["no longer `static`"],
    );
    let c = "static inline int heat(int cone)\n{\n    return cone;\n}\n";
    says(
        "kiln.c",
        c,
        ("heat", "static int heat(int cone)\n{\n    return 1;\n}\n"),
        ("static inline int heat(int cone)\n{\n    return cone;", "static int heat(int cone)\n{\n    return 1;"),
        &["no longer `inline`"],
    );
    refuses(
        "kiln.c",
        c,
        ("heat", "int heat(int cone)\n{\n    return cone;\n}\n"),
        &["differs only in `static inline`", "as text"],
    );
    let swift = "class Kiln {\n    fileprivate func heat() {}\n    private(set) var cone = 4\n}\n";
    says(
        "Kiln.swift",
        swift,
        ("Kiln.heat", "fileprivate func heat() { cool() }"),
        ("heat() {}", "heat() { cool() }"),
        &[],
    );
    says("Kiln.swift", swift, ("Kiln.cone", "var cone = 5"), ("= 4", "= 5"), &["keeps `private(set)`"]);
    let scala = "class Kiln {\n  private[clay] lazy val cone = 4\n}\n";
    says("Kiln.scala", scala, ("Kiln.cone", "val cone = 5"), ("= 4", "= 5"), &["private[clay] lazy"]);
    let cpp = "template <typename T>\ninline T glaze(T tile) {\n  return tile;\n}\n";
    says(
        "kiln.cpp",
        cpp,
        ("glaze", "T glaze(T tile) {\n  return 1;\n}\n"),
        ("return tile", "return 1"),
        &["template <typename T> inline"],
    );
    let ruby = "class Kiln\n  private def heat(by)\n    by\n  end\nend\n";
    says("kiln.rb", ruby, ("Kiln.heat", "def heat(by)\n  2\nend\n"), ("    by\n", "    2\n"), &["keeps `private`"]);
    says("kiln.sh", "export CONE=4\n", ("CONE", "CONE=5\n"), ("=4", "=5"), &["keeps `export`"]);
}

#[test]
fn a_function_with_other_parameters_is_not_replaced_without_its_head() {
    for (path, before, code, head, added) in [
        (
            "Kiln.java",
            "class Kiln {\n    int heat(int by) {\n        return by;\n    }\n}\n",
            "int heat(long by) {\n    return 2;\n}",
            "int heat(int by)",
            "int heat(long by)",
        ),
        (
            "Kiln.cs",
            "class Kiln\n{\n    int Heat(int by) => by;\n}\n",
            "int Heat(long by) => 2;",
            "int Heat(int by)",
            "int Heat(long by)",
        ),
        (
            "Kiln.kt",
            "class Kiln {\n    fun heat(by: Int) = by\n}\n",
            "fun heat(by: Long) = 2",
            "fun heat(by: Int)",
            "fun heat(by: Long)",
        ),
        (
            "Kiln.scala",
            "class Kiln {\n  def heat(by: Int) = by\n}\n",
            "def heat(by: Long) = 2",
            "def heat(by: Int)",
            "def heat(by: Long)",
        ),
        (
            "Kiln.swift",
            "class Kiln {\n    func heat(by: Int) {}\n}\n",
            "func heat(to: Int) {}",
            "func heat(by: Int)",
            "func heat(to: Int)",
        ),
        (
            "kiln.cpp",
            "int heat(int by) {\n  return by;\n}\n",
            "int heat(long by) {\n  return 2;\n}\n",
            "int heat(int by)",
            "int heat(long by)",
        ),
    ] {
        let name = if path == "Kiln.cs" { "Heat" } else { "heat" };
        refuses(path, before, (name, code), &["has other parameters at line", head, "give this head as the name"]);
        let (text, notes) = noted(path, before, (head, code));
        assert!(text.contains(added) && !text.contains(head) && notes.contains(head), "{text}\n{notes}");
        let (text, notes) = noted(path, before, (added, code));
        assert!(text.contains(added) && text.contains(head) && notes.is_empty(), "{text}\n{notes}");
    }
    let both = "class Kiln {\n    int heat(int by) {\n        return by;\n    }\n\n    int heat(long by) {\n        return 2;\n    }\n}\n";
    check("Kiln.java", "class Kiln {\n    int heat(int by) {\n        return by;\n    }\n}\n", both, both);
}

#[test]
fn the_same_parameters_under_other_names_are_the_same_function() {
    let java = "class Kiln {\n    Kiln(int cone) throws Late {\n        a();\n    }\n}\n";
    changes(
        "Kiln.java",
        java,
        "class Kiln {\n    Kiln(final int by) throws Late {\n        b(by);\n    }\n}\n",
        ("int cone) throws Late {\n        a();", "final int by) throws Late {\n        b(by);"),
    );
    let cpp = "class Kiln {\n public:\n  Kiln(int cone) : cone_(cone) {}\n  int at(int) const { return 1; }\n\n private:\n  int cone_;\n};\n";
    changes(
        "kiln.cpp",
        cpp,
        "class Kiln {\n public:\n  Kiln(int cone) : cone_(cone + 1) {}\n};\n",
        ("cone_(cone)", "cone_(cone + 1)"),
    );
    let other = "class Kiln {\n public:\n  int at(int) { return 2; }\n};\n";
    refuses("kiln.cpp", cpp, ("", other), &["`at` has other parameters", "int at(int) const"]);
}

#[test]
fn a_replaced_method_is_noted_if_its_class_was_not_written() {
    let code = "fun heat(by: Int): Int {\n    return 2\n}\n";
    says("Kiln.kt", KOTLIN, ("heat", code), ("cone + by", "2"), &["replaced in `Kiln`, at line 6"]);
    says("Kiln.kt", KOTLIN, ("Kiln.heat", code), ("cone + by", "2"), &[]);
    let ruby = "def heat(by = 1)\n  2\nend\n";
    says("kiln.rb", RUBY, ("heat", ruby), ("@cone + by", "2"), &["replaced in `Kiln`, at line 11"]);
    let beside =
        "namespace clay {\nint Kiln::heat(int by) {\n  return by;\n}\n\nint heat(int by) {\n  return 1;\n}\n}\n";
    changes("kiln.cpp", beside, "namespace clay {\nint heat(int by) {\n  return 2;\n}\n}\n", ("return 1", "return 2"));
    let lua = "local M = {}\n\nfunction M.heat()\n  return 1\nend\n\nreturn M\n";
    let both = "local function heat()\n  return 3\nend\n\nfunction M.heat()\n  return heat()\nend\n";
    check(
        "kiln.lua",
        lua,
        both,
        "local M = {}\n\nlocal function heat()\n  return 3\nend\n\nfunction M.heat()\n  return heat()\nend\n\nreturn M\n",
    );
}

#[test]
fn a_declaration_of_c_can_be_removed_beside_its_definition() {
    let c = "int heat(int cone);\nint cool(void);\n\nint heat(int cone)\n{\n    return 1;\n}\n";
    refused("kiln.c", c, &Edit::Remove("heat"), &["from lines 1, 4 on", "followed by `;`"]);
    removed("kiln.c", c, "int heat(int cone);", "int heat(int cone);\n");
    removed("kiln.c", c, "int heat(int cone)", "int heat(int cone)\n{\n    return 1;\n}\n");
    let declared = "extern int cone;\n\nint cone = 4;\n";
    changes("kiln.c", declared, "int cone = 5;\n", ("= 4", "= 5"));
}

#[test]
fn a_head_names_a_definition_in_any_part_of_it() {
    let heat = "    public int heat(String by) {\n        return heat(by.length());\n    }\n";
    removed("Kiln.java", JAVA, "Kiln.heat(String by)", heat);
    removed("Kiln.java", JAVA, "int heat(String by) {", heat);
    refused("Kiln.java", JAVA, &Edit::Remove("heat(long by)"), &["not clear which"]);
    let throws = "class Kiln {\n    int heat() throws Late {\n        return 1;\n    }\n\n    int heat(int by) {\n        return 2;\n    }\n}\n";
    removed("Kiln.java", throws, "int heat()", "    int heat() throws Late {\n        return 1;\n    }\n");
    named("Kiln.cs", CSHARP, ("public int Heat(string by)", "public int Heat(string by) => 0;"), ("by.Length", "0"));
}

#[test]
fn the_head_of_a_class_changes_or_is_noted() {
    let ruby = "class Kiln < Base\n  def heat\n    1\n  end\nend\n";
    let with = |head: &str| format!("{head}\n  def heat\n    2\n  end\nend\n");
    says(
        "kiln.rb",
        ruby,
        ("Kiln", &with("class Kiln < Oven")),
        ("Base\n  def heat\n    1", "Oven\n  def heat\n    2"),
        &["the head of `Kiln` was `class Kiln < Base`"],
    );
    says("kiln.rb", ruby, ("Kiln", &with("class Kiln")), ("    1", "    2"), &["keeps its head `class Kiln < Base`"]);
    let kotlin = "class Kiln(val cone: Int) : Hot {\n    fun heat() = 1\n}\n";
    says(
        "Kiln.kt",
        kotlin,
        ("Kiln", "class Kiln(val cone: Long) : Hot {\n    fun heat() = 1\n}\n"),
        ("Int", "Long"),
        &["was `class Kiln(val cone: Int) : Hot`"],
    );
    let empty = "class Kiln(val cone: Int)\n\nclass Oven\n";
    check(
        "Kiln.kt",
        empty,
        "class Kiln {\n    fun heat() = cone\n}\n",
        "class Kiln(val cone: Int) {\n    fun heat() = cone\n}\n\nclass Oven\n",
    );
    refuses("Kiln.kt", empty, ("Kiln.heat", "fun heat() = cone"), &["no `Kiln` with a body"]);
}

#[test]
fn members_that_go_with_a_whole_replacement_are_noted() {
    let c = "struct tile {\n    int x;\n    int y;\n};\n";
    says("kiln.c", c, ("tile", "struct tile {\n    int x;\n};\n"), ("    int y;\n", ""), &["no longer has `y`"]);
    let swift = "struct Kiln {\n    var cone = 4\n    var tile = 2\n}\n";
    says("Kiln.swift", swift, ("Kiln.cone", "struct Kiln {\n    var cone = 5\n}\n"), ("= 4", "= 5"), &[]);
    let lua = "local M = {\n  heat = function() return 1 end,\n}\n";
    says(
        "kiln.lua",
        lua,
        ("M", "local M = { cone = 4 }\n"),
        ("{\n  heat = function() return 1 end,\n}", "{ cone = 4 }"),
        &["no longer has `heat`"],
    );
    refuses("kiln.lua", lua, ("M.heat", "function M.heat()\n  return 2\nend\n"), &["`heat` would be defined twice"]);
}

#[test]
fn a_second_definition_of_the_same_is_refused() {
    let swift = "class Kiln {\n    func heat(by: Int) -> Int { return by }\n}\n";
    refuses(
        "Kiln.swift",
        swift,
        ("", "extension Kiln {\n    func heat(by: Int) -> Int { return 2 }\n}\n"),
        &["`heat` would be defined twice", "lines 2, 6"],
    );
    let inline = "class Kiln {\n public:\n  int heat(int by) { return 1; }\n};\n";
    refuses("kiln.cpp", CPP, ("", inline), &["`heat` would be defined twice"]);
    let ruby = "class Kiln\n  class << self\n    def heat\n      1\n    end\n  end\nend\n";
    refuses(
        "kiln.rb",
        ruby,
        ("Kiln.heat", "class Kiln\n  def self.heat\n    2\n  end\nend\n"),
        &["`heat` would be defined twice"],
    );
    refuses(
        "kiln.c",
        "int a;\n",
        ("", "int heat(void) { return 1; }\n\nint heat(void) { return 2; }\n"),
        &["`heat` was written 2 times"],
    );
    let csharp = "class Kiln\n{\n    public void Dispose() { a(); }\n    void IHot.Dispose() { b(); }\n}\n";
    changes("Kiln.cs", csharp, "public void Dispose() { c(); }\n", ("a();", "c();"));
}

#[test]
fn declarations_that_keep_an_old_head_are_noted() {
    let c = "int heat(int cone);\n\nint heat(int cone)\n{\n    return cone;\n}\n";
    let code = "int heat(int cone, int by)\n{\n    return by;\n}\n";
    let words = &["the declaration of `heat` at line 1 keeps its head"];
    says("kiln.c", c, ("heat", code), ("int cone)\n{\n    return cone", "int cone, int by)\n{\n    return by"), words);
    let both = format!("int heat(int cone, int by);\n\n{code}");
    let (text, notes) = noted("kiln.c", c, ("heat", &both));
    assert!(text == both && notes.is_empty(), "{text}\n{notes}");
}

#[test]
fn replaced_comments_and_annotations_are_noted() {
    let written = "// Quick.\n@Deprecated\npublic int heat(int by) {\n    return by;\n}\n";
    let old = "/** Heats it. */\n    @Override\n    public int heat(int by) {\n        return cone + by";
    let new = "// Quick.\n    @Deprecated\n    public int heat(int by) {\n        return by";
    says("Kiln.java", JAVA, ("Kiln.heat", written), (old, new), &["comment above `heat`", "no longer has `@Override`"]);
}

#[test]
fn two_definitions_that_change_the_same_lines_are_refused() {
    let twice = "class Kiln\n  def cool\n    1\n  end\nend\n\nclass Kiln\n  def cool\n    2\n  end\nend\n";
    refuses("kiln.rb", RUBY, ("", twice), &["change the same lines of kiln.rb", "line 15"]);
}
