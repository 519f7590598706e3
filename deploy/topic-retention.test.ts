import { describe, expect, it } from 'vitest';
import { TOPIC, TOPICS } from '../schemas/topology.ts';
import { retentionStep } from './topic-retention.ts';
import { plannedTopics } from './topics.ts';

describe('the retention of topics', () => {
  it.each<[found: number, planned: number, step: ReturnType<typeof retentionStep>]>([
    [1000, 1000, 'keep'],
    [-1, 0, 'keep'],
    [1000, 2000, 'lengthen'],
    [1000, 0, 'lengthen'],
    [2000, 1000, 'refuse'],
    [-1, 1000, 'refuse'],
  ])('of %i ms when %i ms are planned: %s', (found, planned, step) => {
    expect(retentionStep(found, planned)).toBe(step);
  });

  it('is that of events.raw for events.verdicts: a replay takes its verdicts from there', () => {
    const of = (topic: string) => TOPICS.find((one) => one.topic === topic)?.retention;
    expect(of(TOPIC.verdicts)).toBe(of(TOPIC.raw));
    const plans = plannedTopics({
      EVENTS_PARTITIONS: 4,
      RAW_RETENTION: 5,
      NORMALISED_RETENTION: 9,
    });
    expect(plans.find(({ topic }) => topic === TOPIC.verdicts)?.retention).toBe(5);
  });
});
