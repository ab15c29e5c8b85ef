{{/* The two configuration files: what the values say, and what this chart decides by itself. */}}
{{- define "tenure.serverConfig" -}}
{{- $server := dict "healthListen" "0.0.0.0:50052" -}}
{{- with .Values.server.tls.secretName -}}
{{- $_ := set $server "tlsCert" "/etc/tenure-tls/tls.crt" -}}
{{- $_ := set $server "tlsKey" "/etc/tenure-tls/tls.key" -}}
{{- if $.Values.server.tls.clientCa -}}
{{- $_ := set $server "tlsClientCa" "/etc/tenure-tls/ca.crt" -}}
{{- end -}}
{{- end -}}
{{- if .Values.server.tokens.secretName -}}
{{- $_ := set $server "tokenFile" "/etc/tenure-tokens/tokens" -}}
{{- end -}}
{{- $records := dict "enabled" .Values.records.enabled -}}
{{- if .Values.records.enabled -}}
{{- $records = dict "path" "/var/lib/tenure/records.sqlite" "maxMib" (int .Values.records.maxMib) -}}
{{- end -}}
{{- $ours := dict "server" $server "records" $records -}}
{{- if .Values.metrics.enabled -}}
{{- $_ := set $ours "telemetry" (dict "metricsListen" (printf "0.0.0.0:%d" (int .Values.metrics.serverPort))) -}}
{{- end -}}
{{ mergeOverwrite (deepCopy .Values.server.config) $ours | toYaml }}
{{- end }}

{{- define "tenure.adapterConfig" -}}
{{- $ours := dict "namespace" .Release.Namespace "healthListen" "0.0.0.0:8081" -}}
{{- $_ := set $ours "server" (.Values.adapter.server | default "127.0.0.1:50051") -}}
{{- if .Values.adapter.tls.secretName -}}
{{- $_ := set $ours "tlsCa" "/etc/tenure-tls/ca.crt" -}}
{{- if .Values.adapter.tls.clientCert -}}
{{- $_ := set $ours "tlsCert" "/etc/tenure-tls/tls.crt" -}}
{{- $_ := set $ours "tlsKey" "/etc/tenure-tls/tls.key" -}}
{{- end -}}
{{- end -}}
{{- if .Values.adapter.token.secretName -}}
{{- $_ := set $ours "tokenFile" "/etc/tenure-tokens/token" -}}
{{- end -}}
{{- if .Values.adapter.allowPlaintext -}}
{{- $_ := set $ours "allowPlaintext" true -}}
{{- end -}}
{{- $file := dict "adapter" (mergeOverwrite (deepCopy .Values.adapter.config) $ours) -}}
{{- $telemetry := deepCopy .Values.adapter.telemetry -}}
{{- if .Values.metrics.enabled -}}
{{- $_ := set $telemetry "metricsListen" (printf "0.0.0.0:%d" (int .Values.metrics.adapterPort)) -}}
{{- end -}}
{{- if $telemetry -}}
{{- $_ := set $file "telemetry" $telemetry -}}
{{- end -}}
{{ toYaml $file }}
{{- end }}

{{/* Combinations that would start, but not do what is meant. */}}
{{- define "tenure.check" -}}
{{- $tls := .Values.server.tls.secretName -}}
{{- if and .Values.adapter.enabled (or $tls .Values.server.tokens.secretName .Values.server.allowPlaintext) -}}
{{- fail "server.tls, server.tokens and server.allowPlaintext require a server without adapter: set adapter.enabled=false, or leave them out" -}}
{{- end -}}
{{- $caller := .Values.adapter -}}
{{- $protected := or $caller.tls.secretName $caller.allowPlaintext -}}
{{- if and (or $protected $caller.token.secretName) (not (and $caller.enabled $caller.server)) -}}
{{- fail "adapter.tls, adapter.token and adapter.allowPlaintext require a remote server: set adapter.server, or leave them out" -}}
{{- end -}}
{{- if and $caller.enabled $caller.server (not $protected) -}}
{{- fail "adapter.server is a remote server: set adapter.tls.secretName, or adapter.allowPlaintext=true on a trusted network" -}}
{{- end -}}
{{- if and $caller.tls.clientCert (not $caller.tls.secretName) -}}
{{- fail "adapter.tls.clientCert requires adapter.tls.secretName" -}}
{{- end -}}
{{- if not (or .Values.adapter.enabled $tls .Values.server.allowPlaintext) -}}
{{- fail "without the adapter, calls come from the network: set server.tls.secretName, or server.allowPlaintext=true on a trusted network" -}}
{{- end -}}
{{- if and .Values.server.tls.clientCa (not $tls) -}}
{{- fail "server.tls.clientCa requires server.tls.secretName" -}}
{{- end -}}
{{- if and .Values.records.claimName (gt (int .Values.replicas) 1) -}}
{{- fail "records.claimName requires replicas=1, because only one pod can write the records file" -}}
{{- end -}}
{{- end }}
