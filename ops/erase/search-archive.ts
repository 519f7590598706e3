import { FileMissing } from '../../platform/files/folder-files.ts';
import { TopicEpochs } from '../../platform/log/epochs.ts';
import { TOPIC, TOPICS } from '../../schemas/topology.ts';
import type { ArchiveStore } from '../archive/archive-store.ts';
import { decodeObject, type ArchivedRecord } from '../archive/object-format.ts';
import { isFolderOf, parseObjectName } from '../archive/object-names.ts';
import type { Search, Verification } from './findings.ts';
import { HeldCounts } from './held-counts.ts';
import type { RecordSearch } from './record-search.ts';

/**
 * Searches every record of the archive, also of topics that were replaced and whose objects are not
 * removed yet. Reads all of it, one object at a time.
 */
export async function searchArchive(
  { store, heldIn }: { store: ArchiveStore; heldIn: RecordSearch },
  { signal }: Pick<Search, 'signal'>,
): Promise<Verification> {
  const counts = new HeldCounts('archive');
  const folders = await store.folders();
  for (const { topic } of TOPICS)
    for (const folder of folders.filter((one) => isFolderOf(topic, one)))
      for (const name of await store.list(`${folder}/`)) {
        signal.throwIfAborted();
        const object = parseObjectName(name);
        if (!object) continue;
        const { partition, epoch } = object;
        // The records are of the epoch in which they were archived, also when the log went back.
        const epochs = new TopicEpochs(new Map([[partition, [{ epoch, firstOffset: 0 }]]]));
        const own =
          topic === TOPIC.raw ? { raw: epochs } : topic === TOPIC.dead ? { dead: epochs } : {};
        for (const record of await recordsOf(store, name))
          counts.add(folder, heldIn({ ...record, topic, partition }, own));
      }
  return counts.verification();
}

/** None of an object that `./ravand archive` has removed meanwhile. */
async function recordsOf(store: ArchiveStore, name: string): Promise<ArchivedRecord[]> {
  try {
    return await decodeObject(await store.get(name));
  } catch (error) {
    if (error instanceof FileMissing) return [];
    throw error;
  }
}
