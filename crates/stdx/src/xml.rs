//! Escapes text for XML and HTML: as content, or as the value of an attribute.

/// Text as content between tags.
pub fn escape_text(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// Text as content, or between the double quotes of an attribute.
pub fn escape_attribute(text: &str) -> String {
    escape_text(text).replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_tag_entity_or_quote_is_left() {
        assert_eq!(escape_text("a<b & \"c\">"), "a&lt;b &amp; \"c\"&gt;");
        assert_eq!(escape_attribute("\"&lt;"), "&quot;&amp;lt;");
    }
}
