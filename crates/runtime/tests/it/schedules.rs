//! Schedules: fired once, skipped with a reason, reviewed, with the rights of their maker.

mod deliveries;
mod failures;
mod firing;
mod fixture;
mod gates;
mod heartbeat;
mod missed;
mod restarts;
mod rule_table;
mod tools;
