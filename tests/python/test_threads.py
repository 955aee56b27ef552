"""The GIL is released, Ctrl-C ends a call, threads and forks meet without harm."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import attend
import numpy as np
import pytest


def endless() -> None:
    q = np.ones((1, 30000, 4, 64))
    attend.attention(q, q, q)


def test_ctrl_c_ends_a_call_in_a_process_of_its_own() -> None:
    """SIGINT as a terminal sends it; test_interrupt.py has every call."""
    code = """
import attend, numpy as np
try:
    q = np.ones((1, 30000, 4, 64))
    print("ready", flush=True)
    attend.attention(q, q, q)
except KeyboardInterrupt:
    q = np.ones((2, 2))  # The library can be used after that.
    print(attend.attention(q, q, q).shape, flush=True)
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    assert process.stdout.read() == "(2, 2)\n"
    assert process.wait() == 0


def test_other_threads_run_during_a_call() -> None:
    """The other thread can run only while the call has released the GIL, since Python switches between them in no other way."""
    gate, interval = threading.Lock(), sys.getswitchinterval()

    def interrupt() -> None:
        with gate:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    gate.acquire()
    thread = threading.Thread(target=interrupt)
    thread.start()
    sys.setswitchinterval(1000)
    try:
        gate.release()
        with pytest.raises(KeyboardInterrupt):
            endless()
    finally:
        sys.setswitchinterval(interval)
        thread.join()


def test_threads_that_call_at_once_get_the_same_bits(thin: int) -> None:
    q = np.random.default_rng(1).normal(size=(2, 64, 4, 32)).astype("f")
    expected = attend.attention(q, q, q).numpy()

    def call(_: int) -> bool:
        return bool(np.array_equal(attend.attention(q, q, q), expected))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(call, range(200 // thin)))


def small_sum(value: float) -> float:
    q = np.full((1, 50, 2, 16), value, "f")
    return float(attend.attention(q, q, q).numpy().sum())


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_may_use_the_library(method: str) -> None:
    if method == "spawn" and os.environ.get("ATTEND_TEST_SANITIZE"):
        pytest.skip("slow under AddressSanitizer")
    expected = [small_sum(float(i)) for i in range(3)]  # the pool of threads runs before the fork
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map(small_sum, [0.0, 1.0, 2.0]) == expected


def test_a_signal_handler_may_call_the_library() -> None:
    results = []

    def handler(*_: object) -> None:
        results.append(small_sum(1.0))
        if len(results) == 2:
            raise InterruptedError("enough")

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
    try:
        with pytest.raises(InterruptedError, match="enough"):
            endless()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(results) >= 2 and len(set(results)) == 1
