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

const STORE: &str = "informer-store";
const FIFO: &str = "informer-delta-fifo";
const SHARED: &str = "informer-shared";

/// The simulation: a few hundred seeds of everything together.
pub(super) const SIM: &str = "informer-sim";
const SEEDS: &str = "whatever_goes_wrong_every_promise_is_kept_and_all_comes_to_rest_at_the_truth";

/// In the order of the crates.
pub(super) const MUTANTS: &[Mutant] = &[
    seen_by(
        "store-directory-forgets-who-moved",
        STORE,
        "model",
        "the_store_and_every_index_equal_maps_rebuilt_from_scratch",
    ),
    seen_by(
        "store-expires-too-early",
        STORE,
        "client_go",
        "an_object_expires_once_it_is_older_than_its_time_to_live",
    ),
    seen_by(
        "store-index-forgets-who-moved",
        STORE,
        "model",
        "the_store_and_every_index_equal_maps_rebuilt_from_scratch",
    ),
    seen_by(
        "store-index-keeps-old-values",
        STORE,
        "client_go",
        "an_index_of_many_values_stays_exact_through_updates",
    ),
    seen_by(
        "store-labels-outlive-their-copy",
        STORE,
        "client_go",
        "a_selector_reads_the_labels_of_the_version_it_is_asked_of",
    ),
    seen_by(
        "store-late-deletion-ends-the-next-life",
        STORE,
        "sink",
        "a_late_deletion_of_an_earlier_life_leaves_the_present_one",
    ),
    seen_by(
        "store-list-ends-newer-overlays",
        STORE,
        "overlay",
        "a_list_without_the_object_takes_it_away_unless_the_object_is_newer",
    ),
    seen_by(
        "store-log-forgets-deletions",
        STORE,
        "follow",
        "changes_are_handed_out_in_order_with_what_was_before",
    ),
    seen_by(
        "store-log-splits-a-batch",
        STORE,
        "follow",
        "a_batch_greater_than_the_log_is_not_in_it",
    ),
    seen_by(
        "store-older-copy-wins",
        STORE,
        "sink",
        "events_in_any_order_and_any_number_leave_the_newest_state",
    ),
    seen_by(
        "store-older-list-wins",
        STORE,
        "sink",
        "an_older_list_changes_nothing_but_a_rewind_holds",
    ),
    seen_by(
        "store-overlay-decides-events",
        STORE,
        "overlay",
        "an_overlay_is_ahead_of_the_server_s_word_and_never_outlives_it",
    ),
    seen_by(
        "store-overlay-outlives-the-server",
        STORE,
        "overlay",
        "a_list_without_the_object_takes_it_away_unless_the_object_is_newer",
    ),
    seen_by(
        "store-rewind-trusts-versions",
        STORE,
        "sink",
        "a_rewind_replaces_even_a_copy_of_the_same_version",
    ),
    seen_by(
        "store-version-runs-ahead",
        STORE,
        "sink",
        "what_a_watch_from_no_version_tells_of_is_kept_in_any_order",
    ),
    seen_by(
        "store-wakes-nobody",
        STORE,
        "follow",
        "the_write_itself_wakes_who_waits",
    ),
    seen_by(
        "store-watch-misses-lost-values",
        STORE,
        "model",
        "the_store_and_every_index_equal_maps_rebuilt_from_scratch",
    ),
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
    seen_by(
        "fifo-in-order-key-twice",
        FIFO,
        "in_order",
        "a_second_change_of_a_key_begins_the_next_batch",
    ),
    seen_by(
        "fifo-drop-what-failed",
        FIFO,
        "batches",
        "keys_that_could_not_be_applied_come_back_alone",
    ),
    seen_by(
        "fifo-bring-deleted-back",
        FIFO,
        "model",
        "the_queue_does_what_the_model_does",
    ),
    seen_by(
        "fifo-count-unordered-additions",
        FIFO,
        "batches",
        "additions_in_no_order_tell_no_version",
    ),
    seen_by(
        "fifo-forget-the-rewind",
        FIFO,
        "newest_wins",
        "after_a_rewind_an_unreadable_copy_of_before_hides_nothing",
    ),
    seen_by(
        "controller-swallow-errors",
        SHARED,
        "controller",
        "failing_keys_of_a_batch_touch_no_other",
    ),
    seen_by(
        "informer-repair-nothing",
        SHARED,
        "plain_informer",
        "what_the_handler_failed_at_is_told_again_by_the_next_list",
    ),
    seen_by("handler-forget-the-replay", SIM, "seeds", SEEDS),
    seen_by("handler-join-to-the-last-old", SIM, "seeds", SEEDS),
    seen_by("handler-join-two-lives", SIM, "seeds", SEEDS),
    seen_by("handler-keep-what-came-and-went", SIM, "seeds", SEEDS),
    seen_by("handler-remind-everybody", SIM, "seeds", SEEDS),
    seen_by("handler-replay-a-later-state", SIM, "seeds", SEEDS),
    seen_by("handler-synced-before-it-has-handled", SIM, "seeds", SEEDS),
    seen_by("handler-tell-after-its-removal", SIM, "seeds", SEEDS),
    seen_by("reflector-advance-beyond-bookmark", SIM, "seeds", SEEDS),
    seen_by("reflector-advance-by-first-state", SIM, "seeds", SEEDS),
    seen_by("reflector-apply-partial-list", SIM, "seeds", SEEDS),
    seen_by("reflector-expect-no-bookmarks", SIM, "seeds", SEEDS),
    seen_by("reflector-forget-rewind", SIM, "seeds", SEEDS),
    seen_by("reflector-forget-selector", SIM, "seeds", SEEDS),
    seen_by("reflector-ignore-retry-after", SIM, "seeds", SEEDS),
    seen_by("reflector-keep-too-large", SIM, "seeds", SEEDS),
    seen_by("reflector-keep-undone-copies", SIM, "seeds", SEEDS),
    seen_by("reflector-lose-deletions", SIM, "seeds", SEEDS),
    seen_by("reflector-no-wait-after-empty-watch", SIM, "seeds", SEEDS),
    seen_by("reflector-relist-after-good-end", SIM, "seeds", SEEDS),
    seen_by("reflector-reset-backoff-early", SIM, "seeds", SEEDS),
    seen_by("reflector-take-broken-list", SIM, "seeds", SEEDS),
    seen_by("reflector-version-beside-token", SIM, "seeds", SEEDS),
    seen_by("reflector-wait-for-ever-for-a-watch", SIM, "seeds", SEEDS),
    seen_by("store-forget-version-of-deletions", SIM, "seeds", SEEDS),
    seen_by("store-keep-unlisted", SIM, "seeds", SEEDS),
    seen_by("store-lose-deletions", SIM, "seeds", SEEDS),
];
