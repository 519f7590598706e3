import { constants, getPriority, platform, setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { EventCounter, OutOfMemory } from './event-counter.ts';
import { readEvents } from './read-events.ts';
import { ServerThreads } from './server-threads.ts';
import type { ThreadAnswer, ThreadData, ThreadMessage } from './report-thread.ts';

type Job = Exclude<ThreadMessage, { kind: 'abort' }>;

// On Linux the priority of a thread is its own: counting does not go before what others run, also
// where the process does (deploy/local/services/nice.ts).
if (platform() === 'linux' && getPriority() < 0) setPriority(constants.priority.PRIORITY_NORMAL);

const { clickhouse, memory, thread } = workerData as ThreadData;
const counter = new EventCounter(memory, thread);
const serverThreads = new ServerThreads(clickhouse);
let reading = new AbortController();

parentPort?.on('message', (message: ThreadMessage) => {
  if (message.kind === 'abort') reading.abort(new Error('the report was aborted'));
  else void answer(message);
});

async function answer(job: Job): Promise<void> {
  try {
    send({ ok: true, answer: await run(job) });
  } catch (error) {
    if (error instanceof OutOfMemory) send({ ok: true, answer: 'no memory' });
    else send({ ok: false, message: error instanceof Error ? error.message : String(error) });
  }
}

function send(answered: ThreadAnswer): void {
  parentPort?.postMessage(answered);
}

function run(job: Job): unknown {
  switch (job.kind) {
    case 'read':
      reading = new AbortController();
      return readEvents(job.ask, { clickhouse, counter, serverThreads, signal: reading.signal });
    case 'count':
      return counter.count(job.ask);
    case 'rank':
      return counter.valuesOf(job.ask.lists, job.ask);
  }
}
