"""Manifests of many kinds, before and after migration (semantics R8.1, R8.2)."""

import re

# In these manifests, migration adds the lines that start with +.
ADDED = {
    "a pod group of KAI: the field, beside the class and quoted like it": """
# Nightly training of the vision team.
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata:
  name: nightly   # do not rename: dashboards look for it
spec:
  priorityClassName: "train"   # preemptible
+  preemptibility: "preemptible"

  # One pod a node.
  minMember: 4
  queue: 'vision'
""",
    "a pod group of Volcano: an annotation": """
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata:
  name: nightly
  annotations:
    owner: |
      vision
    scheduling.k8s.io/group-name: nightly
+    kai.scheduler/preemptibility: non-preemptible
spec:
  minMember: 4
  priorityClassName: build
""",
    "a job of Volcano: an annotation, which Volcano copies to the pod group": """
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata:
  name: nightly
+  annotations:
+    kai.scheduler/preemptibility: preemptible
spec:
  minAvailable: 2
  priorityClassName: train
  tasks:
    - replicas: 2
      template:
        spec:
          priorityClassName: inference
          containers: []
""",
    "a workload of Run:ai: the field in its own spelling": """
apiVersion: run.ai/v1
kind: TrainingWorkload
metadata:
  name: legacy-workload
spec:
  priorityClassName: "build"  # Priority 100
+  preemptibility: "Non-Preemptible"
  # No preemptibility field
""",
    "a deployment: a label of its own beside the label of its class": """
apiVersion: apps/v1
kind: Deployment
metadata:
    name: web
    labels:
        priorityClassName: inference
+        kai.scheduler/preemptibility: non-preemptible
        app: web  # selected by the service
spec:
    selector: {matchLabels: {app: web}}
    template:
        metadata: {labels: {app: web}}
        spec: {containers: [{name: web, image: web}]}
""",
    "a deployment without labels: indented like the rest of it": """
apiVersion: apps/v1
kind: Deployment
metadata:
    name: web
+    labels:
+        kai.scheduler/preemptibility: preemptible
spec:
    template:
        spec:
            priorityClassName: train
            containers: []
""",
    "a pod with a class of Run:ai's label (D8.14)": """
apiVersion: v1
kind: Pod
metadata:
  labels:
    runai/priority-class: train
+    kai.scheduler/preemptibility: preemptible
spec:
  containers: []
""",
    "a pod group of KAI with a class of Run:ai's label, which the adapter reads": """
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata:
  name: nightly
  labels:
    runai/priority-class: inference
spec:
  minMember: 2
+  preemptibility: non-preemptible
""",
    "a deployment whose pods have the class of Run:ai's label": """
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
+  labels:
+    kai.scheduler/preemptibility: non-preemptible
spec:
  template:
    metadata:
      labels:
        runai/priority-class: inference
    spec:
      containers: []
""",
    "a cron job: the label of its jobs, which are the pod groups": """
apiVersion: batch/v1
kind: CronJob
metadata:
  name: report
  labels:
    app: report
spec:
  schedule: "0 * * * *"
  jobTemplate:
+    metadata:
+      labels:
+        kai.scheduler/preemptibility: preemptible
    spec:
      template:
        spec:
          priorityClassName: train
          containers: []
""",
    "a job of Kubeflow: two templates that agree": """
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata:
  name: llm
+  labels:
+    kai.scheduler/preemptibility: preemptible
  annotations:
    owner: language
spec:
  pytorchReplicaSpecs:
    Master:
      template: {spec: {priorityClassName: train, containers: []}}
    Worker:
      template:
        metadata:
          labels: {priorityClassName: build-preemptible}
        spec: {priorityClassName: inference, containers: []}
""",
    "a cluster of Ray: its own label comes first": """
apiVersion: ray.io/v1
kind: RayCluster
metadata:
  name: ray
  labels:
    ray.io/priority-class-name: build
    priorityClassName: train
+    kai.scheduler/preemptibility: non-preemptible
spec:
  headGroupSpec: {template: {spec: {containers: []}}}
""",
    "a workflow: no pod template, but labels that are read": """
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata:
  generateName: steps-
  labels:
    priorityClassName: train
+    kai.scheduler/preemptibility: preemptible
spec:
  entrypoint: main
""",
    "a patch: a class, no containers": """
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: store
+  labels:
+    kai.scheduler/preemptibility: non-preemptible
spec:
  template:
    spec:
      priorityClassName: inference
""",
    "a pod group of Kubernetes itself, whose definition has no such field": """
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata:
  name: train
+  annotations:
+    kai.scheduler/preemptibility: non-preemptible
spec:
  schedulingPolicy: {gang: {minCount: 4}}
  priorityClassName: build
""",
    "several documents, empty ones among them": """
---
# nothing
---
apiVersion: v1
kind: Service
metadata: {name: web, labels: {priorityClassName: train}}
--- # the first group
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: a}
spec:
  priorityClassName: train
+  preemptibility: preemptible
...
---
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: b}
spec:
  priorityClassName: build
+  preemptibility: non-preemptible
""",
    "a list, as kubectl prints it": """
apiVersion: v1
items:
- apiVersion: scheduling.run.ai/v2alpha2
  kind: PodGroup
  metadata:
    name: a
  spec:
    priorityClassName: train
+    preemptibility: preemptible
- apiVersion: v1
  kind: Pod
  metadata:
    name: b
+    labels:
+      kai.scheduler/preemptibility: non-preemptible
  spec:
    containers: []
    priorityClassName: build
kind: List
metadata: {resourceVersion: ""}
""",
    "what an anchor shares is read, and what is not shared is written": """
common: &common {priorityClassName: train}
apiVersion: v1
kind: Pod
metadata:
  name: &name a
+  labels:
+    kai.scheduler/preemptibility: preemptible
  annotations: {of: *name}
spec:
  <<: *common
  containers: []
""",
    "a comment below the last label stays below it, a text of several lines in one piece": """
apiVersion: v1
kind: Pod
metadata:
  labels:
    note: "one
      two"
+    kai.scheduler/preemptibility: preemptible
    # the end
spec: {priorityClassName: train, containers: []}
""",
    "a key with a question mark is not followed, an anchor indents nothing": """
apiVersion: v1
kind: Pod
metadata: &all
    name: a
+    labels:
+        kai.scheduler/preemptibility: preemptible
    ? # nobody knows
spec: {priorityClassName: train, containers: []}
""",
    "a mapping in which nothing can be followed: above it": """
apiVersion: v1
kind: Pod
metadata:
+  labels:
+    kai.scheduler/preemptibility: preemptible
  annotations:
    a: b
spec: {priorityClassName: train, containers: []}
""",
}


def before_and_after(marked: str) -> tuple[str, str]:
    return re.sub(r"^\+.*\n", "", marked, flags=re.MULTILINE), re.sub(r"^\+", "", marked, flags=re.MULTILINE)
