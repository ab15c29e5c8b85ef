{{- define "tenure.name" -}}
{{- if .Values.nameOverride -}}
{{ printf "%s-%s" .Values.nameOverride .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else if contains "tenure" .Release.Name -}}
{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else -}}
{{ printf "tenure-%s" .Release.Name | trunc 40 | trimSuffix "-" }}
{{- end -}}
{{- end }}

{{- define "tenure.selector" -}}
app.kubernetes.io/name: tenure
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "tenure.labels" -}}
{{ include "tenure.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}

{{- define "tenure.image" -}}
{{- $tag := .Values.image.tag | default .Chart.AppVersion -}}
{{ .Values.image.repository }}{{ if .Values.image.digest }}@{{ .Values.image.digest }}{{ else }}:{{ $tag }}{{ end }}
{{- end }}

{{/* Name of the lease, as in the adapter. Its role permits this lease only. */}}
{{- define "tenure.lease" -}}
{{- with .Values.adapter.config -}}
{{ .leaseName | default (ternary (printf "tenure-%s" .nodePool) "tenure" (not (empty .nodePool))) }}
{{- end -}}
{{- end }}

{{/* Whether this release has a server; with the adapter, in the same pod. */}}
{{- define "tenure.hasServer" -}}
{{- if not (and .Values.adapter.enabled .Values.adapter.server) }}true{{ end }}
{{- end }}

{{- define "tenure.account" -}}
system:serviceaccount:{{ .Release.Namespace }}:{{ include "tenure.name" . }}
{{- end }}
