//! The fuzz targets for requests, run over what is in their corpora: no panic, and no more memory than the bytes
//! deserve.
#![cfg(feature = "tower")]
#![allow(missing_docs, reason = "these are tests")]

#[allow(unreachable_pub, reason = "the fuzz targets use them")]
#[path = "../../../fuzz/src/requests.rs"]
mod requests;

use std::path::PathBuf;

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

/// Each input, and every beginning of it; of the long ones some.
fn run(target: &str, feed: fn(&[u8])) {
    for (path, bytes) in corpus(target) {
        let step = (bytes.len() / 50).max(1);
        for end in (0..bytes.len()).step_by(step).chain([bytes.len()]) {
            let input = &bytes[..end];
            let cost = allocation_counter::measure(|| feed(input));
            let allowed = 1_000_000 + 200 * input.len() as u64;
            assert!(
                cost.bytes_max < allowed,
                "{}: {} bytes of memory for {end} bytes",
                path.display(),
                cost.bytes_max
            );
        }
    }
}

macro_rules! targets {
    ($($target:ident)*) => {$(
        // INV-CLIENT-14
        #[test]
        fn $target() {
            run(stringify!($target), requests::$target);
        }
    )*};
}

targets!(request selector);
