import fc from 'fast-check';
import { expect, it } from 'vitest';
import { answerFunnel, type FunnelAnswer } from '../answer.ts';
import { parseFunnel, type FunnelRequest } from '../request.ts';
import { funnelModel } from '../testing/model.ts';
import type { Dataset } from '../../testing/dataset.ts';
import { computeRows } from './compute-rows.ts';
import { funnelCases } from './testing/cases.ts';
import { eventsOf } from './testing/events-of.ts';

const RUNS = 3000;

function requestOf(body: object): FunnelRequest {
  const parsed = parseFunnel(body);
  if (!parsed.ok) throw new Error(`${parsed.problem.message}: ${JSON.stringify(body)}`);
  return parsed.request;
}

function computed(dataset: Dataset, request: FunnelRequest): Omit<FunnelAnswer, 'meta'> {
  const rows = computeRows(request, eventsOf(dataset, request));
  const measured = { freshUntil: 0, rowsRead: 0, elapsedMs: 0 };
  const answer: Partial<FunnelAnswer> = answerFunnel({ request, rows, measured });
  delete answer.meta;
  return answer as Omit<FunnelAnswer, 'meta'>;
}

for (const order of ['ordered', 'strict', 'any'] as const)
  it(`a funnel computed from its events is that of the model, order ${order}`, () => {
    const reached: number[] = [];
    fc.assert(
      fc.property(funnelCases(order), ({ body, dataset }) => {
        const request = requestOf(body);
        const expected = funnelModel(dataset, request);
        reached.push(expected.steps.findLastIndex(({ count }) => count > 0));
        expect(computed(dataset, request)).toEqual(expected);
      }),
      { numRuns: RUNS },
    );
    // the cases say something: many people get to a second step, some to a third
    expect(reached.filter((step) => step >= 1).length).toBeGreaterThan(RUNS / 10);
    expect(reached.filter((step) => step >= 2).length).toBeGreaterThan(RUNS / 100);
  });
