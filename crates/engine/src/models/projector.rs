//! Finds the projector file (`mmproj`) that lets a model see: next to the model, with a matching embedding width.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Found;
use super::gguf::{self, Header, Kind};

/// A projector that belongs to a model.
#[derive(Clone, Debug)]
pub struct Projector {
    pub path: PathBuf,
    pub header: Arc<Header>,
}

/// The projectors next to a model.
#[derive(Clone, Debug, Default)]
pub struct Beside {
    /// The projector to use.
    pub projector: Option<Projector>,
    /// Why each other file cannot be used, such as `mmproj-a.gguf gives vectors of 1152 numbers, and
    /// m.gguf takes 2048`.
    pub unfit: Vec<String>,
}

/// Families whose pictures llama.cpp's preprocessor cannot lay out without the surrounding prompt.
const NEED_THE_PROMPT: [&str; 2] = ["deepseek4v", "hunyuanvl"];

/// The projector among `files` for the model of `header`: in its folder, with vectors of its width.
/// If there are several, the one whose name has most in common with the model's name. If the model
/// is not among `files`, because models.toml gives it a path elsewhere, its folder is read.
pub fn beside(header: &Header, files: &[Found]) -> Beside {
    let folder = header.path.parent();
    let near: Vec<Arc<Header>> = if files.iter().any(|file| file.path == header.path) {
        let near = files.iter().filter(|file| file.path.parent() == folder);
        near.filter_map(|file| file.header.as_ref().ok().cloned()).collect()
    } else {
        folder.map(read).unwrap_or_default()
    };
    let projectors = near.iter().filter(|found| found.kind == Kind::Projector);
    let mut found = Beside::default();
    let mut best = None;
    for one in projectors {
        match fits(one, header) {
            Ok(()) => {
                let rank = common(&name_of(&one.path), &name_of(&header.path));
                if best.is_none_or(|best| rank > best) {
                    best = Some(rank);
                    found.projector = Some(Projector { path: one.path.clone(), header: one.clone() });
                }
            }
            Err(why) => found.unfit.push(why),
        }
    }
    found
}

/// The headers of the GGUF files directly in `folder`; unreadable ones are omitted.
fn read(folder: &Path) -> Vec<Arc<Header>> {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_gguf = |path: &PathBuf| path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("gguf"));
    files.filter(is_gguf).filter_map(|path| gguf::inspect(&path).ok().map(Arc::new)).collect()
}

/// Whether the projector `one` can give pictures to the model of `header`; the error says why not.
fn fits(one: &Header, header: &Header) -> Result<(), String> {
    let name = name_of(&one.path);
    let Some(sight) = &one.sight else {
        return Err(format!("{name} is for sound, not for pictures"));
    };
    if NEED_THE_PROMPT.contains(&sight.projector.as_str()) {
        return Err(format!("{name} is of the kind {}, which this program does not support", sight.projector));
    }
    let (gives, takes) = (sight.width, header.embedding_length);
    if gives != 0 && gives != takes {
        let model = name_of(&header.path);
        return Err(format!("{name} gives vectors of {gives} numbers, but {model} takes {takes}"));
    }
    Ok(())
}

/// Length of the longest substring that the two names share, ignoring case.
fn common(one: &str, other: &str) -> usize {
    let (one, other) = (one.to_lowercase().into_bytes(), other.to_lowercase().into_bytes());
    let mut longest = 0;
    let mut before = vec![0; other.len() + 1];
    for letter in &one {
        let mut now = vec![0; other.len() + 1];
        for (at, found) in other.iter().enumerate() {
            if letter == found {
                now[at + 1] = before[at] + 1;
                longest = longest.max(now[at + 1]);
            }
        }
        before = now;
    }
    longest
}

