import { afterEach, describe, expect, it } from 'vitest';
import {
  logicalTopic,
  physicalTopic,
  readTopicNamesFrom,
  topicNamesKnown,
  withLogicalTopics,
} from './topic-names.ts';

describe('the names of topics', () => {
  afterEach(async () => {
    readTopicNamesFrom(() => Promise.resolve({}));
    await topicNamesKnown();
  });

  it('are the logical ones where nothing was recorded', async () => {
    await topicNamesKnown();
    expect([physicalTopic('events.raw'), logicalTopic('events.raw')]).toEqual([
      'events.raw',
      'events.raw',
    ]);
  });

  it('are translated both ways once they are known, and records have the logical ones', async () => {
    readTopicNamesFrom(() => Promise.resolve({ 'events.raw': 'events.raw.2' }));
    await topicNamesKnown();
    expect(physicalTopic('events.raw')).toBe('events.raw.2');
    expect(physicalTopic('events.dead')).toBe('events.dead');
    expect(withLogicalTopics([{ topic: 'events.raw.2' }, { topic: 'events.dead' }])).toEqual([
      { topic: 'events.raw' },
      { topic: 'events.dead' },
    ]);
  });

  it('are read once, and again after a failure', async () => {
    let reads = 0;
    readTopicNamesFrom(() => {
      reads++;
      return reads === 1 ? Promise.reject(new Error('unavailable')) : Promise.resolve({ a: 'b' });
    });
    await expect(topicNamesKnown()).rejects.toThrow('unavailable');
    await topicNamesKnown();
    await topicNamesKnown();
    expect([reads, physicalTopic('a')]).toEqual([2, 'b']);
  });
});
