import { committedOffsets, topicEnds, withKafkaAdmin } from '../../platform/kafka/admin.ts';
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
export async function lagOf({
  plan,
  home,
  services,
  env,
}: LagQuestion): Promise<Map<string, number>> {
  const lags = new Map<string, number>();
  const settings = loadExternal({ ...env, ...serviceEnv({ plan, home }) });
  const work = withKafkaAdmin(settings, async (admin) => {
    for (const { name, lag } of services) {
      if (lag === undefined) continue;
      const [ends, committed] = await Promise.all([
        topicEnds(admin, lag.topic),
        committedOffsets(admin, lag.group, lag.topic),
      ]);
      lags.set(
        name,
        ends.reduce(
          (sum, { partition, low, high }) =>
            sum + high - Math.max(low, committed.get(partition) ?? low),
          0,
        ),
      );
    }
  });
  let timer: NodeJS.Timeout | undefined;
  const bound = new Promise<void>((resolve) => (timer = setTimeout(resolve, TIMEOUT_MS)));
  await Promise.race([work.catch(() => undefined), bound]);
  clearTimeout(timer);
  return lags;
}
