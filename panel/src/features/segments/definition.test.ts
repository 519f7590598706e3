import { describe, expect, it } from 'vitest';
import { completeOf, readDefinition } from './definition.ts';

describe('the definition that a link has', () => {
  it('is read as it was written', () => {
    const definition = {
      any: [
        { trait: 'plan', op: 'eq', value: 'gold' },
        { not: { event: 'order_completed', did: true, within_days: 30 } },
        { all: [{ engagement: 'slipping' }] },
      ],
    };
    expect(readDefinition(definition)).toEqual(definition);
  });

  it('of one condition is a group of it', () => {
    expect(readDefinition({ engagement: 'new' })).toEqual({ all: [{ engagement: 'new' }] });
  });

  it.each([undefined, 7, {}, { all: [7] }])('that is none is empty: %j', (sent) => {
    expect(readDefinition(sent)).toEqual({ all: [] });
  });
});

describe('what is counted while one builds', () => {
  it('leaves out conditions that are not complete', () => {
    const definition = {
      all: [
        { event: '', did: true },
        { trait: 'plan', op: 'eq' as const },
        { attribute: 'email', op: 'is_set' as const },
        { any: [] },
      ],
    };
    expect(completeOf(definition)).toEqual({ all: [{ attribute: 'email', op: 'is_set' }] });
  });

  it('is nothing as long as nothing is complete', () => {
    expect(completeOf({ all: [{ event: '', did: true }] })).toBeUndefined();
  });
});
