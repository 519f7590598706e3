import { describe, expect, it } from 'vitest';
import { parseRebuildLine } from './request.ts';

describe('the command line of ./ravand rebuild', () => {
  it('fills events_rebuilt from events.raw by default', () => {
    expect(parseRebuildLine(['events'])).toEqual({
      ...{
        projection: 'events',
        suffix: 'rebuilt',
        source: 'raw',
        compare: false,
        swap: false,
        cancel: false,
        undo: false,
        maxDiffering: 0,
        acceptGaps: false,
        json: false,
      },
    });
    expect(
      parseRebuildLine(['profiles', '--into', 'b', '--source', 'normalised', '--swap']),
    ).toMatchObject({
      ...{ projection: 'profiles', suffix: 'b', source: 'normalised', swap: true },
    });
  });

  it.each([
    [['people'], 'there is no projection "people"'],
    [['events', '--source', 'dead'], 'raw or normalised'],
    [['quality', '--source', 'raw'], 'ingest.outcomes'],
    [['events', '--cancel', '--swap'], '--cancel'],
    [['events', '--cancel', '--source', 'raw'], '--cancel'],
    [['events', '--undo', '--into', 'x'], '--undo exchanges'],
    [['events', '--swap', '--max-differing', '3'], 'beside --compare and --swap'],
    [['events', '--swap', '--compare', '--max-differing', 'x'], 'a whole number'],
    [['events', '--into', 'former_3'], 'not beginning with former_'],
  ])('refuses %j', (args, message) => {
    expect(() => parseRebuildLine(args)).toThrow(message);
  });
});
