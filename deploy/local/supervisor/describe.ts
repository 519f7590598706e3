import type { ServiceState } from './decide.ts';
import type { ServiceView } from './service-runner.ts';

/** The state as `./ravand status` shows it. */
export function describeState({ state, answers }: Pick<ServiceView, 'state' | 'answers'>): string {
  switch (state.now.phase) {
    case 'stopped':
      return 'stopped';
    case 'starting':
      return state.restarts > 0 ? 'restarting' : 'starting';
    case 'up':
      return answers ? 'running' : 'not answering';
    case 'backing-off':
      return 'restarting';
    case 'stopping':
      return 'stopping';
  }
}

/** The line that `up` prints for a change; undefined for changes that it does not show. */
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
    case 'backing-off':
      return `${name} exited (${state.lastExit ?? 'unknown'}); restarting it`;
    case 'stopped':
      return `${name} is stopped`;
    case 'starting':
    case 'stopping':
      return undefined;
  }
}
