import { rmSync } from 'node:fs';
import type { Home } from '../../../cli/stack/home.ts';
import { writeJsonFile } from '../../../cli/json-file.ts';
import type { Service, Step } from '../services/service.ts';
import { identify, type ProcessIdentity } from '../../../cli/stack/process-identity.ts';
import { describeChange, describeState } from './describe.ts';
import { lastLines, logFile } from './log-file.ts';
import { startable, stopLevels } from './order.ts';
import { createServiceRunner, type ServiceRunner, type ServiceView } from './service-runner.ts';
import type { ServiceStatus, StackEvent } from '../../../cli/stack/control-protocol.ts';
import { runStep, STEP_LOG } from './step.ts';

/** A start fails after so many exits in a row. */
const MAX_START_FAILURES = 3;
const MAX_EVENTS = 200;
const FAILURE_LINES = 25;
/** Beyond a service's own stop timeout, ms. */
const STOP_SLACK_MS = 5000;

export interface Supervisor {
  /** Starts everything in order. Resolves when all is ready; rejects with StartFailed. */
  bringUp(): Promise<void>;
  bringDown(): Promise<void>;
  status(): Promise<ServiceStatus[]>;
  /** Resolves with a sentence when the service is up; rejects when it does not start in time. */
  startService(name: string): Promise<string>;
  stopService(name: string): Promise<string>;
  emit(event: StackEvent): void;
  /** Emits past events, then new ones. Returns the function that unsubscribes. */
  watch(listener: (event: StackEvent) => void): () => void;
}

export class StartFailed extends Error {
  readonly lines: string[];
  constructor(message: string, lines: string[]) {
    super(message);
    this.lines = lines;
  }
}

interface Options {
  home: Home;
  services: readonly Service[];
  steps: readonly Step[];
  env: NodeJS.ProcessEnv;
  cwd: string;
  /** Called when everything is ready, before the event is emitted. */
  onReady: () => void;
}

