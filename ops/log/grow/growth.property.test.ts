import fc from 'fast-check';
import { expect, it } from 'vitest';
import { GrowthModel } from './testing/growth-model.ts';

const GATEWAYS = 2;
/** Hashes of people that nearly every growth moves. */
const PEOPLE = [4, 5, 7];

type Step =
  | { do: 'accept'; gateway: number; hash: number }
  | { do: 'append' | 'spool' | 'poll' | 'work' | 'freeze' | 'restart'; gateway: number }
  | { do: 'normalise' | 'commit' | 'fold'; partition: number }
  | { do: 'command' | 'cancel' | 'killNormaliser' }
  | { do: 'grow'; by: number }
  /** From now on one gateway, and one partition of each reader, take no step; -1: none. */
  | ({ do: 'slow' } & Slow)
  /** Everybody else takes one. */
  | { do: 'round' };

interface Slow {
  gateway: number;
  normaliser: number;
  fold: number;
}

const NONE_SLOW: Slow = { gateway: -1, normaliser: -1, fold: -1 };

const gateway = fc.nat(GATEWAYS - 1);
const partition = fc.nat(9);
const ofGateway = (
  what: 'append' | 'spool' | 'poll' | 'work' | 'freeze' | 'restart',
  weight: number,
) => ({
  weight,
  arbitrary: fc.record({ do: fc.constant(what), gateway }),
});
const ofPartition = (what: 'normalise' | 'commit' | 'fold', weight: number) => ({
  weight,
  arbitrary: fc.record({ do: fc.constant(what), partition }),
});
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({ do: fc.constant('accept'), gateway, hash: fc.constantFrom(...PEOPLE) }),
  },
  ofGateway('append', 3),
  ofGateway('spool', 2),
  ofGateway('poll', 2),
  ofGateway('work', 2),
  ofGateway('freeze', 4),
  ofGateway('restart', 1),
  ofPartition('normalise', 4),
  ofPartition('commit', 4),
  ofPartition('fold', 4),
  { weight: 4, arbitrary: fc.constant({ do: 'command' }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('slow'),
      gateway: fc.integer({ min: -1, max: GATEWAYS - 1 }),
      normaliser: fc.integer({ min: -1, max: 5 }),
      fold: fc.integer({ min: -1, max: 5 }),
    }),
  },
  { weight: 40, arbitrary: fc.constant({ do: 'round' }) },
  { weight: 1, arbitrary: fc.constant({ do: 'killNormaliser' }) },
  { weight: 1, arbitrary: fc.constant({ do: 'cancel' }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('grow'), by: fc.integer({ min: 1, max: 3 }) }),
  },
);

function round(model: GrowthModel, slow: Slow): void {
  model.command();
  for (const [id, each] of model.gateways.entries()) {
    if (id === slow.gateway) continue;
    model.poll(each);
    model.work(each);
    model.append(each);
  }
  for (let at = 0; at < model.raw.length; at++) {
    if (at !== slow.normaliser) {
      model.normalise(at);
      model.commit(at);
    }
    if (at !== slow.fold) model.fold(at);
  }
}

function take(model: GrowthModel, one: Exclude<Step, { do: 'slow' | 'round' }>): void {
  const of = model.gateways['gateway' in one ? one.gateway : 0];
  if (!of) return;
  switch (one.do) {
    case 'accept':
      return model.accept(of, one.hash);
    case 'append':
    case 'spool':
    case 'poll':
    case 'work':
    case 'restart':
      return model[one.do](of);
    case 'freeze':
      of.isFrozen = !of.isFrozen;
      return;
    case 'normalise':
    case 'commit':
    case 'fold':
      return model[one.do](one.partition % model.raw.length);
    case 'command':
      return model.command();
    case 'cancel':
      return model.cancel();
    case 'killNormaliser':
      return model.restartNormaliser();
    case 'grow':
      if (model.isSteady) model.target = model.layout.partitions + one.by;
  }
}

/** Everybody works until nothing is left. */
function finish(model: GrowthModel): void {
  for (const each of model.gateways) each.isFrozen = false;
  for (let rounds = 0; !model.isFinished; rounds++) {
    if (rounds > 5000) throw new Error(`it does not end: ${JSON.stringify(model.layout)}`);
    round(model, NONE_SLOW);
  }
}

it('whatever is killed, suspended or cancelled during growths, every answered event is in its profile once and in order', () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 50, maxLength: 400, size: 'max' }), (steps) => {
      const model = new GrowthModel(GATEWAYS);
      let slow = NONE_SLOW;
      for (const one of steps)
        if (one.do === 'slow') slow = one;
        else if (one.do === 'round') round(model, slow);
        else take(model, one);
      finish(model);
      const answered = new Set(model.accepted.map(({ number }) => number));
      let found = 0;
      for (const rows of model.profiles.values()) {
        for (let of = 0; of < GATEWAYS; of++) {
          const numbers = rows
            .map(({ event }) => event)
            .filter((event) => event.gateway === of)
            .map(({ number }) => number);
          expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
        }
        found += rows.filter(({ event }) => answered.has(event.number)).length;
        expect(new Set(rows.map(({ event }) => event.number)).size).toBe(rows.length);
      }
      expect(found).toBe(answered.size);
    }),
    { numRuns: Number(process.env['SIMULATION_RUNS'] ?? 300) },
  );
}, 600_000);
