{{- define "toncache.labels" -}}
app.kubernetes.io/name: toncache
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "toncache.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "toncache.serviceAccountName" -}}
{{- .Values.serviceAccount.name | default (ternary .Release.Name "" .Values.serviceAccount.create) }}
{{- end }}

{{- /* What each pod of the chart has. */ -}}
{{- define "toncache.pod" -}}
{{- with include "toncache.serviceAccountName" . }}
serviceAccountName: {{ . }}
{{- end }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "toncache.env" -}}
- { name: UPSTREAM_URL, value: {{ .Values.upstreamUrl | quote }} }
- { name: NETWORK, value: {{ .Values.network }} }
- { name: CONFIG_FILE, value: /etc/toncache/settings.json }
{{- range $name, $value := .Values.env }}
- { name: {{ $name }}, value: {{ $value | quote }} }
{{- end }}
{{- with .Values.secret }}
- name: REDIS_URL
  valueFrom: { secretKeyRef: { name: {{ . }}, key: redis-url, optional: true } }
- name: UPSTREAM_API_KEY
  valueFrom: { secretKeyRef: { name: {{ . }}, key: upstream-api-key, optional: true } }
- name: ADMIN_TOKEN
  valueFrom: { secretKeyRef: { name: {{ . }}, key: admin-token, optional: true } }
{{- end }}
{{- end }}

{{- define "toncache.securityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
runAsNonRoot: true
runAsUser: 1000
capabilities: { drop: [ALL] }
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "toncache.probes" -}}
startupProbe:
  httpGet: { path: /healthz, port: admin }
  periodSeconds: 1
  failureThreshold: 30
livenessProbe:
  httpGet: { path: /healthz, port: admin }
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
{{- end }}

{{- /* The sidecar container, for `initContainers` of a pod with a volume `toncache-settings`. */ -}}
{{- define "toncache.sidecar" -}}
# A sidecar container (restartPolicy Always): it starts before the service and ends after it.
- name: toncache
  image: {{ include "toncache.image" . }}
  {{- with .Values.image.pullPolicy }}
  imagePullPolicy: {{ . }}
  {{- end }}
  restartPolicy: Always
  ports:
    - { name: admin, containerPort: 9464 }
  env:
    # Only this pod reaches the public port; the kubelet asks the admin port from outside.
    - { name: HOST, value: 127.0.0.1 }
    # Limits of V8, and of the C library: by default each thread has a pool of freed memory of its own.
    - { name: NODE_OPTIONS, value: "--max-old-space-size=128 --max-semi-space-size=8" }
    - { name: MALLOC_ARENA_MAX, value: "2" }
    {{- include "toncache.env" . | nindent 4 }}
  {{- include "toncache.probes" . | nindent 2 }}
  resources:
    {{- toYaml .Values.sidecar.resources | nindent 4 }}
  securityContext:
    {{- include "toncache.securityContext" . | nindent 4 }}
  volumeMounts:
    - { name: toncache-settings, mountPath: /etc/toncache, readOnly: true }
{{- end }}
