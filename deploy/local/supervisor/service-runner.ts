import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync } from 'node:fs';
import type { Service } from '../services/service.ts';
import { setNice } from '../services/nice.ts';
import {
  decide,
  initialState,
  type ServiceAction,
  type ServiceEvent,
  type ServiceState,
  type Policy,
} from './decide.ts';
import { note, openLog, rotateIfLarge } from './log-file.ts';
import { probe } from './probe.ts';

const POLICY: Omit<Policy, 'stopMs'> = {
  restartMs: 100,
  capAfterUpMs: 800,
  capMs: 15_000,
  stableMs: 5000,
};
const STARTING_PROBE_MS = 100;
/** Of a service that answers: when it exits, that is noticed at once. */
const UP_PROBE_MS = 30_000;
const SILENT_PROBE_MS = 5000;
const PROBE_TIMEOUT_MS = 1500;
const ROTATE_MS = 15_000;

export interface ServiceView {
  name: string;
  state: ServiceState;
  pid: number | undefined;
  /** The last probe succeeded. */
  answers: boolean;
}

export interface ServiceRunner {
  service: Service;
  view(): ServiceView;
  request(what: 'start-requested' | 'stop-requested'): void;
  /** Probes now; returns whether the service is up. */
  check(): Promise<boolean>;
  /** Stops the probes; the process keeps running. */
  dispose(): void;
}

interface Options {
  service: Service;
  logs: string;
  env: NodeJS.ProcessEnv;
  cwd: string;
  onChange: (view: ServiceView, before: ServiceState) => void;
}

/** Runs one service: performs the actions of decide() and feeds it what happened. */
export function createServiceRunner({ service, logs, env, cwd, onChange }: Options): ServiceRunner {
  const policy: Policy = { ...POLICY, stopMs: service.stopMs };
  let state: ServiceState = initialState;
  let child: ChildProcess | undefined;
  let answers = false;
  let eventTimer: NodeJS.Timeout | undefined;
  let probeTimer: NodeJS.Timeout | undefined;
  let probing: Promise<{ pid: number | undefined; answered: boolean }> | undefined;

  const view = (): ServiceView => ({
    name: service.name,
    state,
    pid: 'pid' in state.now ? state.now.pid : undefined,
    answers,
  });

  const dispatch = (event: ServiceEvent): void => {
    const before = state;
    const decision = decide({ state, event, at: Date.now(), policy });
    state = decision.state;
    if (state.now.phase !== 'up') answers = false;
    for (const action of decision.actions) perform(action);
    if (state !== before) onChange(view(), before);
    if (before.now.phase !== state.now.phase) scheduleProbe();
  };

  const perform = (action: ServiceAction): void => {
    switch (action.do) {
      case 'spawn':
        start();
        return;
      case 'signal':
        child?.kill(action.signal);
        return;
      case 'set-timer':
        clearTimeout(eventTimer);
        eventTimer = setTimeout(
          () => dispatch({ type: 'timer' }),
          Math.max(0, action.at - Date.now()),
        );
    }
  };

  const start = (): void => {
    const { launch } = service;
    if (launch === undefined) return;
    const log = openLog(logs, service.name);
    const started = spawn(launch.command, launch.args, {
      cwd,
      env: { ...env, ...launch.env },
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    child = started;
    let over = false;
    const ended = (reason: string) => {
      if (over) return;
      over = true;
      note(
        logs,
        service.name,
        `${service.name} ${started.pid === undefined ? '' : `(pid ${started.pid}) `}ended: ${reason}`,
      );
      dispatch({ type: 'exited', reason, jitter: Math.random() });
    };
    started.on('error', (error) => {
      if (started.pid === undefined) ended(error.message);
    });
    started.on('exit', (code, signal) => ended(signal ?? `exit code ${code ?? 'unknown'}`));
    if (started.pid !== undefined) {
      // Before it starts threads: they inherit it.
      setNice(started.pid, launch.nice);
      note(logs, service.name, `${service.name} started as pid ${started.pid}`);
      dispatch({ type: 'spawned', pid: started.pid });
    }
  };

  const probeOnce = async () => {
    const { pid } = view();
    return { pid, answered: await probe(service.readiness, PROBE_TIMEOUT_MS) };
  };

  const check = async (): Promise<boolean> => {
    probing ??= probeOnce().finally(() => (probing = undefined));
    const { pid, answered } = await probing;
    // An answer of the previous process does not count.
    const current =
      service.launch === undefined ||
      (pid !== undefined && pid === view().pid && state.now.phase !== 'stopping');
    const up = answered && current;
    if (up && service.launch !== undefined) dispatch({ type: 'answered' });
    if (up !== answers) {
      answers = up;
      onChange(view(), state);
    }
    return up;
  };

  const scheduleProbe = (): void => {
    clearTimeout(probeTimer);
    const { phase } = state.now;
    if (service.launch !== undefined && phase !== 'starting' && phase !== 'up') return;
    const isStarting = service.launch !== undefined && phase === 'starting';
    const pause = isStarting ? STARTING_PROBE_MS : answers ? UP_PROBE_MS : SILENT_PROBE_MS;
    probeTimer = setTimeout(() => void check().finally(scheduleProbe), pause);
  };

  const rotateTimer = setInterval(() => rotateIfLarge(logs, service.name), ROTATE_MS);
  if (service.launch === undefined) void check().finally(scheduleProbe);

  return {
    service: service,
    view,
    request: (what) => dispatch({ type: what }),
    check,
    dispose: () => {
      clearTimeout(eventTimer);
      clearTimeout(probeTimer);
      clearInterval(rotateTimer);
    },
  };
}
