//! An indexed in-memory store for Kubernetes objects, with consistent snapshots in constant time.
