import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

const compressBrotli = promisify(brotliCompress);
const compressGzip = promisify(gzip);
const TEXT = /\.(?:js|css|svg)$/;

/** Writes .br and .gz beside every text file of a folder. */
export async function compressFiles(folder: string): Promise<void> {
  const entries = await readdir(folder, { recursive: true });
  for (const name of entries.filter((entry) => TEXT.test(entry))) {
    const path = join(folder, name);
    const bytes = await readFile(path);
    const quality = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY };
    await writeFile(`${path}.br`, await compressBrotli(bytes, { params: quality }));
    await writeFile(
      `${path}.gz`,
      await compressGzip(bytes, { level: constants.Z_BEST_COMPRESSION }),
    );
  }
}
