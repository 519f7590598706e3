import { parseIranianMobile } from '../../events/iran-phone.ts';
import type { SandboxMessage } from './receivers/receiver.ts';

/** A message as the sandbox keeps it. */
export interface KeptMessage extends SandboxMessage {
  /** Counts up from 1. */
  id: number;
  /** RFC 3339 */
  received_at: string;
}

export interface MessageFilter {
  channel?: string | undefined;
  to?: string | undefined;
  limit: number;
}

export const MAX_MESSAGES = 1000;
/** Of all kept messages together; mails may be large. */
const MAX_BYTES = 64 * 2 ** 20;

/** The last messages in memory, newest first for readers. */
export class MessageStore {
  /** Oldest first. */
  #messages: { message: KeptMessage; bytes: number }[] = [];
  #bytes = 0;
  #lastId = 0;

  /** @param at ms since the epoch */
  add(message: SandboxMessage, at: number): void {
    const kept = { id: ++this.#lastId, ...message, received_at: new Date(at).toISOString() };
    const bytes = Buffer.byteLength(JSON.stringify(kept));
    this.#messages.push({ message: kept, bytes });
    this.#bytes += bytes;
    while (this.#messages.length > MAX_MESSAGES || this.#bytes > MAX_BYTES)
      this.#bytes -= this.#messages.shift()?.bytes ?? 0;
  }

  list({ channel, to, limit }: MessageFilter): KeptMessage[] {
    const address = to === undefined ? undefined : comparable(to);
    const found: KeptMessage[] = [];
    for (const { message } of this.#messages.toReversed()) {
      if (found.length === limit) break;
      if (channel !== undefined && message.channel !== channel) continue;
      if (address === undefined || comparable(message.to) === address) found.push(message);
    }
    return found;
  }

  find(id: number): KeptMessage | undefined {
    return this.#messages.find(({ message }) => message.id === id)?.message;
  }

  get size(): number {
    return this.#messages.length;
  }
}

/** One spelling of an address: phone numbers have several, and mail domains ignore case. */
function comparable(address: string): string {
  return parseIranianMobile(address)?.e164 ?? address.trim().toLowerCase();
}
