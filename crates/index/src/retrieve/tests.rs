//! Tests of searches in a small project.

use std::fs;
use std::path::Path;

use super::*;
use crate::base::Cancel;

fn project() -> (tempfile::TempDir, Index) {
    let folder = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let filler = "  count(total, of, many, things);\n".repeat(30);
    write(
        "src/http/retry.ts",
        &format!(
            "/** Tries a request again after a pause. */\nexport function withRetry(attempts = 5) {{\n{filler}}}\n"
        ),
    );
    write(
        "src/http/client.ts",
        &format!(
            "import {{ withRetry }} from './retry';\nexport class Client {{\n  send() {{\n{filler}    withRetry();\n  }}\n}}\n"
        ),
    );
    write("src/http/pause.ts", &format!("export function pauseBetween() {{\n{filler}}}\n"));
    write(
        "tests/retry.test.ts",
        "import { withRetry } from '../src/http/retry';\nwithRetry(); // retry again after a pause\n",
    );
    write("README.md", "# A client\n\nIt can retry a request.\n");
    write("src/http/index.ts", "export { Agent } from 'undici';\nexport { withRetry } from './retry';\n");
    let index = Index::open(folder.path()).unwrap();
    index.refresh_lexical(&mut |_| {}, &Cancel::new()).unwrap();
    (folder, index)
}

fn check(index: &Index, query: &str, first: &str) -> Hits {
    let found = search(index, query, None, 10).unwrap();
    let paths: Vec<&str> = found.hits.iter().map(|h| h.path.as_str()).collect();
    assert_eq!(paths.first().copied(), Some(first), "{query}: {paths:?}");
    found
}

#[test]
fn names_and_prose_find_the_definition_and_tests_only_if_asked_for() {
    let (_folder, index) = project();
    check(&index, "withRetry", "src/http/retry.ts");
    check(&index, "how are requests tried again after a pause", "src/http/retry.ts");
    check(&index, "pause between things", "src/http/pause.ts");
    check(&index, "test of retry after a pause", "tests/retry.test.ts");
    check(&index, "Client", "src/http/client.ts");
    // Defined outside the project, so its re-export is found.
    check(&index, "Agent", "src/http/index.ts");
}

#[test]
fn a_hit_has_its_lines_and_the_parts_of_its_score() {
    let (_folder, index) = project();
    let found = check(&index, "withRetry", "src/http/retry.ts");
    let hit = &found.hits[0];
    assert_eq!(
        (hit.start, hit.end, hit.symbol.as_deref(), hit.kind.as_deref()),
        (1, 33, Some("withRetry"), Some("function"))
    );
    let sums: f64 = hit.parts.iter().filter(|(name, _)| !name.starts_with('×')).map(|(_, v)| v).sum();
    let factors: f64 = hit.parts.iter().filter(|(name, _)| name.starts_with('×')).map(|(_, v)| v).product();
    assert!((sums * factors - hit.score).abs() < 1e-9, "{hit:?}");
    assert!(hit.parts.iter().any(|(name, value)| *name == "definition" && *value >= 3.0));
}

#[test]
fn callers_are_found_with_the_functions_they_call() {
    let (_folder, index) = project();
    let found = search(&index, "withRetry", None, 10).unwrap();
    let client = found.hits.iter().find(|h| h.path == "src/http/client.ts").expect("the caller");
    assert!(client.parts.iter().any(|(name, _)| *name == "graph"), "{client:?}");
}

#[test]
fn a_search_without_vectors_or_without_hits_says_so() {
    let (_folder, index) = project();
    assert_eq!(search(&index, "retry", None, 3).unwrap().notes, ["lexical only: no embedder"]);
    assert_eq!(search(&index, "retry", Some(&[1.0]), 3).unwrap().notes, ["lexical only: no vectors computed yet"]);
    let nothing = search(&index, "zebra", None, 3).unwrap();
    assert!(
        nothing.hits.is_empty() && nothing.notes[1].contains("zebra occurs in the 6 indexed files"),
        "{:?}",
        nothing.notes
    );
    let empty = tempfile::tempdir().unwrap();
    let nothing = search(&Index::open(Path::new(empty.path())).unwrap(), "retry", None, 3).unwrap();
    assert!(nothing.notes[1].contains("the index is empty"));
}

/// The paths of a search's hits in a project with these files, best first.
fn found(files: &[(&str, &str)], query: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let index = Index::open(folder.path()).unwrap();
    index.refresh_lexical(&mut |_| {}, &Cancel::new()).unwrap();
    search(&index, query, None, 10).unwrap().hits.into_iter().map(|hit| hit.path).collect()
}

#[test]
fn source_without_a_grammar_is_found_before_what_is_written_about_it() {
    let till = "module Shop\n  # Counts coins at the end of the day.\n  class Till\n    def count_coins(coins)\n      coins.sum\n    end\n  end\nend\n";
    let basket = "module Shop\n  class Basket\n    def initialize\n      @till = Till.new\n    end\n  end\nend\n";
    let guide = "# Counting coins\n\nThe till counts coins at the end of the day. Count coins with `Till`; a till that counts coins is a good till.\n";
    let files = [("lib/shop/till.rb", till), ("lib/shop/basket.rb", basket), ("docs/till.md", guide)];
    for query in ["Till", "count_coins", "how are coins counted at the end of the day"] {
        assert_eq!(found(&files, query)[0], "lib/shop/till.rb", "{query}");
    }
}

