import { CommandError } from '../../cli/command.ts';
import { delay } from '../../platform/backoff.ts';
import { MAX_WAITS, type OperationWait } from '../../platform/operations/operation-wait.ts';

/** Whoever asked for an erasure, and what they want to know. */
export interface Asker {
  report: (sentence: string) => void;
  /** Called when what is waited for has changed, and with nothing when the erasure goes on. */
  waits: (waits: readonly OperationWait[]) => void;
}

interface Until extends Asker {
  signal: AbortSignal;
  /** ms */
  timeout: number;
  /** How the work goes on after a timeout: the end of a sentence. */
  afterwards: string;
}

const POLL_MS = 500;

/** Waits until there is nothing to wait for. Throws CommandError when it takes too long. */
export async function until(
  { report, waits, signal, timeout, afterwards }: Until,
  waiting: () => Promise<readonly OperationWait[]>,
): Promise<void> {
  const deadline = performance.now() + timeout;
  let last = '';
  for (;;) {
    const found = await waiting();
    if (found.length === 0) break;
    const sentence = `waiting for ${found.map(sentenceOf).join('; for ')}`;
    if (sentence !== last) {
      report(sentence);
      waits(found.slice(0, MAX_WAITS));
    }
    last = sentence;
    if (performance.now() > deadline)
      throw new CommandError(`${sentence}: this takes too long. ${afterwards}`);
    await delay(POLL_MS, signal);
  }
  if (last !== '') waits([]);
}

/** Continues `waiting for`. */
export function sentenceOf(wait: OperationWait): string {
  switch (wait.key) {
    case 'spool_of_ended': {
      const { service, instance, events, seen_at } = wait;
      return `${service} ${instance}, which was last seen at ${seen_at}, to publish ${events} events of its spool: start it (or give --forget: these events then begin a new person)`;
    }
    case 'spool': {
      const { service, instance, events, reason } = wait;
      const why = reason === '' ? '' : ` (${reason})`;
      return `${service} ${instance} to publish ${events} events of its spool${why}`;
    }
    case 'spool_unknown':
      return `${wait.service} ${wait.instance} to report its spool`;
    case 'group':
      return `${wait.group} to process ${wait.records} records of ${wait.topic}`;
    case 'freezing':
      return `run ${wait.runs.join(' and ')} to be frozen`;
    case 'messages':
      return `${wait.messages} messages that are being sent`;
  }
}
