import * as setting from '../setting-kinds.ts';
import { defineSettings } from '../settings.ts';

export const tracingSettings = defineSettings({
  OTEL_EXPORTER_OTLP_ENDPOINT: setting.text({
    default: '',
    doc: 'Base URL of an OpenTelemetry collector, such as http://collector:4318: spans of sampled traces are sent to its /v1/traces (OTLP over HTTP, protobuf). Empty: no traces.',
  }),
  OTEL_EXPORTER_OTLP_HEADERS: setting.text({
    default: '',
    doc: 'Headers for the collector: name=value, comma-separated, percent-encoded.',
    secret: true,
  }),
  TRACES_SAMPLED_PERCENT: setting.integer({
    default: 1,
    max: 100,
    doc: 'Per cent of the requests without a traceparent of which a trace is made. A request with one is sampled when its flag says so.',
  }),
  TRACES_PER_SECOND: setting.integer({
    default: 10,
    min: 1,
    max: 1000,
    doc: 'Traces that a process begins in a second, at most; as many again that clients ask for with a traceparent.',
  }),
});