fn name_of(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

#[cfg(test)]
pub mod tests {
    use std::fs;

    use super::*;
    use crate::models::gguf::inspect;
    use crate::models::gguf::write::HeaderWriter;

    fn file(path: &Path, writer: HeaderWriter) -> Found {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, writer.finish_with_zeros()).unwrap();
        let header = inspect(path).map(Arc::new).map_err(Arc::new);
        Found { path: path.to_owned(), name: name_of(path), from: None, header }
    }

    /// Sizes in the projector written by [`write_tiny`]: pixels per side of its image and of a
    /// patch, hidden and inner size.
    const IMAGE: u64 = 56;
    const PATCH: u64 = 14;
    const HIDDEN: u64 = 64;
    const INNER: u64 = 128;
    /// Number of vectors that it makes from a picture.
    pub const VECTORS: usize = ((IMAGE / PATCH) * (IMAGE / PATCH)) as usize;

    /// Writes a projector of kind `mlp` with random weights for a model of this width. A model's
    /// output for its vectors is meaningless.
    pub fn write_tiny(path: &Path, width: u64) {
        write_sized(path, width, IMAGE);
    }

    /// The same, for pictures with sides of this many pixels.
    pub fn write_sized(path: &Path, width: u64, side: u64) {
        let mut tensors: Vec<(String, Vec<u64>)> = vec![
            ("v.patch_embd.weight".into(), vec![PATCH, PATCH, 3, HIDDEN]),
            ("v.position_embd.weight".into(), vec![HIDDEN, (side / PATCH) * (side / PATCH)]),
            ("mm.0.weight".into(), vec![HIDDEN, width]),
            ("mm.0.bias".into(), vec![width]),
            ("mm.2.weight".into(), vec![width, width]),
            ("mm.2.bias".into(), vec![width]),
        ];
        for layer in 0..2 {
            let mut add = |name: &str, shape: &[u64]| tensors.push((format!("v.blk.{layer}.{name}"), shape.to_vec()));
            for name in ["attn_q", "attn_k", "attn_v", "attn_out"] {
                add(&format!("{name}.weight"), &[HIDDEN, HIDDEN]);
            }
            add("ffn_up.weight", &[HIDDEN, INNER]);
            add("ffn_down.weight", &[INNER, HIDDEN]);
            ["ln1.weight", "ln1.bias", "ln2.weight", "ln2.bias"].iter().for_each(|name| add(name, &[HIDDEN]));
        }
        let number =
            |writer: HeaderWriter, (key, value): &(&str, u64)| writer.u32(&format!("clip.vision.{key}"), *value as u32);
        let sizes = [
            ("image_size", side),
            ("patch_size", PATCH),
            ("embedding_length", HIDDEN),
            ("feed_forward_length", INNER),
            ("block_count", 2),
            ("projection_dim", width),
            ("attention.head_count", 4),
        ];
        let writer = HeaderWriter::new("clip")
            .text("general.type", "mmproj")
            .bool("clip.has_vision_encoder", true)
            .text("clip.projector_type", "mlp")
            .bool("clip.use_gelu", true)
            .f32("clip.vision.attention.layer_norm_epsilon", 1e-5)
            .f32s("clip.vision.image_mean", &[0.5; 3])
            .f32s("clip.vision.image_std", &[0.25; 3]);
        let mut writer = sizes.iter().fold(writer, number);
        let f32s = crate::models::gguf::TensorType::by_name("F32").unwrap();
        tensors.iter().for_each(|(name, shape)| writer.tensor(name, shape, f32s));
        let mut bytes = writer.finish();
        let mut random = fastrand::Rng::with_seed(40);
        for (name, shape) in &tensors {
            let scale = 1.7 / (shape[0] as f32).sqrt();
            for _ in 0..shape.iter().product() {
                let value = if name.contains(".ln") { 1.0 } else { (random.f32() * 2.0 - 1.0) * scale };
                bytes.extend_from_slice(&value.to_le_bytes());
            }
            bytes.resize(bytes.len().next_multiple_of(32), 0);
        }
        fs::write(path, bytes).unwrap();
    }

    fn eyes(width: u32, kind: &str) -> HeaderWriter {
        HeaderWriter::new("clip")
            .bool("clip.has_vision_encoder", true)
            .text("clip.projector_type", kind)
            .u32("clip.vision.projection_dim", width)
    }

    #[test]
    fn an_image_projector_is_paired_by_folder_width_and_name() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let model = HeaderWriter::new("llama").u32("llama.block_count", 2).u32("llama.embedding_length", 64);
        let files = [
            file(&at("Small-2B.gguf"), model),
            file(&at("mmproj-Other-7B.gguf"), eyes(64, "mlp")),
            file(&at("mmproj-Small-2B-f16.gguf"), eyes(64, "mlp")),
            file(&at("mmproj-wide.gguf"), eyes(128, "mlp")),
            file(&at("mmproj-ears.gguf"), HeaderWriter::new("clip").bool("clip.has_audio_encoder", true)),
            file(&at("mmproj-odd.gguf"), eyes(64, "hunyuanvl")),
            file(&at("elsewhere/mmproj-Small-2B.gguf"), eyes(64, "mlp")),
        ];
        let header = files[0].header.clone().unwrap();
        let found = beside(&header, &files);
        assert_eq!(found.projector.unwrap().path, at("mmproj-Small-2B-f16.gguf"));
        assert_eq!(
            found.unfit,
            [
                "mmproj-wide.gguf gives vectors of 128 numbers, but Small-2B.gguf takes 64",
                "mmproj-ears.gguf is for sound, not for pictures",
                "mmproj-odd.gguf is of the kind hunyuanvl, which this program does not support",
            ]
        );
        assert!(beside(&header, &files[..1]).projector.is_none());
        let not_listed = beside(&header, &files[1..]).projector.unwrap();
        assert_eq!(not_listed.path, at("mmproj-Small-2B-f16.gguf"));
        assert!(files[1..].iter().all(|file| !file.header.as_ref().unwrap().kind.writes_text()));
    }

    #[test]
    fn the_width_of_an_image_projector_is_that_of_its_last_matrix() {
        let dir = tempfile::tempdir().unwrap();
        let check = |kind: &str, tensors: &[(&str, &[u64])], expected: u32| {
            let mut writer = eyes(7, kind);
            let f32s = crate::models::gguf::TensorType::by_name("F32").unwrap();
            tensors.iter().for_each(|(name, shape)| writer.tensor(name, shape, f32s));
            let found = file(&dir.path().join("p.gguf"), writer);
            assert_eq!(found.header.unwrap().sight.as_ref().unwrap().width, expected, "{kind}");
        };
        check("mlp", &[("mm.0.weight", &[32, 48]), ("mm.2.weight", &[48, 96])], 96);
        check("gemma3", &[("mm.input_projection.weight", &[64, 32])], 64);
        check("gemma4v", &[("mm.input_projection.weight", &[32, 64])], 64);
        check("idefics3", &[("mm.model.fc.weight", &[32, 80])], 80);
        check("other", &[], 7);
    }
}
