import { OPTIONAL, parseLine } from '../../../cli/arguments.ts';
import { UsageError, type Command, type CommandContext } from '../../../cli/command.ts';
import type { Home } from '../../../cli/stack/home.ts';
import { readReady } from '../../../cli/stack/ready.ts';
import { changedSettings } from '../../changed-settings.ts';
import { serviceSettings } from '../../service-settings.ts';
import { auditStack } from '../audit-stack.ts';
import { BROKER_COUNTS } from '../services/brokers.ts';
import { startStack } from '../start-stack.ts';
import { requestSupervisor } from '../../../cli/stack/control-client.ts';
import type { ControlReply } from '../../../cli/stack/control-protocol.ts';
import { firstServer } from '../../../platform/split-hosts.ts';
import { printError, paint, print } from '../../../cli/terminal.ts';
import { bringDown } from './down.ts';

export const up: Command = {
  name: 'up',
  summary: 'starts the whole system and prints its addresses; --detach returns once it is ready',
  usage: 'up [--detach|-d] [--brokers 1|3]',
  run: async (args, context) => {
    const { values } = parseLine({
      args,
      options: { detach: { type: 'boolean', short: 'd' }, brokers: OPTIONAL },
    });
    const { brokers } = values;
    if (brokers !== undefined && !BROKER_COUNTS.some((one) => one === brokers))
      throw new UsageError(`--brokers is ${BROKER_COUNTS.join(' or ')}, not ${brokers}`);
    const env = { ...context.env, ...(brokers ? { LOCAL_KAFKA_BROKERS: brokers } : {}) };
    return await bringUp({ ...context, env, detach: values.detach === true });
  },
};

type Outcome = 'ready' | 'failed' | 'down' | 'lost' | 'interrupted';

/** Starts the stack or joins a running start; in the foreground it stays until the end. */
export async function bringUp(
  context: CommandContext & { detach: boolean; quiet?: boolean },
): Promise<number> {
  const { home } = context;
  const began = Date.now();
  const say = (line: string) =>
    print(`${paint('dim', `${((Date.now() - began) / 1000).toFixed(1).padStart(5)} s`)}  ${line}`);
  const interrupted = listenForInterrupt();
  const how = await startStack({ ...context, say });
  const joined = how === 'running';
  if (joined) print(`the stack in ${home.dir} is already running`);

  const stay = !context.detach && !joined;
  let outcome: Outcome = 'lost';
  const onReply = (reply: ControlReply): boolean => {
    switch (reply.event) {
      case 'progress':
        if (!joined) say(reply.text);
        return false;
      case 'failed':
        outcome = 'failed';
        printError(`${paint('red', 'the start failed')}: ${reply.message}`);
        for (const line of reply.lines) printError(`  | ${line}`);
        return false;
      case 'ready':
        outcome = 'ready';
        if (!joined) recorded = recordStart().catch(() => undefined);
        if (context.quiet !== true) announce(home, stay);
        return !stay;
      case 'down':
        if (outcome === 'ready') outcome = 'down';
        return true;
      case 'status':
      case 'end':
        return false;
    }
  };
  let recorded = Promise.resolve();
  const recordStart = async () => {
    const settings = changedSettings(await serviceSettings(), context.env);
    await auditStack(home, { action: 'stack.started', details: { settings } });
  };
  const followed = requestSupervisor({
    home,
    request: { command: 'watch' },
    silence: 0,
    onReply,
  })
    .then(() => recorded)
    .then(() => outcome);
  switch (await Promise.race([followed, interrupted.promise])) {
    case 'ready':
      return 0;
    case 'down':
      print('the stack was stopped');
      return 0;
    case 'interrupted':
      print('stopping everything (Ctrl-C again: do not wait for it)');
      interrupted.again();
      followed.catch(() => undefined);
      await auditStack(home, { action: 'stack.stopped', details: {} });
      print(await bringDown(home));
      return 130;
    case 'failed':
    case 'lost':
      printError(await bringDown(home));
      return 1;
  }
}

function listenForInterrupt(): { promise: Promise<Outcome>; again: () => void } {
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  const promise = new Promise<Outcome>((resolve) => {
    for (const signal of signals) process.once(signal, () => resolve('interrupted'));
  });
  return {
    promise,
    again: () => {
      for (const signal of signals) process.once(signal, () => process.exit(130));
    },
  };
}

/** Output ends up in the logs of CI systems. */
function withoutPassword(url: string): string {
  const { protocol, host } = firstServer(url);
  return `${protocol}//${host}`;
}

function announce(home: Home, stay: boolean): void {
  const ready = readReady(home);
  if (ready === undefined) return;
  const { demo } = ready;
  print();
  print(
    `${paint('green', 'ready')}: events go to ${paint('bold', ready.ingest_url)}, reports come from ${paint('bold', ready.base_url)}`,
  );
  print(`  demo account ${demo.account_id}, write key ${demo.write_key}`);
  for (const [role, key] of Object.entries(demo.management_keys))
    print(`  management key (${role}) ${key}`);
  print(`  panel ${ready.panel_url}, sign in as ${demo.member.email} with ${demo.member.password}`);
  print(`  its messages go to the sandbox, which delivers nothing: ${ready.sandbox_url}`);
  print(
    `  ClickHouse ${withoutPassword(ready.clickhouse_url)}/?database=${ready.clickhouse_database}   all addresses: ./ravand status; passwords of the servers: ${home.readyFile}`,
  );
  print(`try:`);
  print(
    `  curl -s ${ready.ingest_url}/v1/track -H 'Authorization: Bearer ${demo.write_key}' -d '{"event":"Hello","user_id":"you"}'`,
  );
  if (stay) print(`Ctrl-C stops everything.`);
  print();
}
