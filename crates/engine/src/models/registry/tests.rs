//! Tests which file takes which role in various folders, and the errors if none can.

use std::fs;

use super::*;
use crate::models::gguf::{TensorType, write::HeaderWriter};

/// A model folder, a user's folder and a hub cache, all empty.
struct World {
    root: tempfile::TempDir,
}

impl World {
    fn new() -> World {
        let world = World { root: tempfile::tempdir().unwrap() };
        for name in ["place/models", "user", "hub"] {
            fs::create_dir_all(world.root.path().join(name)).unwrap();
        }
        world
    }

    fn dir(&self) -> PathBuf {
        self.root.path().join("place/models")
    }

    /// A file with 64 × `rows` parameters, and with a chat template unless its name contains
    /// `base`.
    fn model(&self, name: &str, rows: u64) -> &World {
        self.model_of("llama", name, rows)
    }

    fn model_of(&self, architecture: &str, name: &str, rows: u64) -> &World {
        let mut writer = HeaderWriter::new(architecture);
        if !name.contains("base") {
            writer = writer.text("tokenizer.chat_template", "<|im_start|>");
        }
        writer.tensor("w", &[64, rows], TensorType::by_name("f32").unwrap());
        fs::write(self.dir().join(name), writer.finish_with_zeros()).unwrap();
        self
    }

    /// The same file in the hub's cache.
    fn pulled(&self, repository: &str, name: &str, rows: u64) -> &World {
        let hub = self.root.path().join(format!("hub/models--{repository}"));
        fs::create_dir_all(hub.join("refs")).unwrap();
        fs::create_dir_all(hub.join("snapshots/abc")).unwrap();
        fs::write(hub.join("refs/main"), "abc").unwrap();
        self.model(name, rows);
        fs::rename(self.dir().join(name), hub.join("snapshots/abc").join(name)).unwrap();
        self
    }

    fn manifest(&self, text: &str) -> &World {
        fs::write(self.dir().join("models.toml"), text).unwrap();
        self
    }

    fn embedder(&self, place: &str) -> PathBuf {
        let dir = self.root.path().join(place);
        fs::create_dir_all(&dir).unwrap();
        for name in ["config.json", "tokenizer.json", "model.safetensors"] {
            fs::write(dir.join(name), "{}").unwrap();
        }
        dir
    }

    fn try_open(&self, model_dir: Option<PathBuf>) -> Result<Registry, ModelsError> {
        let config = ModelSettings { model_dir, ..ModelSettings::default() };
        let at = |name: &str| self.root.path().join(name);
        Registry::open_at(
            &config,
            Places { user_dir: at("user"), hub_cache: at("hub"), sha256_memory: at("sha256.json"), stores: Vec::new() },
        )
    }

    fn open(&self) -> Registry {
        self.try_open(Some(self.dir())).unwrap()
    }

    fn check(&self, planner: &str, router: &str) {
        let registry = self.open();
        let name = |role| name_of(&registry.get(role).unwrap().path);
        assert_eq!((name(Role::Planner).as_str(), name(Role::Router).as_str()), (planner, router));
    }

    fn check_error(&self, role: Role, expected: &[&str]) {
        let said = self.open().get(role).unwrap_err().to_string();
        for part in expected {
            assert!(said.contains(part), "`{said}` does not say `{part}`");
        }
    }
}

#[test]
fn names_sizes_and_templates_say_who_plans_and_who_routes() {
    World::new().model("only.gguf", 8).check("only.gguf", "only.gguf");
    World::new().model("big.gguf", 40).model("small.gguf", 10).check("big.gguf", "small.gguf");
    World::new().model("big.gguf", 40).model("middle.gguf", 11).check("big.gguf", "big.gguf");
    let world = World::new();
    world.model("big.gguf", 40).model("my-ROUTER.gguf", 30).model("tiny.gguf", 4).check("big.gguf", "my-ROUTER.gguf");
    World::new().model("base.gguf", 90).model("chat.gguf", 8).check("chat.gguf", "chat.gguf");
    World::new().model("base.gguf", 9).check("base.gguf", "base.gguf");
    World::new().model_of("bert", "bert.gguf", 90).model("chat.gguf", 8).check("chat.gguf", "chat.gguf");
}

