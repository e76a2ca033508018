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
fn c_and_cpp_have_declarations_and_branches() {
    check(
        "kiln.h.c",
        "#ifndef KILN_H\n#define KILN_H\n#include <stdio.h>\n\n/* Heats. */\nint heat(int cone);\n\nstatic int\ncool(int cone)\n{\n  return cone - 1;\n}\n\nstruct tile { int x; int y; };\ntypedef struct { int z; } glaze;\n#ifdef FAST\nint heat(int cone) { return 2; }\n#else\nint heat(int cone) { return 1; }\n#endif\nint a, b;\n#define SHELVES 4\n#endif\n",
        &[
            ">heat (declaration) 5-6",
            ">cool 8-12",
            ">tile 14-14",
            "tile>x 14-14",
            "tile>y 14-14",
            ">glaze 15-15",
            "glaze>z 15-15",
            ">heat 17-17",
            ">heat 19-19",
            ">a (name) 21-21",
            ">b (name) 21-21",
            ">SHELVES 22-22",
        ],
    );
    check(
        "kiln.cpp",
        "namespace kiln {\n// One firing.\ntemplate <typename T>\nclass Firing : public Base {\n public:\n  Firing(int cone);\n  int heat(int cone) { return cone; }\n  int heat(double cone);\n private:\n  int cone_;\n};\nint Firing::heat(double cone) { return 0; }\n}\n",
        &[
            ">kiln (module) 1-13",
            "kiln>Firing 2-11",
            "kiln.Firing>Firing (declaration) 6-6",
            "kiln.Firing>heat 7-7",
            "kiln.Firing>heat (declaration) 8-8",
            "kiln.Firing>cone_ 10-10",
            "kiln.Firing>heat 12-12",
        ],
    );
}

#[test]
fn a_language_by_query_has_annotations_comments_and_containers() {
    check(
        "Kiln.java",
        "package a;\nimport b.C;\n\n/** A kiln. */\n@Deprecated\npublic class Kiln {\n  private int cone = 4;\n\n  /** Heats. */\n  @Override\n  public int heat(int cone) {\n    return cone;\n  }\n\n  int heat(String cone) { return 0; }\n  enum Glaze { MATT, GLOSS }\n}\n",
        &[
            ">Kiln 4-17",
            "Kiln>cone 7-7",
            "Kiln>heat 9-13",
            "Kiln>heat 15-15",
            "Kiln>Glaze 16-16",
            "Kiln.Glaze>MATT 16-16",
            "Kiln.Glaze>GLOSS 16-16",
        ],
    );
    check(
        "Kiln.cs",
        "using System;\nnamespace A\n{\n    /// <summary>A kiln.</summary>\n    public class Kiln\n    {\n        public int Cone { get; set; }\n        [Fact]\n        public int Heat(int cone)\n        {\n            return cone;\n        }\n    }\n}\n",
        &[">A (module) 2-14", "A>Kiln 4-13", "A.Kiln>Cone 7-7", "A.Kiln>Heat 8-12"],
    );
    check(
        "Kiln.kt",
        "package a\n\nimport b.C\n\n/** A kiln. */\nclass Kiln(val cone: Int) {\n    fun heat(by: Int): Int {\n        return cone + by\n    }\n    fun cool() = 1\n}\n\nfun Kiln.rest() {}\n",
        &[">Kiln 5-11", "Kiln>heat 7-9", "Kiln>cool 10-10", "Kiln>rest 13-13"],
    );
    check(
        "Kiln.scala",
        "package a\n\nimport b.C\n\n/** A kiln. */\nclass Kiln(cone: Int) extends Base {\n  def heat(by: Int): Int = {\n    cone + by\n  }\n  def heat(by: String): Int = by.length\n}\n\nobject Kiln {\n  val cold = 0\n}\n",
        &[">Kiln 5-11", "Kiln>heat 7-9", "Kiln>heat 10-10", ">Kiln (object) 13-15", "Kiln>cold 14-14"],
    );
    check(
        "Kiln.swift",
        "import Foundation\n\n/// A kiln.\npublic class Kiln: Base {\n    /// Heats.\n    @discardableResult\n    func heat(_ by: Int) -> Int {\n        return by\n    }\n    init(cone: Int) {}\n}\n\nextension Kiln: Hot {\n    func cool() {}\n}\n",
        &[">Kiln 3-11", "Kiln>heat 5-9", "Kiln>init 10-10", ">Kiln (impl extension:Hot) 13-15", "Kiln>cool 14-14"],
    );
}

