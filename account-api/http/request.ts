import type { IncomingHttpHeaders } from 'node:http';
import type { Caller } from '../caller.ts';

/** What every handler gets to see of a request; never the reply. */
export interface PublicRequest {
  /** ms since the epoch, when the request's head was read */
  now: number;
  trace: string;
  params: Readonly<Record<string, string>>;
  query: URLSearchParams;
  headers: IncomingHttpHeaders;
  /** The parsed JSON of a route with a body; undefined otherwise, and where `bodyAs` is bytes. */
  body: unknown;
  /** The bytes of that body; empty otherwise. */
  rawBody: Buffer;
  /** The client's address, behind trusted proxies. */
  ip: string;
  userAgent: string;
  /** Aborts when the client disconnects or the route's time is over. */
  signal: AbortSignal;
}

/** A request that passed the guards. */
export interface ApiRequest<Sender = Caller> extends PublicRequest {
  caller: Sender;
}
