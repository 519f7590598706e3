import { describe, expect, it } from 'vitest';
import { lostConnections } from './lost-connections.ts';

/** The part of librdkafka's statistics that is read. */
const statistics = (...disconnects: (number | undefined)[]) =>
  JSON.stringify({
    name: 'ravand-normaliser#consumer-1',
    brokers: Object.fromEntries(
      disconnects.map((lost, id) => [`127.0.0.1:9092/${id}`, { nodeid: id, disconnects: lost }]),
    ),
  });

function suspicionsOf(...series: string[]): number[] {
  let suspicions = 0;
  const read = lostConnections(() => suspicions++);
  return series.map((text) => {
    read(text);
    return suspicions;
  });
}

describe('lost connections in statistics', () => {
  it('are noticed once each', () => {
    const series = [statistics(0, 0), statistics(0, 1), statistics(0, 1), statistics(0, 3)];
    expect(suspicionsOf(...series)).toEqual([0, 1, 1, 2]);
  });

  it('are noticed when they came before the first statistics', () => {
    expect(suspicionsOf(statistics(1))).toEqual([1]);
  });

  it('are those of all brokers, also of new ones', () => {
    expect(suspicionsOf(statistics(2), statistics(2, 1), statistics(2, 1))).toEqual([1, 2, 2]);
  });

  it('are none where nothing is counted', () => {
    expect(suspicionsOf('{}', statistics(undefined))).toEqual([0, 0]);
  });
});
