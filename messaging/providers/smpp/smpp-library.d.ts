declare module 'smpp' {
  import type { EventEmitter } from 'node:events';
  import type { Server as NetServer, Socket } from 'node:net';

  export interface Pdu {
    command: string;
    command_status: number;
    sequence_number: number;
    esm_class?: number;
    message_id?: string;
    short_message?: { message: string | Buffer };
    response(options?: Readonly<Record<string, unknown>>): Pdu;
    readonly [field: string]: unknown;
  }

  export type PduFields = Readonly<Record<string, unknown>>;

  export class Session extends EventEmitter {
    constructor(options: { socket: Socket });
    socket: Socket;
    /** Each returns false when the socket cannot be written to any more. */
    bind_transceiver(fields: PduFields, answered: (response: Pdu) => void): boolean;
    submit_sm(fields: PduFields, answered: (response: Pdu) => void): boolean;
    deliver_sm(fields: PduFields): boolean;
    enquire_link(fields: PduFields, answered: (response: Pdu) => void): boolean;
    unbind(): boolean;
    send(pdu: Pdu): boolean;
    destroy(): void;
  }

  export interface Server extends NetServer {
    sessions: Session[];
  }

  export function createServer(listener: (session: Session) => void): Server;
}
