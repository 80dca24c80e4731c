//! Kubernetes informers: a live, indexed, in-memory copy of a cluster's objects, and handlers that hear of every change.
