import type { StoredEvidence, TopicPartition } from './evidence-store.ts';

/** The reader of the evidence about the first record of a partition: which topic it is. */
export const FIRST_RECORD = 'first';

/** Of each partition what is known about its first record, and about the last one that was read. */
export function decisive(evidence: readonly StoredEvidence[]): StoredEvidence[] {
  const found = new Map<string, StoredEvidence>();
  for (const one of evidence) {
    const isFirst = one.reader === FIRST_RECORD;
    const key = `${one.topic}/${one.partition}/${isFirst ? 'first' : 'last'}`;
    if ((found.get(key)?.next ?? -1) < one.next) found.set(key, one);
  }
  return [...found.values()];
}

/**
 * What one reader compares with the partition: what it knows itself, and the last record that any
 * reader knows, each record once. Its own last record stands when the log went back to just there
 * and was appended to again; a reader that had read further knows.
 */
export function decisiveFor(
  reader: string,
  of: TopicPartition,
  evidence: readonly StoredEvidence[],
): StoredEvidence[] {
  const known = evidence.filter((one) => isOf(one, of) && one.reader !== FIRST_RECORD);
  const wanted = [...known.filter((one) => one.reader === reader), ...decisive(known)];
  return wanted.filter((one, at) => wanted.findIndex((other) => isSame(one, other)) === at);
}

export function isOf(one: TopicPartition, other: TopicPartition): boolean {
  return one.topic === other.topic && one.partition === other.partition;
}

function isSame(one: StoredEvidence, other: StoredEvidence): boolean {
  return (
    one.next === other.next &&
    one.checksum === other.checksum &&
    one.appendedAt === other.appendedAt
  );
}
