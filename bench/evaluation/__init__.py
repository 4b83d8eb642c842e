"""The experiments of bench/paper, one a module."""

from .baselines import Baselines
from .engine_options import EngineOptions
from .frameworks import Frameworks
from .lines_of_code import LinesOfCode
from .profilers import CompileTimes, RunTimes, Sizes
from .sampling_rates import SamplingRates
from .validation import Validation
from .where_time_goes import WhereTimeGoes

EXPERIMENTS = {experiment.name: experiment for experiment in (
    LinesOfCode(), Baselines(), Frameworks(), EngineOptions(), WhereTimeGoes(), Sizes(), CompileTimes(), RunTimes(), Validation(), SamplingRates())}
