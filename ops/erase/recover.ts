import { topicEnds } from '../../platform/kafka/admin.ts';
import { readRange } from '../../platform/kafka/read-range.ts';
import { erasureCommandCodec } from '../../schemas/codec.ts';
import { TOPIC } from '../../schemas/topology.ts';
import type { Connections } from '../jobs/connections.ts';
import { ErasureStore } from './erasure-store.ts';

interface Recovered {
  /** Their numbers now. */
  restored: number[];
  /** Numbers in the log of those whose key is lost: nobody knows whom they are about. */
  keyless: number[];
}

/**
 * Takes erasures over from erasure.commands that PostgreSQL lacks, after it was restored to an
 * earlier time. They hold no names: the same person is erased again with their names, which removes
 * what the restored PostgreSQL holds.
 */
export async function recoverErasures(
  connections: Connections,
  signal: AbortSignal,
): Promise<Recovered> {
  const { admin, database, settings } = connections;
  const store = new ErasureStore(database);
  const recovered: Recovered = { restored: [], keyless: [] };
  for (const { partition, low, high } of await topicEnds(admin, TOPIC.erasureCommands)) {
    const range = { topic: TOPIC.erasureCommands, partition, from: low, to: high };
    const reading = { settings, clientId: 'ravand-erase', range, signal };
    for await (const messages of readRange(reading))
      for (const { value } of messages) {
        if (value === null) continue;
        const command = erasureCommandCodec.decode(value);
        const found = await store.restore(command);
        if (found === 'keyless') recovered.keyless.push(command.id);
        else if (found !== undefined) recovered.restored.push(found);
      }
  }
  return recovered;
}
