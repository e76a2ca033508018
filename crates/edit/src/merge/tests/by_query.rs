//! Tests merging in languages that a query describes.

use super::{Hints, check, in_container, with};
use crate::{Edit, apply};

pub const C: &str = "\
#include <stdio.h>

#define SHELVES 4

struct tile {
    int x;
    int y;
};

int heat(int cone);

/* Once only. */
static int cool(int cone)
{
    return cone - 1;
}

#ifdef FAST
int heat(int cone)
{
    return cone * 2;
}
#else
int heat(int cone)
{
    return cone;
}
#endif
";

pub const CPP: &str = "\
#include <string>

namespace clay {

class Kiln {
 public:
  int heat(int by);
  int size() const { return cone_; }

 private:
  int check();
  int cone_;
};

int Kiln::heat(int by) {
  return cone_ + by;
}

template <typename T>
T glaze(T tile) {
  return tile;
}

}  // namespace clay
";

pub const CSHARP: &str = "\
using System;

namespace Clay
{
    public class Kiln
    {
        private int cone = 4;

        /// <summary>Heats it.</summary>
        [Obsolete]
        public int Heat(int by)
        {
            return cone + by;
        }

        public int Heat(string by) => by.Length;
    }
}
";

pub const JAVA: &str = "\
package clay;

import java.util.List;

/** A kiln. */
public class Kiln {
    private int cone = 4;

    /** Heats it. */
    @Override
    public int heat(int by) {
        return cone + by;
    }

    public int heat(String by) {
        return heat(by.length());
    }
}
";

pub const KOTLIN: &str = "\
package clay

import clay.Tile

class Kiln(val cone: Int) {
    fun heat(by: Int): Int {
        return cone + by
    }

    fun heat(by: String) = by.length
}

fun cool(kiln: Kiln) = kiln.cone
";

pub const LUA: &str = "\
local M = {}

-- Heats.
function M.heat(cone)
  return cone
end

local function cool()
  return 1
end

return M
";

pub const PHP: &str = "\
<?php

namespace Clay;

use Clay\\Tile;

class Kiln
{
    private int $cone = 4;

    /** Heats it. */
    public function heat(int $by): int
    {
        return $this->cone + $by;
    }
}

function cool(): int
{
    return 1;
}
";

pub const RUBY: &str = "\
# frozen_string_literal: true

require \"clay\"

module Clay
  # A kiln.
  class Kiln < Base
    attr_reader :cone

    # Heats it.
    def heat(by = 1)
      @cone + by
    end

    def cool
      @cone = 0
    end

    private

    def warm?
      @cone > 0
    end
  end
end
";

pub const SCALA: &str = "\
package clay

import clay.Tile

class Kiln(cone: Int) extends Base {
  def heat(by: Int): Int = {
    cone + by
  }

  def heat(by: String): Int = by.length
}

object Kiln {
  val cold = 0
}
";

pub const SHELL: &str = "\
#!/bin/bash
set -euo pipefail

# Heats.
heat() {
  echo \"$1\"
}

cool() {
  cat <<EOF
cold
EOF
}

heat \"$@\"
";

pub const SWIFT: &str = "\
import Foundation

class Kiln {
    var cone = 4

    /// Heats it.
    @discardableResult
    func heat(by: Int) -> Int {
        return cone + by
    }
}

