//! Reserves memory for a model, or refuses and says which settings would make it fit.

use super::place::{self, Footprint, Settings};
use super::{Estimate, Ledger, LoadSettings, Refused, Reservation};
use crate::models::ModelSpec;

/// Reserves the memory that `spec` will need; nothing is allocated. A refusal names the parts of that memory and a way out.
pub fn admit(ledger: &Ledger, spec: &ModelSpec, settings: &Settings) -> Result<(Reservation, Footprint), Refused> {
    let need = place::need(&spec.header, settings, &ledger.machine());
    match ledger.reserve(&spec.role.to_string(), need.all()) {
        Ok(reservation) => Ok((reservation, need)),
        Err(refused) => {
            let way_out = way_out(spec, &settings.wanted, &refused);
            let parts = Estimate::of(&spec.header, &settings.wanted).to_string();
            Err(Refused { parts, way_out, ..refused })
        }
    }
}

/// Advice after a refusal: the mildest reduction of settings that would fit, else a smaller model.
fn way_out(spec: &ModelSpec, wanted: &LoadSettings, refused: &Refused) -> String {
    let one_slot = LoadSettings { slots: 1, ..wanted.clone() };
    let short = LoadSettings { context: wanted.context.min(2048), ..one_slot.clone() };
    let rungs = [
        (one_slot, "set slots = 1".to_owned()),
        (short.clone(), format!("set slots = 1 and context = {}", short.context)),
    ];
    let fits = |smaller: &LoadSettings| Estimate::of(&spec.header, smaller).total() <= refused.free;
    match rungs.iter().find(|(smaller, _)| smaller != wanted && fits(smaller)) {
        Some((_, words)) => format!("raise --budget, or {words} for [{}] in models.toml", spec.role),
        None => format!("raise --budget, or choose a smaller model for [{}] in models.toml", spec.role),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::base::Bytes;
    use crate::models::Role;
    use crate::models::gguf::{TensorType, inspect, write::HeaderWriter};

    /// 64 MiB of weights; keys and values take 1 MiB for 1,024 tokens at f16.
    fn spec(dir: &Path) -> ModelSpec {
        let mut writer = HeaderWriter::new("llama")
            .u32("llama.block_count", 4)
            .u32("llama.embedding_length", 64)
            .u32("llama.attention.head_count", 1);
        writer.tensor("w", &[1024, 16384], TensorType::by_name("f32").unwrap());
        let data = writer.data_bytes();
        let header = writer.finish();
        let path = dir.join("m.gguf");
        std::fs::write(&path, &header).unwrap();
        std::fs::File::options().write(true).open(&path).unwrap().set_len(header.len() as u64 + data).unwrap();
        ModelSpec {
            role: Role::Planner,
            header: Arc::new(inspect(&path).unwrap()),
            path,
            dialect: "auto".into(),
            context: 8192,
            slots: 2,
            kv_type: "f16".into(),
            gpu_layers: None,
            keep_alive: Duration::ZERO,
            pinned: false,
            capable: None,
            tier: None,
            lora: Vec::new(),
            sha256: None,
        }
    }

    fn settings(spec: &ModelSpec) -> Settings {
        let kv_type = "f16".into();
        let wanted = LoadSettings {
            context: 8192,
            slots: 2,
            kv_type,
            rows: 54,
            outputs: 2,
            repack: true,
            marks: 0,
            swa_full: true,
        };
        Settings::on_host(&spec.header, wanted)
    }

    fn check(free: Bytes, expected: &str) {
        let dir = tempfile::tempdir().unwrap();
        let spec = spec(dir.path());
        let refused = admit(&Ledger::new(free), &spec, &settings(&spec)).unwrap_err().to_string();
        assert!(
            refused.starts_with("planner needs 88.") && refused.contains("weights 64.0 MiB, KV 16.0 MiB"),
            "{refused}"
        );
        assert!(refused.ends_with(expected), "`{refused}` does not end with `{expected}`");
    }

    #[test]
    fn a_refusal_names_the_mildest_setting_that_fits() {
        check(Bytes::mib(82), "raise --budget, or set slots = 1 for [planner] in models.toml");
        check(Bytes::mib(74), "raise --budget, or set slots = 1 and context = 2048 for [planner] in models.toml");
        check(Bytes::mib(50), "raise --budget, or choose a smaller model for [planner] in models.toml");
    }

    #[test]
    fn a_model_that_fits_is_reserved_under_its_role() {
        let dir = tempfile::tempdir().unwrap();
        let ledger = Ledger::new(Bytes::mib(100));
        let spec = spec(dir.path());
        let (_held, need) = admit(&ledger, &spec, &settings(&spec)).unwrap();
        assert_eq!(ledger.entries()[0].label, "planner");
        assert_eq!((ledger.free() + need.all()).host, Bytes::mib(100));
    }
}
