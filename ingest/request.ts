import type { EventSource, EventType } from '../schemas/records.ts';
import type { Span } from '../platform/tracing/spans.ts';
import type { Principal } from './account.ts';

/** What raw records store about the request that carried their events. */
export interface RequestFacts {
  principal: Principal;
  source: EventSource;
  /** Without the query. */
  path: string;
  shape: 'single' | 'batch';
  /** Milliseconds since the epoch. */
  receivedAt: number;
  /** Empty, like `userAgent` and `origin`, when the caller is a backend and not the person. */
  ip: string;
  userAgent: string;
  origin: string;
  trace: string;
  /** Of a sampled request that the fast path serves; of others it is currentSpan(). */
  span?: Span;
}

/** A request to one of the SDK routes, its write key verified and its body read. */
export interface SdkRequest extends RequestFacts {
  /** Of a single event: the path decides it (ingest 4.3). */
  type: EventType;
  /** Decoded from its content encoding. */
  body: Buffer;
}
