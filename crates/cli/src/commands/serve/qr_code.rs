//! QR code of the login link (`serve --qr`), drawn on the terminal for a phone's camera.

use std::{
    io::{self, IsTerminal},
    net::IpAddr,
};

use qrcode::{EcLevel, QrCode, render::unicode::Dense1x2};

use crate::environment::Environment;

/// Black on white, whatever colours the terminal has: cameras read the inverse less well.
const COLOURS: (&str, &str) = ("\x1b[38;5;16;48;5;231m", "\x1b[0m");

/// The code of a link below `base`; says why there is none.
pub(super) fn drawn(environment: &Environment, base: &str, link: &str) -> Result<String, String> {
    if !io::stdout().is_terminal() {
        return Err("standard output is no terminal".into());
    }
    if is_this_machine(base) {
        return Err(
            "a phone cannot reach an address of this machine alone; name one with --public-url"
                .into(),
        );
    }
    draw(link, environment.colours(true))
}

/// Two rows of modules per line. Without colours it is drawn for light text on a dark ground.
fn draw(link: &str, has_colours: bool) -> Result<String, String> {
    let code = QrCode::with_error_correction_level(link, EcLevel::L)
        .map_err(|error| format!("the link does not fit into a QR code ({error})"))?;
    let mut picture = code.render::<Dense1x2>();
    if has_colours {
        let lines = picture.build();
        let (begin, end) = COLOURS;
        return Ok(lines
            .lines()
            .map(|line| format!("{begin}{line}{end}\n"))
            .collect());
    }
    picture
        .dark_color(Dense1x2::Light)
        .light_color(Dense1x2::Dark);
    Ok(picture.build() + "\n")
}

/// Whether a URL leads to the machine that opens it.
fn is_this_machine(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split('/').next().unwrap_or_default();
    let host = match authority.strip_prefix('[') {
        Some(bracketed) => bracketed.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    let address = host.parse::<IpAddr>().map(|ip| ip.to_canonical());
    host.eq_ignore_ascii_case("localhost")
        || address.is_ok_and(|ip| ip.is_loopback() || ip.is_unspecified())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_that_a_phone_can_reach_get_a_code() {
        for (url, is_own) in [
            ("http://127.0.0.1:7663", true),
            ("http://[::1]:7663", true),
            ("http://localhost:7663/x", true),
            ("http://0.0.0.0:7663", true),
            ("http://192.168.1.5:7663", false),
            ("https://agents.example.org", false),
            ("http://[fd00::1]:80", false),
        ] {
            assert_eq!(is_this_machine(url), is_own, "{url}");
        }
    }

    #[test]
    fn a_code_is_square_with_a_margin_and_its_inverse_without_colours() {
        let link = format!("https://agents.example.org/login#{}", "a".repeat(64));
        let coloured = draw(&link, true).unwrap();
        let plain = draw(&link, false).unwrap();
        let rows: Vec<&str> = coloured
            .lines()
            .map(|line| {
                line.strip_prefix(COLOURS.0)
                    .and_then(|line| line.strip_suffix(COLOURS.1))
                    .unwrap()
            })
            .collect();
        let width = rows.first().unwrap().chars().count();
        assert!(width < 80 && rows.len() == width.div_ceil(2), "{coloured}");
        assert!(
            rows.first().unwrap().chars().all(|module| module == ' '),
            "four modules of margin"
        );
        assert!(
            plain
                .lines()
                .next()
                .unwrap()
                .chars()
                .all(|module| module == '█'),
            "{plain}"
        );
    }
}
