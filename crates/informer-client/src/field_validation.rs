//! What a server does with fields that it does not know.

/// What a server does with unknown and repeated fields of an object that is written. Without it servers warn.
///
/// ```no_run
/// # async fn example(client: informer_client::Client) -> Result<(), informer_client::Error> {
/// use informer_client::{Api, FieldValidation};
/// use k8s_openapi::api::core::v1::ConfigMap;
///
/// let map = serde_json::json!({"metadata": {"name": "settings"}, "dta": {"colour": "green"}});
/// let maps = Api::<ConfigMap>::namespaced(client, "shop").field_validation(FieldValidation::Strict);
/// // Refused: there is no field `dta`.
/// maps.create(&map).await?;
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FieldValidation {
    /// The write is refused.
    Strict,
    /// They are dropped, with a warning in the response, which the client logs.
    Warn,
    /// They are dropped.
    Ignore,
}
