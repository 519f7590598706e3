import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { OPTIONAL, parseLine } from '../../../cli/arguments.ts';
import { CommandError, type Command } from '../../../cli/command.ts';
import { readJsonFile } from '../../../cli/json-file.ts';
import { requestSupervisor, runningSupervisor } from '../../../cli/stack/control-client.ts';
import type { StackPlan } from '../../../cli/stack/stack-plan.ts';
import { print, printError } from '../../../cli/terminal.ts';
import { SERVICE_NAMES } from '../../../schemas/topology.ts';
import type { Launch } from '../services/service.ts';
import { inheritedEnvironment } from '../process-environment.ts';
import { stackServices } from '../stack.ts';

/** Longer than any service may take to start or to end, ms. */
const SILENCE_MS = 180_000;

export const dev: Command = {
  name: 'dev',
  summary: 'runs one service of the running stack here, with node --watch and the inspector',
  usage: 'dev SERVICE [--inspect-port N]',
  run: async (args, context) => {
    const { values, words } = parseLine({
      args,
      options: { 'inspect-port': OPTIONAL },
      words: { min: 1, max: 1 },
    });
    const [name = ''] = words;
    const { home, env } = context;
    if (!SERVICE_NAMES.some((one) => one === name))
      throw new CommandError(
        `there is no service ${JSON.stringify(name)}; the services are ${SERVICE_NAMES.join(', ')}`,
        2,
      );
    const plan = readJsonFile<StackPlan>(home.planFile);
    if (plan === undefined || !runningSupervisor(home))
      throw new CommandError('no stack is running here: start it with ./ravand up');
    const launch = stackServices({ ...context, plan }).find((one) => one.name === name)?.launch;
    if (launch === undefined) throw new CommandError(`${name} is not run by this stack`);
    const order = async (command: 'stop' | 'start') => {
      const request = { command, service: name };
      const { text } = await requestSupervisor({ home, request, silence: SILENCE_MS });
      print(text);
    };

    await order('stop');
    print('node --watch restarts it after each change of its files; Ctrl-C gives it back');
    try {
      const inherited = inheritedEnvironment(env, plan);
      return await watch(launch, { env: inherited, port: values['inspect-port'] ?? '9229' });
    } finally {
      if (runningSupervisor(home)) await order('start');
      else printError(`the stack went down: ${name} was not started again`);
    }
  },
};

/** Runs the service in the foreground until a signal ends it. */
async function watch(
  { command, args, env: added }: Launch,
  { env, port }: { env: NodeJS.ProcessEnv; port: string },
): Promise<number> {
  const child = spawn(command, ['--watch', `--inspect=127.0.0.1:${port}`, ...args], {
    stdio: 'inherit',
    env: { ...env, ...added },
  });
  // Ctrl-C reaches the child too: this process continues, to start the service again.
  const forward = (signal: NodeJS.Signals) => child.kill(signal);
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.on(signal, forward);
  const [code] = (await once(child, 'exit')) as [number | null];
  for (const signal of signals) process.off(signal, forward);
  return code === 130 || code === 143 ? 0 : (code ?? 0);
}
