import { openEvent, openEventId } from '../../events/channels/open-event.ts';
import type { OpenedBy } from '../../events/channels/opened-by.ts';
import { ClientBody } from '../../ingest/client-body.ts';
import type { EventWriter } from '../../ingest/event-writer.ts';
import { accountPrincipal } from '../tracking/recipients.ts';
import type { OpenStore, StoredOpen } from './open-store.ts';

/** The opens of one message that nothing is written of yet. */
export interface PendingOpen {
  accountId: number;
  ref: Buffer;
  /** The first one, ms since the epoch. */
  openedAt: number;
  /** The first one by a person. */
  personAt: number | undefined;
  /** `person` when one of them is. */
  by: OpenedBy;
  /** Of the first one. */
  trace: string;
}

export interface OpenPorts {
  store: OpenStore;
  writer: Pick<EventWriter, 'write'>;
}

/** Where the events say that they came in. */
const PATH = '/e/o';

/** Two opens of a message as one. */
export function mergeOpens(before: PendingOpen, after: PendingOpen): PendingOpen {
  return {
    ...before,
    personAt: before.personAt ?? after.personAt,
    by: after.by === 'person' ? 'person' : before.by,
  };
}

/**
 * Writes an event for each message that nobody had opened before, then the times of the opens. A
 * crash between the two leaves an open without its time: the next one is a duplicate by its message
 * id. A person who opens what a proxy has opened adds a time, and no second event
 * (docs/channels.md, Pages of messages). Rejects when something could not be written; what was
 * written is not written again.
 */
export async function writeOpens(
  opens: readonly PendingOpen[],
  { store, writer }: OpenPorts,
): Promise<void> {
  const known = new Map((await store.find(opens)).map((one) => [keyOf(one), one]));
  const written = await Promise.all(
    opens.map(async (open) => {
      const message = known.get(keyOf(open));
      if (!message || (message.isOpened && (message.isOpenedByPerson || !open.personAt)))
        return 'nothing_new';
      return message.isOpened || (await writeEvent(message, open, writer)) ? 'to_mark' : 'failed';
    }),
  );
  const marked = opens.filter((_open, at) => written[at] === 'to_mark');
  if (marked.length > 0) await store.mark(marked);
  if (written.includes('failed')) throw new Error('events of opens are not durable');
}

/** False when the event is not durable. */
async function writeEvent(
  message: StoredOpen,
  { accountId, openedAt, by, trace }: PendingOpen,
  writer: OpenPorts['writer'],
): Promise<boolean> {
  // Whoever is known by no id is nobody in the event stream.
  if (message.userId === '') return true;
  const body = Buffer.from(JSON.stringify(openEvent(message, by)));
  const duplicates = await writer.write({
    request: {
      ...{ principal: accountPrincipal(accountId), source: 'platform', path: PATH },
      ...{ shape: 'single', receivedAt: openedAt, ip: '', userAgent: '', origin: '', trace },
    },
    decided: { received: 1, rejected: [], counts: [] },
    events: [
      {
        ...{ index: 0, type: 'track', distinctId: message.userId, generated: false },
        ...{ message_id: openEventId(message), timestamp: openedAt },
      },
    ],
    bytes: new ClientBody(body, 'batch'),
  });
  return duplicates !== undefined;
}

export function keyOf({ accountId, ref }: Pick<PendingOpen, 'accountId' | 'ref'>): string {
  return `${accountId} ${ref.toString('hex')}`;
}
