import {
  committedOffsets,
  topicEnds,
  withKafkaAdmin,
  type PartitionEnds,
} from '../../platform/kafka/admin.ts';
import { withDeadline } from '../../platform/deadline.ts';
import { readTopicNamesFrom } from '../../platform/kafka/topic-names.ts';
import { createLog } from '../../platform/log.ts';
import { namesOf, topicNamesOf } from '../../platform/log/topic-names.ts';
import { loadExternal } from './config.ts';
import type { Home } from '../../cli/stack/home.ts';
import type { Service } from './services/service.ts';
import { serviceEnv } from './stack.ts';
import type { StackPlan } from '../../cli/stack/stack-plan.ts';

const TIMEOUT_MS = 3000;

interface LagQuestion {
  plan: StackPlan;
  home: Home;
  services: readonly Service[];
  env: NodeJS.ProcessEnv;
}

/**
 * Records that the group of each service has not read yet, by service. Services that read nothing
 * are absent; so is every service when Kafka does not answer in time.
 */
export async function lagOf(question: LagQuestion): Promise<Map<string, number>> {
  const { plan, home, services, env } = question;
  const lags = new Map<string, number>();
  const settings = loadExternal({ ...env, ...serviceEnv({ plan, home }) });
  const log = createLog({ part: 'status', level: 'fatal' });
  // Without PostgreSQL: few topics are ever replaced.
  readTopicNamesFrom(() =>
    topicNamesOf({ url: plan.database_url, log }).catch(() => namesOf(undefined)),
  );
  const work = withKafkaAdmin(settings, async (admin) => {
    const topics = new Map<string, Promise<PartitionEnds[]>>();
    const endsOf = (topic: string) => {
      const asked = topics.get(topic) ?? topicEnds(admin, topic);
      topics.set(topic, asked);
      return asked;
    };
    await Promise.all(
      services.map(async ({ name, lag }) => {
        if (lag === undefined) return;
        const [ends, committed] = await Promise.all([
          endsOf(lag.topic),
          committedOffsets(admin, lag.group, lag.topic),
        ]);
        let unread = 0;
        for (const { partition, low, high } of ends)
          unread += high - Math.max(low, committed.get(partition) ?? low);
        lags.set(name, unread);
      }),
    );
  });
  await withDeadline({ ms: TIMEOUT_MS, waitingFor: 'Kafka' }, work).catch(() => undefined);
  return lags;
}
