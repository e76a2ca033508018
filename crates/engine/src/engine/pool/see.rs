//! Reserves memory for a model's projector and loads it when the model must see its first picture.

use std::sync::{Arc, Mutex};

use super::evict::Room;
use super::resident::file_name;
use super::weights::Held;
use super::{Inner, Leased, Pool, PoolError};
use crate::base::lock;
use crate::budget::sight::{self, Eye, Seeing, SightEstimate};
use crate::budget::{Amount, Refused, Reservation};
use crate::engine::llama::{Sharpness, devices};
use crate::models::projector::{Beside, Projector};
use crate::models::{FlashAttention, ModelSpec, Picture, Role};

impl Pool {
    /// Makes a lent model able to see pictures. Blocks while its projector is loaded, which happens
    /// once; idle models are unloaded if it needs their memory. Fails with advice if there is no
    /// projector, and with the arithmetic if it does not fit. `go_on` cancels the load by returning
    /// false.
    pub fn see(&self, model: &Leased, go_on: &mut dyn FnMut() -> bool) -> Result<(), PoolError> {
        let _changing = self.inner.change();
        let (spec, held, threads) = self.inner.seeing(model)?;
        if held.weights.sees() {
            return Ok(());
        }
        self.inner.open_eye(&spec, &held, (model.role, threads), go_on)
    }

    /// Whether the model of `role` may see pictures: it has a projector next to it, or is on a
    /// server. The error says what to get. Reads no file.
    pub fn sight(&self, role: Role) -> Result<(), PoolError> {
        if self.endpoint(role)?.is_some() {
            return Ok(());
        }
        let spec = self.inner.chosen(role)?;
        match spec.beside.projector {
            Some(_) => Ok(()),
            None => Err(PoolError::Blind { model: file_name(&spec.path), why: why(&spec.beside) }),
        }
    }

    /// The projector that a load of `spec` makes room for; `None` if it looks at no pictures, or
    /// has it loaded.
    pub fn eye(&self, spec: &ModelSpec) -> Option<Eye> {
        self.inner.eye_to_come(spec)
    }

    /// Prepares a picture for a server ([`Picture::sent`]), with memory reserved for it. Blocks.
    pub fn prepare(&self, picture: &Picture) -> Result<(), PoolError> {
        /// Held while a picture is prepared, so that several pictures do not need their memory at
        /// once.
        static TURN: Mutex<()> = Mutex::new(());
        let _turn = lock(&TURN);
        if picture.is_prepared() {
            return Ok(());
        }
        let label = format!("decoding {}", picture.name());
        let refused = |refused| Refused { way_out: "raise --budget, or make it smaller".to_owned(), ..refused };
        self.inner.drop_copies(picture.work().into());
        let _reserved = self.inner.reserve(&label, picture.work().into(), refused)?;
        picture.sent()?;
        Ok(())
    }
}

impl Inner {
    /// The specification of a lent model with a projector, its weights and its number of threads.
    fn seeing(&self, model: &Leased) -> Result<(ModelSpec, Arc<Held>, usize), PoolError> {
        let resident = self.resident();
        let name = model.engine.model();
        let Some(entry) = resident.entries.iter().find(|entry| Arc::ptr_eq(&entry.model, &model.model)) else {
            let is_fixed = resident.fixed.values().any(|fixed| Arc::ptr_eq(fixed, &model.model));
            let (name, beside) = (name.to_owned(), Beside::default());
            return Err(match is_fixed {
                true => PoolError::Blind { model: name, why: why(&beside) },
                false => PoolError::NotLoaded { name, there: resident.told() },
            });
        };
        if entry.spec.beside.projector.is_none() {
            return Err(PoolError::Blind { model: name.to_owned(), why: why(&entry.spec.beside) });
        }
        let gone = || PoolError::NotLoaded { name: name.to_owned(), there: resident.told() };
        let held = entry.held.upgrade().ok_or_else(gone)?;
        Ok((entry.spec.clone(), held, entry.key.shape.threads))
    }

