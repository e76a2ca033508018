//! Tests of calls in TypeScript and JavaScript through aliases and by types.

use super::{check, edges};

#[test]
fn calls_through_an_alias_are_resolved() {
    check(
        &[
            (
                "lib.ts",
                "function fn() {}\nexport const a = fn;\nexport { fn as b };\nexport default fn;\nexport const o = { go: fn };\n",
            ),
            (
                "use.ts",
                "import d, { a, b, o } from './lib';\nimport * as all from './lib';\nfunction f() { a(); }\nfunction g() { b(); }\n\
                 function h() { d(); }\nfunction i() { o.go(); }\nfunction j() { const x = a; x(); }\nfunction k() { const { b: y } = all; y(); }\n",
            ),
        ],
        &[
            "use:f -> lib:fn 0.95",
            "use:g -> lib:fn 0.95",
            "use:h -> lib:fn 0.95",
            "use:i -> lib:fn 0.9",
            "use:j -> lib:fn 0.9",
            "use:k -> lib:fn 0.9",
        ],
    );
}

#[test]
fn receivers_are_known_by_annotation_new_result_and_field() {
    check(
        &[
            (
                "dog.ts",
                "export class Dog { bark() {} }\nexport function adopt(): Dog { return new Dog(); }\nexport const made = () => new Dog();\n",
            ),
            ("wolf.ts", "class Wolf { bark() {} }\n"),
            (
                "a.ts",
                "import { Dog, adopt, made } from './dog';\n\
                 class Home { dog: Dog; constructor(private other: Dog) {} f() { this.dog.bark(); } g() { this.other.bark(); } }\n\
                 function h(dog: Dog) { dog.bark(); }\nfunction i() { const d = new Dog(); d.bark(); }\nfunction j() { adopt().bark(); }\n\
                 function k(all: Dog[]) { for (const d of all) d.bark(); all.map((x) => x.bark()); }\nfunction l() { made().bark(); }\n\
                 async function m(p: Promise<Dog>) { (await p).bark(); }\nfunction n(x: unknown) { if (x instanceof Dog) { x.bark(); } }\n",
            ),
        ],
        &[
            "dog:adopt -> dog:Dog 1",
            "dog:made -> dog:Dog 1",
            "a:Home.f -> dog:Dog.bark 0.95",
            "a:Home.g -> dog:Dog.bark 0.95",
            "a:h -> dog:Dog.bark 0.95",
            "a:i -> dog:Dog 0.95",
            "a:i -> dog:Dog.bark 0.95",
            "a:j -> dog:Dog.bark 0.95",
            "a:j -> dog:adopt 0.95",
            "a:k -> dog:Dog.bark 0.95",
            "a:k -> dog:Dog.bark 0.95",
            "a:l -> dog:Dog.bark 0.95",
            "a:l -> dog:made 0.95",
            "a:m -> dog:Dog.bark 0.95",
            "a:n -> dog:Dog.bark 0.95",
            "a:k ? map",
        ],
    );
}

#[test]
fn callback_parameters_get_their_types_from_the_expected_function() {
    check(
        &[
            (
                "core.ts",
                "export interface Maker<T> { new (): T; init(inst: T): void }\nexport function make<T>(f: (inst: T) => void): Maker<T> { return f as any; }\n",
            ),
            (
                "a.ts",
                "import * as core from './core';\ninterface Base { check(): this }\ninterface Text extends Base { min(): this }\n\
                 export const Text: core.Maker<Text> = core.make((inst) => { inst.check(); });\n\
                 function f() { Text.init(null); new Text().min().check(); }\n",
            ),
        ],
        &[
            "a:Text -> a:Base 1",
            "a:Text -> core:make 0.95",
            "a:Text -> a:Base.check 0.95",
            "a:f -> core:Maker.init 0.95",
            "a:f -> a:Base.check 0.95",
            "a:f -> a:Text.min 0.95",
            "a:f -> a:Text 1",
        ],
    );
}

#[test]
fn each_function_of_an_exported_object_is_exported() {
    check(
        &[
            ("cart.js", "function total() {}\nfunction sum() {}\nmodule.exports = { total, 'plus': sum };\n"),
            (
                "a.js",
                "const { total, plus } = require('./cart');\nconst cart = require('./cart');\nfunction f() { total(); plus(); cart.total(); }\n",
            ),
        ],
        &["a:f -> cart:total 0.95", "a:f -> cart:sum 0.95", "a:f -> cart:total 0.95"],
    );
}

