//! Tests definitions that are written as the file has them, alone or several at once.

use super::by_query::{changes, named, refused};
use super::*;
use crate::{Edit, apply};

#[test]
fn code_with_the_indentation_of_the_file_keeps_it() {
    let go = "package kiln\n\nfunc heat() {\n\tfire(`\nfor a {\n    b(\n        c\n    )\n}\nif a {\n    b\n}\n`)\n\tlight()\n\tcool()\n}\n";
    let code = "func heat() {\n\t// Hot.\n\tfire(`\nfor a {\n    b(\n        c\n    )\n}\nif a {\n    b\n}\n`)\n\tlight()\n\tcool()\n}\n";
    check("kiln.go", go, code, &go.replace("\tfire(", "\t// Hot.\n\tfire("));
    let lua = "local kiln = {}\n\nfunction kiln.heat(cone)\n    local by = 1\n    return cone + by\nend\n\n  function kiln.cool(cone)\n      local by = 1\n      return cone - by\n  end\n";
    changes(
        "kiln.lua",
        lua,
        "function kiln.cool(cone)\n      local by = 1\n      return cone * by\n  end\n",
        ("- by", "* by"),
    );
}

#[test]
fn lines_of_a_text_in_a_member_without_its_class_stay() {
    let cs = "class Kiln\n{\n    string Label()\n    {\n        Log();\n        return @\"cone\n  and tile\n    and clay\n\";\n    }\n}\n";
    let code =
        "    string Label()\n    {\n        Warn();\n        return @\"cone\n  and tile\n    and clay\n\";\n    }\n";
    named("Kiln.cs", cs, ("Kiln.Label", code), ("Log();", "Warn();"));
    let flat = "string Label()\n{\n    Warn();\n    return @\"cone\n  and tile\n    and clay\n\";\n}\n";
    named("Kiln.cs", cs, ("Kiln.Label", flat), ("Log();", "Warn();"));
}

#[test]
fn a_method_of_the_class_itself_is_replaced_in_ruby() {
    let ruby =
        "class Kiln\n  class << self\n    def heat(by)\n      by\n    end\n  end\n\n  def cool\n    1\n  end\nend\n";
    named("kiln.rb", ruby, ("Kiln.heat", "def heat(by)\n  by + 1\nend\n"), ("      by\n", "      by + 1\n"));
    let block =
        "Kiln = Oven.new(:cone) do\n  options :cone\n\n  warm(:tile) { 1 }\n\n  def heat(by)\n    by\n  end\nend\n";
    named("kiln.rb", block, ("heat", "def heat(by)\n  by + 1\nend\n"), ("    by\n", "    by + 1\n"));
    let called = "class Kiln\n  autoload :Cone, \"kiln/cone\"\n  autoload :Tile, \"kiln/tile\"\nend\n";
    changes("kiln.rb", called, "class Kiln\n  autoload :Tile, \"kiln/slab\"\nend\n", ("kiln/tile", "kiln/slab"));
}

#[test]
fn several_members_with_annotations_are_replaced_at_once() {
    let kotlin = "class Kiln {\n    fun heat(): Int {\n        return 1\n    }\n\n    /** Cools. */\n    @Suppress(\"UNUSED\")\n    override fun cool(): Int {\n        return 2\n    }\n}\n";
    let code = "fun heat(): Int {\n    return 3\n}\n\n/** Cools. */\n@Suppress(\"UNUSED\")\noverride fun cool(): Int {\n    return 4\n}\n";
    let expected = kotlin.replace('1', "3").replace('2', "4");
    assert_eq!(with("Kiln.kt", kotlin, code, in_container("Kiln")), expected);
    let scala = "object Kiln {\n  def heat =\n    1\n\n  // Cools.\n  def cool =\n    2\n}\n";
    let code = "def heat =\n  3\n\n// Cools.\ndef cool =\n  4\n";
    assert_eq!(with("Kiln.scala", scala, code, in_container("Kiln")), scala.replace('1', "3").replace('2', "4"));
}

