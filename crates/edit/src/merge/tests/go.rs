//! Tests of merging Go.

use super::{Hints, check, merge};

const SHOP: &str = "// Package shop sells.\npackage shop\n\nimport (\n\t\"fmt\"\n\n\t\"example.com/money\"\n)\n\nconst (\n\tLow  = 1\n\tHigh = 2\n)\n\n// Cart holds items.\ntype Cart struct {\n\titems []string\n}\n\n// Add adds.\nfunc (c *Cart) Add(item string) {\n\tc.items = append(c.items, item)\n}\n\nfunc Total(c *Cart) money.Sum {\n\treturn money.Of(fmt.Sprint(c))\n}\n";

fn shop(written: &str, old: &str, new: &str) {
    assert!(SHOP.contains(old), "{old}");
    check("shop.go", SHOP, written, &SHOP.replacen(old, new, 1));
}

#[test]
fn functions_and_methods_are_matched_by_their_receiver() {
    shop("func (c *Cart) Add(item string) {\n\tc.items = nil\n}\n", "append(c.items, item)", "nil");
    shop(
        "package shop\n\nfunc Total(c *Cart) money.Sum {\n    return money.None\n}\n",
        "money.Of(fmt.Sprint(c))",
        "money.None",
    );
    shop(
        "func (c *Cart) Len() int {\n\treturn len(c.items)\n}\n",
        "item)\n}\n",
        "item)\n}\n\nfunc (c *Cart) Len() int {\n\treturn len(c.items)\n}\n",
    );
    shop(
        "func Add(a int) int {\n\treturn a\n}\n",
        "Sprint(c))\n}\n",
        "Sprint(c))\n}\n\nfunc Add(a int) int {\n\treturn a\n}\n",
    );
}

#[test]
fn imports_join_their_block() {
    shop(
        "package shop\n\nimport (\n\t\"fmt\"\n\t\"strings\"\n)\n\nfunc Total(c *Cart) money.Sum {\n\treturn money.Of(strings.Join(c.items, fmt.Sprint()))\n}\n",
        SHOP,
        &SHOP
            .replace("\t\"fmt\"\n", "\t\"fmt\"\n\t\"strings\"\n")
            .replace("fmt.Sprint(c)", "strings.Join(c.items, fmt.Sprint())"),
    );
}

#[test]
fn groups_and_structs_change_by_entry() {
    shop("const (\n\tLow  = 1\n\tHigh = 3\n)\n", "High = 2", "High = 3");
    shop("type Cart struct {\n\titems []string\n\tsum int\n}\n", "items []string\n", "items []string\n\tsum int\n");
}

#[test]
fn a_new_group_is_added_and_no_name_is_declared_again() {
    let group = "const (\n\tIdle = iota\n\tBusy\n)\n";
    let heat = "func Heat() int {\n\treturn Busy\n}\n";
    for group in [group, "var (\n\tIdle = 1\n\tBusy = 2\n)\n"] {
        let merged = merge("shop.go", SHOP, &format!("{group}\n{heat}"), &Hints::default()).expect("a merge");
        assert!(merged.text.contains(group) && merged.text.contains(heat), "{}", merged.text);
        assert!(SHOP.lines().all(|line| merged.text.contains(line)), "{}", merged.text);
    }
    let again = "const (\n\tTotal = 1\n\tBusy = 2\n)\n";
    assert!(merge("shop.go", SHOP, again, &Hints::default()).is_err());
}