export function createSupervisor({
  home,
  services,
  steps,
  env,
  cwd,
  onReady,
}: Options): Supervisor {
  const events: StackEvent[] = [];
  const listeners = new Set<(event: StackEvent) => void>();
  const changed = new Set<() => void>();
  const aborting = new AbortController();
  const nodes = [...services, ...steps];

  const emit = (event: StackEvent) => {
    events.push(event);
    if (events.length > MAX_EVENTS) events.shift();
    console.log(`${new Date().toISOString()} ${'text' in event ? event.text : event.event}`);
    for (const listener of listeners) listener(event);
  };

  const runners = new Map<string, ServiceRunner>();
  const record = () => {
    const processes: Record<string, ProcessIdentity> = {};
    for (const [name, runner] of runners) {
      const { pid } = runner.view();
      const identity = pid === undefined ? undefined : identify(pid);
      if (identity) processes[name] = identity;
    }
    writeJsonFile(home.processesFile, processes);
  };
  for (const service of services) {
    const onChange = (view: ServiceView, before: ServiceView['state']) => {
      if (
        'pid' in before.now !== 'pid' in view.state.now ||
        ('pid' in view.state.now && 'pid' in before.now && view.state.now.pid !== before.now.pid)
      )
        record();
      const text = describeChange(view, before);
      if (text !== undefined) emit({ event: 'progress', text });
      for (const listener of [...changed]) listener();
    };
    runners.set(
      service.name,
      createServiceRunner({ service, logs: home.logs, env, cwd, onChange }),
    );
  }

  const runnerOf = (name: string): ServiceRunner => {
    const runner = runners.get(name);
    if (runner === undefined)
      throw new Error(
        `there is no service ${JSON.stringify(name)}; the services are ${[...runners.keys()].join(', ')}`,
      );
    return runner;
  };

  /** Waits until a condition over the services holds; it is checked after each change. */
  const until = async (condition: () => boolean, ms: number): Promise<boolean> => {
    if (condition()) return true;
    return await new Promise((resolve) => {
      const end = (held: boolean) => {
        clearTimeout(timer);
        changed.delete(check);
        resolve(held);
      };
      const check = () => {
        if (condition()) end(true);
      };
      const timer = setTimeout(() => end(condition()), ms);
      changed.add(check);
    });
  };

  const isUp = (runner: ServiceRunner) => runner.view().answers;

  const awaitUp = async (runner: ServiceRunner): Promise<void> => {
    const { name, launch, startMs } = runner.service;
    const failedToStart = () => runner.view().state.failures >= MAX_START_FAILURES;
    const stopped = () => launch !== undefined && !runner.view().state.wanted;
    await until(() => isUp(runner) || failedToStart() || stopped(), startMs);
    if (isUp(runner)) return;
    if (launch === undefined)
      throw new StartFailed(
        `${name} at ${runner.service.address} does not answer: start it, or correct or unset ${runner.service.setting ?? 'its setting'}`,
        [],
      );
    if (stopped()) throw new StartFailed(`${name} was stopped while it started`, []);
    const why = failedToStart()
      ? `exited ${MAX_START_FAILURES} times while it started (${runner.view().state.lastExit ?? ''})`
      : `did not answer within ${startMs / 1000} s`;
    throw new StartFailed(
      `${name} ${why}; its log: ./ravand logs ${name}`,
      lastLines(logFile(home.logs, name), FAILURE_LINES),
    );
  };

  const startRunner = async (runner: ServiceRunner): Promise<void> => {
    await runner.service.launch?.prepare?.();
    runner.request('start-requested');
    await awaitUp(runner);
  };

  const runSetupStep = async (step: Step): Promise<void> => {
    const began = Date.now();
    try {
      await runStep({ step, logs: home.logs, env, cwd, signal: aborting.signal });
    } catch (error) {
      const message = `${step.title} failed (${(error as Error).message}); its log: ./ravand logs ${STEP_LOG}`;
      throw new StartFailed(message, lastLines(logFile(home.logs, STEP_LOG), FAILURE_LINES));
    }
    emit({ event: 'progress', text: `${step.title}: done (${seconds(Date.now() - began)})` });
  };

  const bringUp = async (): Promise<void> => {
    const begun = new Set<string>();
    const done = new Set<string>();
    const advance = async (): Promise<void> => {
      const names = startable(nodes, begun, done);
      for (const name of names) begun.add(name);
      await Promise.all(
        names.map(async (name) => {
          const step = steps.find((one) => one.name === name);
          await (step ? runSetupStep(step) : startRunner(runnerOf(name)));
          if (aborting.signal.aborted) throw new StartFailed('the start was interrupted', []);
          done.add(name);
          await advance();
        }),
      );
    };
    await advance();
    onReady();
    emit({ event: 'ready' });
  };

  const stopRunner = async (runner: ServiceRunner): Promise<void> => {
    runner.request('stop-requested');
    const out = await until(
      () => runner.view().state.now.phase === 'stopped',
      runner.service.stopMs + STOP_SLACK_MS,
    );
    if (!out)
      throw new Error(
        `${runner.service.name} (pid ${runner.view().pid ?? 'unknown'}) does not end, not even after SIGKILL`,
      );
  };

  const bringDown = async (): Promise<void> => {
    aborting.abort();
    rmSync(home.readyFile, { force: true });
    for (const level of stopLevels(nodes)) {
      const own = level
        .map((name) => runners.get(name))
        .filter((runner) => runner?.service.launch !== undefined);
      await Promise.allSettled(own.map(async (runner) => runner && (await stopRunner(runner))));
    }
    for (const runner of runners.values()) runner.dispose();
    emit({ event: 'down' });
  };

  const ownRunner = (name: string): ServiceRunner => {
    const runner = runnerOf(name);
    if (runner.service.launch === undefined) {
      throw new Error(
        `${name} at ${runner.service.address} is an external server: this stack neither starts nor stops it`,
      );
    }
    return runner;
  };

  return {
    bringUp,
    bringDown,
    status: async () => {
      await Promise.all([...runners.values()].map(async (runner) => await runner.check()));
      return [...runners.values()].map((runner) => statusOf(runner));
    },
    startService: async (name) => {
      const runner = ownRunner(name);
      if (isUp(runner) && (await runner.check()))
        return `${name} is up already (pid ${runner.view().pid ?? 'unknown'})`;
      await startRunner(runner);
      return `${name} is up (pid ${runner.view().pid ?? 'unknown'})`;
    },
    stopService: async (name) => {
      const runner = ownRunner(name);
      if (runner.view().state.now.phase === 'stopped') return `${name} is stopped already`;
      await stopRunner(runner);
      return `${name} is stopped until ./ravand start ${name}`;
    },
    emit: emit,
    watch: (listener) => {
      for (const event of events) listener(event);
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

function statusOf(runner: ServiceRunner): ServiceStatus {
  const view = runner.view();
  return {
    name: view.name,
    pid: view.pid ?? null,
    up: view.answers,
    address: runner.service.address,
    admin_url: runner.service.adminUrl ?? null,
    restarts: view.state.restarts,
    state: runner.service.launch === undefined ? 'external' : describeState(view),
  };
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
