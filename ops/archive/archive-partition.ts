import { CommandError } from '../../cli/command.ts';
import { contradictionIn, refusalOf } from '../../platform/kafka/log-guard.ts';
import type { LogProbe } from '../../platform/kafka/log-probe.ts';
import { readRange } from '../../platform/kafka/read-range.ts';
import type { EpochStart } from '../../platform/log/epochs.ts';
import { evidenceOf } from '../../platform/log/evidence.ts';
import type { Connections } from '../jobs/connections.ts';
import type { ArchiveStore } from './archive-store.ts';
import { encodeObject, type ArchivedRecord } from './object-format.ts';
import { nameBefore, objectName, parseObjectName, partitionFolder } from './object-names.ts';
import { contiguousEnd, epochParts, planRestore } from './plan.ts';
import { writePosition, writeRead } from './positions.ts';

export interface Archiver {
  connections: Connections;
  store: ArchiveStore;
  probe: LogProbe;
  objectBytes: number;
  /** The newest epoch when the command began. */
  newestEpoch: number;
  signal: AbortSignal;
}

export interface PartitionToArchive {
  topic: string;
  physical: string;
  partition: number;
  /** First retained offset, and the end. */
  low: number;
  high: number;
  epochs: readonly EpochStart[];
  /** Archived up to here, as far as PostgreSQL knows. */
  position: number | undefined;
}

export interface Archived {
  records: number;
  objects: number;
  /** Records that left the log before they were archived. */
  missed: number;
}

/** Archives a partition up to its end. Rejects when the log is not the one that was archived. */
export async function archivePartition(
  archiver: Archiver,
  of: PartitionToArchive,
): Promise<Archived> {
  const { topic, partition, low, high, epochs } = of;
  const archived = await archivedUpTo(archiver.store, of);
  if (archived !== undefined && archived > high)
    throw new CommandError(
      `partition ${partition} of ${topic} ends at ${high}, and the archive has it up to ${archived}: the log went back. Run ./ravand log advance-epoch`,
    );
  const next = Math.max(archived ?? low, low);
  const done: Archived = { records: 0, objects: 0, missed: next - (archived ?? next) };
  for (const { epoch, from, to } of epochParts(epochs, { next, end: high })) {
    const { settings } = archiver.connections;
    const range = { topic, partition, from, to };
    let records: ArchivedRecord[] = [];
    let bytes = 0;
    const write = async () => {
      await writeObject(archiver, { of, epoch, records });
      done.records += records.length;
      done.objects++;
      [records, bytes] = [[], 0];
    };
    const { signal } = archiver;
    for await (const messages of readRange({ settings, clientId: CLIENT, range, signal }))
      for (const { offset, timestamp, key, value } of messages) {
        records.push({ offset, timestamp, key, value });
        bytes += (value?.length ?? 0) + (key?.length ?? 0);
        if (bytes >= archiver.objectBytes) await write();
      }
    if (records.length > 0) await write();
  }
  return done;
}

const CLIENT = 'ravand-archive';

/** Undefined: nothing is archived yet. */
async function archivedUpTo(
  store: ArchiveStore,
  { physical, partition, epochs, position }: PartitionToArchive,
): Promise<number | undefined> {
  const newest = Math.max(0, ...epochs.map(({ epoch }) => epoch));
  const objects = async (startAfter?: string) =>
    (await store.list(partitionFolder(physical, partition), startAfter)).flatMap(
      (name) => parseObjectName(name) ?? [],
    );
  const parts =
    position === undefined ? [] : epochParts(epochs, { next: position, end: position + 1 });
  const [at] = parts;
  const found = await objects(
    at && nameBefore(physical, { partition, epoch: at.epoch, offset: at.from }),
  );
  const later = found.find(({ epoch }) => epoch > newest);
  if (later)
    throw new CommandError(
      `the archive has ${later.name}, and this PostgreSQL knows no epoch ${later.epoch}: it was restored from before ./ravand log advance-epoch or grow. Restore a later one`,
    );
  if (at === undefined) return found.length === 0 ? undefined : planRestore(found).high;
  return contiguousEnd(
    found.filter(({ epoch }) => epoch === at.epoch),
    at.from,
  );
}

async function writeObject(
  { connections: { database }, store, probe, newestEpoch }: Archiver,
  {
    of: { topic, physical, partition },
    epoch,
    records,
  }: { of: PartitionToArchive; epoch: number; records: readonly ArchivedRecord[] },
): Promise<void> {
  const [first, last] = [records[0], records.at(-1)];
  if (first === undefined || last === undefined) return;
  const evidence = evidenceOf(last);
  const found = await contradictionIn(probe, { topic, partition }, evidence);
  if (found) throw new CommandError(refusalOf({ topic, partition }, 'the archive', found));
  await writeRead(database, { topic, partition, ...evidence, epoch: newestEpoch });
  const name = objectName(physical, {
    ...{ partition, epoch },
    ...{ first: first.offset, last: last.offset },
  });
  await store.put(name, await encodeObject(records));
  await writePosition(database, {
    ...{ topic, physical, store: store.id, partition },
    ...{ next: last.offset + 1, epoch: newestEpoch },
  });
}
