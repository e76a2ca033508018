//! `monobloc fit`: its figures for known models and machines, and its errors for invalid input.
//!
//! The model files here consist of a header and a hole (sparse file), because only the header is
//! read.

use std::fs;
use std::path::{Path, PathBuf};

use monobloc::models::gguf::TensorType;
use monobloc::models::gguf::write::HeaderWriter;
use monobloc::synth::Shape;
use monobloc::synth::shape::Fill;
use serde_json::Value;

use crate::cli::{Project, Run};
use crate::models::smollm;

/// Writes the header of an LFM2 of `shape` with matrices of type `kind`.
fn hollow(shape: Shape, kind: &str, path: PathBuf) -> PathBuf {
    let plan = shape.blueprint(65_536);
    let mut writer = plan
        .header()
        .text("general.name", &format!("{shape} {kind}"))
        .u32(&format!("{}.vocab_size", plan.architecture), 65_536)
        .text("tokenizer.chat_template", "<|im_start|>{{ messages }}");
    for tensor in plan.tensors {
        let kind = if tensor.fill == Fill::Quantised { kind } else { "F32" };
        writer.tensor(&tensor.name, &tensor.shape, TensorType::by_name(kind).expect("a type"));
    }
    write(writer, path)
}

/// Writes the header of Qwen2.5-14B as Q4_K_M: 48 layers with 8 key/value heads of length 128.
fn qwen_14b(path: PathBuf) -> PathBuf {
    let mut writer = HeaderWriter::new("qwen2")
        .u32("qwen2.block_count", 48)
        .u32("qwen2.context_length", 32_768)
        .u32("qwen2.embedding_length", 5120)
        .u32("qwen2.feed_forward_length", 13_824)
        .u32("qwen2.attention.head_count", 40)
        .u32("qwen2.attention.head_count_kv", 8)
        .u32("qwen2.vocab_size", 152_064);
    let (q4, q6) = (TensorType::by_name("Q4_K").expect("a type"), TensorType::by_name("Q6_K").expect("a type"));
    writer.tensor("token_embd.weight", &[5120, 152_064], q4);
    writer.tensor("output.weight", &[5120, 152_064], q6);
    for layer in 0..48 {
        // Q4_K_M stores half of these two matrices in six bits.
        let better = if layer % 2 == 0 { q6 } else { q4 };
        let mut add =
            |name: &str, shape: &[u64], kind| writer.tensor(&format!("blk.{layer}.{name}.weight"), shape, kind);
        add("attn_q", &[5120, 5120], q4);
        add("attn_k", &[5120, 1024], q4);
        add("attn_v", &[5120, 1024], better);
        add("attn_output", &[5120, 5120], q4);
        add("ffn_gate", &[5120, 13_824], q4);
        add("ffn_up", &[5120, 13_824], q4);
        add("ffn_down", &[13_824, 5120], better);
    }
    write(writer, path)
}

fn write(writer: HeaderWriter, path: PathBuf) -> PathBuf {
    let data = writer.data_bytes();
    let header = writer.finish();
    fs::write(&path, &header).expect("a file");
    let file = fs::File::options().write(true).open(&path).expect("the file");
    file.set_len(header.len() as u64 + data).expect("a hole");
    path
}

fn fit(project: &Project, arguments: &[&str]) -> Value {
    let arguments = [&["fit", "--json"], arguments].concat();
    Run::new(project, &arguments).end().succeeded().lines().remove(0)
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path of letters")
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is a number"))
}

fn about(value: &Value, expected: f64, tolerance: f64) {
    assert!((number(value) / expected - 1.0).abs() <= tolerance, "{value} is not about {expected}");
}

