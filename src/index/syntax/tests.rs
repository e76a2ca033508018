//! Tests of the module above.

use super::*;

/// One line an item: what it is, its name, lines, container, and for definitions `+` if exported and the doc.
fn check(language: &str, source: &str, expected: &str) {
    let outline = outline(language, source);
    let name = |at: Option<usize>| at.map_or("", |a| outline.definitions[a].name.as_str()).to_owned();
    let mut lines: Vec<String> = Vec::new();
    for d in &outline.definitions {
        let exported = if d.exported { "+" } else { "" };
        lines.push(
            format!("{exported}{} {}>{} {}-{} {}", d.kind.name(), name(d.container), d.name, d.start, d.end, d.doc)
                .trim()
                .into(),
        );
    }
    lines.extend(
        outline.imports.iter().map(|i| format!("import {} from {} as {}", i.name, i.source, i.local).trim().into()),
    );
    lines.extend(
        outline
            .exports
            .iter()
            .map(|e| format!("export {} = {} {}", e.name, e.local, e.source.as_deref().unwrap_or("")).trim().into()),
    );
    for r in outline.references.iter().filter(|r| r.kind != ReferenceKind::Use) {
        let receiver = r.receiver.as_ref().map_or(String::new(), |x| format!("{x}."));
        lines.push(format!("{:?} {}>{receiver}{} {}", r.kind, name(r.from), r.name, r.line).to_lowercase());
    }
    let expected: Vec<&str> = expected.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
    assert_eq!(lines.join("\n"), expected.join("\n"));
}

#[test]
fn typescript_definitions_are_found_with_their_docs() {
    check(
        "typescript",
        "/** Tries again. */\nexport async function retry(times: number) {\n  step();\n}\nexport interface Policy extends Base { wait(): void }\n\
         export type Id = string;\nexport enum Level { Low }\nexport const delay = (ms: number) => sleep(ms), LIMIT = 3;\n\
         export default class Client extends http.Agent implements Policy {\n  #count = 0;\n  wait() { this.retry(); }\n}\n",
        "+function >retry 2-4 Tries again.
         +interface >Policy 5-5
         method Policy>wait 5-5
         +type >Id 6-6
         +enum >Level 7-7
         +function >delay 8-8
         +variable >LIMIT 8-8
         +class >Client 9-12
         variable Client>#count 10-10
         method Client>wait 11-11
         export retry = retry
         export Policy = Policy
         export Id = Id
         export Level = Level
         export delay = delay
         export LIMIT = LIMIT
         export default = Client
         call retry>step 3
         extends policy>base 5
         call delay>sleep 8
         extends client>http.agent 9
         extends client>policy 9
         call wait>this.retry 11",
    );
}

#[test]
fn every_form_of_import_and_export_is_read() {
    check(
        "typescript",
        "import main, { a, b as c } from './m';\nimport * as all from '../n';\nimport './effects';\nexport { a as z, c };\n\
         export * from './o';\nexport * as ns from './p';\nexport { q as r } from './q';\nexport default main;\n",
        "import default from ./m as main
         import a from ./m as a
         import b from ./m as c
         import * from ../n as all
         import  from ./effects as
         export z = a
         export c = c
         export * = * ./o
         export ns = * ./p
         export r = q ./q
         export default = main",
    );
}

#[test]
fn commonjs_is_read_like_modules() {
    check(
        "javascript",
        "var app = exports = module.exports = {};\nconst { get, set: put } = require('./store');\nvar util = require('util');\n\
         app.init = function init() { put(1); };\nexports.run = () => get();\nmodule.exports = app;\n",
        "variable >app 1-1
         method >init 4-4
         +function >run 5-5
         import get from ./store as get
         import set from ./store as put
         import default from util as util
         export default =
         export run = run
         export default = app
         call init>put 4
         call run>get 5",
    );
}

#[test]
fn components_call_components() {
    check(
        "tsx",
        "export const Page = () => <Layout><div/><ui.Button onClick={go}/></Layout>;\n",
        "+function >Page 1-1
         export Page = Page
         call page>layout 1
         call page>ui.button 1",
    );
}

#[test]
fn rust_items_paths_and_macro_arguments_are_read() {
    check(
        "rust",
        "//! The file.\nuse crate::base::{Bytes, ids as names, *};\npub use self::inner::Deep;\nmod inner;\n\n/// Counts.\n#[derive(Clone)]\n\
         pub struct Counter { n: usize }\nimpl Iterator for Counter {\n    fn next(&mut self) -> Option<usize> { self.step(); names::fresh() }\n}\n\
         pub trait Step: Sized { fn step(&self); }\nconst MAX: usize = 3;\nmacro_rules! twice { () => {} }\n\
         mod tests { fn t() { assert_eq!(super::make(1), 2); } }\n",
        "+struct >Counter 8-8 Counts.
         impl >Counter 9-11
         method Counter>next 10-10
         +trait >Step 12-12
         method Step>step 12-12
         constant >MAX 13-13
         macro >twice 14-14
         module >tests 15-15
         function tests>t 15-15
         import * from crate::base as *
         import ids from crate::base as names
         import Bytes from crate::base as Bytes
         import Deep from self::inner as Deep
         import * from self::inner as inner
         export Deep = Deep self::inner
         export Counter = Counter
         export Step = Step
         extends counter>iterator 9
         call next>self.step 10
         call next>names.fresh 10
         call t>assert_eq 15
         call t>super.make 15",
    );
}

#[test]
fn nesting_and_broken_code_are_survived_and_said() {
    let deep = format!("const a = {}1{};\nfunction after() {{}}\n", "(".repeat(5_000), ")".repeat(5_000));
    let outline = outline("javascript", &deep);
    assert!(outline.incomplete.is_some_and(|why| why.contains("nesting")));
    assert!(outline.definitions.iter().any(|d| d.name == "after"));
    check("typescript", "export function ok() {}\n}}} function ( {\n", "+function >ok 1-1\nexport ok = ok");
    check("markdown", "# Title\n", "");
}

#[test]
fn a_signature_ends_where_the_body_begins() {
    let outline = outline("rust", "pub fn open(\n    path: &Path,\n) -> Result<Index, Error> {\n    todo()\n}\n");
    assert_eq!(outline.definitions[0].signature, "pub fn open( path: &Path, ) -> Result<Index, Error>");
}
