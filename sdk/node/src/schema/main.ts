#!/usr/bin/env node
import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { planOf, type SchemaEvent } from './plan.ts';

const USAGE = `usage: ravand-schema --host MANAGEMENT_HOST [--out FILE] [--open]
Writes the events of the account as declarations for @ravand/browser and @ravand/node; the key is
read from RAVAND_MANAGEMENT_KEY. --open: events that are not listed are allowed, too.`;
const TIMEOUT_MS = 35_000;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      host: { type: 'string' },
      out: { type: 'string', default: 'ravand-events.d.ts' },
      open: { type: 'boolean', default: false },
    },
  });
  const key = process.env['RAVAND_MANAGEMENT_KEY'];
  if (!values.host || !key) throw new Error(USAGE);
  const url = `${values.host.replace(/\/+$/, '')}/v1/schema/events`;
  const response = await fetch(url, {
    headers: { authorization: `Bearer ${key}` },
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  if (!response.ok) throw new Error(`${url} answered ${response.status} ${await response.text()}`);
  const { events } = (await response.json()) as { events: SchemaEvent[] };
  await writeFile(values.out, planOf(events, { source: url, isOpen: values.open }));
  process.stdout.write(`${values.out}: ${events.length} events\n`);
}

await main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
