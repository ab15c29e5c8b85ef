"""Statements that make a pod group of the small snapshot `s` invalid, with the violations that they cause."""

_NEW = "is not a value of this version of the contract"
_INNER = "is for leaves: use min_sub_group on one with sub groups"
_LEAF = "is for those with sub groups: use min_member on a leaf"
_NANOS = "nanoseconds are not a part of a second"
_APART = "seconds and nanos do not belong together"
_LONG = "is longer than a hundred years"
_ACTIONS = "known: reclaim, preempt, consolidation, requeue"

INVALID_POD_GROUPS: dict[str, tuple[str, ...]] = {
    "s.pod_groups.add(queue='left').creation_time.seconds = 1": ("pod_groups[2].uid: is required",),
    "s.pod_groups.append(s.pod_groups[0])": ("pod_groups[2].uid: 'runs' is already used by element 0",),
    "s.pod_groups[0].ClearField('creation_time')": ("pod_groups[0].creation_time: is required",),
    "s.pod_groups[0].preemptibility = 4": (f"pod_groups[0].preemptibility: 4 {_NEW}",),
    "s.pod_groups[0].min_member = -1": ("pod_groups[0].min_member: -1 is negative",),
    "s.pod_groups[0].min_sub_group = 1": (
        "pod_groups[0].min_sub_group: cannot be set together with min_member",
    ),
    "s.pod_groups[0].last_start_time.nanos = -5": (f"pod_groups[0].last_start_time: -5 {_NANOS}",),
    "s.pod_groups[0].preemption_delay.nanos = -5": ("pod_groups[0].preemption_delay: is negative",),
    "s.pod_groups[0].preemption_delay.MergeFrom(Duration(seconds=1, nanos=-1))": (
        "pod_groups[0].preemption_delay: seconds and nanos do not belong together",
    ),
    "s.pod_groups[1].sub_groups.add()": ("pod_groups[1].sub_groups[0].name: is required",),
    "s.pod_groups[1].sub_groups.extend([pb.SubGroup(name='a'), pb.SubGroup(name='A')])": (
        "pod_groups[1].sub_groups[1].name: 'A' is already used by sub_groups[0]",
    ),
    "s.pod_groups[1].sub_groups.add(name='a', parent='no')": (
        "pod_groups[1].sub_groups[0].parent: 'no' does not exist",
    ),
    "s.pod_groups[1].sub_groups.extend([pb.SubGroup(name=n, parent=p) for n, p in ('aB', 'ba')])": (
        "pod_groups[1].sub_groups[0].parent: is its own ancestor: 'a' -> 'b' -> 'a'",
        "pod_groups[1].sub_groups[1].parent: is its own ancestor: 'b' -> 'a' -> 'b'",
    ),
    "g = s.pod_groups[1].sub_groups; g.add(name='a', min_member=1); g.add(name='b', parent='a')": (
        f"pod_groups[1].sub_groups[0].min_member: {_INNER}",
    ),
    "s.pod_groups[1].sub_groups.add(name='a', min_sub_group=1)": (
        f"pod_groups[1].sub_groups[0].min_sub_group: {_LEAF}",
    ),
    "s.pod_groups[1].topology_constraint.required_level = 'rack'": (
        "pod_groups[1].topology_constraint.topology: is required",
    ),
    "s.pod_groups[1].topology_constraint.topology = 'no'": (
        "pod_groups[1].topology_constraint.topology: there is no topology 'no'",
    ),
    "g = s.pod_groups[1].topology_constraint; g.topology = 'racks'; g.required_level = 'row'": (
        "pod_groups[1].topology_constraint.required_level: 'row' is no level of that topology",
    ),
    "s.pod_groups[1].topology_constraint.topology = 'racks'": (
        "pod_groups[1].topology_constraint.required_level: is required when preferred_level is empty",
    ),
    "s.pod_groups[0].expected_runtime.MergeFrom(Duration(seconds=1, nanos=-1))": (
        f"pod_groups[0].expected_runtime: {_APART}",
    ),
    "s.pod_groups[0].expected_runtime.nanos = 10**9": (f"pod_groups[0].expected_runtime: {_APART}",),
    "s.pod_groups[0].expected_runtime.seconds = 2**40": (f"pod_groups[0].expected_runtime: {_LONG}",),
    "s.pod_groups[0].requeue_delay.MergeFrom(Duration(seconds=-1, nanos=1))": (
        f"pod_groups[0].requeue_delay: {_APART}",
    ),
    "s.pod_groups[0].requeue_delay.seconds = -2**40": (f"pod_groups[0].requeue_delay: {_LONG}",),
    "s.pod_groups[0].requeue_not_before.seconds = 2**40": (
        "pod_groups[0].requeue_not_before: is not between the years 1677 and 2262",
    ),
    "s.pod_groups[0].requeue_not_before.nanos = -1": (f"pod_groups[0].requeue_not_before: -1 {_NANOS}",),
    "s.pod_groups[0].opt_out_actions.extend(['preempt', 'allocate', 'Reclaim'])": (
        f"pod_groups[0].opt_out_actions[1]: 'allocate' is not an action to opt out of; {_ACTIONS}",
        f"pod_groups[0].opt_out_actions[2]: 'Reclaim' is not an action to opt out of; {_ACTIONS}",
    ),
    "s.pod_groups[0].opt_out_actions.extend(['', 'stalegangeviction'])": (
        f"pod_groups[0].opt_out_actions[0]: '' is not an action to opt out of; {_ACTIONS}",
        f"pod_groups[0].opt_out_actions[1]: 'stalegangeviction' is not an action to opt out of; {_ACTIONS}",
    ),
    "s.pod_groups[0].eviction_count = -1": ("pod_groups[0].eviction_count: -1 is negative",),
    "s.pod_groups[0].eviction_count = 2**31 - 1": (
        f"pod_groups[0].eviction_count: {2**31 - 1} is more than the largest amount, {2**30}",
    ),
    "s.pod_groups[0].evictions_without_progress = -1": (
        "pod_groups[0].evictions_without_progress: -1 is negative",
    ),
    "s.pod_groups[0].evictions_without_progress = 2**30 + 1": (
        f"pod_groups[0].evictions_without_progress: {2**30 + 1} is more than the largest amount, {2**30}",
    ),
    "s.pod_groups[0].evictions.by_cause['preempt'] = -1": (
        "pod_groups[0].evictions.by_cause['preempt']: -1 is negative",
    ),
    "s.pod_groups[0].evictions.by_cause['drain'] = 1": (
        "pod_groups[0].evictions.by_cause['drain']: is no cause of evictions; known: reclaim, preempt, "
        "consolidation, requeue, stale_gang, reservation, time_limit, external",
    ),
    "s.pod_groups[0].on_evict = 9": (f"pod_groups[0].on_evict: 9 {_NEW}",),
    "s.pod_groups[0].held_by = 9": (f"pod_groups[0].held_by: 9 {_NEW}",),
    "s.pod_groups[0].termination_grace.nanos = -5": ("pod_groups[0].termination_grace: is negative",),
    "s.pod_groups[0].last_notice_time.nanos = -5": (f"pod_groups[0].last_notice_time: -5 {_NANOS}",),
    "s.pod_groups[0].release_time.nanos = -5": (f"pod_groups[0].release_time: -5 {_NANOS}",),
    "s.pod_groups[0].last_checkpoint_time.seconds = 2**40": (
        "pod_groups[0].last_checkpoint_time: is not between the years 1677 and 2262",
    ),
    "s.pod_groups[0].checkpoint_interval.seconds = -1": ("pod_groups[0].checkpoint_interval: is negative",),
    "s.pod_groups[0].restart_cost.nanos = -1": ("pod_groups[0].restart_cost: is negative",),
    "s.pod_groups[0].eviction_cost = 2**30 + 1": (
        f"pod_groups[0].eviction_cost: {2**30 + 1} is more than the largest amount, {2**30}",
    ),
    "s.pod_groups[0].total_eviction_wait.nanos = -5": ("pod_groups[0].total_eviction_wait: is negative",),
}