#[test]
fn a_script_by_query_has_functions_in_tables_classes_and_blocks() {
    check(
        "kiln.lua",
        "local M = {}\n\n-- Heats.\nfunction M.heat(cone)\n  local by = function(x) return x end\n  return by(cone)\nend\n\nlocal function cool()\n  return 1\nend\n\nreturn M\n",
        &[">M 1-1", "M>heat 3-7", "heat>by 5-5", ">cool 9-11"],
    );
    check(
        "Kiln.php",
        "<?php\nnamespace App;\n\nuse Clay\\Tile;\n\n/** A kiln. */\n#[Hot]\nclass Kiln\n{\n    private int $cone = 4;\n\n    public function heat(int $cone): int\n    {\n        return $cone;\n    }\n}\n\nif (!function_exists('cool')) {\n    function cool() { return 1; }\n}\n",
        &[">Kiln 6-16", "Kiln>cone 10-10", "Kiln>heat 12-15", ">cool 19-19"],
    );
    check(
        "kiln.rb",
        "# frozen_string_literal: true\n\nrequire \"clay\"\n\nmodule Clay\n  # A kiln.\n  class Kiln < Base\n    # Read only.\n    attr_reader :cone\n\n    def heat(by = 1)\n      @cone + by\n    end\n\n    def self.cold = new(0)\n\n    private\n\n    def cool?\n    end\n  end\nend\n",
        &[
            ">Clay (module) 5-22",
            "Clay>Kiln 6-21",
            "Clay.Kiln>cone 8-9",
            "Clay.Kiln>heat 11-13",
            "Clay.Kiln>cold (self) 15-15",
            "Clay.Kiln>cool? 19-20",
        ],
    );
    check(
        "kiln.sh",
        "#!/bin/bash\nset -e\nCONE=4\n# Heats.\nheat() {\n  echo \"$1\"\n}\nfunction cool { echo 1; }\nheat \"$CONE\"\n",
        &[">CONE 3-3", ">heat 4-7", ">cool 8-8"],
    );
}

#[test]
fn a_statement_with_several_names_and_what_is_declared_elsewhere_are_marked() {
    check(
        "Kiln.java",
        "class Kiln {\n  /** Two. */\n  int cone = 4, tile;\n  @VisibleForTesting int heat() { return 1; }\n}\n",
        &[">Kiln 1-5", "Kiln>cone (name) 2-3", "Kiln>tile (name) 2-3", "Kiln>heat 4-4"],
    );
    check("kiln.c", "extern int cone;\nint cone = 4;\n", &[">cone (declaration) 1-1", ">cone 2-2"]);
    check("kiln.h", "#if !defined(KILN_H)\n#define KILN_H\nint heat(void);\n#endif\n", &[">heat (declaration) 3-3"]);
    check(
        "kiln.rb",
        "class Kiln\n  class << self\n    def heat\n    end\n  end\nend\n",
        &[">Kiln 1-6", "Kiln>heat (singleton) 3-4"],
    );
    check(
        "Kiln.cs",
        "class Kiln { void IHot.Heat() { } void Heat() { } }\n",
        &[">Kiln 1-1", "Kiln>Heat (of IHot) 1-1", "Kiln>Heat 1-1"],
    );
    let tests = |text: &str| definitions("A.java", text).iter().filter(|one| one.is_test).count();
    assert_eq!(tests("class A {\n  @VisibleForTesting int heat() { return 1; }\n}\n"), 0);
    assert_eq!(tests("class A {\n  @ParameterizedTest void heat() { }\n}\n"), 1);
}

#[test]
fn many_functions_and_long_lists_are_divided() {
    let many: String = (0..5_000).map(|at| format!("int heat{at}(int cone)\n{{\n    return {at};\n}}\n\n")).collect();
    let found = definitions("kiln.c", &many);
    assert_eq!((found.len(), found[4_999].lines), (5_000, (24_996, 24_999)));
    let list = format!("static const int cones[] = {{\n{}}};\n\nint heat;\n", "    1, 2, 3, 4,\n".repeat(60_000));
    let found = definitions("kiln.c", &list);
    assert_eq!(found.iter().map(|one| one.lines).collect::<Vec<_>>(), [(1, 60_002), (60_004, 60_004)]);
}

#[test]
fn an_unfinished_or_deep_text_is_divided_as_far_as_it_can_be() {
    check("kiln.c", "int heat(void) { return 1; }\nint cool(void) {\n  if (1) {\n", &[">heat 1-1"]);
    let deep = format!("x = {}1{}\ndef heat\nend\n", "[".repeat(3_000), "]".repeat(3_000));
    check("kiln.rb", &deep, &[">heat 2-3"]);
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

#[test]
fn comments_below_a_definition_do_not_belong_to_it() {
    let check = |path: &str, text: &str| {
        let found = definitions(path, text);
        let heat = found.iter().find(|span| span.name == "heat").expect("a definition");
        assert_eq!(heat.lines, (2, 3), "{path}");
    };
    check("Kiln.scala", "object Kiln {\n  def heat =\n    1\n\n  // One.\n  // Two.\n  def cool =\n    2\n}\n");
    check("Kiln.scala", "object Kiln:\n  def heat =\n    1\n  // One.\n  // Two.\n\n  // Three.\n  val cool = 2\n");
    check(
        "Kiln.kt",
        "class Kiln {\n    val heat\n        get() = 1\n\n    // One.\n    // Two.\n    fun cool() = 2\n}\n",
    );
    check(
        "Kiln.kt",
        "class Kiln {\n    fun heat() =\n        1 // Cone.\n    // One.\n    // Two.\n    fun cool() = 2\n}\n",
    );
}
