"""ETL flows: what their activities are, how a flow is divided, and which activity runs next.

A flow is a graph of activities (`activities/`, `graph.py`). Rows move between them in packs, through bounded queues.
A `Monitor` activates one activity after another as a policy chooses, and records what happened; who carries the
activities out is a `Worker`. The Mixed Policy breaks a flow into subflows and strata (Karagiannis et al. 2013).
`Flow` declares one in Python, `structure.py` says what is wrong with it.

Nothing here touches a row: what activities do to rows is in `spark/flows`, and how flows are written in YAML in
`project/flows`.
"""

from freshtide.flows.activities import ACTIVITIES, Activity, Recordset
from freshtide.flows.builder import Flow, Rows
from freshtide.flows.columns import may_have
from freshtide.flows.graph import Edge, FlowGraph, Node, Port, port_label
from freshtide.flows.monitor import Monitor
from freshtide.flows.options import FORMAT_OPTIONS
from freshtide.flows.packs import Outputs, Pack, Supply, Worker
from freshtide.flows.policies import POLICIES, FlowPolicy, Standing
from freshtide.flows.queues import Limits
from freshtide.flows.records import Activation, FlowRecord, MemorySample, Tally
from freshtide.flows.structure import flow_problems, node_problems, written_recordsets
from freshtide.flows.subflows import Subflow, break_into_subflows, derive_strata

__all__ = [
    "ACTIVITIES",
    "FORMAT_OPTIONS",
    "POLICIES",
    "Activation",
    "Activity",
    "Edge",
    "Flow",
    "FlowGraph",
    "FlowPolicy",
    "FlowRecord",
    "Limits",
    "MemorySample",
    "Monitor",
    "Node",
    "Outputs",
    "Pack",
    "Port",
    "Recordset",
    "Rows",
    "Standing",
    "Subflow",
    "Supply",
    "Tally",
    "Worker",
    "break_into_subflows",
    "derive_strata",
    "flow_problems",
    "may_have",
    "node_problems",
    "port_label",
    "written_recordsets",
]
