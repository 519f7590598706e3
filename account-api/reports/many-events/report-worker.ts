import { constants, getPriority, platform, setPriority } from 'node:os';
import { parentPort, workerData, type Transferable } from 'node:worker_threads';
import type { ClickhouseSettings } from '../../../platform/clickhouse/client.ts';
import { valuesOfRanks } from './order-statistics.ts';
import { readEvents } from './read-events.ts';
import type { ThreadAnswer, ThreadMessage } from './report-thread.ts';
import { count, type ThreadJobs } from './thread-jobs.ts';

type Job = Exclude<ThreadMessage, { kind: 'abort' }>;

// On Linux the priority of a thread is its own: counting does not go before what others run, also
// where the process does (deploy/local/services/nice.ts).
if (platform() === 'linux' && getPriority() < 0) setPriority(constants.priority.PRIORITY_NORMAL);

const clickhouse = workerData as ClickhouseSettings;
let reading = new AbortController();

parentPort?.on('message', (message: ThreadMessage) => {
  if (message.kind === 'abort') reading.abort(new Error('the report was aborted'));
  else void answer(message);
});

async function answer(job: Job): Promise<void> {
  try {
    const done = await run(job);
    send({ ok: true, answer: done }, job.kind === 'count' ? listsOf(done) : []);
  } catch (error) {
    send({ ok: false, message: error instanceof Error ? error.message : String(error) });
  }
}

function send(answered: ThreadAnswer, transfer: Transferable[] = []): void {
  parentPort?.postMessage(answered, transfer);
}

function run(job: Job): unknown {
  switch (job.kind) {
    case 'read':
      reading = new AbortController();
      return readEvents(clickhouse, job.ask, reading.signal);
    case 'count':
      return count(job.ask);
    case 'rank':
      return valuesOfRanks(job.ask);
  }
}

/** What goes to the other thread without a copy. */
function listsOf(counted: unknown): ArrayBuffer[] {
  return (counted as ThreadJobs['count']['answer']).lists.map(({ buffer }) => buffer);
}
