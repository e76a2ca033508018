//! Creates model headers with tensors for tests, without a file.

use std::collections::BTreeMap;

use super::LoadSettings;
use crate::base::Bytes;
use crate::models::gguf::{Header, Kind, Layer, Sampling, Tensor, TensorType};

/// A hybrid model of `layers` layers, every fourth with attention, with `experts` experts (0: dense) and matrices of type `kind`.
pub fn hybrid(layers: u32, hidden: u64, experts: u32, kind: &str) -> Header {
    let kind = TensorType::by_name(kind).expect("a type of the table");
    let mut tensors = Vec::new();
    let mut add = |name: String, shape: Vec<u64>| {
        let bytes = Bytes(kind.bytes(shape.iter().product()).expect("whole blocks"));
        tensors.push(Tensor { name, kind, shape, bytes, offset: 0 });
    };
    add("token_embd.weight".into(), vec![hidden, 65_536]);
    for layer in 0..layers {
        add(format!("blk.{layer}.mix.weight"), vec![hidden, 4 * hidden]);
        match experts {
            0 => add(format!("blk.{layer}.ffn_up.weight"), vec![hidden, 12 * hidden]),
            experts => add(format!("blk.{layer}.ffn_up_exps.weight"), vec![hidden, 2 * hidden, u64::from(experts)]),
        }
    }
    Header {
        path: format!("hybrid-{layers}-{hidden}-{experts}-{}.gguf", kind.name).into(),
        files: Vec::new(),
        file_bytes: Bytes::ZERO,
        architecture: "lfm2moe".into(),
        kind: Kind::Base,
        name: format!("hybrid-{layers}-{hidden}-{}", kind.name),
        parameters: tensors.iter().map(Tensor::parameters).sum(),
        layers,
        embedding_length: hidden as u32,
        heads: 32,
        kv_heads: (0..layers).map(|layer| if layer % 4 == 2 { 8 } else { 0 }).collect(),
        key_length: 64,
        value_length: 64,
        feed_forward: 4 * hidden as u32,
        experts,
        experts_used: experts.min(4),
        expert_feed_forward: if experts > 0 { hidden as u32 } else { 0 },
        context_train: 32_768,
        vocabulary: 65_536,
        merges: 0,
        sliding_window: None,
        kept: (0..layers)
            .map(|layer| match layer % 4 {
                2 => Layer { key: 8 * 64, value: 8 * 64, ..Layer::default() },
                _ => Layer { state: 2 * hidden as u32, ..Layer::default() },
            })
            .collect(),
        recurrent_work: 0,
        unused_blocks: 0,
        tensors,
        mix: BTreeMap::new(),
        chat_template: None,
        chat_template_tools: None,
        special: Default::default(),
        tokenizer_model: None,
        tokenizer_pre: None,
        bos: None,
        eos: None,
        begin: None,
        labels: Vec::new(),
        rerank_template: None,
        pooling: None,
        sampling: Sampling::default(),
        sight: None,
    }
}

pub fn wanted(context: u32, slots: usize, kv_type: &str) -> LoadSettings {
    let (kv_type, outputs) = (kv_type.into(), slots as u32);
    LoadSettings { context, slots, kv_type, rows: 64, outputs, repack: true, ..LoadSettings::default() }
}