#[test]
fn shipped_candidates_win_over_size_and_the_small_default_does_not() {
    let world = World::new();
    world.model("lfm2-24b-a2b-q4_0.gguf", 40).model("huge.gguf", 90).model("LFM2-1.2B-Tool-Q8_0.gguf", 30);
    world.check("lfm2-24b-a2b-q4_0.gguf", "LFM2-1.2B-Tool-Q8_0.gguf");
    let world = World::new();
    world.model("SmolLM2-135M-Instruct.Q4_1.gguf", 4).model("qwen.gguf", 8);
    world.check("qwen.gguf", "qwen.gguf");
}

#[test]
fn of_known_models_the_best_plans_whatever_its_family_and_its_file_is_called() {
    let world = World::new();
    world.model("LFM2-24B-A2B-Q4_K_M.gguf", 40).model("Qwen3.6-35B-A3B-Q4_K_M.gguf", 8);
    world.check("Qwen3.6-35B-A3B-Q4_K_M.gguf", "Qwen3.6-35B-A3B-Q4_K_M.gguf");
    let mut named = HeaderWriter::new("gemma4").text("general.name", "Gemma 4 26B A4B It");
    named = named.text("tokenizer.chat_template", "<|turn>");
    named.tensor("w", &[64, 2], TensorType::by_name("f32").unwrap());
    fs::write(world.dir().join("x.gguf"), named.finish_with_zeros()).unwrap();
    assert_eq!(name_of(&world.open().get(Role::Planner).unwrap().path), "x.gguf");
}

#[test]
fn a_file_that_writes_no_text_plays_no_role() {
    let world = World::new();
    world.model("chat.gguf", 8);
    let embedding =
        HeaderWriter::new("qwen3").u32("qwen3.pooling_type", 3).text("tokenizer.chat_template", "<|im_start|>");
    for (name, mut writer) in [("big-embedding.gguf", embedding), ("big-mmproj.gguf", HeaderWriter::new("clip"))] {
        writer.tensor("w", &[64, 90], TensorType::by_name("f32").unwrap());
        fs::write(world.dir().join(name), writer.finish_with_zeros()).unwrap();
    }
    world.check("chat.gguf", "chat.gguf");
    world.manifest("[planner]\nfile = \"big-embedding.gguf\"");
    world.check_error(Role::Planner, &["big-embedding.gguf is an embedding model", "choose a chat model"]);
}

