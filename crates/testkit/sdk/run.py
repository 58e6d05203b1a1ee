"""Runs all tests of this folder and sums up as Rust's test binaries do, so that one reader counts both."""

import pathlib
import sys
import unittest


def main():
    here = str(pathlib.Path(__file__).parent)
    sys.path.insert(0, here)
    tests = unittest.defaultTestLoader.discover(here)
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2).run(tests)
    failed = len(result.failures) + len(result.errors)
    passed = result.testsRun - failed
    good = failed == 0 and passed > 0
    print(f"test result: {'ok' if good else 'FAILED'}. {passed} passed; {failed} failed; 0 ignored")
    return 0 if good else 1


sys.exit(main())
