//! A model split in two runs like the unsplit one, and all parts are counted.

use std::fs;
use std::path::{Path, PathBuf};

use monobloc::budget::{Estimate, LoadSettings};
use monobloc::models::gguf::{self, Header, Tensor};
use monobloc::synth::Shape;

use crate::engine::{engine_with_chunk, prose, run, synthetic};

/// Tensors begin at multiples of this many bytes.
const ALIGNMENT: usize = 32;

/// A tensor's entry in a header, whose weights begin `offset` bytes after it.
fn entry(tensor: &Tensor, offset: u64) -> Vec<u8> {
    let mut bytes = (tensor.name.len() as u64).to_le_bytes().to_vec();
    bytes.extend(tensor.name.as_bytes());
    bytes.extend((tensor.shape.len() as u32).to_le_bytes());
    tensor.shape.iter().for_each(|side| bytes.extend(side.to_le_bytes()));
    bytes.extend(tensor.kind.id.to_le_bytes());
    bytes.extend(offset.to_le_bytes());
    bytes
}

/// The keys of part `number` of `count`: their number and their bytes.
fn keys_of_part(number: u16, count: u16, tensors: usize) -> (u64, Vec<u8>) {
    let key = |name: &str, kind: u32, value: &[u8]| {
        let name = name.as_bytes();
        [&(name.len() as u64).to_le_bytes()[..], name, &kind.to_le_bytes(), value].concat()
    };
    let keys = [
        key("split.no", 2, &number.to_le_bytes()),
        key("split.count", 2, &count.to_le_bytes()),
        key("split.tensors.count", 5, &(tensors as i32).to_le_bytes()),
    ];
    (keys.len() as u64, keys.concat())
}

fn padded(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
    bytes
}

/// Writes `whole` in two parts into `folder`, as `llama-gguf-split` does: all keys in the first
/// part, half of the tensors in each.
fn split(whole: &Header, folder: &Path) -> PathBuf {
    let file = fs::read(&whole.path).expect("the whole file");
    let first = entry(&whole.tensors[0], 0);
    let tensors_at = file.windows(first.len()).position(|bytes| bytes == first).expect("the first tensor's entry");
    // Magic and version, then the numbers of tensors and of keys.
    let (keys, count) = (&file[24..tensors_at], u64::from_le_bytes(file[16..24].try_into().expect("eight bytes")));
    let half = whole.tensors.len() / 2;
    let parts = [&whole.tensors[..half], &whole.tensors[half..]];
    let paths = [1, 2].map(|number| folder.join(format!("m-{number:05}-of-00002.gguf")));
    for (number, tensors) in parts.into_iter().enumerate() {
        let (more, of_part) = keys_of_part(number as u16, 2, whole.tensors.len());
        let (keys, count) = if number == 0 { ([keys, &of_part].concat(), count + more) } else { (of_part, more) };
        let (mut entries, mut weights) = (Vec::new(), Vec::new());
        for tensor in tensors {
            entries.extend(entry(tensor, weights.len() as u64));
            let from = tensor.offset as usize;
            weights.extend(&file[from..from + tensor.bytes.0 as usize]);
            weights.resize(weights.len().next_multiple_of(ALIGNMENT), 0);
        }
        let counts = [(tensors.len() as u64).to_le_bytes(), count.to_le_bytes()].concat();
        let header = padded([&file[..8], &counts, &keys, &entries].concat());
        fs::write(&paths[number], [header, weights].concat()).expect("written");
    }
    paths[0].clone()
}

#[tokio::test]
async fn a_split_model_gives_the_tokens_of_the_whole_one_and_takes_as_much_memory() {
    let folder = tempfile::tempdir().expect("a folder");
    let whole = gguf::inspect(synthetic(Shape::TinyGemma4)).expect("the whole model");
    let parts = gguf::inspect(&split(&whole, folder.path())).expect("the parts");
    assert_eq!(parts.files.len(), 2);
    assert_eq!((parts.parameters, parts.tensor_bytes()), (whole.parameters, whole.tensor_bytes()));
    let wanted = LoadSettings { context: 1024, slots: 2, kv_type: "q8_0".into(), rows: 64, ..LoadSettings::default() };
    assert_eq!(Estimate::of(&parts, &wanted), Estimate::of(&whole, &wanted));
    let prompt = prose(3, 300);
    let tokens = run(&engine_with_chunk(&parts.path, 64), &prompt, 24).await.tokens;
    assert_eq!(tokens, run(&engine_with_chunk(&whole.path, 64), &prompt, 24).await.tokens);
}
