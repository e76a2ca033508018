//! Tests of outlines read by queries.

use super::*;
use crate::index::syntax::{Outline, outline};

/// `kind container.name` of every definition, then `import local <- name of source`.
fn summary(outline: &Outline) -> Vec<String> {
    let path = |at: usize| {
        let all = std::iter::successors(Some(at), |at| outline.definitions[*at].container);
        let mut names: Vec<&str> = all.map(|at| outline.definitions[at].name.as_str()).collect();
        if let Some(owner) = outline.definitions[at].member_of.as_deref() {
            names.insert(1, owner);
        }
        names.reverse();
        names.join(".")
    };
    let definitions = outline.definitions.iter().enumerate().map(|(at, d)| format!("{} {}", d.kind.name(), path(at)));
    let imports = outline.imports.iter().map(|i| format!("import {} <- {} of {}", i.local, i.name, i.source));
    definitions.chain(imports).collect()
}

fn check(language: &str, source: &str, expected: &[&str]) -> Outline {
    let read = outline(language, source);
    assert_eq!(summary(&read), expected, "{language}");
    assert_eq!(read.incomplete, None);
    read
}

#[test]
fn every_query_fits_its_grammar() {
    for language in &LANGUAGES {
        let compiled = Query::new(&language.grammar(), &language.query.concat());
        assert!(compiled.is_ok(), "{}: {}", language.name, compiled.err().map(|e| e.to_string()).unwrap_or_default());
        for capture in compiled.unwrap().capture_names() {
            assert!(
                role(capture).is_some() || capture.starts_with('_') || *capture == "var",
                "{}: @{capture}",
                language.name
            );
        }
    }
}

#[test]
fn c_has_functions_types_macros_and_headers() {
    let read = check(
        "c",
        "#include \"kiln.h\"\n#include <stdio.h>\n#define SHELVES 4\n/* One firing. */\nstruct firing { int cone; struct firing *next; };\n\
         typedef struct { int x; } tile;\nenum glaze { MATT, GLOSS };\nint heat(struct firing *f);\n\
         static int *heat_all(struct firing *f, int n)\n{\n  int left = n;\n  f->open(1);\n  return heat(f) + left + SHELVES;\n}\n",
        &[
            "macro SHELVES",
            "struct firing",
            "variable firing.cone",
            "variable firing.next",
            "struct tile",
            "variable tile.x",
            "enum glaze",
            "constant glaze.MATT",
            "constant glaze.GLOSS",
            "function heat_all",
            "import  <-  of kiln.h",
            "import  <-  of stdio.h",
        ],
    );
    let heat_all = read.definitions.iter().find(|d| d.name == "heat_all").unwrap();
    assert_eq!(
        (heat_all.signature.as_str(), heat_all.exported),
        ("static int *heat_all(struct firing *f, int n)", false)
    );
    assert_eq!(read.definitions[1].doc, "One firing.");
    let calls: Vec<(&str, Option<&str>)> = read
        .references
        .iter()
        .filter(|r| r.kind == ReferenceKind::Call)
        .map(|r| (r.name.as_str(), r.receiver.as_deref()))
        .collect();
    assert_eq!(calls, [("open", Some("f")), ("heat", None)]);
    assert!(read.locals.iter().any(|(_, name)| name == "left") && read.locals.iter().any(|(_, name)| name == "n"));
}

#[test]
fn cpp_has_members_inside_and_outside_of_their_classes() {
    check(
        "cpp",
        "namespace pottery {\n/// Holds.\ntemplate <typename T> class Shelf : public Rack {\n public:\n  explicit Shelf(int n) : n_(n) {}\n  ~Shelf();\n\
         \x20 int count() const { return n_; }\n  virtual void turn() = 0;\n  template <typename U> void add(U u);\n  bool operator==(const Shelf& o) const { return true; }\n private:\n  int n_ = 3;\n};\n\
         template <typename T> int Shelf<T>::size() { return count(); }\nKiln& Kiln::self() { return *this; }\nusing Wide = Shelf<int>;\nclass API Rack final : public Wall {\n public:\n  int rows;\n  int hooks() { return 1; }\n};\nstruct API Peg : public Nail { int n() { return 2; } };\n}\n",
        &[
            "module pottery",
            "class pottery.Shelf",
            "method pottery.Shelf.Shelf",
            "method pottery.Shelf.~Shelf",
            "method pottery.Shelf.count",
            "method pottery.Shelf.turn",
            "method pottery.Shelf.add",
            "method pottery.Shelf.operator==",
            "variable pottery.Shelf.n_",
            "method pottery.Shelf.size",
            "method pottery.Kiln.self",
            "type pottery.Wide",
            "class pottery.Rack",
            "variable pottery.Rack.rows",
            "method pottery.Rack.hooks",
            "class pottery.Peg",
            "method pottery.Peg.n",
        ],
    );
}