#[test]
fn an_entry_of_a_list_is_changed_by_its_name_and_never_added_as_a_statement() {
    let go = "package kiln\n\nconst (\n\thot = 1\n\tcold = 2\n)\n\ntype Kiln struct {\n\t// Its heat.\n\tcone int\n}\n";
    named("kiln.go", go, ("hot", "hot = 3"), ("hot = 1", "hot = 3"));
    named("kiln.go", go, ("Kiln.cone", "\t// Its heat.\n\tcone int64\n"), ("int\n", "int64\n"));
    assert!(merge("kiln.go", go, "hot = 3\n", &Hints::default()).is_err());
    let js = "const heat = 1;\n\nexport { heat };\n";
    let edit = Edit::Definition { name: Some("export {}.heat"), code: "heat", hints: Hints::default() };
    assert!(apply("kiln.js", js, &edit).is_err());
    let rust = "enum Glaze {\n    Matt,\n    Gloss(u8),\n}\n";
    named("kiln.rs", rust, ("Glaze.Gloss", "    Gloss(u16),\n"), ("u8", "u16"));
}

#[test]
fn names_with_dots_are_found() {
    let cs = "namespace Clay.Kiln\n{\n    class Cone\n    {\n        int Heat() { return 1; }\n    }\n}\n";
    named("Kiln.cs", cs, ("Clay.Kiln", &cs.replace('1', "2")), ("1", "2"));
    let js = "class Kiln {\n  heat() {\n    return 1;\n  }\n\n  [Symbol.iterator]() {\n    return 2;\n  }\n}\n";
    named("kiln.js", js, ("Kiln.[Symbol.iterator]", "[Symbol.iterator]() {\n  return 3;\n}"), ("2", "3"));
}

#[test]
fn a_body_in_a_new_block_is_indented_with_its_block() {
    let python = "class Kiln:\n    def heat(self):\n        fire()\n        wait()\n        cool()\n";
    let code = "def heat(self):\n    with self.lock:\n        fire()\n        wait()\n        cool()\n";
    let expected = "class Kiln:\n    def heat(self):\n        with self.lock:\n            fire()\n            wait()\n            cool()\n";
    assert_eq!(with("kiln.py", python, code, in_container("Kiln")), expected);
    let js = "class Kiln {\n    heat() {\n        fire();\n        wait();\n        cool();\n    }\n}\n";
    let code = "heat() {\n    if (this.cone) {\n        fire();\n        wait();\n        cool();\n    }\n}\n";
    let expected = "class Kiln {\n    heat() {\n        if (this.cone) {\n            fire();\n            wait();\n            cool();\n        }\n    }\n}\n";
    assert_eq!(with("kiln.js", js, code, in_container("Kiln")), expected);
}

#[test]
fn a_statement_that_is_written_again_is_not_replaced_by_another() {
    let ruby = "class Kiln < Oven\n  validates :cone, presence: true\n\n  def heat\n    1\n  end\nend\n";
    let [first, second] = ["  validates :cone, presence: true\n", "  validates :cone, uniqueness: true\n"];
    for code in [format!("class Kiln < Oven\n{first}{second}end\n"), format!("class Kiln < Oven\n{second}end\n")] {
        let text = with("kiln.rb", ruby, &code, Hints::default());
        assert!(text.contains(first) && text.contains(second), "{text}");
    }
    let js = "app.use('/kiln', warm);\n";
    let text = with("kiln.js", js, "app.use('/kiln', warm);\napp.use('/kiln', fire);\n", Hints::default());
    assert!(text.contains("warm") && text.contains("fire"), "{text}");
}

#[test]
fn a_method_of_the_class_itself_is_not_replaced_by_one_with_other_parameters() {
    let ruby = "class Kiln\n  class << self\n    def call(by)\n      new(by).call\n    end\n  end\n\n  def cool\n    1\n  end\nend\n";
    for name in ["Kiln.call", "call"] {
        let edit = Edit::Definition { name: Some(name), code: "def call\n  fire\nend\n", hints: Hints::default() };
        refused("kiln.rb", ruby, &edit, &["no place was found for `call`"]);
    }
}
