//! The fuzz targets, run over what is in their corpora: no panic, and no more memory than the bytes deserve.
#![allow(missing_docs, reason = "these are tests")]

#[allow(unreachable_pub, reason = "the fuzz targets use them")]
#[path = "../../../fuzz/src/decoders.rs"]
mod decoders;

use std::path::PathBuf;

fn corpus(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/corpus")
        .join(target);
    let files = std::fs::read_dir(&folder).expect("each target has a corpus");
    let mut inputs: Vec<_> = files
        .map(|file| file.expect("the corpus can be read").path())
        .map(|path| {
            (
                path.clone(),
                std::fs::read(path).expect("the corpus can be read"),
            )
        })
        .collect();
    inputs.sort();
    assert!(inputs.len() > 5, "{target} has {} inputs", inputs.len());
    inputs
}

// INV-WIRE-13
fn run(target: &str, decode: fn(&[u8])) {
    for (path, bytes) in corpus(target) {
        // Every beginning of it too, of the long ones some.
        let step = (bytes.len() / 50).max(1);
        for end in (0..bytes.len()).step_by(step).chain([bytes.len()]) {
            let input = &bytes[..end];
            let cost = allocation_counter::measure(|| decode(input));
            let allowed = 400_000 + 60 * input.len() as u64;
            assert!(
                cost.bytes_max < allowed,
                "{}: {} bytes of memory for {end} bytes",
                path.display(),
                cost.bytes_max
            );
            assert_eq!(cost.bytes_current, 0, "{}", path.display());
        }
    }
}

macro_rules! targets {
    ($($target:ident)*) => {$(
        // INV-WIRE-13
        #[test]
        fn $target() {
            run(stringify!($target), decoders::$target);
        }
    )*};
}

targets!(json_list protobuf_list json_watch protobuf_watch object status);
