/**
 * `node image-files.ts FOLDER COMMIT`: puts the files of the image into FOLDER, with the commit it
 * is made of. The same commit gives the same bytes.
 */
import { cpSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { RELEASE_FILE } from '../../platform/package-version.ts';

/** What only a checkout needs; everything else at the top belongs to services or commands. */
const NOT_RUN = ['node_modules', 'test', 'bench', 'docs', 'eslint', 'coverage', 'release'];
/** Tests, sources of what is built (the panel, WebAssembly), and what makes installations. */
const LEFT_OUT =
  /\.(test|as)\.tsx?$|(^|\/)testing(\/|$)|^deploy\/(docker|helm|alerts|grafana|tools|release|generate)(\/|$)|^panel\/(src|public)(\/|$)|\.md$/;

const [folder, commit] = process.argv.slice(2);
if (folder === undefined || commit === undefined)
  throw new Error('usage: node image-files.ts FOLDER COMMIT');

const checkout = resolve(import.meta.dirname, '../..');
mkdirSync(folder, { recursive: true });
const folders = readdirSync(checkout, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
  .map((entry) => entry.name)
  .filter((name) => !NOT_RUN.includes(name));
for (const name of [...folders, 'package.json'])
  cpSync(join(checkout, name), join(folder, name), {
    recursive: true,
    filter: (path) => !LEFT_OUT.test(relative(checkout, path)),
  });
writeFileSync(join(folder, RELEASE_FILE), `${JSON.stringify({ commit })}\n`);