    fn open_eye(
        &self,
        spec: &ModelSpec,
        held: &Held,
        (role, threads): (Role, usize),
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<(), PoolError> {
        let Some(projector) = &spec.beside.projector else { return Ok(()) };
        let on_gpu = held.weights.is_on_gpu();
        let seeing = self.way_of_seeing(spec, projector, on_gpu);
        let estimate = SightEstimate::of(&projector.header, seeing);
        let amount = estimate.amount(on_gpu, &self.ledger.machine());
        self.released(Vec::new(), None)?;
        self.drop_copies(amount);
        let missing = Room { bytes: amount.saturating_sub(self.ledger.free()), files: 0 };
        // If memory is still short, the reservation fails with the reason.
        self.give_up(missing, role, None)?;
        let reserved = self.reserve(&projector_label(spec), amount, |refused| Refused {
            parts: estimate.parts().map(|(part, bytes)| format!("{part} {bytes}")).join(", "),
            way_out: "raise --budget, lower image_tokens, or unload another model (/models)".to_owned(),
            ..refused
        })?;
        if let Some(trial) = &self.options.trial {
            trial.run(&projector.header, go_on)?;
        }
        let Seeing { tokens, products, .. } = seeing;
        held.weights.open_eye(&projector.header, Sharpness { tokens, threads, on_gpu, products }, go_on)?;
        *lock(&held.projector) = Some(reserved.commit(amount));
        Ok(())
    }

    /// How a model sees with `projector`.
    fn way_of_seeing(&self, spec: &ModelSpec, projector: &Projector, on_gpu: bool) -> Seeing {
        let tokens = self.options.image_tokens.unwrap_or(sight::TOKENS);
        let is_missing = |(head, patches)| !devices::has_flash_attention(head, patches);
        let products = self.options.flash == FlashAttention::Off
            || on_gpu && sight::attention(&projector.header, tokens).is_some_and(is_missing);
        Seeing { tokens, text_width: spec.header.embedding_length, products }
    }

    /// The projector with which a model will see; `None` if there is none, if it is loaded, or if
    /// another role looks at pictures.
    pub(super) fn eye_to_come(&self, spec: &ModelSpec) -> Option<Eye> {
        let has_another_eye = || self.registry.as_ref().is_some_and(|registry| registry.plays(Role::Vision));
        let looks = spec.role == Role::Vision || spec.role == Role::Planner && !has_another_eye();
        let projector = spec.beside.projector.as_ref().filter(|_| looks)?;
        let label = projector_label(spec);
        if self.ledger.entries().iter().any(|entry| entry.label == label) {
            return None;
        }
        let on_gpu = self.ledger.machine().accelerator.is_some() && spec.gpu_layers != Some(0);
        Some(Eye { projector: projector.header.clone(), seeing: self.way_of_seeing(spec, projector, on_gpu) })
    }

    /// Drops copies of sequences, which are the cheapest to recompute, until this much memory is
    /// free.
    fn drop_copies(&self, amount: Amount) {
        if let Some(prefixes) = &self.options.memory.prefixes {
            prefixes.make_room(amount.host);
        }
    }

    /// Reserves memory; `told` adds details to a refusal.
    fn reserve(
        &self,
        label: &str,
        amount: Amount,
        told: impl FnOnce(Refused) -> Refused,
    ) -> Result<Reservation, PoolError> {
        self.ledger.reserve(label, amount).map_err(|refused| {
            let loaded = self.resident().told();
            PoolError::Memory { refused: Box::new(told(refused)), loaded }
        })
    }
}

/// The label of a projector's ledger entry.
fn projector_label(spec: &ModelSpec) -> String {
    format!("{} projector", file_name(&spec.path))
}

/// Why a model cannot see, and what to get.
fn why(beside: &Beside) -> String {
    let advice = "put its mmproj-*.gguf into the same folder (it is offered on the model's page)";
    match beside.unfit.as_slice() {
        [] => format!("there is no projector beside it; {advice}"),
        unfit => format!("{}; {advice}", unfit.join(", and ")),
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};
    use std::time::Duration;

    use super::*;
    use crate::base::Bytes;
    use crate::budget::{Ledger, Permit};
    use crate::engine::llama::LlamaError;
    use crate::engine::pool::{EngineMemory, PoolOptions};
    use crate::engine::prefix::PrefixStore;
    use crate::engine::{Output, Request};
    use crate::models::dialect::{Message, Prompt};
    use crate::models::picture::tests::fading;
    use crate::models::projector::tests::{VECTORS, write_tiny};
    use crate::models::{ModelSettings, Picture, Registry};

    const MODEL: &str = "SmolLM2-135M-Instruct.Q4_1.gguf";
    const WIDTH: u64 = 576;

    /// A folder with the small model and a random projector for vectors of length `width`.
    fn folder(width: u64) -> tempfile::TempDir {
        let models = std::env::var_os("MONOBLOC_TEST_MODELS").map(PathBuf::from);
        let models = models.unwrap_or_else(crate::models::places::model_dir);
        let dir = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(models.join(MODEL), dir.path().join(MODEL)).unwrap();
        write_tiny(&dir.path().join("mmproj-tiny.gguf"), width);
        dir
    }

    fn pool(dir: &Path, ledger: &Ledger) -> Pool {
        let settings =
            ModelSettings { model_dir: Some(dir.to_owned()), context: 1024, slots: 2, ..ModelSettings::default() };
        let memory = EngineMemory {
            prefixes: Some(PrefixStore::new(ledger.clone(), Bytes::mib(64), None)),
            ..EngineMemory::default()
        };
        let options = PoolOptions { threads: 2, slots: 2, memory, ..PoolOptions::default() };
        Pool::new(Registry::open(settings).unwrap(), ledger.clone(), Permit::new(), options)
    }

    fn picture(from: [u8; 3]) -> Picture {
        Picture::read("fading.png", fading(90, 70, from)).unwrap()
    }

    fn shown(picture: Picture, question: &str) -> [Message; 1] {
        [Message::user("Look: ").and_picture(picture).and_text(question)]
    }

    fn said(model: &Leased, prompt: &Prompt) -> Output {
        let request = model.engine.request(prompt, 12);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(model.engine.generate(request).unwrap().collect()).unwrap()
    }

    #[test]
    fn an_image_is_read_and_reused_and_never_taken_for_another() {
        let (dir, ledger) = (folder(WIDTH), Ledger::new(Bytes::gib(2)));
        let pool = pool(dir.path(), &ledger);
        let model = pool.lease(Role::Planner, |_, _| true).unwrap();
        let ask = |model: &Leased, from| model.dialect.render(&shown(picture(from), "What is this?"));
        let blind = model.engine.generate(model.engine.request(&ask(&model, [0; 3]), 1)).map(drop);
        assert!(blind.unwrap_err().to_string().contains("it has no projector in memory"));
        let before = ledger.promised().host;
        pool.see(&model, &mut || true).unwrap();
        let header = pool.inner.spec(Role::Planner).unwrap().beside.projector.unwrap().header;
        let estimate = SightEstimate::of(&header, Seeing { tokens: 1024, text_width: 576, products: false });
        assert_eq!(ledger.promised().host, before + estimate.total());
        assert!(pool.others().iter().any(|(label, bytes)| label.ends_with(" projector") && *bytes == estimate.total()));

        let first = ask(&model, [200, 10, 10]);
        let request = model.engine.request(&first, 12);
        let at = request.shown.clone().unwrap()[0].from;
        assert_eq!((request.shown.clone().unwrap().len(), request.shown.unwrap()[0].rows), (1, VECTORS));
        let cold = said(&model, &first);
        assert_eq!((cold.tally.prompt_tokens, cold.tally.cached_tokens), (request.prompt.len(), 0));
        let warm = said(&model, &first);
        assert_eq!(warm.tokens, cold.tokens, "the same question of the same picture");
        assert!(warm.tally.cached_tokens >= at + VECTORS, "{:?}", warm.tally);

        // The words before the picture are the same, the picture is not.
        let other = said(&model, &ask(&model, [10, 10, 200]));
        assert!(other.tally.cached_tokens <= at, "{:?}, the picture begins at {at}", other.tally);
        // A new process, or a reloaded model, gives the same answer about it.
        drop(model);
        drop(pool);
        let pool = self::pool(dir.path(), &ledger);
        let model = pool.lease(Role::Planner, |_, _| true).unwrap();
        pool.see(&model, &mut || true).unwrap();
        let again = said(&model, &ask(&model, [10, 10, 200]));
        assert_eq!((again.tokens, again.entropy), (other.tokens, other.entropy));
        assert_ne!(other.entropy, cold.entropy, "what a picture shows reaches the model");
    }

    #[test]
    fn two_images_in_one_prompt_are_read_in_their_order() {
        let (dir, ledger) = (folder(WIDTH), Ledger::new(Bytes::gib(2)));
        let pool = pool(dir.path(), &ledger);
        let model = pool.lease(Role::Planner, |_, _| true).unwrap();
        pool.see(&model, &mut || true).unwrap();
        let (red, blue) = (picture([255, 0, 0]), picture([0, 0, 255]));
        let ask = |one: &Picture, two: &Picture| {
            let message =
                Message::user("First ").and_picture(one.clone()).and_text(", second ").and_picture(two.clone());
            model.dialect.render(&[message.and_text(". Which is red?")])
        };
        let request = model.engine.request(&ask(&red, &blue), 1);
        let rows: Vec<usize> = request.shown.unwrap().iter().map(|shown| shown.rows).collect();
        assert_eq!(rows, [VECTORS, VECTORS]);
        let (one, two) = (said(&model, &ask(&red, &blue)), said(&model, &ask(&blue, &red)));
        assert_ne!(one.entropy, two.entropy);
        assert_eq!(said(&model, &ask(&red, &blue)).tokens, one.tokens);
    }

    #[test]
    fn an_image_question_that_is_dropped_frees_its_slot() {
        let (dir, ledger) = (folder(WIDTH), Ledger::new(Bytes::gib(2)));
        let pool = pool(dir.path(), &ledger);
        let model = pool.lease(Role::Planner, |_, _| true).unwrap();
        pool.see(&model, &mut || true).unwrap();
        for tone in 0..8 {
            let prompt = model.dialect.render(&shown(picture([tone, 0, 0]), "What?"));
            drop(model.engine.generate(Request { ignore_end: true, ..model.engine.request(&prompt, 500) }).unwrap());
        }
        let until = std::time::Instant::now() + Duration::from_secs(20);
        while model.engine.waiting() > 0 || model.engine.slots().iter().any(Option::is_some) {
            assert!(std::time::Instant::now() < until, "slots are not free");
            std::thread::sleep(Duration::from_millis(10));
        }
        let prompt = model.dialect.render(&shown(picture([9, 9, 9]), "What?"));
        assert!(!said(&model, &prompt).tokens.is_empty());
    }

    #[test]
    fn an_image_projector_of_another_model_is_refused_with_both_widths() {
        let (dir, ledger) = (folder(128), Ledger::new(Bytes::gib(2)));
        let pool = pool(dir.path(), &ledger);
        let model = pool.lease(Role::Planner, |_, _| true).unwrap();
        let told = pool.see(&model, &mut || true).unwrap_err().to_string();
        assert!(
            told.contains(
                "mmproj-tiny.gguf gives vectors of 128 numbers, but SmolLM2-135M-Instruct.Q4_1.gguf takes 576"
            ),
            "{told}"
        );
        std::fs::remove_file(dir.path().join("mmproj-tiny.gguf")).unwrap();
        let pool = self::pool(dir.path(), &ledger);
        let model = pool.lease(Role::Planner, |_, _| true).unwrap();
        let told = pool.see(&model, &mut || true).unwrap_err().to_string();
        assert!(told.contains("cannot see pictures: there is no projector beside it; put its mmproj-*.gguf"), "{told}");
        assert!(pool.sight(Role::Planner).unwrap_err().to_string().contains("cannot see pictures"));
    }

    #[test]
    fn an_image_projector_that_does_not_fit_is_refused_with_the_arithmetic() {
        let (dir, ledger) = (folder(WIDTH), Ledger::new(Bytes::gib(2)));
        let pool = pool(dir.path(), &ledger);
        let model = pool.lease(Role::Planner, |_, _| true).unwrap();
        let held = ledger.reserve("others", ledger.free().saturating_sub(Bytes::mib(20).into())).unwrap();
        let told = pool.see(&model, &mut || true).unwrap_err().to_string();
        for part in [
            "projector needs ",
            "weights ",
            "compute ",
            "pictures ",
            "20.0 MiB of 2.0 GiB are free",
            "lower image_tokens",
        ] {
            assert!(told.contains(part), "`{told}` does not say `{part}`");
        }
        drop(held);
        pool.see(&model, &mut || true).unwrap();
    }

    /// The same model in a second file, for the role `router`.
    fn with_a_router(dir: &Path) -> Pool {
        std::os::unix::fs::symlink(std::fs::canonicalize(dir.join(MODEL)).unwrap(), dir.join("other.gguf")).unwrap();
        std::fs::write(
            dir.join("models.toml"),
            format!("[planner]\nfile = \"{MODEL}\"\n[router]\nfile = \"other.gguf\"\n"),
        )
        .unwrap();
        pool(dir, &Ledger::new(Bytes::gib(2)))
    }

    #[test]
    fn an_idle_model_is_unloaded_for_an_image_projector_that_lacks_memory() {
        let dir = folder(WIDTH);
        let pool = with_a_router(dir.path());
        let router = pool.lease(Role::Router, |_, _| true).unwrap();
        let model = pool.lease(Role::Planner, |_, _| true).unwrap();
        assert_eq!(pool.active().len(), 2);
        let ledger = pool.ledger();
        let short = pool.eye(&pool.inner.spec(Role::Planner).unwrap()).unwrap();
        let short = short.amount(false, &ledger.machine()).host - Bytes::mib(30);
        let held = ledger.reserve("others", ledger.free().saturating_sub(short.into())).unwrap();
        let told = pool.see(&model, &mut || true).unwrap_err().to_string();
        assert!(told.contains("projector needs ") && pool.active().len() == 2, "in use: {told}");
        drop(router);
        pool.see(&model, &mut || true).unwrap();
        let loaded: Vec<_> = pool.active().into_iter().map(|active| active.roles).collect();
        assert_eq!(loaded, [[Role::Planner]]);
        drop(held);
    }

    #[test]
    fn an_image_projector_whose_load_is_cancelled_takes_no_memory_and_can_be_loaded_later() {
        let (dir, ledger) = (folder(WIDTH), Ledger::new(Bytes::gib(2)));
        let pool = pool(dir.path(), &ledger);
        let model = pool.lease(Role::Planner, |_, _| true).unwrap();
        let before = ledger.promised();
        let told = pool.see(&model, &mut || false).unwrap_err();
        assert!(matches!(told, PoolError::Llama(LlamaError::Cancelled { .. })), "{told}");
        assert_eq!(ledger.promised(), before);
        pool.see(&model, &mut || true).unwrap();
    }

    #[test]
    fn room_for_an_image_projector_is_planned_with_its_model() {
        let dir = folder(WIDTH);
        let with = |capacity: Bytes| {
            let pool = pool(dir.path(), &Ledger::new(capacity));
            let model = pool.lease(Role::Planner, |_, _| true).unwrap();
            (model.rung.clone().unwrap_or_default(), pool.see(&model, &mut || true).is_ok())
        };
        let enough = {
            let ledger = Ledger::new(Bytes::gib(2));
            let pool = pool(dir.path(), &ledger);
            let model = pool.lease(Role::Planner, |_, _| true).unwrap();
            pool.see(&model, &mut || true).unwrap();
            ledger.promised().host
        };
        assert_eq!(with(enough), (String::new(), true));
        let (given_up, sees) = with(enough - Bytes::mib(2));
        assert!(given_up.starts_with("KV ") && sees, "{given_up}");
        // If there is no room even then, the model gives up nothing for it.
        assert_eq!(with(enough - Bytes::mib(200)), (String::new(), false));
    }

    #[test]
    fn an_image_for_a_server_is_prepared_with_its_memory_on_the_account() {
        let (dir, ledger) = (folder(WIDTH), Ledger::new(Bytes::gib(2)));
        let pool = pool(dir.path(), &ledger);
        let picture = picture([7, 7, 7]);
        let held = ledger.reserve("others", ledger.free().saturating_sub(Bytes::mib(1).into())).unwrap();
        let told = pool.prepare(&picture).unwrap_err().to_string();
        assert!(told.contains("decoding fading.png needs ") && told.contains("make it smaller"), "{told}");
        drop(held);
        let before = ledger.promised();
        pool.prepare(&picture).unwrap();
        assert_eq!(ledger.promised(), before);
    }

    #[test]
    fn whether_a_model_sees_an_image_is_told_without_hashing_its_file() {
        let dir = folder(WIDTH);
        let wrong = "0".repeat(64);
        let roles = format!("[planner]\nfile = \"{MODEL}\"\nsha256 = \"{wrong}\"\n");
        std::fs::write(dir.path().join("models.toml"), roles).unwrap();
        let pool = pool(dir.path(), &Ledger::new(Bytes::gib(2)));
        assert!(pool.sight(Role::Planner).is_ok());
        assert!(pool.lease(Role::Planner, |_, _| true).is_err(), "it is hashed before it is loaded");
    }
}
