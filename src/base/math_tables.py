#!/usr/bin/env python3
"""Write math_tables.c and math_coefficients.h: the numbers of the elementary functions.

    python3 src/base/math_tables.py

Needs mpmath. The build does not: the files that this script writes are part of the source. A
polynomial interpolates its function at Chebyshev points, which is less than one bit worse than the
best polynomial. Standard output has the error of each polynomial after its coefficients were
rounded to double, relative to the function that it is for.
"""
from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import mpmath
from mpmath import mpf

mpmath.mp.prec = 400
HERE = Path(__file__).parent

EXP_BITS = 7
EXP_RANGE = mpmath.log(2) / 256 * mpf("1.02")  # the low part of an argument is added after rounding
LOG_BITS = 7
LOG_OFFSET = 0x3FE6900000000000  # half an interval off, so that 1 is inside of one
ERF_FIRST, ERF_LAST = mpf(1) / 4, mpf(28)
ERF_BITS = 3  # intervals per power of two
ERF_DEGREE = 12


def from_bits(bits: int) -> mpf:
    """Return the double that has these bits."""
    return mpf(struct.unpack("<d", struct.pack("<Q", bits))[0])


def bits_of(x: mpf | float) -> int:
    """Return the bits of a double."""
    return struct.unpack("<Q", struct.pack("<d", float(x)))[0]


def rounded(x: mpf, bits: int = 53) -> mpf:
    """Round to so many significant bits."""
    with mpmath.workprec(bits):
        return +x


def on_grid(x: mpf, step: int) -> mpf:
    """Round to a multiple of 2^step."""
    return mpmath.nint(mpmath.ldexp(x, -step)) * mpf(2) ** step


def cut(x: mpf, bits: int) -> mpf:
    """Round a number near 1 to a multiple of 2^-bits."""
    return on_grid(x, -bits)


def literal(x: mpf) -> str:
    """Return a double as a C literal."""
    value = float(x)
    assert mpf(value) == x
    return value.hex().replace("0x1.0000000000000p", "0x1p").replace("p+", "p")


def fit(f: Callable[[mpf], mpf], degree: int, low: mpf, high: mpf,
        weight: Callable[[mpf], mpf]) -> tuple[list[mpf], mpf]:
    """Fit a polynomial with double coefficients; also give its largest error times `weight`."""
    count = degree + 1
    angles = [mpmath.pi * (2 * i + 1) / (2 * count) for i in range(count)]
    # Most functions here are quotients that 0 itself has no value of.
    points = [(low + high) / 2 + (high - low) / 2 * mpmath.cos(a) + mpf("1e-25") for a in angles]
    powers = mpmath.matrix([[x**j for j in range(count)] for x in points])
    exact = mpmath.lu_solve(powers, mpmath.matrix([f(x) for x in points]))
    coefficients = [rounded(c) for c in exact]
    samples = [low + (high - low) * (2 * i + 1) / 400 for i in range(200)]
    error = max(abs(mpmath.polyval(coefficients[::-1], x) - f(x)) * weight(x) for x in samples)
    return coefficients, error


def exp_rest(x: mpf) -> mpf:
    return (mpmath.expm1(x) - x) / x**2


def log_rest(x: mpf) -> mpf:
    return (mpmath.log1p(x) - x) / x**2


def log_rest_wide(x: mpf) -> mpf:
    return (mpmath.log1p(x) - x + x**2 / 2) / x**3


def tanh_rest(s: mpf) -> mpf:
    x = mpmath.sqrt(s)
    return (mpmath.tanh(x) / x - 1) / s


def sin_rest(s: mpf) -> mpf:
    x = mpmath.sqrt(s)
    return (mpmath.sin(x) / x - 1) / s


def cos_rest(s: mpf) -> mpf:
    x = mpmath.sqrt(s)
    return (mpmath.cos(x) - 1 + s / 2) / s**2


def erf_rest(s: mpf) -> mpf:
    x = mpmath.sqrt(s)
    return mpmath.erf(x) / x - mpf(9) / 8


def scaled_erfc(x: mpf) -> mpf:
    return mpmath.exp(x**2) * mpmath.erfc(x)


def polynomials() -> list[str]:
    """Return the lines of C of all polynomials, printing their errors."""
    log_range = (-mpf("0.0045"), mpf("0.0045"))
    tanh_split, pi4 = mpf("0.3751"), mpmath.pi / 4 * mpf("1.0001")
    table = [
        ("exp", exp_rest, 3, -EXP_RANGE, EXP_RANGE, lambda x: x**2),
        ("log", log_rest, 5, *log_range, lambda x: abs(x)),
        ("log_wide", log_rest_wide, 5, *log_range, lambda x: x**2),
        ("tanh", tanh_rest, 9, mpf(0), tanh_split**2, lambda s: s),
        ("sin", sin_rest, 6, mpf(0), pi4**2, lambda s: s),
        ("cos", cos_rest, 5, mpf(0), pi4**2, lambda s: s**2),
        ("erf", erf_rest, 8, mpf(0), mpf(1) / 16, lambda s: mpf(1)),
    ]
    lines = []
    for name, f, degree, low, high, weight in table:
        coefficients, error = fit(f, degree, low, high, weight=weight)
        print(f"{name}: 2^{float(mpmath.log(error, 2)):.1f}")
        numbers = ", ".join(literal(c) for c in coefficients)
        lines.append(f"#define {name.upper()}_REST {{ {numbers} }}")
    return lines


