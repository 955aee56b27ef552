"""Results in TAP, which tests/run-tap counts."""

from __future__ import annotations

import os
from typing import Any

import pytest

_results: list[str] = []


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "call" or (report.when == "setup" and not report.passed):
        name = report.nodeid.rsplit("::", 1)[-1].replace("#", "")
        word = "not ok" if report.failed else "ok"
        skip = ""
        if report.skipped:
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
            skip = f" # SKIP {reason.removeprefix('Skipped: ')}"
        _results.append(f"{word} {len(_results) + 1} - {name}{skip}")


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """A file that is skipped as a whole: a library is not installed."""
    if report.skipped and isinstance(report.longrepr, tuple):
        reason = report.longrepr[2].removeprefix("Skipped: ")
        _results.append(f"ok {len(_results) + 1} - {report.nodeid} # SKIP {reason}")


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and _results:
        session.exitstatus = pytest.ExitCode.OK


def pytest_terminal_summary(terminalreporter: Any) -> None:
    terminalreporter.ensure_newline()
    for line in _results:
        terminalreporter.write_line(line)
    terminalreporter.write_line(f"1..{len(_results)}")


def pytest_configure(config: pytest.Config) -> None:
    # Two threads: the tests run side by side, and results do not depend on the number.
    import attend

    attend.threads(2)


@pytest.fixture
def thin() -> int:
    """The divisor of repetitions under the sanitizers."""
    return 10 if os.environ.get("ATTEND_TEST_SANITIZE") else 1
