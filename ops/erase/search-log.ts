import { topicEnds } from '../../platform/kafka/admin.ts';
import { readRange } from '../../platform/kafka/read-range.ts';
import { TOPICS } from '../../schemas/topology.ts';
import type { Connections } from '../jobs/connections.ts';
import { HeldCounts } from './held-counts.ts';
import type { Search, Verification } from './findings.ts';
import { recordSearch } from './record-search.ts';

/** Searches every record of every topic. */
export async function searchLog(connections: Connections, search: Search): Promise<Verification> {
  const { admin, settings } = connections;
  const heldIn = await recordSearch(connections, search);
  const counts = new HeldCounts('log');
  for (const { topic } of TOPICS)
    for (const { partition, low, high } of await topicEnds(admin, topic)) {
      const range = { topic, partition, from: low, to: high };
      const reading = { settings, clientId: 'ravand-erase', range, signal: search.signal };
      for await (const messages of readRange(reading))
        for (const message of messages) counts.add(topic, heldIn(message));
    }
  return counts.verification();
}
