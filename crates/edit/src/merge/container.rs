//! Merges parts into a container (a file, a class): existing parts are replaced, others added.

use super::overloads::{distinction, has_overloads, head, is_of_kind, last_of, shown_head};
use super::place::{Place, same_name};
use super::{Job, MergeError, Scope};
use crate::heads::squeezed;
use crate::index::is_queried;
use crate::index::parts::{Part, Sort};
use crate::omissions::has_marks;
use crate::text::{indent_at, line_of};

/// The destination of a written part.
#[derive(Clone, Debug)]
pub enum Target<'p> {
    /// It replaces this old part.
    Old(Place<'p>),
    /// Its members go into these blocks of one class.
    Blocks(Vec<Place<'p>>),
    /// Nowhere: it is written again further down, or is in the file already.
    Skip,
    /// It is added.
    New,
}

/// Export lists: names are only added to them, never removed.
const EXPORTS: &[&str] = &["module.exports", "export {}", "exports"];

impl<'a> Job<'a> {
    /// Merges `news` into `olds`, the parts of `scope`.
    pub fn scope(&mut self, scope: Option<&'a Part>, olds: &'a [Part], news: &[Part]) -> Result<(), MergeError> {
        let targets = self.targets(scope, olds, news)?;
        if scope.is_some() {
            self.import_all(scope, olds, news, None);
        }
        let mut late: Vec<&Part> = Vec::new();
        for (at, (target, new)) in targets.iter().zip(news).enumerate() {
            match (target, new.sort) {
                (_, Sort::Import) => {}
                (Target::Skip, _) => {
                    self.left_out.insert(new.core.start);
                }
                (Target::Old(place), _) => {
                    self.remark_place(scope, place, new);
                    self.put(place, new)?;
                }
                (Target::Blocks(places), _) => self.spread(places, new)?,
                // A new line like `private` goes below all other members.
                (Target::New, Sort::Statement) if !new.declares_several() => {
                    self.statement(scope, olds, (new, news))?
                }
                (Target::New, _) if self.lacks_section(scope, olds, new) => late.push(new),
                (Target::New, _) => self.add(scope, olds, new, self.user(olds, new, &targets[at + 1..]))?,
            }
        }
        for access in ["public", "protected", "private"] {
            for new in late.iter().filter(|new| new.access == access) {
                self.add(scope, olds, new, None)?;
            }
        }
        Ok(())
    }

    /// The first old function that was written below `new`: it may call `new`, which some languages
    /// then require above it.
    fn user(&self, olds: &'a [Part], new: &Part, behind: &[Target<'a>]) -> Option<&'a Part> {
        let is_here = |part: &&'a Part| olds.iter().any(|old| old.core == part.core);
        let of = |target: &Target<'a>| if let Target::Old(place) = target { Some(place.part) } else { None };
        let is_ordered = matches!(self.language, "c" | "cpp" | "lua") && new.sort == Sort::Function;
        behind.iter().filter(|_| is_ordered).filter_map(of).filter(|part| part.sort == Sort::Function).find(is_here)
    }

    /// Notes the class of a replaced definition that was written without one, and its old head, if
    /// overloads differ by it.
    fn remark_place(&mut self, scope: Scope, place: &Place, new: &Part) {
        if !is_queried(self.language) || !matches!(new.sort, Sort::Function | Sort::Value) {
            return self.remark_access(scope, place.part, new);
        }
        let name = &new.name;
        let line = || line_of(self.old, place.part.core.start);
        if scope.is_none() && self.hints.container.is_none() && place.is_member() && new.owner.is_none() {
            let around = place.container().map_or("a class", |container| container.name.as_str());
            self.remark(format!("`{name}` was replaced in `{around}`, at line {}", line()));
        }
        let is_function = new.sort == Sort::Function;
        if is_function && has_overloads(self.language) && !self.is_same_head(place.part, new) {
            self.remark(format!("`{name}` was `{}` at line {}", shown_head(place.part, self.old), line()));
        }
        if is_function {
            self.remark_declarations(place, new);
        }
        self.remark_access(scope, place.part, new);
    }

    /// Notes declarations of a C or C++ function that still have its old head.
    fn remark_declarations(&mut self, place: &Place, new: &Part) {
        let old = place.part;
        let is_function = old.body.is_some() && matches!(self.language, "c" | "cpp");
        let same = || head(old, self.old) == head(new, self.new);
        if !is_function || self.declared.contains(new.name.as_str()) || same() {
            return;
        }
        let of = |part: &Part| distinction(self.language, part, self.old);
        let is_it = |part: &Part| {
            part.variant == "declaration" && part.name == old.name && part.sort == old.sort && of(part) == of(old)
        };
        if let Some(declared) = self.places(is_it).first() {
            let line = line_of(self.old, declared.part.core.start);
            self.remark(format!("the declaration of `{}` at line {line} keeps its head", old.name));
        }
    }

    /// The target of each written part.
    fn targets(&self, scope: Scope<'a>, olds: &'a [Part], news: &[Part]) -> Result<Vec<Target<'a>>, MergeError> {
        let mut targets: Vec<Option<Target>> = vec![None; news.len()];
        for (at, new) in news.iter().enumerate() {
            if targets[at].is_some() {
                continue;
            }
            let queried = is_queried(self.language);
            if queried && let Some(target) = self.of_names(scope, olds, new)? {
                targets[at] = Some(target);
                continue;
            }
            if !new.is_definition() {
                targets[at] = Some(Target::New);
                continue;
            }
            let is_it = |old: &Part| old.is_definition() && same_name(old, new) && is_of_kind(self.language, old, new);
            let mut here: Vec<&'a Part> = olds.iter().filter(|old| is_it(old)).collect();
            if let (true, None, Some(name)) = (queried, scope, self.container_of(new)) {
                here.retain(|old| self.inside(scope, old).is_in(name));
            }
            if queried && new.sort == Sort::Class {
                let mut blocks: Vec<Place> = match scope {
                    Some(_) => here.iter().map(|part| self.inside(scope, part)).collect(),
                    None => self.places(is_it),
                };
                self.narrow(&mut blocks, |block| block.around.is_empty());
                if self.are_one(&blocks) {
                    targets[at] = Some(Target::Blocks(blocks));
                    continue;
                }
            }
            if here.is_empty()
                && scope.is_some()
                && let Some(target) = self.declared(scope, olds, new)
            {
                targets[at] = Some(target);
                continue;
            }
            if here.iter().any(|old| old.sort == new.sort) {
                here.retain(|old| old.sort == new.sort);
            }
            let is_again =
                |other: &Part| other.is_definition() && same_name(other, new) && is_of_kind(self.language, other, new);
            let mut again: Vec<usize> = (at..news.len()).filter(|i| is_again(&news[*i])).collect();
            if queried && new.sort == Sort::Class {
                // All written blocks of a class are merged.
                again = vec![at];
            }
            let inside = |part: &'a Part| Target::Old(self.inside(scope, part));
            let is_impl = new.variant.starts_with("impl");
            let is_overloaded = has_overloads(self.language) && new.sort == Sort::Function;
            let all: Vec<&Part> = again.iter().map(|at| &news[*at]).collect();
            targets[at] = Some(match (here.as_slice(), again.as_slice()) {
                ([_, ..], _) if is_impl => inside(self.matching_impl(&here, news, at)),
                ([], _) | ([_], [_]) if scope.is_none() => {
                    if again.len() > 1 && new.variant.is_empty() && new.sort != Sort::Test && !is_overloaded {
                        // If written more than once, the last one counts.
                        self.refuse_repeated(news, &again)?;
                        Target::Skip
                    } else {
                        self.meant(new, &all)?.map_or(Target::New, Target::Old)
                    }
                }
                ([], _) => Target::New,
                ([one], [_]) if queried => {
                    self.only_one(self.inside(scope, one), new, &all)?.map_or(Target::New, Target::Old)
                }
                ([one], [_]) => inside(one),
                _ => {
                    for (i, target) in self.paired(scope, &here, news, &again)? {
                        targets[i] = Some(target);
                    }
                    continue;
                }
            });
        }
        Ok(targets.into_iter().map(|target| target.unwrap_or(Target::Skip)).collect())
    }

    /// The place of a part of `scope`.
    fn inside(&self, scope: Scope<'a>, part: &'a Part) -> Place<'a> {
        Place { part, around: scope.into_iter().collect() }
    }

    /// Refuses several differing definitions with the same name, in languages where none of them is
    /// known to be the final one.
    fn refuse_repeated(&self, news: &[Part], again: &[usize]) -> Result<(), MergeError> {
        let texts: Vec<String> = again.iter().map(|at| squeezed(&self.new[news[*at].core.clone()])).collect();
        match is_queried(self.language) && texts.iter().any(|text| *text != texts[0]) {
            true => Err(MergeError::Repeated { name: news[again[0]].name.clone(), times: again.len() }),
            false => Ok(()),
        }
    }

    /// The target of a function that a class declares in one text and defines in the other, as is
    /// possible in C++.
    pub fn declared(&self, scope: Scope<'a>, olds: &'a [Part], new: &Part) -> Option<Target<'a>> {
        let is_other = |old: &&'a Part| {
            let [one, other] = [&old.variant, &new.variant].map(|variant| variant == "declaration");
            old.name == new.name && old.sort == new.sort && one != other
        };
        let same = |old: &&'a Part| self.is_same_head(old, new);
        let part = olds.iter().filter(is_other).find(same)?;
        // A class shown in short form has no bodies, and none may be lost.
        let is_short = new.variant == "declaration";
        Some(if is_short { Target::Skip } else { Target::Old(Place { part, around: scope.into_iter().collect() }) })
    }

    /// Targets of parts with the same name, if there are several in the file or in the written
    /// code. Equal parts are paired first, the others by order or by the hinted line.
    fn paired(
        &self,
        scope: Scope<'a>,
        olds: &[&'a Part],
        news: &[Part],
        again: &[usize],
    ) -> Result<Vec<(usize, Target<'a>)>, MergeError> {
        let inside = |part: &'a Part| Target::Old(self.inside(scope, part));
        let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let (mut left, mut found, mut open): (Vec<&'a Part>, Vec<_>, Vec<usize>) =
            (olds.to_vec(), Vec::new(), Vec::new());
        for at in again {
            let text = plain(&with_attributes(&news[*at], self.new));
            let is_same = |old: &&Part| plain(&with_attributes(old, self.old)) == text;
            match left.iter().position(&is_same) {
                Some(same) => found.push((*at, inside(left.remove(same)))),
                None if olds.iter().any(is_same) => found.push((*at, Target::Skip)),
                None => open.push(*at),
            }
        }
        let is_overloaded = has_overloads(self.language) && olds.iter().all(|old| old.sort == Sort::Function);
        if is_overloaded {
            open.retain(|at| {
                let same = left.iter().position(|old| self.is_same_head(old, &news[*at]));
                found.extend(same.map(|same| (*at, inside(left.remove(same)))));
                same.is_none()
            });
        } else if open.len() == left.len() {
            found.extend(open.iter().zip(left).map(|(at, old)| (*at, inside(old))));
            return Ok(found);
        }
        if self.hints.is_overload && is_overloaded {
            found.extend(open.iter().map(|at| (*at, Target::New)));
            return Ok(found);
        }
        let Some((last, earlier)) = open.split_last() else { return Ok(found) };
        if !is_overloaded && open.len() > 1 {
            self.refuse_repeated(news, &open)?;
        }
        let is_many = !news[*last].variant.is_empty() || news[*last].sort == Sort::Test || is_overloaded;
        found.extend(earlier.iter().map(|at| (*at, if is_many { Target::New } else { Target::Skip })));
        let hinted = self.hints.line.and_then(|line| left.iter().position(|old| self.lines(old).contains(&line)));
        let target = match (left.as_slice(), hinted) {
            ([one], _) if !is_overloaded => inside(one),
            (_, Some(at)) => inside(left[at]),
            ([], _) if is_many => Target::New,
            ([], _) => Target::Skip,
            (many, None) => {
                // Overloads with written heads count too.
                let many = if is_overloaded { olds } else { many };
                let places: Vec<Place> = many.iter().map(|part| self.inside(scope, part)).collect();
                return Err(self.ambiguous(&news[*last], &places));
            }
        };
        found.push((*last, target));
        Ok(found)
    }

    /// The lines of an old part, with its comments and attributes.
    pub fn lines(&self, old: &Part) -> std::ops::RangeInclusive<usize> {
        let whole = old.whole();
        line_of(self.old, whole.start)..=line_of(self.old, whole.end)
    }

    /// Replaces an old part with a written one, or merges their members.
    fn put(&mut self, place: &Place<'a>, new: &Part) -> Result<(), MergeError> {
        let old = place.part;
        let scope = place.around.iter().rev().copied().find(|part| part.is_definition());
        if new.variant.starts_with("impl") {
            return self.merge_impl(place, new);
        }
        let is_type = |part: &Part| matches!(part.sort, Sort::Class | Sort::Record);
        match (old.sort, new.sort) {
            (Sort::Class, Sort::Class) => self.members(scope, old, new),
            // A class may become a struct and keep its members.
            (was, now) if was != now && is_queried(self.language) && is_type(old) && is_type(new) => {
                self.members(scope, old, new)
            }
            (Sort::Record, Sort::Record) if self.keeps_entries(old, new) => self.members(scope, old, new),
            _ => self.replace(scope, old, new),
        }
    }

    /// Whether entries missing from the written list are kept: it is an export list, has a mark, or
    /// contains all old entries, or the old list contains functions.
    fn keeps_entries(&self, old: &Part, new: &Part) -> bool {
        let body = new.body.clone().map_or("", |body| &self.new[body]);
        let has_functions = old.members.iter().any(|member| member.sort == Sort::Function);
        let has_all = !old.members.is_empty()
            && old
                .members
                .iter()
                .all(|member| member.is_definition() && new.members.iter().any(|other| same_name(member, other)));
        // A member was named, so the others were left out.
        let is_around =
            is_queried(self.language) && self.hints.container.as_deref().map(last_of) == Some(old.name.as_str());
        old.body.is_some()
            && new.body.is_some()
            && (is_around
                || EXPORTS.contains(&old.name.as_str())
                || has_marks(body, self.old)
                || has_functions
                || has_all)
    }

    /// Merges the head, the docstring and the members of a class or record.
    fn members(&mut self, scope: Scope, old: &'a Part, new: &Part) -> Result<(), MergeError> {
        if is_queried(self.language) && old.body.is_none() {
            return self.give_body(scope, old, new);
        }
        self.header(scope, old, new);
        if self.docstring(old, new) {
            self.note(&old.name, None);
        }
        self.scope(Some(old), &old.members, &new.members)
    }

    /// Replaces the head of a class if the new one has more detail. In a language that a query
    /// describes, it does if it has a word that the old one lacks, and a kept head is noted.
    fn header(&mut self, scope: Scope, old: &Part, new: &Part) {
        let Some(old_body) = &old.body else { return };
        let queried = is_queried(self.language);
        let new_end = match &new.body {
            Some(body) => body.start,
            None if queried => new.core.end,
            None => return,
        };
        let was = self.old[old.core.start..old_body.start].to_owned();
        let base = indent_at(self.old, old.core.start).to_owned();
        let now = self.piece(new.core.start..new_end, &base);
        let core = if queried { self.other_head(old, &was, now) } else { self.fuller_head(old, &was, now) };
        let header = Part { core: old.core.start..old_body.start, ..old.clone() };
        if self.put_below_lead(&header, new, core, &base) {
            self.note(&old.name, scope);
        }
    }

    /// The new head if it has all words of the old one and more, else the old one.
    fn fuller_head(&self, old: &Part, was: &str, now: String) -> String {
        let now = super::modifiers::with_modifiers(self.language, was, now);
        let (was_words, now_words) = (words(was), words(&now));
        let says_more = was_words.iter().all(|word| now_words.contains(word)) && was_words.len() < now_words.len();
        let is_class = old.sort == Sort::Class && old.variant.is_empty();
        if says_more && is_class { now } else { was.to_owned() }
    }

    /// The new head if it has any word that the old one lacks, else the old one.
    fn other_head(&mut self, old: &Part, was: &str, now: String) -> String {
        let ends = |c: char| c.is_whitespace() || "{:;".contains(c);
        let now = self.led(&old.name, was, now);
        let (old_head, new_head) = (was.trim_end_matches(ends), now.trim_end_matches(ends));
        if squeezed(old_head) == squeezed(new_head) {
            return was.to_owned();
        }
        let (shown, name) = (old_head.split_whitespace().collect::<Vec<_>>().join(" "), &old.name);
        let was_words = words(old_head);
        if words(new_head).iter().all(|word| was_words.contains(word)) {
            self.remark(format!("`{name}` keeps its head `{shown}`"));
            return was.to_owned();
        }
        self.remark(format!("the head of `{name}` was `{shown}`"));
        new_head.to_owned() + &was[old_head.len()..]
    }

    /// Replaces a class that does not have a body yet.
    fn give_body(&mut self, scope: Scope, old: &'a Part, new: &Part) -> Result<(), MergeError> {
        let was = self.old[old.core.clone()].trim_end_matches(';').to_owned();
        let (Some(body), base) = (&new.body, indent_at(self.old, old.core.start).to_owned()) else {
            return self.replace(scope, old, new);
        };
        let brace = self.new[..body.start].ends_with('{').then(|| body.start - 1);
        let Some(brace) = brace else { return self.replace(scope, old, new) };
        let now = self.piece(new.core.start..brace, &base);
        let head = self.other_head(old, &was, now);
        let core = format!("{} {}", head.trim_end(), self.piece(brace..new.core.end, &base));
        if self.put_below_lead(old, new, core, &base) {
            self.note(&old.name, scope);
        }
        Ok(())
    }

    /// Adds or replaces the docstring of a definition; false if nothing changes.
    pub fn docstring(&mut self, old: &Part, new: &Part) -> bool {
        let Some(range) = new.docstring.clone() else { return false };
        let base = indent_at(self.old, old.core.start).to_owned() + &self.unit.text();
        let text = self.piece(range, &base);
        match (&old.docstring, &old.body) {
            (Some(doc), _) => self.edit(doc.clone(), text),
            (None, Some(body)) if self.old[body.clone()].starts_with('\n') => {
                self.edit(body.start..body.start, format!("\n{base}{text}"))
            }
            _ => false,
        }
    }

    /// The old `impl` block that `news[at]` stands for: the one with the same head or, if there are
    /// several, the one at the same position.
    fn matching_impl(&self, blocks: &[&'a Part], news: &[Part], at: usize) -> &'a Part {
        let line = head(&news[at], self.new);
        let same: Vec<&'a Part> = blocks.iter().copied().filter(|block| head(block, self.old) == line).collect();
        let same = if same.is_empty() { blocks.to_vec() } else { same };
        let is_alike = |new: &&Part| same_name(new, &news[at]) && head(new, self.new) == line;
        let (earlier, all) = (news[..at].iter().filter(is_alike).count(), news.iter().filter(is_alike).count());
        same[if all == same.len() { earlier } else { 0 }]
    }

    /// Merges a written `impl` into one block of its type: one that contains a written member, else
    /// the hinted one.
    fn merge_impl(&mut self, place: &Place<'a>, new: &Part) -> Result<(), MergeError> {
        let beside: &'a [Part] = place.around.last().map_or(self.old_items, |part| part.members.as_slice());
        let line = head(place.part, self.old);
        // An `impl` with other type arguments is a different one.
        let is_exact = line == head(new, self.new);
        let others = beside.iter().filter(|part| part.sort == Sort::Class && same_name(part, new));
        let others = others.filter(|other| !is_exact || head(other, self.old) == line);
        let blocks: Vec<&'a Part> = std::iter::once(place.part).chain(others).collect();
        let has_member =
            |block: &Part| block.members.iter().any(|own| new.members.iter().any(|member| same_name(own, member)));
        let hint = self.hints.line.unwrap_or(0);
        let known = blocks.iter().copied().find(|block| has_member(block));
        let hinted = blocks.iter().copied().find(|block| self.lines(block).contains(&hint));
        let block = known.or(hinted).unwrap_or(place.part);
        self.scope(Some(block), &block.members, &new.members)
    }
}

/// The words and names in a text.
pub fn words(text: &str) -> Vec<&str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty()).collect()
}

/// The text of a part with its attributes and without its comments.
fn with_attributes(part: &Part, text: &str) -> String {
    part.attributes.iter().chain([&part.core]).map(|range| &text[range.clone()]).collect()
}
