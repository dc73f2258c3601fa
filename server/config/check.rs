//! Checking a value against the schema, and saying what is wrong with it.

use serde_json::Value;

/// Whether `value` is what `schema` (as schemars writes it) says; else what is wrong, to stand behind
/// the name of the setting.
pub(super) fn check(schema: &Value, value: &Value) -> Result<(), String> {
    if let (Some(kind), Some(host)) = (schema.get("x-host"), value.as_str()) {
        let wrong = match crate::web::Pattern::read(host) {
            Ok(host) if kind == "one" && !host.is_one() => {
                String::from("means several hosts: name each of them")
            }
            Ok(_) => return Ok(()),
            Err(wrong) => wrong,
        };
        return Err(format!("{} {wrong}", text(value)));
    }
    for any in ["anyOf", "oneOf"] {
        if let Some(choices) = schema.get(any).and_then(Value::as_array) {
            if let Some(can) = schema.get("x-can").and_then(Value::as_str) {
                return one_of(choices, can, value);
            }
            let mut results = choices.iter().map(|c| check(c, value));
            let first = results.next().unwrap_or(Ok(()));
            return if results.any(|r| r.is_ok()) {
                Ok(())
            } else {
                first
            };
        }
    }
    if let Some(choices) = schema.get("enum").and_then(Value::as_array) {
        if choices.contains(value) {
            return Ok(());
        }
        let names: Vec<&str> = choices.iter().filter_map(Value::as_str).collect();
        let meant = value
            .as_str()
            .and_then(|v| nearest(v, names.iter().copied()));
        return Err(match meant {
            Some(meant) => format!("is {}: did you mean `{meant}`?", text(value)),
            None => format!("is {}: it can be {}", text(value), list(&names)),
        });
    }
    let kinds: Vec<&str> = match schema.get("type") {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => return Ok(()),
    };
    let fits = |kind: &&str| match *kind {
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => true,
    };
    if !kinds.iter().any(fits) {
        let wanted = match kinds
            .iter()
            .find(|k| **k != "null")
            .copied()
            .unwrap_or_default()
        {
            "string" => "a text in quotes",
            "boolean" => "`true` or `false`",
            "integer" => "a whole number",
            "number" => "a number",
            "array" => "a list",
            _ => "a table",
        };
        return Err(format!("is {}: it must be {wanted}", text(value)));
    }
    let bound = |name| schema.get(name).and_then(Value::as_f64);
    if let Some(number) = value.as_f64() {
        if let Some(least) = bound("minimum").filter(|m| number < *m) {
            return Err(format!("is {}: the least is {least}", text(value)));
        }
        if let Some(most) = bound("maximum").filter(|m| number > *m) {
            return Err(format!("is {}: the most is {most}", text(value)));
        }
    }
    if let (Some(items), Value::Array(values)) = (schema.get("items"), value) {
        for (at, value) in values.iter().enumerate() {
            check(items, value).map_err(|e| format!("has a wrong entry: number {} {e}", at + 1))?;
        }
    }
    if let (Some(properties), Value::Object(object)) =
        (schema.get("properties").and_then(Value::as_object), value)
    {
        for required in schema
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            if let Some(required) = required.as_str().filter(|r| !object.contains_key(*r)) {
                return Err(format!("has no `{required}`"));
            }
        }
        for (name, value) in object {
            match properties.get(name) {
                Some(schema) => {
                    check(schema, value).map_err(|e| format!("is wrong: its `{name}` {e}"))?
                }
                None => {
                    let names: Vec<&str> = properties.keys().map(String::as_str).collect();
                    return Err(format!(
                        "has an unknown `{name}`: it can have {}",
                        list(&names)
                    ));
                }
            }
        }
    }
    Ok(())
}

/// Whether `value` is one of several kinds, of which it can be `can`; what is wrong inside a list is told as such.
fn one_of(choices: &[Value], can: &str, value: &Value) -> Result<(), String> {
    let mut inside = None;
    for choice in choices {
        match check(choice, value) {
            Ok(()) => return Ok(()),
            Err(wrong) if value.is_array() && choice.get("items").is_some() => {
                inside = Some(wrong);
            }
            Err(_) => {}
        }
    }
    Err(inside.unwrap_or_else(|| format!("is {}: it can be {can}", text(value))))
}

/// The one of the allowed names that `value` is most like, where it is a text and names are allowed.
pub(super) fn meant<'a>(schema: &'a Value, value: &Value) -> Option<&'a str> {
    let choices = |key: &str| schema.get(key).and_then(Value::as_array);
    if let Some(choices) = choices("anyOf").or_else(|| choices("oneOf")) {
        return choices.iter().find_map(|schema| meant(schema, value));
    }
    let names = choices("enum")?.iter().filter_map(Value::as_str);
    nearest(value.as_str()?, names)
}

/// The names of all settings, dotted.
pub(super) fn names(schema: &Value, prefix: &str, into: &mut Vec<String>) {
    match schema.get("properties").and_then(Value::as_object) {
        Some(properties) => {
            for (name, schema) in properties {
                let dot = if prefix.is_empty() { "" } else { "." };
                names(schema, &format!("{prefix}{dot}{name}"), into);
            }
        }
        None => into.push(prefix.to_owned()),
    }
}

pub(super) fn leaves<'a>(
    value: &'a Value,
    schema: &Value,
    path: &mut Vec<String>,
    tell: &mut impl FnMut(&[String], &'a Value),
) {
    let properties = schema.get("properties").and_then(Value::as_object);
    let others = schema.get("additionalProperties").filter(|v| v.is_object());
    let (Value::Object(object), true) = (value, properties.is_some() || others.is_some()) else {
        return tell(path, value);
    };
    for (name, value) in object {
        if let Some(schema) = properties.and_then(|p| p.get(name)).or(others) {
            path.push(name.clone());
            leaves(value, schema, path, tell);
            path.pop();
        }
    }
}

/// For a person: strings in quotes, long ones cut.
pub fn text(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(80) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text,
    }
}

pub(super) fn list(names: &[&str]) -> String {
    names
        .iter()
        .map(|n| format!("`{n}`"))
        .collect::<Vec<_>>()
        .join(", ")
}

/// The name that `wrong` is most like, if one is.
pub fn nearest<'a>(wrong: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if wrong.len() > 64 {
        return None;
    }
    let wrong = wrong.to_lowercase().replace(['-', '_'], "");
    let like = |name: &str| similar::TextDiff::from_chars(&*wrong, &*name.to_lowercase()).ratio();
    names
        .map(|n| (like(n), n))
        .filter(|(ratio, _)| *ratio > 0.7)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, n)| n)
}
