import type { Command } from '../command.ts';
import { delegate } from './delegate.ts';
import { down } from './down.ts';
import { logs } from './logs.ts';
import { reset } from './reset.ts';
import { start, stop } from './stop-start.ts';
import { status } from './status.ts';
import { test } from './test.ts';
import { up } from './up.ts';

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
    module: 'deploy/local/send/main.ts',
  }),
  delegate({
    name: 'demo',
    summary: "posts a shop's traffic and draws its funnel and its retention",
    usage: 'demo [--people N] [--days N] [--seed N]',
    module: 'deploy/local/demo/main.ts',
  }),
  delegate({
    name: 'admin',
    summary: 'accounts and keys; prints one JSON object',
    usage: 'admin GROUP VERB [OPTIONS]; ./ravand admin alone lists them',
    module: 'control-plane/admin/main.ts',
  }),
  delegate({
    name: 'lag',
    summary: 'how far every group is behind, per topic and partition',
    usage: 'lag [--watch] [--partitions] [--json]',
    module: 'deploy/operate/lag/main.ts',
  }),
  delegate({
    name: 'dlq',
    summary: 'dead letters by cause: list, show, redrive after a fix, discard with a reason',
    usage: 'dlq [list | show GROUP|LETTER | redrive GROUP [--limit N] [--dry-run] | discard GROUP --reason TEXT] [--json]',
    module: 'deploy/operate/dlq/main.ts',
  }),
  delegate({
    name: 'why',
    summary: 'follows one event from the gateway to its row, or tells where it ended',
    usage: 'why MESSAGE_ID --account ID [--since TIME] [--json]',
    module: 'deploy/operate/why/main.ts',
  }),
  delegate({
    name: 'replay',
    summary: 'reads a range of the log again: adds rows that are missing, or fills a table beside',
    usage:
      'replay --topic T [--from TIME] [--to TIME] [--offsets P:FIRST-LAST]… [--account ID] [--event NAME] [--into SUFFIX] [--dry-run] [--rate N] [--json]',
    module: 'deploy/operate/replay/main.ts',
  }),
  delegate({
    name: 'rebuild',
    summary: 'fills a fresh table from the log beside live traffic, compares it, swaps it in',
    usage: 'rebuild events|profiles|identities|catalogue|quality [--into SUFFIX] [--source raw|normalised] [--compare] [--swap] [--json]',
    module: 'deploy/operate/rebuild/main.ts',
  }),
  delegate({ name: 'bench', summary: 'measures the parts and prints a table', usage: 'bench [PART…]', module: 'bench/main.ts' }),
];
