import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync } from 'node:fs';
import type { Service } from '../services/service.ts';
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
const UP_PROBE_MS = 2000;
const PROBE_TIMEOUT_MS = 1500;
const ROTATE_MS = 5000;

export interface ServiceView {
  name: string;
  state: ServiceState;
  pid: number | undefined;
  /** The last probe was answered. */
  answers: boolean;
}

export interface ServiceRunner {
  service: Service;
  view(): ServiceView;
  request(what: 'start-ordered' | 'stop-ordered'): void;
  /** Probes now; answers whether the part is up. */
  check(): Promise<boolean>;
  /** Ends watching; the process is not touched. */
  dispose(): void;
}

interface Options {
  part: Service;
  logs: string;
  env: NodeJS.ProcessEnv;
  cwd: string;
  /** Something about the part changed. */
  onChange: (view: ServiceView, before: ServiceState) => void;
}

/** Runs one part: carries out what decide() says and reports back what happened. */
export function createServiceRunner({ part, logs, env, cwd, onChange }: Options): ServiceRunner {
  const policy: Policy = { ...POLICY, stopMs: part.stopMs };
  let state: ServiceState = initialState;
  let child: ChildProcess | undefined;
  let answers = false;
  let wakeTimer: NodeJS.Timeout | undefined;
  let probeTimer: NodeJS.Timeout | undefined;
  let probing: Promise<{ pid: number | undefined; answered: boolean }> | undefined;

  const view = (): ServiceView => ({
    name: part.name,
    state,
    pid: 'pid' in state.now ? state.now.pid : undefined,
    answers,
  });

  const dispatch = (event: ServiceEvent): void => {
    const before = state;
    const decision = decide({ state, event, at: Date.now(), policy });
    state = decision.state;
    if (state.now.phase !== 'up') answers = false;
    for (const action of decision.actions) carryOut(action);
    if (state !== before) onChange(view(), before);
    if (before.now.phase !== state.now.phase) scheduleProbe();
  };

  const carryOut = (action: ServiceAction): void => {
    switch (action.do) {
      case 'spawn':
        start();
        return;
      case 'signal':
        child?.kill(action.signal);
        return;
      case 'wake':
        clearTimeout(wakeTimer);
        wakeTimer = setTimeout(
          () => dispatch({ type: 'woken' }),
          Math.max(0, action.at - Date.now()),
        );
    }
  };

  const start = (): void => {
    const { launch } = part;
    if (launch === undefined) return;
    const log = openLog(logs, part.name);
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
        part.name,
        `${part.name} ${started.pid === undefined ? '' : `(pid ${started.pid}) `}ended: ${reason}`,
      );
      dispatch({ type: 'exited', reason, jitter: Math.random() });
    };
    started.on('error', (error) => {
      if (started.pid === undefined) ended(error.message);
    });
    started.on('exit', (code, signal) => ended(signal ?? `exit code ${code ?? 'unknown'}`));
    if (started.pid !== undefined) {
      note(logs, part.name, `${part.name} started as pid ${started.pid}`);
      dispatch({ type: 'spawned', pid: started.pid });
    }
  };

  const probeOnce = async () => {
    const { pid } = view();
    return { pid, answered: await probe(part.readiness, PROBE_TIMEOUT_MS) };
  };

  const check = async (): Promise<boolean> => {
    probing ??= probeOnce().finally(() => (probing = undefined));
    const { pid, answered } = await probing;
    // An answer of the process before this one says nothing.
    const current =
      part.launch === undefined ||
      (pid !== undefined && pid === view().pid && state.now.phase !== 'stopping');
    const up = answered && current;
    if (up && part.launch !== undefined) dispatch({ type: 'answered' });
    if (up !== answers) {
      answers = up;
      onChange(view(), state);
    }
    return up;
  };

  const scheduleProbe = (): void => {
    clearTimeout(probeTimer);
    const { phase } = state.now;
    if (part.launch !== undefined && phase !== 'starting' && phase !== 'up') return;
    const pause =
      part.launch !== undefined && phase === 'starting' ? STARTING_PROBE_MS : UP_PROBE_MS;
    probeTimer = setTimeout(() => void check().finally(scheduleProbe), pause);
  };

  const rotateTimer = setInterval(() => rotateIfLarge(logs, part.name), ROTATE_MS);
  if (part.launch === undefined) void check().finally(scheduleProbe);

  return {
    service: part,
    view,
    request: (what) => dispatch({ type: what }),
    check,
    dispose: () => {
      clearTimeout(wakeTimer);
      clearTimeout(probeTimer);
      clearInterval(rotateTimer);
    },
  };
}
