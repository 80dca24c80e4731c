//! The columns of each built-in kind, as kube-apiserver 1.36 has them.

use serde_json::{Value, json};

use crate::resource::ResourceType;

/// A column: its name, and after it, if it is no text, `:` and its type; with `+` before it, it shows with `-o wide`
/// only.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column(&'static str);

impl Column {
    pub(super) fn definition(&self) -> Value {
        let (priority, rest) = match self.0.strip_prefix('+') {
            Some(rest) => (1, rest),
            None => (0, self.0),
        };
        let (name, kind) = rest.split_once(':').unwrap_or((rest, "string"));
        let format = if name == "Name" { "name" } else { "" };
        json!({"name": name, "type": kind, "format": format, "description": "", "priority": priority})
    }
}

macro_rules! columns {
    ($($plural:literal $($column:literal)+;)+) => {
        &[$(($plural, &[$(Column($column)),+])),+]
    };
}

const TABLE: &[(&str, &[Column])] = columns! {
    "apiservices" "Name" "Service" "Available" "Age";
    "certificatesigningrequests" "Name" "Age" "SignerName" "Requestor" "RequestedDuration" "Condition";
    "clusterrolebindings" "Name" "Role" "Age" "+Users" "+Groups" "+ServiceAccounts";
    "clusterroles" "Name" "Created At:date";
    "configmaps" "Name" "Data" "Age";
    "controllerrevisions" "Name" "Controller" "Revision" "Age";
    "cronjobs" "Name" "Schedule" "Timezone" "Suspend:boolean" "Active:integer" "Last Schedule" "Age" "+Containers"
        "+Images" "+Selector";
    "csidrivers" "Name" "AttachRequired:boolean" "PodInfoOnMount:boolean" "StorageCapacity:boolean" "TokenRequests"
        "RequiresRepublish:boolean" "Modes" "Age";
    "csinodes" "Name" "Drivers:integer" "Age";
    "csistoragecapacities" "Name" "Created At:date";
    "customresourcedefinitions" "Name" "Created At:date";
    "daemonsets" "Name" "Desired:integer" "Current:integer" "Ready:integer" "Up-to-date:integer" "Available:integer"
        "Node Selector" "Age" "+Containers" "+Images" "+Selector";
    "deployments" "Name" "Ready" "Up-to-date" "Available" "Age" "+Containers" "+Images" "+Selector";
    "endpoints" "Name" "Endpoints" "Age";
    "endpointslices" "Name" "AddressType" "Ports" "Endpoints" "Age";
    "events" "Last Seen" "Type" "Reason" "Object" "+Subobject" "+Source" "Message" "+First Seen" "+Count" "+Name";
    "horizontalpodautoscalers" "Name" "Reference" "Targets" "MinPods" "MaxPods" "Replicas" "Age";
    "ingressclasses" "Name" "Controller" "Parameters" "Age";
    "ingresses" "Name" "Class" "Hosts" "Address" "Ports" "Age";
    "jobs" "Name" "Status" "Completions" "Duration" "Age" "+Containers" "+Images" "+Selector";
    "leases" "Name" "Holder" "Age";
    "limitranges" "Name" "Created At:date";
    "mutatingwebhookconfigurations" "Name" "Webhooks:integer" "Age";
    "namespaces" "Name" "Status" "Age";
    "networkpolicies" "Name" "Pod-Selector" "Age";
    "nodes" "Name" "Status" "Roles" "Age" "Version" "+Internal-IP" "+External-IP" "+OS-Image" "+Kernel-Version"
        "+Container-Runtime";
    "persistentvolumeclaims" "Name" "Status" "Volume" "Capacity" "Access Modes" "StorageClass" "VolumeAttributesClass"
        "Age" "+VolumeMode";
    "persistentvolumes" "Name" "Capacity" "Access Modes" "Reclaim Policy" "Status" "Claim" "StorageClass"
        "VolumeAttributesClass" "Reason" "Age" "+VolumeMode";
    "poddisruptionbudgets" "Name" "Min Available" "Max Unavailable" "Allowed Disruptions:integer" "Age";
    "pods" "Name" "Ready" "Status" "Restarts" "Age" "+IP" "+Node" "+Nominated Node" "+Readiness Gates";
    "podtemplates" "Name" "Containers" "Images" "Pod Labels";
    "priorityclasses" "Name" "Value:integer" "Global-Default:boolean" "Age" "PreemptionPolicy";
    "replicasets" "Name" "Desired:integer" "Current:integer" "Ready:integer" "Age" "+Containers" "+Images" "+Selector";
    "replicationcontrollers" "Name" "Desired:integer" "Current:integer" "Ready:integer" "Age" "+Containers" "+Images"
        "+Selector";
    "resourcequotas" "Name" "Request" "Limit" "Age";
    "rolebindings" "Name" "Role" "Age" "+Users" "+Groups" "+ServiceAccounts";
    "roles" "Name" "Created At:date";
    "runtimeclasses" "Name" "Handler" "Age";
    "secrets" "Name" "Type" "Data" "Age";
    "serviceaccounts" "Name" "Age";
    "services" "Name" "Type" "Cluster-IP" "External-IP" "Port(s)" "Age" "+Selector";
    "statefulsets" "Name" "Ready" "Age" "+Containers" "+Images";
    "storageclasses" "Name" "Provisioner" "ReclaimPolicy" "VolumeBindingMode" "AllowVolumeExpansion" "Age";
    "validatingwebhookconfigurations" "Name" "Webhooks:integer" "Age";
    "volumeattachments" "Name" "Attacher" "PV" "Node" "Attached:boolean" "Age";
};

const OTHERS: &[Column] = &[Column("Name"), Column("Age")];

/// Returns the columns of a built-in kind.
pub(super) fn columns(resource: &ResourceType) -> &'static [Column] {
    TABLE
        .binary_search_by(|(plural, _)| plural.cmp(&resource.plural.as_str()))
        .map_or(OTHERS, |at| TABLE[at].1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_sorted() {
        assert!(TABLE.is_sorted_by(|(a, _), (b, _)| a < b));
    }
}
