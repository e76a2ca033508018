//! Tests of resolving names in languages that a query describes.

use super::super::tests::check as calls;

#[test]
fn java_finds_types_of_fields_parameters_and_new_objects() {
    calls(
        &[
            (
                "src/a/Kiln.java",
                "package a;\nimport a.clay.Clay;\nclass Kiln extends Oven {\n  Lid lid;\n  void fire(Glaze g) {\n    Clay c = new Clay();\n    c.dry();\n    lid.lift();\n    this.lid.lift();\n    g.mix();\n    cool();\n    heat();\n    Cone.of(1);\n    out.println();\n  }\n  void heat() {}\n}\n",
            ),
            ("src/a/Oven.java", "package a;\nclass Oven { void cool() {} }\n"),
            ("src/a/Lid.java", "package a;\nclass Lid { void lift() {} }\n"),
            (
                "src/a/Glaze.java",
                "package a;\nclass Glaze { void mix() {} }\nclass Cone { static void of(int n) {} }\n",
            ),
            ("src/a/clay/Clay.java", "package a.clay;\nclass Clay { void dry() {} }\n"),
            ("other/Glaze.java", "package o;\nclass Glaze { void mix() {} }\n"),
        ],
        &[
            "src/a/Kiln:Kiln -> src/a/Oven:Oven 0.75",
            "src/a/Kiln:Kiln.fire -> src/a/clay/Clay:Clay 0.95",
            "src/a/Kiln:Kiln.fire -> src/a/clay/Clay:Clay.dry 0.95",
            "src/a/Kiln:Kiln.fire -> src/a/Lid:Lid.lift 0.95",
            "src/a/Kiln:Kiln.fire -> src/a/Lid:Lid.lift 0.95",
            "src/a/Kiln:Kiln.fire -> src/a/Glaze:Glaze.mix 0.95",
            "src/a/Kiln:Kiln.fire -> src/a/Oven:Oven.cool 0.9",
            "src/a/Kiln:Kiln.fire -> src/a/Kiln:Kiln.heat 0.95",
            "src/a/Kiln:Kiln.fire -> src/a/Glaze:Cone.of 0.95",
            "src/a/Kiln:Kiln.fire ? println",
        ],
    );
}

#[test]
fn a_function_of_c_is_found_by_its_name_and_a_method_of_cpp_by_its_class() {
    calls(
        &[
            ("lib/kiln.h", "struct kiln { int n; };\nint heat(struct kiln *k);\n"),
            (
                "lib/kiln.c",
                "#include \"kiln.h\"\nstatic int helper(int n) { return n; }\nint heat(struct kiln *k) { return helper(k->n); }\n",
            ),
            ("lib/other.c", "static int helper(int n) { return n; }\n"),
            ("main.c", "#include \"lib/kiln.h\"\nint main(void) { helper(1); return heat(0); }\n"),
            ("shelf.hpp", "class Shelf { public: int size(); int all() { return size(); } };\n"),
            (
                "shelf.cpp",
                "#include \"shelf.hpp\"\nint Shelf::size() { return all(); }\nint main2(Shelf& s) { return s.size(); }\n",
            ),
        ],
        &[
            "lib/kiln:heat -> lib/kiln:helper 1",
            "main:main -> lib/kiln:heat 0.75",
            "main:main ? helper",
            "shelf:Shelf.all -> shelf:Shelf.size 0.95",
            "shelf:size -> shelf:Shelf.all 0.95",
            "shelf:main2 -> shelf:Shelf.size 0.95",
        ],
    );
}

#[test]
fn php_ruby_and_lua_follow_what_they_load() {
    calls(
        &[
            (
                "src/Kiln.php",
                "<?php\nnamespace A;\nuse A\\Clay\\Pot;\nclass Kiln {\n  function fire() { $p = new Pot(); $p->dry(); $this->cool(); self::cool(); Pot::make(); }\n  static function cool() {}\n}\n",
            ),
            (
                "src/Clay/Pot.php",
                "<?php\nnamespace A\\Clay;\nclass Pot { function dry() {} static function make() {} }\n",
            ),
        ],
        &[
            "src/Kiln:Kiln.fire -> src/Clay/Pot:Pot 0.95",
            "src/Kiln:Kiln.fire -> src/Clay/Pot:Pot.dry 0.95",
            "src/Kiln:Kiln.fire -> src/Kiln:Kiln.cool 0.95",
            "src/Kiln:Kiln.fire -> src/Kiln:Kiln.cool 0.95",
            "src/Kiln:Kiln.fire -> src/Clay/Pot:Pot.make 0.95",
        ],
    );
    calls(
        &[
            (
                "kiln.rb",
                "require_relative 'clay/pot'\nclass Kiln\n  def fire\n    pot = Pot.new\n    pot.dry\n    cool\n  end\n  def cool; end\nend\n",
            ),
            ("clay/pot.rb", "class Pot\n  def dry; end\nend\n"),
        ],
        &[
            "kiln:Kiln.fire -> clay/pot:Pot 0.95",
            "kiln:Kiln.fire -> clay/pot:Pot.dry 0.95",
            "kiln:Kiln.fire -> kiln:Kiln.cool 0.95",
        ],
    );
    calls(
        &[
            (
                "kiln.lua",
                "local pot = require(\"clay.pot\")\nlocal M = {}\nfunction M.fire() pot.dry(); M.cool() end\nfunction M.cool() end\nreturn M\n",
            ),
            ("clay/pot.lua", "local M = {}\nfunction M.dry() end\nreturn M\n"),
        ],
        &["kiln:fire -> clay/pot:dry 0.95", "kiln:fire -> kiln:cool 0.95"],
    );
}
