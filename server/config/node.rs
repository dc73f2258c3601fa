//! A layer's values with their places, whatever they were written in.

use std::ops::Range;

use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value with its place, whatever it was written in.
pub(super) struct Node {
    /// Of the value.
    pub range: Range<usize>,
    pub content: Content,
}

pub(super) enum Content {
    /// Name, place of the name, value.
    Table(Vec<(String, Range<usize>, Node)>),
    Leaf(Value),
    /// Nothing in JSON is like it.
    Alien(&'static str),
}

pub(super) fn from_table(table: &Spanned<DeTable>, start: usize) -> Node {
    let span = table.span();
    let entries = table.get_ref().iter().map(|(key, value)| {
        let place = key.span();
        (
            key.get_ref().to_string(),
            place.start + start..place.end + start,
            from_toml(value, start),
        )
    });
    Node {
        range: span.start + start..span.end + start,
        content: Content::Table(entries.collect()),
    }
}

pub(super) fn from_toml(value: &Spanned<DeValue>, start: usize) -> Node {
    let span = value.span();
    let range = span.start + start..span.end + start;
    let content = match value.get_ref() {
        DeValue::Table(table) => {
            let entries = table.iter().map(|(key, value)| {
                let place = key.span();
                (
                    key.get_ref().to_string(),
                    place.start + start..place.end + start,
                    from_toml(value, start),
                )
            });
            Content::Table(entries.collect())
        }
        DeValue::String(s) => Content::Leaf(Value::String(s.to_string())),
        DeValue::Boolean(b) => Content::Leaf(Value::Bool(*b)),
        DeValue::Integer(i) => match i64::from_str_radix(&i.as_str().replace('_', ""), i.radix()) {
            Ok(i) => Content::Leaf(i.into()),
            Err(_) => Content::Alien("number of that size"),
        },
        DeValue::Float(f) => match f.as_str().replace('_', "").parse::<f64>() {
            Ok(f) if f.is_finite() => Content::Leaf(f.into()),
            _ => Content::Alien("number of that size"),
        },
        DeValue::Datetime(_) => Content::Alien("date"),
        DeValue::Array(array) => {
            let items = array.iter().map(|item| to_json(&from_toml(item, start)));
            items
                .collect::<Option<Vec<_>>>()
                .map_or(Content::Alien("list of that"), |a| {
                    Content::Leaf(Value::Array(a))
                })
        }
    };
    Node { range, content }
}

/// `None`: null, which sets nothing. `a.b` is the same as `b` inside `a`.
pub(super) fn from_json(value: &Value) -> Option<Node> {
    let content = match value {
        Value::Null => return None,
        Value::Object(object) => {
            let entries = object.iter().filter_map(|(key, value)| {
                let mut node = from_json(value)?;
                let (first, rest) = key.split_once('.').unwrap_or((key, ""));
                for part in rest.rsplit('.').filter(|p| !p.is_empty()) {
                    node = Node {
                        range: 0..0,
                        content: Content::Table(vec![(part.to_owned(), 0..0, node)]),
                    };
                }
                Some((first.to_owned(), 0..0, node))
            });
            Content::Table(entries.collect())
        }
        leaf => Content::Leaf(leaf.clone()),
    };
    Some(Node {
        range: 0..0,
        content,
    })
}

pub(super) fn to_json(node: &Node) -> Option<Value> {
    match &node.content {
        Content::Leaf(value) => Some(value.clone()),
        Content::Alien(_) => None,
        Content::Table(entries) => {
            let entries = entries
                .iter()
                .map(|(name, _, value)| Some((name.clone(), to_json(value)?)));
            Some(Value::Object(entries.collect::<Option<_>>()?))
        }
    }
}
