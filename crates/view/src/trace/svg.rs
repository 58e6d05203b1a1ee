//! Renders a trace as SVG: one file, no script, light and dark as the reader has it.

use std::fmt::Write;

use crate::WaitCause;

use super::waterfall::{TraceBar, TraceBarEnd, TraceChart, mark};

const WIDTH: f64 = 960.0;
/// Where bars begin and end.
const LEFT: f64 = 210.0;
const RIGHT: f64 = 760.0;
const TOP: f64 = 30.0;
const ROW: f64 = 40.0;
const BAR: f64 = 16.0;
/// How far one below another is moved to the right.
const INDENT: f64 = 18.0;
/// Letters that fit below a bar.
const NOTE: usize = 90;

/// Attributes of each class. Literal values, not CSS variables: many viewers know neither those nor style sheets.
const CLASSES: &[(&str, &str)] = &[
    ("paper", "fill=\"#ffffff\""),
    ("name", "fill=\"#1f2328\" font-weight=\"600\""),
    ("dim", "fill=\"#656d76\""),
    ("small", "font-size=\"11\""),
    ("grid", "fill=\"none\" stroke=\"#d8dee4\""),
    ("stem", "fill=\"none\" stroke=\"#656d76\""),
    ("work", "fill=\"#2f81f7\""),
    ("person", "fill=\"#d4a72c\""),
    ("provider", "fill=\"#a8b1bd\""),
    ("bad", "fill=\"#cf222e\""),
    ("end", "text-anchor=\"end\""),
    ("middle", "text-anchor=\"middle\""),
];

/// Colours for dark pages. A rule of a style sheet goes before an attribute, where the viewer knows rules.
const DARK: &str = "\
@media (prefers-color-scheme: dark) { .paper { fill: #0d1117 } .name { fill: #e6edf3 } .dim { fill: #8b949e } \
.grid { stroke: #30363d } .stem { stroke: #8b949e } .work { fill: #388bfd } .person { fill: #e3b341 } \
.provider { fill: #6e7681 } .bad { fill: #f85149 } }";

/// The classes of an element with the attributes they stand for.
fn classed(classes: &str) -> String {
    let attributes: Vec<&str> = classes
        .split(' ')
        .filter_map(|class| CLASSES.iter().find(|(name, _)| *name == class))
        .map(|(_, attributes)| *attributes)
        .collect();
    format!("class=\"{classes}\" {}", attributes.join(" "))
}

/// Draws it.
pub fn draw(picture: &TraceChart) -> String {
    let bottom = TOP + ROW * picture.bars.len() as f64;
    let height = bottom + 52.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" \
         font-family=\"ui-sans-serif, system-ui, sans-serif\" font-size=\"13\" aria-label=\"{}\">\n\
         <style>{DARK}</style>\n<rect {} width=\"{WIDTH}\" height=\"{height}\" rx=\"8\"/>\n",
        escaped(&label(picture)),
        classed("paper")
    );
    grid(&mut svg, picture, bottom);
    stems(&mut svg, &picture.bars);
    for (number, bar) in picture.bars.iter().enumerate() {
        row(&mut svg, picture, bar, TOP + ROW * number as f64);
    }
    legend(&mut svg, picture, bottom + 38.0);
    svg.push_str("</svg>\n");
    svg
}

fn label(picture: &TraceChart) -> String {
    let names: Vec<&str> = picture.bars.iter().map(|bar| bar.agent.as_str()).collect();
    format!("When each agent worked: {}", names.join(", "))
}

fn across(moment: u64, picture: &TraceChart) -> f64 {
    LEFT + (RIGHT - LEFT) * moment as f64 / picture.length.max(1) as f64
}

fn add(svg: &mut String, piece: std::fmt::Arguments<'_>) {
    // Writing into a string cannot fail.
    let _ = svg.write_fmt(piece);
    svg.push('\n');
}

