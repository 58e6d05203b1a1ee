//! Shell lines: the grammar against a real bash, and what is known about programs.

mod bash;
mod dice;
mod effects;
mod fuzz;
mod grammar;
mod looking;
mod oracle;
mod outside;
