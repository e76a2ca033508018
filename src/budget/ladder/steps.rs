//! Lists the steps down and up of one model's settings, with the cost of each.

use crate::budget::machine::Machine;
use crate::budget::place::{self, Settings};
use crate::budget::{LoadSettings, cache};
use crate::models::gguf::Header;

/// Shortest useful context: a system prompt, some tools and a question.
const CONTEXT_MIN: u32 = 2048;

// Losses other than speed, expressed as a share of speed, so that all steps can be compared.

/// Loss for half of the context window.
const HALF_CONTEXT: f64 = 0.15;
/// Loss for one slot of several: four slots together decode a third faster than one (24B, 37 instead of 28 tokens per second).
const ONE_SLOT: f64 = 0.10;
/// Losses for a KV cache in 8 bits, which rarely changes answers, and in 4 bits, which sometimes does.
const KV_8_BITS: f64 = 0.01;
const KV_4_BITS: f64 = 0.06;
/// Least loss of a step, so that steps without effect on speed are not taken needlessly.
const LOSS_MIN: f64 = 0.001;

/// Every step down, with its loss as a share of the model's speed.
pub fn down(header: &Header, now: &Settings, machine: &Machine) -> Vec<(Settings, f64)> {
    let wanted = &now.wanted;
    let with = |wanted: LoadSettings| Settings { wanted, ..now.clone() };
    let mut steps = Vec::new();
    if wanted.repack {
        steps.push((with(LoadSettings { repack: false, ..wanted.clone() }), 0.0));
    }
    if machine.is_separate() && now.gpu_layers(header) > 0 {
        let experts = next_expert_layer(header, now);
        steps.extend(experts.map(|experts_on_host| (Settings { experts_on_host, ..now.clone() }, 0.0)));
        steps.push((Settings { layers_on_host: now.layers_on_host + 1, ..now.clone() }, 0.0));
    }
    match wanted.kv_type.as_str() {
        "f16" => steps.push((with(LoadSettings { kv_type: "q8_0".into(), ..wanted.clone() }), KV_8_BITS)),
        "q8_0" => steps.push((with(LoadSettings { kv_type: "q4_0".into(), ..wanted.clone() }), KV_4_BITS)),
        _ => {}
    }
    if wanted.context > CONTEXT_MIN {
        let context = (wanted.context / 2).next_multiple_of(cache::CELL_STEP as u32).max(CONTEXT_MIN);
        steps.push((with(LoadSettings { context, ..wanted.clone() }), HALF_CONTEXT));
    }
    if wanted.slots > 1 {
        steps.push((with(slots(wanted, wanted.slots - 1)), ONE_SLOT));
    }
    let speed = place::tokens_per_second(header, now, machine);
    let loss = |after: &Settings, charge: f64| {
        let slower = 1.0 - place::tokens_per_second(header, after, machine) / speed.max(f64::MIN_POSITIVE);
        (slower.max(0.0) + charge).max(LOSS_MIN)
    };
    steps.into_iter().map(|(after, charge)| (after.clone(), loss(&after, charge))).collect()
}

/// Every step up from `now` towards `asked`, the most valuable first.
pub fn up(now: &Settings, asked: &Settings) -> Vec<Settings> {
    let (has, wish) = (&now.wanted, &asked.wanted);
    let with = |wanted: LoadSettings| Settings { wanted, ..now.clone() };
    let mut steps = Vec::new();
    if wish.repack && !has.repack {
        steps.push(with(LoadSettings { repack: true, ..has.clone() }));
    }
    if has.context < wish.context {
        steps.push(with(LoadSettings { context: (has.context * 2).min(wish.context), ..has.clone() }));
    }
    if has.slots < wish.slots {
        steps.push(with(slots(has, has.slots + 1)));
    }
    if now.layers_on_host > asked.layers_on_host {
        steps.push(Settings { layers_on_host: now.layers_on_host - 1, ..now.clone() });
    }
    if now.experts_on_host > asked.experts_on_host {
        steps.push(Settings { experts_on_host: now.experts_on_host - 1, ..now.clone() });
    }
    if has.kv_type != wish.kv_type {
        let kv_type = if has.kv_type == "q4_0" { "q8_0" } else { "f16" };
        steps.push(with(LoadSettings { kv_type: kv_type.into(), ..has.clone() }));
    }
    steps
}

/// All settings to try if the context must not change, fastest first: weights not repacked, then experts and layers on the host.
pub fn moves(header: &Header, asked: &Settings, machine: &Machine) -> Vec<Settings> {
    let plain = Settings { wanted: LoadSettings { repack: false, ..asked.wanted.clone() }, ..asked.clone() };
    let mut moves = vec![asked.clone(), plain.clone()];
    if machine.is_separate() {
        let (first, end) = place::expert_layers(header).unwrap_or_default();
        moves.extend((first + 1..=end).map(|experts_on_host| Settings { experts_on_host, ..plain.clone() }));
        let least = moves.last().cloned().unwrap_or(plain);
        let layers = asked.layers_on_host + 1..=header.layers + 1;
        moves.extend(layers.map(|layers_on_host| Settings { layers_on_host, ..least.clone() }));
    }
    moves
}

fn slots(wanted: &LoadSettings, slots: usize) -> LoadSettings {
    LoadSettings { slots, outputs: wanted.outputs.max(slots as u32), ..wanted.clone() }
}

/// The next value of `experts_on_host`, with the experts of one more layer on the host; `None` if all are there.
fn next_expert_layer(header: &Header, now: &Settings) -> Option<u32> {
    let (first, end) = place::expert_layers(header)?;
    let next = now.experts_on_host.max(now.layers_on_host).max(first) + 1;
    (next <= end).then_some(next)
}

/// The settings that were reduced, in words.
pub fn given_up(header: &Header, now: &Settings, asked: &Settings, machine: &Machine) -> Vec<String> {
    let (has, wish) = (&now.wanted, &asked.wanted);
    let mut all = Vec::new();
    let mut add = |given_up: bool, words: String| all.extend(given_up.then_some(words));
    add(wish.repack && !has.repack && machine.accelerator.is_none(), "weights not repacked".into());
    let layers = header.layers + 1;
    add(now.layers_on_host > asked.layers_on_host, format!("{} of {layers} layers on the CPU", now.layers_on_host));
    let experts = place::expert_layers(header).map_or(0, |(first, _)| now.experts_on_host.saturating_sub(first));
    let plural = if experts == 1 { "" } else { "s" };
    add(now.experts_on_host > asked.experts_on_host, format!("experts of {experts} layer{plural} on the CPU"));
    add(has.kv_type != wish.kv_type, format!("KV {} instead of {}", has.kv_type, wish.kv_type));
    add(has.context < wish.context, format!("context {} instead of {}", has.context, wish.context));
    add(has.slots < wish.slots, format!("{} of {} slots", has.slots, wish.slots));
    all
}
