import { CommandError } from '../../cli/command.ts';

const MAX_BYTES = 1_048_576;

/** The JSON on standard input. Throws CommandError, which says how to give it. */
export async function readJsonInput(usage: string): Promise<unknown> {
  if (process.stdin.isTTY)
    throw new CommandError(`the definition comes on standard input: ./ravand admin ${usage}`);
  return parseInput(process.stdin);
}

/** The JSON of a stream. Throws CommandError. */
export async function parseInput(input: AsyncIterable<unknown>): Promise<unknown> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of input) {
    const bytes = Buffer.from(piece as Uint8Array);
    if ((length += bytes.length) > MAX_BYTES)
      throw new CommandError(`the definition is larger than ${MAX_BYTES} bytes`);
    pieces.push(bytes);
  }
  try {
    return JSON.parse(Buffer.concat(pieces).toString()) as unknown;
  } catch (error) {
    throw new CommandError(`the definition is not JSON: ${(error as Error).message}`);
  }
}