#[test]
fn a_type_from_outside_is_never_guessed() {
    check(
        &[
            (
                "a.ts",
                "import { Foreign } from 'foreign';\nfunction f(x: Foreign, s: string) { x.distinctive(); s.distinctive(); }\n",
            ),
            ("b.ts", "class B { distinctive() {} }\n"),
        ],
        &["a.ts ? foreign", "a:f ? distinctive", "a:f ? distinctive"],
    );
}

#[test]
fn super_calls_the_base_class_and_this_in_a_callback_is_the_class() {
    check(
        &[
            ("base.ts", "export class Base {}\n"),
            (
                "a.ts",
                "import { Base } from './base';\nclass A extends Base { constructor() { super(); } #go() {} run() { use({ done: () => { this.#go(); } }); } }\n",
            ),
        ],
        &["a:A -> base:Base 0.95", "a:A.constructor -> base:Base 0.95", "a:run.done -> a:A.#go 0.95", "a:A.run ? use"],
    );
}

/// Asserts that these functions in `source` call a `Boat`'s `sail`, although kites have one too.
fn sails(source: &str, callers: &str) {
    let boat = "export class Boat { sail() {} crew: Boat[]; by: Map<string, Boat>; twin(): this { return this; } }\n\
                export class Raft extends Boat { drift() {} }\n";
    let source = format!("import {{ Boat, Raft }} from './boat';\n{source}");
    let found = edges(&[("boat.ts", boat), ("kite.ts", "class Kite { sail() {} }\n"), ("a.ts", &source)]);
    for caller in callers.split(' ') {
        let call = format!("a:{caller} -> boat:Boat.sail 0.95");
        assert!(found.contains(&call), "{call} is not in {found:#?}");
    }
}

#[test]
fn items_of_lists_tables_and_promises_have_their_types() {
    sails(
        "function a(all: Boat[]) { all.filter((x) => x).find(() => true).sail(); }\n\
         function b(all: Map<string, Boat>) { all.get('x').sail(); }\n\
         function c(all: Record<string, Boat>) { all.first.sail(); }\n\
         function d(all: Set<Boat>) { for (const one of all) { one.sail(); } }\n\
         function e(later: Promise<Boat>) { later.then((one) => one.sail()); }\n\
         function f(pair: [Boat, string]) { pair[0].sail(); }\n\
         function g(boat: Boat) { boat.crew.forEach((one) => { one.sail(); }); }\n\
         function h(boat: Boat) { boat.by.get('x').twin().sail(); }\n\
         async function i(load: () => Promise<Boat[]>) { (await load())[0].sail(); }\n",
        "a b c d e f g h i",
    );
}

#[test]
fn types_are_followed_through_aliases_unions_and_inheritance() {
    sails(
        "type Craft = Boat | undefined;\ntype Dock = { berth: { boat: Boat }; pull(): Boat };\n\
         function a(craft: Craft) { craft?.sail(); }\n\
         function b(dock: Dock) { dock.berth.boat.sail(); }\n\
         function c(dock: Dock) { dock.pull().sail(); }\n\
         function d(boat: Dock['berth']) { boat.boat.sail(); }\n\
         function e(raft: Raft) { raft.sail(); }\n\
         function f(x: any) { (x as Boat).sail(); }\n\
         function g(one: Boat, yes: boolean) { const it = yes ? one : null; it.sail(); }\n\
         function h() { const dock = { boat: new Raft() }; dock.boat.sail(); }\n",
        "a b c d e f g h",
    );
}

#[test]
fn type_parameters_stand_for_their_arguments_bounds_and_defaults() {
    sails(
        "class Box<T> { constructor(private held: T) {} open(): T { return this.held; } }\n\
         interface Slot<T = Boat> { take(): T }\n\
         function same<T>(x: T): T { return x; }\n\
         function a(box: Box<Boat>) { box.open().sail(); }\n\
         function b(boat: Boat) { new Box(boat).open().sail(); }\n\
         function c(slot: Slot) { slot.take().sail(); }\n\
         function d<T extends Boat>(x: T) { x.sail(); }\n\
         function e(boat: Boat) { same(boat).sail(); }\n",
        "a b c d e",
    );
}
