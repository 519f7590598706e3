import type { ServiceState } from './decide.ts';
import type { ServiceView } from './service-runner.ts';

/** One word for a person who reads the status. */
export function describeState({ state, answers }: Pick<ServiceView, 'state' | 'answers'>): string {
  switch (state.now.phase) {
    case 'out':
      return 'stopped';
    case 'starting':
      return state.restarts > 0 ? 'restarting' : 'starting';
    case 'up':
      return answers ? 'running' : 'not answering';
    case 'resting':
      return 'restarting';
    case 'stopping':
      return 'stopping';
  }
}

/** A line for those who watch, or undefined when the change is of no interest to them. */
export function describeChange(
  { name, state }: Pick<ServiceView, 'name' | 'state'>,
  before: ServiceState,
): string | undefined {
  const { now } = state;
  if (now.phase === before.now.phase) return undefined;
  switch (now.phase) {
    case 'up': {
      const took =
        before.now.phase === 'starting'
          ? ` (${((now.since - before.now.since) / 1000).toFixed(1)} s)`
          : '';
      return `${name} is up, pid ${now.pid}${took}`;
    }
    case 'resting':
      return `${name} died (${state.lastExit ?? 'unknown'}); starting it again`;
    case 'out':
      return `${name} is stopped`;
    case 'starting':
    case 'stopping':
      return undefined;
  }
}
