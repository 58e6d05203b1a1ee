#!/bin/bash
# Stands in for a real program: notes what it was given, then plays the script of its directory.
here=$FAKE_PROGRAM
printf '%s\n' "$@" >"$here/arguments"
if [ "$1" = --version ]; then
    echo 'fake 0.0.1'
    exit
fi
cat >"$here/input"
. "$here/script"
