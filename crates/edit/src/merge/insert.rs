//! Adds new parts to a file next to similar ones, using the file's spacing.

use super::container::Target;
use super::overloads::last_of;
use super::place::{Place, is_module};
use super::{Job, MergeError, Scope};
use crate::index::is_queried;
use crate::index::parts::{NAME, Part, Sort};
use crate::text::{indent_at, line_end, line_of, line_start};

/// Where a part is inserted.
#[derive(Clone, Copy, Debug)]
pub enum Anchor<'p> {
    After(&'p Part),
    Before(&'p Part),
    /// At the top of the container's body.
    Top,
    /// At the end of the file.
    End,
}

/// Names of constructors, which come first in a class.
const CONSTRUCTORS: &[&str] = &["__init__", "constructor", "new"];

impl<'a> Job<'a> {
    /// Adds `new` to `scope`, none of whose existing parts (`olds`) is the same item; before its
    /// `user`, if any.
    pub fn add(
        &mut self,
        scope: Option<&'a Part>,
        olds: &'a [Part],
        new: &Part,
        user: Option<&'a Part>,
    ) -> Result<(), MergeError> {
        if scope.is_none() {
            self.refuse_other_head(new)?;
        }
        let home = if scope.is_none() { self.home(new)? } else { None };
        let (scope, olds) = home.map_or((scope, olds), |home| (Some(home), home.members.as_slice()));
        if home.is_some()
            && let Some(target) = self.declared(scope, olds, new)
        {
            return match target {
                Target::Old(place) => self.replace(scope, place.part, new),
                _ => Ok(()),
            };
        }
        let value = new.declares_several().then(|| Job::as_value(new));
        let new = value.as_ref().unwrap_or(new);
        let user = user.filter(|_| home.is_none()).map(Anchor::Before);
        let anchor = user.unwrap_or_else(|| self.anchor(scope, olds, new));
        self.insert(scope, olds, new, anchor);
        Ok(())
    }

    /// The container for a part written outside any container; `None` for the top level of the
    /// file.
    pub fn home(&mut self, new: &Part) -> Result<Option<&'a Part>, MergeError> {
        let places = self.places(|part| part.body.is_some() && matches!(part.sort, Sort::Class | Sort::Record));
        let mut all: Vec<&'a Part> = places.iter().map(|place| place.part).collect();
        if self.language == "rust" {
            all.retain(|part| part.sort == Sort::Class);
        }
        let queried = is_queried(self.language);
        // Beside methods written outside their class, such as `int A::f()`, functions are not
        // members.
        let container = self.container_of(new);
        let container = container.filter(|name| !queried || !self.owners.contains(last_of(name)));
        let hinted = match container {
            Some(name) if queried => self.hinted(&places, name, new)?,
            name => {
                let mut hinted = all.iter().copied().filter(|part| Some(part.name.as_str()) == name);
                hinted.clone().find(|part| part.variant == "impl").or(hinted.next())
            }
        };
        let text = &self.new[new.core.clone()];
        let is_static = new.attributes.iter().any(|range| self.new[range.clone()].contains("staticmethod"));
        let belongs = match self.language {
            "go" => return Ok(None),
            "rust" => {
                new.has_receiver
                    || hinted.is_some() && (text.contains("Self") || CONSTRUCTORS.contains(&new.name.as_str()))
            }
            "python" => new.has_receiver || is_static,
            _ if queried => new.owner.is_none() && (new.has_receiver || hinted.is_some()),
            _ => new.has_receiver,
        };
        if let Some(name) = container.filter(|_| queried && hinted.is_none() && new.owner.is_none()) {
            let mut containers: Vec<String> = all.iter().map(|part| part.name.clone()).collect();
            containers.insert(0, format!("there is no `{name}` with a body"));
            return Err(MergeError::NoContainer { name: new.name.clone(), containers });
        }
        if let Some(module) = hinted.filter(|part| is_module(part)) {
            return Ok(Some(module));
        }
        if !belongs {
            let around_all = || self.module_around_all().filter(|_| queried);
            return Ok(self.test_home(new, &all).or_else(around_all));
        }
        let of_sort = |sort: Sort| all.iter().copied().filter(move |part| !is_module(part) && part.sort == sort);
        let mut kinds: Vec<&'a Part> = of_sort(Sort::Class).collect();
        if queried {
            kinds.extend(of_sort(Sort::Record));
        }
        let found = hinted.or_else(|| self.class_near(&kinds));
        match (found, kinds.as_slice()) {
            (Some(found), _) => Ok(Some(found)),
            // A C# file may have functions outside classes.
            (None, []) if queried && self.language != "csharp" => {
                let containers = vec!["the file has no class".to_owned()];
                Err(MergeError::NoContainer { name: new.name.clone(), containers })
            }
            (None, []) => Ok(None),
            (None, [one]) => Ok(Some(one)),
            (None, many) => {
                let names = || many.iter().map(|part| part.name.clone());
                let inherent: Vec<&&'a Part> = many.iter().filter(|part| part.variant == "impl").collect();
                match (inherent.as_slice(), new.is_test) {
                    ([one], _) => Ok(Some(one)),
                    (_, true) => Ok(many.iter().rev().copied().find(|part| part.members.iter().any(|m| m.is_test))),
                    _ => Err(MergeError::NoContainer { name: new.name.clone(), containers: names().collect() }),
                }
            }
        }
    }

    /// The class with that name, chosen by its path if several have the name, or by the hinted
    /// line.
    ///
    /// # Errors
    /// Several classes have that name.
    fn hinted(&mut self, places: &[Place<'a>], path: &str, new: &Part) -> Result<Option<&'a Part>, MergeError> {
        let is_it = |place: &&Place| last_of(&place.part.name) == last_of(path);
        let mut found: Vec<Place> = places.iter().filter(is_it).cloned().collect();
        let outer: Vec<&str> = path.split(['.', ':', '\\']).filter(|name| !name.is_empty()).rev().skip(1).collect();
        self.narrow(&mut found, |place| {
            outer.iter().all(|name| place.around.iter().any(|part| last_of(&part.name) == *name))
        });
        if let Some(line) = self.hints.line {
            self.narrow(&mut found, |place| self.lines(place.part).contains(&line));
        }
        // The class itself precedes its object and its extensions.
        self.narrow(&mut found, |place| place.part.variant.is_empty());
        match found.as_slice() {
            [] => Ok(None),
            [one] => Ok(Some(one.part)),
            many if self.are_one(many) => {
                let has_alike = |block: &&Place| block.part.members.iter().any(|old| old.sort == new.sort);
                Ok(many.iter().find(has_alike).or(many.last()).map(|block| block.part))
            }
            many => Err(self.ambiguous(&Part { name: last_of(path).to_owned(), ..new.clone() }, many)),
        }
    }

    /// The innermost namespace or module that contains everything that the file defines.
    fn module_around_all(&self) -> Option<&'a Part> {
        let only = |items: &'a [Part]| {
            let mut all = items.iter().filter(|part| part.sort != Sort::Import && part.sort != Sort::Statement);
            all.next().filter(|part| is_module(part) && part.body.is_some() && all.next().is_none())
        };
        std::iter::successors(only(self.old_items), |module| only(&module.members)).last()
    }

    /// The class of the hinted definition or line.
    fn class_near(&self, classes: &[&'a Part]) -> Option<&'a Part> {
        let holds = |name: &str| classes.iter().copied().find(|class| class.members.iter().any(|m| m.name == name));
        let lines = |class: &Part| line_of(self.old, class.core.start)..=line_of(self.old, class.core.end);
        let at = |line: usize| classes.iter().copied().find(|class| lines(class).contains(&line));
        self.hints.after.as_deref().and_then(holds).or_else(|| self.hints.line.and_then(at))
    }

    /// The module of the file's tests, for a new test; `None` if tests are at the top level.
    fn test_home(&self, new: &Part, all: &[&'a Part]) -> Option<&'a Part> {
        if !new.is_test || self.language == "python" {
            return None;
        }
        let at_top = self.old_items.iter().any(|part| part.is_test);
        let is_home = |part: &&'a Part| is_module(part) && (self.language != "rust" || part.name.contains("test"));
        let is_top = |part: &&'a Part| self.old_items.iter().any(|item| item.core == part.core);
        all.iter().copied().filter(|_| !at_top).filter(is_home).rev().find(is_top)
    }

    /// The place of a new part: after the hinted definition, else by its kind.
    fn anchor(&self, scope: Scope, olds: &'a [Part], new: &Part) -> Anchor<'a> {
        let fits = |old: &Part| old.is_test == new.is_test && (old.sort == new.sort || is_block(old) && is_block(new));
        let named = self.hints.after.as_deref().and_then(|name| {
            let holds =
                |old: &&'a Part| old.name == name || scope.is_none() && old.members.iter().any(|m| m.name == name);
            olds.iter().rev().find(holds).filter(|old| fits(old) && (new.is_test || !is_module(old)))
        });
        match (named, scope) {
            (Some(part), _) => Anchor::After(part),
            (None, Some(scope)) => self.anchor_inside(scope, olds, new),
            (None, None) => self.anchor_at_top(olds, new),
        }
    }

    /// The place of a new part in a class or record, by its kind.
    fn anchor_inside(&self, scope: &Part, olds: &'a [Part], new: &Part) -> Anchor<'a> {
        if let Some(anchor) = self.anchor_in_section(scope, olds, new) {
            return anchor;
        }
        let is_hidden = |old: &Part| matches!(old.access, "private" | "protected");
        let hidden = olds.iter().find(|old| is_hidden(old));
        // Not below a `private` line, since it was not written there.
        let has_open = olds.iter().any(|old| !is_hidden(old) && old.sort == new.sort);
        if let Some(hidden) = hidden.filter(|_| new.sort == Sort::Function && !has_open) {
            return Anchor::Before(hidden);
        }
        let last = |sort: Sort| {
            let is_it =
                |old: &&Part| old.sort == sort && old.is_definition() || sort == Sort::Value && old.declares_several();
            let mut all = olds.iter().rev().filter(is_it);
            all.clone().find(|old| !is_hidden(old)).or_else(|| all.next())
        };
        let first_function = olds.iter().find(|old| old.sort == Sort::Function);
        if let Some(first) =
            first_function.filter(|_| CONSTRUCTORS.contains(&new.name.as_str()) && new.sort == Sort::Function)
        {
            return Anchor::Before(first);
        }
        let anchor = match new.sort {
            Sort::Value if scope.sort == Sort::Class => last(Sort::Value),
            Sort::Value if is_queried(self.language) => last(Sort::Value).or(olds.last()),
            Sort::Value => olds.last(),
            sort => last(sort).or(olds.iter().rev().find(|old| old.is_definition() || !is_idle(old, self.old))),
        };
        anchor.filter(|part| !is_idle(part, self.old)).map_or(Anchor::Top, Anchor::After)
    }

    /// The place of a new part at the top level of the file, by its kind.
    fn anchor_at_top(&self, olds: &'a [Part], new: &Part) -> Anchor<'a> {
        let is_export = |old: &Part| old.name.contains("exports") || old.name == "export {}";
        let usable = |old: &&'a Part| old.is_definition() && !is_export(old) && !is_module(old);
        let relative =
            olds.iter().rev().filter(usable).find(|old| match (&new.owner, new.variant.starts_with("impl")) {
                (Some(owner), _) => old.owner.as_ref() == Some(owner) || old.name == *owner,
                (None, true) => old.name == new.name,
                (None, false) => false,
            });
        if let Some(relative) = relative {
            return Anchor::After(relative);
        }
        let first_block = olds.iter().position(|old| usable(&old) && is_block(old)).unwrap_or(olds.len());
        let found = match new.sort {
            Sort::Value => {
                let values = olds[..first_block].iter().rev();
                let above = values.clone().find(|old| usable(old) && old.sort == Sort::Value);
                above.or(values.clone().find(|old| old.sort == Sort::Import))
            }
            _ => {
                let same = |old: &&'a Part| usable(old) && old.is_test == new.is_test;
                let exact = olds.iter().rev().filter(same).find(|old| old.sort == new.sort && old.owner.is_none());
                exact.or(olds.iter().rev().filter(same).find(|old| is_block(old))).or(olds
                    .iter()
                    .rev()
                    .filter(usable)
                    .find(|old| new.is_test && is_block(old)))
            }
        };
        if let Some(found) = found {
            return Anchor::After(found);
        }
        match (new.sort, olds.get(first_block)) {
            (Sort::Value, Some(first)) => Anchor::Before(first),
            _ => self.anchor_at_end(olds),
        }
    }

    /// The end of the file, but before anything that must be last: the main block of a script,
    /// exports, Rust modules.
    pub fn anchor_at_end(&self, olds: &'a [Part]) -> Anchor<'a> {
        let is_last = |old: &&'a Part| {
            let text = &self.old[old.core.clone()];
            ["if __name__", "module.exports", "export default", "export {", "return ", "exit "]
                .iter()
                .any(|start| text.starts_with(start))
                || is_module(old) && self.language == "rust"
        };
        let tail = olds.iter().rev().take_while(is_last).last();
        match (tail, olds.last()) {
            (Some(tail), _) => Anchor::Before(tail),
            (None, Some(last)) => Anchor::After(last),
            (None, None) => Anchor::End,
        }
    }

    /// Inserts `new` into `scope` at `anchor`.
    pub fn insert(&mut self, scope: Scope, olds: &[Part], new: &Part, anchor: Anchor) {
        let base = self.base(scope, olds);
        let text = self.whole_piece(scope, new, &base);
        let gap = self.gap(scope, olds, new, anchor);
        match self.section_line(scope, olds, new) {
            Some((line, margin)) => {
                let breaks = if self.language == "cpp" { "\n" } else { "\n\n" };
                self.write(scope, format!("{line}{breaks}{base}{text}"), &margin, 1, anchor);
            }
            None => self.write(scope, text, &base, gap, anchor),
        }
        if new.members.first().is_some_and(|member| member.variant == NAME) {
            new.members.iter().for_each(|name| self.note(&name.name, scope));
            return;
        }
        let name = if new.name.is_empty() { first_line(&self.new[new.core.clone()]) } else { new.name.clone() };
        self.note(&name, scope);
    }

    /// The white space before the parts of `scope`.
    pub fn base(&self, scope: Scope, olds: &[Part]) -> String {
        let Some(scope) = scope else { return String::new() };
        let own_line = |part: &&Part| {
            let start = part.start();
            self.old[line_start(self.old, start)..start].trim().is_empty()
                && start > line_end(self.old, scope.core.start)
        };
        // A `public:` line has its own indentation.
        match olds.iter().filter(|old| old.is_definition()).find(own_line).or(olds.iter().find(own_line)) {
            Some(member) => indent_at(self.old, member.start()).to_owned(),
            None => indent_at(self.old, scope.core.start).to_owned() + &self.unit.text(),
        }
    }

    /// The text of `new` with its comments and attributes.
    fn whole_piece(&self, scope: Scope, new: &Part, base: &str) -> String {
        let mut core = self.piece(new.core.clone(), base);
        let listed = scope.is_some_and(|scope| scope.listed);
        if listed {
            core = core.trim_end_matches([',', ';']).to_owned();
        } else if self.new[new.core.end..new.end.max(new.core.end)].trim_end().ends_with(';') {
            core.push(';');
        }
        let (mut lines, attributes) = self.lead(new, base);
        lines.extend(attributes);
        lines.push(core);
        lines.join(&format!("\n{base}"))
    }

    /// The number of empty lines between a new part and its neighbour, as usual for such parts in
    /// the file.
    fn gap(&self, scope: Scope, olds: &[Part], new: &Part, anchor: Anchor) -> usize {
        let beside = match anchor {
            Anchor::After(part) | Anchor::Before(part) => Some(part),
            Anchor::Top | Anchor::End => None,
        };
        let is_long = new.sort == Sort::Statement && self.new[new.core.clone()].contains('\n');
        if !is_block(new) && !is_long && beside.is_none_or(|part| part.sort == new.sort || part.declares_several()) {
            return 0;
        }
        // Functions without bodies have smaller gaps.
        let has_no_body = |part: &Part| is_queried(self.language) && part.sort == Sort::Function && part.body.is_none();
        let is_short = has_no_body(new) && beside.is_some_and(has_no_body);
        let counts_pair = |pair: &&[Part]| match is_short {
            true => pair.iter().all(has_no_body),
            false => pair[1].sort == new.sort || is_block(&pair[0]) && is_block(&pair[1]),
        };
        let mut counts = [0usize; 4];
        for pair in olds.windows(2).filter(counts_pair) {
            let between = &self.old[pair[0].end.min(pair[1].start())..pair[1].start()];
            let lines = between.matches('\n').count();
            if between.trim().is_empty() && lines > 0 && is_block(&pair[0]) == is_block(new) {
                counts[(lines - 1).min(3)] += 1;
            }
        }
        let most = (0..counts.len()).filter(|lines| counts[*lines] > 0).max_by_key(|lines| counts[*lines]);
        most.unwrap_or(match scope {
            _ if is_short => 0,
            None if self.language == "python" => 2,
            Some(scope) if scope.sort == Sort::Record => 0,
            _ => 1,
        })
    }
}

pub fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().trim().chars().take(80).collect()
}

/// Whether empty lines separate a part from others.
pub fn is_block(part: &Part) -> bool {
    matches!(part.sort, Sort::Function | Sort::Class | Sort::Record | Sort::Test)
}

/// Whether a part is a lone `pass` or `...`, which a new part replaces.
pub fn is_idle(part: &Part, text: &str) -> bool {
    part.sort == Sort::Statement && matches!(&text[part.core.clone()], "pass" | "...")
}
