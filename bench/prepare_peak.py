"""prepare_peak.py COMMAND…: runs a command, its output to standard error, and prints its peak memory in kB."""
import resource
import subprocess
import sys

done = subprocess.run(sys.argv[1:], stdout=sys.stderr, check=False)
if done.returncode != 0:
    sys.exit(f"exit code {done.returncode}: {' '.join(sys.argv[1:])}")
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
