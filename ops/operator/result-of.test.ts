import { describe, expect, it } from 'vitest';
import { operationEnd, type CommandEnd } from './result-of.ts';

const end = (change: Partial<CommandEnd>): CommandEnd => ({
  ...{ code: 0, stdout: '', stderr: '', isStopped: false, ...change },
});

describe('the end of a command', () => {
  it('is its last line as JSON, also when it exits with 1 because it found something', () => {
    const found = operationEnd(
      'dead_letters.redrive',
      end({ code: 1, stdout: 'waiting\n{"events":3,"uncertain":1}\n' }),
    );
    expect(found).toEqual({
      ...{ state: 'succeeded', result: { events: 3, uncertain: 1 }, error: '' },
    });
  });

  it('is the last sentence of its errors when it printed no JSON', () => {
    const failed = operationEnd(
      'projection.rebuild',
      end({ code: 1, stderr: 'first\nanother process took this job over\n' }),
    );
    expect(failed).toMatchObject({
      ...{ state: 'failed', error: 'another process took this job over' },
    });
  });

  it('keeps nothing about a person but counts, also of a failure', () => {
    const stdout = JSON.stringify({
      ...{ dry_run: true, known: true, names: ['sara', 'b-1'], beside: [], events: 12 },
    });
    const dry = operationEnd('person.erase', end({ stdout }));
    expect(dry.result).toEqual({ known: true, events: 12, names: 2, beside: 0 });
    const failed = operationEnd(
      'person.erase',
      end({ code: 1, stderr: 'account 7 holds no event of sara' }),
    );
    expect(JSON.stringify(failed)).not.toContain('sara');
  });

  it('keeps nothing about a person of a command that was asked to stop, either', () => {
    const stdout = JSON.stringify({ dry_run: true, known: false, names: ['sara'], events: 0 });
    const stopped = operationEnd('person.erase', end({ code: 1, stdout, isStopped: true }));
    expect(stopped).toMatchObject({ state: 'stopped', result: { known: false, names: 1 } });
  });

  it('of an unexpected error is its sentence, without stack, passwords and addresses', () => {
    const stderr =
      'Error: postgres://ravand:secret@db:5432 refused 10.0.0.3:9092\n    at connect (file:///app/x.ts:1:2)\n';
    const { error } = operationEnd('log.replay', end({ code: 1, stderr }));
    expect(error).toMatch(/^Error: postgres:\/\/ravand:\S+@db:5432 refused …$/);
    expect(error).not.toContain('secret');
  });

  it('is stopped when it was asked to stop', () => {
    const stopped = operationEnd('log.replay', end({ code: 1, isStopped: true }));
    expect(stopped).toEqual({ state: 'stopped', result: undefined, error: '' });
  });
});
