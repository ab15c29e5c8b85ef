"""What the mix cannot use of the free GPUs of a cluster, and why (semantics R3.87)."""

from tenure.solver.model.resources import CPU, GPU, WHOLE_GPU
from tenure.solver.model.unusable_gpus import UnusableGpus
from tenure.solver.plugin_api.context import PluginContext
from tenure.solver.plugin_api.traits import NodeState
from tenure.solver.plugins.nodes.workload_mix import NODE_CLASSES, SHAPE_COUNTS, MixEntry, mix_of


def find_unusable_gpus(context: PluginContext) -> UnusableGpus:
    """Free GPUs of all ready nodes, and what the mix cannot use of them, in thousandths."""
    classes, ledger = context.derived(NODE_CLASSES), context.ledger
    mix = mix_of(context.cluster.shapes, context.derived(SHAPE_COUNTS).counts)
    mix = [entry for entry in mix if entry.request.devices]
    states = dict[NodeState, int]()
    """Ready nodes with free GPUs: how many are in a state."""
    for node in context.cluster.nodes:
        info = ledger.node_info(node.index)
        whole, parts = max(0, info.free_amount(GPU)) // WHOLE_GPU, info.free_parts()
        if (whole or parts) and not node.unready:
            state = (classes.of[node.index], max(0, info.free_amount(CPU)), whole, parts)
            states[state] = states.get(state, 0) + 1
    free, lacks = 0, [0, 0, 0, 0]
    for state, nodes in states.items():
        memory = classes.examples[state[0]].gpu_memory_mib
        free += nodes * _milli(state[2], sum(state[3]), memory)
        for entry in mix:
            accepts = classes.accepts(state[0], entry.shape)
            cause, amount = _unusable(state, entry, memory, accepts=accepts)
            lacks[cause] += nodes * amount * entry.pods
    pods = max(1, sum([entry.pods for entry in mix]))
    return UnusableGpus(free, *[amount // pods for amount in lacks])


_CPU, _GPU, _BOTH, _KIND = range(4)


def _unusable(state: NodeState, entry: MixEntry, memory: int, *, accepts: bool) -> tuple[int, int]:
    """Cause, and thousandths of GPUs, for one pod of the mix on a node."""
    (_, cpu, whole, parts), request = state, entry.request
    if not accepts:
        return _KIND, _milli(whole, sum(parts), memory)
    size = request.share_on(memory)
    small = [part for part in parts if part < size]
    has_gpu = whole * (size <= memory) + len(parts) - len(small) >= request.devices
    if has_gpu and request.cpu <= cpu:
        return _GPU, _milli(0, sum(small), memory)
    cause = _CPU if has_gpu else _GPU if request.cpu <= cpu else _BOTH
    return cause, _milli(whole, sum(parts), memory)


def _milli(whole: int, part: int, memory: int) -> int:
    """Thousandths of GPUs of whole devices and MiB of others."""
    return whole * WHOLE_GPU + part * WHOLE_GPU // max(1, memory)
