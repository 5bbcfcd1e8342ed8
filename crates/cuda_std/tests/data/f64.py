#!/usr/bin/env python3
"""Writes f64.txt: values of functions to 30 digits, by mpmath, at arguments of a fixed seed.

A line is: function, arguments, value. Numbers are the bits of f64; a value is the sum of two.
"""

import random
import struct

import mpmath as mp

mp.mp.dps = 60
random.seed(1)


def bits(x):
    return struct.pack(">d", x).hex()


def between(low, high):
    return lambda: (random.uniform(low, high),)


def magnitude(low, high, signed=False):
    def draw():
        x = 2.0 ** random.uniform(low, high)
        return (-x if signed and random.random() < 0.5 else x,)

    return draw


def both(first, second):
    return lambda: first() + second()


wide = magnitude(-30, 30, signed=True)
FUNCTIONS = {
    "exp": (mp.exp, between(-700, 700)),
    "exp2": (lambda x: mp.mpf(2) ** x, between(-1000, 1000)),
    "exp_m1": (mp.expm1, magnitude(-30, 8, signed=True)),
    "ln": (mp.log, magnitude(-900, 900)),
    "ln near 1": (mp.log, between(0.5, 2)),
    "log2": (lambda x: mp.log(x) / mp.log(2), magnitude(-900, 900)),
    "log10": (mp.log10, magnitude(-900, 900)),
    "ln_1p": (mp.log1p, magnitude(-30, 30)),
    "sin": (mp.sin, wide),
    "cos": (mp.cos, wide),
    "tan": (mp.tan, wide),
    "asin": (mp.asin, between(-1, 1)),
    "acos": (mp.acos, between(-1, 1)),
    "atan": (mp.atan, wide),
    "sinh": (mp.sinh, magnitude(-20, 9, signed=True)),
    "cosh": (mp.cosh, magnitude(-20, 9, signed=True)),
    "tanh": (mp.tanh, magnitude(-20, 6, signed=True)),
    "asinh": (mp.asinh, wide),
    "acosh": (mp.acosh, lambda: (1 + 2.0 ** random.uniform(-20, 30),)),
    "atanh": (mp.atanh, between(-1, 1)),
    "cbrt": (lambda x: mp.sign(x) * mp.cbrt(abs(x)), wide),
    "rcbrt": (lambda x: mp.sign(x) / mp.cbrt(abs(x)), wide),
    "powf": (mp.power, both(magnitude(-20, 20), between(-40, 40))),
    "hypot": (mp.hypot, both(wide, wide)),
    "atan2": (mp.atan2, both(wide, wide)),
    "sinpi": (mp.sinpi, magnitude(-20, 10, signed=True)),
    "cospi": (mp.cospi, magnitude(-20, 10, signed=True)),
    "error_function": (mp.erf, magnitude(-20, 3, signed=True)),
    "complementary_error_function": (mp.erfc, between(-6, 26)),
    "scaled_complementary_error_function": (lambda x: mp.exp(x * x) * mp.erfc(x), between(-20, 40)),
    "norm_cdf": (mp.ncdf, between(-37, 8)),
    "inv_complementary_error_function": (lambda y: mp.erfinv(1 - y), between(0, 2)),
    "inv_complementary_error_function of little": (lambda y: mp.erfinv(1 - y), magnitude(-60, -1)),
    "inv_norm_cdf": (lambda p: mp.sqrt(2) * mp.erfinv(2 * p - 1), between(0, 1)),
    "gamma": (mp.gamma, between(0.1, 170)),
    "log_gamma": (mp.loggamma, between(2.5, 1000)),
    "j0": (mp.j0, between(0, 30)),
    "j1": (mp.j1, between(0, 30)),
    "y0": (lambda x: mp.bessely(0, x), between(0.1, 30)),
    "y1": (lambda x: mp.bessely(1, x), between(0.1, 30)),
    "erfinv": (mp.erfinv, between(-1, 1)),
    "erfinv of little": (mp.erfinv, magnitude(-60, -1, signed=True)),
    "erfinv near 1": (mp.erfinv, lambda: (1 - 2.0 ** random.uniform(-52, -2),)),
    "exp10": (lambda x: mp.mpf(10) ** x, between(-300, 300)),
    "rsqrt": (lambda x: 1 / mp.sqrt(x), magnitude(-900, 900)),
}
SAMPLES = 40

with open("f64.txt", "w") as out:
    for name, (function, draw) in FUNCTIONS.items():
        for _ in range(SAMPLES):
            arguments = draw()
            value = mp.mpf(function(*map(mp.mpf, arguments)))
            high = float(value)
            low = float(value - mp.mpf(high))
            numbers = " ".join(bits(x) for x in (*arguments, high, low))
            out.write(f"{name.split()[0]} {numbers}\n")