def constants() -> list[str]:
    """Return the lines of C of single numbers."""
    ln2, tenth = mpmath.log(2), 1 / mpmath.log(10)
    exp_high = on_grid(ln2 / 2**EXP_BITS, -42)
    log_high = on_grid(ln2, -42)
    log10_high = rounded(tenth, 26)
    half_pi = mpmath.pi / 2
    quarter = [on_grid(half_pi, -32)]
    quarter.append(on_grid(half_pi - quarter[0], -65))
    quarter.append(rounded(half_pi - quarter[0] - quarter[1]))
    thirds = [on_grid(half_pi, -25)]
    thirds.append(on_grid(half_pi - thirds[0], -51))
    thirds.append(rounded(half_pi - thirds[0] - thirds[1]))
    rows = [("EXP_PER_UNIT", rounded(2**EXP_BITS / ln2)),
            ("EXP_STEP_HIGH", exp_high), ("EXP_STEP_LOW", rounded(ln2 / 2**EXP_BITS - exp_high)),
            ("LN2_HIGH", log_high), ("LN2_LOW", rounded(ln2 - log_high)),
            ("LOG10_E_HIGH", log10_high), ("LOG10_E_LOW", rounded(tenth - log10_high)),
            ("TWO_OVER_PI", rounded(2 / mpmath.pi))]
    rows += [(f"HALF_PI_{i}", part) for i, part in enumerate(quarter)]
    rows += [(f"HALF_PI_SHORT_{i}", part) for i, part in enumerate(thirds)]
    return [f"#define {name} {literal(value)}" for name, value in rows]


def exp_rows() -> list[str]:
    rows = []
    for j in range(2**EXP_BITS):
        power = mpf(2) ** (mpf(j) / 2**EXP_BITS)
        near = rounded(power)
        rows.append(f"{{ {literal(near)}, {literal(rounded(power / near - 1))} }}")
    return rows


def log_rows() -> list[str]:
    rows = []
    for i in range(2**LOG_BITS):
        low = from_bits(LOG_OFFSET + (i << (52 - LOG_BITS)))
        high = from_bits(LOG_OFFSET + ((i + 1) << (52 - LOG_BITS)))
        inverse = mpf(1) if low <= 1 < high else cut(2 / (low + high), 11)
        assert max(abs(low * inverse - 1), abs(high * inverse - 1)) < mpf("0.0045")
        value = -mpmath.log(inverse)
        near = on_grid(value, -42)
        rows.append(f"{{ {literal(inverse)}, {literal(near)}, {literal(rounded(value - near))} }}")
    return rows


def erf_rows() -> list[str]:
    rows, worst = [], mpf(0)
    step = 1 << (52 - ERF_BITS)
    for bits in range(bits_of(ERF_FIRST), bits_of(ERF_LAST), step):
        low, high, center = from_bits(bits), from_bits(bits + step), from_bits(bits + step // 2)
        value = scaled_erfc(center)
        near = rounded(value, 26)
        tail = rounded(value - near)

        def rest(h: mpf, center: mpf = center, value: mpf = value) -> mpf:
            return (scaled_erfc(center + h) - value) / h

        coefficients, error = fit(rest, ERF_DEGREE - 1, low - center, high - center,
                                  weight=lambda h: abs(h) / value)
        worst = max(worst, error)
        rows.append("{ " + ", ".join(literal(c) for c in [near, tail, *coefficients]) + " }")
    print(f"erfc: 2^{float(mpmath.log(worst, 2)):.1f} in {len(rows)} intervals")
    return rows


def pi_rows() -> list[str]:
    digits = int(mpmath.floor(mpmath.ldexp(2 / mpmath.pi, 32 * 40)))
    return [f"0x{digits >> 32 * (39 - i) & 0xFFFFFFFF:08x}" for i in range(40)]


def main() -> None:
    comment = "/* Written by math_tables.py. */\n"
    header = comment + "#ifndef ATT_BASE_MATH_COEFFICIENTS_H\n"
    header += "#define ATT_BASE_MATH_COEFFICIENTS_H\n\n/* clang-format off */\n"
    header += "\n".join(constants()) + "\n\n" + "\n".join(polynomials())
    header += "\n/* clang-format on */\n\n#endif\n"
    (HERE / "math_coefficients.h").write_text(header, encoding="utf-8")
    erf = erf_rows()
    with mpmath.workprec(1500):
        pi = pi_rows()
    tables = [("att_exp_row att_exp_table[ATT_EXP_ROWS]", exp_rows(), 1),
              ("att_log_row att_log_table[ATT_LOG_ROWS]", log_rows(), 1),
              ("double att_erfc_table[ATT_ERFC_ROWS][ATT_ERFC_COLUMNS]", erf, 1),
              ("uint32_t att_two_over_pi[ATT_TWO_OVER_PI_WORDS]", pi, 8)]
    source = comment + '#include "base/math_parts.h"\n\n/* clang-format off */\n'
    for name, rows, across in tables:
        lines = [", ".join(rows[i:i + across]) for i in range(0, len(rows), across)]
        source += f"const {name} = {{\n    " + ",\n    ".join(lines) + "\n};\n\n"
    source += "/* clang-format on */\n"
    (HERE / "math_tables.c").write_text(source, encoding="utf-8")


if __name__ == "__main__":
    main()
