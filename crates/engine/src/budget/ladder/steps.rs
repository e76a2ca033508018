//! Lists the steps down and up from one model's settings, with the cost of each.

use crate::budget::machine::Machine;
use crate::budget::{LoadSettings, cache, place};
use crate::models::gguf::Header;

/// Shortest useful context: a system prompt, some tools and a question.
const CONTEXT_MIN: u32 = 2048;

// Losses other than speed, expressed as a share of speed to make all steps comparable.

/// Loss for halving the context window.
const HALF_CONTEXT: f64 = 0.15;
/// Loss for giving up one of several slots: four slots together decode a third faster than one
/// (24B, 37 instead of 28 tokens per second).
const ONE_SLOT: f64 = 0.10;
/// Losses for an 8-bit KV cache, which rarely changes answers, and a 4-bit one, which sometimes
/// does.
const KV_8_BITS: f64 = 0.01;
const KV_4_BITS: f64 = 0.06;
/// Minimum loss of a step, so that steps that do not affect speed are not taken needlessly.
const LOSS_MIN: f64 = 0.001;

/// Every step down, with its loss as a share of the model's speed.
pub fn down(header: &Header, now: &LoadSettings, machine: &Machine) -> Vec<(LoadSettings, f64)> {
    let mut steps = Vec::new();
    if now.repack {
        steps.push((LoadSettings { repack: false, ..now.clone() }, 0.0));
    }
    if machine.is_separate() && now.gpu_layers(header) > 0 {
        let experts = next_expert_layer(header, now);
        steps.extend(experts.map(|experts_on_host| (LoadSettings { experts_on_host, ..now.clone() }, 0.0)));
        steps.push((LoadSettings { layers_on_host: now.layers_on_host + 1, ..now.clone() }, 0.0));
    }
    let smaller = match now.kv_type.as_str() {
        "f16" => Some(("q8_0", KV_8_BITS)),
        "q8_0" => Some(("q4_0", KV_4_BITS)),
        _ => None,
    };
    if let Some((kv_type, loss)) = smaller.filter(|(kv_type, _)| cache::is_readable(kv_type, now.flash)) {
        steps.push((LoadSettings { kv_type: kv_type.into(), ..now.clone() }, loss));
    }
    if now.context > CONTEXT_MIN {
        let context = (now.context / 2).next_multiple_of(cache::CELL_STEP as u32).max(CONTEXT_MIN);
        steps.push((LoadSettings { context, ..now.clone() }, HALF_CONTEXT));
    }
    if now.slots > 1 {
        steps.push((with_slots(now, now.slots - 1), ONE_SLOT));
    }
    let speed = place::tokens_per_second(header, now, machine);
    let loss = |after: &LoadSettings, charge: f64| {
        let slower = 1.0 - place::tokens_per_second(header, after, machine) / speed.max(f64::MIN_POSITIVE);
        (slower.max(0.0) + charge).max(LOSS_MIN)
    };
    steps.into_iter().map(|(after, charge)| (after.clone(), loss(&after, charge))).collect()
}

/// Every step up from `now` towards `asked`, the most valuable first.
pub fn up(now: &LoadSettings, asked: &LoadSettings) -> Vec<LoadSettings> {
    let mut steps = Vec::new();
    if asked.repack && !now.repack {
        steps.push(LoadSettings { repack: true, ..now.clone() });
    }
    if now.context < asked.context {
        steps.push(LoadSettings { context: (now.context * 2).min(asked.context), ..now.clone() });
    }
    if now.slots < asked.slots {
        steps.push(with_slots(now, now.slots + 1));
    }
    if now.layers_on_host > asked.layers_on_host {
        steps.push(LoadSettings { layers_on_host: now.layers_on_host - 1, ..now.clone() });
    }
    if now.experts_on_host > asked.experts_on_host {
        steps.push(LoadSettings { experts_on_host: now.experts_on_host - 1, ..now.clone() });
    }
    if now.kv_type != asked.kv_type {
        let kv_type = if now.kv_type == "q4_0" { "q8_0" } else { "f16" };
        steps.push(LoadSettings { kv_type: kv_type.into(), ..now.clone() });
    }
    steps
}

