//! Traces of runs for people and other programs: a waterfall chart, an SVG picture, OTLP JSON. From spans alone.

mod otlp;
mod svg;
mod waterfall;

pub use otlp::otlp_json;
pub use svg::draw as draw_svg;
pub use waterfall::{TraceBar, TraceBarEnd, TraceChart, lay_out, mark};
