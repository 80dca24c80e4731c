//! Feeds to a fuzz target what is in its corpus, and watches its memory. Tests of the crates include this file.

use std::path::PathBuf;

/// Feeds each input, and every beginning of it; of the long ones some. Each may take `base` bytes of memory, and
/// `per_byte` for each of its own. Returns the inputs of which something was left.
pub(crate) fn replay(target: &str, base: u64, per_byte: u64, feed: fn(&[u8])) -> Vec<PathBuf> {
    let mut left = Vec::new();
    for (path, bytes) in corpus(target) {
        let step = (bytes.len() / 50).max(1);
        for end in (0..bytes.len()).step_by(step).chain([bytes.len()]) {
            let input = &bytes[..end];
            let cost = allocation_counter::measure(|| feed(input));
            assert!(
                cost.bytes_max < base + per_byte * end as u64,
                "{}: {} bytes of memory for {end} bytes",
                path.display(),
                cost.bytes_max
            );
            if cost.bytes_current != 0 {
                left.push(path.clone());
            }
        }
    }
    left
}

fn corpus(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/corpus")
        .join(target);
    let files = std::fs::read_dir(&folder).expect("each target has a corpus");
    let mut inputs: Vec<_> = files
        .map(|file| file.expect("the corpus can be read").path())
        .map(|path| {
            let bytes = std::fs::read(&path).expect("the corpus can be read");
            (path, bytes)
        })
        .collect();
    inputs.sort();
    assert!(inputs.len() > 5, "{target} has {} inputs", inputs.len());
    inputs
}
