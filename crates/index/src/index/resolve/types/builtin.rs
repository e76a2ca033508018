//! Built-in types, globals and methods of JavaScript: lists, tables, promises.

use std::rc::Rc;

use super::{Look, Ty, found};
use crate::base::is_listed;

/// Types that contain items of one type.
const LISTS: &str = "\
    Array ReadonlyArray Set ReadonlySet Iterable IterableIterator Generator AsyncIterable AsyncGenerator \
    AsyncIterableIterator Iterator AsyncIterator";

/// The type for a name that the project does not declare.
pub(super) fn named<'a>(name: &str, arguments: &[Ty<'a>]) -> Ty<'a> {
    let argument = |at: usize| arguments.get(at).cloned().unwrap_or(Ty::Unknown);
    match name {
        _ if is_listed(LISTS, name) => Ty::List(Rc::new(argument(0))),
        "Map" | "ReadonlyMap" | "WeakMap" | "Record" => Ty::Table(Rc::new(argument(1))),
        "Promise" | "PromiseLike" => Ty::Promise(Rc::new(argument(0))),
        "Partial" | "Required" | "Readonly" | "Omit" | "Pick" | "NonNullable" | "Exclude" | "Extract" | "NoInfer"
        | "Awaited" | "ThisType" | "WeakRef" => match (name, argument(0)) {
            ("Awaited", Ty::Promise(of)) => (*of).clone(),
            (_, ty) => ty,
        },
        "ReturnType" | "InstanceType" | "Parameters" | "ConstructorParameters" | "Function" | "any" => Ty::Unknown,
        _ => Ty::Outside,
    }
}

/// The type of a global that every script has; `None` for an unknown name.
pub(super) fn global<'a>(name: &str) -> Option<Ty<'a>> {
    const KNOWN: &str = "\
        Array BigInt Boolean Buffer Date Error Intl JSON Map Math Number Object Promise Proxy Reflect RegExp Set \
        String Symbol TypeError URL WeakMap WeakSet console document globalThis navigator process window";
    is_listed(KNOWN, name).then_some(Ty::Outside)
}

/// A member of a list or table with such items.
pub(super) fn method<'a>(name: &str, item: Rc<Ty<'a>>, of: &Ty<'a>) -> Look<'a> {
    match name {
        "find" | "findLast" | "pop" | "shift" | "at" | "get" => found(Ty::Builtin("item", item)),
        "filter" | "slice" | "concat" | "sort" | "reverse" | "splice" | "values" | "toSorted" | "toReversed"
        | "set" | "add" | "flat" => match (name, of) {
            ("values", Ty::Table(item)) => found(Ty::Builtin("same", Rc::new(Ty::List(item.clone())))),
            _ => found(Ty::Builtin("same", Rc::new(of.clone()))),
        },
        "map" | "flatMap" => found(Ty::Builtin("map", item)),
        "forEach" | "some" | "every" | "findIndex" | "findLastIndex" => found(Ty::Builtin("each", item)),
        "reduce" | "reduceRight" => found(Ty::Builtin("reduce", item)),
        "entries" | "keys" => Look::Unknown,
        _ => match of {
            // Any name can be read from a `Record<string, T>`.
            Ty::Table(item) if !matches!(name, "has" | "delete" | "clear" | "size") => found((**item).clone()),
            _ => Look::Outside,
        },
    }
}
