//! A queue of per-key deltas between a Kubernetes reflector and a controller.
