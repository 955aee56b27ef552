#!/usr/bin/env python3
"""Write math_cases.h: arguments that are hard for elementary functions, with their results.

    python3 tests/base/math_cases.py

Needs mpmath; the tests do not. A result is the nearest double and what the true value has beyond
it, in units of the last place, so that an error can be told to a thousandth of a unit.
"""
from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import mpmath
from mpmath import mpf

mpmath.mp.prec = 1300
HERE = Path(__file__).parent
TRIED, KEPT = 3000, 12

FUNCTIONS: dict[str, Callable[..., mpf]] = {
    "exp": mpmath.exp, "log": mpmath.log, "log1p": mpmath.log1p,
    "log10": lambda x: mpmath.log(x) / mpmath.log(10), "pow": mpmath.power,
    "tanh": mpmath.tanh, "cosh": mpmath.cosh, "erf": mpmath.erf, "erfc": mpmath.erfc,
    "sin": mpmath.sin, "cos": mpmath.cos,
}

# Where arguments are drawn from, and points where an implementation may change its method.
RANGES = {
    "exp": [(-745, 709.7), (-1, 1), (-745.13, -708.4)],
    "log": [(0.5, 2), (0.99, 1.01), (1 - 2e-9, 1), (1 - 1e-12, 1 + 1e-12), (1e-320, 1e-300),
            (1, 1e300)],
    "log1p": [(-0.99, 1), (-0.01, 0.01), (1, 1e17), (-1e-10, 1e-10)],
    "log10": [(0.5, 2), (0.99, 1.01), (1 - 2e-9, 1), (1 - 1e-12, 1 + 1e-12), (1, 1e300)],
    "tanh": [(0, 1), (0, 20), (0, 1e-6)],
    "cosh": [(0, 1), (0, 50), (700, 710.4)],
    "erf": [(0, 0.5), (0, 6), (0, 1e-6), (1e-310, 1e-305)],
    "erfc": [(-1, 1), (-6, 6), (6, 26.5), (26.5, 27.2)],
    "sin": [(0, 0.8), (0, 10), (0, 3e6), (1e20, 1e22)],
    "cos": [(0, 0.8), (0, 10), (0, 3e6), (1e20, 1e22)],
}


def split(value: mpf) -> tuple[float, float]:
    """Return the nearest double and the rest in units of its last place."""
    exponent = mpmath.frexp(value)[1] if value else -2000
    unit = mpf(2) ** max(exponent - 53, -1074)
    near = float(mpmath.nint(value / unit) * unit)
    return near, float((value - mpf(near)) / unit)


def toughest(name: str, draw: Callable[[], tuple[float, ...]]) -> list[tuple[float, ...]]:
    """Return those of many arguments whose results are closest to the middle of two doubles."""
    with mpmath.workprec(200):
        f = FUNCTIONS[name]
        tried = [draw() for _ in range(TRIED)]
        tried.sort(key=lambda at: -abs(split(f(*map(mpf, at)))[1]))
    return tried[:KEPT]


def beside_quarter_turns() -> Iterator[float]:
    """Yield doubles m 2^e very close to multiples of pi/2: m is a multiple of the denominator of a
    convergent of 2^e 2/pi."""
    for e in [*range(-52, 20, 6), *range(20, 971, 25), 970]:
        left = mpmath.ldexp(2 / mpmath.pi, e)
        left -= mpmath.floor(left)
        before, denominator = 0, 1
        while True:
            left = 1 / left
            digit = int(mpmath.floor(left))
            left -= digit
            if digit * denominator + before >= 2**53:
                break
            before, denominator = denominator, digit * denominator + before
        yield float(denominator * ((2**53 - 1) // denominator)) * 2.0**e


def powers() -> Iterator[Callable[[], tuple[float, float]]]:
    """Yield ways of drawing a base and an exponent."""
    def anywhere() -> tuple[float, float]:
        x = 2.0 ** random.uniform(-1000, 1000)
        return x, random.uniform(-744, 709) / float(mpmath.log(x))

    def near_one() -> tuple[float, float]:
        x = 1 + random.choice([-1, 1]) * 2.0 ** -random.uniform(3, 50)
        return x, random.uniform(-744, 709) / float(mpmath.log(mpf(x)))

    def below_normal() -> tuple[float, float]:
        x = random.uniform(1.5, 100)
        return x, random.uniform(-744, -709) / float(mpmath.log(x))

    yield anywhere
    yield near_one
    yield below_normal
    yield lambda: (10000.0, random.uniform(0, 1))


def cases() -> Iterator[tuple[str, float, float]]:
    """Yield all arguments."""
    random.seed(1)
    for name, ranges in RANGES.items():
        for low, high in ranges:
            for (x,) in toughest(name, lambda low=low, high=high: (random.uniform(low, high),)):
                yield name, x, 0.0
    for x in beside_quarter_turns():
        yield "sin", x, 0.0
        yield "cos", x, 0.0
    for draw in powers():
        for x, y in toughest("pow", draw):
            yield "pow", x, y
    for x, y in [(10.0, 22.0), (10.0, -5.0), (10.0, 308.0), (3.0, 33.0), (-3.0, 33.0), (2.0, 0.5),
                 (2.0, -1074.0), (5e-324, 0.5), (1 - 2.0**-53, 2.0**62), (1 + 2.0**-52, -(2.0**61))]:
        yield "pow", x, y


def main() -> None:
    lines = []
    for name, x, y in cases():
        arguments = (mpf(x), mpf(y)) if name == "pow" else (mpf(x),)
        near, rest = split(FUNCTIONS[name](*arguments))
        lines.append(f"    {{ \"{name}\", {x.hex()}, {y.hex()}, {near.hex()}, {rest:.4f} }},")
    (HERE / "math_cases.h").write_text(
        "/* Written by math_cases.py. */\n/* clang-format off */\n"
        "static const struct hard_case {\n    const char *name;\n    double x, y;\n"
        "    double near, rest; /* rest in units of the last place */\n} hard_cases[] = {\n"
        + "\n".join(lines) + "\n};\n/* clang-format on */\n", encoding="utf-8")


if __name__ == "__main__":
    main()
