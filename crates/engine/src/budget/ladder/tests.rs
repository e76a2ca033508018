//! Tests that models fit or are refused with a reason, that the least important settings are
//! reduced first, and that the ledger agrees.

use proptest::prelude::*;

use super::*;
use crate::budget::example::{hybrid, wanted};
use crate::budget::sight::Seeing;
use crate::budget::{Estimate, Ledger, Reservation};
use crate::models::gguf::Sight;

fn asked(name: &str, headers: Vec<Header>) -> Asked {
    let candidate = |header| Candidate { header: Arc::new(header), wanted: wanted(8192, 2, "q8_0"), eye: None };
    let candidates = headers.into_iter().map(candidate).collect();
    Asked { name: name.into(), candidates, gpu_layers: None, optional: name == "router" }
}

/// A planner with experts, 6.4 GB in size.
fn planner() -> Header {
    hybrid(24, 1024, 128, "q8_0")
}

fn check(models: &[Asked], machine: Machine, expected: &str) {
    let said = match fit(models, Bytes::mib(22).into(), &machine) {
        Ok(fitted) => {
            let rung = |model: &Placed| format!("{}: {}", model.name, model.rung());
            let rungs: Vec<String> = fitted.models.iter().map(rung).collect();
            format!("{}; left out: {}", rungs.join("; "), fitted.left_out.join(", "))
        }
        Err(refused) => refused.to_string(),
    };
    assert!(said.contains(expected), "`{said}` does not say `{expected}`");
}

#[test]
fn the_least_important_is_given_up_and_the_router_before_the_planners_file() {
    let host = |mib| Machine::of(Bytes::mib(mib));
    let card = |gib| Machine::of(Bytes::gib(16)).with_card(Kind::Cuda, Bytes::gib(gib));
    let planners = |headers| [asked("planner", headers)];
    check(&planners(vec![planner()]), host(16 << 10), "planner: as asked");
    check(&planners(vec![planner()]), card(16), "planner: as asked");
    check(&planners(vec![planner()]), card(6), "planner: experts of ");
    check(&planners(vec![hybrid(24, 2048, 0, "q8_0")]), card(2), "layers on the CPU");
    // Without a card, settings are reduced but nothing is moved.
    let alone = place::need(&planner(), &wanted(8192, 2, "q8_0"), &host(0)).all().host;
    let little_less = Machine::of(alone + Bytes::mib(22) - Bytes::mib(20));
    check(&planners(vec![planner()]), little_less, "planner: KV q4_0 instead of q8_0");
    let with_router = [asked("planner", vec![planner()]), asked("router", vec![hybrid(16, 1024, 0, "q8_0")])];
    check(&with_router, host(6900), "left out: router");
    let small = || vec![planner(), hybrid(24, 1024, 128, "q4_0")];
    check(&planners(small()), host(8 << 10), "planner: as asked");
    check(&planners(small()), host(5 << 10), "planner: a smaller quantisation: hybrid-24-1024-Q4_0");
    let tiny = vec![planner(), hybrid(8, 1024, 0, "q8_0")];
    check(&planners(tiny), host(1 << 10), "planner: a smaller model: hybrid-8-1024-Q8_0");
    // A refusal states how much memory is missing.
    check(&planners(vec![planner()]), host(1 << 10), "planner on the lowest rung needs ");
    check(&planners(vec![planner()]), host(1 << 10), "are needed: raise --budget, or use a smaller");
    let cuda = host(1 << 10).with_card(Kind::Cuda, Bytes::gib(4));
    check(&planners(vec![planner()]), cuda, "GiB of the device's memory (");
}

#[test]
fn a_router_on_the_cpu_takes_no_memory_of_the_card() {
    let machine = Machine::of(Bytes::gib(16)).with_card(Kind::Cuda, Bytes::gib(16));
    let router = Asked { gpu_layers: Some(0), ..asked("router", vec![hybrid(16, 1024, 0, "q8_0")]) };
    let fitted = fit(&[asked("planner", vec![planner()]), router], Amount::default(), &machine).unwrap();
    let [planner, router] = &fitted.models[..] else { panic!("two models") };
    assert!(planner.need.all().device > Bytes::gib(5) && planner.settings.gpu_layers(&planner.header) == 25);
    assert_eq!((router.need.all().device, router.settings.gpu_layers(&router.header)), (Bytes::ZERO, 0));
    assert!(router.need.all().host > Bytes::mib(300));
}