/// All settings to try if the context must not change, fastest first: as requested, without
/// repacked weights, then with experts and layers on the host.
pub fn moves(header: &Header, asked: &LoadSettings, machine: &Machine) -> Vec<LoadSettings> {
    let plain = LoadSettings { repack: false, ..asked.clone() };
    let mut moves = vec![asked.clone(), plain.clone()];
    if machine.is_separate() {
        let (first, end) = place::expert_layers(header).unwrap_or_default();
        moves.extend((first + 1..=end).map(|experts_on_host| LoadSettings { experts_on_host, ..plain.clone() }));
        let least = moves.last().cloned().unwrap_or(plain);
        let layers = asked.layers_on_host + 1..=header.layers + 1;
        moves.extend(layers.map(|layers_on_host| LoadSettings { layers_on_host, ..least.clone() }));
    }
    moves
}

fn with_slots(now: &LoadSettings, slots: usize) -> LoadSettings {
    LoadSettings { slots, outputs: now.outputs.max(slots as u32), ..now.clone() }
}

/// The next value of `experts_on_host`, which puts the experts of one more layer on the host;
/// `None` if all are already there.
fn next_expert_layer(header: &Header, now: &LoadSettings) -> Option<u32> {
    let (first, end) = place::expert_layers(header)?;
    let next = now.experts_on_host.max(now.layers_on_host).max(first) + 1;
    (next <= end).then_some(next)
}

