"""python -m attend: the program `attend`, which comes with the package."""

import os
import sys

program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "attend")
if not os.access(program, os.X_OK):
    sys.exit(f"python -m attend: expected the program at {program}, found none")
os.execv(program, ["attend", *sys.argv[1:]])