#[test]
fn java_csharp_and_kotlin_have_classes_fields_and_imports() {
    check(
        "java",
        "package a.b;\nimport a.c.Clay;\nimport a.d.*;\n/** Kiln. */\n@Deprecated\npublic class Kiln extends Oven<Clay> implements Hot {\n  private int a, b;\n\
         \x20 public Kiln(int n) { super(n); }\n  @Override public void fire() { Clay c = new Clay(1); c.dry(); }\n  enum Cone { LOW, HIGH }\n  interface Lid { void lift(); }\n}\n",
        &[
            "class Kiln",
            "variable Kiln.a",
            "variable Kiln.b",
            "method Kiln.Kiln",
            "method Kiln.fire",
            "enum Kiln.Cone",
            "constant Kiln.Cone.LOW",
            "constant Kiln.Cone.HIGH",
            "interface Kiln.Lid",
            "method Kiln.Lid.lift",
            "import Clay <- Clay of a.c.Clay",
            "import * <- * of a.d",
        ],
    );
    check(
        "csharp",
        "using System;\nusing M = A.Clay;\nnamespace A.B\n{\n  [Serializable]\n  public sealed class Kiln : Oven<Clay>, IHot\n  {\n    public const int Max = 3;\n\
         \x20   public int Count { get; set; }\n    public Kiln(int n) : base(n) { }\n    public int Fire(Clay c) { var m = new Clay(1); return Dry(m); }\n    enum Cone { Low }\n  }\n}\n",
        &[
            "module A.B",
            "class A.B.Kiln",
            "variable A.B.Kiln.Max",
            "variable A.B.Kiln.Count",
            "method A.B.Kiln.Kiln",
            "method A.B.Kiln.Fire",
            "enum A.B.Kiln.Cone",
            "constant A.B.Kiln.Cone.Low",
            "import  <-  of System",
            "import M <- * of A.Clay",
        ],
    );
    check(
        "kotlin",
        "package a\nimport a.c.Clay\nimport a.d.Glaze as G\ndata class Kiln(val cone: Int, n: Int = 2) : Oven(cone), Hot {\n  val total: Int get() = cone\n\
         \x20 override fun fire(c: Clay): Int {\n    val m = Clay(1)\n    return m.dry()\n  }\n}\ninterface Hot {\n  fun go()\n}\n\
         object Shed { fun open() {} }\nfun Kiln.ext(): Int { return cone }\nfun `the lid is on`() {}\n@Target\nannotation class Marked\nenum class Cone { LOW }\nval K = 5\n",
        &[
            "class Kiln",
            "variable Kiln.cone",
            "variable Kiln.total",
            "method Kiln.fire",
            "interface Hot",
            "method Hot.go",
            "class Shed",
            "method Shed.open",
            "method Kiln.ext",
            "function the lid is on",
            "class Marked",
            "enum Cone",
            "constant Cone.LOW",
            "variable K",
            "import Clay <- Clay of a.c.Clay",
            "import G <- Glaze of a.d.Glaze",
        ],
    );
}

