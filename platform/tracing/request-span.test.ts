import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { currentSpan, inRequestSpan, inStep, type RequestToTrace } from './request-span.ts';
import { setTracing } from './spans.ts';
import { recordedTracing } from './testing/recorded-tracing.ts';

const REQUEST: RequestToTrace = {
  ...{ method: 'POST', route: '/v1/hooks/:source/:token', trace: 'cafe' },
  traceparent: 'client',
};
const STEP = { name: 'publish', kind: 'producer', attributes: {} } as const;
const statusOf = (status: number) => status;

let lines: string[];
beforeEach(() => {
  const recorded = recordedTracing();
  lines = recorded.lines;
  setTracing(recorded.tracing);
});
afterEach(() => setTracing(undefined));

describe('a sampled request', () => {
  it('is the parent of the steps that its work makes, wherever they are', async () => {
    const work = async () => {
      await Promise.resolve();
      await inStep(STEP, () => Promise.resolve());
      return 200;
    };
    expect(await inRequestSpan(REQUEST, work, statusOf)).toBe(200);
    const name = 'client POST /v1/hooks/:source/:token';
    expect(lines).toEqual([
      `begin ${name}`,
      `begin ${name} > publish`,
      `end ${name} > publish`,
      `end ${name} 200`,
    ]);
  });

  it('has no steps once it is answered', async () => {
    let later: Promise<unknown> | undefined;
    const { promise: answered, resolve: goOn } = Promise.withResolvers<undefined>();
    const work = () => {
      later = answered.then(() => inStep(STEP, () => Promise.resolve(currentSpan())));
      return Promise.resolve(200);
    };
    await inRequestSpan(REQUEST, work, statusOf);
    goOn(undefined);
    expect(await later).toBeUndefined();
    expect(lines).toHaveLength(2);
  });

  it('is an error when the service answers with its own fault, or rejects', async () => {
    await inRequestSpan(REQUEST, () => Promise.resolve(503), statusOf);
    expect(lines.at(-1)).toMatch(/ 503: it was answered with our fault$/);
    const failing = inRequestSpan(REQUEST, () => Promise.reject(new Error('gone')), statusOf);
    await expect(failing).rejects.toThrow('gone');
    expect(lines.at(-1)).toMatch(/: it failed for an unexpected reason$/);
  });

  it('is none of two requests that are served at a time but that whose work asks', async () => {
    const own = async () => {
      await Promise.resolve();
      return currentSpan()?.traceparent;
    };
    const spans = await Promise.all(
      ['a', 'bad', 'b'].map((traceparent) =>
        inRequestSpan({ ...REQUEST, traceparent }, own, () => 200),
      ),
    );
    expect(spans.map((span) => span?.slice(0, 2))).toEqual(['a ', undefined, 'b ']);
  });
});

it('a request that is not sampled, or while traces are off, makes nothing', async () => {
  const work = () => inStep(STEP, () => Promise.resolve(currentSpan()));
  expect(await inRequestSpan({ ...REQUEST, traceparent: 'bad' }, work, () => 200)).toBeUndefined();
  setTracing(undefined);
  expect(await inRequestSpan(REQUEST, work, () => 200)).toBeUndefined();
  expect(lines).toEqual([]);
});
