//! Merges a class or namespace that the file opens several times: each written member goes to the
//! block that contains it.

use super::overloads::{head, is_of_kind};
use super::place::{Place, same_name};
use super::{Job, MergeError};
use crate::heads::squeezed;
use crate::index::parts::{MODULE, Part, Sort};

impl<'a> Job<'a> {
    /// Whether these are blocks of one class, so that a new member may go into any of them.
    pub fn are_one(&self, places: &[Place<'a>]) -> bool {
        let [first, rest @ ..] = places else { return false };
        let may_reopen = match self.language {
            "ruby" => true,
            "cpp" | "csharp" => first.part.variant == MODULE || head(first.part, self.old).contains("partial"),
            "swift" => first.part.variant.starts_with("impl"),
            _ => false,
        };
        // Only one block of a Ruby class names its base.
        let plain = |place: &Place| {
            let head = head(place.part, self.old);
            if self.language == "ruby" { head.split('<').next().map(str::to_owned).unwrap_or(head) } else { head }
        };
        let path = |place: &Place| place.around.iter().map(|part| part.name.clone()).collect::<Vec<_>>();
        let is_alike = |other: &Place| plain(other) == plain(first) && path(other) == path(first);
        may_reopen && !rest.is_empty() && first.part.sort == Sort::Class && rest.iter().all(is_alike)
    }

    /// Merges the members of `new` into the blocks of its class.
    ///
    /// # Errors
    /// Several blocks have a written member.
    pub fn spread(&mut self, blocks: &[Place<'a>], new: &Part) -> Result<(), MergeError> {
        let mut groups: Vec<Vec<Part>> = vec![Vec::new(); blocks.len()];
        let mut fresh: Vec<&Part> = Vec::new();
        for member in &new.members {
            let holders: Vec<usize> =
                (0..blocks.len()).filter(|at| self.has_member(blocks[*at].part, member)).collect();
            match holders.as_slice() {
                [] => fresh.push(member),
                [one] => groups[*one].push(member.clone()),
                [..] if !member.is_definition() => {}
                many => {
                    let is_it = |old: &&'a Part| same_name(old, member) && is_of_kind(self.language, old, member);
                    let places = many.iter().filter_map(|at| {
                        let part = blocks[*at].part.members.iter().find(is_it)?;
                        Some(Place { part, around: vec![blocks[*at].part] })
                    });
                    return Err(self.ambiguous(member, &places.collect::<Vec<_>>()));
                }
            }
        }
        let hinted = |block: &Place| self.hints.line.is_some_and(|line| self.lines(block.part).contains(&line));
        let home = blocks.iter().position(hinted).or(groups.iter().position(|group| !group.is_empty()));
        groups[home.unwrap_or(blocks.len() - 1)].extend(fresh.into_iter().cloned());
        for (block, group) in blocks.iter().zip(groups).filter(|(_, group)| !group.is_empty()) {
            self.scope(Some(block.part), &block.part.members, &group)?;
        }
        Ok(())
    }

    /// Whether a block has the written member or, for a statement, an identical one.
    fn has_member(&self, block: &Part, new: &Part) -> bool {
        let shares = |old: &Part| old.names().iter().any(|name| new.names().contains(name));
        let is_it = |old: &Part| match new.is_definition() {
            true => old.is_definition() && same_name(old, new) && is_of_kind(self.language, old, new),
            false => squeezed(&self.old[old.core.clone()]) == squeezed(&self.new[new.core.clone()]),
        };
        block.members.iter().any(|old| is_it(old) || shares(old))
    }
}
