import { describe, expect, it } from 'vitest';
import { commandText, parseReplayLine } from './request.ts';

const words = (line: string) => line.split(' ').filter((word) => word !== '');

describe('the command line of ./ravand replay', () => {
  it('is parsed into a request', () => {
    expect(
      parseReplayLine(
        words(
          '--topic events.raw --offsets 1:10-20 --offsets 0:5-5 --account 7 --event x --into v2 --dry-run --rate 100 --json',
        ),
      ),
    ).toEqual({
      request: {
        topic: 'events.raw',
        from: undefined,
        to: undefined,
        offsets: [
          { partition: 1, first: 10, last: 20 },
          { partition: 0, first: 5, last: 5 },
        ],
        account: 7,
        event: 'x',
        into: 'v2',
      },
      ...{ into: 'v2', dryRun: true, rate: 100, json: true },
    });
    expect(
      parseReplayLine(
        words('--topic events.normalised --from 2026-11-20 --to 2026-11-20T08:30:00+03:30'),
      ).request,
    ).toMatchObject({
      from: Date.UTC(2026, 10, 20),
      to: Date.UTC(2026, 10, 20, 5),
    });
    expect(parseReplayLine(['--cancel']).request).toBeUndefined();
  });

  it.each([
    ['', /--topic/],
    ['--topic events.verdicts', /one of events.raw/],
    ['--topic events.dead', /dlq redrive GROUP brings them back/],
    ['--topic events.raw --offsets 1:9-3', /PARTITION:FIRST-LAST/],
    ['--topic events.raw --offsets 1:1-3 --offsets 1:5-6', /twice/],
    ['--topic events.raw --offsets 1:1-3 --from 2026-01-01', /exclude each other/],
    ['--topic events.raw --from yesterday', /--from yesterday/],
    ['--topic events.raw --from 2026-01-02 --to 2026-01-01', /not before/],
    ['--topic events.raw --into a-b', /--into/],
    ['--topic events.raw --into x_local', /--into/],
    ['--topic events.raw --rate 0', /--rate/],
    ['--topic events.raw --account x', /--account/],
  ])('is refused when it is %j', (line, problem) => {
    expect(() => parseReplayLine(words(line))).toThrow(problem);
  });

  it('has one canonical form per request, without rate and output format', () => {
    const one = parseReplayLine(
      words('--topic events.raw --offsets 1:1-2 --offsets 0:3-4 --rate 5'),
    ).request;
    const other = parseReplayLine(
      words('--json --offsets 0:3-4 --offsets 1:1-2 --topic events.raw'),
    ).request;
    expect(one && commandText(one)).toBe(
      'replay --topic events.raw --offsets 0:3-4 --offsets 1:1-2',
    );
    expect(other && commandText(other)).toBe(one && commandText(one));
  });
});