#[test]
fn a_smaller_file_with_the_whole_context_is_preferred_to_a_larger_one_with_less() {
    let small = || hybrid(24, 1024, 128, "q4_0");
    let context = |headers: Vec<Header>, mib| {
        let fitted = fit(&[asked("planner", headers)], Amount::default(), &Machine::of(Bytes::mib(mib))).ok()?;
        Some(fitted.models[0].settings.context)
    };
    let mut shortened = 0;
    for mib in (6600..6900).step_by(5) {
        let (large, both) = (context(vec![planner()], mib), context(vec![planner(), small()], mib));
        if context(vec![small()], mib).is_some_and(|context| context >= CONTEXT_GOOD) {
            assert!(both.is_some_and(|context| context >= CONTEXT_GOOD), "{mib}");
            shortened += u32::from(large.is_some_and(|context| context < CONTEXT_GOOD));
        }
    }
    assert!(shortened > 0, "no memory is enough for the large file with less context alone");
}

#[test]
fn a_refusal_is_for_the_file_that_is_least_too_large() {
    let least = |headers: Vec<Header>| {
        fit(&[asked("planner", headers)], Amount::default(), &Machine::of(Bytes::mib(500))).unwrap_err().needed
    };
    let small = || hybrid(24, 1024, 128, "q4_0");
    assert!(least(vec![small()]) < least(vec![planner()]));
    assert_eq!(least(vec![planner(), small()]), least(vec![small()]));
    assert_eq!(least(vec![small(), planner()]), least(vec![small()]));
}

#[test]
fn a_projector_gets_room_unless_its_model_would_lose_speed_or_context() {
    let sight = Sight {
        projector: "mlp".into(),
        width: 1024,
        layers: 2,
        hidden: 256,
        heads: 4,
        feed_forward: 1024,
        image: 448,
        patch: 14,
        merge: 1,
        pixels_max: None,
    };
    let projector = Arc::new(Header { sight: Some(sight), ..hybrid(2, 256, 0, "q8_0") });
    let seeing = Seeing { tokens: 1024, text_width: 1024, products: false };
    let eye = Eye { projector, seeing };
    let blind = [asked("planner", vec![hybrid(24, 1024, 0, "q8_0")])];
    let mut seeing = blind.clone();
    seeing[0].candidates[0].eye = Some(eye.clone());
    let fitted = |asked: &[Asked], machine: &Machine| fit(asked, Amount::default(), machine).unwrap();
    let large = Machine::of(Bytes::gib(64));
    let (need, sight) = (fitted(&blind, &large).models[0].need.all().host, eye.amount(false, &large));
    let of = |bytes: Bytes| {
        let machine = Machine::of(bytes);
        let fitted = fitted(&seeing, &machine);
        assert!(need <= bytes || fitted.models[0].rung() != "as asked");
        (fitted.models[0].sight, fitted.models[0].rung(), fitted.free)
    };
    assert_eq!(of(need + sight.host), (sight, "as asked".into(), Bytes::ZERO));
    let (kept, rung, _) = of(need + sight.host - Bytes::mib(1));
    assert_eq!((kept, rung.as_str()), (sight, "KV q4_0 instead of q8_0"));
    // The model would have to do with less than 8,192 tokens: the projector gets no room, and the
    // model gives up nothing.
    assert_eq!(of(need), (Amount::default(), "as asked".into(), Bytes::ZERO));
    let on_card = eye.amount(true, &large.with_card(Kind::Cuda, Bytes::gib(8)));
    assert!(on_card.device > eye.projector.tensor_bytes() && on_card.device + on_card.host == sight.host);
}

#[test]
fn on_a_mac_the_limit_that_would_make_room_is_named() {
    let hint = |layers, machine: &Machine| {
        let candidates = vec![hybrid(layers, 2048, 64, "q8_0"), hybrid(8, 1024, 0, "q8_0")];
        fit(&[asked("planner", candidates)], Amount::default(), machine).unwrap().hint
    };
    let mac = Machine::metal(Bytes::gib(16));
    let said = hint(22, &mac).unwrap();
    let header = hybrid(22, 2048, 64, "q8_0");
    let need = place::need(&header, &wanted(8192, 2, "q8_0"), &mac).all();
    let limit = need.device.0.div_ceil(1 << 20);
    assert!(
        said.starts_with(&format!("`sudo sysctl iogpu.wired_limit_mb={limit}` makes room for it and leaves ")),
        "{said}"
    );
    assert!(hint(28, &mac).unwrap().contains("too little"));
    assert_eq!(hint(22, &Machine::metal(Bytes::gib(64))), None, "it fits");
    assert_eq!(hint(22, &Machine::of(Bytes::gib(4)).with_card(Kind::Cuda, Bytes::gib(4))), None);
}

