import { CommandError } from '../../cli/command.ts';
import { delay } from '../../platform/backoff.ts';
import { connectProducer } from '../../platform/kafka/producer.ts';
import { ERASURES_POLL_MS } from '../../platform/log/erasures-poll.ts';
import { readLayout } from '../../platform/log/layout.ts';
import { useTopicNames } from '../../platform/log/topic-names.ts';
import type { OperationWait } from '../../platform/operations/operation-wait.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { erasureCommandCodec } from '../../schemas/codec.ts';
import { TOPIC } from '../../schemas/topology.ts';
import type { Connections } from '../jobs/connections.ts';
import { barrierNow, behind, cutNow, endsOf, rawBehind, spooling } from './barrier.ts';
import type { ErasureRow } from './erasure-row.ts';
import { commandOf, ErasureStore } from './erasure-store.ts';
import { namesOf } from './person.ts';
import { removeFromStores } from './remove.ts';
import { until, type Asker } from './until.ts';

interface EraseRequest extends Asker {
  homeDir: string;
  env: NodeJS.ProcessEnv;
  stop: AbortSignal;
  /** How long one wait may last, ms. */
  timeout: number;
  /** Does not wait for gateways that do not run. */
  forget: boolean;
  /** Names whose erasures wait for this one. */
  waiting?: readonly string[];
}

/** Every process that follows the erasures has read one after this time. */
const NOTICED_MS = 2 * ERASURES_POLL_MS + 1000;

/** Carries an erasure out from where it stopped, up to its removal from all stores but the log. */
export async function carryOut(
  connections: Connections,
  id: number,
  request: EraseRequest,
): Promise<ErasureRow> {
  const store = new ErasureStore(connections.database);
  for (;;) {
    request.stop.throwIfAborted();
    const erasure = await store.find(id);
    if (!erasure) throw new CommandError(`there is no erasure ${id}: see ./ravand erase status`);
    switch (erasure.state) {
      case 'requested':
        if (erasure.cuts) {
          await recordFact(connections, store, erasure);
          break;
        }
        await decideCut(connections, store, { erasure, request });
        break;
      case 'recorded':
        await reachBarrier(connections, store, { erasure, request });
        break;
      case 'enforced': {
        await eraseMergedSince(connections, store, { erasure, request });
        // Every live consumer has read the erasure before its rows are removed.
        await delay(NOTICED_MS, request.stop);
        const { homeDir, env, stop: signal, report, waits } = request;
        await removeFromStores(connections, {
          ...{ erasure, store, homeDir, env, signal, report, waits },
        });
        break;
      }
      case 'removed':
      case 'rewritten':
        return erasure;
    }
  }
}

interface Step {
  erasure: ErasureRow;
  request: EraseRequest;
}

/**
 * An alias that was accepted before the cut may have been applied since the request: the person has
 * more names then, whose erasure follows first. Afterwards nothing links them any more.
 */
async function eraseMergedSince(
  connections: Connections,
  store: ErasureStore,
  { erasure: { id, accountId, names = [], counts }, request }: Step,
): Promise<void> {
  // Its rows are being removed: the links are gone, or were looked at before.
  if (counts) return;
  const now = await namesOf(connections.database, accountId, names);
  const waiting = [...(request.waiting ?? []), ...names];
  const merged = now.names.filter((name) => !waiting.includes(name));
  if (merged.length === 0) return;
  request.report(`merged meanwhile with the person of erasure ${id}: ${merged.join(', ')}`);
  await carryOut(connections, await store.request(accountId, merged), { ...request, waiting });
}

/** What was accepted before is in the log, so that it lies before the cut. */
async function decideCut(
  connections: Connections,
  store: ErasureStore,
  { erasure: { id, age }, request }: Step,
): Promise<void> {
  const { admin, database } = connections;
  const { forget, stop } = request;
  const found = performance.now();
  const ageNow = () => age + performance.now() - found;
  await until(untilOf(request, id), async () => {
    await followLayout(database);
    return spooling(database, { since: ageNow(), forget });
  });
  // No outcome of a message to the person is published any more then: no event of one comes behind
  // the cut.
  await delay(Math.max(0, NOTICED_MS - ageNow()), stop);
  const since = await endsOf(admin, TOPIC.normalised);
  await store.cutAt(id, await cutNow({ admin, database }), since);
}

async function recordFact(
  { settings, log }: Connections,
  store: ErasureStore,
  erasure: ErasureRow,
): Promise<void> {
  const producer = await connectProducer({
    ...{ settings, log, clientId: 'ravand-erase', timeout: 20_000, linger: 0, pollInterval: 10 },
    maxQueued: { records: 10, bytes: 16 * 1024 * 1024 },
  });
  try {
    await producer.publish({
      topic: TOPIC.erasureCommands,
      partition: 0,
      key: null,
      value: erasureCommandCodec.encode(commandOf(erasure)),
    });
  } finally {
    await producer.close(2000);
  }
  await store.advance(erasure.id, 'requested', 'recorded');
}

/** Everything up to the cut is processed, so that what is counted and stored is complete. */
async function reachBarrier(
  connections: Connections,
  store: ErasureStore,
  { erasure, request }: Step,
): Promise<void> {
  const { id, cuts = [], barrier } = erasure;
  const wait = (waiting: () => Promise<OperationWait[]>) =>
    until(untilOf(request, id), async () => {
      await followLayout(connections.database);
      return waiting();
    });
  if (!barrier) {
    await wait(() => rawBehind(connections, cuts));
    await store.awaits(id, await barrierNow(connections));
    return;
  }
  await wait(() => behind(connections, barrier));
  await store.advance(id, 'recorded', 'enforced');
}

function untilOf({ report, waits, stop: signal, timeout }: EraseRequest, id: number) {
  const afterwards = `The erasure goes on with ./ravand erase --resume ${id}`;
  return { report, waits, signal, timeout, afterwards };
}

/** A topic may be replaced while the erasure waits. */
async function followLayout(database: Database): Promise<void> {
  const layout = await readLayout(database);
  if (layout) await useTopicNames(layout);
}
