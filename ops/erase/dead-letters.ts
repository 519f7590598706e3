import { withoutErasedEvents } from '../../events/erasure/dead-letter.ts';
import { deadLetterKey } from '../../pipeline/dead-letters/dead-letter.ts';
import { topicEnds } from '../../platform/kafka/admin.ts';
import { RangeReader, readRange } from '../../platform/kafka/read-range.ts';
import { epochAsOf, readEpochs } from '../../platform/log/epochs.ts';
import { readErasures } from '../../platform/log/erasures.ts';
import { TOPIC } from '../../schemas/topology.ts';
import { indexDeadLetters } from '../dlq/dead-letter-index.ts';
import { decodeDeadLetter } from '../dlq/read-dead-letter.ts';
import type { Connections } from '../jobs/connections.ts';
import { markErased } from './postgres-rows.ts';

/**
 * Marks the dead letters of erased people, so that none is redriven. Their bytes stay in the log
 * until it is rewritten. Resolves with how many were marked.
 */
export async function markDeadLetters(
  connections: Connections,
  signal: AbortSignal,
): Promise<number> {
  const { admin, database, settings } = connections;
  const reader = new RangeReader({ settings, clientId: 'ravand-erase' });
  try {
    while (!(await indexDeadLetters({ operator: connections, database, reader })))
      signal.throwIfAborted();
  } finally {
    await reader.close();
  }
  const erased = await readErasures(database, 'recorded');
  const epochs = {
    raw: await readEpochs(database, TOPIC.raw),
    dead: await readEpochs(database, TOPIC.dead),
  };
  let marked = 0;
  for (const { partition, low, high } of await topicEnds(admin, TOPIC.dead)) {
    const range = { topic: TOPIC.dead, partition, from: low, to: high };
    for await (const messages of readRange({
      ...{ settings, clientId: 'ravand-erase', range, signal },
    })) {
      const keys = messages.flatMap(({ value, offset }) => {
        const deadLetter = decodeDeadLetter(value);
        const writtenIn = epochs.dead.at(partition, offset);
        const left =
          deadLetter &&
          withoutErasedEvents(deadLetter, erased, (of) =>
            epochAsOf(epochs.raw.of(of.partition), of.offset, writtenIn),
          );
        return deadLetter && left?.isEmpty ? [deadLetterKey(deadLetter)] : [];
      });
      if (keys.length > 0) marked += await markErased(database, keys);
    }
  }
  return marked;
}
