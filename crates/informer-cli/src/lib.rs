//! The informer command: follow a cluster, run an API server in memory, see an informer at work.
