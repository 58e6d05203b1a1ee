//! Decodes bytes as text, in their charset. Pure.

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

/// A page says its charset this early, or not at all.
const EARLY: usize = 1_024;

/// The text of a page: a mark at its start goes before what the server says, then what the page
/// says of itself, then whatever fits.
pub(super) fn text(bytes: &[u8], said: Option<&str>) -> String {
    if let Some((encoding, mark)) = Encoding::for_bom(bytes) {
        return decoded(encoding, bytes.get(mark..).unwrap_or_default());
    }
    let said = said.and_then(|label| Encoding::for_label(label.as_bytes()));
    match said.or_else(|| inside(bytes)) {
        Some(encoding) => decoded(encoding, bytes),
        None => match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => decoded(guess(bytes), bytes),
        },
    }
}

fn decoded(encoding: &'static Encoding, bytes: &[u8]) -> String {
    encoding.decode_without_bom_handling(bytes).0.into_owned()
}

/// `<meta charset=…>`, and its older form with a content type.
fn inside(bytes: &[u8]) -> Option<&'static Encoding> {
    let start = bytes.get(..EARLY.min(bytes.len()))?.to_ascii_lowercase();
    let start = String::from_utf8_lossy(&start).into_owned();
    let (_, after) = start
        .split_once("<meta")
        .and_then(|(_, meta)| meta.split_once("charset="))?;
    let label = after.trim_start_matches(['"', '\'', ' ']);
    let label = label.split(['"', '\'', ' ', ';', '>', '/']).next()?;
    Encoding::for_label(label.as_bytes())
}

/// Text that breaks off in the middle of a letter is still UTF-8; anything else is old and western.
fn guess(bytes: &[u8]) -> &'static Encoding {
    let broken = String::from_utf8_lossy(bytes).matches('\u{fffd}').count();
    if broken * 100 < bytes.len() && broken <= 3 {
        UTF_8
    } else {
        WINDOWS_1252
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_in_the_charset_it_was_written_in() {
        let latin = b"caf\xe9 \x93quoted\x94 na\xefve r\xe9sum\xe9";
        assert_eq!(text("café".as_bytes(), None), "café");
        assert_eq!(text(b"caf\xe9", Some("ISO-8859-1")), "café");
        assert_eq!(text(latin, None), "café “quoted” naïve résumé");
        assert_eq!(text(b"\xef\xbb\xbfcaf\xc3\xa9", Some("latin1")), "café");
        assert_eq!(text(b"\xff\xfeh\x00i\x00", None), "hi");
        assert_eq!(
            text(b"<meta charset=\"shift_jis\">\x83\x65", None),
            "<meta charset=\"shift_jis\">テ"
        );
        let older = b"<META http-equiv=x content='text/html; charset=koi8-r'>\xd2";
        assert!(text(older, None).ends_with('р'));
        assert_eq!(text(b"ok", Some("no-such-charset")), "ok");
    }
}