fn grid(svg: &mut String, picture: &TraceChart, bottom: f64) {
    for moment in &picture.marks {
        let x = across(*moment, picture);
        let top = TOP - 10.0;
        add(
            svg,
            format_args!(
                "<path {look} d=\"M{x:.1} {top}V{bottom}\"/>",
                look = classed("grid")
            ),
        );
        let (y, words) = (bottom + 14.0, mark(*moment));
        add(
            svg,
            format_args!(
                "<text {look} x=\"{x:.1}\" y=\"{y}\">{words}</text>",
                look = classed("dim small middle")
            ),
        );
    }
}

/// Lines from each one to those below it.
fn stems(svg: &mut String, bars: &[TraceBar]) {
    for (number, bar) in bars.iter().enumerate() {
        let depth = bar.branches.len();
        let Some(above) = depth.checked_sub(1) else {
            continue;
        };
        let asker = bars
            .iter()
            .take(number)
            .rposition(|other| other.branches.len() == above)
            .unwrap_or_default();
        let x = 20.0 + INDENT * above as f64;
        let (from, to) = (
            TOP + ROW * asker as f64 + 31.0,
            TOP + ROW * number as f64 + 12.0,
        );
        add(
            svg,
            format_args!(
                "<path {look} d=\"M{x} {from}V{to}H{}\"/>",
                x + INDENT - 6.0,
                look = classed("stem")
            ),
        );
    }
}

fn row(svg: &mut String, picture: &TraceChart, bar: &TraceBar, y: f64) {
    let x = 16.0 + INDENT * bar.branches.len() as f64;
    add(
        svg,
        format_args!(
            "<text {look} x=\"{x}\" y=\"{}\">{}</text>",
            y + 12.0,
            escaped(&bar.agent),
            look = classed("name")
        ),
    );
    add(
        svg,
        format_args!(
            "<text {look} x=\"{x}\" y=\"{}\">{}</text>",
            y + 26.0,
            escaped(&bar.model),
            look = classed("dim small")
        ),
    );
    rectangle(svg, picture, "work", (bar.from, bar.to), y);
    for (cause, from, to) in &bar.waits {
        let class = if *cause == WaitCause::Person {
            "person"
        } else {
            "provider"
        };
        rectangle(svg, picture, class, (*from, *to), y);
    }
    let end = across(bar.to, picture) + 4.0;
    match bar.ending {
        TraceBarEnd::Badly => add(
            svg,
            format_args!(
                "<text {look} x=\"{end:.1}\" y=\"{}\">✗</text>",
                y + 13.0,
                look = classed("bad")
            ),
        ),
        TraceBarEnd::Stopped => add(
            svg,
            format_args!(
                "<text {look} x=\"{end:.1}\" y=\"{}\">■</text>",
                y + 13.0,
                look = classed("dim")
            ),
        ),
        TraceBarEnd::Open => add(
            svg,
            format_args!(
                "<text {look} x=\"{end:.1}\" y=\"{}\">…</text>",
                y + 13.0,
                look = classed("dim")
            ),
        ),
        TraceBarEnd::Well => {}
    }
    let facts: Vec<&str> = bar
        .facts
        .iter()
        .map(String::as_str)
        .filter(|fact| !fact.is_empty())
        .collect();
    let (right, words) = (WIDTH - 16.0, escaped(&facts.join(" · ")));
    add(
        svg,
        format_args!(
            "<text {look} x=\"{right}\" y=\"{}\">{words}</text>",
            y + 12.0,
            look = classed("dim end")
        ),
    );
    if !bar.note.is_empty() {
        let class = if bar.ending == TraceBarEnd::Badly {
            "bad small"
        } else {
            "dim small"
        };
        let (x, note) = (across(bar.from, picture), escaped(&shortened(&bar.note)));
        add(
            svg,
            format_args!(
                "<text {look} x=\"{x:.1}\" y=\"{}\">{note}</text>",
                y + 28.0,
                look = classed(class)
            ),
        );
    }
}

