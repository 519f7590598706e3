import {
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace as api,
  TraceFlags,
} from '@opentelemetry/api';
import type { Context, Span as ApiSpan, Tracer } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, RandomIdGenerator, TracerProvider } from '@opentelemetry/sdk-trace';
import type { IdGenerator, ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import { isTraceparent } from '../http/trace.ts';
import type { Log } from '../log.ts';
import { packageVersion } from '../package-version.ts';
import { sampledSpan, Sampler, traceIdOf, type RemoteSpan } from './sampler.ts';
import { spanCounts } from './span-counts.ts';
import type { Attributes, Span, SpanKind as Kind, Tracing } from './spans.ts';

export interface TracingOptions {
  service: string;
  endpoint: string;
  /** As OTEL_EXPORTER_OTLP_HEADERS has them. */
  headers: string;
  percent: number;
  perSecond: number;
  log: Log;
}

const KINDS: Readonly<Record<Kind, SpanKind>> = {
  server: SpanKind.SERVER,
  internal: SpanKind.INTERNAL,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
};
/** ExportResultCode.SUCCESS of @opentelemetry/core. */
const SUCCESS = 0;
/** Finished spans that wait for the collector; further ones are dropped. */
const MAX_WAITING = 4096;
const BATCH = 512;
/** Between two exports, ms. */
const DELAY_MS = 1000;
const EXPORT_TIMEOUT_MS = 5000;

/** Traces by the SDK of OpenTelemetry, exported to a collector. Loaded only where they are on. */
export function openTelemetry(options: TracingOptions): {
  tracing: Tracing;
  close: () => Promise<void>;
} {
  const ids = new Ids();
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      'service.name': `ravand-${options.service}`,
      'service.version': packageVersion(),
      'service.instance.id': `${process.pid}`,
    }),
    idGenerator: ids,
    spanProcessors: [countingProcessor(options)],
  });
  const tracer = provider.getTracer('ravand');
  const sampler = new Sampler(options);
  const tracing: Tracing = {
    request(name, { trace, traceparent }) {
      const sampling = sampler.sample(traceparent, { chance: Math.random(), now: Date.now() });
      if (sampling.kind === 'no') return undefined;
      const attributes = { 'ravand.trace': trace };
      const of = { name, kind: 'server', attributes } as const;
      if (sampling.kind === 'child') return begin(tracer, of, remoteContext(sampling.of));
      ids.next = traceIdOf(trace, ids.random());
      return begin(tracer, of, ROOT_CONTEXT);
    },
    continued(traceparent, name, attributes) {
      const of = isTraceparent(traceparent) ? sampledSpan(traceparent) : undefined;
      if (!of) return undefined;
      return begin(tracer, { name, kind: 'consumer', attributes }, remoteContext(of));
    },
  };
  return { tracing, close: () => provider.shutdown() };
}

/** Random ids, except that of a trace that the next span begins. */
class Ids implements IdGenerator {
  next: string | undefined;
  readonly #random = new RandomIdGenerator();

  random(): string {
    return this.#random.generateTraceId();
  }

  generateTraceId(): string {
    const id = this.next ?? this.random();
    this.next = undefined;
    return id;
  }

  generateSpanId(): string {
    return this.#random.generateSpanId();
  }
}

function remoteContext({ traceId, spanId }: RemoteSpan): Context {
  const of = { traceId, spanId, traceFlags: TraceFlags.SAMPLED, isRemote: true };
  return api.setSpanContext(ROOT_CONTEXT, of);
}

interface Beginning {
  name: string;
  kind: Kind;
  attributes?: Attributes | undefined;
}

function begin(tracer: Tracer, { name, kind, attributes = {} }: Beginning, context: Context): Span {
  const span = tracer.startSpan(name, { kind: KINDS[kind], attributes }, context);
  return spanOf(tracer, span);
}

function spanOf(tracer: Tracer, span: ApiSpan): Span {
  const { traceId, spanId } = span.spanContext();
  return {
    traceparent: `00-${traceId}-${spanId}-01`,
    child: (name, kind, attributes) =>
      begin(tracer, { name, kind, attributes }, api.setSpan(ROOT_CONTEXT, span)),
    end(attributes, problem) {
      if (attributes) span.setAttributes(attributes);
      if (problem !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: problem });
      span.end();
    },
  };
}

/** A batch processor that counts what is exported and what is not; the SDK says neither. */
function countingProcessor({ endpoint, headers, log }: TracingOptions): BatchSpanProcessor {
  const otlp = new OTLPTraceExporter({
    url: `${endpoint.replace(/\/+$/, '')}/v1/traces`,
    headers: headersOf(headers),
    timeoutMillis: EXPORT_TIMEOUT_MS,
  });
  let waiting = 0;
  let hasFailed = false;
  const exporter: SpanExporter = {
    export(spans, done) {
      waiting -= spans.length;
      otlp.export(spans, (result) => {
        const isExported = result.error === undefined && result.code.valueOf() === SUCCESS;
        if (isExported) spanCounts.exported += spans.length;
        else spanCounts.dropped.export_failed += spans.length;
        if (!isExported && !hasFailed)
          log.warn(
            { code: 'trace_export_failed', err: result.error },
            'the collector of traces does not take spans (OTEL_EXPORTER_OTLP_ENDPOINT): they are dropped',
          );
        hasFailed = !isExported;
        done(result);
      });
    },
    shutdown: () => otlp.shutdown(),
  };
  class CountingProcessor extends BatchSpanProcessor {
    override onEnd(span: ReadableSpan): void {
      if (waiting >= MAX_WAITING) {
        spanCounts.dropped.queue_full++;
        return;
      }
      waiting++;
      super.onEnd(span);
    }
  }
  return new CountingProcessor({
    exporter,
    maxQueueSize: MAX_WAITING,
    maxExportBatchSize: BATCH,
    scheduledDelayMillis: DELAY_MS,
    exportTimeoutMillis: 2 * EXPORT_TIMEOUT_MS,
  });
}

/** `name=value` pairs, comma-separated and percent-encoded, as OpenTelemetry specifies them. */
function headersOf(text: string): Record<string, string> {
  return Object.fromEntries(
    text
      .split(',')
      .map((pair) => pair.split('='))
      .filter(([name]) => name?.trim())
      .map(([name = '', ...value]) => [name.trim(), decodeURIComponent(value.join('=').trim())]),
  );
}