#[test]
fn a_14b_in_16_gb_gives_the_reference_figures() {
    let project = Project::todo();
    let file = qwen_14b(project.beside("qwen.gguf"));
    let budget =
        ["--budget", "16GB", "--device", "cpu", "--kv-type", "f16", "--overhead", "0.7GB", "--activations", "1GB"];
    // Without repacking, matrices are stored as in the file, as on a GPU.
    let report = fit(&project, &[&[text(&file), "--no-repack"], &budget[..]].concat());
    let model = &report["models"][0];
    about(&report["budget_bytes"], 16e9, 0.001);
    about(&model["weights_bytes"], 9.0e9, 0.03);
    about(&report["overhead_bytes"], 0.7e9, 0.001);
    about(&model["compute_bytes"], 1.0e9, 0.001);
    about(&model["available_for_kv_bytes"], 5.3e9, 0.05);
    about(&model["kv_bytes_per_token"]["f16"], 0.19e6, 0.05);
    about(&model["longest_context"]["1"], 27_000.0, 0.05);
    about(&model["longest_context"]["2"], 13_500.0, 0.05);
    about(&model["longest_context"]["4"], 6_750.0, 0.05);
    assert_eq!((&model["advice"]["2"], &model["advice"]["4"]), (&"recommended".into(), &"risky".into()));
    // The recipe stands for the same values, and an option given with it takes precedence.
    assert_eq!(fit(&project, &[text(&file), "--recipe", "card-16gb"]), report);
    let wider = fit(&project, &[text(&file), "--recipe", "card-16gb", "--budget", "24GB"]);
    about(&wider["budget_bytes"], 24e9, 0.001);
}

#[test]
fn a_hybrid_has_a_kv_cache_in_its_attention_layers_only() {
    let project = Project::todo();
    let file = hollow(Shape::Lfm2_24bA2b, "Q4_0", project.beside("24b.gguf"));
    let report = fit(&project, &[text(&file), "--device", "cpu:32GiB"]);
    let model = &report["models"][0];
    let expected = serde_json::json!({ "f16": 20_480, "q8_0": 10_880, "q4_0": 5_760 });
    assert_eq!(model["kv_bytes_per_token"], expected);
    assert_eq!(model["state_bytes_per_slot"], 480 * 1024);
    assert_eq!((&model["rung"], &model["longest_context"]["4"]), (&"as asked".into(), &32_768.into()));
    about(&model["weights_bytes"], 13.43e9, 0.01);
}

#[test]
fn the_kv_type_is_that_of_models_toml_unless_given_as_a_flag() {
    let project = Project::todo();
    let hybrid = hollow(Shape::Lfm2_1_2b, "Q8_0", project.beside("LFM2-1.2B-Q8_0.gguf"));
    let files = [smollm(), hybrid];
    let check = |arguments: &[&str], expected: [&str; 2]| {
        let report = fit(&project, &[&files.each_ref().map(|file| text(file))[..], arguments].concat());
        let found = [0, 1].map(|index| report["models"][index]["kv_type"].clone());
        assert_eq!(found, expected.map(Value::from), "{arguments:?}");
    };
    check(&[], ["f16", "q8_0"]);
    check(&["--kv-type", "q4_0"], ["q4_0", "q4_0"]);
    check(&["--kv-cache-type", "f16"], ["f16", "f16"]);
}

#[test]
fn models_named_together_are_counted_together() {
    let project = Project::todo();
    let one = hollow(Shape::Lfm2_1_2b, "Q8_0", project.beside("one.gguf"));
    let two = hollow(Shape::Lfm2_8bA1b, "Q4_0", project.beside("two.gguf"));
    let device = ["--device", "cpu:16GiB"];
    let alone = number(&fit(&project, &[&[text(&one)], &device[..]].concat())["free_bytes"]);
    let both = fit(&project, &[&[text(&one), text(&two)], &device[..]].concat());
    let second = number(&both["models"][1]["memory"]["host_bytes"]);
    assert_eq!(both["models"].as_array().map(Vec::len), Some(2));
    assert_eq!(number(&both["free_bytes"]), alone - second);
}

