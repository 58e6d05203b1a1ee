//! Shell lines: the grammar against a real bash, and what is known about programs.

mod bash;
mod dice;
mod effects;
mod effects_corpus;
mod fuzz;
mod grammar;
mod guards;
mod looking;
mod oracle;
mod outside;
mod places;
