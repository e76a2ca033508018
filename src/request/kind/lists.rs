//! Unions of classes of words that determine the kind of a step, in the languages with a file of
//! words.

use crate::language::lexicon::Class;

/// Verbs that change or remove existing things.
pub(in crate::request) const CHANGES: (&[Class], &str) = (&[Class::Changes, Class::Renames, Class::Removes], "drop");
/// Words that create something.
pub(in crate::request) const MAKES: &[Class] =
    &[Class::Creates, Class::Writes, Class::Documents, Class::Adds, Class::Inserts, Class::Stores];

/// Words that ask for a change anywhere in a text.
pub(in crate::request) const ORDERS: &[Class] = &[Class::Orders, Class::Repairs, Class::Obliges];
/// Words of orders that only ask for a repair.
pub(in crate::request) const MENDING: (&[Class], &str) = (&[Class::Repairs, Class::Obliges], "make correct");

/// Verbs that remove.
pub(in crate::request) const REMOVE: (Class, &str) = (Class::Removes, "drop");