#[test]
fn a_projector_beside_a_model_is_counted_and_costs_it_nothing() {
    let project = Project::todo();
    let folder = project.folder("sees");
    let file = hollow(Shape::Lfm2_1_2b, "Q8_0", folder.join("sees.gguf"));
    let report = |arguments: &[&str]| fit(&project, &[&[text(&file), "--device", "cpu:16GiB"], arguments].concat());
    let blind = report(&[]);
    assert_eq!(blind["models"][0]["projector"], Value::Null);
    let mut writer = HeaderWriter::new("clip")
        .text("general.type", "mmproj")
        .bool("clip.has_vision_encoder", true)
        .text("clip.projector_type", "mlp")
        .u32("clip.vision.image_size", 448)
        .u32("clip.vision.patch_size", 14)
        .u32("clip.vision.embedding_length", 1024)
        .u32("clip.vision.feed_forward_length", 4096)
        .u32("clip.vision.block_count", 24)
        .u32("clip.vision.projection_dim", 2048)
        .u32("clip.vision.attention.head_count", 16);
    let matrix = TensorType::by_name("F16").expect("a type");
    (0..24).for_each(|layer| writer.tensor(&format!("v.blk.{layer}.ffn_up.weight"), &[1024, 4096], matrix));
    writer.tensor("mm.2.weight", &[2048, 2048], matrix);
    write(writer, folder.join("mmproj-sees.gguf"));
    let sees = report(&[]);
    let projector = &sees["models"][0]["projector"];
    assert!(projector["file"].as_str().is_some_and(|path| path.ends_with("mmproj-sees.gguf")), "{sees}");
    let bytes = number(&projector["bytes"]);
    assert!(bytes > 2.0 * 24.0 * 1024.0 * 4096.0 && projector["has_room"] == true, "{projector}");
    assert_eq!(number(&blind["free_bytes"]) - number(&sees["free_bytes"]), bytes);
    // With just enough for the model it gives up nothing, and the projector has no room.
    let taken = number(&blind["budget_bytes"]) - number(&blind["free_bytes"]);
    let budget = format!("{}MiB", (taken / f64::from(1 << 20)).ceil());
    let short = report(&["--budget", &budget]);
    assert_eq!(
        (&short["models"][0]["rung"], &short["models"][0]["projector"]["has_room"]),
        (&"as asked".into(), &false.into())
    );
    // In the folder's own roles it is counted as well, and it is not taken for a model.
    let roles = fit(&project, &["--device", "cpu:16GiB", "--model-dir", text(&folder)]);
    assert_eq!(roles["models"][0]["projector"], *projector);
    fs::write(folder.join("models.toml"), format!("[vision]\nfile = \"{}\"\n", text(&smollm()))).expect("models.toml");
    let other = fit(&project, &["--device", "cpu:16GiB", "--model-dir", text(&folder)]);
    assert_eq!(other["models"][0]["projector"], Value::Null, "another model looks at pictures");
}

/// A model folder with these planners and the default router.
fn default_models(project: &Project, planners: &[(Shape, &str, &str)]) -> String {
    let folder = project.folder("models");
    for (shape, kind, name) in planners {
        hollow(*shape, kind, folder.join(name));
    }
    hollow(Shape::Lfm2_1_2b, "Q8_0", folder.join("LFM2-1.2B-Tool-Q8_0.gguf"));
    text(&folder).to_owned()
}

const LARGE: (Shape, &str, &str) = (Shape::Lfm2_24bA2b, "Q4_0", "LFM2-24B-A2B-Q4_0.gguf");
const SMALL: (Shape, &str, &str) = (Shape::Lfm2_8bA1b, "Q4_0", "LFM2-8B-A1B-Q4_0.gguf");
const THREE_BITS: (Shape, &str, &str) = (Shape::Lfm2_24bA2b, "IQ3_XXS", "LFM2-24B-A2B-IQ3_XXS.gguf");

/// The planner's file, and the settings reduced to make it fit, on `device`.
fn planner_on(device: &str, planners: &[(Shape, &str, &str)]) -> (Value, Value) {
    let project = Project::todo();
    let folder = default_models(&project, planners);
    let report = fit(&project, &["--device", device, "--model-dir", &folder]);
    (report["models"][0].clone(), report)
}

#[test]
fn a_mac_of_16_gb_runs_the_8b_or_the_24b_in_three_bits() {
    let (planner, report) = planner_on("metal:16GiB", &[LARGE, SMALL]);
    assert!(planner["file"].as_str().unwrap_or_default().ends_with("LFM2-8B-A1B-Q4_0.gguf"), "{planner}");
    assert!(planner["rung"].as_str().unwrap_or_default().contains("a smaller model"), "{planner}");
    assert!(report["hint"].as_str().unwrap_or_default().contains("iogpu.wired_limit_mb="), "{report}");
    assert_eq!(report["models"].as_array().map(Vec::len), Some(2), "the router fits too");
    let (planner, report) = planner_on("metal:16GiB", &[LARGE, SMALL, THREE_BITS]);
    assert!(planner["file"].as_str().unwrap_or_default().ends_with("IQ3_XXS.gguf"), "{planner}");
    assert!(number(&report["free_bytes"]) > 0.0);
}

