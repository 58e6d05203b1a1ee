//! Expands variables in server configurations: `${NAME}` and `${NAME:-default}`.

/// Replaces variables; says which of them are not set and have no default.
pub fn expand(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> (String, Vec<String>) {
    let (mut expanded, mut missing, mut rest) = (String::new(), Vec::new(), text);
    while let Some((before, after)) = rest.split_once("${") {
        expanded += before;
        let Some((inside, behind)) = after.split_once('}') else {
            expanded += "${";
            rest = after;
            continue;
        };
        let (name, default) = inside
            .split_once(":-")
            .map_or((inside, None), |(name, or)| (name, Some(or)));
        match variable(name).filter(|value| default.is_none() || !value.is_empty()) {
            Some(value) => expanded += &value,
            None => {
                expanded += default.unwrap_or_default();
                missing.extend(default.is_none().then(|| name.to_owned()));
            }
        }
        rest = behind;
    }
    (expanded + rest, missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_replaced_and_missing_ones_named() {
        let variable = |name: &str| (name == "TOKEN").then(|| "t".to_owned());
        let table: [(&str, &str, &[&str]); 5] = [
            ("Bearer ${TOKEN}!", "Bearer t!", &[]),
            ("${HOST:-localhost}:${PORT:-1}", "localhost:1", &[]),
            ("${NONE}", "", &["NONE"]),
            ("${TOKEN:-x}", "t", &[]),
            ("$TOKEN ${", "$TOKEN ${", &[]),
        ];
        for (written, wanted, missing) in table {
            let (text, unset) = expand(written, &variable);
            assert_eq!(
                (text.as_str(), unset),
                (
                    wanted,
                    missing.iter().map(|name| (*name).to_owned()).collect()
                )
            );
        }
    }
}
