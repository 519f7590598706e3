/**
 * What commands and the supervisor say to each other over the control socket: one JSON line a
 * message.
 */
export type ControlRequest =
  | { command: 'status' }
  | { command: 'watch' }
  | { command: 'start'; service: string }
  | { command: 'stop'; service: string }
  | { command: 'down' };

export interface ServiceStatus {
  name: string;
  pid: number | null;
  up: boolean;
  address: string;
  admin_url: string | null;
  restarts: number;
  /** For people: running, starting, restarting, stopping, stopped, external. */
  state: string;
}

export type StackEvent =
  | { event: 'progress'; text: string }
  | { event: 'ready' }
  /** The start failed; the supervisor takes down what it started. */
  | { event: 'failed'; message: string; lines: string[] }
  | { event: 'down' };

/** `end` closes an exchange: with `error` when the request could not be served. */
export type ControlReply =
  | StackEvent
  | { event: 'status'; services: ServiceStatus[] }
  | { event: 'end'; error?: string; text?: string };
