import type { Command } from './command.ts';
import { delegate } from './delegate.ts';
import { down } from '../deploy/local/commands/down.ts';
import { logs } from '../deploy/local/commands/logs.ts';
import { reset } from '../deploy/local/commands/reset.ts';
import { start, stop } from '../deploy/local/commands/stop-start.ts';
import { status } from '../deploy/local/commands/status.ts';
import { test } from '../deploy/local/commands/test.ts';
import { up } from '../deploy/local/commands/up.ts';

/** Every command of `./ravand`, in the order of its help. A new one is a row. */
export const commands: readonly Command[] = [
  up,
  down,
  reset,
  status,
  logs,
  stop,
  start,
  test,
  delegate({
    name: 'send',
    summary: 'posts a file of events or a web access log through the ingest host',
    usage: 'send FILE [--write-key K] [--shift-to-now]',
    module: 'cli/send/main.ts',
  }),
  delegate({
    name: 'demo',
    summary: "posts a shop's traffic and draws its funnel and its retention",
    usage: 'demo [--people N] [--days N] [--seed N]',
    module: 'cli/demo/main.ts',
  }),
  delegate({
    name: 'admin',
    summary: 'accounts and keys; prints one JSON object',
    usage: 'admin GROUP VERB [OPTIONS]; ./ravand admin alone lists them',
    module: 'ops/admin/main.ts',
  }),
  delegate({
    name: 'lag',
    summary: 'how far every group is behind, per topic and partition',
    usage: 'lag [--watch] [--partitions] [--json]',
    module: 'ops/lag/main.ts',
  }),
  delegate({
    name: 'dlq',
    summary: 'dead letters by cause: list, show, redrive after a fix, discard with a reason',
    usage:
      'dlq [list | show GROUP|LETTER | redrive GROUP [--limit N] [--dry-run] | discard GROUP --reason TEXT] [--json]',
    module: 'ops/dlq/main.ts',
  }),
  delegate({
    name: 'why',
    summary: 'follows one event from the gateway to its row, or tells where it ended',
    usage: 'why MESSAGE_ID --account ID [--since TIME] [--json]',
    module: 'ops/why/main.ts',
  }),
  delegate({
    name: 'replay',
    summary: 'reads a range of the log again: adds rows that are missing, or fills a table beside',
    usage:
      'replay --topic T [--from TIME] [--to TIME] [--offsets P:FIRST-LAST]… [--account ID] [--event NAME] [--into SUFFIX] [--dry-run] [--rate N] [--json]',
    module: 'ops/replay/main.ts',
  }),
  delegate({
    name: 'rebuild',
    summary: 'fills a fresh table from the log beside live traffic, compares it, swaps it in',
    usage:
      'rebuild events|profiles|identities|catalogue|quality [--into SUFFIX] [--source raw|normalised] [--compare] [--swap] [--json]',
    module: 'ops/rebuild/main.ts',
  }),
  delegate({
    name: 'bench',
    summary: 'measures the parts and prints a table',
    usage: 'bench [PART…]',
    module: 'bench/main.ts',
  }),
];
