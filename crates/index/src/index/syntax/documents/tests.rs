//! Tests of the outlines of documents.

use super::*;
use crate::index::ids;
use crate::index::syntax::DEPTH_MAX;

/// `kind outer/name first-last` of every definition.
fn check(language: &str, source: &str, expected: &[&str]) -> Outline {
    let read = document_outline(language, source);
    let path = |at: usize| {
        let all = std::iter::successors(Some(at), |at| read.definitions[*at].container);
        let mut names: Vec<&str> = all.map(|at| read.definitions[at].name.as_str()).collect();
        names.reverse();
        names.join("/")
    };
    let found = read.definitions.iter().enumerate();
    let found: Vec<String> =
        found.map(|(at, d)| format!("{} {} {}-{}", d.kind.name(), path(at), d.start, d.end)).collect();
    assert_eq!(found, expected, "{source}");
    assert_eq!(read.incomplete, None);
    read
}

#[test]
fn sections_of_markdown_nest_by_level() {
    let text = "\
---
weight: 3
---
Before.

# Tea *house*

Text.

## Brew `oolong`
```sh
# rinse the pot
```

    # indented

Opening hours
=============
Late.

Holidays
--------
- list
  # in a list

> # in a quote

#### Deep ####
end
";
    let read = check(
        "markdown",
        text,
        &[
            "section Tea house 6-15",
            "section Tea house/Brew oolong 10-15",
            "section Opening hours 17-29",
            "section Opening hours/Holidays 21-29",
            "section Opening hours/Holidays/Deep 28-29",
        ],
    );
    assert_eq!(read.definitions[3].signature, "## Holidays");
    check("markdown", "no heading\n", &[]);
    check("markdown", "# A\n### C\n## B\n", &["section A 1-3", "section A/C 2-2", "section A/B 3-3"]);
}

