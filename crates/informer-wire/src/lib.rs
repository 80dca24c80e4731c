//! Kubernetes objects from bytes: watch events, lists item by item, metadata and compact objects.