/// Acts like a long-running process: the first number of each action selects the operation, the
/// second a model or an amount.
fn live(ledger: &Ledger, models: &[Header], actions: &[(u8, u64)]) {
    let mut loaded: Vec<(Reservation, Header, usize)> = Vec::new();
    for &(action, amount) in actions {
        let header = &models[amount as usize % models.len()];
        match action % 5 {
            // A load: placed within the free memory and reserved, or refused with a reason.
            0 | 1 => {
                let asked = Asked { name: "planner".into(), ..asked("planner", vec![header.clone()]) };
                match fit(&[asked], Amount::default(), &Machine::of(ledger.free().host)) {
                    Ok(fitted) => {
                        let placed = &fitted.models[0];
                        let held = ledger.reserve(&placed.name, placed.need.all()).expect("what fits is granted");
                        loaded.push((held, header.clone(), placed.settings.slots));
                    }
                    Err(refused) => {
                        let said = refused.to_string();
                        assert!(refused.needed > refused.free, "{said}");
                        assert!(said.contains("needs") && said.contains("raise --budget"), "{said}");
                    }
                }
            }
            // A swap or an eviction.
            2 if !loaded.is_empty() => drop(loaded.swap_remove(amount as usize % loaded.len())),
            // One more slot for a model: granted from free memory or refused, without taking memory
            // from another model.
            3 if !loaded.is_empty() => {
                let index = amount as usize % loaded.len();
                let (_, header, slots) = &loaded[index];
                let with = |slots| Estimate::of(header, &wanted(2048, slots, "q4_0")).of_context();
                let more = with(slots + 1).saturating_sub(with(*slots));
                let before: Vec<Amount> = ledger.entries().iter().map(|entry| entry.bytes).collect();
                match ledger.reserve("slot", more) {
                    Ok(slot) => loaded.push((slot, header.clone(), 1)),
                    Err(refused) => assert_eq!((refused.needed, refused.free), (more, ledger.free().host)),
                }
                let after: Vec<Amount> = ledger.entries().iter().map(|entry| entry.bytes).collect();
                assert!(after.starts_with(&before), "somebody lost memory to another's slot");
            }
            // The machine has more or less memory than before.
            4 => {
                let promised = ledger.promised();
                ledger.set_capacity(Bytes::mib(amount % 20_000));
                assert_eq!(ledger.promised(), promised);
                continue;
            }
            _ => {}
        }
        let held: Amount = ledger.entries().iter().map(|entry| entry.bytes).sum();
        assert_eq!(held, ledger.promised());
        assert_eq!(ledger.free(), ledger.capacity().saturating_sub(held));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_fits_is_within_every_memory(
        host in 100u64..20_000, card in 800u64..20_000, metal in any::<bool>(), separate in any::<bool>(),
        layers in 1u32..24, experts in 0u32..40,
    ) {
        let machine = match (metal, separate) {
            (true, _) => Machine::metal(Bytes::mib(host)),
            (_, true) => Machine::of(Bytes::mib(host)).with_card(Kind::Cuda, Bytes::mib(card)),
            _ => Machine::of(Bytes::mib(host)),
        };
        let models = [asked("planner", vec![hybrid(layers, 1024, experts, "q4_0")]), asked("router", vec![hybrid(8, 512, 0, "q8_0")])];
        let fixed = Bytes::mib(22);
        if let Ok(fitted) = fit(&models, fixed.into(), &machine) {
            let need = fitted.models.iter().fold(fixed.into(), |sum: Amount, model| sum + model.need.all());
            prop_assert_eq!(overrun(need, &machine), Bytes::ZERO);
            for model in &fitted.models {
                prop_assert_eq!(model.need, place::need(&model.header, &model.settings, &machine));
                prop_assert!(model.settings.slots >= 1 && model.settings.context >= 2048);
            }
        }
    }

    #[test]
    fn more_memory_never_gives_less(mib in 300u64..9000) {
        let models = [asked("planner", vec![planner()]), asked("router", vec![hybrid(8, 512, 0, "q8_0")])];
        let fits = |mib| fit(&models, Amount::default(), &Machine::of(Bytes::mib(mib))).is_ok();
        prop_assert!(!fits(mib) || fits(mib + 100));
    }

    #[test]
    fn a_long_running_process_never_promises_more_than_there_is(
        capacity in 100u64..20_000,
        actions in proptest::collection::vec((any::<u8>(), any::<u64>()), 1..60),
    ) {
        let models = [planner(), hybrid(8, 512, 0, "q8_0"), hybrid(4, 256, 8, "q4_0")];
        let ledger = Ledger::new(Bytes::mib(capacity));
        live(&ledger, &models, &actions);
        prop_assert_eq!(ledger.promised(), Amount::default());
    }
}
