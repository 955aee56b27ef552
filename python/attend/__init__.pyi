from attend import datasets as datasets
from attend import metrics as metrics
from attend._core import Array as Array
from attend._core import Error as Error
from attend._core import FileError as FileError
from attend._core import UnsupportedError as UnsupportedError
from attend._core import attention as attention
from attend._core import attention_backward as attention_backward
from attend._core import cpu_name as cpu_name
from attend._core import threads as threads
from attend._inspect import Cells as Cells
from attend._inspect import GradientFlow as GradientFlow
from attend._inspect import HighlightedText as HighlightedText
from attend._magic import load_ipython_extension as load_ipython_extension
from attend._maps import AttentionMap as AttentionMap
from attend._model import Model as Model
from attend._product import PackedWeights as PackedWeights
from attend._product import matmul as matmul
from attend._results import Completion as Completion
from attend._results import Output as Output
from attend._results import Prediction as Prediction
from attend._results import Tagging as Tagging
from attend._results import Token as Token
from attend._session import Session as Session
from attend._sheet import Sheet as Sheet
from attend._sheet import explain as explain
from attend._train import Training as Training
from attend._train import settings as settings
from attend._train import train as train

__version__: str

