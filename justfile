# Short names for what cargo does; nothing lives here alone.

# list what there is
default:
    @just --list

# a guided look, without key or network
demo:
    cargo run --release -- demo

# everything that must hold
test:
    cargo xtask test

# the same without the slow steps
quick:
    cargo xtask test --quick

# the walls only
tidy:
    cargo xtask tidy

# licences, sources and advisories of dependencies
deny:
    cargo deny check