#[test]
fn a_card_of_8_gb_leaves_experts_to_the_processor() {
    let (planner, report) = planner_on("cuda:8GiB+16GiB", &[LARGE, SMALL]);
    assert!(planner["file"].as_str().unwrap_or_default().ends_with("LFM2-24B-A2B-Q4_0.gguf"), "{planner}");
    assert!(planner["rung"].as_str().unwrap_or_default().contains("experts of "), "{planner}");
    assert_eq!((&planner["context"], &planner["slots"]), (&8192.into(), &2.into()));
    assert_eq!(planner["gpu_layers"], 41, "only experts moved");
    let device =
        report["models"].as_array().expect("models").iter().map(|model| number(&model["memory"]["device_bytes"]));
    assert!(device.sum::<f64>() <= number(&report["budget_bytes"]));
}

#[test]
fn a_card_of_16_gb_runs_the_pair() {
    let (planner, report) = planner_on("cuda:16GiB+16GiB", &[LARGE, SMALL]);
    assert!(planner["file"].as_str().unwrap_or_default().ends_with("LFM2-24B-A2B-Q4_0.gguf"), "{planner}");
    assert_eq!(report["models"].as_array().map(Vec::len), Some(2), "{report}");
    assert_eq!((&planner["context"], &planner["slots"]), (&8192.into(), &2.into()));
}

#[test]
fn a_router_with_no_layers_on_the_card_stays_off_it() {
    let project = Project::todo();
    let folder = default_models(&project, &[LARGE]);
    let settings = "[router]\nfile = \"LFM2-1.2B-Tool-Q8_0.gguf\"\ngpu_layers = 0\n";
    fs::write(Path::new(&folder).join("models.toml"), settings).expect("models.toml");
    let report = fit(&project, &["--device", "cuda:24GiB+16GiB", "--model-dir", &folder]);
    let (planner, router) = (&report["models"][0], &report["models"][1]);
    assert_eq!((&planner["gpu_layers"], &router["gpu_layers"]), (&41.into(), &0.into()));
    assert_eq!(router["memory"]["device_bytes"], 0);
    assert!(number(&router["memory"]["host_bytes"]) > 1.2e9);
}

#[test]
fn a_router_size_model_leaves_most_of_4_gb_in_the_lite_profile() {
    let project = Project::todo();
    let file = hollow(Shape::Lfm2_1_2b, "Q8_0", project.beside("router.gguf"));
    let report = fit(&project, &[text(&file), "--profile", "lite", "--device", "cpu:16GiB"]);
    let model = &report["models"][0];
    assert_eq!(report["budget_bytes"], 4_000_000_000_u64);
    assert_eq!((&model["slots"], &model["rung"]), (&1.into(), &"as asked".into()));
    let rest = number(&report["overhead_bytes"]) + number(&model["memory"]["host_bytes"])
        - number(&model["weights_bytes"])
        - number(&model["kv_bytes"]);
    assert!(rest < 1e9, "{rest} bytes are neither weights nor KV");
}

#[test]
fn bad_files_devices_and_budgets_get_a_clear_error() {
    let project = Project::todo();
    let large = hollow(Shape::Lfm2_24bA2b, "Q4_0", project.beside("24b.gguf"));
    fs::write(project.beside("page.gguf"), "<html></html>").expect("a file");
    let check = |arguments: &[&str], expected: &str| {
        let ended = Run::new(&project, &[&["fit"], arguments].concat()).end();
        assert_eq!((ended.code, ended.err.contains(expected)), (Some(1), true), "{expected}: {ended:#?}");
    };
    check(&["nowhere.gguf"], "nowhere.gguf: cannot be read");
    check(&[text(&project.path())], "is not a GGUF file: it looks like a directory");
    check(&[text(&project.beside("page.gguf"))], "looks like a web page");
    check(&[text(&large), "--device", "gpu"], "`gpu` is not a device; write cpu");
    check(&[text(&large), "--device", "cpu:1GiB"], "more are needed: raise --budget, or use a smaller model");
    check(&[text(&large), "--budget", "1MiB"], "24b on the lowest rung needs 12.");
}
