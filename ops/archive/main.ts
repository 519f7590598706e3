import { parseLine } from '../../cli/arguments.ts';
import { UsageError, type CommandContext } from '../../cli/command.ts';
import { countText } from '../../cli/format.ts';
import { print, printError, table } from '../../cli/terminal.ts';
import { recordAudit } from '../../platform/audit.ts';
import { topicEnds } from '../../platform/kafka/admin.ts';
import { exactTopic, physicalTopic, topicNamesKnown } from '../../platform/kafka/topic-names.ts';
import { withStopSignal } from '../graceful-stop.ts';
import { withConnections, type Connections } from '../jobs/connections.ts';
import { requireStoppedServices } from '../log/stopped-services.ts';
import { archiveLog } from './archive-log.ts';
import { openArchive, type ArchiveStore } from './archive-store.ts';
import { readArchive, restoreLog } from './restore-log.ts';

interface Run {
  connections: Connections;
  store: ArchiveStore;
  objectBytes: number;
  json: boolean;
  signal: AbortSignal;
}

const VERBS: Readonly<Record<string, (run: Run) => Promise<number>>> = {
  run: archive,
  status,
  restore,
};

/**
 * `./ravand archive [run|status|restore]`: the log in S3-compatible storage
 * (docs/operations/archive.md).
 */
export async function run(args: string[], context: CommandContext): Promise<number> {
  const { values, words } = parseLine({
    args,
    options: { json: { type: 'boolean' } },
    words: { min: 0, max: 1 },
  });
  const [name = 'run'] = words;
  const verb = Object.hasOwn(VERBS, name) ? VERBS[name] : undefined;
  if (!verb) throw new UsageError(`archive has ${Object.keys(VERBS).join(', ')}`);
  return withStopSignal((signal) => {
    const opened = openArchive(context.env, signal);
    return withConnections({ context, stop: signal }, async (connections) => {
      await topicNamesKnown();
      return await verb({ connections, ...opened, json: values.json === true, signal });
    });
  });
}

/** Exit code 1: records left the log before they were archived. */
async function archive({ connections, store, objectBytes, json, signal }: Run): Promise<number> {
  const now = () => Date.now();
  const report = await archiveLog(connections, { store, objectBytes, signal, now });
  if (json) print(JSON.stringify(report));
  else {
    print(`archived ${countText(report.records)} records in ${countText(report.objects)} objects`);
    if (report.removed > 0)
      print(`removed ${countText(report.removed)} objects of topics that were rewritten`);
  }
  if (report.missed === 0) return 0;
  printError(
    `${countText(report.missed)} records left the log before they were archived: archive more often, or lengthen the retention of the topics`,
  );
  return 1;
}

/** Exit code 1: objects are missing. */
async function status({ connections, store, json }: Run): Promise<number> {
  const { admin } = connections;
  const present = await admin.listTopics();
  const rows = [];
  for (const { topic, plans } of await readArchive(store)) {
    const name = physicalTopic(topic);
    const ends = present.includes(name) ? await topicEnds(admin, exactTopic(name)) : [];
    for (const [partition, { pieces, low, high, gaps }] of [...plans].sort(([a], [b]) => a - b)) {
      const end = ends.find((one) => one.partition === partition)?.high;
      const missing = gaps.reduce((sum, { from, to }) => sum + to - from, 0);
      rows.push({ topic, partition, from: low, to: high, objects: pieces.length, missing, end });
    }
  }
  if (json) print(JSON.stringify({ partitions: rows }));
  else {
    const headings = ['topic', 'partition', 'from', 'to', 'log ends at', 'objects', 'missing'];
    const cells = rows.map(({ topic, partition, from, to, end, objects, missing }) => [
      ...[topic, String(partition), String(from), String(to)],
      ...[end === undefined ? '-' : String(end), String(objects), String(missing)],
    ]);
    for (const line of table(headings, cells)) print(line);
  }
  return rows.some(({ missing }) => missing > 0) ? 1 : 0;
}

async function restore({ connections, store, json, signal }: Run): Promise<number> {
  await requireStoppedServices(connections);
  await recordAudit(connections.database, {
    ...{ accountId: null, actor: 'operator', action: 'log.restored_from_archive', details: {} },
  });
  const restored = await restoreLog(connections, { store, signal });
  if (json) print(JSON.stringify({ topics: restored }));
  else {
    for (const { topic, records, state } of restored)
      print(`${topic}: ${state === 'restored' ? `${countText(records)} records` : state}`);
    print('next: ./ravand log advance-epoch, which starts the services where the log agrees again');
  }
  return 0;
}
