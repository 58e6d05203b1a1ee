//! Parses the `retry-after` headers: how long a server asks to wait.

use std::time::{Duration, SystemTime};

use reqwest::header::HeaderMap;

/// Longer delays are taken for a defect of the server and ignored.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// The delay in `retry-after-ms` or `retry-after`, as a number or a date.
pub(super) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let exact = text("retry-after-ms").and_then(|text| seconds(text, 1000.0));
    exact.or_else(|| {
        text("retry-after").and_then(|text| seconds(text, 1.0).or_else(|| until(text, now)))
    })
}

/// Parses a number in a unit of which so many are one second.
fn seconds(text: &str, per_second: f64) -> Option<Duration> {
    let number: f64 = text.parse().ok()?;
    let wait = Duration::try_from_secs_f64(number / per_second).ok()?;
    (wait <= LONGEST).then_some(wait)
}

fn until(text: &str, now: SystemTime) -> Option<Duration> {
    let moment = httpdate::parse_http_date(text).ok()?;
    let wait = moment.duration_since(now).unwrap_or_default();
    (wait <= LONGEST).then_some(wait)
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::{HeaderName, HeaderValue};

    #[test]
    fn waits_are_read_in_every_spelling() {
        let now = httpdate::parse_http_date("Sun, 15 Nov 2026 10:00:00 GMT").unwrap();
        let ms = Duration::from_millis;
        type Headers = &'static [(&'static str, &'static str)];
        let table: [(Headers, Option<Duration>); 11] = [
            (&[], None),
            (&[("retry-after", "7")], Some(ms(7000))),
            (&[("retry-after", " 0.5 ")], Some(ms(500))),
            (
                &[("retry-after", "9"), ("retry-after-ms", "250")],
                Some(ms(250)),
            ),
            (
                &[("retry-after", "9"), ("retry-after-ms", "soon")],
                Some(ms(9000)),
            ),
            (
                &[("retry-after", "Sun, 15 Nov 2026 10:00:30 GMT")],
                Some(ms(30_000)),
            ),
            (
                &[("retry-after", "Sun, 15 Nov 2026 09:00:00 GMT")],
                Some(ms(0)),
            ),
            (&[("retry-after", "-3")], None),
            (&[("retry-after", "NaN")], None),
            (&[("retry-after", "1e300")], None),
            (&[("retry-after", "later")], None),
        ];
        for (given, expected) in table {
            let pairs = given.iter().map(|(name, value)| {
                (
                    HeaderName::from_static(name),
                    HeaderValue::from_static(value),
                )
            });
            assert_eq!(
                retry_after(&HeaderMap::from_iter(pairs), now),
                expected,
                "{given:?}"
            );
        }
    }
}
