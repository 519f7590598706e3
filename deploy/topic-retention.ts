import kafkajs, { type Admin } from 'kafkajs';
import type { TopicPlan } from './topics.ts';

const RETENTION = 'retention.ms';
/** Records are deleted by age only: a limit of bytes would delete them earlier, unannounced. */
const BYTES = 'retention.bytes';
/** As Kafka writes it. */
const FOR_EVER = -1;

/** A topic keeps records longer than planned: shortening it would delete them for good. */
export class LongerRetention extends Error {
  override readonly name = 'LongerRetention';
}

/** What to do about the retention of an existing topic, ms; 0 in a plan means for ever. */
export function retentionStep(found: number, planned: number): 'keep' | 'lengthen' | 'refuse' {
  const order = (value: number) => (value <= 0 ? Number.POSITIVE_INFINITY : value);
  if (order(found) === order(planned)) return 'keep';
  return order(found) < order(planned) ? 'lengthen' : 'refuse';
}

/**
 * Makes existing topics keep records as long as planned, whatever their size: events.verdicts, for
 * example, as long as events.raw, or a replay decides otherwise than the normaliser did. Returns a
 * sentence for each change. Throws LongerRetention, before any change.
 */
export async function ensureRetention(
  admin: Admin,
  plans: readonly TopicPlan[],
): Promise<string[]> {
  const existing = new Set(await admin.listTopics());
  const asked = plans.filter(({ topic }) => existing.has(topic));
  if (asked.length === 0) return [];
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: asked.map(({ topic }) => ({
      type: kafkajs.ConfigResourceTypes.TOPIC,
      name: topic,
    })),
  });
  const topics = resources.flatMap(({ resourceName, configEntries }) => {
    const plan = plans.find(({ topic }) => topic === resourceName);
    const valueOf = (name: string) =>
      Number(configEntries.find((one) => one.configName === name)?.configValue);
    const [found, bytes] = [valueOf(RETENTION), valueOf(BYTES)];
    return plan && Number.isFinite(found) ? [{ plan, found, bytes, configEntries }] : [];
  });
  const stepOf = ({ plan, found }: (typeof topics)[number]) => retentionStep(found, plan.retention);
  const longer = topics.filter((one) => stepOf(one) === 'refuse');
  if (longer.length > 0)
    throw new LongerRetention(longer.map(({ plan, found }) => refusal(plan, found)).join('\n'));
  const sentences: string[] = [];
  for (const one of topics) {
    const { plan, found, bytes, configEntries } = one;
    const isLimited = bytes > FOR_EVER;
    if (stepOf(one) === 'keep' && !isLimited) continue;
    const changed = new Map([
      [RETENTION, String(plan.retention === 0 ? FOR_EVER : plan.retention)],
      [BYTES, String(FOR_EVER)],
    ]);
    // A change replaces all settings of the topic itself.
    const own = configEntries.filter(
      ({ configSource, configName }) =>
        configSource === kafkajs.ConfigSource.TOPIC_CONFIG && !changed.has(configName),
    );
    await admin.alterConfigs({
      validateOnly: false,
      resources: [
        {
          type: kafkajs.ConfigResourceTypes.TOPIC,
          name: plan.topic,
          configEntries: [
            ...own.map(({ configName, configValue }) => ({ name: configName, value: configValue })),
            ...[...changed].map(([name, value]) => ({ name, value })),
          ],
        },
      ],
    });
    if (stepOf(one) === 'lengthen')
      sentences.push(
        `${plan.topic} keeps its records ${timeText(plan.retention)} instead of ${timeText(found)}`,
      );
    if (isLimited)
      sentences.push(
        `${plan.topic} keeps its records whatever their size instead of ${bytes} bytes a partition`,
      );
  }
  return sentences;
}

function refusal({ topic, retention }: TopicPlan, found: number): string {
  return (
    `${topic} keeps its records ${timeText(found)}, and the settings say ${timeText(retention)}: shortening it deletes records for good. ` +
    `Change the setting (RAW_RETENTION, NORMALISED_RETENTION), or set ${RETENTION}=${retention} of the topic yourself (kafka-configs --alter)`
  );
}

function timeText(ms: number): string {
  return ms <= 0 ? 'for ever' : `${ms / 3_600_000} hours`;
}
