import type { Topic } from '../../schemas/topology.ts';

/**
 * Names of archived objects: `<physical topic>/<partition>/<epoch>/<first>-<last>.avro`. All
 * numbers have leading zeros, so that the order of names is the order of records. Records of a log
 * that went back have the offsets of others, and another epoch.
 */
export interface ArchivedObject {
  name: string;
  partition: number;
  epoch: number;
  /** Offsets of the first and of the last record. */
  first: number;
  last: number;
}

const OFFSET_DIGITS = 16;
const digits = (value: number, length: number) => String(value).padStart(length, '0');

export function partitionFolder(topic: string, partition: number): string {
  return `${topic}/${digits(partition, 5)}/`;
}

function epochFolder(topic: string, { partition, epoch }: { partition: number; epoch: number }) {
  return `${partitionFolder(topic, partition)}${digits(epoch, 6)}/`;
}

export function objectName(
  topic: string,
  { first, last, ...of }: Omit<ArchivedObject, 'name'>,
): string {
  return `${epochFolder(topic, of)}${digits(first, OFFSET_DIGITS)}-${digits(last, OFFSET_DIGITS)}.avro`;
}

/** A name before those of all objects that begin at `offset` or later in the epoch. */
export function nameBefore(
  topic: string,
  { offset, ...of }: { partition: number; epoch: number; offset: number },
): string {
  return `${epochFolder(topic, of)}${digits(offset, OFFSET_DIGITS)}`;
}

const NAME = /^[^/]+\/(\d{5})\/(\d{6})\/(\d{16})-(\d{16})\.avro$/;

/** Undefined: the object holds no records. */
export function parseObjectName(name: string): ArchivedObject | undefined {
  const match = NAME.exec(name);
  if (!match) return undefined;
  const [partition = 0, epoch = 0, first = 0, last = 0] = match.slice(1).map(Number);
  return { name, partition, epoch, first, last };
}

/** How a topic is described: partitions, replicas, settings. The newest name is the last one. */
export function descriptionFolder(topic: string): string {
  return `${topic}/description/`;
}

/** Committed offsets of all groups. */
export const OFFSETS_FOLDER = 'committed-offsets/';

/** A name in a folder whose names are in the order of time. */
export function nameAt(folder: string, time: number): string {
  return `${folder}${digits(time, OFFSET_DIGITS)}.json`;
}

/** Whether a folder of the archive holds the topic, under any of its physical names. */
export function isFolderOf(topic: Topic, folder: string): boolean {
  return (
    folder === topic ||
    (folder.startsWith(`${topic}.`) && /^[0-9a-f]{8}$/.test(folder.slice(topic.length + 1)))
  );
}
