//! Every written form in `docs/schedule-forms.md` is accepted and means what stands beside it.

use rooftree_schedule::{ParseContext, describe, parse};

use crate::ms;

const PAGE: &str = include_str!("../../../../docs/schedule-forms.md");

/// Code in the first two cells of each row of the tables that begin with `you write`.
fn rows() -> Vec<(Vec<&'static str>, Vec<&'static str>)> {
    let mut rows = Vec::new();
    let mut is_inside = false;
    for line in PAGE.lines() {
        if !line.starts_with('|') || line.starts_with("|---") {
            is_inside &= line.starts_with('|');
        } else if line.starts_with("| you write |") {
            is_inside = true;
        } else if is_inside {
            let mut cells = line.trim_matches('|').split(" | ").map(code);
            rows.push((cells.next().unwrap(), cells.next().unwrap()));
        }
    }
    rows
}

fn code(cell: &'static str) -> Vec<&'static str> {
    cell.split('`').skip(1).step_by(2).collect()
}

#[test]
fn every_written_form_of_the_page_is_accepted_and_means_what_it_says() {
    let context = ParseContext {
        now_ms: ms("2026-11-18T13:00:00Z"),
        zone: "Europe/Berlin",
    };
    let mut forms = 0;
    for (written, shown) in rows() {
        for text in written {
            let spec = parse(text, &context).unwrap_or_else(|error| panic!("{text}: {error}"));
            let words = describe(&spec, "Europe/Berlin");
            if let [expected] = shown.as_slice() {
                assert_eq!(&words, expected, "{text}");
            }
            forms += 1;
        }
    }
    assert!(forms > 35, "{forms}");
}