extension Kiln: Hot {
    var label: String { return \"kiln\" }
}
";

/// Asserts that `written` changes `old` into `new` and nothing else.
pub(super) fn changes(path: &str, before: &str, written: &str, (old, new): (&str, &str)) {
    assert_eq!(before.matches(old).count(), 1, "{old}");
    check(path, before, written, &before.replacen(old, new, 1));
}

/// The same, with a definition named as in a tool call.
pub(super) fn named(path: &str, before: &str, (name, code): (&str, &str), (old, new): (&str, &str)) {
    assert_eq!(before.matches(old).count(), 1, "{old}");
    let edit = Edit::Definition { name: Some(name), code, hints: Hints::default() };
    let text = apply(path, before, &edit).map(|applied| applied.text);
    assert_eq!(text.as_deref(), Ok(before.replacen(old, new, 1).as_str()), "{name}");
}

/// Asserts that an edit is refused with a message that contains all these words.
pub(super) fn refused(path: &str, before: &str, edit: &Edit<'_>, words: &[&str]) {
    let said = apply(path, before, edit).expect_err("a refusal").to_string();
    assert!(words.iter().all(|word| said.contains(word)), "{said}");
}

pub(super) fn removed(path: &str, before: &str, what: &str, gone: &str) {
    assert_eq!(before.matches(gone).count(), 1, "{gone}");
    let text = apply(path, before, &Edit::Remove(what)).map(|applied| applied.text);
    assert_eq!(text.as_deref(), Ok(before.replacen(gone, "", 1).as_str()), "{what}");
}

#[test]
fn c_changes_functions_and_fields_and_leaves_branches() {
    changes("kiln.c", C, "int cool(int cone)\n{\n    return cone - 2;\n}\n", ("cone - 1", "cone - 2"));
    changes("kiln.c", C, "#define SHELVES 5\n", ("SHELVES 4", "SHELVES 5"));
    changes("kiln.c", C, "int heat(int cone, int by);\n", ("int heat(int cone);", "int heat(int cone, int by);"));
    changes(
        "kiln.c",
        C,
        "struct tile {\n    int x;\n    int y;\n    int z;\n};\n",
        ("int y;\n", "int y;\n    int z;\n"),
    );
    changes(
        "kiln.c",
        C,
        "#include <math.h>\n\nint rest(void)\n{\n    return 0;\n}\n",
        (
            "<stdio.h>\n\n#define SHELVES 4\n\nstruct tile {\n    int x;\n    int y;\n};\n\nint heat(int cone);\n\n/* Once only. */\nstatic int cool(int cone)\n{\n    return cone - 1;\n}\n",
            "<stdio.h>\n#include <math.h>\n\n#define SHELVES 4\n\nstruct tile {\n    int x;\n    int y;\n};\n\nint heat(int cone);\n\n/* Once only. */\nstatic int cool(int cone)\n{\n    return cone - 1;\n}\n\nint rest(void)\n{\n    return 0;\n}\n",
        ),
    );
    removed("kiln.c", C, "cool", "/* Once only. */\nstatic int cool(int cone)\n{\n    return cone - 1;\n}\n\n");
    let code = "int heat(int cone)\n{\n    return cone + 1;\n}\n";
    let edit = Edit::Definition { name: Some("heat"), code, hints: Hints::default() };
    refused("kiln.c", C, &edit, &["`heat` is defined 2 times", "line 19", "line 24"]);
    let second = with("kiln.c", C, code, Hints { line: Some(24), ..Hints::default() });
    assert_eq!(second, C.replace("return cone;", "return cone + 1;"));
}

#[test]
fn a_header_is_changed_inside_its_guard() {
    let header = "#ifndef KILN_H\n#define KILN_H\n\nint heat(int cone);\nint cool(int cone);\n\n#endif\n";
    changes("kiln.h", header, "int rest(void);\n", ("cool(int cone);\n", "cool(int cone);\nint rest(void);\n"));
    changes("kiln.h", header, "long cool(int cone);\n", ("int cool", "long cool"));
}

#[test]
fn cpp_tells_methods_in_and_outside_of_their_class_apart() {
    changes("kiln.cpp", CPP, "int Kiln::heat(int by) {\n  return by;\n}\n", ("cone_ + by", "by"));
    changes(
        "kiln.cpp",
        CPP,
        "template <typename T>\nT glaze(T tile) {\n  return std::move(tile);\n}\n",
        ("return tile", "return std::move(tile)"),
    );
    let inside = "cone_; }\n";
    named(
        "kiln.cpp",
        CPP,
        ("Kiln::rest", "int rest() { return 0; }"),
        (inside, "cone_; }\n  int rest() { return 0; }\n"),
    );
    changes(
        "kiln.cpp",
        CPP,
        "int rest() {\n  return 0;\n}\n",
        ("  return tile;\n}\n", "  return tile;\n}\n\nint rest() {\n  return 0;\n}\n"),
    );
    let code = "int heat(int by) {\n  return by;\n}\n";
    let edit = Edit::Definition { name: Some("Kiln::heat"), code, hints: Hints::default() };
    refused("kiln.cpp", CPP, &edit, &["int Kiln::heat(int by)", "line 15"]);
    removed("kiln.cpp", CPP, "glaze", "template <typename T>\nT glaze(T tile) {\n  return tile;\n}\n\n");
}

#[test]
fn csharp_changes_members_without_their_class() {
    changes("Kiln.cs", CSHARP, "public int Heat(int by)\n{\n    return by;\n}\n", ("cone + by", "by"));
    changes("Kiln.cs", CSHARP, "public int Heat(string by) => 0;\n", ("by.Length", "0"));
    changes(
        "Kiln.cs",
        CSHARP,
        "public int Cone { get; set; }\n",
        ("cone = 4;\n", "cone = 4;\n        public int Cone { get; set; }\n"),
    );
    removed("Kiln.cs", CSHARP, "cone", "        private int cone = 4;\n");
}

#[test]
fn java_replaces_the_overload_with_the_same_head() {
    changes("Kiln.java", JAVA, "public int heat(int by) {\n    return cone - by;\n}\n", ("cone + by", "cone - by"));
    changes(
        "Kiln.java",
        JAVA,
        "class Kiln {\n    int heat(String by) {\n        return 0;\n    }\n}\n",
        ("return heat(by.length())", "return 0"),
    );
    changes(
        "Kiln.java",
        JAVA,
        "import java.util.Map;\n\nprivate Map<String, Integer> tiles;\n",
        (
            "import java.util.List;\n\n/** A kiln. */\npublic class Kiln {\n    private int cone = 4;\n",
            "import java.util.List;\nimport java.util.Map;\n\n/** A kiln. */\npublic class Kiln {\n    private int cone = 4;\n    private Map<String, Integer> tiles;\n",
        ),
    );
    let last = "        return heat(by.length());\n    }\n";
    let cool = "\n    int cool() {\n        return 0;\n    }\n";
    changes("Kiln.java", JAVA, "int cool() {\n    return 0;\n}\n", (last, &format!("{last}{cool}")));
    let edit =
        Edit::Definition { name: Some("Kiln.heat"), code: "int heat(long by) { return 0; }", hints: Hints::default() };
    refused("Kiln.java", JAVA, &edit, &["`heat` is defined 2 times", "line 11 in `Kiln`", "line 15 in `Kiln`"]);
    refused("Kiln.java", JAVA, &Edit::Remove("heat"), &["2 times", "from lines 9, 15 on"]);
    let second = "    public int heat(String by) {\n        return heat(by.length());\n    }\n";
    removed("Kiln.java", JAVA, "public int heat(String by)", second);
}

#[test]
fn two_written_overloads_replace_one_each() {
    let both = "int heat(String by) {\n    return 1;\n}\n\nint heat(int by) {\n    return 2;\n}\n";
    let expected = JAVA.replace("return heat(by.length())", "return 1").replace("return cone + by", "return 2");
    check("Kiln.java", JAVA, both, &expected);
    let one = JAVA.replace("\n    public int heat(String by) {\n        return heat(by.length());\n    }\n", "");
    let expected = one.replace(
        "        return cone + by;\n    }\n",
        "        return 2;\n    }\n\n    int heat(String by) {\n        return 1;\n    }\n",
    );
    check("Kiln.java", &one, both, &expected);
}

#[test]
fn kotlin_tells_methods_and_functions_apart() {
    changes("Kiln.kt", KOTLIN, "fun heat(by: Int): Int {\n    return by\n}\n", ("cone + by", "by"));
    changes("Kiln.kt", KOTLIN, "fun cool(kiln: Kiln) = 0\n", ("kiln.cone", "0"));
    let last = "= kiln.cone\n";
    changes("Kiln.kt", KOTLIN, "fun rest() = 0\n", (last, &format!("{last}\nfun rest() = 0\n")));
    named("Kiln.kt", KOTLIN, ("Kiln.rest", "fun rest() = 0"), ("by.length\n", "by.length\n\n    fun rest() = 0\n"));
    let edit = Edit::Definition { name: Some("heat"), code: "fun heat(by: Double) = 1", hints: Hints::default() };
    refused("Kiln.kt", KOTLIN, &edit, &["2 times", "line 6 in `Kiln`", "line 10 in `Kiln`"]);
    let edit = Edit::Definition { name: Some("Oven.rest"), code: "fun rest() = 0", hints: Hints::default() };
    refused("Kiln.kt", KOTLIN, &edit, &["there is no `Oven`", "Kiln"]);
    removed("Kiln.kt", KOTLIN, "cool", "fun cool(kiln: Kiln) = kiln.cone\n");
}

#[test]
fn lua_adds_functions_before_the_table_is_returned() {
    changes("kiln.lua", LUA, "local function cool()\n  return 2\nend\n", ("return 1", "return 2"));
    changes("kiln.lua", LUA, "function cool()\n  return 2\nend\n", ("return 1", "return 2"));
    changes("kiln.lua", LUA, "function M.heat(cone)\n  return -cone\nend\n", ("return cone", "return -cone"));
    let cool = "local function cool()\n  return 1\nend\n";
    changes(
        "kiln.lua",
        LUA,
        "function rest()\n  return 0\nend\n",
        (cool, &format!("{cool}\nfunction rest()\n  return 0\nend\n")),
    );
    removed("kiln.lua", LUA, "M.heat", "-- Heats.\nfunction M.heat(cone)\n  return cone\nend\n\n");
}

#[test]
fn php_needs_no_opening_tag_in_what_is_written() {
    changes("Kiln.php", PHP, "function heat(int $by): int\n{\n    return $by;\n}\n", ("$this->cone + $by", "$by"));
    changes("Kiln.php", PHP, "<?php\n\nfunction cool(): int\n{\n    return 2;\n}\n", ("return 1", "return 2"));
    let heat = "        return $this->cone + $by;\n    }\n";
    let rest = "\n    public function rest(): int\n    {\n        return 0;\n    }\n";
    changes("Kiln.php", PHP, "public function rest(): int\n{\n    return 0;\n}\n", (heat, &format!("{heat}{rest}")));
    changes("Kiln.php", PHP, "use Clay\\Oven;\n", ("use Clay\\Tile;\n", "use Clay\\Tile;\nuse Clay\\Oven;\n"));
    removed("Kiln.php", PHP, "cool", "function cool(): int\n{\n    return 1;\n}\n");
}

#[test]
fn ruby_keeps_public_methods_above_private_ones() {
    changes("kiln.rb", RUBY, "def heat(by = 1)\n  @cone - by\nend\n", ("@cone + by", "@cone - by"));
    let cool = "      @cone = 0\n    end\n";
    let rest = "\n    def rest\n      nil\n    end\n";
    named("kiln.rb", RUBY, ("Kiln.rest", "def rest\n  nil\nend\n"), (cool, &format!("{cool}{rest}")));
    removed("kiln.rb", RUBY, "heat", "    # Heats it.\n    def heat(by = 1)\n      @cone + by\n    end\n\n");
    let private = "class Kiln\n  private\n\n  def fuel\n    1\n  end\nend\n";
    let warm = "      @cone > 0\n    end\n";
    changes("kiln.rb", RUBY, private, (warm, &format!("{warm}\n    def fuel\n      1\n    end\n")));
}

#[test]
fn scala_tells_a_class_and_its_object_apart() {
    changes("Kiln.scala", SCALA, "def heat(by: Int): Int = {\n  by\n}\n", ("cone + by", "by"));
    changes("Kiln.scala", SCALA, "object Kiln {\n  val cold = 1\n}\n", ("cold = 0", "cold = 1"));
    named(
        "Kiln.scala",
        SCALA,
        ("Kiln.rest", "def rest: Int = 0"),
        ("by.length\n", "by.length\n\n  def rest: Int = 0\n"),
    );
    removed("Kiln.scala", SCALA, "cold", "  val cold = 0\n");
}

#[test]
fn shell_functions_change_and_their_texts_stay() {
    changes("kiln.sh", SHELL, "heat() {\n  echo \"hot $1\"\n}\n", ("\"$1\"", "\"hot $1\""));
    changes("kiln.sh", SHELL, "cool() {\n    cat <<EOF\nvery cold\nEOF\n}\n", ("\ncold\n", "\nvery cold\n"));
    let cool = "cold\nEOF\n}\n";
    changes("kiln.sh", SHELL, "rest() {\n  :\n}\n", (cool, &format!("{cool}\nrest() {{\n  :\n}}\n")));
    removed("kiln.sh", SHELL, "heat", "# Heats.\nheat() {\n  echo \"$1\"\n}\n\n");
}

#[test]
fn swift_changes_an_extension_by_its_head() {
    changes("Kiln.swift", SWIFT, "func heat(by: Int) -> Int {\n    return by\n}\n", ("cone + by", "by"));
    let other = "extension Kiln: Hot {\n    var label: String { return \"oven\" }\n}\n";
    changes("Kiln.swift", SWIFT, other, ("\"kiln\"", "\"oven\""));
    let heat = "        return cone + by\n    }\n";
    named("Kiln.swift", SWIFT, ("Kiln.rest", "func rest() {}"), (heat, &format!("{heat}\n    func rest() {{}}\n")));
    removed("Kiln.swift", SWIFT, "label", "    var label: String { return \"kiln\" }\n");
}

#[test]
fn line_ends_stay_and_errors_elsewhere_do_not_matter() {
    let java = JAVA.replace('\n', "\r\n");
    let changed = with("Kiln.java", &java, "int heat(int by) {\n    return by;\n}\n", in_container("Kiln"));
    assert_eq!(changed, java.replace("cone + by", "by"));
    let broken = RUBY.replace("@cone = 0", "@cone = = 0");
    changes("kiln.rb", &broken, "def heat(by = 1)\n  by\nend\n", ("@cone + by", "by"));
}

#[test]
fn what_would_break_the_file_is_refused() {
    let java = "enum Glaze { MATT, GLOSS; int heat() { return 1; } }\n";
    let edit = Edit::Definition { name: None, code: "enum Glaze { SATIN }\n", hints: Hints::default() };
    let text = apply("Glaze.java", java, &edit).map(|applied| applied.text);
    assert!(text.is_err(), "{text:?}");
    for (path, open) in
        [("a.java", "class Kiln {\n  int heat() {\n"), ("a.rb", "class Kiln\n  def heat\n"), ("a.c", "int heat() {\n")]
    {
        let edit = Edit::Definition { name: Some("heat"), code: "int heat( {\n", hints: Hints::default() };
        assert!(apply(path, open, &edit).is_err(), "{path}");
    }
}
