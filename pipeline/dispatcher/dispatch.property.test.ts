import { describe, expect, test } from 'vitest';
import { drawnRuns } from '../../platform/testing/drawn-runs.ts';
import { openAttempts } from './chunk/chunk-state.ts';
import { DispatchModel, type ModelOptions } from './testing/dispatch-model.ts';
import { seededRandom } from './testing/seeded-random.ts';

const FAULTS = 400;

async function runModel(options: ModelOptions): Promise<DispatchModel> {
  const model = new DispatchModel(options);
  model.start();
  model.start();
  const { random } = options;
  const run = model.store.runs.get(7);
  if (!run) throw new Error('there is no run');
  for (let step = 0; step < FAULTS; step++) {
    const draw = random();
    const [process] = model.processes.toSorted(() => random() - 0.5);
    if (process && draw < 0.01) {
      model.kill(process);
      model.start();
    } else if (process && draw < 0.03) process.isSuspended = !process.isSuspended;
    else if (draw < 0.04) run.isPaused = !run.isPaused;
    else if (draw < 0.043) model.revision++;
    else if (process && draw < 0.05) process.isEnding = !process.isEnding;
    else if (draw < 0.0502) run.deadlineAt = model.now;
    else if (draw < 0.051) run.isCancelled = true;
    if (!(await model.step()) || draw > 0.99) model.now += Math.round(random() * 8000);
    expect(model.store.contradictions()).toEqual([]);
  }
  model.isCalm = true;
  run.isPaused = true;
  for (const process of model.processes) {
    process.isSuspended = false;
    process.isEnding = false;
  }
  // What is under way ends in an outcome although the run stays paused.
  for (let step = 0; model.store.rows.some(({ state }) => openAttempts(state).length > 0); step++) {
    if (step > 20_000) throw new Error('attempts stay open while the run is paused');
    if (!(await model.step())) model.now += 1000;
  }
  run.isPaused = false;
  for (let step = 0; model.store.rows.some(({ isDone }) => !isDone); step++) {
    if (step > 20_000) throw new Error('the chunks do not end');
    if (!(await model.step())) model.now += 1000;
  }
  for (const process of [...model.processes]) model.kill(process);
  return model;
}

/** By message id, the sum over all revisions of the sender. */
function acceptedOf(model: DispatchModel): Map<string, number> {
  const sums = new Map<string, number>();
  for (const [key, count] of model.accepted) {
    const [id = ''] = key.split(' ');
    sums.set(id, (sums.get(id) ?? 0) + count);
  }
  return sums;
}

describe.each([
  ['a provider that takes a message as often as it is called', false],
  ['an idempotent provider', true],
])('with %s, whatever is killed, suspended or lost', (_, isIdempotent) => {
  test.each([1, 2, 3, 4])(
    'nobody is sent a message twice, and everybody has one outcome (%i)',
    async (round) => {
      for (let seed = round * 1000; seed < round * 1000 + drawnRuns(60); seed++) {
        const random = seededRandom(seed);
        const options = { random, isIdempotent, recipients: 8, chunks: 3, concurrency: 5 };
        const model = await runModel(options);
        const { outcomes } = model.store;
        const accepted = acceptedOf(model);
        const context = `seed ${seed}`;
        expect(
          [...accepted].filter(([, count]) => count > 1),
          context,
        ).toEqual([]);
        expect(new Set(outcomes.map((one) => one.message_id)).size, context).toBe(24);
        expect(outcomes.length, context).toBe(24);
        const unknown = outcomes.filter((one) => one.reason === 'outcome_unknown');
        const { openAtTakeover } = model.store;
        const open = openAtTakeover.reduce((sum, count) => sum + count, 0);
        expect(unknown.length, context).toBeLessThanOrEqual(open + model.lostAnswers);
        // No more attempts are open than the process had permits for.
        if (!isIdempotent)
          expect(Math.max(...openAtTakeover), context).toBeLessThanOrEqual(options.concurrency);
        for (const one of outcomes) {
          const isAccepted = accepted.has(one.message_id);
          // What may have been sent counts for the frequency cap.
          if (one.status === 'sent' || isAccepted)
            expect(model.store.reserved.has(one.message_id), context).toBe(true);
          if (one.status === 'sent') expect(isAccepted, context).toBe(true);
          else if (isAccepted) expect(one.reason, context).toBe('outcome_unknown');
        }
      }
    },
  );
});
