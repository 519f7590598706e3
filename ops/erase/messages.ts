import { CommandError } from '../../cli/command.ts';
import { delay } from '../../platform/backoff.ts';
import type { Connections } from '../jobs/connections.ts';
import type { ClickhouseRows } from './clickhouse-rows.ts';
import {
  activeRuns,
  removeFromChunks,
  removeFromOutbox,
  removeMessageRows,
  sendingSince,
  allActiveRuns,
  unpublishedIds,
  type MessagePerson,
  type RemovedMessages,
} from './message-rows.ts';

const POLL_MS = 1000;
/** A planner or a dispatcher that works on the person's rows is waited for so long, ms. */
const WAIT_MS = 300_000;

type Rows = Pick<
  ClickhouseRows,
  'tables' | 'delete' | 'blankRecipients' | 'messagesWhere' | 'messageIds'
>;

interface Removal {
  person: MessagePerson;
  rows: Rows;
  /** Decides until when messages were planned for the person, ms since the epoch. */
  end: () => Promise<number>;
  /** The time of PostgreSQL. */
  clock: () => Promise<string>;
  signal: AbortSignal;
  report: (sentence: string) => void;
}

export interface ErasedMessages extends RemovedMessages {
  /** Outcomes, of ClickHouse's messages. */
  outcomes: number;
  /** Queued chunks in which the person had a place. */
  chunks: number;
  /** Rows of frozen audiences. */
  audiences: number;
}

/**
 * Removes the person from audiences, queues and outcomes of messages, after the profiles that a new
 * audience could be made of. May be repeated: outcomes, which lead to transactional messages, go
 * last. What is read from the log from now on is erased by its readers.
 */
export async function eraseMessages(
  { database }: Pick<Connections, 'database'>,
  { person, rows, end, clock, signal, report }: Removal,
): Promise<ErasedMessages> {
  const { accountId } = person;
  const since = await clock();
  await until({ signal, report }, async () => {
    const { freezing } = await activeRuns(database, accountId);
    if (freezing.length > 0) return `run ${freezing.join(' and ')} to be frozen`;
    const sending = await sendingSince(database, accountId, since);
    return sending === 0 ? undefined : `${sending} transactional messages to be sent`;
  });
  const at = await end();
  const audiences = await removeRecipients(database, { person, rows, at });
  let chunks = 0;
  await until({ signal, report }, async () => {
    const found = await removeFromChunks(database, person);
    chunks += found.chunks;
    return found.open === 0 ? undefined : `${found.open} calls of providers to end`;
  });
  const unpublished = await unpublishedIds(database, person);
  const stored = await rows.messageIds({ ...person, at });
  const messageIds = [...unpublished, ...stored];
  const removed = await removeMessageRows(database, person, { until: at, messageIds });
  await removeFromOutbox(database, person);
  let outcomes = 0;
  for (const kind of ['messages', 'opens'] as const) {
    const where = await rows.messagesWhere(kind, { ...person, at });
    for (const table of await rows.tables(kind)) {
      const count = await rows.delete(table, where);
      if (table === 'messages' || table === 'messages_local') outcomes = count;
    }
  }
  return { ...removed, outcomes, chunks, audiences };
}

/** A run counts the rows of its audience until it has ended: only the person of such a row goes. */
async function removeRecipients(
  database: Connections['database'],
  { person, rows, at }: Pick<Removal, 'person' | 'rows'> & { at: number },
): Promise<number> {
  const where = await rows.messagesWhere('recipients', { ...person, at });
  const { active } = await activeRuns(database, person.accountId);
  const inRuns = `run_id IN (${idList(active)})`;
  let removed = 0;
  for (const table of await rows.tables('recipients')) {
    removed += await rows.blankRecipients(table, `${where} AND ${inRuns}`);
    removed += await rows.delete(table, `${where} AND NOT (${inRuns})`);
  }
  return removed;
}

/** Removes what erasures left of rows that a run still counted, once it has ended. */
export async function removeEmptiedRecipients(
  database: Connections['database'],
  rows: Pick<ClickhouseRows, 'tables' | 'delete'>,
): Promise<void> {
  const inRuns = idList(await allActiveRuns(database));
  const where = `person_id = '' AND user_id = '' AND run_id NOT IN (${inRuns})`;
  for (const table of await rows.tables('recipients')) await rows.delete(table, where);
}

/** Of SQL; 0 is no run. */
function idList(ids: readonly number[]): string {
  return [0, ...ids].join(', ');
}

/** Throws CommandError when it takes too long; the erasure is continued later. */
async function until(
  { signal, report }: Pick<Removal, 'signal' | 'report'>,
  waiting: () => Promise<string | undefined>,
): Promise<void> {
  const deadline = performance.now() + WAIT_MS;
  for (let last: string | undefined; ;) {
    const found = await waiting();
    if (found === undefined) return;
    if (found !== last) report(`waiting for ${found}`);
    last = found;
    if (performance.now() > deadline)
      throw new CommandError(
        `it waited too long for ${found}: start the service, then run ./ravand erase --resume`,
      );
    await delay(POLL_MS, signal);
  }
}
