import { describe, expect, it } from 'vitest';
import { startable, stopLevels } from './order.ts';

const nodes = [
  { name: 'kafka', needs: [] },
  { name: 'redis', needs: [] },
  { name: 'topics', needs: ['kafka'] },
  { name: 'gateway', needs: ['topics', 'redis'] },
];

describe('the order of a start', () => {
  it('begins everything in parallel that needs nothing', () => {
    expect(startable(nodes, new Set(), new Set())).toEqual(['kafka', 'redis']);
  });

  it('begins the next as soon as its needs are done, and nothing twice', () => {
    expect(startable(nodes, new Set(['kafka', 'redis']), new Set(['kafka']))).toEqual(['topics']);
    expect(
      startable(nodes, new Set(['kafka', 'redis', 'topics']), new Set(['kafka', 'topics'])),
    ).toEqual([]);
    expect(
      startable(
        nodes,
        new Set(['kafka', 'redis', 'topics']),
        new Set(['kafka', 'topics', 'redis']),
      ),
    ).toEqual(['gateway']);
  });

  it('stops what others need last', () => {
    expect(stopLevels(nodes)).toEqual([['gateway'], ['redis', 'topics'], ['kafka']]);
  });

  it('names the members of a dependency cycle', () => {
    const circle = [
      { name: 'a', needs: ['b'] },
      { name: 'b', needs: ['a'] },
    ];
    expect(() => stopLevels(circle)).toThrow('a, b');
  });
});
