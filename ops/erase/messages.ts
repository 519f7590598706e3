import { MAX_WAITS } from '../../platform/operations/operation-wait.ts';
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
import { until, type Asker } from './until.ts';

/** A planner or a dispatcher that works on the person's rows is waited for so long, ms. */
const WAIT_MS = 300_000;
const AFTERWARDS = 'Start the service, then run ./ravand erase --resume';

type Rows = Pick<
  ClickhouseRows,
  'tables' | 'delete' | 'blankRecipients' | 'messagesWhere' | 'messageIds'
>;

interface Removal extends Asker {
  person: MessagePerson;
  rows: Rows;
  /** Decides until when messages were planned for the person, ms since the epoch. */
  end: () => Promise<number>;
  /** The time of PostgreSQL. */
  clock: () => Promise<string>;
  signal: AbortSignal;
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
  { person, rows, end, clock, signal, report, waits }: Removal,
): Promise<ErasedMessages> {
  const { accountId } = person;
  const since = await clock();
  const options = { report, waits, signal, timeout: WAIT_MS, afterwards: AFTERWARDS };
  await until(options, async () => {
    const { freezing } = await activeRuns(database, accountId);
    if (freezing.length > 0) return [{ key: 'freezing', runs: freezing.slice(0, MAX_WAITS) }];
    const messages = await sendingSince(database, accountId, since);
    return messages === 0 ? [] : [{ key: 'messages', messages }];
  });
  const at = await end();
  const audiences = await removeRecipients(database, { person, rows, at });
  let chunks = 0;
  await until(options, async () => {
    const found = await removeFromChunks(database, person);
    chunks += found.chunks;
    return found.open === 0 ? [] : [{ key: 'messages', messages: found.open }];
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
