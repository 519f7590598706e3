import { open } from 'node:fs/promises';
import { CommandError } from '../../cli/command.ts';

const MAX_BYTES = 64 * 1024;

/**
 * The secret of `--secret-file`: a file, or standard input for `-`. Line ends behind it are not
 * part of it. Throws CommandError, which never quotes it.
 */
export async function readSecret(
  path: string | undefined,
  input: AsyncIterable<unknown>,
): Promise<string | undefined> {
  if (path === undefined) return undefined;
  const text = path === '-' ? await readInput(input) : await readSecretFile(path);
  const secret = text.replace(/[\r\n]+$/, '');
  if (secret === '') throw new CommandError('--secret-file: the secret is empty');
  return secret;
}

async function readInput(input: AsyncIterable<unknown>): Promise<string> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of input) {
    const bytes = Buffer.from(piece as Uint8Array);
    if ((length += bytes.length) > MAX_BYTES) throw tooLong();
    pieces.push(bytes);
  }
  return Buffer.concat(pieces).toString();
}

async function readSecretFile(path: string): Promise<string> {
  try {
    const file = await open(path);
    try {
      const { bytesRead, buffer } = await file.read(Buffer.alloc(MAX_BYTES + 1), 0);
      if (bytesRead > MAX_BYTES) throw tooLong();
      return buffer.subarray(0, bytesRead).toString();
    } finally {
      await file.close();
    }
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw new CommandError(`--secret-file ${path} cannot be read: ${(error as Error).message}`);
  }
}

function tooLong(): CommandError {
  return new CommandError(`--secret-file: the secret is longer than ${MAX_BYTES} bytes`);
}
