//! Every seeded bug, and the test that must see it.

use super::Mutant;

/// A bug, the package and the test binary (`lib` for unit tests) of the test that must fail with it, and that test.
const fn seen_by(
    name: &'static str,
    package: &'static str,
    binary: &'static str,
    test: &'static str,
) -> Mutant {
    Mutant {
        name,
        package,
        binary,
        test,
    }
}

const FIFO: &str = "informer-delta-fifo";

/// In the order of the crates.
pub(super) const MUTANTS: &[Mutant] = &[
    seen_by(
        "fifo-claim-what-is-queued",
        FIFO,
        "batches",
        "applied_up_to_never_passes_what_is_still_queued",
    ),
    seen_by(
        "fifo-compress-away-the-end",
        FIFO,
        "compression",
        "the_end_of_the_known_life_survives",
    ),
    seen_by(
        "fifo-forget-what-is-out",
        FIFO,
        "batches",
        "keys_in_flight_count_as_queued_and_known",
    ),
    seen_by(
        "fifo-given-up-list-stays-open",
        FIFO,
        "model",
        "the_queue_does_what_the_model_does",
    ),
    seen_by(
        "fifo-jump-the-line",
        FIFO,
        "client_go_delta_fifo",
        "a_key_keeps_its_place_and_a_readded_key_goes_to_the_end",
    ),
    seen_by(
        "fifo-lose-sync-count",
        FIFO,
        "client_go_delta_fifo",
        "synced_follows_the_truth_table",
    ),
    seen_by(
        "fifo-lose-tombstone",
        FIFO,
        "client_go_delta_fifo",
        "a_queued_object_gets_exactly_one_delete_from_a_replace",
    ),
    seen_by(
        "fifo-miss-new-uid",
        FIFO,
        "newest_wins",
        "a_new_uid_is_the_end_of_the_old_life_and_an_addition",
    ),
    seen_by(
        "fifo-resync-what-is-out",
        FIFO,
        "batches",
        "keys_in_flight_count_as_queued_and_known",
    ),
    seen_by(
        "fifo-returned-batch-is-newest",
        FIFO,
        "batches",
        "a_dropped_batch_returns_to_the_front_before_newer_deltas_of_its_keys",
    ),
    seen_by(
        "fifo-set-aside-is-absent",
        FIFO,
        "newest_wins",
        "what_is_set_aside_counts_as_present",
    ),
    seen_by(
        "fifo-synced-before-applied",
        FIFO,
        "client_go_delta_fifo",
        "synced_follows_the_truth_table",
    ),
    seen_by(
        "fifo-take-older-copy",
        FIFO,
        "convergence",
        "the_store_ends_as_the_server_and_never_claims_too_much",
    ),
    seen_by(
        "fifo-two-batches-out",
        FIFO,
        "batches",
        "one_batch_is_out_at_a_time",
    ),
];
