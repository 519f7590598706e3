export interface GroupMember {
  clientId: string;
  clientHost: string;
  /** Assigned partitions by (physical) topic. */
  partitions: ReadonlyMap<string, readonly number[]>;
}

/**
 * ConsumerGroupDescribe, version 0 (KIP-848), in the compact encoding of Kafka: lengths are
 * unsigned varints plus one, and each structure ends with its tagged fields. Requests and responses
 * begin with the tagged fields of their headers.
 */
export function writeGroupIds(groups: readonly string[]): Buffer {
  const parts = [Buffer.of(0), varint(groups.length + 1)];
  for (const group of groups) {
    const bytes = Buffer.from(group);
    parts.push(varint(bytes.length + 1), bytes);
  }
  // include_authorized_operations, tagged fields
  return Buffer.concat([...parts, Buffer.of(0, 0)]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  return Buffer.from([...bytes, rest]);
}

export interface DescribedGroup {
  group: string;
  members: GroupMember[];
}

const GROUP_ID_NOT_FOUND = 69;

/** Throws for an error of the broker; a group that does not exist has no members. */
export function readConsumerGroups(bytes: Buffer): DescribedGroup[] {
  const reader = new CompactReader(bytes);
  reader.tags();
  reader.skip(4);
  return reader.array(() => {
    const error = reader.int16();
    const message = reader.text();
    const group = reader.text() ?? '';
    reader.text(); // state
    reader.skip(8); // group epoch, assignment epoch
    reader.text(); // assignor
    const members = reader.array(() => readMember(reader));
    reader.skip(4); // authorized operations
    reader.tags();
    if (error !== 0 && error !== GROUP_ID_NOT_FOUND)
      throw new Error(`Kafka does not describe the group ${group}: ${message ?? `error ${error}`}`);
    return { group, members };
  });
}

function readMember(reader: CompactReader): GroupMember {
  for (let field = 0; field < 3; field++) reader.text(); // member id, instance id, rack
  reader.skip(4); // member epoch
  const [clientId, clientHost] = [reader.text() ?? '', reader.text() ?? ''];
  reader.array(() => reader.text()); // subscribed topics
  reader.text(); // subscribed pattern
  const partitions = readAssignment(reader);
  readAssignment(reader); // target
  reader.tags();
  return { clientId, clientHost, partitions };
}

function readAssignment(reader: CompactReader): ReadonlyMap<string, readonly number[]> {
  const topics = reader.array((): [string, number[]] => {
    reader.skip(16); // topic id
    const topic = reader.text() ?? '';
    const partitions = reader.array(() => reader.int32());
    reader.tags();
    return [topic, partitions];
  });
  reader.tags();
  return new Map(topics);
}

class CompactReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  skip(bytes: number): void {
    this.#at += bytes;
  }

  int16(): number {
    this.#at += 2;
    return this.#bytes.readInt16BE(this.#at - 2);
  }

  int32(): number {
    this.#at += 4;
    return this.#bytes.readInt32BE(this.#at - 4);
  }

  text(): string | undefined {
    const length = this.#varint();
    if (length === 0) return undefined;
    this.#at += length - 1;
    return this.#bytes.toString('utf8', this.#at - length + 1, this.#at);
  }

  array<T>(read: () => T): T[] {
    return Array.from({ length: Math.max(0, this.#varint() - 1) }, read);
  }

  tags(): void {
    for (let left = this.#varint(); left > 0; left--) {
      this.#varint();
      this.skip(this.#varint());
    }
  }

  #varint(): number {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.#bytes.readUInt8(this.#at++);
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  }
}
