import { CommandError } from '../../cli/command.ts';
import type { KafkaSettings } from '../../platform/kafka/connection.ts';
import { contradictionIn, refusalOf } from '../../platform/kafka/log-guard.ts';
import { LogProbe } from '../../platform/kafka/log-probe.ts';
import { decisive } from '../../platform/log/decisive.ts';
import { readAdvances, readEvidence } from '../../platform/log/evidence-store.ts';
import type { Database } from '../../platform/postgres/pool.ts';

/**
 * Throws CommandError when one of the topics is not the one that the live services have read: it
 * went back, or was recreated. Rejects without Kafka or PostgreSQL.
 */
export async function requireAgreedLog(
  { settings, database }: { settings: KafkaSettings; database: Database },
  topics: readonly string[],
): Promise<void> {
  if ((await readAdvances(database)).isUnfinished)
    throw new CommandError('./ravand log advance-epoch was not finished: run it again first');
  const evidence = (await readEvidence(database)).filter(({ topic }) => topics.includes(topic));
  const probe = new LogProbe(settings);
  try {
    for (const one of decisive(evidence)) {
      const contradiction = await contradictionIn(probe, one, one);
      if (contradiction) throw new CommandError(refusalOf(one, one.reader, contradiction));
    }
  } finally {
    await probe.close();
  }
}
