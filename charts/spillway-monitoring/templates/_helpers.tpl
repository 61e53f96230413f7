{{/* The text of a file with the labels of the values. Each is a word of its own there, also in links and variables. */}}
{{- define "spillway.file" -}}
{{- $text := .root.Files.Get .name | required (printf "no file %s: is the chart complete?" .name) -}}
{{- $text = regexReplaceAllLiteral "\\bcluster\\b" $text .root.Values.clusterLabel -}}
{{- $text = regexReplaceAllLiteral "\\bteam\\b" $text .root.Values.teamLabel -}}
{{- replace "https://github.com/spillway-go/spillway/blob/main/dashboards/runbooks.md" .root.Values.runbookURL $text -}}
{{- end }}

{{/* The metadata of an object. */}}
{{- define "spillway.metadata" -}}
name: {{ .name }}
namespace: {{ .of.namespace | default .root.Release.Namespace }}
labels:
  app.kubernetes.io/name: spillway
  app.kubernetes.io/instance: {{ .root.Release.Name }}
  app.kubernetes.io/managed-by: {{ .root.Release.Service }}
  {{- with .of.labels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with .of.annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
