//! `rooftree sessions …`: what people and programs do with the sessions there are.

mod changing;
mod exporting;
pub mod fixture;
mod imported_rights;
mod importing;
mod listing;
mod living;
mod reading;
mod undoing;
