import type { EventType } from '../schemas/records.ts';
import type { Principal } from '../ingest-gateway/auth/write-keys.ts';

/** A request with events, as the connection and the key told it. */
export interface Submission {
  principal: Principal;
  /** Without the query. */
  path: string;
  shape: 'single' | 'batch';
  /** Of a single event: the path decides it (ingest 4.3). */
  type: EventType;
  /** Decoded from its content encoding. */
  body: Buffer;
  /** Milliseconds since the epoch. */
  receivedAt: number;
  ip: string;
  userAgent: string;
  origin: string;
  trace: string;
}
