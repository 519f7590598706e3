/** What a span may say; never personal data. */
export type Attributes = Readonly<Record<string, string | number>>;

export type SpanKind = 'server' | 'internal' | 'client' | 'producer' | 'consumer';

/** A step of a sampled trace. */
export interface Span {
  /** Names this span as the parent of others, as in the header of W3C Trace Context. */
  readonly traceparent: string;
  child(name: string, kind: SpanKind, attributes?: Attributes): Span;
  /** Ends it. @param problem why the step failed; undefined: it did not */
  end(attributes?: Attributes, problem?: string): void;
}

/** The traces of this process. */
export interface Tracing {
  /**
   * Begins the span of a request, or not: most requests are not sampled.
   * @param trace its X-Service-Trace: a trace that begins here has an id that ends with it
   * @param traceparent as the client sent it; a valid one decides whether the request is sampled
   */
  request(name: string, of: { trace: string; traceparent: string | undefined }): Span | undefined;
  /** Continues the trace of a record; undefined: the text names no sampled span. */
  continued(traceparent: string, name: string, attributes?: Attributes): Span | undefined;
}

let current: Tracing | undefined;

/** Undefined while traces are off: then they cost a comparison. */
export function tracing(): Tracing | undefined {
  return current;
}

/** Of the whole process, like the names of topics: every client and consumer takes part. */
export function setTracing(to: Tracing | undefined): void {
  current = to;
}
