//! Tests merges and removals in files that are deep, long or full of definitions. Quadratic work
//! takes minutes here, so these tests would time out.

use super::by_query::{changes, named, refused, removed};
use crate::{Edit, Hints};

#[test]
fn deep_nesting_has_its_bound() {
    const LEVELS: usize = 3_000;
    let nested = |open: &str, close: &str| format!("{}1{}", open.repeat(LEVELS), close.repeat(LEVELS));
    let c = format!("int deep = {};\n\nint heat(void)\n{{\n    return 1;\n}}\n", nested("(", ")"));
    changes("kiln.c", &c, "int heat(void)\n{\n    return 2;\n}\n", ("return 1;", "return 2;"));
    let lua = format!(
        "local deep = {}\n\nlocal function heat()\n  return 2\nend\n",
        nested("{ f = function() return ", " end }")
    );
    changes("kiln.lua", &lua, "local function heat()\n  return 3\nend\n", ("return 2\n", "return 3\n"));
}

#[test]
fn a_long_list_is_changed_around_and_its_head_is_looked_for_once() {
    const ROW: &str = "    1, 2, 3, 4, 5, 6, 7, 8,\n";
    let rows = ROW.repeat(6_000);
    let c = format!("static const int cones[] = {{\n{rows}}};\n\nint heat(void)\n{{\n    return 1;\n}}\n");
    named("kiln.c", &c, ("heat", "int heat(void)\n{\n    return 2;\n}\n"), ("return 1;", "return 2;"));
    removed("kiln.c", &c, "int heat(void)", "int heat(void)\n{\n    return 1;\n}\n");
    refused("kiln.c", &c, &Edit::Remove("int cool(void)"), &["not clear which"]);
    let array = format!("static const int cones[] = {{\n{rows}}};\n\n");
    removed("kiln.c", &c, "static const int cones[] = {", &array);
}

#[test]
fn one_of_many_functions_is_changed() {
    const FUNCTIONS: usize = 5_000;
    let java: String = (0..FUNCTIONS)
        .map(|at| format!("    /** One. */\n    public int heat{at}(int by) {{\n        return {at} + by;\n    }}\n\n"))
        .collect();
    let java = format!("class Kiln {{\n{}}}\n", java.trim_end_matches('\n').to_owned() + "\n");
    named(
        "Kiln.java",
        &java,
        ("Kiln.heat2500", "int heat2500(int by) {\n    return by;\n}\n"),
        ("return 2500 + by", "return by"),
    );
    removed(
        "Kiln.java",
        &java,
        "int heat7(int by)",
        "    /** One. */\n    public int heat7(int by) {\n        return 7 + by;\n    }\n\n",
    );
    let ruby: String = (0..FUNCTIONS).map(|at| format!("def heat{at}(by)\n  {at}\nend\n\n")).collect();
    changes("kiln.rb", &ruby, "def heat4000(by)\n  by\nend\n", ("  4000\n", "  by\n"));
    let edit = Edit::Definition { name: None, code: "def heat(by\n", hints: Hints::default() };
    refused("kiln.rb", &ruby, &edit, &["does not parse"]);
}
