{{/* Patterns of names as one regular expression; without patterns it matches nothing. */}}
{{- define "tenure.pattern" -}}
^({{ range $i, $one := . }}{{ if $i }}|{{ end }}{{ $one | replace "." "[.]" | replace "*" ".*" }}{{ else }}[^\s\S]{{ end }})$
{{- end }}

{{/* Kinds whose labels the adapter reads: pods, pod groups, and owners of pods. */}}
{{- define "tenure.wishes" -}}
- apiGroups: [""]
  apiVersions: [v1]
  operations: [CREATE, UPDATE]
  resources: [pods]
- apiGroups: [scheduling.run.ai, scheduling.volcano.sh, scheduling.k8s.io]
  apiVersions: ["*"]
  operations: [CREATE, UPDATE]
  resources: [podgroups]
{{- range .Values.adapter.owners }}
- apiGroups: {{ toJson .apiGroups }}
  apiVersions: ["*"]
  operations: [CREATE, UPDATE]
  resources: {{ toJson .resources }}
{{- end }}
{{- end }}

{{/*
The objects before and after a request, each with its pod template. An object without a template stands for both;
without an object before, the one after does, and `isNew` is true.
*/}}
{{- define "tenure.versions" -}}
- name: isNew
  expression: oldObject == null
- name: before
  expression: 'oldObject == null ? object : oldObject'
- name: template
  expression: >-
    request.kind.kind == "CronJob" ? object.spec.jobTemplate.spec.template :
    (object.?spec.?template.hasValue() ? object.spec.template : object)
- name: templateBefore
  expression: >-
    request.kind.kind == "CronJob" ? variables.before.spec.jobTemplate.spec.template :
    (variables.before.?spec.?template.hasValue() ? variables.before.spec.template : variables.before)
{{- end }}

{{/* Values of annotations and labels of an object and of its template. */}}
{{- define "tenure.written" -}}
{{ .keys }}.map(key, string({{ .object }}.metadata.?labels[?key].orValue(""))) +
{{ .keys }}.map(key, string({{ .object }}.metadata.?annotations[?key].orValue(""))) +
{{ .keys }}.map(key, string({{ .template }}.?metadata.?labels[?key].orValue(""))) +
{{ .keys }}.map(key, string({{ .template }}.?metadata.?annotations[?key].orValue("")))
{{- end }}

{{/* Priority classes that an object names, in labels, annotations or as a pod group. */}}
{{- define "tenure.priorityClasses" -}}
{{- $keys := `["priorityClassName", "runai/priority-class", "ray.io/priority-class-name"]` }}
{{- include "tenure.written" (dict "keys" $keys "object" .object "template" .template) }} +
[request.kind.kind == "PodGroup" ? string({{ .object }}.?spec.?priorityClassName.orValue("")) : ""]
{{- end }}

{{/* Queues that an object names. */}}
{{- define "tenure.queues" -}}
{{- $keys := `["kai.scheduler/queue", "scheduling.volcano.sh/queue-name"]` }}
{{- include "tenure.written" (dict "keys" $keys "object" .object "template" .template) }} +
[request.kind.kind == "PodGroup" ? string({{ .object }}.?spec.?queue.orValue("")) : ""]
{{- end }}
