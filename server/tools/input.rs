//! Parameters: a Rust type is the schema that the model gets and the check of what it sends.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The JSON schema of an input; the doc comments of its fields are what the model reads.
pub fn schema<T: JsonSchema>() -> Value {
    let settings = schemars::generate::SchemaSettings::draft2020_12().with(|s| {
        s.inline_subschemas = true;
        s.meta_schema = None;
    });
    let mut schema = settings
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value();
    if let Some(object) = schema.as_object_mut() {
        object.remove("title");
        object.remove("description"); // the tool's own
        // Some endpoints want it even of a tool that takes nothing.
        let properties = || Value::Object(Default::default());
        object.entry("properties").or_insert_with(properties);
    }
    schema
}

/// # Errors
/// A sentence that names the parameter.
pub fn parse<T: DeserializeOwned + JsonSchema>(tool: &str, input: &Value) -> Result<T, String> {
    let wrong = |what: String| format!("Wrong parameters for {tool}: {what}.");
    let Some(object) = input.as_object() else {
        return Err(wrong(format!("an object is expected, not {}", kind(input))));
    };
    let schema = schema::<T>();
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, value) in object {
        if let Some(beyond) = properties.and_then(|p| beyond(p.get(name)?, value)) {
            return Err(wrong(format!("`{name}` must be {beyond}, not {value}")));
        }
    }
    serde_json::from_value(input.clone()).map_err(|e| {
        // Serde names missing and unknown fields, but not the one of a wrong type.
        for (name, value) in object {
            if let Some(expected) = properties.and_then(|p| p.get(name))
                && let Some(expected) = misfit(expected, value)
            {
                return wrong(format!("`{name}` must be {expected}, not {}", kind(value)));
            }
        }
        wrong(e.to_string())
    })
}

/// The bound that a number keeps not.
fn beyond(schema: &Value, value: &Value) -> Option<String> {
    let number = value.as_f64()?;
    let bound = |name: &str| schema.get(name).and_then(Value::as_f64);
    match (bound("minimum"), bound("maximum")) {
        (Some(least), Some(most)) if number < least || number > most => {
            Some(format!("from {least} to {most}"))
        }
        (Some(least), None) if number < least => Some(format!("at least {least}")),
        (None, Some(most)) if number > most => Some(format!("at most {most}")),
        _ => None,
    }
}

/// What `value` should be, where it is something else.
fn misfit(schema: &Value, value: &Value) -> Option<String> {
    let kinds: Vec<&str> = match schema.get("type")? {
        Value::String(kind) => vec![kind],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => return None,
    };
    let fits = kinds.iter().any(|kind| match *kind {
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || (value.is_i64() && schema.get("minimum").is_none()),
        "number" => value.is_number(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => true,
    });
    if fits {
        return None;
    }
    let expected = kinds
        .iter()
        .find(|k| **k != "null")
        .copied()
        .unwrap_or("null");
    Some(match expected {
        "integer" if schema.get("minimum").is_some() => String::from("a whole number of 0 or more"),
        "integer" => String::from("a whole number"),
        "array" | "object" => format!("an {expected}"),
        other => format!("a {other}"),
    })
}

fn kind(value: &Value) -> String {
    match value {
        Value::Null => String::from("null"),
        Value::Bool(b) => b.to_string(),
        Value::Number(n) => n.to_string(),
        Value::String(_) => String::from("a string"),
        Value::Array(_) => String::from("an array"),
        Value::Object(_) => String::from("an object"),
    }
}