#[test]
fn ruby_php_and_lua_have_their_own_ways_to_load() {
    check(
        "ruby",
        "require 'json'\nrequire_relative './clay'\nmodule Pottery\n  # Fires.\n  class Kiln < Base::Oven\n    include Hot\n    MAX = 3\n    attr_reader :cone, :lid\n\
         \x20   def initialize(cone)\n      @cone = cone\n    end\n    def self.open(x) = new(x)\n    def fire(clay)\n      dry(clay)\n    end\n    def hot?; end\n    def lid=(x); end\n  end\nend\ndef top(a) puts a end\n",
        &[
            "module Pottery",
            "class Pottery.Kiln",
            "constant Pottery.Kiln.MAX",
            "variable Pottery.Kiln.cone",
            "variable Pottery.Kiln.lid",
            "method Pottery.Kiln.initialize",
            "method Pottery.Kiln.open",
            "method Pottery.Kiln.fire",
            "method Pottery.Kiln.hot?",
            "method Pottery.Kiln.lid=",
            "function top",
            "import  <-  of json",
            "import  <-  of ./clay",
        ],
    );
    check(
        "php",
        "<?php\nnamespace A\\B;\nuse A\\Clay;\nuse A\\{Glaze, Other as O};\nrequire_once __DIR__ . '/kiln.php';\nfinal class Kiln extends Oven implements Hot {\n  const MAX = 3;\n\
         \x20 private int $cone = 0;\n  public function fire(Clay $c) { $this->dry(); helper(); }\n}\ninterface Hot { function go(); }\nfunction top($a) { return $a; }\n",
        &[
            "class Kiln",
            "constant Kiln.MAX",
            "variable Kiln.cone",
            "method Kiln.fire",
            "interface Hot",
            "method Hot.go",
            "function top",
            "import Clay <- Clay of A\\Clay",
            "import Glaze <- Glaze of A\\Glaze",
            "import O <- Other of A\\Other",
            "import  <-  of /kiln.php",
        ],
    );
    check(
        "lua",
        "local clay = require \"pottery.clay\"\nlocal M = {}\n-- Dries.\nlocal function dry(a) return wet(a) end\nfunction M.open(x) clay.knead(x); dry(x) end\nfunction M:close() self:open() end\nreturn M\n",
        &[
            "variable clay",
            "variable M",
            "function dry",
            "method M.open",
            "method M.close",
            "import clay <- * of pottery.clay",
        ],
    );
}

#[test]
fn swift_scala_and_shell_are_read() {
    check(
        "swift",
        "import Foundation\n/// Kiln.\npublic final class Kiln: Oven, Hot {\n  static let max = 3\n  var cone: Int { return n }\n  init(n: Int) { super.init() }\n  func fire(_ c: Clay) -> Int { let m = Clay(1); return m.dry() }\n  enum Lid { case up, down }\n}\n\
         struct P { let x: Int }\nprotocol Hot { func go() }\nextension Kiln: Cold { func ext() {} }\n",
        &[
            "class Kiln",
            "variable Kiln.max",
            "variable Kiln.cone",
            "method Kiln.init",
            "method Kiln.fire",
            "enum Kiln.Lid",
            "constant Kiln.Lid.up",
            "constant Kiln.Lid.down",
            "struct P",
            "variable P.x",
            "interface Hot",
            "method Hot.go",
            "impl Kiln",
            "method Kiln.ext",
            "import  <-  of Foundation",
        ],
    );
    check(
        "scala",
        "package a\nimport a.c.Clay\nimport a.d.{Glaze, Other => O}\nimport a.e._\nfinal case class Kiln(cone: Int) extends Oven(cone) with Hot {\n  val total = cone\n  def fire(c: Clay): Int = { val m = new Clay(1); m.dry() }\n}\nobject Kiln { def make = Kiln(1) }\ntrait Hot { def go(x: Int): Unit }\n",
        &[
            "class Kiln",
            "variable Kiln.cone",
            "variable Kiln.total",
            "method Kiln.fire",
            "class Kiln",
            "method Kiln.make",
            "trait Hot",
            "method Hot.go",
            "import Clay <- Clay of a.c.Clay",
            "import Glaze <- Glaze of a.d.Glaze",
            "import O <- Other of a.d.Other",
            "import * <- * of a.e",
        ],
    );
    check(
        "shell",
        "source ./lib.sh\nMAX=3\nfire() { local a=$1; dry \"$a\"; }\nfunction open_kiln { fire 1; }\n",
        &["variable MAX", "function fire", "function open_kiln", "import  <-  of ./lib.sh"],
    );
}

#[test]
fn deep_nesting_is_left_out_and_said() {
    let deep = format!("{}int x;{}", "namespace a{\n".repeat(2_000), "}\n".repeat(2_000));
    let read = outline("cpp", &deep);
    assert!(read.incomplete.is_some_and(|why| why.contains("deeper")), "deep");
    assert!(read.definitions.len() < 1_000);
}
