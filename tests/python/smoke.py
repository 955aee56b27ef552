"""What an installed wheel can do, with nothing else installed: no NumPy, no compiler."""

import subprocess
import sys

import attend

q = attend.Array([[1.0, 0.0], [0.0, 1.0]])
output, weights = attend.attention(q, q, q, score="dot", return_weights=True)
assert abs(weights[0, 0] - 0.7310586) < 1e-6
sheet = attend.Sheet("w = softmax([1 2])\nexpect sum(w) = 1")
sheet.check()
model = attend.train("pairs", attend.datasets.reverse(train_count=200), hidden_size=8, steps=2,
                     progress=False)
assert model.generate("abc").source_tokens == ["a", "b", "c"]
assert attend.metrics.bleu(["the cat sat on it"], ["the cat sat on it"]).value > 99.99
version = subprocess.run([sys.executable, "-m", "attend", "--version"], capture_output=True,
                         text=True, check=True).stdout
assert attend.__version__ in version
assert "site-packages" in attend.__file__, attend.__file__
print("the wheel works:", attend.__file__)
