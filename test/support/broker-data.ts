import { cp, mkdtemp, open, readdir, rm } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ravand } from './stack.ts';

/** Header of a record batch: base offset, length, and the offset of its last record. */
const LENGTH_AT = 8;
const LAST_DELTA_AT = 23;
const HEADER_BYTES = 27;
/** Bytes before the part that the length counts. */
const PREFIX_BYTES = 12;

function folder(): string {
  return join(process.env['RAVAND_HOME'] ?? '', 'data', 'kafka');
}

/** Whether Kafka is a process of this stack, whose files a test can change. */
export function ownsBroker(): boolean {
  return existsSync(folder()) && process.env['TEST_SERVICES'] !== 'containers';
}

/** Runs `work` while the broker is stopped, then starts it. */
export async function whileStopped(work: () => Promise<void>): Promise<void> {
  await ravand('stop', 'kafka');
  try {
    await work();
  } finally {
    await ravand('start', 'kafka');
  }
}

/**
 * Cuts a partition of the stopped broker behind `keep` records at most, as a power cut does:
 * between two record batches, without its indexes. Answers the new end.
 */
export async function truncatePartition(
  topic: string,
  partition: number,
  keep: number,
): Promise<number> {
  const path = join(folder(), `${topic}-${partition}`);
  const files = await readdir(path);
  const segments = files.filter((name) => name.endsWith('.log')).sort();
  if (segments.length !== 1) throw new Error(`${path} has ${segments.length} segments`);
  const file = await open(join(path, segments[0] ?? ''), 'r+');
  let end = 0;
  try {
    const { size } = await file.stat();
    const header = Buffer.alloc(HEADER_BYTES);
    for (let at = 0; at + HEADER_BYTES <= size;) {
      await file.read(header, 0, HEADER_BYTES, at);
      const next = Number(header.readBigInt64BE(0)) + header.readInt32BE(LAST_DELTA_AT) + 1;
      if (next > keep) {
        await file.truncate(at);
        break;
      }
      end = next;
      at += PREFIX_BYTES + header.readInt32BE(LENGTH_AT);
    }
  } finally {
    await file.close();
  }
  for (const name of files)
    if (/\.(index|timeindex|snapshot|txnindex)$/.test(name)) await rm(join(path, name));
  await rm(join(folder(), '.kafka_cleanshutdown'), { force: true });
  return end;
}

/** A copy of the stopped broker's data, for `restoreCopy`. */
export async function copyData(): Promise<string> {
  const copy = await mkdtemp(join(tmpdir(), 'ravand-kafka-'));
  await cp(folder(), copy, { recursive: true, force: true });
  return copy;
}

/** The stopped broker gets the data of an earlier copy, as a restored volume. */
export async function restoreCopy(copy: string): Promise<void> {
  await rm(folder(), { recursive: true, force: true });
  await cp(copy, folder(), { recursive: true });
  await rm(copy, { recursive: true, force: true });
}

/** Everything that the stopped broker has is gone: it starts as a new one. */
export async function removeData(): Promise<void> {
  await rm(folder(), { recursive: true, force: true });
}
