//! Summarises measured values.

/// The value below which `share` (0 to 1) of the values lie; 0 without values. Sorts `values`.
pub fn percentile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let place = (values.len() as f64 * share) as usize;
    values.get(place.min(values.len().saturating_sub(1))).copied().unwrap_or(0.0)
}

pub fn median(mut values: Vec<f64>) -> f64 {
    percentile(&mut values, 0.5)
}
