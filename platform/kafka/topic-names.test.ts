import { afterEach, describe, expect, it } from 'vitest';
import {
  exactTopic,
  formerTopic,
  logicalTopic,
  physicalTopic,
  readTopicNamesFrom,
  topicNamesKnown,
  withLogicalTopics,
} from './topic-names.ts';

const NO_NAMES = { topics: {}, former: {} };

describe('the names of topics', () => {
  afterEach(async () => {
    readTopicNamesFrom(() => Promise.resolve(NO_NAMES));
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
    readTopicNamesFrom(() =>
      Promise.resolve({
        topics: { 'events.raw': 'events.raw.2' },
        former: { 'events.raw': 'events.raw' },
      }),
    );
    await topicNamesKnown();
    expect(physicalTopic('events.raw')).toBe('events.raw.2');
    expect(physicalTopic('events.dead')).toBe('events.dead');
    expect(physicalTopic(exactTopic('events.raw'))).toBe('events.raw');
    expect([formerTopic('events.raw'), formerTopic('events.dead')]).toEqual([
      'events.raw',
      undefined,
    ]);
    expect(withLogicalTopics([{ topic: 'events.raw.2' }, { topic: 'events.dead' }])).toEqual([
      { topic: 'events.raw' },
      { topic: 'events.dead' },
    ]);
  });

  it('are read once, and again after a failure', async () => {
    let reads = 0;
    readTopicNamesFrom(() => {
      reads++;
      return reads === 1
        ? Promise.reject(new Error('unavailable'))
        : Promise.resolve({ ...NO_NAMES, topics: { a: 'b' } });
    });
    await expect(topicNamesKnown()).rejects.toThrow('unavailable');
    await topicNamesKnown();
    await topicNamesKnown();
    expect([reads, physicalTopic('a')]).toEqual([2, 'b']);
  });
});
