"""Experiments with ETL flows on Spark: figures of Karagiannis et al. 2013, over data of TPC-H.

Execution times are what is measured, so points are measured one after another, in one session. What runs in virtual
time is in `simulation/experiments`, and with it how experiments are run and drawn.
"""

from freshtide.spark.experiments.karagiannis import SCALES, flow_experiments
from freshtide.spark.experiments.measuring import SMALL_PACKS, FlowBench, FlowRun, measured_in_turn
from freshtide.spark.experiments.tpch import NoDataError, require_scale, tpch_data

__all__ = [
    "SCALES",
    "SMALL_PACKS",
    "FlowBench",
    "FlowRun",
    "NoDataError",
    "flow_experiments",
    "measured_in_turn",
    "require_scale",
    "tpch_data",
]
