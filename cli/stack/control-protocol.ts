/** Protocol of the control socket to the supervisor: one JSON line per message. */
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
  /** Shown to people: running, starting, restarting, stopping, stopped, external. */
  state: string;
}

export type StackEvent =
  | { event: 'progress'; text: string }
  | { event: 'ready' }
  /** The start failed; the supervisor stops what it started. */
  | { event: 'failed'; message: string; lines: string[] }
  | { event: 'down' };

/** `end` closes an exchange: with `error` when the request could not be served. */
export type ControlReply =
  | StackEvent
  | { event: 'status'; services: ServiceStatus[] }
  | { event: 'end'; error?: string; text?: string };
