import { readFile, writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { decodeFrames, FRAME_HEADER_BYTES, sealFrame } from '../frame.ts';

/** Gives the frames of a segment another version, as another version of the gateway would. */
export async function changeVersion(path: string, version: number): Promise<void> {
  const bytes = await readFile(path);
  const marker = Buffer.from(basename(path).slice(13, 29), 'hex');
  for (const { start, end } of decodeFrames({ bytes, marker, isEnd: true }).frames) {
    bytes[start + FRAME_HEADER_BYTES] = version;
    sealFrame(bytes.subarray(start, end), { marker, rest: Buffer.alloc(0) });
  }
  await writeFile(path, bytes);
}
