//! Schemas of objects: those of built-in kinds from the table of fields, without descriptions; those of custom resources
//! from their definitions.

use informer_wire::schema::{Field, Form, Message, Scalar};
use serde_json::{Map, Value, json};

use crate::resource::ResourceType;

/// The names of the messages of the table, by their numbers.
const NAMES: &str = include_str!("messages.txt");

/// Returns the schemas of these kinds and of all that they have, by name.
pub(super) fn schemas(types: &[&ResourceType]) -> Map<String, Value> {
    let mut schemas = Schemas {
        names: NAMES.lines().collect(),
        all: Map::new(),
    };
    for resource in types {
        let gvk = json!([{
            "group": resource.group,
            "version": resource.version,
            "kind": resource.kind,
        }]);
        if resource.custom {
            let mut schema = schemas.custom(resource);
            schema["x-kubernetes-group-version-kind"] = gvk;
            schemas.all.insert(custom_name(resource), schema);
        } else if let Some(message) = Message::of_kind(&resource.api_version(), &resource.kind) {
            let name = schemas.add(message);
            schemas.all[&name]["x-kubernetes-group-version-kind"] = gvk;
            let properties = &mut schemas.all[&name]["properties"];
            properties["apiVersion"] = json!({"type": "string"});
            properties["kind"] = json!({"type": "string"});
        }
    }
    schemas.all
}

/// The name of a custom resource's schema: its group backwards, version and kind.
fn custom_name(resource: &ResourceType) -> String {
    let group: Vec<&str> = resource.group.rsplit('.').collect();
    format!("{}.{}.{}", group.join("."), resource.version, resource.kind)
}

struct Schemas {
    names: Vec<&'static str>,
    all: Map<String, Value>,
}

impl Schemas {
    /// Adds the schema of a message, and returns its name.
    fn add(&mut self, message: Message) -> String {
        let name = self.names.get(usize::from(message.id())).copied();
        let name = format!("io.k8s.{}", name.unwrap_or_default().replace('/', "."));
        if !self.all.contains_key(&name) {
            // Before its fields, which may have it again.
            self.all.insert(name.clone(), Value::Null);
            let schema = self.of(message);
            self.all.insert(name.clone(), schema);
        }
        name
    }

    fn of(&mut self, message: Message) -> Value {
        match message.form() {
            Form::Object => self.object(message),
            Form::List => match message.field(1) {
                Some(element) => json!({"type": "array", "items": self.scalar(element.scalar())}),
                None => json!({"type": "array"}),
            },
            Form::Time | Form::MicroTime => json!({"type": "string", "format": "date-time"}),
            Form::Quantity => json!({"oneOf": [{"type": "string"}, {"type": "number"}]}),
            Form::IntOrString => json!({
                "format": "int-or-string",
                "oneOf": [{"type": "integer"}, {"type": "string"}],
            }),
            Form::FieldsV1 | Form::RawExtension => json!({"type": "object"}),
        }
    }

    fn object(&mut self, message: Message) -> Value {
        let mut properties = Map::new();
        self.fields(message, &mut properties);
        json!({"type": "object", "properties": properties})
    }

    fn fields(&mut self, message: Message, properties: &mut Map<String, Value>) {
        for (_, field) in message.fields() {
            if let (true, Scalar::Message(inner)) = (field.is_inline(), field.scalar()) {
                self.fields(inner, properties);
            } else {
                let schema = self.field(field);
                properties.insert(field.name().to_owned(), schema);
            }
        }
    }

    fn field(&mut self, field: Field) -> Value {
        let schema = self.scalar(field.scalar());
        if field.is_map() {
            return json!({"type": "object", "additionalProperties": schema});
        }
        if field.is_repeated() {
            return json!({"type": "array", "items": schema});
        }
        schema
    }

    fn scalar(&mut self, scalar: Scalar) -> Value {
        let number = |format: &str| json!({"type": "integer", "format": format});
        match scalar {
            Scalar::String => json!({"type": "string"}),
            Scalar::Bytes => json!({"type": "string", "format": "byte"}),
            Scalar::Bool => json!({"type": "boolean"}),
            Scalar::Int32 | Scalar::Uint32 => number("int32"),
            Scalar::Int64 | Scalar::Uint64 => number("int64"),
            Scalar::Float64 => json!({"type": "number", "format": "double"}),
            Scalar::Message(message) => self.reference(message),
        }
    }

    fn reference(&mut self, message: Message) -> Value {
        let name = self.add(message);
        json!({"allOf": [{"$ref": format!("#/components/schemas/{name}")}]})
    }

    /// The schema of a custom resource, with the fields that every object has.
    fn custom(&mut self, resource: &ResourceType) -> Value {
        let mut schema = match &resource.definition.schema {
            Value::Object(_) => resource.definition.schema.clone(),
            _ => json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
        };
        if !schema["properties"].is_object() {
            schema["properties"] = json!({});
        }
        let text = json!({"type": "string"});
        for field in ["apiVersion", "kind"] {
            if schema["properties"][field].is_null() {
                schema["properties"][field] = text.clone();
            }
        }
        if let Some(metadata) = Message::of_kind("v1", "Pod").and_then(|pod| pod.field(1))
            && let Scalar::Message(metadata) = metadata.scalar()
        {
            schema["properties"]["metadata"] = self.reference(metadata);
        }
        schema
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::Registry;

    #[test]
    fn every_reference_has_its_schema_and_fields_have_their_types() {
        let registry = Registry::with_builtin();
        let mut widgets = ResourceType::new("demo.example", "v1", "Widget", "widgets");
        widgets.definition.schema =
            json!({"type": "object", "properties": {"spec": {"type": "string"}}});
        let mut types: Vec<&ResourceType> = registry.iter().map(|known| &**known).collect();
        types.push(&widgets);
        let schemas = schemas(&types);
        let text = Value::from(schemas.clone()).to_string();
        for reference in text.split("#/components/schemas/").skip(1) {
            let name = reference.split('"').next().unwrap_or_default();
            assert!(schemas[name].is_object(), "{name}");
        }
        let property = |of: &str, field: &str| schemas[of]["properties"][field].clone();
        let pod = "io.k8s.api.core.v1.Pod";
        let spec = json!({"allOf": [{"$ref": "#/components/schemas/io.k8s.api.core.v1.PodSpec"}]});
        assert_eq!(property(pod, "spec"), spec);
        assert_eq!(
            property("example.demo.v1.Widget", "spec"),
            json!({"type": "string"})
        );
        assert_eq!(
            property("example.demo.v1.Widget", "kind"),
            json!({"type": "string"})
        );
    }
}