/// The reduced settings, in words.
pub fn given_up(header: &Header, now: &LoadSettings, asked: &LoadSettings, machine: &Machine) -> Vec<String> {
    let mut all = Vec::new();
    let mut add = |given_up: bool, words: String| all.extend(given_up.then_some(words));
    add(asked.repack && !now.repack && machine.accelerator.is_none(), "weights not repacked".into());
    let layers = header.layers + 1;
    add(now.layers_on_host > asked.layers_on_host, format!("{} of {layers} layers on the CPU", now.layers_on_host));
    let experts = place::experts_moved(header, now);
    let plural = if experts == 1 { "" } else { "s" };
    add(now.experts_on_host > asked.experts_on_host, format!("experts of {experts} layer{plural} on the CPU"));
    add(now.kv_type != asked.kv_type, format!("KV {} instead of {}", now.kv_type, asked.kv_type));
    add(now.context < asked.context, format!("context {} instead of {}", now.context, asked.context));
    add(now.slots < asked.slots, format!("{} of {} slots", now.slots, asked.slots));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Bytes;
    use crate::budget::example::{self, hybrid};
    use crate::budget::machine::Kind;
    use crate::models::FlashAttention;

    /// Eight layers with four experts each, of a type that no CPU copies.
    fn header() -> Header {
        hybrid(8, 1024, 4, "f32")
    }

    fn settings(context: u32, slots: usize, kv_type: &str, layers_on_host: u32, experts_on_host: u32) -> LoadSettings {
        LoadSettings { layers_on_host, experts_on_host, ..example::wanted(context, slots, kv_type) }
    }

    fn host() -> Machine {
        Machine::of(Bytes::gib(16))
    }

    fn card() -> Machine {
        host().with_card(Kind::Vulkan, Bytes::gib(16))
    }

    /// The steps down in words, each with its loss in thousandths.
    fn check(now: &LoadSettings, machine: &Machine, expected: &[(&str, u32)]) {
        let said: Vec<(String, u32)> = down(&header(), now, machine)
            .into_iter()
            .map(|(after, loss)| (given_up(&header(), &after, now, machine).join(", "), (loss * 1000.0).round() as u32))
            .collect();
        let said: Vec<(&str, u32)> = said.iter().map(|(words, loss)| (words.as_str(), *loss)).collect();
        assert_eq!(said, expected, "{now:?}");
    }

    #[test]
    fn every_setting_goes_down_by_one_step_and_costs_what_it_is_worth() {
        check(
            &settings(8192, 2, "f16", 9, 0),
            &host(),
            &[
                ("weights not repacked", 1),
                ("KV q8_0 instead of f16", 10),
                ("context 4096 instead of 8192", 150),
                ("1 of 2 slots", 100),
            ],
        );
        let plain = |context, slots, kv_type| LoadSettings { repack: false, ..settings(context, slots, kv_type, 9, 0) };
        check(
            &plain(4500, 1, "q8_0"),
            &host(),
            &[("KV q4_0 instead of q8_0", 60), ("context 2304 instead of 4500", 150)],
        );
        check(&plain(3000, 1, "q4_0"), &host(), &[("context 2048 instead of 3000", 150)]);
        check(&plain(2048, 1, "q4_0"), &host(), &[]);
    }

    #[test]
    fn only_a_card_of_its_own_has_layers_and_experts_to_move() {
        let moved = |now: &LoadSettings, machine: &Machine| -> Vec<(u32, u32)> {
            let steps = down(&header(), now, machine).into_iter().map(|(after, _)| after);
            let places = steps.map(|after| (after.layers_on_host, after.experts_on_host));
            places.filter(|places| *places != (now.layers_on_host, now.experts_on_host)).collect()
        };
        let now = |layers, experts| settings(2048, 1, "q4_0", layers, experts);
        assert_eq!(moved(&now(0, 0), &card()), [(0, 1), (1, 0)]);
        assert_eq!(moved(&now(0, 3), &card()), [(0, 4), (1, 3)]);
        assert_eq!(moved(&now(5, 3), &card()), [(5, 6), (6, 3)]);
        assert_eq!(moved(&now(0, 8), &card()), [(1, 8)]);
        assert_eq!(moved(&now(9, 8), &card()), []);
        assert_eq!(moved(&now(0, 0), &Machine::metal(Bytes::gib(16))), []);
        let slower: Vec<f64> = down(&header(), &now(0, 0), &card()).into_iter().map(|(_, loss)| loss).collect();
        assert!(slower[1] < slower[2] && slower[1] > LOSS_MIN, "experts cost less than whole layers: {slower:?}");
    }

    #[test]
    fn steps_up_lead_back_to_what_was_asked_and_no_further() {
        let asked = settings(8192, 3, "f16", 1, 2);
        let mut now = settings(2048, 1, "q4_0", 2, 3);
        now.repack = false;
        let first = up(&now, &asked);
        let step = |index: usize| &first[index];
        assert_eq!(first.len(), 6);
        assert!(step(0).repack && step(1).context == 4096 && step(2).slots == 2 && step(2).outputs == 2);
        assert_eq!((step(3).layers_on_host, step(4).experts_on_host, step(5).kv_type.as_str()), (1, 2, "q8_0"));
        let mut steps = 0;
        while let Some(higher) = up(&now, &asked).pop() {
            (now, steps) = (higher, steps + 1);
            assert!(steps < 20, "{now:?}");
        }
        assert_eq!((steps, now), (9, asked));
    }

    #[test]
    fn with_the_context_kept_everything_moves_to_the_host_step_by_step() {
        let asked = settings(8192, 2, "f16", 0, 0);
        let places = |machine: &Machine| -> Vec<(bool, u32, u32)> {
            let all = moves(&header(), &asked, machine).into_iter();
            all.map(|one| (one.repack, one.layers_on_host, one.experts_on_host)).collect()
        };
        assert_eq!(places(&host()), [(true, 0, 0), (false, 0, 0)]);
        let experts = (1..=8).map(|experts| (false, 0, experts));
        let layers = (1..=9).map(|layers| (false, layers, 8));
        let expected: Vec<_> = places(&host()).into_iter().chain(experts).chain(layers).collect();
        assert_eq!(places(&card()), expected);
    }

    #[test]
    fn what_was_given_up_is_said_for_each_setting() {
        let (asked, mut now) = (settings(8192, 2, "f16", 0, 0), settings(4096, 1, "q8_0", 3, 1));
        now.repack = false;
        let rest = "3 of 9 layers on the CPU, experts of 1 layer on the CPU, KV q8_0 instead of f16, \
                    context 4096 instead of 8192, 1 of 2 slots";
        assert_eq!(given_up(&header(), &now, &asked, &card()).join(", "), rest);
        assert_eq!(given_up(&header(), &now, &asked, &host()).join(", "), format!("weights not repacked, {rest}"));
        now.experts_on_host = 2;
        assert!(given_up(&header(), &now, &asked, &card())[1].starts_with("experts of 2 layers"));
        assert!(given_up(&header(), &asked, &asked, &host()).is_empty());
    }

    #[test]
    fn without_flash_attention_no_step_quantises_keys_and_values() {
        let kinds = |flash| -> Vec<String> {
            let now = LoadSettings { flash, ..settings(8192, 2, "f16", 9, 0) };
            down(&header(), &now, &host()).into_iter().map(|(after, _)| after.kv_type).collect()
        };
        assert!(kinds(FlashAttention::Auto).contains(&"q8_0".to_owned()));
        assert!(kinds(FlashAttention::Off).iter().all(|kind| kind == "f16"));
    }
}
