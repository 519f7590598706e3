import type { Command, CommandContext } from './command.ts';
import { dev } from '../deploy/local/commands/dev.ts';
import { down } from '../deploy/local/commands/down.ts';
import { logs } from '../deploy/local/commands/logs.ts';
import { reset } from '../deploy/local/commands/reset.ts';
import { start, stop } from '../deploy/local/commands/stop-start.ts';
import { status } from '../deploy/local/commands/status.ts';
import { test } from '../deploy/local/commands/test.ts';
import { up } from '../deploy/local/commands/up.ts';
import { homeKeys } from '../deploy/local/home-keys.ts';

interface CommandModule {
  run(args: string[], context: CommandContext): Promise<number>;
}

/**
 * A command that is loaded when it runs: the clients of the servers would make every other command
 * slow to start. It gets the keys of the home in its environment.
 */
function lazy({
  load,
  ...row
}: Omit<Command, 'run'> & { load: () => Promise<CommandModule> }): Command {
  return {
    ...row,
    run: async (args, context) =>
      await (
        await load()
      ).run(args, {
        ...context,
        env: { ...context.env, ...homeKeys(context.home, context.env) },
      }),
  };
}

/** Every command of `./ravand`, in the order of its help. A new one is a row. */
export const commands: readonly Command[] = [
  up,
  down,
  reset,
  status,
  logs,
  stop,
  start,
  dev,
  test,
  lazy({
    name: 'send',
    summary: 'sends a file of events or a web access log to the ingest host',
    usage: 'send FILE [--write-key KEY] [--shift-to-now]',
    load: () => import('./send/main.ts'),
  }),
  lazy({
    name: 'demo',
    summary:
      "sends a shop's traffic and a campaign and draws them; --shop serves a shop to click in",
    usage: `demo [--people N] [--days N] [--seed N]
       ./ravand demo --shop`,
    load: () => import('./demo/main.ts'),
  }),
  lazy({
    name: 'sdk',
    summary: 'builds the packages of the SDKs, which npm installs from their files',
    usage: 'sdk [FOLDER]',
    load: () => import('./sdk/main.ts'),
  }),
  lazy({
    name: 'admin',
    summary: 'manages accounts, keys, members, links and exports; prints one JSON object',
    usage: 'admin GROUP VERB [OPTIONS]; ./ravand admin alone lists them',
    load: () => import('../ops/admin/main.ts'),
  }),
  lazy({
    name: 'lag',
    summary: 'shows how far each consumer group is behind, per topic and partition',
    usage: 'lag [--watch] [--partitions] [--json]',
    load: () => import('../ops/lag/main.ts'),
  }),
  lazy({
    name: 'dlq',
    summary:
      'dead letters by cause: list, show, redrive after a fix, discard with a reason, restore',
    usage: `dlq [list | show GROUP|LETTER] [--account ID] [--json]
       ./ravand dlq redrive GROUP [--account ID] [--limit N] [--dry-run] [--json]
       ./ravand dlq discard GROUP --reason TEXT [--account ID] [--dry-run] [--json]
       ./ravand dlq restore GROUP [--account ID] [--dry-run] [--json]`,
    load: () => import('../ops/dlq/main.ts'),
  }),
  lazy({
    name: 'why',
    summary:
      'follows one event, those of a request, or a message from the plan to the click, or says where it ended',
    usage: `why MESSAGE_ID [--account ID] [--since TIME] [--json]
       ./ravand why --trace ID [--account ID] [--since TIME] [--json]`,
    load: () => import('../ops/why/main.ts'),
  }),
  lazy({
    name: 'changes',
    summary: 'what was changed, by whom and when: accounts, keys, services, merges, replays …',
    usage: 'changes [--since TIME|AGE] [--account ID] [--json]',
    load: () => import('../ops/changes/main.ts'),
  }),
  lazy({
    name: 'quality',
    summary: 'which SDK and version sends events that are rejected, warned about or lost',
    usage: 'quality [--balances] [--since TIME|AGE] [--account ID] [--json]',
    load: () => import('../ops/quality/main.ts'),
  }),
  lazy({
    name: 'person',
    summary:
      'shows the distinct ids of a person and what merged them; separates and rejoins two ids',
    usage: `person ID --account ID [--json]
       ./ravand person split|rejoin ID --account ID [--from OTHER_ID] [--reason TEXT] [--dry-run] [--json]`,
    load: () => import('../ops/person/main.ts'),
  }),
  lazy({
    name: 'replay',
    summary: 'reads a range of the log again: adds missing rows, or fills a shadow table',
    usage: `replay --topic events.raw|events.normalised [--from TIME] [--to TIME] [--offsets PARTITION:FIRST-LAST]… [--account ID] [--event NAME] [--into SUFFIX] [--dry-run] [--rate N] [--json]
       ./ravand replay --cancel [--into SUFFIX]`,
    load: () => import('../ops/replay/main.ts'),
  }),
  lazy({
    name: 'rebuild',
    summary: 'fills a shadow table from the log during live traffic, compares it, swaps it in',
    usage: `rebuild events|profiles|identities|catalogue|quality [--into SUFFIX] [--source raw|normalised] [--compare [--max-differing N]] [--swap [--accept-gaps]] [--json]
       ./ravand rebuild addresses [--compare [--max-differing N]] [--swap [--accept-gaps]] [--json]
       ./ravand rebuild PROJECTION --undo [--accept-gaps] [--json]
       ./ravand rebuild PROJECTION --cancel [--into SUFFIX]`,
    load: () => import('../ops/rebuild/main.ts'),
  }),
  lazy({
    name: 'profiles',
    summary: 'compares profiles with their events, by distinct id',
    usage: 'profiles check [--account ID] [--all] [--json]',
    load: () => import('../ops/profiles/main.ts'),
  }),
  lazy({
    name: 'erase',
    summary: 'erases one person from every store and from the log, and proves it',
    usage: `erase --account ID (--user-id U | --anonymous-id A)… [--text TEXT]… [--dry-run] [--forget] [--force] [--json]
       ./ravand erase --resume ID [--text TEXT]… [--forget]
       ./ravand erase verify [ID | --account ID --user-id U…] [--text TEXT]… [--json]
       ./ravand erase status | rewrite | rotate-key | recover`,
    load: () => import('../ops/erase/main.ts'),
  }),
  lazy({
    name: 'log',
    summary: 'changes the log itself: goes on after it went back, more partitions, newer rows',
    usage: `log advance-epoch [--dry-run] [--json]
       ./ravand log after-restore [--dry-run] [--json]
       ./ravand log grow --partitions N [--dry-run] [--timeout SECONDS] [--forget] [--json]
       ./ravand log grow --cancel
       ./ravand log finish-upgrade [--dry-run] [--json]`,
    load: () => import('../ops/log/main.ts'),
  }),
  lazy({
    name: 'archive',
    summary: 'copies the log to S3-compatible storage, shows what is there, restores a lost log',
    usage: 'archive [run | status | restore] [--json]',
    load: () => import('../ops/archive/main.ts'),
  }),
  lazy({
    name: 'bench',
    summary: 'runs benchmarks and prints a table of each',
    usage: 'bench [NAME…] [-- OPTIONS]',
    load: () => import('../bench/main.ts'),
  }),
];