#[test]
fn rules_of_css_have_one_name_a_selector() {
    let text = "\
/* Leaves. */
:root { --jade: #3a7; --steep: 3min }
.cup, .cup:is(.a, .b) > li { color: var(--jade) }
@media (max-width: 40em) {
  #tray { display: none; }
}
@keyframes steam { from { top: 0 } 50% { top: 1px } }
@font-face { font-family: \"{ no\"; src: url(data:a;b); }
@import url(\"x.css\");
";
    let read = check(
        "css",
        text,
        &[
            "rule :root 2-2",
            "variable :root/--jade 2-2",
            "variable :root/--steep 2-2",
            "rule .cup 3-3",
            "rule .cup:is(.a, .b) > li 3-3",
            "rule @media (max-width: 40em) 4-6",
            "rule @media (max-width: 40em)/#tray 5-5",
            "rule steam 7-7",
            "rule @font-face 8-8",
        ],
    );
    assert_eq!((read.definitions[0].doc.as_str(), read.definitions[0].doc_start), ("Leaves.", 1));
    assert_eq!(read.definitions[7].signature, "@keyframes steam");
}

#[test]
fn scss_and_less_have_mixins_functions_and_variables() {
    let text = "\
$gap: 3px; // between cups
@mixin warm($n) { width: $n; }
@function twice($n) { @return $n * 2; }
%shelf { a: b }
.pot {
  @include warm(3px) { .lid { a: b } }
  &__spout { a: b }
  #{$gap}-x { a: b }
  @if $gap == 3px { .even { a: b } }
}
@tone: #fff;
.less() { color: @tone }
// it's the end
.last { a: b }
";
    check(
        "css",
        text,
        &[
            "variable $gap 1-1",
            "function warm 2-2",
            "function twice 3-3",
            "rule %shelf 4-4",
            "rule .pot 5-10",
            "rule .pot/.lid 6-6",
            "rule .pot/&__spout 7-7",
            "rule .pot/#{$gap}-x 8-8",
            "rule .pot/.even 9-9",
            "variable @tone 11-11",
            "rule .less() 12-12",
            "rule .last 14-14",
        ],
    );
}

#[test]
fn elements_of_html_are_known_by_id_heading_and_own_tag() {
    let text = "\
<!DOCTYPE html>
<html><body>
<!-- The bar. -->
<header id=\"bar\" class=\"private\"><h1>Tea <em>for</em>
two</h1></header>
<tea-pot id=pot><p>x</tea-pot>
<img id='leaf'>
<script>let a = \"<h2>no</h2>\";</script>
<p>plain</p>
</body></html>
";
    let read = check(
        "html",
        text,
        &[
            "element bar 4-5",
            "section bar/Tea for two 4-5",
            "element pot 6-6",
            "element tea-pot 6-6",
            "element leaf 7-7",
        ],
    );
    let bar = &read.definitions[0];
    assert_eq!((bar.signature.as_str(), bar.doc.as_str()), ("<header id=\"bar\" class=\"private\">", "The bar."));
}

#[test]
fn keys_of_yaml_are_known_to_the_second_level() {
    let text = "\
name: teahouse
# When: on a push.
# Always.
on:
  push:
    branches: [main]

  # Later.
  pull: &p
\"opening hours\": |
  closed: never
&base menu: &m
    green: 1 # not: this
    'black tea': {a: 1}
    long:
       deep: 1
url: http://x:80/y
steps:
- name: x
  run: y
text: \"a
  b: c\"
{{- if .Values.x }}
last:
---
second: 2
";
    let read = check(
        "yaml",
        text,
        &[
            "key name 1-1",
            "key on 4-9",
            "key on/push 5-6",
            "key on/pull 9-9",
            "key opening hours 10-11",
            "key menu 12-16",
            "key menu/green 13-13",
            "key menu/black tea 14-14",
            "key menu/long 15-16",
            "key url 17-17",
            "key steps 18-20",
            "key text 21-23",
            "key last 24-24",
            "key second 26-26",
        ],
    );
    let on = &read.definitions[1];
    assert_eq!((on.signature.as_str(), on.doc.as_str(), on.doc_start), ("on", "When: on a push.\nAlways.", 2));
    assert_eq!(read.definitions[3].doc, "Later.");
}

#[test]
fn statements_of_sql_name_what_they_make() {
    let text = "\
-- Of the house.
CREATE TABLE IF NOT EXISTS tea.\"Cups\" (
  id int PRIMARY KEY, -- create view no
  note text DEFAULT 'it''s; hot'
); -- after
create unique index concurrently cups_note on tea.cups (note);
CREATE INDEX ON tea.cups (id);
CREATE OR REPLACE FUNCTION tea.pour(n int) RETURNS trigger AS $body$
BEGIN
  CREATE TABLE hidden (a int);
END;
$body$ LANGUAGE plpgsql;
CREATE MATERIALIZED VIEW strong AS SELECT 1;
COPY tea.cups (id, note) FROM stdin;
1	it's
\\.
INSERT INTO tea.cups VALUES (1, 'create table x (');
CREATE TRIGGER t AFTER INSERT ON cups BEGIN
  UPDATE cups SET id = CASE WHEN id = 1 THEN 2 ELSE 3 END;
  DELETE FROM cups;
END;
DELIMITER //
CREATE DEFINER=`root`@`%` PROCEDURE `refill`(n INT)
BEGIN
  IF n > 1 THEN SELECT 'it\\'s'; END IF;
END//
DELIMITER ;
CREATE TABLE [dbo].[Saucers] (id int)
GO
CREATE PROC dbo.wash AS SELECT 1
create type mood as enum ('a', 'b');
";
    let read = check(
        "sql",
        text,
        &[
            "table Cups 2-5",
            "object cups_note 6-6",
            "function pour 8-12",
            "view strong 13-13",
            "object t 18-21",
            "function refill 23-26",
            "table Saucers 28-28",
            "function wash 30-30",
            "type mood 31-31",
        ],
    );
    let (cups, pour) = (&read.definitions[0], &read.definitions[2]);
    assert_eq!((cups.doc.as_str(), cups.doc_start), ("Of the house.", 1));
    assert_eq!(cups.signature, "CREATE TABLE IF NOT EXISTS tea.\"Cups\"");
    assert_eq!(
        (pour.signature.as_str(), pour.doc.as_str()),
        ("CREATE OR REPLACE FUNCTION tea.pour(n int) RETURNS trigger", "")
    );
}

#[test]
fn damaged_documents_are_read_as_far_as_they_go() {
    check("css", ".a { b: c }\n.d {\n  e: \"f\n}\n.g { h: i", &["rule .a 1-1", "rule .d 2-4", "rule .g 5-5"]);
    check("sql", "create table a (b int\ncreate table c (d int);\n", &["table a 1-1", "table c 2-2"]);
    check("markdown", "# a\n```\n# b\n", &["section a 1-3"]);
}

/// Generated files of 5 MB, some with content that a careless scanner reads again and again.
#[test]
fn large_generated_documents_are_read_in_bounded_time() {
    const BYTES: usize = 5_000_000;
    let many = |unit: &str| unit.repeat(BYTES / unit.len());
    let numbered =
        |unit: &str| (0..BYTES / (unit.len() + 7)).map(|n| unit.replace('#', &n.to_string())).collect::<String>();
    for (language, text) in [
        ("markdown", many("## Part\n\ntext\n")),
        ("markdown", many(">")),
        ("markdown", many("[")),
        ("markdown", format!("# {}", many("a*"))),
        ("css", many(".a { b: c } /* d */ ")),
        ("css", many("a{")),
        ("css", many("/* \"' */ #{")),
        ("css", format!("{}b{{}}", many("a,"))),
        ("css", format!("{}{{{}", "a,".repeat(100_000), many(" "))),
        ("html", many("<div id='a'>")),
        ("html", many("<h1>a</h1>\n")),
        ("yaml", numbered("k#: {a: 1}\n")),
        ("yaml", many("- ")),
        ("sql", many("CREATE TABLE a (b int); ")),
        ("sql", format!("INSERT INTO a VALUES {};", many("(1, 'b'), "))),
        ("sql", numbered("$t#$ ")),
        ("sql", many("'")),
        ("sql", many("begin case ")),
    ] {
        let begun = Instant::now();
        let read = document_outline(language, &text);
        let head: String = text.chars().take(20).collect();
        assert!(begun.elapsed() < PARSE_TIME_MAX * 3, "{language} {head}: {:?}", begun.elapsed());
        assert!(read.definitions.len() <= ITEMS_MAX, "{language} {head}");
        let depth = |at: usize| std::iter::successors(Some(at), |at| read.definitions[*at].container).count();
        assert!(read.definitions.len().checked_sub(1).is_none_or(|last| depth(last) <= DEPTH_MAX), "{language} {head}");
        assert_eq!(ids::symbols("a", &read).len(), read.definitions.len());
        println!("{language} {head:?}: {} in {:?}, {:?}", read.definitions.len(), begun.elapsed(), read.incomplete);
    }
}

proptest::proptest! {
    #[test]
    fn no_text_stops_a_scanner(text in "([a-z{}()\\[\\];:,.#@$*/'\"\\\\<>=&| \n-]|BEGIN|CREATE TABLE|é){0,200}") {
        for language in ["css", "html", "markdown", "sql", "yaml"] {
            let read = document_outline(language, &text);
            let lines = text.lines().count().max(1);
            for (at, one) in read.definitions.iter().enumerate() {
                proptest::prop_assert!(one.start <= one.end && one.end <= lines, "{language} {one:?}");
                proptest::prop_assert!(one.container.is_none_or(|outer| outer < at));
            }
        }
    }
}
