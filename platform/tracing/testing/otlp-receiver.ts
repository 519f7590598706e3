import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import protobuf from 'protobufjs';

/** A span as a collector gets it. */
export interface ReceivedSpan {
  service: string;
  name: string;
  kind: number;
  traceId: string;
  spanId: string;
  /** Empty: it begins its trace. */
  parentSpanId: string;
  startNs: bigint;
  endNs: bigint;
  attributes: Readonly<Record<string, string | number>>;
  /** 2: an error. */
  status: number;
}

/** By name: number and type of the fields that are read of OTLP (trace.proto, common.proto). */
const MESSAGES: Readonly<Record<string, Readonly<Record<string, readonly [number, string]>>>> = {
  Request: { resourceSpans: [1, 'repeated ResourceSpans'] },
  ResourceSpans: { resource: [1, 'Resource'], scopeSpans: [2, 'repeated ScopeSpans'] },
  Resource: { attributes: [1, 'repeated KeyValue'] },
  ScopeSpans: { spans: [2, 'repeated Span'] },
  Span: {
    traceId: [1, 'bytes'],
    spanId: [2, 'bytes'],
    parentSpanId: [4, 'bytes'],
    name: [5, 'string'],
    kind: [6, 'int32'],
    startTimeUnixNano: [7, 'fixed64'],
    endTimeUnixNano: [8, 'fixed64'],
    attributes: [9, 'repeated KeyValue'],
    status: [15, 'Status'],
  },
  Status: { message: [2, 'string'], code: [3, 'int32'] },
  KeyValue: { key: [1, 'string'], value: [2, 'AnyValue'] },
  AnyValue: { stringValue: [1, 'string'], intValue: [3, 'int64'], doubleValue: [4, 'double'] },
};

const root = new protobuf.Root();
for (const [name, fields] of Object.entries(MESSAGES)) {
  const type = new protobuf.Type(name);
  for (const [field, [id, of]] of Object.entries(fields)) {
    const [kind = '', rule] = of.split(' ').reverse();
    type.add(new protobuf.Field(field, id, kind, rule));
  }
  root.add(type);
}
const requestType = root.lookupType('Request');

interface KeyValue {
  key: string;
  value?: { stringValue?: string; intValue?: string; doubleValue?: number };
}
interface Decoded {
  resourceSpans: {
    resource?: { attributes: KeyValue[] };
    scopeSpans: {
      spans: (Record<'traceId' | 'spanId' | 'parentSpanId' | 'name', string> &
        Record<'startTimeUnixNano' | 'endTimeUnixNano', string> & {
          kind: number;
          attributes: KeyValue[];
          status?: { code: number };
        })[];
    }[];
  }[];
}

/** The spans of a request to /v1/traces, decoded by protobufjs and not by OpenTelemetry. */
function spansIn(body: Buffer): ReceivedSpan[] {
  const decoded = requestType.toObject(requestType.decode(body), {
    ...{ longs: String, bytes: String, arrays: true, defaults: false },
  }) as Decoded;
  const hex = (base64 = '') => Buffer.from(base64, 'base64').toString('hex');
  const record = (pairs: readonly KeyValue[] = []) =>
    Object.fromEntries(
      pairs.map(({ key, value }) => [
        key,
        value?.stringValue ?? value?.doubleValue ?? Number(value?.intValue),
      ]),
    );
  return decoded.resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans
      .flatMap(({ spans }) => spans)
      .map((span) => ({
        service: String(record(resource?.attributes)['service.name']),
        name: span.name,
        kind: span.kind,
        traceId: hex(span.traceId),
        spanId: hex(span.spanId),
        parentSpanId: hex(span.parentSpanId),
        startNs: BigInt(span.startTimeUnixNano),
        endNs: BigInt(span.endTimeUnixNano),
        attributes: record(span.attributes),
        status: span.status?.code ?? 0,
      })),
  );
}

/** A collector that takes traces by OTLP over HTTP. */
export class OtlpReceiver {
  readonly #server: Server;
  readonly spans: ReceivedSpan[] = [];
  readonly headers: Record<string, unknown>[] = [];
  /** What it answers. */
  status = 200;

  private constructor() {
    this.#server = createServer((request, response) => {
      void buffer(request).then((body) => {
        this.headers.push(request.headers);
        const isZipped = request.headers['content-encoding'] === 'gzip';
        if (this.status === 200 && request.url === '/v1/traces')
          this.spans.push(...spansIn(isZipped ? gunzipSync(body) : body));
        response.writeHead(this.status, { 'content-type': 'application/x-protobuf' }).end();
      });
    });
  }

  static async start(): Promise<OtlpReceiver> {
    const receiver = new OtlpReceiver();
    await once(receiver.#server.listen(0, '127.0.0.1'), 'listening');
    return receiver;
  }

  /** For OTEL_EXPORTER_OTLP_ENDPOINT. */
  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The spans of one trace, each before those that it is the parent of. */
  trace(traceId: string): ReceivedSpan[] {
    const spans = this.spans.filter((span) => span.traceId === traceId);
    const ids = new Set(spans.map(({ spanId }) => spanId));
    const below = (span: ReceivedSpan): ReceivedSpan[] => [
      span,
      ...spans.filter(({ parentSpanId }) => parentSpanId === span.spanId).flatMap(below),
    ];
    return spans.filter(({ parentSpanId }) => !ids.has(parentSpanId)).flatMap(below);
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}