#[test]
fn a_heading_is_found_by_its_words_and_code_of_that_name_comes_first() {
    let folder = tempfile::tempdir().unwrap();
    let text = "Ask the keeper of the house whether the door is open.\n".repeat(20);
    let guide = format!("# House\n\n{text}\n## Open the shutters\n\n{text}\n## Sweep floors\n\n{text}");
    fs::write(folder.path().join("GUIDE.md"), guide).unwrap();
    fs::write(folder.path().join("house.py"), "def open_shutters(house):\n    return house.windows\n").unwrap();
    let index = Index::open(folder.path()).unwrap();
    index.refresh_lexical(&mut |_| {}, &Cancel::new()).unwrap();
    check(&index, "open shutters", "house.py");
    check(&index, "where do we open the shutters", "house.py");
    let swept = check(&index, "sweep floors", "GUIDE.md");
    let first = &swept.hits[0];
    assert_eq!(
        (first.symbol.as_deref(), first.kind.as_deref(), first.start),
        (Some("Sweep floors"), Some("section"), 47)
    );
}

#[test]
fn bundles_vendored_packages_translations_and_examples_rank_below_the_source() {
    let body: String =
        (0..80).map(|n| format!("  weighCoin(coins[{n}], balance.left{n}, balance.right{n});\n")).collect();
    let scales = format!("/** Weighs coins on scales. */\nexport function weighCoins(coins) {{\n{body}}}\n");
    let bundle = format!("var shop = {{}};\nfunction openDoor() {{}}\n{}", scales.replace("export ", ""));
    let about = "# Scales\n\nWeighs coins on scales: `weighCoins(coins)`. Weigh coins, coins, coins.\n";
    let use_of =
        "import { weighCoins } from 'scales';\n// Weighs coins on scales.\nweighCoins([1, 2]);\nweighCoins([3]);\n";
    let files = [
        ("shop.js", bundle.as_str()),
        ("source/scales.js", scales.as_str()),
        ("vendor/weights/scales.js", "// Weighs coins on scales.\nfunction weighCoins(coins) { return coins; }\n"),
        ("docs/de/scales.md", about),
        ("docs_src/scales/first.js", use_of),
    ];
    for query in ["weighCoins", "weigh coins on scales"] {
        assert_eq!(found(&files, query)[0], "source/scales.js", "{query}");
    }
}

#[test]
fn words_of_one_kin_meet_in_names_paths_and_text() {
    let files = [
        ("lib/money/formatter.ex", "defmodule Money.Formatter do\n  def run(amount), do: amount\nend\n"),
        (
            "lib/coin.ex",
            "defmodule Coin do\n  # The format of a coin; a mint does the formatting.\n  defstruct [:worth]\nend\n",
        ),
        ("lib/shop/router.ex", "defmodule Shop.Router do\n  def call(path), do: path\nend\n"),
        (
            "lib/map.ex",
            "defmodule Town.Map do\n  # Routes between shops; routing is by foot.\n  defstruct [:streets]\nend\n",
        ),
        ("lib/impls/list.ex", "defmodule Shop.List do\n  def call(list), do: list\nend\n"),
    ];
    for (query, first) in [
        ("where is formatting done", "lib/money/formatter.ex"),
        ("how does routing work", "lib/shop/router.ex"),
        ("implementations for lists", "lib/impls/list.ex"),
    ] {
        assert_eq!(found(&files, query)[0], first, "{query}");
    }
}

#[test]
fn a_bare_name_finds_the_thing_of_that_name_before_functions_of_the_same_stem() {
    let files = [
        ("shop/rules.py", "class Validator:\n    def __init__(self):\n        self.rules = []\n"),
        (
            "shop/validate.py",
            "def validate(order):\n    return order\n\n\ndef validates(order):\n    return validate(order)\n",
        ),
    ];
    assert_eq!(found(&files, "Validator")[0], "shop/rules.py");
}

#[test]
fn one_file_does_not_fill_the_first_ten_hits() {
    let method = |n: usize| {
        format!(
            "// Counts coins of purse {n}.\nfunc CountCoins{n}(purse []int) int {{\n{}}}\n\n",
            "\tsum(purse, coins, all)\n".repeat(30)
        )
    };
    let purses = format!("package shop\n\n{}", (0..12).map(method).collect::<String>());
    let others: Vec<(String, String)> = (0..4)
        .map(|n| {
            (
                format!("shop/drawer{n}.go"),
                format!("package shop\n\n// Puts coins into drawer {n}.\nfunc Drawer{n}() {{}}\n"),
            )
        })
        .collect();
    let mut files: Vec<(&str, &str)> = others.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    files.push(("shop/purses.go", &purses));
    let paths = found(&files, "count coins of a purse");
    assert!(paths[0] == "shop/purses.go" && paths[..3].iter().any(|path| path != "shop/purses.go"), "{paths:?}");
}

#[test]
fn what_limits_left_out_is_said_where_nothing_is_found() {
    let (folder, index) = project();
    fs::write(folder.path().join("data.json"), format!("[{}]\n", "1, ".repeat(20_000))).unwrap();
    index.refresh_lexical(&mut |_| {}, &Cancel::new()).unwrap();
    let said = |query: &str| search(&index, query, None, 3).unwrap().notes.join(" | ");
    assert!(said("zebra").contains("not in the index: 1 minified or data"), "{}", said("zebra"));
    assert!(!said("retry").contains("not in the index"), "{}", said("retry"));
    assert!(said(&"zebra ".repeat(2_000)).contains("only its beginning was used"));
}
