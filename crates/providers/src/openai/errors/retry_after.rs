//! Parses the retry delay of OpenAI and compatible vendors where it is not in `retry-after`.

use std::time::Duration;

use crate::http::error_response::ErrorResponse;

/// Time until the exhausted rate limit resets. Only a limit with nothing remaining counts.
pub(super) fn reset(refusal: &ErrorResponse) -> Option<Duration> {
    ["requests", "tokens"]
        .iter()
        .filter(|what| refusal.header(&format!("x-ratelimit-remaining-{what}")) == Some("0"))
        .filter_map(|what| wait(refusal.header(&format!("x-ratelimit-reset-{what}"))?))
        .max()
}

/// The retry delay in a message such as "try again in 1.5s".
pub(super) fn wait_in(message: &str) -> Option<Duration> {
    let (_, rest) = message.split_once("try again in ")?;
    let end = rest.find([' ', ',']).unwrap_or(rest.len());
    wait(rest.get(..end)?.trim_end_matches('.'))
}

/// Parses a delay such as `6m0s`, `1.5s`, `120ms`, or seconds alone; at most an hour.
fn wait(text: &str) -> Option<Duration> {
    let mut seconds = 0.0;
    let mut rest = text.trim();
    while !rest.is_empty() {
        let digits = rest
            .find(|letter: char| !letter.is_ascii_digit() && letter != '.')
            .unwrap_or(rest.len());
        let (number, tail) = rest.split_at(digits);
        let unit_end = tail
            .find(|letter: char| letter.is_ascii_digit())
            .unwrap_or(tail.len());
        let (unit, after) = tail.split_at(unit_end);
        let scale = match unit {
            "ms" => 0.001,
            "s" | "" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return None,
        };
        seconds += number.parse::<f64>().ok()? * scale;
        rest = after;
    }
    Duration::try_from_secs_f64(seconds)
        .ok()
        .filter(|wait| *wait <= Duration::from_secs(3600))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_read_in_the_vendors_spelling() {
        let millis = |text: &str| wait(text).map(|wait| wait.as_millis());
        assert_eq!(millis("6m0s"), Some(360_000));
        assert_eq!(millis("1.5s"), Some(1500));
        assert_eq!(millis("120ms"), Some(120));
        assert_eq!(millis("7"), Some(7000));
        assert_eq!(millis("1d"), None);
        assert_eq!(millis("9h"), None);
        assert_eq!(
            wait_in("Rate limit reached. Please try again in 1.898s. Visit"),
            wait("1.898s")
        );
        assert_eq!(wait_in("try again in a while"), None);
    }
}
