//! Tests that a definition is only put where it certainly belongs, and that earlier languages are handled as before.

use super::by_query::{named, refused};
use super::check;
use super::losses::{noted, refuses, says};
use crate::Edit;

#[test]
fn a_variable_of_c_does_not_replace_a_field() {
    let c = "struct tile {\n    int count;\n};\n\nint heat(void)\n{\n    return 1;\n}\n";
    let (text, _) = noted("kiln.c", c, ("count", "static int count;\n"));
    assert!(text.contains("struct tile {\n    int count;\n};") && text.contains("static int count;\n"), "{text}");
    let kotlin = "class Kiln {\n    val limit = 4\n}\n";
    says("Kiln.kt", kotlin, ("", "val limit = 5\n"), ("= 4", "= 5"), &["`limit` was replaced in `Kiln`, at line 2"]);
}

#[test]
fn a_member_of_a_class_within_the_named_one_is_not_meant() {
    let java = "class Kiln {\n    int a;\n\n    class Builder {\n        private int cone = 4;\n    }\n}\n";
    let (text, _) = noted("Kiln.java", java, ("Kiln.cone", "private int cone = 5;\n"));
    assert!(text.contains("        private int cone = 4;") && text.contains("\n    private int cone = 5;"), "{text}");
    named("Kiln.java", java, ("Kiln.Builder.cone", "private int cone = 5;\n"), ("= 4", "= 5"));
}

#[test]
fn the_named_class_counts_where_functions_have_the_same_name() {
    let kotlin = "fun heat(by: Int) = 1\nfun heat(by: String) = 2\n\nclass Kiln {\n    fun heat(by: Int) = 3\n}\n";
    named("Kiln.kt", kotlin, ("Kiln.heat", "fun heat(by: Int) = 9\n"), ("= 3", "= 9"));
}

#[test]
fn a_method_without_its_class_is_refused_beside_a_class_and_a_struct() {
    let csharp = "public class Kiln\n{\n    private int cone;\n}\n\npublic struct Tile\n{\n    public int W;\n}\n";
    refuses("Kiln.cs", csharp, ("", "public int Area() => W * 2;\n"), &["`Area`", "Kiln", "Tile"]);
}

#[test]
fn a_removal_that_breaks_the_file_is_refused() {
    let java = "enum Glaze {\n    MATT,\n    GLOSS;\n\n    int heat() { return 1; }\n}\n";
    refused("Glaze.java", java, &Edit::Remove("Glaze.GLOSS"), &["it no longer parses without `Glaze.GLOSS`"]);
}

#[test]
fn a_modifier_that_stays_is_told_of_beside_another_change() {
    let java = "class Kiln {\n    static int cone() { return 1; }\n\n    int tile() { return 1; }\n}\n";
    let code = "class Kiln {\n    int cone() { return 1; }\n\n    int tile() { return 2; }\n}\n";
    let change = ("tile() { return 1", "tile() { return 2");
    says("Kiln.java", java, ("", code), change, &["`cone` keeps `static`, which the new text lacks"]);
}

#[test]
fn continued_heads_of_python_do_not_count_as_indentation() {
    let before = "def far():\n    if True:\n        return 1\n    return 2\n";
    let code = "def add(a,\n        b):\n    if a:\n        return b\n    return a\n\n\ndef sub(a,\n        b):\n    return a\n";
    check("a.py", before, code, &format!("{before}\n\n{code}"));
}

#[test]
fn calls_that_look_like_heads_of_other_languages_are_added() {
    let before = "const app = 1;\n\nfunction heat() {\n    return 1;\n}\n";
    let code = "declare(\"Kiln\", app);\n\nfunction heat() {\n    return 2;\n}\n";
    let (text, _) = noted("a.js", before, ("", code));
    assert!(text.contains("declare(\"Kiln\", app);") && text.contains("return 2;"), "{text}");
    let test = "test('GET /tiles: gives all', () => {\n    expect(1).toBe(1);\n});\n";
    named("a.test.js", test, ("GET /tiles: gives all", &test.replace("toBe(1)", "toBe(2)")), ("toBe(1)", "toBe(2)"));
}

#[test]
fn a_body_beside_its_declaration_takes_its_place() {
    let cpp = "class Kiln {\n public:\n  int heat(int by);\n};\n";
    let code = "int heat(int by) { return by; }\n";
    named("kiln.hpp", cpp, ("Kiln::heat", code), ("int heat(int by);", "int heat(int by) { return by; }"));
}

#[test]
fn a_new_head_without_its_body_is_refused() {
    let php = "<?php\n\nclass Kiln\n{\n    public function heat(int $by): int\n    {\n        return $by;\n    }\n}\n";
    let code = "public function heat(int $by, int $to): int\n{\n    // ... existing code ...\n}\n";
    refuses("Kiln.php", php, ("Kiln.heat", code), &["`heat`", "int $to", "whole"]);
}