fn rectangle(svg: &mut String, picture: &TraceChart, class: &str, (from, to): (u64, u64), y: f64) {
    let (x, end) = (across(from, picture), across(to, picture));
    // Whatever happened is seen, however short it was.
    let width = (end - x).max(2.0);
    add(
        svg,
        format_args!(
            "<rect {look} x=\"{x:.1}\" y=\"{y}\" width=\"{width:.1}\" height=\"{BAR}\" rx=\"3\"/>",
            look = classed(class)
        ),
    );
}

fn legend(svg: &mut String, picture: &TraceChart, y: f64) {
    let waits = |cause| {
        picture
            .bars
            .iter()
            .any(|bar| bar.waits.iter().any(|(why, ..)| *why == cause))
    };
    let entries = [
        ("work", "at work", true),
        ("person", "waiting for you", waits(WaitCause::Person)),
        (
            "provider",
            "waiting for the provider",
            waits(WaitCause::Provider),
        ),
    ];
    let mut x = LEFT;
    for (class, words, _) in entries.into_iter().filter(|(_, _, is_used)| *is_used) {
        add(
            svg,
            format_args!(
                "<rect {look} x=\"{x}\" y=\"{}\" width=\"11\" height=\"11\" rx=\"2\"/>",
                y - 10.0,
                look = classed(class)
            ),
        );
        add(
            svg,
            format_args!(
                "<text {look} x=\"{}\" y=\"{y}\">{words}</text>",
                x + 17.0,
                look = classed("dim small")
            ),
        );
        x += 40.0 + 7.0 * words.len() as f64;
    }
}

/// A note that fits below a bar.
fn shortened(note: &str) -> String {
    match note.char_indices().nth(NOTE) {
        Some((at, _)) => format!("{}…", note.get(..at).unwrap_or_default().trim_end()),
        None => note.to_owned(),
    }
}

/// Text as XML takes it. What XML cannot hold at all is left out.
fn escaped(text: &str) -> String {
    let is_unfit = |letter: char| letter.is_control() || matches!(letter, '\u{fffe}' | '\u{ffff}');
    text.replace(is_unfit, " ")
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::{
        super::waterfall::{lay_out, tests::family},
        *,
    };

    #[test]
    fn a_picture_is_one_file_that_obeys_nothing() {
        let mut spans = family();
        if let Some(span) = spans.first_mut() {
            span.agent = "<script>\u{1b}".into();
        }
        let svg = draw(&lay_out(&spans));
        assert!(
            svg.contains("&lt;script&gt;") && !svg.contains("<script") && !svg.contains('\u{1b}')
        );
        assert!(svg.contains("prefers-color-scheme: dark") && !svg.contains("href"));
        let (opened, closed) = (svg.matches("<text").count(), svg.matches("</text>").count());
        assert_eq!(opened, closed);
        assert!(svg.contains("failed: 429") && svg.contains("waiting for you"));
    }

    /// Viewers without CSS variables showed black on black.
    #[test]
    fn every_shape_and_text_has_a_literal_colour() {
        let svg = draw(&lay_out(&family()));
        assert!(!svg.contains("var("), "{svg}");
        let shapes = ["<rect ", "<path ", "<text "];
        let mut drawn = 0;
        for line in svg.lines() {
            let Some(shape) = shapes.iter().find_map(|shape| line.strip_prefix(shape)) else {
                continue;
            };
            let attributes = shape.split('>').next().unwrap_or_default();
            let fill = attributes.split(" fill=\"").nth(1).unwrap_or_default();
            let colour = fill.split('"').next().unwrap_or_default();
            let is_literal = colour == "none" && attributes.contains(" stroke=\"#")
                || colour.len() == 7 && colour.starts_with('#');
            assert!(is_literal, "{line}");
            drawn += 1;
        }
        assert!(drawn > 10, "{svg}");
        assert!(svg.contains(" fill=\"#ffffff\"") && svg.contains(" fill=\"#2f81f7\""));
    }
}
