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
    summary: "posts a shop's traffic and draws the funnel of it",
    usage: 'demo [--people N] [--days N] [--seed N]',
    module: 'deploy/local/demo/main.ts',
  }),
  delegate({
    name: 'admin',
    summary: 'accounts and keys; prints one JSON object',
    usage: 'admin GROUP VERB [OPTIONS]; ./ravand admin alone lists them',
    module: 'control-plane/admin/main.ts',
  }),
  delegate({ name: 'bench', summary: 'measures the parts and prints a table', usage: 'bench [PART…]', module: 'bench/main.ts' }),
];
