import { Agent } from 'node:http';
import { fuzzInput } from './bodies.ts';
import { SeededRandom } from './seeded-random.ts';
import { exchange, rawExchange, type Exchange, type Target } from './exchange.ts';
import { rawInput, slowInputs } from './raw-inputs.ts';

interface FuzzOptions {
  target: Target;
  seed: number;
  inputs: number;
  /** Requests under way at once. */
  connections: number;
}

/**
 * What a request may have left behind, by its trace: rows if it was answered 200, none if it was
 * refused, either when nobody answered.
 */
export interface FuzzOutcome {
  /** Events that were accepted and were no duplicates. */
  accepted: Map<string, number>;
  refused: Set<string>;
  /**
   * Of requests whose answer may have been missed: those on connections of their own, and those
   * that nobody answered.
   */
  unsure: Set<string>;
  statuses: Map<number, number>;
  kinds: Map<string, number>;
  /** Answers of 500 and more, but 503 to a slow body, with the kind of input that got them. */
  faults: string[];
}

/** One input in this many goes as bytes onto a connection of its own. */
const RAW_EVERY = 25;

/** Sends inputs that depend on the seed alone, and says what was answered. */
export async function fuzz({
  target,
  seed,
  inputs,
  connections,
}: FuzzOptions): Promise<FuzzOutcome> {
  const outcome: FuzzOutcome = {
    accepted: new Map(),
    refused: new Set(),
    unsure: new Set(),
    statuses: new Map(),
    kinds: new Map(),
    faults: [],
  };
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const note = (kind: string, answers: readonly Exchange[]) => {
    outcome.kinds.set(kind, (outcome.kinds.get(kind) ?? 0) + 1);
    for (const answer of answers) noteAnswer(outcome, kind, answer);
  };
  /** Traces of a connection's own requests. */
  const traces = (random: SeededRandom) => () => {
    const trace = random.hex(16);
    outcome.unsure.add(trace);
    return trace;
  };
  const sendEvery = async (first: number) => {
    for (let index = first; index < inputs; index += connections) {
      const random = new SeededRandom(seed * 1_000_000 + index);
      if (index % RAW_EVERY === 0) {
        const input = rawInput({ random, writeKey: target.writeKey, trace: traces(random) });
        note(input.kind, await rawExchange(target, input));
      } else {
        const { kind, ...input } = fuzzInput(random);
        note(kind, [await exchange(target, agent, { ...input, trace: random.hex(16) })]);
      }
    }
  };
  const random = new SeededRandom(seed);
  const slow = slowInputs({ random, writeKey: target.writeKey, trace: traces(random) });
  await Promise.all([
    ...Array.from({ length: connections }, (_, number) => sendEvery(number)),
    ...slow.map(async (input) => note(input.kind, await rawExchange(target, input))),
  ]);
  agent.destroy();
  return outcome;
}

function noteAnswer(
  { accepted, refused, unsure, statuses, faults }: FuzzOutcome,
  kind: string,
  { trace, status, body }: Exchange,
): void {
  statuses.set(status ?? 0, (statuses.get(status ?? 0) ?? 0) + 1);
  if (status === undefined) return void unsure.add(trace);
  if (status >= 500 && !(status === 503 && kind === 'raw: slow'))
    faults.push(`${kind}: ${status} ${body}`);
  if (status !== 200) return void refused.add(trace);
  const answer = JSON.parse(body) as { accepted?: number; duplicates?: number };
  accepted.set(trace, (answer.accepted ?? 0) - (answer.duplicates ?? 0));
}
