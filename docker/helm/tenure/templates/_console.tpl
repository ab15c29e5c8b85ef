{{/* The server that the console asks: in the same pod, a remote one, or, with TLS, by the name in its certificate. */}}
{{- define "tenure.consoleServer" -}}
{{- if not (include "tenure.hasServer" .) -}}
{{ .Values.adapter.server }}
{{- else if and (not .Values.adapter.enabled) .Values.server.tls.secretName -}}
{{ include "tenure.name" . }}.{{ .Release.Namespace }}.svc:50051
{{- else -}}
127.0.0.1:50051
{{- end -}}
{{- end }}

{{- define "tenure.console" -}}
{{- $tls := .Values.server.tls.secretName | default .Values.adapter.tls.secretName -}}
{{- if and .Values.console.service.enabled (not (or .Values.console.forwardAuthorization .Values.console.allowAnonymous)) }}
{{- fail "console.service.enabled requires console.forwardAuthorization, or console.allowAnonymous on a trusted network" }}
{{- end }}
{{- if and .Values.console.service.enabled .Values.adapter.enabled (include "tenure.hasServer" .) (gt (int .Values.replicas) 1) }}
{{- fail "console.service.enabled requires replicas=1 or adapter.server: the server of a standby has no states" }}
{{- end }}
{{- if and .Values.console.service.enabled (not .Values.console.hosts) }}
{{- fail "console.service.enabled requires console.hosts: the host names by which browsers open the console" }}
{{- end }}
name: console
image: {{ include "tenure.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
args:
  - console
  - --server={{ include "tenure.consoleServer" . }}
  {{- if .Values.console.service.enabled }}
  - --listen=0.0.0.0:8080
  {{- else }}
  # kubectl port-forward reaches it, and nothing else.
  - --listen=127.0.0.1:8080
  {{- end }}
  {{- if .Values.console.forwardAuthorization }}
  - --forward-authorization
  {{- end }}
  {{- if .Values.console.allowAnonymous }}
  - --allow-anonymous
  {{- end }}
  {{- range .Values.console.tenantQueues }}
  - --queue={{ . }}
  {{- end }}
  {{- if .Values.console.tenantQueues }}
  - --audience=tenant
  {{- end }}
  {{- range .Values.console.hosts }}
  - --allowed-host={{ . }}
  {{- end }}
  {{- if $tls }}
  - --tls-ca=/etc/tenure-tls/ca.crt
  {{- end }}
  {{- if .Values.adapter.tls.clientCert }}
  - --tls-cert=/etc/tenure-tls/tls.crt
  - --tls-key=/etc/tenure-tls/tls.key
  {{- end }}
  {{- if .Values.console.token.secretName }}
  - --token-file=/etc/tenure-console/token
  {{- end }}
  {{- if or .Values.server.allowPlaintext .Values.adapter.allowPlaintext }}
  - --allow-plaintext
  {{- end }}
{{- if .Values.console.service.enabled }}
ports:
  - {name: console, containerPort: 8080}
livenessProbe:
  httpGet: {path: /healthz, port: console}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
{{- end }}
resources:
  {{- toYaml .Values.console.resources | nindent 2 }}
securityContext:
  {{- include "tenure.securityContext" . | nindent 2 }}
{{- if not (or $tls .Values.console.token.secretName) }}
volumeMounts: []
{{- else }}
volumeMounts:
  {{- if $tls }}
  - {name: tls, mountPath: /etc/tenure-tls, readOnly: true}
  {{- end }}
  {{- if .Values.console.token.secretName }}
  - {name: console-token, mountPath: /etc/tenure-console, readOnly: true}
  {{- end }}
{{- end }}
{{- end }}
