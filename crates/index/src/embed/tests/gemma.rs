//! Tests that Gemma 3 computes the same as candle's decoder, and as an encoder reads both ways within its window.

use candle_core::{IndexOp, Tensor};
use serde_json::{Value, json};

use super::sample::{self, Folder, WORDS};
use super::{plain, unit};

/// A Gemma 3 folder that pools by `mode`.
fn gemma(mode: &str, more: Value) -> Folder {
    let folder = sample::gemma().write();
    folder.put("1_Pooling/config.json", &json!({"pooling_mode": mode}));
    folder.configure(more);
    folder
}

#[test]
fn the_last_token_has_the_logits_of_candles_model() {
    let folder = gemma("lasttoken", json!({}));
    let words = folder.tensors().remove("model.embed_tokens.weight").unwrap();
    for text in ["one", "three two five", "one two three four five four three two"] {
        let vector = Tensor::new(plain(&folder, text), words.device()).unwrap();
        let logits = words.matmul(&vector.unsqueeze(1).unwrap()).unwrap().squeeze(1).unwrap();
        let expected = folder.by_candle(text).i(0).unwrap();
        assert!(kernels::cosine(&unit(&logits), &unit(&expected))[0] > 0.99999, "{text}");
    }
}

#[test]
fn both_ways_a_token_sees_half_of_the_window_on_each_side() {
    let layers = |kind: &str, both: bool| json!({"num_hidden_layers": 1, "layer_types": [kind], "sliding_window": 4, "use_bidirectional_attention": both});
    // The first token is `[CLS]`; the second word is at a distance of 2, the third at 3.
    let changes = |more: &Value, place: usize| {
        let text = |word: &str| {
            let mut words = [WORDS[4]; 5];
            words[place - 1] = word;
            words.join(" ")
        };
        let folder = gemma("cls", json!({}));
        let kept =
            folder.tensors().into_iter().filter(|(name, _)| !name.contains("layers.") || name.contains("layers.0."));
        folder.put_tensors("model.safetensors", &kept.collect());
        folder.configure(more.clone());
        kernels::cosine(&plain(&folder, &text("two")), &plain(&folder, &text("three")))[0] < 0.99999
    };
    let near = layers("sliding_attention", true);
    assert_eq!([1, 2, 3, 5].map(|place| changes(&near, place)), [true, true, false, false]);
    let far = layers("full_attention", true);
    assert_eq!([1, 3, 5].map(|place| changes(&far, place)), [true, true, true]);
    let decoder = layers("full_attention", false);
    assert_eq!([1, 5].map(|place| changes(&decoder, place)), [false, false]);
}
