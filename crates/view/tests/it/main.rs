//! The fold of a run tree: golden stories, rules, and properties over random journals.

mod golden;
mod properties;
mod rules;
mod sample_events;
