"""What the priority class of an object says about its preemptibility (semantics R1.80, R8.3)."""

from tenure.server.migrate.classes import PriorityClasses, by_priority
from tenure.server.migrate.finding import Doubt
from tenure.server.migrate.kinds import CLASS, RUNAI_CLASS_LABEL, Kind
from tenure.server.migrate.nodes import text_at
from tenure.server.migrate.objects import ManifestObject
from tenure.server.migrate.pods import pod_templates
from tenure.solver.model.workload import Preemptibility


def class_names(manifest: ManifestObject, kind: Kind) -> tuple[str, ...]:
    """The priority classes it names, each once: several when its pods differ, none when a default decides.

    Raises Doubt when some of its pods name one and others do not.
    """
    root = manifest.root
    names = [next(filter(None, (text_at(root, *path) for path in kind.classes)), "")]
    if not kind.has_pods:
        return tuple(filter(None, names))
    if not names[0]:
        names = [pods.label(CLASS) or text_at(pods.spec, CLASS) for pods in pod_templates(root)]
    if any(names) and not all(names):
        raise Doubt("only some of its pod templates name a priority class; name it in all of them")
    names.append(text_at(root, *RUNAI_CLASS_LABEL))
    return tuple(dict.fromkeys(filter(None, names)))


def implied(names: tuple[str, ...], classes: PriorityClasses) -> Preemptibility:
    """What all these classes mean for the object that names them. Raises Doubt unless they agree."""
    for name in names:
        if not classes.values(name):
            fix = f"give its value: --priority-class {name}=VALUE"
            raise Doubt(f"its priority class {name} is not defined here; {fix}")
    modes = {by_priority(value) for name in names for value in classes.values(name)}
    if len(modes) == 1:
        return modes.pop()
    if len(names) == 1:
        values = " and ".join(map(str, sorted(classes.values(names[0]))))
        fix = f"say which one counts: --priority-class {names[0]}=VALUE"
        raise Doubt(f"its priority class {names[0]} is defined as {values}; {fix}")
    raise Doubt(f"it names several priority classes, which differ in meaning: {', '.join(names)}; name one")
