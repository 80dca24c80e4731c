//! The fuzz targets for configuration, run over what is in their corpora: no panic, and no more memory than the bytes
//! deserve.
#![allow(missing_docs, reason = "these are tests")]

#[allow(unreachable_pub, reason = "the fuzz targets use them")]
#[path = "../../../fuzz/src/configuration.rs"]
mod configuration;
#[path = "../../../fuzz/replay.rs"]
mod replay;

use replay::replay;

// INV-CLIENT-14
#[test]
fn kubeconfig() {
    // Aliases may stand for ten thousand nodes, however short the file is.
    replay("kubeconfig", 20_000_000, 200, configuration::kubeconfig);
}

// INV-CLIENT-14
#[test]
fn exec_credential() {
    replay(
        "exec_credential",
        200_000,
        200,
        configuration::exec_credential,
    );
}

// INV-CLIENT-14
#[test]
fn server() {
    replay("server", 200_000, 200, configuration::server);
}
