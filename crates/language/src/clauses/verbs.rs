//! A table of English verbs that can begin a request, grouped by how likely the bare word is a
//! verb.

use std::collections::HashMap;
use std::sync::LazyLock;

/// How likely a bare word is a verb, and which words must follow it in an imperative if that is
/// uncertain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Almost never a noun: `extract`, `delete`.
    Sure,
    /// Equally often a noun: `report`, `test`. Must be followed by an object or preposition.
    Either,
    /// Mostly a noun or adjective: `name`, `clean`. Must be followed by a determiner, a pronoun or
    /// a name.
    Rarely,
}

const SURE: &str = "
abort accept achieve acquire activate adapt add adjust adopt advise aggregate align allocate allow analyse analyze
annotate announce answer append apply approve arrange ascertain ask assemble assess assign attach authenticate
authorize autocomplete automate avoid backport bcc become begin bisect brighten bring broadcast browse build bundle
buy calculate cancel capture categorise categorize cc cherry-pick choose cite clarify classify clone collapse
collect combine come commence compile complain compose compress compute concatenate condense configure confirm
connect consider consolidate construct consult convert coordinate create customize deactivate debug decide declare
decline decode decompile decompress decouple decrease decrypt deduce dedupe deduplicate define defrost delegate
delete deliver demonstrate deploy deprecate derive describe deselect destroy detach detect determine develop devise
diagnose dial differentiate dig dim disable discard disconnect discover dismiss dispatch divide donate downgrade
download draw drop duplicate edit elaborate eliminate embed emit emphasize enable encode encrypt enlarge enrich
ensure enter enumerate erase establish evaluate examine exclude execute expand explain explore expose extend
extract facilitate fetch figure fill finalize find finish fix flatten follow forbid forecast format forward gather
generate get give go grab grant grep group guarantee handle harden help hide hire identify ignore illustrate
implement import improve include incorporate increase increment indicate infer inform initialise initialize inject
insert inspect install instantiate instruct integrate interpret introduce invalidate investigate invite invoke
isolate join keep kill launch learn let locate look loosen lower maintain make manage mark match maximize measure
memoize mention merge migrate minify minimise minimize mock modernize modify monitor mount move multiply mute
navigate negotiate normalise normalize notify obtain omit open optimise optimize organise organize outline
overwrite paint parallelize parametrize parse partition paste pause perform persist pin pinpoint polish populate
predict prefetch prefix preheat prepare prepend present preserve prettify prevent prioritise prioritize proceed
produce profile prohibit promote prompt proofread propose provide prune publish pull purchase put quantify query
quote raise rank re-run reach react read realign reallocate rearrange reassign reauthenticate rebase rebind reboot
rebuild recalculate recheck recolor recommend reconcile reconfigure reconnect reconstruct recover redact redeploy
redirect redo reduce refactor refer reference refine reformat refresh refund register rehash reindex reinstall
reject relaunch reload relocate remind remove rename render renew reopen reorder reorganize repaint repair repeat
rephrase replace reply report reproduce rerun resample rescale reschedule resend reset resize resolve respond
restart restate restore restrict restructure resubmit resume retest rethink retrain retrieve retry reuse revert
revise revoke rewire rewrite rotate round rsvp sanitize save say scaffold scan schedule scrape scroll search seed
select send separate serialise serialize set setup share shelve shorten show shrink shuffle shut simplify simulate
sing skip slash slim solve speak specify split standardize stash store strip submit subscribe substitute subtract
suggest summarise summarize suppress swap swipe switch synchronise synchronize take tap teach tell terminate tidy
tighten toggle tokenize transcribe transform translate transpose traverse trigger trim troubleshoot truncate try
turn type unblock uncomment undo unflag unfollow unify uninstall unlock unmute unpack unpause unpin unsend unstage
unsubscribe untangle untar untrack unzip update upgrade upload utilize vacuum validate vectorise vectorize verify
visit visualise visualize wait walk warn weigh withdraw wrap write zip";

const EITHER: &str = "
alert archive attempt audit bake benchmark block book bookmark boost branch break brief buffer bump cache call
change chart check checkout clean click close comment commit compare contrast copy count cut defer diff display
document draft dump echo email exchange export file filter flag flush focus fork guide highlight index invest
iterate lint list load log loop map mask message mirror nest note offer pack park patch pay pick ping place plan
play plot pop post practice preview print promise push quit rebalance receive record release rent request research
reserve return review rewind ring roll route run sample sell ship sign sketch slice sort spawn stack start step
stop stream strengthen study survey sync tag target test text touch trace track trade train transfer transpile
treat triage tune tweak use vet view vote wake watch wire work";

/// Programs whose names can begin a command line like a verb.
const COMMANDS: &str =
    "git cargo npm npx yarn pnpm docker kubectl pip pytest brew apt sudo curl chmod mkdir gh terraform";

const RARELY: &str = "
access address amount arm attend average back backup balance bold bottom cap capital case cause charge clear
cluster color colour column complete concern contact cook correct cover crop cross crypt date deal debate default
degree design direct double dry empty end engineer escape estimate even exact exit experiment face fast feature
feed field finance fine fire fit flip force form frame free front function gift grade graph ground grow guess hand
head heat hit hold home host image interface issue key label land last lead light like limit line link live lock
long mail man mean meet mind minute model name near need number object order own pair paper parallel parent part
pass pattern phone picture pipe point power price process project question quiet range rate reason remark rest
result reverse right row rule scale scope score season second secure sense serve shape short side silence slow
smooth sound source space speed spell spot stage stand state stay string structure style subject sum support surface
suspend table talk template think time title toast total tour trash trust value version voice volume want weather
weight word zero zoom";

static CLASSES: LazyLock<HashMap<&'static str, Class>> = LazyLock::new(|| {
    let lists = [(SURE, Class::Sure), (EITHER, Class::Either), (COMMANDS, Class::Either), (RARELY, Class::Rarely)];
    lists.iter().flat_map(|(words, class)| words.split_whitespace().map(move |word| (word, *class))).collect()
});

pub fn class(low: &str) -> Option<Class> {
    CLASSES.get(low).copied()
}

/// Whether a word is a verb at least as often as a noun.
pub fn is_likely(low: &str) -> bool {
    matches!(class(low), Some(Class::Sure | Class::Either))
}
