{{- define "ravand.labels" -}}
app.kubernetes.io/name: ravand
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "ravand.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* The values of one service over the defaults. */}}
{{- define "ravand.service" -}}
{{- $own := get (.root.Values.services | default dict) .service.name | default dict -}}
{{- mustMergeOverwrite (deepCopy .root.Values.defaults) $own | toYaml -}}
{{- end }}

{{/* The settings and secrets of a list of names, as environment variables. A secret comes from the file
     that NAME_FILE in the settings names, or from the Secret. */}}
{{- define "ravand.environment" -}}
{{- $root := .root -}}
{{- range .settings }}
{{- if hasKey $root.Values.settings . }}
- name: {{ . }}
  value: {{ get $root.Values.settings . | toString | quote }}
{{- end }}
{{- end }}
{{- range .secrets }}
{{- $file := printf "%s_FILE" . }}
{{- if hasKey $root.Values.settings $file }}
- name: {{ $file }}
  value: {{ get $root.Values.settings $file | toString | quote }}
{{- else }}
- name: {{ . }}
  valueFrom:
    secretKeyRef:
      name: {{ $root.Values.existingSecret }}
      key: {{ . }}
      optional: true
{{- end }}
{{- end }}
{{- end }}

{{- define "ravand.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
fsGroupChangePolicy: OnRootMismatch
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "ravand.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{/* The pod of a service. */}}
{{- define "ravand.pod" -}}
{{- $root := .root -}}
{{- $service := .service -}}
{{- $own := include "ravand.service" . | fromYaml -}}
{{- $isGateway := $service.isStateful -}}
{{- $hasExports := eq $service.name "management-api" -}}
metadata:
  labels:
    {{- include "ravand.labels" (dict "root" $root "component" $service.name) | nindent 4 }}
  {{- with $own.podAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  automountServiceAccountToken: false
  enableServiceLinks: false
  {{- with $root.Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    {{- include "ravand.podSecurity" $root | nindent 4 }}
  terminationGracePeriodSeconds: {{ add $root.Values.shutdown.delaySeconds (ternary $root.Values.shutdown.drainSeconds 0 $isGateway) 25 }}
  affinity:
    podAntiAffinity:
      preferredDuringSchedulingIgnoredDuringExecution:
        - weight: 100
          podAffinityTerm:
            topologyKey: kubernetes.io/hostname
            labelSelector:
              matchLabels:
                {{- include "ravand.labels" (dict "root" $root "component" $service.name) | nindent 16 }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: topology.kubernetes.io/zone
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "ravand.labels" (dict "root" $root "component" $service.name) | nindent 10 }}
  {{- with $own.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $own.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
    - name: {{ $service.name }}
      image: {{ include "ravand.image" $root }}
      imagePullPolicy: {{ $root.Values.image.pullPolicy }}
      args: {{ $service.args | toJson }}
      env:
        - name: ADMIN_ADDR
          value: 0.0.0.0:{{ .adminPort }}
        {{- with $service.listener }}
        - name: {{ .setting }}
          value: 0.0.0.0:{{ .port }}
        {{- end }}
        {{- if $isGateway }}
        - name: SPOOL_DIR
          value: /var/lib/ravand/spool
        {{- end }}
        {{- if $hasExports }}
        - name: EXPORT_DIR
          value: /var/lib/ravand/exports
        {{- end }}
        {{- include "ravand.environment" (dict "root" $root "settings" $service.settings "secrets" $service.secrets) | nindent 8 }}
      ports:
        - name: admin
          containerPort: {{ .adminPort }}
        {{- with $service.listener }}
        - name: http
          containerPort: {{ .port }}
        {{- end }}
      # /healthz answers while the process lives; /readyz names what it waits for.
      startupProbe:
        httpGet: { path: /healthz, port: admin }
        periodSeconds: 2
        failureThreshold: 60
      livenessProbe:
        httpGet: { path: /healthz, port: admin }
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      readinessProbe:
        httpGet: { path: /readyz, port: admin }
        periodSeconds: 5
        timeoutSeconds: 5
      {{- if or $service.listener $isGateway }}
      lifecycle:
        preStop:
          exec:
            command: [node, deploy/drain/main.ts, '{{ $root.Values.shutdown.delaySeconds }}', '{{ ternary $root.Values.shutdown.drainSeconds 0 $isGateway }}', '{{ .adminPort }}']
      {{- end }}
      resources:
        {{- toYaml $own.resources | nindent 8 }}
      securityContext:
        {{- include "ravand.containerSecurity" $root | nindent 8 }}
      volumeMounts:
        - { name: tmp, mountPath: /tmp }
        {{- if $isGateway }}
        - { name: spool, mountPath: /var/lib/ravand/spool }
        {{- end }}
        {{- if $hasExports }}
        - { name: exports, mountPath: /var/lib/ravand/exports }
        {{- end }}
        {{- with $root.Values.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    - name: tmp
      emptyDir: { sizeLimit: 256Mi }
    {{- if $hasExports }}
    - name: exports
      {{- if $root.Values.exports.existingClaim }}
      persistentVolumeClaim: { claimName: {{ $root.Values.exports.existingClaim }} }
      {{- else }}
      emptyDir: {}
      {{- end }}
    {{- end }}
    {{- with $root.Values.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}

{{/* The pod of a command that ends. */}}
{{- define "ravand.jobPod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- include "ravand.podSecurity" .root | nindent 2 }}
containers:
  - name: {{ .name }}
    image: {{ include "ravand.image" .root }}
    imagePullPolicy: {{ .root.Values.image.pullPolicy }}
    args: {{ .args | toJson }}
    env:
      - { name: HOME, value: /tmp }
      - { name: RAVAND_HOME, value: /tmp/ravand }
      {{- include "ravand.environment" (dict "root" .root "settings" .reads.settings "secrets" .reads.secrets) | nindent 6 }}
    resources:
      requests: { cpu: 100m, memory: 256Mi }
      limits: { memory: 1Gi }
    securityContext:
      {{- include "ravand.containerSecurity" .root | nindent 6 }}
    volumeMounts:
      - { name: tmp, mountPath: /tmp }
      {{- with .root.Values.extraVolumeMounts }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
volumes:
  - name: tmp
    emptyDir: { sizeLimit: 256Mi }
  {{- with .root.Values.extraVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}
