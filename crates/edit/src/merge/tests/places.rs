//! Tests where additions go in a language by query, and which class is chosen.

use super::by_query::{CPP, RUBY, SCALA, changes, named};
use super::check;
use super::losses::{noted, refuses, says};

#[test]
fn sections_of_access_are_kept_and_added() {
    let ruby = "class Kiln\n  def heat\n    1\n  end\nend\n";
    let written = "class Kiln\n  def cool\n    2\n  end\n\n  private\n\n  def warm\n    3\n  end\n\n  def cold\n    4\n  end\nend\n";
    let expected = "class Kiln\n  def heat\n    1\n  end\n\n  def cool\n    2\n  end\n\n  private\n\n  def warm\n    3\n  end\n\n  def cold\n    4\n  end\nend\n";
    check("kiln.rb", ruby, written, expected);
    let cpp = "class Kiln {\n public:\n  int heat();\n};\n";
    let written = "class Kiln {\n private:\n  int cone_;\n\n public:\n  int cool();\n};\n";
    check(
        "kiln.h",
        cpp,
        written,
        "class Kiln {\n public:\n  int heat();\n  int cool();\n\n private:\n  int cone_;\n};\n",
    );
    changes(
        "kiln.h",
        CPP,
        "class Kiln {\n private:\n  int tile_;\n};\n",
        ("  int cone_;\n", "  int cone_;\n  int tile_;\n"),
    );
    let stays = "class Kiln\n  private\n\n  def heat(by = 1)\n    2\n  end\nend\n";
    says("kiln.rb", RUBY, ("", stays), ("@cone + by", "2"), &["`heat` stays `public`"]);
    let hidden = "class Kiln\n  private\n\n  def warm\n    3\n  end\nend\n";
    let written = "class Kiln\n  def heat\n    1\n  end\nend\n";
    check(
        "kiln.rb",
        hidden,
        written,
        "class Kiln\n  def heat\n    1\n  end\n\n  private\n\n  def warm\n    3\n  end\nend\n",
    );
}

#[test]
fn helpers_beside_a_method_outside_of_its_class_go_to_the_top() {
    let cpp = "#include \"kiln.h\"\n\nint Kiln::heat(int by) {\n  return by;\n}\n";
    let code = "static int twice(int by) {\n  return 2 * by;\n}\n\nint Kiln::heat(int by) {\n  return twice(by);\n}\n";
    let text = noted("kiln.cpp", cpp, ("Kiln::heat", code)).0;
    assert_eq!(text, format!("#include \"kiln.h\"\n\n{code}"));
    let lua = "local M = {}\n\nfunction M.heat(by)\n  return by\nend\n\nreturn M\n";
    let code = "local function twice(by)\n  return 2 * by\nend\n\nfunction M.heat(by)\n  return twice(by)\nend\n";
    let text = noted("kiln.lua", lua, ("M.heat", code)).0;
    assert!(
        text.contains("2 * by") && text.contains("return twice(by)") && text.matches("M.heat").count() == 1,
        "{text}"
    );
}

#[test]
fn statements_of_a_class_stay_in_it() {
    let php = "<?php\n\nclass Kiln\n{\n    use Hot;\n}\n\nclass Oven\n{\n    private int $cone = 4;\n}\n";
    changes("Kiln.php", php, "class Oven\n{\n    use Hot;\n}\n", ("class Oven\n{\n", "class Oven\n{\n    use Hot;\n"));
    changes("kiln.rb", RUBY, "class Kiln\n  include Comparable\nend\n", ("Base\n", "Base\n    include Comparable\n"));
    let block = "class Kiln\n  class << self\n    def heat\n      1\n    end\n  end\nend\n";
    let written = "class Kiln\n  class << self\n    def cool\n      2\n    end\n  end\nend\n";
    changes("kiln.rb", block, written, ("      1\n    end\n", "      1\n    end\n\n    def cool\n      2\n    end\n"));
    let java = "class Kiln {\n    int cone;\n}\n";
    changes(
        "Kiln.java",
        java,
        "static {\n    load();\n}\n",
        ("cone;\n", "cone;\n\n    static {\n        load();\n    }\n"),
    );
    says(
        "kiln.lua",
        "local function heat()\n  return 1\nend\n",
        ("heat", "local function heat()\n  return 2\nend\n\nprint(heat())\n"),
        ("1", "2"),
        &["`print(heat())` was left out"],
    );
}

