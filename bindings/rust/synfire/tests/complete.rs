// complete.rs - every function and constant of synfire.h is in the raw layer and in the safe one, every
// field of a structure too.
use std::collections::BTreeSet;

const DESCRIPTION: &str = include_str!("../../../api/synfire.json");
const RAW: &str = include_str!("../../synfire-sys/src/bindings.rs");
const DYNAMIC: &str = include_str!("../../synfire-sys/src/dynamic.rs");

/// The names in the section of the description between two of its keys.
fn names(section: &str, next: &str, prefix: &str) -> BTreeSet<&'static str> {
    let from = DESCRIPTION.find(&format!("\n \"{section}\"")).expect("the section");
    let to = DESCRIPTION[from..].find(next).map_or(DESCRIPTION.len(), |length| from + length);
    let mark = format!("\"name\": \"{prefix}");
    let all = DESCRIPTION[from..to].match_indices(&mark);
    all.map(|(at, _)| DESCRIPTION[from + at + 9..].split('"').next().unwrap()).collect()
}
fn sources() -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src");
    std::fs::read_dir(folder).unwrap().map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap()).collect()
}
/// Words, so that `synfire_layer_forward` is not found in `synfire_layer_forward_desc`.
fn words(text: &str) -> BTreeSet<&str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').collect()
}

#[test]
fn every_function_has_a_safe_wrapper() {
    let (text, functions) = (sources(), names("functions", "\n \"end\"", "synfire_"));
    assert!(functions.len() >= 40, "{}", functions.len());
    let wrapped = words(&text);
    let missing: Vec<_> = functions.iter().filter(|name| !wrapped.contains(**name)).collect();
    assert!(missing.is_empty(), "C functions without a safe wrapper: {missing:?}");
    let (raw, dynamic) = (words(RAW), words(DYNAMIC));
    let missing: Vec<_> = functions.iter().filter(|name| !raw.contains(**name) || !dynamic.contains(**name)).collect();
    assert!(missing.is_empty(), "C functions that the raw layer lacks: {missing:?}");
}

#[test]
fn every_constant_has_a_name() {
    let (text, constants) = (sources(), names("constants", "\n \"structs\"", "SYNFIRE_"));
    assert!(constants.len() > 70, "{}", constants.len());
    let (known, raw) = (words(&text), words(RAW));
    // The version of the ABI is the raw layer's own affair: it checks it.
    let missing: Vec<_> = constants.iter().filter(|name| !known.contains(**name) && !name.contains("_ABI_")).collect();
    assert!(missing.is_empty(), "constants without a name in Rust: {missing:?}");
    let missing: Vec<_> = constants.iter().filter(|name| !raw.contains(**name)).collect();
    assert!(missing.is_empty(), "constants that the raw layer lacks: {missing:?}");
}

/// Everything that a descriptor takes or returns can be set or read: every field is named in the safe layer.
#[test]
fn every_field_has_a_place() {
    let from = DESCRIPTION.find("\n \"structs\"").expect("the structures");
    let to = DESCRIPTION.find("\n \"functions\"").expect("the functions");
    // Fields are nested deepest, and only they have an offset.
    let lines: Vec<_> = DESCRIPTION[from..to].lines().map(str::trim).collect();
    let fields: BTreeSet<_> = lines
        .windows(4)
        .filter(|four| four[3].starts_with("\"offset\""))
        .filter_map(|four| four[0].strip_prefix("\"name\": \"")?.strip_suffix("\","))
        .collect();
    assert!(fields.len() > 60, "{fields:?}");
    let text = sources();
    let known = words(&text);
    let missing: Vec<_> = fields.iter().filter(|name| !known.contains(**name)).collect();
    assert!(missing.is_empty(), "fields that the safe layer does not know: {missing:?}");
}
