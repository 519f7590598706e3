import type { Channel } from '../../../events/channels/channel-change.ts';

/** A request as the sandbox's server hands it to a receiver. */
export interface SandboxRequest {
  method: string;
  /** Under the receiver's prefix, with the query. */
  path: string;
  /** Of the sandbox, for example `http://127.0.0.1:9100`. */
  origin: string;
  /** By name in lower case. */
  headers: Readonly<Record<string, string | undefined>>;
  body: Buffer;
}

export interface SandboxAnswer {
  status: number;
  headers?: Readonly<Record<string, string>>;
  /** Sent as JSON unless the headers say otherwise; empty: nothing. */
  body?: string;
}

/** A message as the sandbox lists it (docs/sandbox.md); the store adds when it was received. */
export interface SandboxMessage {
  channel: Channel;
  provider: string;
  /** The address: a device token, an endpoint. */
  to: string;
  subject: string;
  title: string;
  text: string;
  html: string;
  data: Readonly<Record<string, unknown>>;
  headers: Readonly<Record<string, string>>;
}

/**
 * Answers like a provider's service and says what message it got. Addresses that begin with `dead`
 * are those that the service does not know any more.
 */
export interface Receiver {
  handle(request: SandboxRequest): { answer: SandboxAnswer; message?: SandboxMessage };
}

export function jsonAnswer(status: number, json: unknown): { answer: SandboxAnswer } {
  return { answer: { status, body: JSON.stringify(json) } };
}

export function isDead(address: string): boolean {
  return address.startsWith('dead');
}

/** What of the headers a message shows; the credentials of the sender are not among it. */
export function shownHeaders(
  { headers }: SandboxRequest,
  names: readonly string[],
): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = headers[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}
