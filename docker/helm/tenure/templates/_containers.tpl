{{- define "tenure.securityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{- define "tenure.env" -}}
{{- range $name, $value := . }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}

{{- define "tenure.server" -}}
name: server
image: {{ include "tenure.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
args:
  - serve
  - --config=/etc/tenure/server.yaml
  {{- if .Values.adapter.enabled }}
  - --listen=127.0.0.1:50051
  {{- else }}
  - --listen=0.0.0.0:50051
  {{- if .Values.server.allowPlaintext }}
  - --allow-plaintext
  {{- end }}
  {{- end }}
{{- with .Values.server.env }}
env:
  {{- include "tenure.env" . | nindent 2 }}
{{- end }}
ports:
  {{- if not .Values.adapter.enabled }}
  - {name: grpc, containerPort: 50051}
  {{- end }}
  - {name: health, containerPort: 50052}
  {{- if .Values.metrics.enabled }}
  - {name: metrics, containerPort: {{ .Values.metrics.serverPort }}}
  {{- end }}
startupProbe:
  grpc: {port: 50052}
  periodSeconds: 1
  failureThreshold: 60
livenessProbe:
  grpc: {port: 50052}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  grpc: {port: 50052}
  periodSeconds: 5
  timeoutSeconds: 5
resources:
  {{- toYaml .Values.server.resources | nindent 2 }}
securityContext:
  {{- include "tenure.securityContext" . | nindent 2 }}
volumeMounts:
  - {name: config, mountPath: /etc/tenure, readOnly: true}
  {{- if .Values.records.enabled }}
  - {name: records, mountPath: /var/lib/tenure}
  {{- end }}
  {{- if .Values.server.tls.secretName }}
  - {name: tls, mountPath: /etc/tenure-tls, readOnly: true}
  {{- end }}
  {{- if .Values.server.tokens.secretName }}
  - {name: tokens, mountPath: /etc/tenure-tokens, readOnly: true}
  {{- end }}
{{- end }}

{{- define "tenure.adapter" -}}
name: adapter
image: {{ include "tenure.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
args:
  - adapter
  - --config=/etc/tenure/adapter.yaml
{{- with .Values.adapter.env }}
env:
  {{- include "tenure.env" . | nindent 2 }}
{{- end }}
ports:
  - {name: probes, containerPort: 8081}
  {{- if .Values.metrics.enabled }}
  - {name: adapter-metrics, containerPort: {{ .Values.metrics.adapterPort }}}
  {{- end }}
livenessProbe:
  httpGet: {path: /healthz, port: probes}
  initialDelaySeconds: 5
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet: {path: /readyz, port: probes}
  periodSeconds: 5
  timeoutSeconds: 5
resources:
  {{- toYaml .Values.adapter.resources | nindent 2 }}
securityContext:
  {{- include "tenure.securityContext" . | nindent 2 }}
volumeMounts:
  - {name: config, mountPath: /etc/tenure, readOnly: true}
  - {name: account, mountPath: /var/run/secrets/kubernetes.io/serviceaccount, readOnly: true}
  {{- if .Values.adapter.tls.secretName }}
  - {name: tls, mountPath: /etc/tenure-tls, readOnly: true}
  {{- end }}
  {{- if .Values.adapter.token.secretName }}
  - {name: tokens, mountPath: /etc/tenure-tokens, readOnly: true}
  {{- end }}
{{- end }}
