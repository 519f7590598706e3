import { expect, it } from 'vitest';
import { FileMissing } from '../../platform/files/folder-files.ts';
import { encodeObject } from '../archive/object-format.ts';
import { objectName } from '../archive/object-names.ts';
import type { Held, RecordSearch } from './record-search.ts';
import { searchArchive } from './search-archive.ts';

const SIGNAL = { signal: new AbortController().signal };

/** An archive of these objects: by folder, the values of records from offset 0 in an epoch. */
async function archiveOf(objects: readonly { folder: string; epoch: number; values: string[] }[]) {
  const stored = new Map<string, Buffer>();
  for (const { folder, epoch, values } of objects) {
    const records = values.map((value, offset) => ({
      ...{ offset, timestamp: 1, key: null },
      value: Buffer.from(value),
    }));
    const place = { partition: 3, epoch, first: 0, last: values.length - 1 };
    stored.set(objectName(folder, place), await encodeObject(records));
    stored.set(`${folder}/description/1.json`, Buffer.from('sara'));
  }
  const store = {
    ...{ id: 'test', put: () => Promise.reject(new Error('a search writes nothing')) },
    get: (name: string) => {
      const bytes = stored.get(name);
      return bytes ? Promise.resolve(bytes) : Promise.reject(new FileMissing(name));
    },
    list: (prefix: string) =>
      Promise.resolve([...stored.keys()].filter((name) => name.startsWith(prefix)).sort()),
    folders: () => Promise.resolve([...new Set(objects.map(({ folder }) => folder)), 'other']),
    remove: () => Promise.reject(new Error('a search removes nothing')),
  };
  return { store, stored };
}

const byText: RecordSearch = ({ value }) => {
  const text = value?.toString() ?? '';
  return text.includes('sara') ? 'finding' : text.includes('names her') ? 'mention' : undefined;
};

it('every object of every topic is searched, also of those that were replaced', async () => {
  const { store } = await archiveOf([
    { folder: 'events.raw', epoch: 0, values: ['sara', 'x', 'sara again', 'names her'] },
    { folder: 'events.raw.0a1b2c3d', epoch: 1, values: ['x', 'sara'] },
    { folder: 'channel.commands', epoch: 0, values: ['x'] },
    { folder: 'no topic of ours', epoch: 0, values: ['sara'] },
  ]);
  expect(await searchArchive({ store, heldIn: byText }, SIGNAL)).toEqual({
    findings: [
      { store: 'archive', place: 'events.raw', count: 2 },
      { store: 'archive', place: 'events.raw.0a1b2c3d', count: 1 },
    ],
    mentions: [{ store: 'archive', place: 'events.raw', count: 1 }],
  });
});

it('a record is judged by the epoch in which it was archived, not by that of its offset today', async () => {
  const { store } = await archiveOf([
    { folder: 'events.raw', epoch: 4, values: ['x', 'x'] },
    { folder: 'events.dead', epoch: 2, values: ['x'] },
    { folder: 'channel.commands', epoch: 5, values: ['x'] },
  ]);
  const asked: [string, number | undefined, number | undefined][] = [];
  const heldIn: RecordSearch = ({ topic, partition, offset }, epochs): Held => {
    asked.push([
      `${topic} ${partition}/${offset}`,
      epochs?.raw?.at(partition, offset),
      epochs?.dead?.at(partition, offset),
    ]);
    return undefined;
  };
  await searchArchive({ store, heldIn }, SIGNAL);
  expect(asked).toEqual(
    expect.arrayContaining([
      ['events.raw 3/0', 4, undefined],
      ['events.raw 3/1', 4, undefined],
      ['events.dead 3/0', undefined, 2],
      ['channel.commands 3/0', undefined, undefined],
    ]),
  );
  expect(asked).toHaveLength(4);
});

it('an object that is removed while the search runs holds nothing', async () => {
  const { store, stored } = await archiveOf([
    { folder: 'events.raw', epoch: 0, values: ['sara'] },
    { folder: 'events.dead', epoch: 0, values: ['sara'] },
  ]);
  const list = async (prefix: string) => {
    const names = await store.list(prefix);
    if (prefix.startsWith('events.raw')) for (const name of names) stored.delete(name);
    return names;
  };
  const found = await searchArchive({ store: { ...store, list }, heldIn: byText }, SIGNAL);
  expect(found.findings).toEqual([{ store: 'archive', place: 'events.dead', count: 1 }]);
});