#[test]
fn ollamas_models_are_found_in_the_named_folder_and_without_one_in_its_own() {
    let world = World::new();
    let store = world.root.path().join("ollama");
    let manifest = store.join("manifests/registry.ollama.ai/library/qwen2.5");
    fs::create_dir_all(&manifest).unwrap();
    fs::create_dir_all(store.join("blobs")).unwrap();
    let digest = "a".repeat(64);
    let layer = format!(r#"{{"mediaType":"application/vnd.ollama.image.model","digest":"sha256:{digest}"}}"#);
    fs::write(manifest.join("1.5b"), format!(r#"{{"layers":[{layer}]}}"#)).unwrap();
    world.model("m.gguf", 8);
    fs::rename(world.dir().join("m.gguf"), store.join("blobs").join(format!("sha256-{digest}"))).unwrap();
    let registry = world.try_open(Some(store.clone())).unwrap();
    assert_eq!((registry.files[0].name.as_str(), registry.files[0].from), ("qwen2.5:1.5b", Some("Ollama")));
    assert_eq!(registry.get(Role::Planner).unwrap().path, registry.files[0].path);
    assert_eq!(registry.named("qwen2.5:1.5b", Role::Planner).unwrap().path, registry.files[0].path);
    let config = ModelSettings::default();
    let at = |name: &str| world.root.path().join(name);
    let places = Places {
        user_dir: at("user"),
        hub_cache: at("hub"),
        sha256_memory: at("sha256.json"),
        stores: vec![("Ollama", store)],
    };
    assert!(Registry::open_at(&config, places).unwrap().get(Role::Planner).is_ok());
}

#[test]
fn a_file_that_several_folders_link_to_is_listed_once() {
    let world = World::new();
    world.model("m.gguf", 8);
    let at = |name: &str| world.root.path().join(name);
    fs::create_dir_all(at("user")).unwrap();
    fs::create_dir_all(at("other")).unwrap();
    fs::rename(world.dir().join("m.gguf"), at("other/m.gguf")).unwrap();
    std::os::unix::fs::symlink(at("other/m.gguf"), at("user/m.gguf")).unwrap();
    let places = Places {
        user_dir: at("user"),
        hub_cache: at("hub"),
        sha256_memory: at("sha256.json"),
        stores: vec![("LM Studio", at("other"))],
    };
    let registry = Registry::open_at(&ModelSettings::default(), places).unwrap();
    assert_eq!(registry.files.iter().map(|file| &file.path).collect::<Vec<_>>(), [&at("user/m.gguf")]);
    assert_eq!(registry.named("m", Role::Planner).unwrap().path, at("user/m.gguf"));
}

/// Default type of the KV cache.
const KV_TYPE_DEFAULT: &str = if crate::base::ACCELERATED { "q8_0" } else { "f16" };

const CODER: &str = "Qwen2.5-Coder-1.5B-Instruct-Q4_K_M.gguf";
const SMALL_CODER: &str = "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf";

#[test]
fn the_fetched_pair_plays_its_roles_beside_the_small_default_and_gives_way_to_bigger_models() {
    let fetched = || {
        let world = World::new();
        world.model(CODER, 15).model(SMALL_CODER, 5).model("SmolLM2-135M-Instruct.Q4_1.gguf", 1);
        world
    };
    fetched().check(CODER, SMALL_CODER);
    fetched().model("qwen2.5-coder-7b-instruct.gguf", 70).check("qwen2.5-coder-7b-instruct.gguf", SMALL_CODER);
    fetched().model("LFM2-2.6B-Q8_0.gguf", 26).check("LFM2-2.6B-Q8_0.gguf", SMALL_CODER);
    fetched().model("LFM2.5-24B-A2B-Q4_K_M.gguf", 2).check("LFM2.5-24B-A2B-Q4_K_M.gguf", SMALL_CODER);
    fetched().model("LFM2.5-1.2B-Instruct-Q8_0.gguf", 12).check(CODER, "LFM2.5-1.2B-Instruct-Q8_0.gguf");
}

#[test]
fn the_small_default_routes_for_no_other_model() {
    let world = World::new();
    world.model("SmolLM2-135M-Instruct.Q4_1.gguf", 1).model("big.gguf", 40).check("big.gguf", "big.gguf");
    let world = World::new();
    world.model("SmolLM2-135M-Instruct.Q4_1.gguf", 1).model(CODER, 15).check(CODER, CODER);
    world.model("big.gguf", 90).check("big.gguf", CODER);
}

#[test]
fn the_kv_type_is_that_of_the_candidate_unless_the_role_sets_one() {
    let kept = |file: &str, manifest: &str| {
        let world = World::new();
        world.model(file, 4).manifest(manifest);
        let registry = world.open();
        [Role::Planner, Role::Router].map(|role| registry.get(role).unwrap().kv_type.clone())
    };
    assert_eq!(kept("LFM2-24B-A2B-Q4_K_M.gguf", ""), ["q8_0", "q8_0"]);
    assert_eq!(kept("qwen.gguf", ""), [KV_TYPE_DEFAULT, KV_TYPE_DEFAULT]);
    assert_eq!(kept("LFM2-24B-A2B-Q4_K_M.gguf", "[router]\nkv_type = \"q4_0\""), ["q8_0", "q4_0"]);
}

#[test]
fn models_toml_overrides_names_and_settings() {
    let world = World::new();
    world.model("big.gguf", 40).model("small.gguf", 10);
    world.manifest("[planner]\nfile = \"small.gguf\"\ncontext = 2048\nslots = 1\nkv_type = \"f16\"");
    world.check("small.gguf", "small.gguf");
    let registry = world.open();
    let spec = registry.get(Role::Planner).unwrap();
    assert_eq!((spec.context, spec.slots, spec.kv_type.as_str()), (2048, 1, "f16"));
    let router = registry.get(Role::Router).unwrap();
    assert_eq!((router.context, router.slots, router.kv_type.as_str()), (8192, 2, KV_TYPE_DEFAULT));
}

#[test]
fn a_missing_file_of_models_toml_is_named_with_its_role() {
    let world = World::new();
    world.model("there.gguf", 8).manifest("[planner]\nfile = \"gone.gguf\"");
    world.check_error(Role::Planner, &["planner: models.toml names gone.gguf", "looked in", "models pull planner"]);
    assert_eq!(name_of(&world.open().get(Role::Router).unwrap().path), "there.gguf");
}

#[test]
fn a_broken_file_that_no_role_needs_is_skipped_with_a_note() {
    let world = World::new();
    world.model("good.gguf", 8);
    let part = HeaderWriter::new("llama").u16("split.no", 0).u16("split.count", 2).finish();
    fs::write(world.dir().join("part-00001-of-00002.gguf"), part).unwrap();
    fs::write(world.dir().join("LFM2-24B-A2B.gguf"), "GGUF").unwrap();
    world.check("good.gguf", "good.gguf");
    let notes = world.open().notes.join("\n");
    assert!(notes.contains("LFM2-24B-A2B.gguf: ends inside its header"), "{notes}");
    assert!(notes.contains("part-00002-of-00002.gguf is missing; fetch that too"), "{notes}");
}

#[test]
fn a_checksum_of_models_toml_may_be_in_capitals() {
    let world = World::new();
    world.model("m.gguf", 8);
    let right = digest::sha256(&world.dir().join("m.gguf"), &world.root.path().join("sha256.json")).unwrap();
    world.manifest(&format!("[planner]\nfile = \"m.gguf\"\nsha256 = \"{}\"", right.to_uppercase()));
    world.check("m.gguf", "m.gguf");
}

#[test]
fn an_embedder_is_the_named_one_then_the_default_wherever_it_is_then_the_nearest_other() {
    let world = World::new();
    world.model("m.gguf", 8);
    assert_eq!(world.open().embedder(), None);
    assert_eq!(world.open().embedder_looked.len(), 4);
    let found = || world.open().embedder().unwrap().path.canonicalize().unwrap();
    for place in ["user/bge", "place/e5", "place/models/gte"] {
        let nearer = world.embedder(place);
        assert_eq!(found(), nearer.canonicalize().unwrap());
    }
    let hub = "hub/models--sentence-transformers--all-MiniLM-L6-v2";
    let cached = world.embedder(&format!("{hub}/snapshots/abc"));
    fs::create_dir_all(world.root.path().join(hub).join("refs")).unwrap();
    fs::write(world.root.path().join(hub).join("refs/main"), "abc").unwrap();
    assert_eq!(found(), cached.canonicalize().unwrap());
    let default = world.embedder("user/all-MiniLM-L6-v2");
    assert_eq!(found(), default.canonicalize().unwrap());
    world.manifest("[embedder]\nfile = \"gte\"");
    assert!(found().ends_with("models/gte"));
    world.manifest("[embedder]\nmodels = [{ file = \"gone\" }, { file = \"e5\" }]");
    assert!(found().ends_with("place/e5"));
    let names: Vec<String> = world.open().embedders().into_iter().map(|spec| spec.name).collect();
    assert_eq!(names, ["gte", "e5", "all-MiniLM-L6-v2", "bge"]);
}

#[test]
fn a_gguf_embedder_is_found_after_the_folders_of_a_place_and_by_its_name() {
    let world = World::new();
    world.model("m.gguf", 8);
    let gguf = |path: &Path, pooling: Option<u32>| {
        let mut writer = HeaderWriter::new("bert").text("general.name", "bge-small-en-v1.5");
        if let Some(pooling) = pooling {
            writer = writer.u32("bert.pooling_type", pooling);
        }
        writer.tensor("w", &[64, 2], TensorType::by_name("f32").unwrap());
        fs::write(path, writer.finish_with_zeros()).unwrap();
    };
    let found = || world.open().embedder().map(|spec| spec.name.clone());
    let dir = world.dir();
    // It ranks, and it does not state its pooling: neither is accepted without being requested.
    gguf(&dir.join("ranks.gguf"), Some(4));
    gguf(&dir.join("unstated.gguf"), None);
    assert_eq!(found(), None);
    gguf(&world.root.path().join("user/far.gguf"), Some(1));
    assert_eq!(found().as_deref(), Some("far.gguf"));
    gguf(&dir.join("z.gguf"), Some(2));
    assert_eq!(found().as_deref(), Some("z.gguf"));
    world.embedder("place/models/gte");
    assert_eq!(found().as_deref(), Some("gte"));
    let named = |text: &str| world.manifest(&format!("[embedder]\n{text}")).open().embedder().cloned();
    let spec = named("file = \"Z*.gguf\"\nprompts = { query = \"q: \" }").unwrap();
    assert_eq!((spec.path.clone(), spec.weights), (dir.join("z.gguf"), vec![dir.join("z.gguf")]));
    assert_eq!(spec.wishes.prompts.unwrap(), PromptTable { query: "q: ".into(), ..PromptTable::default() });
    // A file specified explicitly counts whatever it contains; the embedder reports what is wrong
    // with it.
    assert_eq!(named("file = \"m.gguf\"").unwrap().path, dir.join("m.gguf"));
    let spec = named("file = \"unstated.gguf\"\npooling = \"cls\"").unwrap();
    assert_eq!((spec.name.as_str(), spec.wishes.pooling), ("unstated.gguf", Some(Pooling::First)));
    assert_eq!(named("file = \"gone.gguf\""), None);
}

#[test]
fn an_embedder_of_ollama_is_found_and_has_ollamas_name() {
    let world = World::new();
    let store = world.root.path().join("ollama");
    let blob = store.join(format!("blobs/sha256-{}", "a".repeat(64)));
    let manifest = store.join("manifests/registry.ollama.ai/library/nomic-embed-text/latest");
    fs::create_dir_all(blob.parent().unwrap()).unwrap();
    fs::create_dir_all(manifest.parent().unwrap()).unwrap();
    let layer =
        format!(r#"{{"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:{}"}}"#, "a".repeat(64));
    fs::write(&manifest, format!(r#"{{"schemaVersion": 2, "layers": [{layer}]}}"#)).unwrap();
    let mut writer = HeaderWriter::new("nomic-bert");
    writer.tensor("w", &[64, 2], TensorType::by_name("f32").unwrap());
    fs::write(&blob, writer.finish_with_zeros()).unwrap();
    let at = |name: &str| world.root.path().join(name);
    let open = |stores: Vec<(&'static str, PathBuf)>, models_file: Option<PathBuf>| {
        let config = ModelSettings { models_file, ..ModelSettings::default() };
        let places = Places { user_dir: at("user"), hub_cache: at("hub"), sha256_memory: at("sha256.json"), stores };
        Registry::open_at(&config, places).unwrap()
    };
    let stores = || vec![("Ollama", store.clone())];
    assert_eq!(open(Vec::new(), None).embedder(), None);
    let spec = open(stores(), None).embedder().unwrap().clone();
    assert_eq!((spec.name.as_str(), &spec.path), ("nomic-embed-text:latest", &blob));
    // The default in the user's folder comes first, unless models.toml names Ollama's model.
    world.embedder("user/all-MiniLM-L6-v2");
    assert_eq!(open(stores(), None).embedder().unwrap().name, "all-MiniLM-L6-v2");
    fs::write(at("models.toml"), "[embedder]\nfile = \"nomic-embed-text\"").unwrap();
    assert_eq!(open(stores(), Some(at("models.toml"))).embedder().unwrap().path, blob);
}

#[test]
fn the_hub_cache_serves_a_user_who_named_no_folder() {
    let world = World::new();
    world.pulled("LiquidAI--LFM2-8B-A1B-GGUF", "LFM2-8B-A1B-Q4_K_M.gguf", 8);
    let registry = world.try_open(None).unwrap();
    assert_eq!(name_of(&registry.get(Role::Planner).unwrap().path), "LFM2-8B-A1B-Q4_K_M.gguf");
    world.model("mine.gguf", 4).check("mine.gguf", "mine.gguf");
}

#[test]
fn a_pulled_model_is_not_passed_over_for_a_smaller_one_in_the_users_folder() {
    let world = World::new();
    let user = world.root.path().join("user");
    world.pulled("Qwen--Qwen2.5-Coder-1.5B-Instruct-GGUF", &CODER.to_lowercase(), 15);
    world.model("SmolLM2-135M-Instruct.Q4_1.gguf", 1);
    fs::rename(world.dir().join("SmolLM2-135M-Instruct.Q4_1.gguf"), user.join("SmolLM2-135M-Instruct.Q4_1.gguf"))
        .unwrap();
    let planner = |world: &World| name_of(&world.try_open(None).unwrap().get(Role::Planner).unwrap().path);
    assert_eq!(planner(&world), CODER.to_lowercase());
    world.model("mine-7b.gguf", 70);
    fs::rename(world.dir().join("mine-7b.gguf"), user.join("mine-7b.gguf")).unwrap();
    assert_eq!(planner(&world), "mine-7b.gguf");
}

#[test]
fn a_bare_name_of_a_model_folder_is_a_place_with_a_folder_above_it() {
    let here = std::env::current_dir().unwrap();
    let folder = |name: &str| {
        model_folder(&ModelSettings { model_dir: Some(name.into()), ..ModelSettings::default() }, here.clone())
    };
    assert_eq!(folder("no-such-models"), here.join("no-such-models"));
    assert_eq!(folder("."), here);
    assert_eq!(model_folder(&ModelSettings::default(), here.clone()), here);
    let config = ModelSettings { model_dir: Some("no-such-models".into()), ..ModelSettings::default() };
    let told = Registry::open(config).unwrap_err().to_string();
    assert!(told.contains(&here.join("no-such-models").display().to_string()), "{told}");
}

#[test]
fn a_role_that_is_left_out_falls_back_to_the_planner_and_one_that_is_set_has_its_own_file() {
    let world = World::new();
    world.model("big.gguf", 40).model("small.gguf", 10);
    let of = |registry: &Registry, role| name_of(&registry.get(role).unwrap().path);
    let registry = world.open();
    for role in Role::EXTRA {
        assert!(!registry.plays(role));
        assert_eq!(of(&registry, role), "big.gguf");
    }
    world.manifest("[quick]\nfile = \"small.gguf\"\ncontext = 1024\n[verifier]\nfile = \"big.gguf\"");
    let registry = world.open();
    assert!(registry.plays(Role::Quick) && registry.plays(Role::Verifier) && !registry.plays(Role::Thinker));
    assert_eq!(
        [Role::Quick, Role::Verifier, Role::Thinker].map(|role| of(&registry, role)),
        ["small.gguf", "big.gguf", "big.gguf"]
    );
    assert_eq!(registry.get(Role::Quick).unwrap().context, 1024);
    world.manifest("[thinker]\nfile = \"gone.gguf\"");
    world.check_error(Role::Thinker, &["thinker", "gone.gguf"]);
}
