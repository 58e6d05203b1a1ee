//! Shell lines as rules see them: what is known about programs, judged by the policy. The grammar's own tests are in
//! `crates/shell`.

mod effects_corpus;
mod fuzz;
mod guards;
#[path = "../../../shell/tests/it/oracle.rs"]
mod oracle;
mod places;