#[test]
fn blocks_of_a_class_that_is_open_several_times_are_told_apart_by_their_members() {
    let ruby = "class Kiln < Base\n  def heat\n    1\n  end\nend\n\nclass Kiln\n  def cool\n    2\n  end\nend\n";
    changes("kiln.rb", ruby, "class Kiln\n  def cool\n    3\n  end\nend\n", ("2\n", "3\n"));
    let both = "class Kiln\n  def heat\n    4\n  end\n\n  def cool\n    5\n  end\nend\n";
    check("kiln.rb", ruby, both, &ruby.replace("1\n", "4\n").replace("2\n", "5\n"));
    named("kiln.rb", ruby, ("Kiln.cool", "def cool\n  6\nend\n"), ("    2\n", "    6\n"));
    let cpp = "namespace clay {\nint heat() { return 1; }\n}\n\nnamespace clay {\nint cool() { return 2; }\n}\n";
    changes("kiln.cpp", cpp, "namespace clay {\nint cool() { return 3; }\n}\n", ("return 2", "return 3"));
    let nested = "class A {\n    class Builder {\n        int a;\n    }\n}\n\nclass B {\n    class Builder {\n        int b;\n    }\n}\n";
    refuses(
        "A.java",
        nested,
        ("Builder.make", "int make() { return 1; }"),
        &["`Builder` is defined 2 times", "line 2 in `A`", "line 8 in `B`"],
    );
    named(
        "A.java",
        nested,
        ("B.Builder.make", "int make() { return 1; }"),
        ("int b;\n", "int b;\n\n        int make() { return 1; }\n"),
    );
}

#[test]
fn members_without_a_class_are_refused_where_no_class_is() {
    for (path, code) in [
        ("Kiln.java", "int heat() {\n    return 1;\n}\n"),
        ("Kiln.php", "public function heat()\n{\n}\n"),
        ("Kiln.swift", "init(cone: Int) {}\n"),
    ] {
        let text = if path.ends_with("php") { "<?php\n\nfunction cool() {}\n" } else { "// Nothing yet.\n" };
        refuses(path, text, ("", code), &["the file has no class"]);
        refuses(path, "\n", ("", code), &["the file is empty"]);
    }
    let code = "public int Tiles = 2;\n";
    changes(
        "Kiln.cs",
        "struct Kiln\n{\n    public int Cone;\n}\n",
        code,
        ("Cone;\n", "Cone;\n    public int Tiles = 2;\n"),
    );
}

#[test]
fn a_class_that_is_written_whole_is_merged_into_the_one_that_was_named() {
    let java = "class A {\n    class Slot {\n        int a() { return 1; }\n    }\n}\n\nclass B {\n    class Slot {\n        int a() { return 2; }\n    }\n}\n";
    let slot = "class Slot {\n    int a() { return 3; }\n}\n";
    named("A.java", java, ("B.Slot.a", slot), ("return 2", "return 3"));
    named("A.java", java, ("B.Slot", slot), ("return 2", "return 3"));
    named(
        "A.java",
        java,
        ("A.Slot.a", &format!("class A {{\n    {}}}\n", slot.replace('\n', "\n    "))),
        ("return 1", "return 3"),
    );
    let clay = "module Clay\n  class Kiln\n    def heat(by = 1)\n      2\n    end\n  end\nend\n";
    for name in ["Clay::Kiln.heat", "Kiln.heat", "Clay::Kiln"] {
        named("kiln.rb", RUBY, (name, clay), ("@cone + by", "2"));
    }
    let scala = "object Kiln {\n  def make = 1\n}\n";
    named("Kiln.scala", SCALA, ("Kiln.make", scala), ("cold = 0\n", "cold = 0\n\n  def make = 1\n"));
}
